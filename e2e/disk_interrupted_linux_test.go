//go:build !race

package e2e

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk/disktest"
	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/record"
)

// labProxy is a proxy of the socket of a lab, so a test can act at the moment of a request.
type labProxy struct {
	mu sync.Mutex
	// before and after get the path of a request, before the lab receives it and before its answer is passed on.
	before, after func(path string)
}

func (b *labProxy) set(before, after func(string)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.before, b.after = before, after
}

func (b *labProxy) call(after bool, path string) {
	b.mu.Lock()
	f := b.before
	if after {
		f = b.after
	}
	b.mu.Unlock()
	if f != nil {
		f(path)
	}
}

// proxySupervisor replaces the socket of a lab by a proxy until the test ends.
func proxySupervisor(t *testing.T, name string) *labProxy {
	t.Helper()
	socket := filepath.Join(lab.Dir(files(t).home, name), "socket")
	behind := socket + ".lab"
	if err := os.Rename(socket, behind); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	b := &labProxy{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "lab" },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", behind)
		}},
		ModifyResponse: func(r *http.Response) error { b.call(true, r.Request.URL.Path); return nil },
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.call(false, r.URL.Path)
		proxy.ServeHTTP(w, r)
	})}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close() // closing removes the socket
		// removed with its lab
		if err := os.Rename(behind, socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	})
	return b
}

// watchedCommand is a command whose standard error is read while it runs.
type watchedCommand struct {
	*command
	heard chan struct{} // closed when it announced its end, or exited
	all   chan struct{} // closed when stderr is complete
}

// startProbe starts a short probe of a volume of a lab, with a power cut at the end.
func startProbe(t *testing.T, name string) watchedCommand {
	t.Helper()
	return startWatched(t, "disk", "lab:"+name, "--profile", "random", "--operations", "read", "--threads", "1", "--duration", "100ms",
		"--size", "8MiB", "--segment", "1MiB", "--out", out)
}

// startWatched starts plimsoll and reads its standard error.
func startWatched(t *testing.T, args ...string) watchedCommand {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := startChanged(t, func(cmd *exec.Cmd) { cmd.Stderr = w }, args...)
	w.Close()
	p := watchedCommand{c, make(chan struct{}), make(chan struct{})}
	go func() {
		defer close(p.all)
		defer r.Close()
		hear := sync.OnceFunc(func() { close(p.heard) })
		defer hear()
		for lines := bufio.NewScanner(r); lines.Scan(); {
			p.stderr.WriteString(lines.Text() + "\n")
			if strings.Contains(lines.Text(), "plimsoll: ending the ") {
				hear()
			}
		}
	}()
	return p
}

func (p watchedCommand) ends(t *testing.T) ended {
	t.Helper()
	e := p.wait(t)
	<-p.all
	e.stderr = p.stderr.String()
	return e
}

// If a probe is interrupted or killed while the power of a volume is cut, the lab restores the power.
func TestProbeEndedWhileThePowerIsCut(t *testing.T) {
	inTurn(t, 40)
	if !disktest.Able(t) {
		return
	}
	const name = "e2e-probe-ended"
	file := filepath.Join(t.TempDir(), "lab.yaml")
	if err := os.WriteFile(file, []byte("storage: {filesystem: ext4}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	volumeLab(t, name, "--size", "512MiB", "--backend", "disk", "--faults", file)
	b := proxySupervisor(t, name)
	for moment, when := range map[string]struct {
		path  string
		after bool
	}{"before the cut": {"/fail", false}, "after the cut": {"/fail", true}, "before the return": {"/heal", false}, "after the return": {"/heal", true}} {
		t.Run("interrupted "+moment, func(t *testing.T) {
			var p watchedCommand
			begun := make(chan struct{})
			interrupt := func(path string) {
				if path == when.path {
					<-begun
					_ = p.cmd.Process.Signal(syscall.SIGTERM)
					<-p.heard
				}
			}
			if when.after {
				b.set(nil, interrupt)
			} else {
				b.set(interrupt, nil)
			}
			defer b.set(nil, nil)
			p = startProbe(t, name)
			close(begun)
			e := p.ends(t).must(t, 130)
			checkInterruptedProbe(t, name, e)
		})
	}
	t.Run("killed", func(t *testing.T) { testProbeKilled(t, b, name) })
	probeOf(t, "lab:"+name)
}

// checkInterruptedProbe checks the record of a probe that was interrupted during the power cut.
func checkInterruptedProbe(t *testing.T, name string, e ended) {
	t.Helper()
	r, err := record.OpenProbe(filepath.Join(e.dir, out))
	if err != nil {
		t.Fatal(err)
	}
	if d := r.Durability[len(r.Durability)-1]; r.Status != record.Interrupted || r.Problem != "" || len(r.Steps) != 1 ||
		d.Grade != "C" || d.Verdict != record.Honest {
		t.Errorf("the record: %s %s, %d steps, %+v", r.Status, r.Problem, len(r.Steps), d)
	}
	if !strings.Contains(e.stderr, "the power is restored and the filesystem is mounted again") {
		t.Errorf("it says nothing of the disk:\n%s", e.stderr)
	}
	l := status(t, name)
	if len(l.Faults) > 0 || l.Volumes[0].Health != "healthy" {
		t.Errorf("the lab is left with %+v, %+v", l.Faults, l.Volumes)
	}
	if left, err := filepath.Glob(filepath.Join(l.Volumes[0].Mount, "plimsoll-*")); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// testProbeKilled kills a probe during the power cut: the lab restores the power after its time limit.
func testProbeKilled(t *testing.T, b *labProxy, name string) {
	var p watchedCommand
	begun := make(chan struct{})
	b.set(nil, func(path string) {
		if path == "/fail" {
			<-begun
			_ = p.cmd.Process.Kill()
		}
	})
	defer b.set(nil, nil)
	p = startProbe(t, name)
	close(begun)
	p.ends(t).must(t, -1)
	if !slices.ContainsFunc(eventsOf(t, name), func(e record.LabEvent) bool {
		return e.Kind == "fault" && strings.HasPrefix(e.Text, fault.PowerLoss)
	}) {
		t.Fatal("no power was cut")
	}
	until(t, "the power comes back by itself", func() bool {
		l := status(t, name)
		return len(l.Faults) == 0 && l.Volumes[0].Health == "healthy"
	})
	if last := eventsOf(t, name); !slices.ContainsFunc(last, func(e record.LabEvent) bool {
		return e.Kind == "heal" && e.Data["by"] == "limit"
	}) {
		t.Errorf("it was healed by somebody else: %+v", last)
	}
}

// If a suite is interrupted while its probe has cut the power, it ends in order: power is restored, the record of the
// probe is kept, the lab is removed, and resume starts the probe again.
func TestSuiteInterruptedWhileThePowerIsCut(t *testing.T) {
	inTurn(t, 20)
	if !disktest.Able(t) {
		return
	}
	const name = "probe-e2e-cut"
	folder, dir := writeSuite(t, "suite.yaml", `
parts:
  - name: e2e-cut
    probe:
      storage: {size: 512MiB, filesystem: ext4, backend: disk}
      operations: [read]
      size: 8MiB
      threads: [1]
      duration: 4s
      power_cut: true
`)
	removeAfter(t, name)
	c := startWatched(t, "suite", "run", folder, "--out", dir)
	// The probe keeps its first connection to the lab, so the proxy must be there before.
	for limit := time.Now().Add(patience); !answers(t, name); time.Sleep(lookEvery / 20) {
		if c.over() || time.Now().After(limit) {
			t.Fatalf("the probe has no lab:\n%s", c.ends(t).stderr)
		}
	}
	interrupted := false
	proxySupervisor(t, name).set(nil, func(path string) {
		if path == "/fail" {
			interrupted = true
			_ = c.cmd.Process.Signal(syscall.SIGINT)
			<-c.heard
		}
	})
	c.ends(t).must(t, 130)
	p, err := record.OpenProbe(filepath.Join(dir, record.PartsDir, "e2e-cut"))
	if err != nil {
		t.Fatal(err)
	}
	if d := p.Durability[len(p.Durability)-1]; !interrupted || p.Status != record.Interrupted || p.Problem != "" ||
		d.Grade != "C" || d.Verdict != record.Honest {
		t.Errorf("the probe: %s %s, %+v", p.Status, p.Problem, d)
	}
	if s, _ := suiteOf(t, dir); s.Status != record.Interrupted {
		t.Errorf("the suite is %s (%s)", s.Status, s.Problem)
	}
	if _, err := lab.Open(t.Context(), files(t).home, name); !errors.Is(err, lab.ErrNoLab) {
		t.Errorf("the lab of the probe is left: %v", err)
	}
	plimsoll(t, "suite", "resume", dir, "--quiet") // a busy machine can make the result invalid
	checkPartsDone(t, dir, "e2e-cut")
}

// answers reports whether the supervisor of a lab answers.
func answers(t *testing.T, name string) bool {
	t.Helper()
	h, err := lab.Open(t.Context(), files(t).home, name)
	return err == nil && h.Close() == nil
}
