package drill

import (
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// A volume is rebuilt when it lacks a copy, and not as long as something in it, or a host of it, is broken.
func TestDegraded(t *testing.T) {
	disks := []record.LabDisk{{Name: "d1", Host: "host1"}, {Name: "d2", Host: "host2"}}
	l := record.Lab{Volumes: []record.LabVolume{{Name: "rs0-1", Health: "degraded", Disks: disks},
		{Name: "rs0-2", Health: "healthy"}, {Name: "rs0-3", Health: "repairing"}, {Name: "rs0-4", Health: "failed"}}}
	if got := degraded(l); !slices.Equal(got, []string{"rs0-1"}) {
		t.Errorf("to be rebuilt: %q", got)
	}
	for _, target := range []string{"rs0-1", "rs0-1/d2", "host1", "host2"} {
		l.Faults = []record.LabFault{{Target: target}}
		if got := degraded(l); len(got) > 0 {
			t.Errorf("%q are rebuilt while %s is broken", got, target)
		}
	}
}

// A hiccup at the very end does not hide that throughput was back long before.
func TestHiccupAtTheEnd(t *testing.T) {
	c := made(30*time.Second, time.Millisecond, 29400*time.Millisecond, 29700*time.Millisecond)
	w := window{from: 0, fault: int64(10 * time.Second), until: int64(30 * time.Second)}
	if e := effectOf(c, w); e.Recovery != 0 || e.Outage != int64(301*time.Millisecond) {
		t.Errorf("the effect is %+v", e)
	}
	c = made(30*time.Second, time.Millisecond, 28*time.Second, 29700*time.Millisecond)
	if e := effectOf(c, w); e.Recovery != -1 {
		t.Errorf("an outage until just before the end is not recovered from: %+v", e)
	}
}

// An outage is what a drill is for; what else makes a run invalid is told.
func TestDoubts(t *testing.T) {
	all := []measure.Finding{{ID: "outage", Severity: measure.Invalid}, {ID: "client-cpu", Severity: measure.Invalid},
		{ID: "short-data", Severity: measure.Warning}}
	if got := doubts(all); got != "client-cpu" {
		t.Errorf("doubts: %q", got)
	}
}

// Nobody waits for copies on a host that stays dead; and that they are missing is said.
func TestCopiesOnADeadHost(t *testing.T) {
	disks := func(hosts ...string) (list []record.LabDisk) {
		for _, h := range hosts {
			list = append(list, record.LabDisk{Host: h})
		}
		return list
	}
	l := record.Lab{Volumes: []record.LabVolume{{Name: "rs0-1", Health: "degraded", Disks: disks("host1", "host2")},
		{Name: "rs0-2", Health: "healthy", Disks: disks("host2", "host3")}, {Name: "rs0-3", Health: "degraded", Disks: disks("host3", "host1")}}}
	if got := notRestored(l, l, lag{}); got == "" || deadHosts(l) != "" {
		t.Errorf("without a dead host: %q, %q", got, deadHosts(l))
	}
	l.Faults = []record.LabFault{{Action: "power-off", Target: "host1"}}
	want := "redundancy was not fully restored, because host1 stays dead (volumes without all copies: rs0-1, rs0-3)"
	if got := notRestored(l, l, lag{}); got != "" || deadHosts(l) != want {
		t.Errorf("with a dead host: %q, %q", got, deadHosts(l))
	}
}
