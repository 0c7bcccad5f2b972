//go:build !race

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// children returns the load processes of a run, once there are n of them.
func (c *command) children(t *testing.T, n int) []int {
	t.Helper()
	return c.childrenNamed(t, n, "")
}

// childrenNamed waits for n child processes of a command with a word in their command lines.
func (c *command) childrenNamed(t *testing.T, n int, word string) []int {
	t.Helper()
	var pids []int
	until(t, fmt.Sprintf("%d processes %s below the command", n, word), func() bool {
		pids = nil
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", c.cmd.Process.Pid))
		for _, name := range lists {
			b, _ := os.ReadFile(name) // a thread may have ended
			for _, field := range strings.Fields(string(b)) {
				line, _ := os.ReadFile("/proc/" + field + "/cmdline") // it may have ended
				if pid, err := strconv.Atoi(field); err == nil && strings.Contains(string(line), word) {
					pids = append(pids, pid)
				}
			}
		}
		return len(pids) == n
	})
	slices.Sort(pids)
	return pids
}

// gone reports whether a process has ended, even if no process has waited for it.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return errors.Is(err, os.ErrNotExist) || strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X") || err != nil
}

func allGone(t *testing.T, pids []int) {
	t.Helper()
	until(t, "the load processes to end", func() bool { return !slices.ContainsFunc(pids, func(pid int) bool { return !gone(pid) }) })
}

// ofClients returns the records of the load processes of a run and the sum of their inserts.
func (e ended) ofClients(t *testing.T, r *record.Run) (inserted int64) {
	t.Helper()
	for _, c := range r.Clients {
		own, err := record.OpenRun(filepath.Join(e.dir, out, filepath.FromSlash(c.Record)))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range own.Phases {
			inserted += p.Counts.Succeeded
		}
	}
	return inserted
}

// TestClients inserts into one collection with several processes. Nothing is inserted twice or lost, and one record has
// the sum.
func TestClients(t *testing.T) {
	inTurn(t, 15)
	forEachServer(t, func(t *testing.T, s *server) {
		for _, client := range clients {
			t.Run(client, func(t *testing.T) {
				db := newDatabase("clients", client)
				e := plimsoll(t, slices.Concat(insertsOnly(s.uri, db, client), []string{"--clients", "3", "--operations", "1500", "--warmup", "1s"})...)
				r := e.record(t)
				if r.Status != record.Complete || len(r.Clients) != 3 || r.Course.EndedBy != "operations" {
					t.Fatalf("status %s, %d clients, ended by %s\n%s", r.Status, len(r.Clients), r.Course.EndedBy, e.stderr)
				}
				for i, c := range r.Clients {
					if c.Status != "complete" || c.Succeeded == 0 {
						t.Errorf("client %d: %+v", i, c)
					}
				}
				docs := s.dump(t, db, "usertable")
				distinctIDs(t, docs)
				correctedShape().check(t, docs)
				if got, want := int64(len(docs)-records), e.ofClients(t, r); got != want {
					t.Errorf("%d documents were inserted, the clients count %d", got, want)
				}
				again := e.showAgain(t, e.code)
				if again.Phase("measure").Counts != r.Phase("measure").Counts {
					t.Errorf("the record shows %+v, the run %+v", again.Phase("measure").Counts, r.Phase("measure").Counts)
				}
			})
		}
	})
}

// longRun is a run of three load processes without an end.
func longRun(t *testing.T, s *server) (*command, []int) {
	t.Helper()
	db := newDatabase("long")
	c := start(t, slices.Concat(insertsOnly(s.uri, db, "wire"), []string{"--clients", "3", "--strict", "--pace", "40", "--duration", "30m"})...)
	pids := c.children(t, 3)
	untilMeasured(t, c)
	return c, pids
}

// TestClientsEnded ends a run of several processes in all possible ways.
func TestClientsEnded(t *testing.T) {
	inTurn(t, 25)
	forEachServer(t, testClientsEnded)
}

func testClientsEnded(t *testing.T, s *server) {
	t.Run("one is killed", func(t *testing.T) {
		c, pids := longRun(t, s)
		for _, pid := range pids {
			line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if err != nil || string(line) != "plimsoll\x00load-client\x00" {
				t.Errorf("the command line of a client is %q, %v: everybody can read it, so nothing may be in it", line, err)
			}
		}
		if err := syscall.Kill(pids[1], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		e := c.wait(t).must(t, 6)
		r := e.record(t)
		checkFinding(t, r, "client-lost", measure.Invalid)
		lost := slices.IndexFunc(r.Clients, func(s record.ClientShare) bool { return s.Status == "lost" })
		if lost < 0 || r.Clients[lost].PID != pids[1] || !strings.Contains(r.Clients[lost].Problem, "killed") ||
			r.Course.EndedBy != "client-lost" {
			t.Errorf("clients %+v, ended by %s", r.Clients, r.Course.EndedBy)
		}
		allGone(t, pids)
	})
	t.Run("Ctrl-C", func(t *testing.T) {
		c, pids := longRun(t, s)
		c.signal(t, os.Interrupt)
		r := c.wait(t).must(t, 130).record(t)
		if r.Status != record.Interrupted || r.Phase("measure").Counts.Succeeded == 0 || r.Clients[2].Status != "complete" {
			t.Errorf("status %s, clients %+v", r.Status, r.Clients)
		}
		allGone(t, pids)
	})
	t.Run("Ctrl-C twice", func(t *testing.T) {
		c, pids := longRun(t, s)
		c.signal(t, os.Interrupt)
		_ = c.cmd.Process.Signal(os.Interrupt) // it may have ended at the first signal
		if r := c.wait(t).must(t, 130).record(t); r.Status != record.Interrupted {
			t.Errorf("status %s", r.Status)
		}
		allGone(t, pids)
	})
	t.Run("killed", func(t *testing.T) {
		c, pids := longRun(t, s)
		if err := c.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		c.wait(t)
		allGone(t, pids)
		r, err := record.OpenRun(filepath.Join(c.dir, out))
		if err != nil || r.Status != record.Killed || r.Phase("measure").Counts.Succeeded == 0 {
			t.Errorf("the record of a killed run: %v, %v", r, err)
		}
	})
}

// seriesOf counts the samples of other sources by kind.
func seriesOf(r *record.Run) map[string]int {
	n := map[string]int{}
	for _, x := range r.Series {
		kind, _, _ := strings.Cut(x.Source, ":")
		n[kind]++
	}
	return n
}

// TestBesideTheLoad checks what a record has about the machine, the client and the server.
func TestBesideTheLoad(t *testing.T) {
	inTurn(t, 5)
	forEachServer(t, func(t *testing.T, s *server) {
		if s.engine == engine.Mongod {
			s = begin(t, s.engine) // on the shared server the queries of other tests count, too
		}
		before, began := diagnosticQueries(t, s), time.Now()
		c := start(t, slices.Concat(insertsOnly(s.uri, newDatabase("beside"), "driver"), []string{"--pace", "40", "--duration", "30m"})...)
		untilRecorded(t, c, "samples of the client, of the machine and of mongod", func(r *record.Run) bool {
			n := seriesOf(r)
			return n["client"] > 0 && n["host"] > 0 && (n["server"] >= 20 || s.engine != engine.Mongod)
		})
		untilMeasured(t, c) // a server without statistics has reported that by then
		c.signal(t, os.Interrupt)
		r := c.wait(t).must(t, 130).record(t)
		sources := seriesOf(r)
		asked, most := diagnosticQueries(t, s)-before, time.Since(began).Seconds()+2
		if s.engine == engine.Mongod && (asked < 2 || float64(asked) > most) {
			t.Errorf("mongod answered %d queries for its diagnostic data, and one per second is at most %.0f", asked, most)
		}
		if sources["client"] == 0 || sources["host"] == 0 {
			t.Errorf("series of %v", sources)
		}
		told := slices.ContainsFunc(r.Target.Notes, func(n string) bool { return strings.Contains(n, "has no statistics") })
		switch {
		case s.engine == engine.Mongod && (sources["server"] < 20 || told):
			t.Errorf("mongod has series %v and notes %q", sources, r.Target.Notes)
		case s.engine == engine.DocumentDB && (sources["server"] > 0) == told:
			t.Errorf("FerretDB has series %v and notes %q: it must have one or the other", sources, r.Target.Notes)
		}
	})
}

// diagnosticQueries is how often a mongod answered getDiagnosticData since its start, by its own count.
func diagnosticQueries(t *testing.T, s *server) int64 {
	t.Helper()
	if s.engine != engine.Mongod {
		return 0
	}
	c, err := dial(s.uri)
	if err != nil {
		t.Fatal(err)
	}
	defer hangUp(c)
	status, err := c.Database("admin").RunCommand(t.Context(), bson.D{{Key: "serverStatus", Value: 1}}).Raw()
	if err != nil {
		t.Fatal(err)
	}
	n, _ := status.Lookup("metrics", "commands", "getDiagnosticData", "total").AsInt64OK()
	return n
}
