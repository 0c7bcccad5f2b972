package judge

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/record/schema"
)

// nights is a history of runs of which those from the night on have another throughput and version of the server.
func nights(t *testing.T, dir string, n, from int, factor float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range n {
		r := faster(1+0.01*rng.NormFloat64(), time.Duration(i)*24*time.Hour)
		r.Target.Version = "8.0.3"
		if i >= from {
			r.Phases[0].Rates.Achieved *= factor
			r.Target.Version = "8.0.4"
		}
		keep(t, filepath.Join(dir, fmt.Sprintf("night-%02d", i)), r)
	}
}

func historyOf(t *testing.T, dir string, o HistoryOptions) *record.HistoryReport {
	t.Helper()
	sources, _, err := OpenAll(dir)
	if err != nil {
		t.Fatal(err)
	}
	h, err := History(HistorySides(sources, o.Metrics), o)
	if err != nil {
		t.Fatal(err)
	}
	fitsSchema(t, schema.History, h)
	return h
}

func TestHistoryFindsTheNight(t *testing.T) {
	dir := t.TempDir()
	nights(t, dir, 30, 17, 0.9)
	bad := faster(5, 3*24*time.Hour+time.Hour)
	bad.Validity = []measure.Finding{{ID: "client-cpu", Severity: measure.Invalid}}
	keep(t, filepath.Join(dir, "spoiled"), bad)
	other := faster(1, 0)
	other.Specification.Workload.Name = "b"
	keep(t, filepath.Join(dir, "other"), other)
	h := historyOf(t, dir, HistoryOptions{Metrics: []string{"throughput"}})
	if len(h.Groups) != 2 || len(h.Groups[0].Points) != 31 || len(h.Groups[1].Points) != 1 {
		t.Fatalf("%+v", h.Groups)
	}
	s := h.Groups[0].Series[0]
	if s.N != 30 || len(s.Changes) != 1 {
		t.Fatalf("%+v", s)
	}
	c := s.Changes[0]
	if c.Record != "night-17" || c.Verdict != record.Worse || c.Ratio > 0.92 || c.Ratio < 0.88 ||
		h.Groups[0].Points[c.Index].Record != c.Record {
		t.Errorf("%+v", c)
	}
	want := []record.Difference{{What: "target.version", Values: []string{"8.0.3", "8.0.4"}, Severity: measure.Warning, Why: "another version of the server"}}
	if diff := cmp.Diff(want, c.Differences); diff != "" {
		t.Error(diff)
	}
	if !hasFinding(h.Validity, "left-out", measure.Warning) || !strings.Contains(h.Groups[0].Name, "workload a") {
		t.Errorf("%+v %q", h.Validity, h.Groups[0].Name)
	}
}

// The same records give the same answer, in whatever order they come.
func TestHistoryIsDeterministic(t *testing.T) {
	dir := t.TempDir()
	nights(t, dir, 24, 9, 1.2)
	sources, _, err := OpenAll(dir)
	if err != nil {
		t.Fatal(err)
	}
	first, err := History(HistorySides(sources, nil), HistoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(sources)
	second, err := History(HistorySides(sources, nil), HistoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
	if len(first.Groups[0].Series[0].Changes) != 1 {
		t.Errorf("%+v", first.Groups[0].Series[0])
	}
}

func TestHistoryWithoutChange(t *testing.T) {
	dir := t.TempDir()
	nights(t, dir, 30, 40, 1)
	for _, s := range historyOf(t, dir, HistoryOptions{}).Groups[0].Series {
		if len(s.Changes) != 0 {
			t.Errorf("%s: %+v", s.Metric, s.Changes)
		}
	}
	nights(t, filepath.Join(dir, "half"), 30, 15, 1.02)
	if s := historyOf(t, filepath.Join(dir, "half"), HistoryOptions{Margin: 0.05}).Groups[0].Series[0]; len(s.Changes) != 0 {
		t.Errorf("a change below the margin was found: %+v", s.Changes)
	}
}

func TestHistoryOfStudies(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		s := made(uint64(i+1), 6, 0.01, 1, 1.2)
		for k := range s.Trials {
			later := s.Trials[k].Started.Add(time.Duration(i) * 24 * time.Hour)
			s.Trials[k].Started = &later
		}
		keepStudy(t, filepath.Join(dir, fmt.Sprint(i)), s)
	}
	h := historyOf(t, dir, HistoryOptions{})
	if len(h.Groups) != 2 || len(h.Groups[0].Points) != 3 || h.Groups[0].Points[2].N != 6 {
		t.Fatalf("%+v", h.Groups)
	}
	if !hasFinding(h.Validity, "short-history", measure.Note) || h.Groups[0].Series[0].Note == "" {
		t.Errorf("%+v", h.Validity)
	}
}

// What is no record is refused with what it is and what to give, by comparisons and histories alike.
func TestWhatIsNoRecord(t *testing.T) {
	top := t.TempDir()
	for name, says := range map[string]string{"empty": "has no record: there is no run.json and no study.json in it or below",
		"nowhere": "does not exist", "file": "is a file", "disk": "is the record of a probe"} {
		dir := filepath.Join(top, name)
		switch name {
		case "file":
			dir = filepath.Join(top, "file")
			if err := os.WriteFile(dir, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		case "empty", "disk":
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if name == "disk" {
			if err := os.WriteFile(filepath.Join(dir, record.ProbeFile), []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, compared := Open(dir)
		_, _, listed := OpenAll(dir)
		for _, err := range []error{compared, listed} {
			if err == nil || !strings.HasPrefix(err.Error(), dir+" "+says) || strings.Contains(err.Error(), "stat ") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestHistoryErrors(t *testing.T) {
	if _, err := History(nil, HistoryOptions{Metrics: []string{"nonsense"}}); err == nil {
		t.Error("nonsense was looked at")
	}
	if h, err := History(nil, HistoryOptions{}); err != nil || len(h.Groups) != 0 {
		t.Errorf("%+v %v", h, err)
	}
}
