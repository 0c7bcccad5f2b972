package drill

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// What could not be broken is no moment on the timeline, and nothing follows it.
func TestFaultThatCouldNotBeDone(t *testing.T) {
	c := made(20*time.Second, time.Millisecond, 0, 0)
	r := &record.DrillRound{WindowEnd: int64(20 * time.Second),
		Faults: []record.DrillFault{{Fault: spec.ParseAction("kill:primary"), Injected: int64(5 * time.Second), Hit: true},
			{Fault: spec.ParseAction("kill:rs0-9")}}}
	zero := time.Now()
	elected := []record.LabEvent{{Kind: "promotion", Time: zero.Add(7 * time.Second)}}
	moments := timelineOf(r, []scope{{"", byClass([]course{c})}}, elected, runClock{began: zero})
	if len(moments) != 2 || moments[0].Kind != record.MomentFault || moments[0].At != int64(5*time.Second) ||
		moments[1].Kind != record.MomentElected || moments[1].Fault != 0 {
		t.Errorf("the timeline is %+v", moments)
	}
	r.Faults = r.Faults[1:]
	if moments := timelineOf(r, []scope{{"", byClass([]course{c})}}, elected, runClock{began: zero}); moments != nil {
		t.Errorf("nothing was broken, and the timeline is %+v", moments)
	}
}

// Run time must not jump when the wall clock is set, and begins shift before the load.
func TestRunClock(t *testing.T) {
	began := time.Now()
	c := runClock{began: began, shift: int64(3 * time.Second)}
	if got, want := c.at(began.Add(10*time.Second)), int64(13*time.Second); got != want {
		t.Errorf("10 s into the load is at %v", time.Duration(got))
	}
}

// A clock that was set is noticed. A time server that makes it a little faster is not.
func TestClockSet(t *testing.T) {
	if by := clockSet(10*time.Minute+300*time.Millisecond, 10*time.Minute); by != 0 {
		t.Errorf("a clock that was not set was set by %v", by)
	}
	if by := clockSet(9*time.Second, 10*time.Second); by != -time.Second {
		t.Errorf("a clock that was set back by a second was set by %v", by)
	}
}

// TestEveryStopIsTold has writes stop for 1.2 s at the fault and for 2 s half a minute later, as after a second
// election. The second one is longer, and the first one is what the fault did.
func TestEveryStopIsTold(t *testing.T) {
	at := func(s float64) int64 { return int64(s * 1e9) }
	c := course{class: "update", shard: -1, writes: true}
	for ms := int64(0); ms < 60_000; ms += 10 {
		s := float64(ms) / 1000
		if s >= 10 && s < 11.2 || s >= 40 && s < 42 {
			continue
		}
		c.slices = append(c.slices, slice{number: ms / 10, ok: 5, okFirst: at(s), okLast: at(s + 0.009)})
	}
	r := &record.DrillRound{WindowEnd: at(60), Faults: []record.DrillFault{{Fault: spec.ParseAction("kill:primary"),
		Injected: at(10), Hit: true}}}
	var texts []string
	for _, m := range timelineOf(r, []scope{{"", byClass([]course{c})}}, nil, runClock{began: time.Now()}) {
		if m.Kind == record.MomentFirstWrite {
			texts = append(texts, m.Text)
		}
	}
	want := []string{"the first acknowledged write after 1.20 s without any", "the first acknowledged write after 2.00 s without any"}
	if len(texts) != 2 || !strings.Contains(texts[0], "after 1.2") || !strings.Contains(texts[1], "after 2") {
		t.Errorf("the timeline tells %q, want %q", texts, want)
	}
	for i := range c.slices { // one write a second: gaps are nothing special
		c.slices[i].ok = 0
		if i%100 == 0 {
			c.slices[i].ok = 1
		}
	}
	texts = nil
	for _, m := range timelineOf(r, []scope{{"", byClass([]course{c})}}, nil, runClock{began: time.Now()}) {
		if m.Kind == record.MomentFirstWrite {
			texts = append(texts, m.Text)
		}
	}
	if len(texts) > 1 {
		t.Errorf("of a write a second the timeline tells %q", texts)
	}
}

// What prolongs an outage is on the timeline: another leader of etcd, and a gateway that the lab restarted.
func TestRestartsAreTold(t *testing.T) {
	c := made(20*time.Second, time.Millisecond, 0, 0)
	r := &record.DrillRound{WindowEnd: int64(20 * time.Second),
		Faults: []record.DrillFault{{Fault: spec.ParseAction("power-off:host1"), Injected: int64(5 * time.Second), Hit: true}}}
	zero := time.Now()
	var got []string
	for _, m := range timelineOf(r, []scope{{"", byClass([]course{c})}}, []record.LabEvent{
		{Kind: "etcd", Time: zero.Add(6 * time.Second)}, {Kind: "promotion", Time: zero.Add(7 * time.Second)},
		{Kind: "restart", Time: zero.Add(8 * time.Second)}, {Kind: "member", Time: zero.Add(9 * time.Second)},
	}, runClock{began: zero}) {
		got = append(got, m.Kind)
	}
	want := []string{record.MomentFault, record.MomentEtcd, record.MomentElected, record.MomentRestart}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A primary that the lab restarts before an election need not change. A standby that the lab restarts explains nothing.
func TestRestartedPrimary(t *testing.T) {
	before := record.Lab{Members: []record.LabMember{{Name: "rs0-1", Set: "rs0", Role: "primary"}, {Name: "rs0-2", Set: "rs0", Role: "secondary"}}}
	p := &primaries{}
	p.noteRestart("rs0-2", before)
	if diff := cmp.Diff([]string{"rs0"}, p.unchanged([]string{"rs0"}, before)); diff != "" {
		t.Error(diff)
	}
	p.noteRestart("rs0-1", before)
	if list := p.unchanged([]string{"rs0"}, before); len(list) > 0 {
		t.Errorf("%v had to change", list)
	}
}

// Of the gateways of a lab, only the one that the load uses prolongs its outage.
func TestRestartOfAnotherGateway(t *testing.T) {
	tg := &target{uri: "mongodb://127.0.0.1:2/", before: record.Lab{Members: []record.LabMember{
		{Name: "rs0-1", Role: "primary", Address: "127.0.0.1:3"},
		{Name: "gateway-durable", Role: "gateway", Address: "127.0.0.1:1"},
		{Name: "gateway-majority", Role: "gateway", Address: "127.0.0.1:2"}}}}
	for member, unused := range map[string]bool{"rs0-1": false, "gateway-durable": true, "gateway-majority": false} {
		if got := tg.unused(record.LabEvent{Kind: "restart", Data: map[string]string{"member": member}}); got != unused {
			t.Errorf("%s: unused is %v", member, got)
		}
	}
}

// A new primary that is seen after its first write has the reason. One that is seen before, and one that is seen long
// after a write, which may be that of the old primary, have none.
func TestAPrimaryAfterItsFirstWriteHasTheReason(t *testing.T) {
	moment := func(kind, shard string, ms int64) record.DrillMoment {
		return record.DrillMoment{Kind: kind, Shard: shard, At: ms * 1e6}
	}
	wrote, elected := record.MomentFirstWrite, record.MomentElected
	list := []record.DrillMoment{
		moment(wrote, "a", 1000), moment(elected, "b", 1100), moment(elected, "a", 1400),
		moment(wrote, "b", 1500), moment(elected, "b", 9000),
		moment(wrote, "c", 10000), moment(record.MomentPrimaryOut, "c", 10100), moment(elected, "c", 10200),
	}
	explainPrimaries(list)
	for i, m := range list {
		if got, want := m.Text, map[bool]string{true: seenLate}[i == 2]; got != want {
			t.Errorf("moment %d of shard %s: %q, want %q", i, m.Shard, got, want)
		}
	}
}
