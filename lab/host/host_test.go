package host_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// limit is how long something may take that must happen; it is no measure of speed.
const limit = 10 * time.Minute

// maker is one lab's maker, its journal and the directories, which are removed after the test.
type testMaker struct {
	*host.Maker
	journal *journal.Journal
	opts    host.MakerOptions
}

// newMaker makes the maker of a lab of the test's own.
func newMaker(t *testing.T, mode, home string) *testMaker {
	t.Helper()
	dir := t.TempDir()
	j, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	g := &testMaker{journal: j, opts: host.MakerOptions{Lab: "t" + strconv.Itoa(os.Getpid()), Dir: dir, Home: home,
		Mode: mode, Journal: j}}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if err := j.Clean(ctx, host.Removers()); err != nil {
			t.Errorf("cannot clean up: %v", err)
		}
		_ = j.Close()
	})
	if g.Maker, err = host.NewMaker(t.Context(), g.opts); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.close(t) })
	return g
}

// close closes the maker, after which nothing may be left in the journal.
func (g *testMaker) close(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := g.Close(ctx); err != nil {
		t.Errorf("cannot close the maker: %v", err)
	}
	if left := g.journal.Live(); len(left) > 0 {
		t.Errorf("the journal still has %+v", left)
	}
}

func (g *testMaker) host(t *testing.T, name string, l host.Limits) host.Host {
	t.Helper()
	h, err := g.Make(t.Context(), name, "member", l)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// shell starts a shell script on a host.
func shell(t *testing.T, h host.Host, script string) *process.Process {
	t.Helper()
	p, err := h.Start(t.Context(), shellSpec(script))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func shellSpec(script string) process.Spec {
	return process.Spec{Role: "script", Path: "/bin/sh", Args: []string{"-c", script}}
}

// eventually waits until something is true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not after %v: %s", limit, what)
		}
	}
}

// number reads a number that a script wrote to a file.
func number(t *testing.T, file string) int {
	t.Helper()
	var n int
	eventually(t, "a number in "+file, func() bool {
		text, err := os.ReadFile(file)
		if err != nil || !strings.HasSuffix(string(text), "\n") {
			return false
		}
		n, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	return n
}

// A host of each mode does what the contract says.
func TestConformance(t *testing.T) {
	for _, mode := range modes(t) {
		for _, c := range []struct {
			name string
			test func(*testing.T, *testMaker, host.Host)
		}{
			{"run", testRun},
			{"start", testStart},
			{"ports", testPorts},
			{"power", testPower},
			{"pause", testPause},
			{"usage", testUsage},
			{"close", testClose},
			{"refused", testRefused},
		} {
			t.Run(mode+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				g := newMaker(t, mode, t.TempDir())
				c.test(t, g, g.host(t, "host1", host.Limits{}))
			})
		}
	}
}

func testRun(t *testing.T, _ *testMaker, h host.Host) {
	out, err := h.Run(t.Context(), shellSpec("echo yes; echo no >&2"))
	if err != nil || string(out) != "yes\nno\n" {
		t.Errorf("output %q, error %v", out, err)
	}
	if _, err := h.Run(t.Context(), shellSpec("echo broken; exit 3")); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := h.Run(ctx, shellSpec("sleep 600")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if _, err := h.Run(t.Context(), process.Spec{Role: "nothing", Path: "/does/not/exist"}); err == nil {
		t.Error("a program that is not there ran")
	}
}

func testStart(t *testing.T, g *testMaker, h host.Host) {
	if h.Name() != "host1" || h.Role() != "member" || h.Mode() != g.opts.Mode || h.State() != host.On {
		t.Errorf("host %s, role %s, mode %s, state %s", h.Name(), h.Role(), h.Mode(), h.State())
	}
	if info, err := os.Stat(h.Dir()); err != nil || !info.IsDir() || !strings.HasPrefix(h.Dir(), g.opts.Dir) {
		t.Errorf("directory %s, error %v", h.Dir(), err)
	}
	before := len(g.journal.Live())
	p := shell(t, h, "sleep 600")
	live := g.journal.Live()
	if len(live) != before+1 || live[before].Kind != "process" || live[before].Details["pid"] != strconv.Itoa(p.PID) {
		t.Errorf("the journal has %+v", live)
	}
	p.Kill()
	eventually(t, "the process gone from the journal", func() bool { return len(g.journal.Live()) == before })
}

func testPorts(t *testing.T, _ *testMaker, h host.Host) {
	seen := map[int]bool{}
	for range 5 {
		port, err := h.Port()
		if err != nil || seen[port] {
			t.Fatalf("port %d, error %v", port, err)
		}
		seen[port] = true
	}
	if net.ParseIP(h.Address()) == nil {
		t.Errorf("address %q", h.Address())
	}
}

func testPower(t *testing.T, _ *testMaker, h host.Host) {
	file := filepath.Join(h.Dir(), "child")
	p := shell(t, h, "sleep 600 & echo $! >"+file+"; wait")
	q := shell(t, h, "sleep 600 & echo $! >"+file+"2") // its child stays when it has ended
	<-q.Done
	d := shell(t, h, "setsid sh -c 'sleep 600 & echo $! >"+file+"3' & ") // a daemon
	<-d.Done
	children := []int{number(t, file), number(t, file+"2"), number(t, file+"3")}
	if err := h.PowerOff(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.Running() || h.State() != host.Off {
		t.Errorf("after power-off: running %v, state %s", p.Running(), h.State())
	}
	for _, pid := range children {
		if process.Alive(pid, procid.Of(pid).Ticks) {
			t.Errorf("child %d lives on", pid)
		}
	}
	if _, err := h.Start(t.Context(), shellSpec("true")); !errors.Is(err, host.ErrOff) {
		t.Errorf("starting on a host without power: %v", err)
	}
	if _, err := h.Run(t.Context(), shellSpec("true")); !errors.Is(err, host.ErrOff) {
		t.Errorf("running on a host without power: %v", err)
	}
	if err := errors.Join(h.PowerOff(t.Context()), h.PowerOn(t.Context()), h.PowerOn(t.Context())); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Run(t.Context(), shellSpec("true")); err != nil || h.State() != host.On {
		t.Errorf("after power-on: state %s, error %v", h.State(), err)
	}
}

// counter is a script whose child counts as long as it runs.
func counter(file string) string {
	return "(i=0; while :; do i=$((i+1)); echo $i >" + file + ".new; mv " + file + ".new " + file + "; sleep 0.01; done) & wait"
}

func testPause(t *testing.T, _ *testMaker, h host.Host) {
	file := filepath.Join(h.Dir(), "count")
	p := shell(t, h, counter(file))
	begin := number(t, file)
	if err := errors.Join(h.Pause(t.Context()), h.Pause(t.Context())); err != nil {
		t.Fatal(err)
	}
	if h.State() != host.Paused || !p.Running() {
		t.Errorf("state %s, running %v", h.State(), p.Running())
	}
	paused := number(t, file)
	time.Sleep(300 * time.Millisecond) // in which it would count on
	if now := number(t, file); now != paused {
		t.Errorf("it counted from %d to %d while it was paused", paused, now)
	}
	if _, err := h.Start(t.Context(), shellSpec("true")); !errors.Is(err, host.ErrPaused) {
		t.Errorf("starting on a paused host: %v", err)
	}
	if err := errors.Join(h.Resume(t.Context()), h.Resume(t.Context())); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it counts again", func() bool { return number(t, file) > paused && paused >= begin })
	if err := errors.Join(h.Pause(t.Context()), h.PowerOff(t.Context())); err != nil || p.Running() {
		t.Errorf("power-off while paused: running %v, error %v", p.Running(), err)
	}
	if err := h.Resume(t.Context()); !errors.Is(err, host.ErrOff) {
		t.Errorf("resuming a host without power: %v", err)
	}
}

func testUsage(t *testing.T, _ *testMaker, h host.Host) {
	p := shell(t, h, "while :; do :; done")
	eventually(t, "processor time and memory", func() bool {
		u, err := h.Usage()
		return err == nil && u.Host == "host1" && u.CPUSeconds >= 0.1 && u.Memory > 0
	})
	p.Kill()
	u, err := h.Usage()
	if err != nil || u.CPUSeconds < 0.1 {
		t.Errorf("after it ended: %+v, error %v", u, err)
	}
	if err := errors.Join(h.PowerOff(t.Context()), h.PowerOn(t.Context())); err != nil {
		t.Fatal(err)
	}
	if u, err := h.Usage(); err != nil || u.CPUSeconds >= 0.1 {
		t.Errorf("after power-on: %+v, error %v", u, err)
	}
}

func testClose(t *testing.T, g *testMaker, h host.Host) {
	p := shell(t, h, "sleep 600")
	if _, err := h.Port(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(h.Close(t.Context()), h.Close(t.Context())); err != nil || p.Running() {
		t.Errorf("running %v, error %v", p.Running(), err)
	}
	if _, err := h.Start(t.Context(), shellSpec("true")); !errors.Is(err, host.ErrOff) {
		t.Errorf("starting on a closed host: %v", err)
	}
	g.close(t)
	if left, _ := filepath.Glob(filepath.Join(g.opts.Home, "promises", "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func testRefused(t *testing.T, g *testMaker, _ host.Host) {
	for _, name := range []string{"host1", "", "../up", "a b"} {
		if h, err := g.Make(t.Context(), name, "member", host.Limits{}); err == nil {
			t.Errorf("there is a host %q", h.Name())
		}
	}
}

// What plain hosts cannot do is refused with the alternative.
func TestPlainRefuses(t *testing.T) {
	t.Parallel()
	g := newMaker(t, host.Plain, t.TempDir())
	h := g.host(t, "host1", host.Limits{})
	_, limited := g.Make(t.Context(), "host2", "member", host.Limits{Cores: 1})
	for what, err := range map[string]error{
		"limits": limited,
		"cut":    h.Cut(t.Context(), nil, host.Both),
		"slow":   h.Slow(t.Context(), 1<<20),
		"limit":  h.Limit(t.Context(), []host.IOLimit{{Device: "/dev/loop0", Writes: 1}}),
	} {
		if !errors.Is(err, host.ErrUnsupported) || !strings.Contains(err.Error(), "hosts.mode: isolated") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := errors.Join(h.Mend(t.Context(), nil), h.Slow(t.Context(), 0), h.Limit(t.Context(), nil)); err != nil {
		t.Error(err)
	}
	if err := host.Check("virtual"); err == nil || !strings.Contains(err.Error(), "plain or isolated") {
		t.Errorf("an unknown mode: %v", err)
	}
}

// Labs that start at once never get the same port, and a port is free again when its lab is gone.
func TestPortsOfTwoLabs(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	const each = 40
	ports := make(chan int, 2*each)
	for range 2 {
		h := newMaker(t, host.Plain, home).host(t, "host1", host.Limits{})
		go func() {
			for range each {
				port, err := h.Port()
				if err != nil {
					t.Error(err)
				}
				ports <- port
			}
		}()
	}
	seen := map[int]bool{}
	for range 2 * each {
		port := <-ports
		if seen[port] {
			t.Errorf("port %d was promised twice", port)
		}
		seen[port] = true
	}
}
