package maintenance

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
)

var (
	single     = server.Identity{Kind: server.Mongod}
	set        = server.Identity{Kind: server.Mongod, Hello: server.Hello{SetName: "rs0"}}
	router     = server.Identity{Kind: server.Mongos}
	documentDB = server.Identity{Kind: server.FerretDB}
)

// An event that the engine or the topology does not have is refused before anything happens, with the reason.
func TestEventsAreRefusedWhenPlanned(t *testing.T) {
	for _, c := range []struct {
		event string
		on    server.Identity
		says  string // empty if the deployment has the event
	}{
		{"chunk-migration:workload", router, ""},
		{"chunk-migration:workload", set, "needs a sharded cluster, and the target is a replica set"},
		{"chunk-migration:workload", documentDB, "because it has no shards"},
		{"compaction:secondary", set, ""},
		{"compaction:secondary", documentDB, "it has no compact command"},
		{"backup:secondary", documentDB, "pg_basebackup"},
		{"remove-member:secondary", documentDB, "use stop"},
		{"initial-sync:secondary", single, "needs a replica set"},
		{"initial-sync:secondary", documentDB, ""},
		{"step-down:primary", single, "needs a replica set"},
		{"step-down:primary", documentDB, ""},
		{"index-build:workload", documentDB, ""},
		{"rolling-restart:all", documentDB, ""},
		{"rolling-restart:all", single, ""},
		{"kill:primary", single, ""},
		{"compaction:secondary", server.Identity{}, ""}, // the server says it
	} {
		d := On(Deployment{Platform: platform.OfLab(nil), Identity: c.on})
		_, err := d.Fault(spec.Fault{Action: spec.ParseAction(c.event)}, 0)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s on %+v: %v, want %q", c.event, c.on, err, c.says)
		}
	}
}

// bare is a platform that has no actions of its own, such as a deployment without a platform file.
type bare struct{ platform.Platform }

func (bare) Actions() []*fault.Action { return nil }

// Commands of MongoDB need no platform, and a rolling restart needs its stop.
func TestEventsOfAnyDeployment(t *testing.T) {
	d := On(Deployment{Platform: bare{}, Identity: router})
	var names []string
	for _, a := range d.Actions() {
		names = append(names, a.Name)
	}
	if got, want := strings.Join(names, " "), "step-down index-build chunk-migration compaction"; got != want {
		t.Errorf("any deployment has %s, want %s", got, want)
	}
	_, err := d.Fault(spec.Fault{Action: spec.ParseAction("rolling-restart:all")}, 0)
	if err == nil || !strings.Contains(err.Error(), "the platform has no stop") {
		t.Errorf("without stop: %v", err)
	}
}

// has is a platform with some actions.
type has struct {
	platform.Platform
	actions []*fault.Action
}

func (h has) Actions() []*fault.Action { return h.actions }

// A rolling restart stops and starts members, or uses what restarts one on Kubernetes or vSphere.
func TestRestart(t *testing.T) {
	for want, names := range map[string][]string{
		fault.Stop:      {fault.VMReset, fault.Stop},
		fault.PodDelete: {fault.PodKill, fault.PodDelete},
		fault.VMReset:   {fault.VMPowerOff, fault.VMReset},
	} {
		var own []*fault.Action
		for _, name := range names {
			own = append(own, fault.Find(name))
		}
		d := On(Deployment{Platform: has{actions: own}})
		_, err := d.Fault(spec.Fault{Action: spec.ParseAction("rolling-restart:all")}, 0)
		if got := Restart(own); got == nil || got.Name != want || err != nil ||
			!slices.Contains(d.Actions(), fault.Find(fault.RollingRestart)) {
			t.Errorf("%v restart by %v (%v), want %s", names, got, err, want)
		}
	}
}

func TestFindByNameAndRole(t *testing.T) {
	members := []record.LabMember{
		{Name: "config-1", Kind: "mongod", Set: "config", Role: "config"},
		{Name: "a", Kind: "mongod", Set: "shard1", Role: "primary"},
		{Name: "b", Kind: "mongod", Set: "shard1", Role: "secondary"},
		{Name: "c", Kind: "mongod", Set: "shard2", Role: "primary"},
		{Name: "x", Kind: "mongod", Set: "shard2", Role: "arbiter"},
	}
	for target, want := range map[string]string{"b": "b", "primary": "a", "shard2/primary": "c", "shard1/secondary": "b",
		"shard2/secondary": "", "arbiter": ""} {
		m, err := find(members, target)
		if m.Name != want || (err == nil) != (want != "") {
			t.Errorf("%s is %q (%v), want %q", target, m.Name, err, want)
		}
	}
	if got := strings.Join(sets(members), " "); got != "shard1 shard2" {
		t.Errorf("the sets with data are %s", got)
	}
}

// late is a platform whose members do not answer at first.
type late struct {
	has
	answers [][]record.LabMember // one of each query; the last one remains
	queries int
}

func (l *late) Members(context.Context) ([]record.LabMember, error) {
	members := l.answers[min(l.queries, len(l.answers)-1)]
	if l.queries++; members == nil {
		return nil, errors.New("no member answers")
	}
	return members, nil
}

// A deployment under load answers late. An event waits for it, and gives up when it does not answer for long.
func TestEventWaitsForAnswers(t *testing.T) {
	member := func(name, role, state string) record.LabMember {
		return record.LabMember{Name: name, Kind: "mongod", Set: "rs0", Role: role, State: state}
	}
	up := []record.LabMember{member("a", "primary", "running"), member("b", "secondary", "running")}
	half := []record.LabMember{up[0], member("b", "unknown", "unreachable")}
	for name, c := range map[string]struct {
		event   string
		answers [][]record.LabMember
		says    string // empty if the event is prepared
		queries int    // 0 if it gives up only after [platform.AnswerWithin]
	}{
		"a restart of late members":           {"rolling-restart:all", [][]record.LabMember{nil, half, half, up}, "", 4},
		"a restart of one set":                {"rolling-restart:rs0", [][]record.LabMember{nil, up}, "", 2},
		"a restart of an unknown set":         {"rolling-restart:rs1", [][]record.LabMember{nil, up}, "no set \"rs1\" (sets: rs0)", 2},
		"a restart without one member":        {"rolling-restart:all", [][]record.LabMember{half}, "b is unreachable", 0},
		"a restart of members without answer": {"rolling-restart:all", [][]record.LabMember{nil}, "no member answers", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &late{has: has{actions: []*fault.Action{fault.Find(fault.Stop)}}, answers: c.answers}
				e := &event{deployment: &Deployment{Platform: l, Identity: set},
					fault: spec.Fault{Action: spec.ParseAction(c.event)}}
				_, err := e.rollingRestart(t.Context())
				if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("%v, want %q", err, c.says)
				}
				if wants := int(platform.AnswerWithin / pollEvery); c.queries != 0 && l.queries != c.queries ||
					c.queries == 0 && l.queries < wants {
					t.Errorf("%d queries", l.queries)
				}
			})
		})
	}
}
