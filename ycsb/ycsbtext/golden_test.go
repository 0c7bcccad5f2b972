package ycsbtext

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/measure"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// checkGolden compares got with testdata/name.
func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run the test with -update to write it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got), -update accepts it:\n%s", name, diff)
	}
}

var testDims = measure.Dims{
	Classes: []measure.Class{
		{Name: "read"}, {Name: "update"}, {Name: "insert"}, {Name: "read-modify-write"},
		{Name: "rmw-read", Part: true}, {Name: "rmw-update", Part: true},
	},
	Outcomes: []measure.Outcome{
		{Name: "ok", Success: true}, {Name: "not-found"}, {Name: "batched", Success: true},
		{Name: "overloaded"}, {Name: "failed"}, {Name: "corrupt"},
	},
	Scheduled: true,
}

// classInterval makes a class interval whose i-th success took (i+1)·step and whose failures took ten times
// the step. Response times are 5 ms longer.
func classInterval(step time.Duration, counts ...int64) measure.ClassInterval {
	ci := measure.ClassInterval{
		Counts:   append(counts, make([]int64, len(testDims.Outcomes)-len(counts))...),
		Service:  measure.NewHistogram(),
		Response: measure.NewHistogram(),
		Failed:   measure.NewHistogram(),
	}
	for o, n := range ci.Counts {
		for i := range n {
			took := int64(step) * (i + 1)
			switch {
			case testDims.Outcomes[o].Success:
				ci.Service.Record(took)
				ci.Response.Record(took + 5e6)
			default:
				ci.Failed.Record(int64(step) * 10)
			}
		}
	}
	return ci
}

func testIntervals() []*measure.Interval {
	none := func() measure.ClassInterval { return classInterval(0) }
	return []*measure.Interval{
		{Phase: "measure", End: time.Second, Classes: []measure.ClassInterval{
			classInterval(137*time.Microsecond, 200, 3), classInterval(251*time.Microsecond, 100, 0, 0, 0, 2),
			classInterval(90*time.Microsecond, 10, 0, 30), none(), none(), none(),
		}},
		{Phase: "measure", Start: time.Second, End: 2 * time.Second, Classes: []measure.ClassInterval{
			classInterval(1370*time.Microsecond, 100, 0, 0, 7), none(), none(),
			classInterval(500*time.Microsecond, 5), classInterval(200*time.Microsecond, 5),
			classInterval(300*time.Microsecond, 5),
		}},
	}
}

var testStart = time.Date(2026, 11, 21, 10, 20, 30, 45e6, time.UTC)

// summarise runs the test intervals through the collector and returns the two status lines and the summary.
func summarise(t *testing.T, opts Options, tracked Tracked, class string) (status, summary string) {
	t.Helper()
	opts.Start = testStart
	m := New(opts)
	c := NewCollector(m, testDims, tracked)
	line := NewStatus("lab ", 1000)
	var lines []string
	for _, iv := range testIntervals() {
		c.Interval(iv)
		s, err := m.Summary(iv.End)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line.Line(testStart.Add(iv.End), iv.End, c.Operations(), s))
	}
	var out bytes.Buffer
	e, err := NewExporter(class, &out)
	if err != nil {
		t.Fatal(err)
	}
	m.Record(OpCleanup, 2*time.Second, 1234, 1)
	m.Record(OpCleanup, 2*time.Second, 1, 3)
	overall := Overall{RunTime: 2345 * time.Millisecond, Operations: c.Operations(), GCs: 12, GCTime: 7 * time.Millisecond}
	if err := overall.Export(e); err != nil {
		t.Fatal(err)
	}
	if err := m.Export(e, 2345*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n") + "\n", out.String()
}

func TestGoldenSummaries(t *testing.T) {
	for _, c := range []struct {
		name     string
		opts     Options
		tracked  Tracked
		exporter string
	}{
		{name: "hdr", opts: Options{}},
		{name: "hdr-0.17", opts: Options{Release017: true}},
		{name: "hdr-percentiles", opts: Options{Percentiles: []float64{1, 2, 3, 11, 12, 50, 99.9, 99.99, 100}}},
		{name: "hdr-verbose", opts: Options{Verbose: true}},
		{name: "hdr-both", opts: Options{Interval: Both}},
		{name: "hdr-intended", opts: Options{Interval: Intended}},
		{name: "hdr-each-error", tracked: Tracked{Each: true}},
		{name: "hdr-tracked-error", tracked: Tracked{Names: []string{"NOT_FOUND"}}},
		{name: "json", exporter: "site.ycsb.measurements.exporter.JSONMeasurementsExporter"},
		{name: "json-array", exporter: "com.yahoo.ycsb.measurements.exporter.JSONArrayMeasurementsExporter"},
		{name: "histogram", opts: Options{Type: Buckets, Buckets: 30}},
		{name: "histogram-verbose", opts: Options{Type: Buckets, Buckets: 5, Verbose: true}},
		{name: "hdr-and-histogram", opts: Options{Type: HDRAndBuckets}},
		{name: "timeseries", opts: Options{Type: TimeSeries}},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, summary := summarise(t, c.opts, c.tracked, c.exporter)
			checkGolden(t, c.name+".status", status)
			checkGolden(t, c.name+".summary", summary)
		})
	}
}

// TestGoldenRaw feeds single points, as the types that keep every value need.
func TestGoldenRaw(t *testing.T) {
	for name, typ := range map[string]Type{"raw": Raw, "hdr-and-raw": HDRAndRaw} {
		t.Run(name, func(t *testing.T) {
			var raw, out bytes.Buffer
			m := New(Options{Type: typ, RawOut: &raw, RawSummary: true, Start: testStart})
			for i := range int64(200) {
				m.Record(OpRead, time.Duration(i)*time.Millisecond, 100+i*i%97, 1)
			}
			m.Status(OpRead, "OK", 199)
			m.Status(OpRead, "NOT_FOUND", 1)
			status, err := m.Summary(time.Second)
			if err != nil {
				t.Fatal(err)
			}
			e := &textExporter{&out}
			if err := m.Export(e, time.Second); err != nil {
				t.Fatal(err)
			}
			checkGolden(t, name+".status", status+"\n")
			checkGolden(t, name+".summary", out.String())
			checkGolden(t, name+".points", raw.String())
		})
	}
}

// TestHistogramLog reads back what hdrhistogram.fileoutput writes.
func TestHistogramLog(t *testing.T) {
	logs := map[string]*logFile{}
	opts := Options{Log: func(series string) (io.WriteCloser, error) {
		logs[series] = &logFile{}
		return logs[series], nil
	}}
	summarise(t, opts, Tracked{}, "")
	read := logs["READ"]
	if read == nil || !read.closed {
		t.Fatalf("no closed log of READ among %v", logs)
	}
	counts, maxima := readLog(t, &read.Buffer)
	if diff := cmp.Diff([]int64{200, 105, 0}, counts); diff != "" {
		t.Errorf("counts of the windows (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{27407, 137087, 0}, maxima); diff != "" {
		t.Errorf("maxima of the windows in µs (-want +got):\n%s", diff)
	}
}
