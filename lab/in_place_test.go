package lab

import (
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/lab/action"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// faultOn is a fault of a name that is done to a member, or to its host where there is none.
func faultOn(name string, n *fakeNode, h *fakeHost) *injected {
	t := action.Target{Host: h}
	if n != nil {
		t.Node = n
	}
	return &injected{LabFault: record.LabFault{Action: name, Target: t.Name(), Since: time.Now()},
		job: &action.Job{Action: action.Find(name), Fault: spec.Fault{Action: spec.Action{Name: name, Target: t.Name()}},
			Target: t}}
}

// What ends the processes of a target ends the faults that those processes had, of its own target and no other.
func TestFaultsThatEndOthers(t *testing.T) {
	h1, h2 := &fakeHost{name: "host1"}, &fakeHost{name: "host2"}
	n1, n2 := &fakeNode{name: "rs0-1", host: h1}, &fakeNode{name: "rs0-2", host: h2}
	for _, c := range []struct {
		before, then *injected
		ends         bool
	}{
		{faultOn(fault.Pause, n1, h1), faultOn(fault.Kill, n1, h1), true},
		{faultOn(fault.Pause, n1, h1), faultOn(fault.Stop, n1, h1), true},
		{faultOn(fault.Pause, n1, h1), faultOn(fault.Kill, n2, h2), false},
		{faultOn(fault.Pause, n1, h1), faultOn(fault.PowerOff, nil, h1), true},
		{faultOn(fault.Pause, nil, h1), faultOn(fault.PowerLoss, nil, h1), true},
		{faultOn(fault.Pause, nil, h1), faultOn(fault.PowerOff, nil, h2), false},
		{faultOn(fault.Kill, n1, h1), faultOn(fault.Stop, n1, h1), true},
		{faultOn(fault.Kill, n1, h1), faultOn(fault.PowerOff, nil, h1), false}, // it stays down when the host is back
		{faultOn(fault.Cut, nil, h1), faultOn(fault.PowerOff, nil, h1), false},
		{faultOn(fault.Kill, n1, h1), faultOn(fault.Pause, n2, h2), false},
	} {
		var p inPlace
		p.add(c.before, 0, nil)
		ended := p.add(c.then, 0, nil)
		if (len(ended) == 1) != c.ends || p.has(c.before) == c.ends || !p.has(c.then) {
			t.Errorf("%s %s, then %s %s: ended %d", c.before.Action, c.before.Target, c.then.Action, c.then.Target, len(ended))
		}
	}
}

// Faults are found by number, by target as it was named or meant, and by host; a limit heals what is in place still.
func TestFaultsInPlace(t *testing.T) {
	h := &fakeHost{name: "host1"}
	n := &fakeNode{name: "rs0-1", host: h}
	var p inPlace
	if _, err := p.find(Healing{Target: "host1"}); err == nil || !strings.Contains(err.Error(), "this lab has no faults") {
		t.Errorf("of nothing: %v", err)
	}
	kill, cut := faultOn(fault.Kill, n, h), faultOn(fault.Cut, nil, h)
	kill.requested = "primary"
	p.add(kill, 0, nil)
	healed := make(chan *injected, 1)
	p.add(cut, time.Millisecond, func(x *injected) { healed <- x })
	if x := <-healed; x != cut || cut.Until == nil || cut.ID != 2 {
		t.Errorf("after its limit %+v was to be healed", x)
	}
	for _, c := range []struct {
		what Healing
		want []*injected
	}{
		{Healing{ID: 1}, []*injected{kill}}, {Healing{Target: "primary"}, []*injected{kill}},
		{Healing{Target: "host1"}, []*injected{cut}}, {Healing{All: true}, []*injected{kill, cut}}, {Healing{ID: 3}, nil},
		{Healing{Target: "rs0-2"}, nil},
	} {
		got, err := p.find(c.what)
		if len(got) != len(c.want) || (err != nil) != (c.want == nil) {
			t.Errorf("%+v: %d faults, %v", c.what, len(got), err)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%+v: %s %s", c.what, got[i].Action, got[i].Target)
			}
		}
	}
	if !p.keepsDown("rs0-1") || p.keepsDown("rs0-2") || p.affects("") {
		t.Error("a member that was killed is kept down, and no disk is affected")
	}
	p.remove(kill, cut)
	if len(p.records()) != 0 || p.keepsDown("rs0-1") {
		t.Errorf("after all were removed: %+v", p.records())
	}
}

// A fault of all disks of a volume ends when the last of them was replaced.
func TestFaultsEndWithTheirDisks(t *testing.T) {
	v := &fakeVolume{name: "rs0-1"}
	all := &injected{LabFault: record.LabFault{Action: fault.DiskFail},
		job: &action.Job{Action: action.Find(fault.DiskFail),
			Target: action.Target{Host: &fakeHost{name: "host1"}, Volume: v, Disks: []string{"d1", "d2"}, AllDisks: true}}}
	var p inPlace
	p.add(all, 0, nil)
	if !p.affects("rs0-1") || p.affects("rs0-2") || !p.affects("") {
		t.Error("the disks of one volume are affected")
	}
	for _, c := range []struct {
		volume, disk string
		over         int
	}{{"rs0-2", "d1", 0}, {"rs0-1", "d1", 0}, {"rs0-1", "d2", 1}, {"rs0-1", "d2", 0}} {
		if over := p.replaceDisks(c.volume, map[string]bool{c.disk: true}); len(over) != c.over {
			t.Errorf("%s/%s was replaced: %d faults are over, want %d", c.volume, c.disk, len(over), c.over)
		}
	}
}
