//go:build !race

package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// TestInterrupt ends a run with Ctrl-C or SIGTERM: it exits, and its record is complete.
func TestInterrupt(t *testing.T) {
	inTurn(t, 5)
	forEachServer(t, func(t *testing.T, s *server) {
		for _, client := range clients {
			t.Run(client, func(t *testing.T) {
				db := newDatabase("interrupt", client)
				c := start(t, append(insertsOnly(s.uri, db, client), "--duration", "10m", "--pace", "40")...)
				untilMeasured(t, c)
				c.signal(t, map[string]os.Signal{"wire": os.Interrupt, "driver": syscall.SIGTERM}[client])
				e := c.wait(t).must(t, 130)
				r := e.record(t)
				if r.Status != record.Interrupted || r.Course.EndedBy != "interrupt" || r.Ended == nil {
					t.Errorf("status %s, ended by %q at %v", r.Status, r.Course.EndedBy, r.Ended)
				}
				checkFinding(t, r, "interrupted", measure.Warning)
				p := r.Phase("measure")
				if n := s.count(t, db, "usertable") - records; p.Counts.Succeeded != n || p.Counts.Bad() != 0 || n == 0 {
					t.Errorf("counts are %+v, but %d inserts are there", p.Counts, n)
				}
				again := e.showAgain(t, 130)
				again.Specification.Out = r.Specification.Out
				if diff := cmp.Diff(r, again); diff != "" {
					t.Errorf("the record shows something else (-printed +shown):\n%s", diff)
				}
			})
		}
	})
}

// untilMeasured waits until the record of a run has two measured intervals.
func untilMeasured(t *testing.T, c *command) {
	t.Helper()
	untilRecorded(t, c, "two seconds of measured operations", func(r *record.Run) bool {
		p := r.Phase("measure")
		return p != nil && p.Seconds > 1.5 && p.Counts.Succeeded > 0
	})
}

// untilRecorded waits until the record of a run meets a condition.
func untilRecorded(t *testing.T, c *command, what string, is func(*record.Run) bool) {
	t.Helper()
	until(t, what, func() bool {
		select {
		case <-c.done:
			t.Fatalf("the run has ended:\n%s", c.stderr.String())
		default:
		}
		r, err := record.OpenRun(filepath.Join(c.dir, out))
		return err == nil && is(r) // an error until the record exists
	})
}

// TestKilledRun kills plimsoll during a run. The data of the record must be shown and be correct.
func TestKilledRun(t *testing.T) {
	inTurn(t, 5)
	forEachServer(t, func(t *testing.T, s *server) {
		for _, client := range clients {
			t.Run(client, func(t *testing.T) {
				db := newDatabase("kill", client)
				c := start(t, append(insertsOnly(s.uri, db, client), "--duration", "10m", "--rate", "100")...)
				untilMeasured(t, c)
				c.signal(t, syscall.SIGKILL)
				e := c.wait(t).must(t, -1)
				if e.stdout != "" {
					t.Errorf("a killed run printed a result:\n%s", e.stdout)
				}
				r := e.showAgain(t, 130)
				if r.Status != record.Killed || r.Ended != nil || !r.Scheduled {
					t.Errorf("status %s, ended %v, scheduled %v", r.Status, r.Ended, r.Scheduled)
				}
				checkFinding(t, r, "incomplete", measure.Warning)
				p := r.Phase("measure")
				if n := s.count(t, db, "usertable") - records; p.Counts.Succeeded == 0 || p.Counts.Succeeded > n || p.Counts.Bad() != 0 {
					t.Errorf("the record shows %+v, but %d inserts are there", p.Counts, n)
				}
				if f := r.Fill; f == nil || f.Inserted != records {
					t.Errorf("the load phase is recorded as %+v", f)
				}
				text := plimsoll(t, "show", "--verbose", filepath.Join(e.dir, out)).must(t, 130).stdout
				if !strings.Contains(text, "incomplete") {
					t.Errorf("the text does not say that the run is incomplete:\n%s", text)
				}
			})
		}
	})
}

// TestResume ends a load phase with Ctrl-C. Another command loads the rest.
func TestResume(t *testing.T) {
	inTurn(t, 25)
	const records = 6000
	cases := []struct{ workload, client, collection string }{
		{"ycsb-a", "wire", "usertable"}, {"a", "driver", "usertable"}, {"person", "driver", "person"}, {"catalog", "wire", "product"},
	}
	forEachServer(t, func(t *testing.T, s *server) {
		for _, c := range cases {
			t.Run(c.workload, func(t *testing.T) {
				db := newDatabase("resume", c.workload)
				args := []string{"run", s.uri, "--workload", c.workload, "--client", c.client, "--records", strconv.Itoa(records),
					"--load", "only", "--threads", "4"}
				// Small serial batches make the first load slow enough.
				first := start(t, append(args, "--database", db, "--batch", "5", "--load-threads", "1")...)
				until(t, "some of the records", func() bool { return s.count(t, db, c.collection) > 300 })
				first.signal(t, os.Interrupt)
				first.wait(t).must(t, 130)
				part := s.count(t, db, c.collection)
				if part == records {
					t.Fatal("the load had ended before it was interrupted")
				}
				e := plimsoll(t, append(args, "--database", db)...).must(t, 0)
				t.Logf("%d records after the interrupt, then: %s", part, strings.TrimSpace(e.stdout))

				docs := s.dump(t, db, c.collection)
				distinctIDs(t, docs)
				inOne := newDatabase("whole", c.workload)
				plimsoll(t, append(args, "--database", inOne)...).must(t, 0)
				sameDocuments(t, docs, s.dump(t, inOne, c.collection), "loaded in two parts and in one")
				if len(docs) != records {
					t.Errorf("%d documents of %d", len(docs), records)
				}
			})
		}
	})
}
