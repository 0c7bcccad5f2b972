package drill

import (
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// noLab is a lab of which nothing is asked.
type noLab struct{ Lab }

// labOfSets is a lab of replica sets with so many members each, the first of them primary.
func labOfSets(args ...any) record.Lab {
	var l record.Lab
	for i := 0; i < len(args); i += 2 {
		set := args[i].(string)
		for n := range args[i+1].(int) {
			role := "secondary"
			if n == 0 {
				role = "primary"
			}
			l.Members = append(l.Members, record.LabMember{Name: set + "-" + string(rune('1'+n)), Set: set, Kind: "mongod",
				Role: role, State: "running"})
		}
	}
	return l
}

var yes, no = true, false

// What MongoDB's manual promises of an acknowledged write, row by row.
func TestPromise(t *testing.T) {
	const standalone, set, sharded = "standalone", "replica set", "sharded"
	w := func(w string) writeConcern { return writeConcern{w: w, source: "the URI"} }
	j := func(w string, journal *bool) writeConcern {
		return writeConcern{w: w, journal: journal, source: "the URI"}
	}
	for _, c := range []struct {
		c    circumstances
		want string
		says string
	}{
		{circumstances{concern: w("0"), topology: set, members: 3}, spec.LossAny, "does not confirm"},
		{circumstances{concern: w("1"), topology: standalone}, spec.LossAny, "every 100 ms"},
		{circumstances{concern: w("1"), topology: set, members: 3}, spec.LossAny, "w:1, from the URI"},
		{circumstances{concern: j("1", &no), topology: standalone}, spec.LossAny, "j:false"},
		{circumstances{concern: j("1", &yes), topology: standalone}, spec.LossNone, "was up again"},
		{circumstances{concern: j("1", &yes), topology: set, members: 3}, spec.LossNone, ""},
		{circumstances{concern: j("1", &yes), topology: set, members: 3, changed: true}, spec.LossAny, "took over"},
		{circumstances{concern: j("1", &yes), topology: sharded, hidden: true}, spec.LossAny, "cannot be seen"},
		// A standalone has no writeConcernMajorityJournalDefault: a majority of one is its memory.
		{circumstances{concern: w("majority"), topology: standalone, members: 1}, spec.LossAny, "before the write reaches a disk"},
		{circumstances{concern: j("majority", &yes), topology: standalone, members: 1}, spec.LossNone, "disk"},
		{circumstances{concern: w("majority"), topology: set, members: 1}, spec.LossNone, "on its disk"},
		{circumstances{concern: w("majority"), topology: set, members: 1, majorityJournal: &yes}, spec.LossNone, "on its disk"},
		{circumstances{concern: w("majority"), topology: set, members: 1, majorityJournal: &no}, spec.LossAny, "memory"},
		{circumstances{concern: j("majority", &no), topology: set, members: 1}, spec.LossAny, "memory"},
		{circumstances{concern: w("majority"), topology: set, members: 3, changed: true, down: 1}, spec.LossNone, "no single failure"},
		{circumstances{concern: w("majority"), topology: set, members: 3, majorityJournal: &no, changed: true, down: 1},
			spec.LossNone, ""},
		{circumstances{concern: w("majority"), topology: set, members: 3, changed: true, down: 2}, spec.LossAny, "2 of 3 members failed at once"},
		{circumstances{concern: w("majority"), topology: set, members: 5, changed: true, down: 2}, spec.LossNone, "the failure of 2 of 5"},
		{circumstances{concern: w("majority"), topology: set, members: 5, changed: true, down: 3}, spec.LossAny, "3 of 5"},
		{circumstances{concern: w("majority"), topology: set, members: 2, changed: true, down: 1}, spec.LossNone, ""},
		{circumstances{concern: w("majority"), topology: sharded, hidden: true}, spec.LossNone, ""},
		{circumstances{concern: w("2"), topology: set, members: 3, changed: true, down: 1}, spec.LossNone, "w:2"},
		{circumstances{concern: w("2"), topology: set, members: 5, changed: true, down: 1}, spec.LossAny, "no majority"},
		{circumstances{concern: w("2"), topology: set}, spec.LossAny, "no majority"},
		{circumstances{concern: w("twoSites"), topology: set, members: 3}, spec.LossUnknown, "is a name that this deployment defines"},
		{circumstances{concern: writeConcern{problem: "not authorized"}, topology: set, members: 3}, spec.LossUnknown, "not authorized"},
		{circumstances{topology: sharded}, spec.LossUnknown, "not known"},
		{circumstances{concern: w("majority"), topology: gateway}, spec.LossUnknown, "ignores write concerns"},
		{circumstances{level: "throughput", members: 3}, spec.LossAny, ""},
		{circumstances{level: "balanced", members: 1}, spec.LossAny, ""},
		{circumstances{level: "durable", members: 3}, spec.LossNone, ""},
		{circumstances{level: "durable", members: 3, changed: true}, spec.LossAny, ""},
		{circumstances{level: "majority", members: 3, changed: true, down: 1}, spec.LossNone, ""},
		{circumstances{level: "majority", members: 1}, spec.LossNone, "on its disk"},
		{circumstances{level: "w3", members: 3, changed: true, down: 1}, spec.LossNone, "level w3. "},
		{circumstances{level: "w3-unjournaled", members: 3, changed: true, down: 2}, spec.LossAny, "2 of 3"},
		{circumstances{level: "majority-unjournaled", members: 3, changed: true, down: 1}, spec.LossNone, ""},
	} {
		if got, why := c.c.promise(); got != c.want || !strings.Contains(why, c.says) {
			t.Errorf("%+v: %s (%s), want %s and %q", c.c, got, why, c.want, c.says)
		}
	}
}

// Who says the write concern, field by field: the drill, then the address, then the deployment.
func TestConcernOfARound(t *testing.T) {
	implicit := func(w string) server.Concerns { return server.Concerns{W: w, Source: server.Implicit} }
	for _, c := range []struct {
		name   string
		asked  spec.Durability
		uri    string
		target server.Concerns
		w      string
		j      *bool
		says   string
	}{
		{"the address of a drill that was called violated", spec.Durability{}, "mongodb://h/?replicaSet=rs0&w=1", implicit("majority"), "1", nil, "the address"},
		{"the drill wins", spec.Durability{W: "majority"}, "mongodb://h/?w=1", implicit("1"), "majority", nil, "of the drill"},
		{"each field by itself", spec.Durability{W: "majority"}, "mongodb://h/?w=1&journal=true", implicit("1"), "majority", &yes, "of the drill"},
		{"a level", spec.Durability{Name: "durable"}, "mongodb://h/", implicit("majority"), "1", &yes, "of the drill"},
		{"journal alone", spec.Durability{}, "mongodb://h/?journal=true&wtimeoutMS=500", implicit("majority"), "majority", &yes, "own default"},
		{"a set of 8.0", spec.Durability{}, "mongodb://h/?replicaSet=rs0", implicit("majority"), "majority", nil, "own default"},
		{"a standalone, or a set of 4.4", spec.Durability{}, "mongodb://h", implicit("1"), "1", nil, "own default"},
		{"somebody set it", spec.Durability{}, "mongodb://h", server.Concerns{W: "1", Journal: &yes, Source: server.Global}, "1", &yes, "setDefaultRWConcern"},
		{"before 5.0", spec.Durability{}, "mongodb://h", server.Concerns{W: "2", Source: server.Legacy}, "2", nil, "getLastErrorDefaults"},
		{"nobody knows", spec.Durability{}, "mongodb://h", server.Concerns{Problem: "not authorized"}, "", nil, ""},
	} {
		got := concernOf(c.asked, c.uri, c.target)
		if got.w != c.w || (got.journal == nil) != (c.j == nil) || c.j != nil && *got.journal != *c.j ||
			!strings.Contains(got.source, c.says) {
			t.Errorf("%s: %+v, want w %q from %q", c.name, got, c.w, c.says)
		}
	}
}

// A primary of one shard of several must be replaced where its own set has others, however many members the cluster
// has.
func TestSetsAreJudgedByThemselves(t *testing.T) {
	kill := func(l record.Lab, members ...record.LabMember) *scheduler {
		b := newScheduler(&runner{}, spec.Drill{}, &target{before: l, lab: noLab{}}, nil)
		for _, m := range members {
			b.add(&roundFault{spec: spec.Fault{Action: spec.Action{Name: fault.Kill, Target: m.Name}},
				Injection: platform.Injection{Effective: time.Now(), TakesDown: true, Unseats: true},
				struck:    []record.LabMember{m}})
		}
		return b
	}
	alone := labOfSets("shard1", 1, "shard2", 1, "shard3", 1)
	if b := kill(alone, alone.Members[1]); len(b.mustChange()) > 0 {
		t.Error("the only member of a shard has to be replaced by nobody")
	}
	sets := labOfSets("shard1", 3, "shard2", 3)
	if b := kill(sets, sets.Members[3]); strings.Join(b.mustChange(), " ") != "shard2" {
		t.Error("a primary with two secondaries has to be replaced")
	}
	b := kill(sets, sets.Members[3], sets.Members[4])
	if down, members := b.worstSet(); down != 2 || members != 3 || len(b.mustChange()) > 0 {
		t.Errorf("%d of %d members of a set were down, and another has to take over: %v", down, members, b.mustChange())
	}
}
