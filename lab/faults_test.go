package lab

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

func makeDir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
}

// broken is a fault without details.
func broken(text string) spec.Fault { return spec.Fault{Action: spec.ParseAction(text)} }

// mustFail breaks something, with a limit if there is one.
func (l *fakeLab) mustFail(t *testing.T, f spec.Fault, limit ...time.Duration) record.LabFault {
	t.Helper()
	done, err := l.h.Fail(t.Context(), f, append(limit, 0)[0])
	if err != nil {
		t.Fatalf("%+v: %v", f, err)
	}
	return done
}

func (l *fakeLab) mustRefuse(t *testing.T, f spec.Fault, part string) {
	t.Helper()
	_, err := l.h.Fail(t.Context(), f, 0)
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), part) {
		t.Errorf("%+v: got %v, want a refusal that says %q", f, err, part)
	}
}

func TestTargetsAreFoundByNameAndRole(t *testing.T) {
	l := upFake(t, nil)
	for _, c := range []struct {
		name, target, want string
		seed               uint64
	}{
		{fault.Pause, "rs0-2", "rs0-2", 0},
		{fault.Pause, "primary", "rs0-1", 0},
		{fault.Pause, "rs0/secondary", "rs0-2", 0},
		{fault.Pause, "gateway", "gateway-durable", 0},
		{fault.Pause, "host3", "host3", 0},
		{fault.PowerOff, "secondary", "host2", 0},
		{fault.DiskFail, "rs0-1/d2", "rs0-1/d2", 0},
		{fault.DiskFail, "rs0-2", "rs0-2", 0},
		{fault.DiskFail, "primary", "rs0-1", 0},
		{fault.DiskFail, "primary/d2", "rs0-1/d2", 0},
		{fault.DiskFail, "secondary/d1", "rs0-2/d1", 0},
		{fault.DiskFail, "rs0/primary/d1", "rs0-1/d1", 0},
		{fault.StepDown, "primary", "rs0-1", 0},
	} {
		f := l.mustFail(t, spec.Fault{Action: spec.Action{Name: c.name, Target: c.target}, Seed: c.seed})
		if f.Target != c.want {
			t.Errorf("%s %s was done to %s, want %s", c.name, c.target, f.Target, c.want)
		}
		if _, err := l.h.Heal(t.Context(), Healing{All: true}); err != nil {
			t.Error(err)
		}
	}
	first := l.mustFail(t, spec.Fault{Action: spec.ParseAction("pause:random"), Seed: 7})
	if _, err := l.h.Heal(t.Context(), Healing{ID: first.ID}); err != nil {
		t.Error(err)
	}
	if again := l.mustFail(t, spec.Fault{Action: spec.ParseAction("pause:random"), Seed: 7}); again.Target != first.Target {
		t.Errorf("the same seed chose %s and %s", first.Target, again.Target)
	}
}

// TestFaultWaitsForAPrimary breaks the primary while an election goes on.
func TestFaultWaitsForAPrimary(t *testing.T) {
	l := upFake(t, nil)
	elect := func(name string) (missed int) {
		l.c.mu.Lock()
		defer l.c.mu.Unlock()
		l.c.primary = name
		return l.c.missed
	}
	elect("")
	var wait sync.WaitGroup
	wait.Go(func() {
		f, err := l.h.Fail(t.Context(), broken("pause:primary"), 0)
		if err != nil || f.Target != "rs0-2" {
			t.Errorf("%q was paused, and not the primary that was elected: %v", f.Target, err)
		}
	})
	l.until(t, "somebody asked for the primary", func(record.Lab) bool { return elect("") > 1 })
	elect("rs0-2")
	wait.Wait()
}

func TestNonsenseIsRefused(t *testing.T) {
	l := upFake(t, nil)
	l.mustRefuse(t, broken("kil:rs0-1"), "did you mean kill?")
	l.mustRefuse(t, broken("kill"), "kill needs a target")
	l.mustRefuse(t, broken("kill:rs0-9"), "did you mean rs0-1?")
	l.mustRefuse(t, broken("kill:host1"), "Name one of its members (rs0-1)")
	l.mustRefuse(t, broken("disk-fail:host1"), "MEMBER/DISK")
	l.mustRefuse(t, broken("disk-lie:gateway"), "has no volume")
	l.mustRefuse(t, broken("disk-lie:rs0-1"), "plain")
	l.mustRefuse(t, broken("disk-slow:rs0-1"), "needs a delay")
	l.mustRefuse(t, spec.Fault{Action: spec.ParseAction("disk-lie:rs0-1"), Ops: []string{"read"}}, "never affects read")
	l.mustRefuse(t, spec.Fault{Action: spec.ParseAction("disk-error:rs0-1"), Probability: 2}, "probability")
	l.mustRefuse(t, spec.Fault{Action: spec.ParseAction("kill:rs0-1"), Errno: "EIO"}, "(only: disk-error)")
	l.mustRefuse(t, spec.Fault{Action: spec.ParseAction("power-off:rs0-1"), Keep: 0.5}, "power-loss")
	l.mustRefuse(t, broken("power-loss:rs0-1"), "--faults")
	l.mustRefuse(t, broken("disk-fail:rs0-1/d7"), "disks: d1, d2")
	l.mustRefuse(t, broken("disk-fail:primary/d7"), "disks: d1, d2")
	l.mustRefuse(t, broken("disk-fail:gateway/d1"), "has no volume")
	l.mustRefuse(t, broken("kill:rs0-1/d1"), "member")
	l.mustRefuse(t, broken("kill:router"), "no router is running")
	l.mustRefuse(t, spec.Fault{Action: spec.ParseAction("cut:host1"), From: "host1"}, "from itself")
	l.mustRefuse(t, broken("slow:host1"), "rate")
	if _, err := l.h.Fail(t.Context(), broken("kill:rs0-1"), -1); !errors.Is(err, ErrRefused) {
		t.Errorf("a negative limit: %v", err)
	}
	l.mustRefuse(t, broken("step-down:rs0-2"), "not the primary")
	l.mustFail(t, broken("kill:rs0-2"))
	l.mustRefuse(t, broken("kill:rs0-2"), "is not running")
	l.mustFail(t, broken("cut:host1"))
	l.mustRefuse(t, broken("cut:host1"), "in place already")
	l.mustFail(t, spec.Fault{Action: spec.ParseAction("cut:host1"), From: "host2"}) // it stays when the other is healed
	l.mustFail(t, spec.Fault{Action: spec.ParseAction("cut:host3"), From: "host1"})
	l.mustRefuse(t, spec.Fault{Action: spec.ParseAction("cut:host1"), From: "host3"}, "cut host3 from host1 is in place already")
	l.mustFail(t, broken("power-off:host3"))
	l.mustRefuse(t, broken("power-off:host3"), "no power")
	l.mustRefuse(t, broken("kill:rs0-3"), "no power")
	for what, part := range map[Healing]string{{ID: 99}: "there is no fault 99", {Target: "rs0-1"}: "there is no fault on"} {
		if _, err := l.h.Heal(t.Context(), what); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), part) {
			t.Errorf("heal %+v: %v, want %q", what, err, part)
		}
	}
}

// A power failure takes members, disks and what had been done to them before; all of it comes back.
func TestPowerOffAndOn(t *testing.T) {
	l := upFake(t, nil)
	l.mustFail(t, broken("pause:rs0-2"))
	l.mustFail(t, broken("power-off:rs0-2"))
	d, err := l.h.Describe(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	if d.Hosts[1].State != host.Off || d.Members[1].State != "dead" || len(d.Faults) != 1 || len(l.off) != 1 {
		t.Errorf("after a power failure: %+v, disks off %v", d, l.off)
	}
	l.event(t, "member", "rs0-2 is down: its host lost power")
	if _, err := l.h.Heal(t.Context(), Healing{Target: "host2"}); err != nil {
		t.Fatal(err)
	}
	d, err = l.h.Describe(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	if d.Hosts[1].State != host.On || d.Members[1].State != "running" || len(l.off) != 0 {
		t.Errorf("after power came back: %+v, disks off %v", d, l.off)
	}
}

// A fault with a limit heals by itself.
func TestFaultsHealThemselves(t *testing.T) {
	l := upFake(t, nil)
	f := l.mustFail(t, broken("kill:rs0-3"), 20*time.Millisecond)
	if f.Until == nil || !f.Until.After(f.Since) {
		t.Errorf("the fault does not say until when: %+v", f)
	}
	l.until(t, "nothing is broken", func(d record.Lab) bool { return len(d.Faults) == 0 && d.Members[2].State == "running" })
	l.event(t, "heal", "kill rs0-3")
}

// The event of a fault tells how long it shall last for who asked, and the lab's own limit only as that.
func TestEventsTellHowLongFaultsLast(t *testing.T) {
	l := upFake(t, nil)
	for _, c := range []struct {
		last, limit time.Duration
		want        string
	}{
		{25 * time.Second, 40*time.Second - 12*time.Millisecond, "kill rs0-2 for 25s (limit 40s)"},
		{0, 75*time.Second - 3*time.Millisecond, "kill rs0-2 (limit 1m15s)"},
		{25 * time.Second, 25 * time.Second, "kill rs0-2 for 25s"},
		{1500 * time.Millisecond, 1500 * time.Millisecond, "kill rs0-2 for 1.5s"},
		{0, 0, "kill rs0-2"},
	} {
		f := l.mustFail(t, spec.Fault{Action: spec.ParseAction("kill:rs0-2"), For: spec.Duration(c.last)}, c.limit)
		events, err := l.h.EventsSince(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		told := slices.DeleteFunc(events, func(e record.LabEvent) bool { return e.Kind != "fault" })
		if last := told[len(told)-1]; last.Text != c.want {
			t.Errorf("for %v, limit %v: %q, want %q", c.last, c.limit, last.Text, c.want)
		}
		if _, err := l.h.Heal(t.Context(), Healing{ID: f.ID}); err != nil {
			t.Fatal(err)
		}
	}
}

// A member that ends by itself is a problem and stays dead, unless high availability was asked for.
func TestMemberThatEndsByItself(t *testing.T) {
	l := upFake(t, nil)
	_ = l.c.nodes[1].Kill()
	l.event(t, "problem", "rs0-2 ended unexpectedly: postgres: signal: killed")
	ha := upFake(t, func(o *order) {
		o.Spec.Availability = spec.Availability{Restart: true, RestartAfter: spec.Duration(time.Millisecond)}
	})
	_ = ha.c.nodes[1].Kill()
	ha.event(t, "restart", "rs0-2 was restarted on host2")
}

// The members of a dead host go to others of its role, and stay there when it comes back.
func TestRestartOnAnotherHost(t *testing.T) {
	l := upFake(t, func(o *order) {
		o.Spec.Availability = spec.Availability{Restart: true, RestartAfter: spec.Duration(time.Millisecond)}
	})
	l.mustFail(t, broken("power-off:host1"))
	l.event(t, "restart", "rs0-1 was started on host2, because host1 is dead")
	l.mustFail(t, broken("power-off:gateway1"))
	l.event(t, "problem", "no other host of the role gateway has power")
	if _, err := l.h.Heal(t.Context(), Healing{All: true}); err != nil {
		t.Fatal(err)
	}
	d, err := l.h.Describe(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	if d.Members[0].Host != "host2" || d.Members[0].State != "running" || d.Members[3].State != "running" || d.Members[3].Host != "gateway1" {
		t.Errorf("after the hosts came back: %+v", d.Members)
	}
}

// A member whose volume went with its host cannot be started elsewhere.
func TestVolumeThatIsGoneKeepsAMemberDown(t *testing.T) {
	l := upFake(t, func(o *order) {
		o.Spec.Availability = spec.Availability{Restart: true, RestartAfter: spec.Duration(time.Millisecond)}
	})
	l.volumes["rs0-1"].mu.Lock()
	l.volumes["rs0-1"].health = "failed"
	l.volumes["rs0-1"].mu.Unlock()
	l.mustFail(t, broken("power-off:host1"))
	l.event(t, "problem", "its volume is not available")
}

func TestNoPasswordLeaves(t *testing.T) {
	l := upFake(t, nil)
	d, err := l.h.Describe(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	if d.URI != "mongodb://198.18.0.1:27017/?a=b" || d.URIs["durable"] != "mongodb://198.18.0.1:27018/" {
		t.Errorf("addresses %q, %v", d.URI, d.URIs)
	}
	for _, name := range []string{labFile, eventsFile, logFile, orderFile} {
		if b, err := os.ReadFile(l.h.Dir() + "/" + name); err == nil && bytes.Contains(b, []byte("secret")) {
			t.Errorf("%s has the password", name)
		}
	}
	a, err := l.h.Addresses(t.Context())
	if err != nil || a[""] != "mongodb://user:secret@198.18.0.1:27017/?a=b" {
		t.Errorf("addresses %v, %v", a, err)
	}
}

func TestRepairAndUsage(t *testing.T) {
	l := upFake(t, nil)
	if text, err := l.h.Repair(t.Context(), "rs0-1"); err != nil || text != "1 disk was replaced" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := l.h.Repair(t.Context(), "rs0-7"); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "rs0-1") {
		t.Errorf("a volume that is not there: %v", err)
	}
	if u, err := l.h.Usage(t.Context()); err != nil || len(u) != 4 || u[0].Host != "host1" {
		t.Errorf("%+v, %v", u, err)
	}
}

// A lab that cannot be made says why, removes what it made, and ends.
func TestLabThatFails(t *testing.T) {
	r := newFakeRooms()
	r.c.refuse = errors.New("rs0-2 does not answer")
	l := startFake(t, r, nil)
	if err := l.h.awaitUsable(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "rs0-2 does not answer") {
		t.Errorf("got %v", err)
	}
	keep := newFakeRooms()
	keep.c.refuse = errors.New("rs0-2 does not answer")
	k := startFake(t, keep, func(o *order) { o.Keep = true })
	k.until(t, "it failed", func(d record.Lab) bool { return d.State == stateFailed && d.Members[0].State == "running" })
	if keep.closed {
		t.Error("a lab that was to be kept is removed")
	}
}
