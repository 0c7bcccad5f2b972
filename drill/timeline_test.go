package drill

import (
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// What could not be broken is no moment on the timeline, and nothing follows it.
func TestFaultThatCouldNotBeDone(t *testing.T) {
	c := made(20*time.Second, time.Millisecond, 0, 0)
	r := &record.DrillRound{WindowEnd: int64(20 * time.Second), Faults: []record.DrillFault{{Fault: "kill:primary", Injected: int64(5 * time.Second), Hit: true}, {Fault: "kill:rs0-9"}}}
	zero := time.Now()
	elected := []record.LabEvent{{Kind: "promotion", Time: zero.Add(7 * time.Second)}}
	moments := timelineOf(r, []scope{{"", byClass([]course{c})}}, elected, clock{zero}, 0)
	if len(moments) != 2 || moments[0].Kind != record.MomentFault || moments[0].At != int64(5*time.Second) ||
		moments[1].Kind != record.MomentElected || moments[1].Fault != 0 {
		t.Errorf("the timeline is %+v", moments)
	}
	r.Faults = r.Faults[1:]
	if moments := timelineOf(r, []scope{{"", byClass([]course{c})}}, elected, clock{zero}, 0); moments != nil {
		t.Errorf("nothing was broken, and the timeline is %+v", moments)
	}
}

// The wall clock of the machine is set while a drill goes on. The record of the load has only that; the times of what was broken
// must not move against those of the operations.
func TestClockThatIsSet(t *testing.T) {
	zero := time.Now()
	x := &round{zero: zero, shift: int64(3 * time.Second)}
	fault := zero.Add(10 * time.Second)
	if got, want := x.clock().at(fault)-x.shift, int64(10*time.Second); got != want {
		t.Errorf("a fault 10 s into the load is at %v", time.Duration(got))
	}
	if x.clock().zero.Round(0) == x.clock().zero {
		t.Error("the clock has no monotonic reading, so it jumps when the wall clock is set")
	}
}

// That the clock was set is said; that a time server makes it a little faster is not.
func TestClockThatWasSetIsTold(t *testing.T) {
	x := &round{r: &record.DrillRound{Number: 2}, c: &conductor{drill: &record.Drill{}}}
	x.checkClock(10*time.Minute+300*time.Millisecond, 10*time.Minute)
	if n := len(x.c.drill.Validity); n != 0 {
		t.Errorf("a clock that was not set gives %+v", x.c.drill.Validity)
	}
	x.checkClock(9*time.Second, 10*time.Second)
	if f := x.c.drill.Validity; len(f) != 1 || f[0].ID != "clock-set" || !strings.Contains(f[0].Text, "by -1s during round 2") {
		t.Errorf("a clock that was set back by a second gives %+v", f)
	}
}
