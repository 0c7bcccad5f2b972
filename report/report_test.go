package report

import (
	"bytes"
	"encoding/csv"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func ptr(ns int64) *int64 { return &ns }

// sample is a result with a class that has all figures, a part, one with few operations and one without
// any success.
func sample() *record.Run {
	return &record.Run{
		Head: record.Head{Status: record.Complete, Started: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC),
			Environment: record.Environment{OS: "linux", Arch: "amd64", CPU: "Some CPU @ 2.40GHz"},
			Validity: []measure.Finding{{ID: "too-short", Severity: measure.Note},
				{ID: "client-cpu", Severity: measure.Warning}}}, Scheduled: true,
		Specification: spec.Run{Workload: spec.Workload{Name: "a"}},
		Target:        record.Target{Address: "mongodb://db1,db2/?replicaSet=rs0"},
		Phases: []record.PhaseResult{{Phase: "load", Classes: []record.ClassResult{{Name: "insert"}}}, {
			Phase: "measure", Seconds: 60, Workers: 16, Rates: record.Rates{Offered: 1000, Achieved: 990},
			Classes: []record.ClassResult{
				{Name: "read", Rate: 495.5, Counts: measure.Tally{Attempted: 30_000, Succeeded: 29_730, Failed: 260, Indeterminate: 10},
					Response: &record.Latency{Count: 29_730, Mean: 1234567.8, Min: 1, P50: ptr(1e6), P90: ptr(2e6), P95: ptr(3e6),
						P99: ptr(4_000_500), P999: ptr(9e6), P9999: nil, Max: 12_345_678},
					Service: &record.Latency{Count: 29_730, Mean: 1e6, P50: ptr(9e5), P90: ptr(1e6), P95: ptr(2e6), P99: ptr(3e6),
						P999: ptr(8e6), Max: 11e6}},
				{Name: "rmw read", Part: true, Rate: 1, Counts: measure.Tally{Attempted: 60, Succeeded: 60},
					Response: &record.Latency{Count: 60, Mean: 5e5, P50: ptr(4e5), P90: ptr(5e5), Max: 7e5}},
				{Name: "scan", Counts: measure.Tally{Attempted: 7, Failed: 7, NotFound: 7}},
			},
		}},
	}
}

func golden(t *testing.T, name string, write func(io.Writer, *record.Run) error, r *record.Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, r); err != nil {
		t.Fatal(err)
	}
	sameAsGolden(t, name, b.Bytes())
	return b.String()
}

// sameAsGolden compares a text with the golden file of a name, which -update writes.
func sameAsGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s changed; if it should, run with -update (-want +got):\n%s", name, diff)
	}
}

func TestCSV(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(golden(t, "sample.csv", runCSV, sample()))).ReadAll()
	if err != nil {
		t.Fatal(err) // also if rows are not equally long
	}
	read := map[string]string{}
	for i, name := range rows[0] {
		read[name] = rows[1][i]
	}
	for name, want := range map[string]string{
		"class": "read", "validity": "warning", "part": "false", "offered_per_s": "1000", "ok_per_s": "495.5", "failed": "260",
		"indeterminate": "10", "response_p99_us": "4000.5", "response_p99.99_us": "", "response_max_us": "12345.678", "service_p50_us": "900",
	} {
		if read[name] != want {
			t.Errorf("%s is %q, want %q", name, read[name], want)
		}
	}
	if len(rows) != 4 {
		t.Errorf("%d rows, want one per class of the measured phase and the header", len(rows))
	}
}

// The format of benchmark results: a line of configuration is a lower-case key, a colon and a value; one
// of results is a name, a count, and pairs of value and unit. (golang.org/design/14313-benchmark-format)
var (
	configuration = regexp.MustCompile(`^[a-z][^\sA-Z]*: \S.*$`)
	result        = regexp.MustCompile(`^Benchmark[A-Z]\S*[ \t]+[0-9]+([ \t]+[0-9.]+[ \t]+[^\s0-9]\S*)+$`)
)

func TestGoBench(t *testing.T) {
	text := golden(t, "sample.gobench", runBench, sample())
	results := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if configuration.MatchString(line) {
			continue
		}
		if !result.MatchString(line) {
			t.Errorf("%q is no line of benchmark results", line)
		}
		results++
		fields := strings.Fields(line)
		for i := 2; i < len(fields); i += 2 {
			if _, err := strconv.ParseFloat(fields[i], 64); err != nil {
				t.Errorf("%q: %v", line, err)
			}
		}
	}
	if results != 2 {
		t.Errorf("%d results, want one per class of which something succeeded:\n%s", results, text)
	}
}

func TestInvalidResultsAreMarked(t *testing.T) {
	r := sample()
	r.Validity = append(r.Validity, measure.Finding{ID: "client-limited", Severity: measure.Invalid})
	for name, write := range map[string]func(io.Writer, *record.Run) error{"csv": runCSV, "gobench": runBench} {
		var b bytes.Buffer
		if err := write(&b, r); err != nil || !strings.Contains(b.String(), "invalid") {
			t.Errorf("%s does not say that the result is invalid: %v\n%s", name, err, b.String())
		}
	}
}

// A run that was cut short before anything was measured has nothing to report, and says so by that.
func TestNothingMeasured(t *testing.T) {
	r := sample()
	r.Phases = r.Phases[:1]
	var b bytes.Buffer
	if err := runCSV(&b, r); err != nil || strings.Count(b.String(), "\n") != 1 {
		t.Errorf("%v: %q", err, b.String())
	}
	b.Reset()
	if err := runBench(&b, r); err != nil || strings.Contains(b.String(), "Benchmark") {
		t.Errorf("%v: %q", err, b.String())
	}
}

// failing takes some bytes and then has no more room.
type failing struct{ room int }

func (f *failing) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestWriteErrorsAreReported(t *testing.T) {
	for name, write := range map[string]func(io.Writer, *record.Run) error{"csv": runCSV, "gobench": runBench} {
		if err := write(&failing{room: 20}, sample()); err == nil {
			t.Errorf("%s: no error although nothing could be written", name)
		}
	}
}
