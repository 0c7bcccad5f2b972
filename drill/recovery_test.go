package drill

import (
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// A standby that runs and receives nothing is not as it was, although nobody says how far it is behind. Where that is
// never said, its absence means nothing.
func TestWholeNeedsThatStandbysReceive(t *testing.T) {
	zero, much := int64(0), int64(1<<20)
	lab := func(lag *int64) record.Lab {
		return record.Lab{Members: []record.LabMember{{Name: "rs0-1", Set: "rs", State: "running", Role: "primary"},
			{Name: "rs0-2", Set: "rs", State: "running", Role: "secondary", LagBytes: lag}, {Name: "gateway", State: "running", Role: "gateway"}}}
	}
	for _, c := range []struct {
		before, now record.Lab
		want        string
	}{
		{lab(&zero), lab(&zero), ""},
		{lab(&zero), lab(nil), "rs0-2 does not receive from the primary"},
		{lab(&zero), lab(&much), "rs0-2 is 1048576 bytes behind"},
		{lab(nil), lab(nil), ""},
	} {
		if got := notWhole(c.before, c.now, noLag); got != c.want {
			t.Errorf("missing is %q, want %q", got, c.want)
		}
	}
}

// Only of a member that is known to have applied everything can be said that it diverged.
func TestBehindText(t *testing.T) {
	for n, want := range map[int64]string{0: "", -1: "how much of the primary's log it had not applied is not known", 2048: "2.00 KiB of the primary's log were not applied"} {
		if got := behindText(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

// A fault that could not be healed is not one that was meant to stay: with it nothing is as it was.
func TestWholeNeedsThatFaultsAreHealed(t *testing.T) {
	r := &round{before: record.Lab{Members: []record.LabMember{{Name: "rs0-1", State: "running", Role: "primary"}}}}
	r.breaks = newBreaker(r)
	now := r.before
	now.Faults = []record.LabFault{{ID: 3, Action: "pause", Target: "rs0-1"}}
	if got, want := r.notWhole(now, noLag), "pause rs0-1 is still in place"; got != want {
		t.Errorf("missing is %q, want %q", got, want)
	}
	stays := &roundFault{spec: spec.Fault{Strike: spec.ParseStrike("pause:rs0-1"), Stay: true},
		Injection: fault.Injection{Effective: time.Now(), ID: 3}}
	r.breaks.add(stays)
	if got := r.notWhole(now, noLag); got != "" {
		t.Errorf("missing is %q of a fault that was meant to stay", got)
	}
}
