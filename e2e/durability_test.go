//go:build !race

package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// durabilityCase is a write concern with the outcome of its writes.
type durabilityCase struct {
	args    []string
	outcome map[string]string // outcome by engine, if not "ok"
	refused map[string]string // message by "ENGINE CLIENT" that refuses it
	finding map[string]string // finding by engine
}

// durabilityCases are write concerns on single servers. A standalone mongod refuses to wait for other members. FerretDB
// ignores the concern and always answers, also for w:0, which the driver does not expect.
func durabilityCases() []durabilityCase {
	unacknowledged := durabilityCase{
		outcome: map[string]string{engine.DocumentDB: "unacknowledged", engine.Mongod: "unacknowledged"},
		refused: map[string]string{engine.DocumentDB + " driver": "FerretDB replies to writes with w:0"},
		finding: map[string]string{engine.DocumentDB: "unacknowledged", engine.Mongod: "unacknowledged"},
	}
	w0, throughput := unacknowledged, unacknowledged
	w0.args, throughput.args = []string{"--w", "0"}, []string{"--durability", "throughput"}
	return []durabilityCase{
		w0, throughput,
		{args: []string{"--durability", "balanced"}},
		{args: []string{"--durability", "durable"}, finding: map[string]string{engine.DocumentDB: "concern-ignored"}},
		{args: []string{"--w", "majority"}, finding: map[string]string{engine.DocumentDB: "concern-ignored"}},
		{args: []string{"--w", "1", "--journal"}, finding: map[string]string{engine.DocumentDB: "concern-ignored"}},
	}
}

// TestDurability runs all durability levels with both clients, which must agree.
func TestDurability(t *testing.T) {
	inTurn(t, 15)
	forEachServer(t, func(t *testing.T, s *server) {
		for _, c := range durabilityCases() {
			for _, client := range clients {
				t.Run(strings.Join(c.args, " ")+" "+client, func(t *testing.T) { c.test(t, s, client) })
			}
		}
	})
}

func (c durabilityCase) test(t *testing.T, s *server, client string) {
	db := newDatabase("durability", client)
	args := append([]string{"run", s.uri, "--database", db, "--client", client, "--workload", "a", "--set", "insertproportion=0.5",
		"--records", strconv.Itoa(records), "--operations", strconv.Itoa(operations), "--threads", "4", "--quiet", "--format", "json"}, c.args...)
	if says, ok := c.refused[s.engine+" "+client]; ok {
		e := plimsoll(t, args...).must(t, 3)
		if !strings.Contains(e.stderr, says) || !strings.Contains(e.stderr, "use w:1") || e.stdout != "" {
			t.Errorf("the refusal is %q", e.stderr)
		}
		return
	}
	r := plimsoll(t, args...).measured(t)
	p := r.Phase("measure")
	if p.Counts.Attempted != operations || p.Counts.Succeeded != operations || r.Fill.Counted != records {
		t.Errorf("counts %+v, failures %v, load phase %+v", p.Counts, p.Failures, r.Fill)
	}
	want := "ok"
	if o := c.outcome[s.engine]; o != "" {
		want = o
	}
	for name, outcome := range map[string]string{"read": "ok", "update": want, "insert": want} {
		k := p.Class(name)
		if diff := cmp.Diff(map[string]int64{outcome: k.Counts.Attempted}, k.Outcomes); diff != "" {
			t.Errorf("outcomes of %s (-want +got):\n%s", name, diff)
		}
	}
	// Unacknowledged writes are still in progress.
	inserted := records + p.Class("insert").Counts.Succeeded
	until(t, fmt.Sprintf("%d documents", inserted), func() bool { return s.count(t, db, "usertable") >= inserted })
	docs := s.dump(t, db, "usertable")
	if int64(len(docs)) != inserted {
		t.Errorf("%d documents, not %d", len(docs), inserted)
	}
	correctedShape().check(t, docs)
	c.checkFindings(t, s, r)
}

// checkFindings checks the finding about unacknowledged writes, and that there is none otherwise.
func (c durabilityCase) checkFindings(t *testing.T, s *server, r *record.Run) {
	t.Helper()
	if want := c.finding[s.engine]; want != "" {
		checkFinding(t, r, want, measure.Note)
	}
	for _, id := range []string{"unacknowledged", "concern-ignored"} {
		has := slices.ContainsFunc(r.Validity, func(f measure.Finding) bool { return f.ID == id })
		if has != (c.finding[s.engine] == id) {
			t.Errorf("finding %s: %v", id, has)
		}
	}
}
