package enginetest

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
)

// Hosts makes hosts for nodes of one test, which end with it. Names are those of the hosts.
func Hosts(t testing.TB, mode string, names ...string) (*journal.Journal, map[string]host.Host) {
	t.Helper()
	return LimitedHosts(t, mode, host.Limits{}, names...)
}

// LimitedHosts makes hosts with limits.
func LimitedHosts(t testing.TB, mode string, limits host.Limits,
	names ...string) (*journal.Journal, map[string]host.Host) {
	t.Helper()
	dir := t.TempDir()
	j, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	g, err := host.NewMaker(t.Context(), host.MakerOptions{Lab: "test", Dir: dir, Home: host.SharedHome(), Mode: mode,
		Journal: j})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startLimit)
		defer cancel()
		if err := g.Close(ctx); err != nil {
			t.Error(err)
		}
		if left := j.Live(); len(left) > 0 && !t.Failed() {
			t.Errorf("the journal still has %v", left)
		}
		_ = j.Close()
	})
	hosts := map[string]host.Host{}
	for _, name := range names {
		h, err := g.Make(t.Context(), name, "member", limits)
		if err != nil {
			t.Fatal(err)
		}
		hosts[name] = h
	}
	return j, hosts
}

// Conform holds a node against what [engine.Node] promises. The node must not have been started yet, and can be
// started alone; elsewhere is a host that it does not stand on.
func Conform(t *testing.T, n engine.Node, elsewhere host.Host) {
	c := conformance{n: n}
	t.Cleanup(func() { _ = n.Kill() })
	for _, step := range []struct {
		name string
		do   func(t *testing.T)
	}{
		{"before the start", c.before},
		{"start and wait", c.start},
		{"what is known of it", c.known},
		{"a second start is refused", c.twice},
		{"pause and resume", c.pause},
		{"kill, and start again", c.kill},
		{"stop, and start again", c.stop},
		{"several starts at once", c.rush},
		{"a stop that may not take long", c.hurry},
		{"on another host", func(t *testing.T) { c.move(t, elsewhere) }},
		{"a wait that may not take long", c.impatient},
	} {
		if !t.Run(step.name, step.do) {
			return // what follows needs it
		}
	}
}

type conformance struct{ n engine.Node }

func (c conformance) context(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	t.Cleanup(cancel)
	return ctx
}

func (c conformance) before(t *testing.T) {
	if c.n.Name() == "" || c.n.Kind() == "" || c.n.Host() == nil {
		t.Errorf("name %q, kind %q, host %v: none of them may be empty", c.n.Name(), c.n.Kind(), c.n.Host())
	}
	if !strings.HasPrefix(c.n.Address(), c.n.Host().Address()+":") {
		t.Errorf("its address %s is not on its host's %s", c.n.Address(), c.n.Host().Address())
	}
	if c.n.Ended() != nil {
		t.Error("it has not been started and has a channel that says when it ends")
	}
	if c.n.Status().Running || len(c.n.Pids()) > 0 {
		t.Error("it runs before it was started")
	}
	if err := c.n.Kill(); err != nil {
		t.Errorf("killing what does not run: %v", err)
	}
	if err := c.n.Stop(c.context(t)); err != nil {
		t.Errorf("stopping what does not run: %v", err)
	}
}

func (c conformance) start(t *testing.T) {
	t.Helper()
	ctx := c.context(t)
	if err := c.n.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.n.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if s := c.n.Status(); !s.Running || len(s.Processes) == 0 {
		t.Fatalf("it answers, but its status is %+v", s)
	}
	select {
	case <-c.n.Ended():
		t.Fatal("it runs, but it says that it has ended")
	default:
	}
}

func (c conformance) known(t *testing.T) {
	if c.n.Version() == "" {
		t.Error("it has no version")
	}
	if pids := c.n.Pids(); len(pids) == 0 {
		t.Error("it has no process ids")
	}
	set, err := c.n.Settings(c.context(t))
	if err != nil || len(set) == 0 {
		t.Errorf("settings %v, error %v", set, err)
	}
	if len(c.n.Logs()) == 0 {
		t.Fatal("it has no log")
	}
	fi, err := os.Stat(c.n.Logs()[0])
	if err != nil {
		t.Fatal(err)
	}
	if fi.Mode().Perm()&0o077 != 0 {
		t.Errorf("its log has mode %v: others can read it", fi.Mode())
	}
	if dir := c.n.DataDir(); dir != "" {
		if fi, err := os.Stat(dir); err != nil || fi.Mode().Perm()&0o077 != 0 {
			t.Errorf("data directory %s: %v, mode %v", dir, err, fi.Mode())
		}
	}
}

func (c conformance) twice(t *testing.T) {
	if err := c.n.Start(c.context(t)); err == nil {
		t.Error("it was started twice")
	}
	if err := c.n.Move(c.n.Host()); err == nil {
		t.Error("it was moved while it runs")
	}
}

func (c conformance) pause(t *testing.T) {
	ctx := c.context(t)
	if err := c.n.Pause(); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := c.n.Wait(short); err == nil {
		t.Error("it answers while it is paused")
	}
	if err := c.n.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := c.n.Wait(ctx); err != nil {
		t.Fatal(err)
	}
}

func (c conformance) kill(t *testing.T) {
	pids := c.n.Pids()
	if err := c.n.Kill(); err != nil {
		t.Fatal(err)
	}
	c.ended(t, pids)
	c.start(t)
}

func (c conformance) stop(t *testing.T) {
	pids := c.n.Pids()
	if err := c.n.Stop(c.context(t)); err != nil {
		t.Fatal(err)
	}
	c.ended(t, pids)
	c.start(t)
}

// rush starts it from several goroutines at once: one of them starts it, and only one process runs.
func (c conformance) rush(t *testing.T) {
	if err := c.n.Stop(c.context(t)); err != nil {
		t.Fatal(err)
	}
	ctx := c.context(t)
	starts := make(chan error)
	for range 4 {
		go func() { starts <- c.n.Start(ctx) }()
	}
	started := 0
	for range 4 {
		if err := <-starts; err == nil {
			started++
		}
	}
	if started != 1 {
		t.Errorf("%d of 4 starts at once succeeded, want 1", started)
	}
	if err := c.n.Wait(ctx); err != nil {
		t.Error(err)
	}
}

// hurry stops it with no time at all: it must be gone, and may say that it was killed.
func (c conformance) hurry(t *testing.T) {
	pids := c.n.Pids()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	t.Logf("stopped with no time: %v", c.n.Stop(ctx))
	c.ended(t, pids)
}

// move starts it on another host, with its data.
func (c conformance) move(t *testing.T, to host.Host) {
	dir := c.n.DataDir()
	if err := c.n.Move(to); err != nil {
		t.Fatal(err)
	}
	if c.n.Host() != to || c.n.DataDir() != dir || !strings.HasPrefix(c.n.Address(), to.Address()+":") {
		t.Errorf("on %s at %s with data %s, not on %s with %s", c.n.Host().Name(), c.n.Address(), c.n.DataDir(), to.Name(), dir)
	}
	c.start(t)
}

// impatient kills it and waits: the error comes at once and shows the log.
func (c conformance) impatient(t *testing.T) {
	if err := c.n.Kill(); err != nil {
		t.Fatal(err)
	}
	err := c.n.Wait(c.context(t))
	if err == nil || !strings.Contains(err.Error(), c.n.Name()) {
		t.Errorf("waiting for what was killed: %v", err)
	}
}

// ended checks that nothing of it is left.
func (c conformance) ended(t *testing.T, pids []int) {
	t.Helper()
	select {
	case <-c.n.Ended():
	case <-time.After(startLimit):
		t.Fatal("it was ended, but it does not say so")
	}
	if c.n.Status().Running || len(c.n.Pids()) > 0 {
		t.Error("it was ended, but its status says that it runs")
	}
	deadline := time.Now().Add(startLimit)
	for _, pid := range pids {
		for alive(pid) {
			if time.Now().After(deadline) {
				t.Fatalf("process %d is left", pid)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}
