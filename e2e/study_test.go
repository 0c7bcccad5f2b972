//go:build !race

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// writeStudy writes the file of a study and returns its path and that of the directory that it will have.
func writeStudy(t *testing.T, text string) (file, dir string) {
	t.Helper()
	in := t.TempDir()
	file, dir = filepath.Join(in, "study.yaml"), filepath.Join(in, "study")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file, dir
}

// study reads a study that was printed as JSON, and compares it with the file.
func (e ended) study(t *testing.T, dir string) *record.Study {
	t.Helper()
	var s struct { // the record behind a summary
		Summary any
		record.Study
	}
	d := json.NewDecoder(strings.NewReader(e.stdout))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		t.Fatalf("plimsoll %q printed no study: %v\n%s\n%s", e.args, err, e.stdout, e.stderr)
	}
	onDisk, err := record.OpenStudy(dir)
	if err != nil {
		t.Fatal(err)
	}
	if onDisk.Status != s.Status || len(onDisk.Trials) != len(s.Trials) || len(onDisk.Comparisons) != len(s.Comparisons) {
		t.Errorf("printed are status %s, %d trials, %d comparisons; the directory has %s, %d, %d",
			s.Status, len(s.Trials), len(s.Comparisons), onDisk.Status, len(onDisk.Trials), len(onDisk.Comparisons))
	}
	return &s.Study
}

// judged fails the test unless a study is complete; its figures do not matter.
func (e ended) judged(t *testing.T) ended {
	t.Helper()
	if e.code != 6 {
		e.must(t, 0)
	}
	return e
}

// checkDone checks that each trial of a study was done exactly once, and that no other record is complete.
func checkDone(t *testing.T, s *record.Study, dir string, trials int) {
	t.Helper()
	if s.Status != record.Complete {
		t.Errorf("status %s (%s)", s.Status, s.Problem)
	}
	done := map[string]bool{}
	numbers := map[int]int{}
	for _, tr := range s.Trials {
		if tr.Status == record.TrialDone {
			done[tr.Record] = true
			numbers[tr.Number]++
		} else if tr.Status != record.TrialLost {
			t.Errorf("trial %d.%d is %s: %s", tr.Number, tr.Attempt, tr.Status, tr.Problem)
		}
	}
	for n := 1; n <= trials; n++ {
		if numbers[n] != 1 {
			t.Errorf("trial %d was done %d times", n, numbers[n])
		}
	}
	if len(numbers) != trials {
		t.Errorf("%d trials were done, want %d", len(numbers), trials)
	}
	complete := completeRecords(t, dir)
	for rec := range done {
		if !slices.Contains(complete, rec) {
			t.Errorf("%s counts, but is not complete", rec)
		}
	}
	if len(complete) != len(done) {
		t.Errorf("%d records are complete, %d count: a finished trial was repeated", len(complete), len(done))
	}
}

// completeRecords lists the complete records of the trials of a study.
func completeRecords(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, record.TrialsDir))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		rec := record.TrialsDir + "/" + e.Name()
		if r, err := record.OpenRun(filepath.Join(dir, rec)); err == nil && r.Status == record.Complete {
			list = append(list, rec)
		}
	}
	return list
}

// tiny has sixteen trials of a few milliseconds each.
const tiny = `
name: killed
run:
  target: "null:"
  workload: {name: a, records: 100}
  load: {workers: 2, operations: 3000}
factors:
  - path: load.workers
    levels: [2, 3]
trials: 8
canary: -1
metrics: [throughput]
`

// killedAtRandom starts a command and kills it at a random moment: usually within a few milliseconds after grown
// increases, sometimes before. It returns false if the command exited before.
func killedAtRandom(t *testing.T, rng *rand.Rand, within int, grown func() int64, args ...string) bool {
	t.Helper()
	before := grown()
	c := start(t, args...)
	if rng.IntN(4) > 0 {
		until(t, "the command to write something, or to end", func() bool { return grown() > before || c.over() })
	}
	// The sleep varies the moment of the kill.
	time.Sleep(time.Duration(rng.IntN(within)) * time.Millisecond)
	_ = c.cmd.Process.Kill() // it may have ended
	e := c.wait(t)
	if e.code != -1 {
		e.judged(t)
	}
	return e.code == -1
}

func (c *command) over() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// TestStudyAtOnce: two processes cannot run the same study, Ctrl-C ends it, and it can be resumed.
func TestStudyAtOnce(t *testing.T) {
	inTurn(t, 5)
	file, dir := writeStudy(t, strings.Replace(strings.Replace(tiny, "operations: 3000", "duration: 300s", 1), "trials: 8", "trials: 1", 1))
	c := start(t, "study", "run", file, "--out", dir)
	until(t, "a trial under way", func() bool {
		r, err := record.OpenRun(filepath.Join(dir, "trials/0001-1"))
		return err == nil && r.Phase("measure") != nil
	})
	status := plimsoll(t, "study", "status", dir).must(t, 0).stdout
	if pid := fmt.Sprintf("process %d", c.cmd.Process.Pid); !strings.Contains(status, pid) || !strings.Contains(status, "1 running") {
		t.Errorf("status without %q:\n%s", pid, status)
	}
	for _, args := range [][]string{{"study", "resume", dir}, {"study", "run", file, "--out", dir}} {
		if e := plimsoll(t, args...).must(t, 1); !strings.Contains(e.stderr, fmt.Sprintf("process %d", c.cmd.Process.Pid)) {
			t.Errorf("%q says %q", args, e.stderr)
		}
	}
	c.signal(t, os.Interrupt)
	e := c.wait(t).must(t, 130)
	if !strings.Contains(e.stderr, "plimsoll study resume "+dir) {
		t.Errorf("it does not say how to go on:\n%s", e.stderr)
	}
	s, err := record.OpenStudy(dir)
	if err != nil || s.Status != record.Interrupted || s.Trials[0].Status != record.TrialLost {
		t.Fatalf("%v, study %+v", err, s)
	}
	if r, err := record.OpenRun(filepath.Join(dir, s.Trials[0].Record)); err != nil || r.Status != record.Interrupted {
		t.Errorf("the record of the trial that was under way: %v", err)
	}
	if status := plimsoll(t, "study", "status", dir).must(t, 0).stdout; !strings.Contains(status, "continue with:\n  plimsoll study resume "+dir) {
		t.Errorf("status:\n%s", status)
	}
	// Two signals end it at once.
	c = start(t, "study", "resume", dir)
	until(t, "the trial under way again", func() bool {
		r, err := record.OpenRun(filepath.Join(dir, "trials/0001-2"))
		return err == nil && r.Phase("measure") != nil
	})
	c.signal(t, syscall.SIGTERM)
	_ = c.cmd.Process.Signal(os.Interrupt) // it may have ended by then
	c.wait(t).must(t, 130)
}

// TestStudyOfAServer compares both clients on a real server and checks the records.
func TestStudyOfAServer(t *testing.T) {
	inTurn(t, 10)
	forEachServer(t, func(t *testing.T, s *server) {
		file, dir := writeStudy(t, fmt.Sprintf(`
name: clients
run:
  target: %q
  database: %s
  workload: {name: a, records: 300}
  load: {workers: 2, operations: 400}
factors:
  - path: client
    levels: [wire, driver]
  - path: workload.records
    levels: [300, 500]
trials: 2
canary: -1
`, s.uri, newDatabase("study", "clients")))
		e := plimsoll(t, "study", "run", file, "--out", dir, "--format", "json")
		study := e.judged(t).study(t, dir)
		checkDone(t, study, dir, 6)
		for _, tr := range study.Trials {
			r, err := record.OpenRun(filepath.Join(dir, tr.Record))
			if err != nil {
				t.Fatal(err)
			}
			client, records := "wire", 300
			if strings.Contains(tr.Configuration, "driver") {
				client = "driver"
			}
			if strings.Contains(tr.Configuration, "500") {
				records = 500
			}
			if r.Specification.Client != client || int(r.Specification.Workload.Records) != records ||
				r.Phase("measure").Counts.Succeeded != 400 {
				t.Errorf("trial %s has the run %+v", tr.Configuration, r.Specification)
			}
			if n := s.count(t, r.Specification.Database, "usertable"); n != int64(records) {
				t.Errorf("trial %s ran on %d documents, want %d", tr.Configuration, n, records)
			}
		}
		if n := strings.Count(e.stderr, "loading "); n != 2 {
			t.Errorf("data were loaded %d times, want once per data set:\n%s", n, e.stderr)
		}
	})
}
