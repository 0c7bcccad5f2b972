//go:build !race

package e2e

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// toStart is the line with which a coordinator says how agents are started.
var toStart = regexp.MustCompile(`PLIMSOLL_AGENT_TOKEN=(\S+) plimsoll agent --connect (\S+)`)

// ofAgents are the arguments of a run of two agents on a responder that stores nothing.
func ofAgents(more ...string) []string {
	return append([]string{"run", "null:", "--agents", "2", "--threads", "4", "--pace", "40", "--records", "1000",
		"--out", out, "--format", "json"}, more...)
}

// agentsDir is the directory for temporary files of the agents of a test.
func agentsDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(files(t).dir, "agents", t.Name())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// startAgents starts agents for a coordinator.
func startAgents(t *testing.T, c *command, n int, more ...string) []*command {
	t.Helper()
	var said []string
	c.until(t, "the coordinator to say what to start", func() bool {
		text, err := os.ReadFile(filepath.Join(c.dir, "stderr"))
		said = toStart.FindStringSubmatch(string(text))
		return err == nil && said != nil
	})
	var list []*command
	for range n {
		list = append(list, startChanged(t, func(cmd *exec.Cmd) {
			cmd.Env = append(cmd.Env, "PLIMSOLL_AGENT_TOKEN="+said[1], "TMPDIR="+agentsDir(t))
		}, append([]string{"agent", "--connect", said[2]}, more...)...))
	}
	return list
}

// startCoordinator starts a command whose standard error can be read while it runs.
func startCoordinator(t *testing.T, args ...string) *command {
	t.Helper()
	return startCoordinatorAt(t, files(t).home, args...)
}

// startCoordinatorAt is startCoordinator with a PLIMSOLL_HOME, which has the messages of the run.
func startCoordinatorAt(t *testing.T, home string, args ...string) *command {
	t.Helper()
	return startChanged(t, func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, "PLIMSOLL_HOME="+home)
		f, err := os.Create(filepath.Join(cmd.Dir, "stderr"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		cmd.Stderr = io.MultiWriter(cmd.Stderr, f)
	}, args...)
}

// checkAgents checks the record of a run of two agents.
func checkAgents(t *testing.T, dir string, r *record.Run) {
	t.Helper()
	if r.Status != record.Complete || len(r.Clients) != 2 {
		t.Fatalf("the run is %s, its clients are %+v", r.Status, r.Clients)
	}
	var sum measure.Tally
	for _, c := range r.Clients {
		if c.Status != "complete" || c.Agent == "" || c.Host == "" {
			t.Errorf("client %+v", c)
		}
		own, err := record.OpenRun(filepath.Join(dir, filepath.FromSlash(c.Record)))
		if err != nil {
			t.Fatalf("the record of client %d: %v", c.Number, err)
		}
		sum = sum.Add(own.Phase("measure").Counts)
	}
	got := r.Phase("measure").Counts
	if p := r.Phase("outside"); p != nil {
		got = got.Add(p.Counts)
	}
	if got != sum || got.Succeeded == 0 {
		t.Errorf("the record counts %+v, the agents %+v", got, sum)
	}
	if _, err := os.Stat(filepath.Join(dir, "coordinator")); err == nil {
		t.Error("the directory of the coordinator is still there")
	}
}

// TestAgents runs a load by agents that a person starts. One has a share by its zone, the other one by its label.
func TestAgents(t *testing.T) {
	inTurn(t, 15)
	c := startCoordinator(t, ofAgents("--duration", "5s", "--zone", "here=25%", "--zone", "disk=ssd=75%")...)
	agents := append(startAgents(t, c, 1, "--zone", "here"), startAgents(t, c, 1, "--label", "disk=ssd", "--label", "rack=1")...)
	e := c.wait(t).judged(t) // a busy machine makes it invalid
	r := e.record(t)
	checkAgents(t, filepath.Join(e.dir, out), r)
	for _, client := range r.Clients {
		ssd := client.Labels["disk"] == "ssd" && client.Labels["rack"] == "1" && client.Zone == "" && client.Share == 0.75
		here := len(client.Labels) == 0 && client.Zone == "here" && client.Share == 0.25
		if !ssd && !here {
			t.Errorf("client %d in zone %q with labels %v has the share %v", client.Number, client.Zone, client.Labels, client.Share)
		}
	}
	for _, a := range agents {
		a.wait(t) // the coordinator is gone
	}
}

// TestAgentsOfAKilledCoordinator kills the command of a run. Its agents continue, and another command completes the
// run.
func TestAgentsOfAKilledCoordinator(t *testing.T) {
	inTurn(t, 20)
	c := startCoordinator(t, ofAgents("--duration", "20s")...)
	startAgents(t, c, 2)
	untilMeasured(t, c)
	c.signal(t, syscall.SIGKILL)
	c.wait(t)
	resume := func() *command {
		return startChanged(t, func(cmd *exec.Cmd) { cmd.Dir = c.dir }, "run", "null:", "--resume", out, "--format", "json")
	}
	again, twin := resume(), resume() // only one of them goes on
	one, other := again.wait(t), twin.wait(t)
	if one.code == 2 {
		one, other = other, one
	}
	ended := regexp.MustCompile(`is being written by process \d+|only a run whose coordinator was killed`)
	if e := other.must(t, 2); !ended.MatchString(e.stderr) {
		t.Errorf("a second command says: %s", e.stderr)
	}
	r := one.judged(t).record(t)
	dir := filepath.Join(c.dir, out)
	checkAgents(t, dir, r)
	checkFinding(t, r, "coordinator-away", measure.Warning)
	if p := r.Phase("measure"); p.Seconds < 17 {
		t.Errorf("%v of 20 s were measured", p.Seconds)
	}
	if old, err := record.OpenRun(filepath.Join(dir, "killed-1")); err != nil || old.Status != record.Killed {
		t.Errorf("the earlier record: %v", err)
	}
	e := start(t, "run", "null:", "--resume", dir).wait(t).must(t, 2)
	if !strings.Contains(e.stderr, "only a run whose coordinator was killed") {
		t.Errorf("a complete run is resumed: %s", e.stderr)
	}
}

// TestStudyOfAgents performs a study whose file says that two agents send the load. They are the same in all trials.
func TestStudyOfAgents(t *testing.T) {
	inTurn(t, 15)
	file, dir := writeStudy(t, `
name: agents
run:
  target: "null:"
  workload: {name: a, records: 100}
  load: {workers: 2, pace: 40, duration: 2s, clients: 2, place: manual}
factors:
  - path: load.workers
    levels: [2, 4]
trials: 1
canary: -1
`)
	c := startCoordinator(t, "study", "run", file, "--out", dir, "--format", "json")
	startAgents(t, c, 2)
	checkStudyOfAgents(t, c.wait(t).judged(t).study(t, dir), dir, 2)
}

// TestSuiteOfAgents performs a suite of two studies by agents that the command line says. They are the same in both
// studies, and end with the suite.
func TestSuiteOfAgents(t *testing.T) {
	inTurn(t, 15)
	part := func(name string) string {
		return `
name: ` + name + `
run:
  target: "null:"
  workload: {name: a, records: 100}
  load: {workers: 2, pace: 40, duration: 2s}
factors:
  - path: load.workers
    levels: [2, 4]
trials: 1
canary: -1
`
	}
	folder, dir := writeSuite(t, "suite.yaml", "parts: [{study: first.yaml}, {study: last.yaml}]\n", "first.yaml", part("first"),
		"last.yaml", part("last"))
	c := startCoordinator(t, "suite", "run", folder, "--agents", "2", "--out", dir)
	agents := startAgents(t, c, 2)
	c.wait(t).judged(t)
	for _, a := range agents {
		a.wait(t) // the coordinator is gone
	}
	checkPartsDone(t, dir, "first", "last")
	var names []string
	for _, name := range []string{"first", "last"} {
		below := filepath.Join(dir, record.PartsDir, name)
		s, err := record.OpenStudy(below)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, checkStudyOfAgents(t, s, below, 2))
	}
	if names[0] != names[1] {
		t.Errorf("client 0 was the agents %q", names)
	}
}

// checkStudyOfAgents checks the trials of a study of two agents, and returns the name of the first one.
func checkStudyOfAgents(t *testing.T, s *record.Study, dir string, trials int) string {
	t.Helper()
	checkDone(t, s, dir, trials)
	names := map[string]bool{}
	first := ""
	for _, tr := range s.Trials {
		if tr.Status != record.TrialDone {
			continue
		}
		trial := filepath.Join(dir, tr.Record)
		r, err := record.OpenRun(trial)
		if err != nil {
			t.Fatal(err)
		}
		checkAgents(t, trial, r)
		first = r.Clients[0].Agent
		names[first] = true
	}
	if len(names) != 1 {
		t.Errorf("client 0 was the agents %v", names)
	}
	return first
}
