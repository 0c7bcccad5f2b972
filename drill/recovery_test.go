package drill

import (
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// A standby that runs and receives nothing is not as it was, although nobody says how far it is behind. Where that is
// never said, its absence means nothing.
func TestStandbyThatDoesNotReplicateIsNotRestored(t *testing.T) {
	zero, much := int64(0), int64(1<<20)
	lab := func(behind *int64) record.Lab {
		return record.Lab{Members: []record.LabMember{{Name: "rs0-1", Set: "rs", State: "running", Role: "primary"},
			{Name: "rs0-2", Set: "rs", State: "running", Role: "secondary", LagBytes: behind}, {Name: "gateway", State: "running", Role: "gateway"}}}
	}
	for _, c := range []struct {
		before, now record.Lab
		want        string
	}{
		{lab(&zero), lab(&zero), ""},
		{lab(&zero), lab(nil), "rs0-2 does not replicate"},
		{lab(&zero), lab(&much), "rs0-2 is 1048576 bytes behind"},
		{lab(nil), lab(nil), ""},
	} {
		if got := notRestored(c.before, c.now, lag{}); got != c.want {
			t.Errorf("missing is %q, want %q", got, c.want)
		}
	}
}

// Only of a member that is known to have applied everything can be said that it diverged.
func TestBehindText(t *testing.T) {
	for n, want := range map[int64]string{0: "", -1: "its replication lag is not known", 2048: "2.00 KiB of the primary's log were not applied"} {
		if got := behindText(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

// A fault that could not be healed is not one that was meant to stay: with it nothing is as it was.
func TestUnhealedFaultIsNotRestored(t *testing.T) {
	before := &target{before: record.Lab{Members: []record.LabMember{{Name: "rs0-1", State: "running", Role: "primary"}}}}
	r := &redundancy{target: before, scheduler: newScheduler(&runner{}, spec.Drill{}, before, nil)}
	now := before.before
	now.Faults = []record.LabFault{{ID: 3, Action: "pause", Target: "rs0-1"}}
	if got, want := r.missing(now, lag{}), "pause rs0-1 is still in place"; got != want {
		t.Errorf("missing is %q, want %q", got, want)
	}
	stays := &roundFault{spec: spec.Fault{Action: spec.ParseAction("pause:rs0-1"), Stay: true},
		Injection: platform.Injection{Effective: time.Now()}}
	stays.ID = 3
	r.scheduler.add(stays)
	if got := r.missing(now, lag{}); got != "" {
		t.Errorf("missing is %q of a fault that was meant to stay", got)
	}
}
