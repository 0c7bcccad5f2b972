//go:build !race && unix

package e2e

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/record"
)

// writeSuite writes the files of a suite, given as NAME, text, NAME, text, …, and returns its folder and its record
// directory.
func writeSuite(t *testing.T, files ...string) (folder, dir string) {
	t.Helper()
	in := t.TempDir()
	folder, dir = filepath.Join(in, "folder"), filepath.Join(in, "suite")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(folder, files[i]), []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder, dir
}

// suiteOf reads a suite and its journal.
func suiteOf(t *testing.T, dir string) (*record.Suite, []record.SuiteEvent) {
	t.Helper()
	s, err := record.OpenSuite(dir)
	if err != nil {
		t.Fatal(err)
	}
	events, unreadable, err := record.ReadSuiteJournal(dir)
	if err != nil || unreadable > 0 {
		t.Fatalf("the journal has %d lines that cannot be read, %v", unreadable, err)
	}
	return s, events
}

// checkPartsDone checks that a suite is complete and has each part exactly once.
func checkPartsDone(t *testing.T, dir string, names ...string) {
	t.Helper()
	s, events := suiteOf(t, dir)
	if s.Status != record.Complete || len(s.Parts) != len(names) {
		t.Fatalf("the suite is %s (%s) with %d parts, want %d", s.Status, s.Problem, len(s.Parts), len(names))
	}
	done := map[string]int{}
	for _, e := range events {
		if e.Event == record.EventEnd && e.Part.Status == record.PartDone {
			done[e.Part.Name]++
		}
	}
	for i, p := range s.Parts {
		if p.Name != names[i] || p.Status != record.PartDone || p.Problem != "" {
			t.Errorf("part %d is %s, %s %s, want %s", i+1, p.Name, p.Status, p.Problem, names[i])
		}
		if done[p.Name] != 1 {
			t.Errorf("by the journal part %s was done %d times", p.Name, done[p.Name])
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, record.PartsDir))
	if err != nil || len(entries) != len(names) {
		t.Errorf("there are records of %d parts, %v", len(entries), err)
	}
}

// Ctrl-C during a fault of a drill in a suite reverts the fault, audits the writes, removes the lab and ends the suite.
// Resume starts the drill again.
func TestSuiteInterruptedInADrill(t *testing.T) {
	inTurn(t, 30)
	const name = "e2e-suite-drill"
	folder, dir := writeSuite(t, "suite.yaml", "parts: [{study: first.yaml}, {drill: kill.yaml}, {study: last.yaml}]\n",
		"first.yaml", strings.Replace(tiny, "name: killed", "name: first", 1), "last.yaml", strings.Replace(tiny, "name: killed", "name: last", 1),
		"kill.yaml", `
name: kill
lab:
  name: `+name+`
  hosts: {mode: plain}
  engine: {name: mongod, binary: `+enginetest.StandinMongo(t, "8.0.12")+`}
  topology: {kind: replica-set, members: 3, election: elect-fast}
run:
  client: driver
  load: {workers: 8, pace: 60, timeout: 2s, duration: 14s}
  durability: {w: majority}
faults:
  - {fault: "kill:primary", at: 2s, for: 9s} # a busy machine needs seconds until it is interrupted
`)
	removeAfter(t, name)
	c := startChanged(t, func(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }, "suite", "run",
		folder, "--out", dir)
	until(t, "the primary is killed", func() bool { return faultCount(t, name) > 0 || c.over() })
	if told := textsOf(eventsOf(t, name)); !regexp.MustCompile(`(?m)^kill rs0-[123] for 9s \(limit [0-9]+s\)$`).MatchString(told) {
		t.Errorf("the lab does not tell how long it was asked for:\n%s", told)
	}
	if err := syscall.Kill(-c.cmd.Process.Pid, syscall.SIGINT); err != nil { // a terminal sends it to all of them
		t.Fatal(err)
	}
	e := c.wait(t).must(t, 130)
	if !strings.Contains(e.stderr, "plimsoll suite resume "+dir) {
		t.Errorf("it does not say how to go on:\n%s", e.stderr)
	}
	d, err := record.OpenDrill(filepath.Join(dir, record.PartsDir, "kill"))
	if err != nil {
		t.Fatal(err)
	}
	r := d.Rounds[0]
	if d.Status != record.Interrupted || len(r.Faults) != 1 || r.Faults[0].Healed <= r.Faults[0].Injected {
		t.Errorf("the drill is %s, its faults are %+v", d.Status, r.Faults)
	}
	if l := r.Ledger; l == nil || l.Acknowledged == 0 || !l.ReadBack() {
		t.Errorf("what was written was not read back: %+v", l)
	}
	s, events := suiteOf(t, dir)
	last := events[len(events)-1]
	if s.Status != record.Interrupted || last.Event != record.EventEnd || last.Part.Name != "kill" || last.Part.Problem != "interrupted" {
		t.Errorf("the suite is %s, its journal ends with %s %+v", s.Status, last.Event, last.Part)
	}
	if _, err := lab.Open(t.Context(), files(t).home, name); !errors.Is(err, lab.ErrNoLab) {
		t.Errorf("the lab of the drill is left: %v", err)
	}
	plimsoll(t, "suite", "resume", dir, "--quiet") // a busy machine can make the result invalid
	checkPartsDone(t, dir, "first", "kill", "last")
	if d, err := record.OpenDrill(filepath.Join(dir, record.PartsDir, "kill")); err != nil ||
		d.Status != record.Complete || !d.Rounds[0].Faults[0].Hit {
		t.Errorf("the drill that was done again: %+v, %v", d, err)
	}
}

// faultCount returns the number of faults of a lab; a lab that does not exist has none.
func faultCount(t *testing.T, name string) int {
	t.Helper()
	h, err := lab.Open(t.Context(), files(t).home, name)
	if err != nil {
		return 0
	}
	defer h.Close()
	l, err := h.Describe(t.Context(), false)
	if err != nil {
		return 0
	}
	return len(l.Faults)
}

func eventsOf(t *testing.T, name string) []record.LabEvent {
	t.Helper()
	h, err := lab.Open(t.Context(), files(t).home, name)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	events, err := h.EventsSince(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// textsOf returns the texts of events, one per line.
func textsOf(events []record.LabEvent) string {
	var texts []string
	for _, e := range events {
		texts = append(texts, e.Text)
	}
	return strings.Join(texts, "\n")
}

// A suite on the embedded store is killed at random moments and resumed. At the end it has each part exactly once and
// complete, each trial was done once, and no documents remain.
func TestSuiteKilledAgainAndAgain(t *testing.T) {
	inTurn(t, 15)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	files(t) // build the program first
	for round := range 3 {
		folder, dir := writeSuite(t, "suite.yaml", "parts: [{study: base.yaml, gives: [load.workers]}, {study: each.yaml, each: {workload.name: [a, b]}}]\n",
			"base.yaml", `
name: base
run: {workload: {name: a, records: 100}, load: {operations: 200}}
procedures: {threads: {levels: [1, 2], trials: 1, duration: 100ms, gain: 100%}}
`, "each.yaml", strings.Replace(strings.Replace(tiny, "operations: 3000", "operations: 300", 1), "trials: 8", "trials: 3", 1))
		kills := 0
		for kills < 8 && killedAtRandom(t, rng, 250, func() int64 { return suiteGrown(dir) }, suiteArgs(folder, dir)...) {
			kills++
		}
		plimsoll(t, suiteArgs(folder, dir)...).judged(t)
		t.Logf("round %d: killed %d times", round+1, kills)
		checkPartsDone(t, dir, "base", "each-a", "each-b")
		for _, part := range []string{"each-a", "each-b"} {
			at := filepath.Join(dir, record.PartsDir, part)
			s, err := record.OpenStudy(at)
			if err != nil {
				t.Fatal(err)
			}
			checkDone(t, s, at, 6)
		}
		if left, err := filepath.Glob(dir + "-data*"); err != nil || len(left) > 0 {
			t.Errorf("left are %v, %v", left, err)
		}
		if _, err := os.Lstat(filepath.Join(dir, "lock")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the lock is left: %v", err)
		}
	}
}

// suiteArgs start or resume a suite on the embedded store.
func suiteArgs(folder, dir string) []string {
	if _, err := os.Stat(filepath.Join(dir, record.SuiteFile)); err != nil {
		return []string{"suite", "run", folder, "--target", "embedded:", "--out", dir, "--quiet"}
	}
	return []string{"suite", "resume", dir, "--quiet"}
}

// suiteGrown returns the size of all journals of a suite and its parts.
func suiteGrown(dir string) (size int64) {
	names, _ := filepath.Glob(filepath.Join(dir, record.PartsDir, "*", record.JournalFile)) // none before its start
	for _, name := range append(names, filepath.Join(dir, record.SuiteJournal)) {
		if info, err := os.Stat(name); err == nil {
			size += info.Size()
		}
	}
	return size
}
