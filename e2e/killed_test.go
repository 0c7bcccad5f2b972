//go:build !race

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// insertsOnly reduces the core workload to inserts, each acknowledged when it is on disk.
func insertsOnly(uri, db, client string) []string {
	return []string{"run", uri, "--database", db, "--client", client, "--workload", "core", "--set", "insertproportion=1",
		"--set", "readproportion=0", "--set", "updateproportion=0", "--durability", "durable", "--records", strconv.Itoa(records),
		"--threads", "8", "--quiet", "--format", "json", "--out", out}
}

// TestServerKilled kills a server under load and restarts it on its data. Acknowledged writes must exist, and other
// writes that exist must be counted as indeterminate.
func TestServerKilled(t *testing.T) {
	inTurn(t, 40)
	forEachEngine(t, func(t *testing.T, name string) {
		t.Run("all of it", func(t *testing.T) { testKilled(t, name, killAll, "--rate", "200") })
		if name == engine.DocumentDB {
			t.Run("its storage", func(t *testing.T) { testKilled(t, name, killStorage, "--pace", "50") })
		}
	})
}

func testKilled(t *testing.T, name string, kill func(t *testing.T, s *server), load ...string) {
	data := filepath.Join(t.TempDir(), "data")
	s := begin(t, name, "--data", data)
	runs := map[string]*command{}
	dbs := map[string]string{}
	for _, client := range clients {
		dbs[client] = newDatabase("killed", client)
		runs[client] = start(t, slices.Concat(insertsOnly(s.uri, dbs[client], client), load, []string{"--timeout", "2s", "--duration", "30m"})...)
	}
	for _, client := range clients {
		until(t, "inserts through "+client, func() bool { return s.count(t, dbs[client], "usertable") > records+400 })
	}
	kill(t, s)
	results := map[string]*record.Run{}
	for _, client := range clients {
		untilOut(t, runs[client])
	}
	for _, client := range clients {
		runs[client].signal(t, os.Interrupt)
	}
	for _, client := range clients {
		e := runs[client].wait(t).must(t, 130)
		results[client] = e.record(t)
		if client == "driver" && !strings.HasSuffix(t.Name(), "its_storage") {
			checkDriverEvents(t, filepath.Join(e.dir, out))
		}
		again := e.showAgain(t, 130)
		if again.Phase("measure").Counts != results[client].Phase("measure").Counts || again.Status != record.Interrupted {
			t.Errorf("%s: the record shows %+v", client, again.Phase("measure").Counts)
		}
	}
	s = begin(t, name, "--data", data)
	for _, client := range clients {
		t.Run(client, func(t *testing.T) { checkSurvivors(t, s, dbs[client], results[client]) })
	}
}

// untilOut waits until the record of a run shows a long outage of its target.
func untilOut(t *testing.T, c *command) {
	t.Helper()
	untilRecorded(t, c, "an outage that makes the result worthless", func(r *record.Run) bool {
		i := slices.IndexFunc(r.Validity, func(f measure.Finding) bool { return f.ID == "outage" })
		return i >= 0 && r.Validity[i].Severity == measure.Invalid
	})
}

// checkDriverEvents checks the events of the official driver in a record.
func checkDriverEvents(t *testing.T, dir string) {
	t.Helper()
	events, err := record.Events(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(events, func(e measure.Event) bool {
		return (e.Kind == "server-unknown" || e.Kind == "pool-cleared") && e.Data["server"] != "" && e.At > 0
	}) {
		t.Errorf("the driver noticed nothing of a server that was killed: %+v", events)
	}
}

// killAll kills all processes at once and removes the rest of the home directory.
func killAll(t *testing.T, s *server) {
	t.Helper()
	s.kill(t)
	cleaned := plimsoll(t, "engine", "clean").must(t, 0).stdout
	if !strings.Contains(cleaned, ": removed") {
		t.Errorf("engine clean says %q", cleaned)
	}
}

// killStorage kills PostgreSQL behind the gateway. The gateway returns errors until `plimsoll engine run` detects this
// and exits.
func killStorage(t *testing.T, s *server) {
	t.Helper()
	for _, pid := range process.Descendants(s.cmd.Process.Pid) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && strings.Contains(string(line), "/bin/postgres\x00-D") {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			s.waitExit(t)
			return
		}
	}
	t.Fatal("the command has no PostgreSQL")
}

func begin(t *testing.T, name string, args ...string) *server {
	t.Helper()
	s, err := startServer(name, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func checkSurvivors(t *testing.T, s *server, db string, r *record.Run) {
	p := r.Phase("measure")
	c := p.Counts
	if c.Succeeded < 300 || c.Failed+c.Indeterminate == 0 || c.Attempted != c.Succeeded+c.Failed+c.Indeterminate {
		t.Errorf("counts %+v", c)
	}
	checkOutageOutcomes(t, p)
	checkFinding(t, r, "outage", measure.Invalid)
	docs := s.dump(t, db, "usertable")
	distinctIDs(t, docs)
	correctedShape().check(t, docs)
	present := int64(len(docs) - records)
	t.Logf("%d acknowledged, %d present, %d indeterminate, %d not applied", c.Succeeded, present, c.Indeterminate, c.Failed)
	if present < c.Succeeded {
		t.Errorf("%d inserts were acknowledged, only %d of them are there", c.Succeeded, present)
	}
	if present > c.Succeeded+c.Indeterminate {
		t.Errorf("%d inserts are there, but only %d were acknowledged and %d are indeterminate", present, c.Succeeded, c.Indeterminate)
	}
}

// checkOutageOutcomes checks the outcomes of operations that failed because the server was down.
func checkOutageOutcomes(t *testing.T, p *record.PhaseResult) {
	t.Helper()
	var failures int64
	for _, f := range p.Failures {
		failures += f.Count
		if !slices.Contains([]string{"indeterminate", "not-applied"}, f.Outcome) {
			t.Errorf("an insert into a dead server is %s: %+v", f.Outcome, f)
		}
		if !slices.Contains([]string{"network", "timeout", "selection", "pool-timeout", "server"}, f.Reason) || f.Example == "" {
			t.Errorf("a failure has reason %q and example %q", f.Reason, f.Example)
		}
	}
	if c := p.Counts; failures != c.Failed+c.Indeterminate {
		t.Errorf("%d failures have a reason, %d operations failed", failures, c.Failed+c.Indeterminate)
	}
	if got := p.Class("insert").Outcomes["ok"]; got != p.Counts.Succeeded {
		t.Errorf("%d inserts are ok, %d operations succeeded", got, p.Counts.Succeeded)
	}
}

// checkFinding fails the test unless the validity of a result has a finding.
func checkFinding(t *testing.T, r *record.Run, id string, severity measure.Severity) {
	t.Helper()
	i := slices.IndexFunc(r.Validity, func(f measure.Finding) bool { return f.ID == id })
	if i < 0 || r.Validity[i].Severity != severity {
		t.Errorf("validity has no %s of severity %s: %+v", id, severity, r.Validity)
	}
}
