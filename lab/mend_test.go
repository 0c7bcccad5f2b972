package lab

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// A supervisor that is there but does not answer yet is not called dead, and what it wrote down is believed.
func TestSupervisorThatIsBusyIsNotDead(t *testing.T) {
	dir := Dir(t.TempDir(), "busy")
	makeDir(t, dir)
	if err := writeJSON(dir, supervisorFile, procid.Self()); err != nil {
		t.Fatal(err)
	}
	h := newHandle(dir)
	defer h.Close()
	if _, err := h.Describe(t.Context(), false); err == nil || errors.Is(err, ErrGone) {
		t.Errorf("no answer of a living supervisor: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- h.awaitUsable(t.Context(), nil) }()
	time.Sleep(3 * retryRequest) // it may ask in vain meanwhile
	if err := writeJSON(dir, labFile, record.Lab{Name: "busy", State: stateFailed, Problem: "no space left"}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("got %v", err)
	}
	if err := writeJSON(dir, supervisorFile, procid.ID{}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.send(t.Context(), http.MethodGet, pathLab, nil, nil); !errors.Is(err, ErrGone) {
		t.Errorf("no answer of a dead supervisor: %v", err)
	}
}

// A lab whose supervisor is gone has no host that is on and no member that runs.
func TestDeadLabIsConsistent(t *testing.T) {
	home := t.TempDir()
	makeDir(t, Dir(home, "left"))
	lag := 1.5
	was := record.Lab{Name: "left", State: stateUp, Hosts: []record.LabHost{{Name: "host1", State: "on", CutFrom: []string{"*"}}},
		Members: []record.LabMember{{Name: "rs0-1", State: "running", Role: "primary", LagSeconds: &lag, PIDs: []int{1}}},
		Volumes: []record.LabVolume{{Name: "v", Health: "healthy"}}, Faults: []record.LabFault{{ID: 1}}}
	if err := writeJSON(Dir(home, "left"), labFile, was); err != nil {
		t.Fatal(err)
	}
	e, err := Find(t.Context(), home, "left")
	if err != nil || e.Alive || e.Hosts[0].State != "off" || e.Hosts[0].CutFrom != nil || e.Members[0].State != "dead" ||
		e.Members[0].Role != "unknown" ||
		e.Members[0].LagSeconds != nil || e.Members[0].PIDs != nil || e.Volumes[0].Health != "unknown" || e.Faults != nil ||
		e.Problem == "" {
		t.Errorf("%+v, %v", e, err)
	}
}

// A supervisor that was started and does not hold its lab yet, because whoever started it was killed, is gone with the
// lab.
func TestSupervisorThatIsLate(t *testing.T) {
	home := t.TempDir()
	makeDir(t, Dir(home, "late"))
	p, err := process.Start(t.Context(), process.Spec{Role: "supervisor", Path: "/bin/sleep", Args: []string{"1000"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	if err := writeJSON(Dir(home, "late"), supervisorFile, procid.Of(p.PID)); err != nil {
		t.Fatal(err)
	}
	if err := Down(t.Context(), home, "late", nil); err != nil || p.Running() && process.Alive(p.PID, p.Born) {
		t.Errorf("after its lab was removed it runs: %v (%v)", p.Running(), err)
	}
}

// A member that could not be started on one host is started on the next, and tried again after that.
func TestRestartIsTriedAgain(t *testing.T) {
	l := upFake(t, func(o *order) {
		o.Spec.Availability = spec.Availability{Restart: true, RestartAfter: spec.Duration(time.Millisecond)}
	})
	l.c.mu.Lock()
	l.c.failing = 3 // both other hosts, and the first of them again
	l.c.mu.Unlock()
	l.mustFail(t, broken("power-off:host1"))
	l.event(t, "problem", "the lab retries: on host2: rs0-1 did not rejoin: no space left")
	l.event(t, "restart", "rs0-1 was started on host3, because host1 is dead")
}

// Healing starts a member that nothing keeps down any more, or says that it cannot.
func TestHealStartsWhatIsDead(t *testing.T) {
	l := upFake(t, nil)
	_ = l.c.nodes[1].Kill()
	l.c.mu.Lock()
	l.c.failing = 1
	l.c.mu.Unlock()
	if _, err := l.h.Heal(t.Context(), Healing{All: true}); err == nil || !strings.Contains(err.Error(), "rs0-2 did not rejoin: no space left") {
		t.Errorf("a member that does not start: %v", err)
	}
	done, err := l.h.Heal(t.Context(), Healing{Target: "rs0-2"})
	if err != nil || len(done) != 1 || done[0].Action != Ended || !l.c.nodes[1].Status().Running {
		t.Errorf("healed %+v, %v", done, err)
	}
	l.event(t, "heal", "rs0-2 had ended and was restarted")
}

// What becomes of a volume is told, and a replaced disk takes its fault with it.
func TestVolumesAreToldOf(t *testing.T) {
	l := upFake(t, nil)
	l.mustFail(t, broken("disk-fail:rs0-1/d2"))
	l.event(t, "volume", "the volume rs0-1 is degraded (was healthy)")
	l.volumes["rs0-1"].mu.Lock()
	l.volumes["rs0-1"].refuse = errors.New("no space for a new disk")
	l.volumes["rs0-1"].mu.Unlock()
	if _, err := l.h.Repair(t.Context(), "rs0-1"); err == nil {
		t.Error("a repair that fails is none")
	}
	l.event(t, "volume", "cannot repair the volume rs0-1: no space for a new disk")
	l.volumes["rs0-1"].mu.Lock()
	l.volumes["rs0-1"].refuse = nil
	l.volumes["rs0-1"].mu.Unlock()
	if _, err := l.h.Repair(t.Context(), "rs0-1"); err != nil {
		t.Fatal(err)
	}
	l.event(t, "heal", "disk-fail rs0-1/d2 has ended because the disk was replaced")
	l.event(t, "volume", "the volume rs0-1 is healthy (was degraded)")
	l.mustFail(t, broken("disk-fail:rs0-1/d2")) // it can fail again
	if _, err := l.h.Heal(t.Context(), Healing{All: true}); err != nil {
		t.Fatal(err)
	}
	l.event(t, "heal", "disk-fail rs0-1/d2 is reverted")
}

// A fault that another one takes the place of does not vanish without a word.
func TestFaultThatIsReplacedIsTold(t *testing.T) {
	l := upFake(t, nil)
	l.mustFail(t, broken("pause:rs0-2"))
	l.mustFail(t, broken("kill:rs0-2"), 10*time.Millisecond)
	l.event(t, "heal", "pause rs0-2 has ended because kill rs0-2 replaced it")
	l.event(t, "heal", "kill rs0-2 is reverted because its time limit expired")
	l.mustFail(t, spec.Fault{Action: spec.ParseAction("cut:host1"), From: "host2"})
	if _, err := l.h.Heal(t.Context(), Healing{All: true}); err != nil {
		t.Fatal(err)
	}
	l.event(t, "heal", "cut host1 from host2 is reverted")
}

// A fault that fails after it did a part is reverted: the member does not stay down.
func TestFaultThatFailsHalfway(t *testing.T) {
	l := upFake(t, nil)
	n := l.c.list()[1]
	n.mu.Lock()
	n.killFails = errors.New("its process has not ended")
	n.mu.Unlock()
	if _, err := l.h.Fail(t.Context(), broken("kill:rs0-2"), 0); err == nil || !strings.Contains(err.Error(), "has not ended") {
		t.Errorf("the fault failed with %v", err)
	}
	l.event(t, "heal", "kill rs0-2 is reverted because it was not injected as a whole")
	if !n.Status().Running {
		t.Error("the member does not run again")
	}
	d, err := l.h.Describe(t.Context(), false)
	if err != nil || len(d.Faults) != 0 {
		t.Errorf("these faults are in place still: %+v (%v)", d.Faults, err)
	}
}

// What the kernel kills because a host's memory is too small is told with that cause: a process of a member that lives
// on, a member that ends, and in the state of the lab.
func TestMemoryThatDoesNotSuffice(t *testing.T) {
	l := upFake(t, nil)
	h := l.hosts["host2"]
	kill := func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.killed++
	}
	kill()
	l.event(t, "problem", "on host2, the kernel killed a process: out of memory (host limit 512 MiB)")
	kill()
	_ = l.c.nodes[1].Kill()
	const why = "killed by the kernel: out of memory (host limit 512 MiB)"
	l.event(t, "problem", "rs0-2 ended unexpectedly: "+why)
	l.until(t, "the member says why it is dead", func(d record.Lab) bool { return d.Members[1].Problem == why })
	l.until(t, "the lab says what was killed", func(d record.Lab) bool {
		return len(d.Notes) == 1 && strings.HasPrefix(d.Notes[0], "host2: the kernel killed 2 processes: out of memory (host limit 512 MiB), last at ")
	})
	if _, err := l.h.Heal(t.Context(), Healing{Target: "rs0-2"}); err != nil {
		t.Fatal(err)
	}
	l.until(t, "the member has no problem", func(d record.Lab) bool { return d.Members[1].Problem == "" })
	_ = l.c.nodes[0].Kill()
	l.event(t, "problem", "rs0-1 ended unexpectedly: postgres: signal: killed")
}

// An event has one line of a log, the one that tells most, and says where the rest is.
func TestEventsAreShort(t *testing.T) {
	l := upFake(t, nil)
	l.s.event("problem", "rs0-2 could not join again: it ended; /labs/x/rs0-2.log ends with:\n  | LOG: one\n  | FATAL: no space\n  | LOG: shut down", nil)
	l.event(t, "problem", "rs0-2 could not join again: it ended: FATAL: no space (log: /labs/x/rs0-2.log)")
}

// Gateways that wait for a primary say where it is, also those that run; others are dead without an excuse.
func TestGatewaysWithoutAPrimary(t *testing.T) {
	const why = "not answering because there is no primary: "
	for _, c := range []struct{ role, gateway, host, first, want string }{
		{"secondary", "dead", "paused", "paused", why + "host1, the host of rs0-1, is paused"},
		{"secondary", "running", "paused", "paused", why + "host1, the host of rs0-1, is paused"},
		{"secondary", "dead", "off", "dead", why + "host1, the host of rs0-1, has no power"},
		{"secondary", "running", "on", "paused", why + "rs0-1 is paused"},
		{"unknown", "running", "on", "dead", why + "rs0-1 is dead; rs0-2 is dead"},
		{"primary", "dead", "paused", "paused", ""},
		{"standalone", "dead", "paused", "paused", ""},
		{"secondary", "dead", "on", "running", ""}, // about to be promoted
	} {
		second := "running"
		if c.role == "unknown" {
			second = "dead"
		}
		l := record.Lab{State: stateUp, Hosts: []record.LabHost{{Name: "host1", State: c.host}, {Name: "host2", State: "on"}},
			Members: []record.LabMember{{Name: "rs0-1", Kind: "postgres", Host: "host1", Role: "unknown", State: c.first},
				{Name: "rs0-2", Kind: "postgres", Host: "host2", Role: c.role, State: second}, {Name: "gateway", Kind: "gateway", State: c.gateway}}}
		explainGateways(&l)
		if got := l.Members[2].Problem; got != c.want {
			t.Errorf("%+v: the gateway says %q", c, got)
		}
		l.State, l.Members[2].Problem = stateStarting, ""
		if explainGateways(&l); l.Members[2].Problem != "" {
			t.Errorf("in a lab that is being made the gateway says %q", l.Members[2].Problem)
		}
	}
}
