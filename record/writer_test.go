package record

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/spec"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func testDims() measure.Dims {
	return measure.Dims{
		Classes:   []measure.Class{{Name: "read"}, {Name: "update"}, {Name: "read-part", Part: true}},
		Outcomes:  []measure.Outcome{{Name: "ok", Success: true}, {Name: "not-found"}, {Name: "indeterminate"}},
		Scheduled: true,
	}
}

var testStart = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// testIntervals makes the intervals of a run: three seconds of warm-up, twelve of measuring, one of
// drain. Times come from a fixed generator.
func testIntervals(t testing.TB, seed uint64) []*measure.Interval {
	t.Helper()
	c, err := measure.NewCollector(measure.Options{Dims: testDims(), Phase: "warmup"})
	if err != nil {
		t.Fatal(err)
	}
	c.Phase("measure", 3*time.Second)
	c.Phase("drain", 15*time.Second)
	r, rng := c.Recorder(), rand.New(rand.NewPCG(seed, 1))
	for i := range 3200 {
		end := int64(i) * int64(5*time.Millisecond)
		s := measure.Sample{End: end, Service: 100_000 + rng.Int64N(2_000_000), Class: uint8(i % 3), Docs: 1, Bytes: 1000,
			Attempts: 1}
		s.Response = s.Service + rng.Int64N(100_000)
		if i%97 == 0 {
			s.Outcome = 1 + uint8(i%2)
			r.Fail(measure.Failure{Class: "read", Outcome: "not-found", Reason: "server", Code: 7}, end, "no document at mongodb://u:hunter22@h/")
		}
		r.Offered(end, 1)
		r.Late(end, rng.Int64N(50_000))
		r.Record(&s)
		if i%20 == 0 {
			c.Gauge(time.Duration(end))
		}
	}
	ivs, err := c.Finish(16 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for i, iv := range ivs { // what the machine did must not be in golden files
		iv.Client = measure.ClientUse{CPU: time.Duration(i) * time.Millisecond, SchedP99: 1000, HeapBytes: 1 << 20}
	}
	return ivs
}

const secret = "hunter22"

func testSpec() spec.Run {
	asked := spec.Run{
		Target:     "mongodb://user:" + secret + "@db.example:27017/?replicaSet=rs0&tlsCertificateKeyFilePassword=hunter23",
		Workload:   spec.Workload{Name: "b", Records: 1000, Params: map[string]string{"mongodb.password": "hunter24", "fieldcount": "10"}},
		Load:       spec.Load{Rate: 200, Duration: spec.Duration(12 * time.Second), Warmup: spec.Duration(3 * time.Second)},
		Objectives: []string{"p99<20ms"},
	}
	asked.Defaults()
	return asked
}

func newTestWriter(t testing.TB, dir string) *RunWriter {
	t.Helper()
	w, err := CreateRun(dir, Tool{Name: "plimsoll", Version: "1.2.3", Commit: "abcdef", Go: "go1"}, testSpec())
	if err != nil {
		t.Fatal(err)
	}
	w.SetCommand([]string{"plimsoll", "run", testSpec().Target})
	w.SetTarget(Target{Address: testSpec().Target, Kind: "mongod", Settings: map[string]string{"note": "password is " + secret}})
	w.SetEnvironment(Environment{OS: "linux", Arch: "amd64", Cores: 4, Threads: 4, Go: "go1", MaxProc: 4})
	if err := w.Begin(testDims(), testStart); err != nil {
		t.Fatal(err)
	}
	return w
}

func feed(t testing.TB, w *RunWriter, ivs []*measure.Interval) {
	t.Helper()
	for _, iv := range ivs {
		if err := w.Interval(iv); err != nil {
			t.Fatal(err)
		}
		e := measure.Event{At: iv.End, Kind: "note", Text: "auth failed for " + secret, Data: map[string]string{"uri": "mongodb://a:" + secret + "@h"}}
		if err := w.Event(e); err != nil {
			t.Fatal(err)
		}
	}
}

func finishTest(t testing.TB, w *RunWriter) *Run {
	t.Helper()
	s := w.Summary("measure")
	objectives, err := measure.ParseObjectives(strings.Join(testSpec().Objectives, ","))
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.Finish(Ending{
		Status: Complete, Ended: testStart.Add(16 * time.Second), Course: Course{WindowStart: 3e9, WindowEnd: 15e9,
			EndedBy: "duration"},
		Objectives: measure.EvaluateAll(objectives, s), Validity: measure.Judge(s, measure.Circumstances{Cores: 4}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What a REST service used stands beside what the client used, phase by phase, and nowhere where there was none.
func TestServiceOfARun(t *testing.T) {
	w := newTestWriter(t, filepath.Join(t.TempDir(), "record"))
	feed(t, w, testIntervals(t, 1))
	w.AddService("measure", 2*time.Second, 50<<20)
	w.AddService("measure", time.Second, 40<<20)
	r := finishTest(t, w)
	p := r.Phase("measure")
	want := &ServiceResult{CPUSeconds: 3, CPUPerOperation: 3e9 / float64(p.Ended.Attempted), MemoryBytes: 50 << 20}
	if diff := cmp.Diff(want, p.Service); diff != "" {
		t.Error(diff)
	}
	if p := r.Phase("warmup"); p == nil || p.Service != nil {
		t.Errorf("the service did nothing in the warm-up, and yet %+v", p)
	}
}

func writeTestRecord(t testing.TB) (string, *Run) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "record")
	w := newTestWriter(t, dir)
	feed(t, w, testIntervals(t, 1))
	return dir, finishTest(t, w)
}

func TestGoldenRun(t *testing.T) {
	dir, _ := writeTestRecord(t)
	got, err := os.ReadFile(filepath.Join(dir, RunFile))
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "run.golden.json")
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("run.json (-want +got; run with -update if that is meant):\n%s", diff)
	}
}

func TestResultsAreRebuiltExactly(t *testing.T) {
	dir, r := writeTestRecord(t)
	results, err := Rebuild(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Phases, results); diff != "" {
		t.Errorf("results from the files (-written +rebuilt):\n%s", diff)
	}
	opened, err := OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, opened); diff != "" {
		t.Errorf("run.json read again (-written +read):\n%s", diff)
	}
	if p := r.Phase("measure"); p.Counts.Attempted <= p.Ended.Attempted || p.Seconds != 12 {
		t.Errorf("the drain is no tail of the measured phase: %d operations, %d of them ended in %g s",
			p.Counts.Attempted, p.Ended.Attempted, p.Seconds)
	}
	events, err := Events(dir)
	if err != nil || len(events) != 16 {
		t.Errorf("%d events, error %v", len(events), err)
	}
}

func TestNoCredentialsInAnyFile(t *testing.T) {
	dir, _ := writeTestRecord(t)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 7 {
		t.Errorf("the record has %d files, want 7: %v", len(entries), entries)
	}
	var all strings.Builder
	for _, at := range resolutions[:2] {
		if _, err := eachLine(dir, at.intervals, func(l *IntervalLine) error {
			fmt.Fprintf(&all, "%+v\n",
				*l)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	for _, s := range []string{secret, "hunter23", "hunter24"} {
		if i := strings.Index(all.String(), s); i >= 0 {
			t.Errorf("credential %s is in a file: …%.120s", s, all.String()[max(0, i-60):])
		}
	}
	if !strings.Contains(all.String(), "user:***@db.example") {
		t.Error("the address is gone altogether")
	}
}

func TestHistogramLogIsReadableByItsOwnTools(t *testing.T) {
	dir, r := writeTestRecord(t)
	f, err := os.Open(filepath.Join(dir, LatencyFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	log, merged := hdr.NewHistogramLogReader(f), map[string]*hdr.Histogram{}
	for {
		h, err := log.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		if at := time.UnixMilli(h.StartTimeMs()); at.Before(testStart) || at.After(testStart.Add(16*time.Second)) {
			t.Fatalf("an interval begins at %v", at)
		}
		if merged[h.Tag()] == nil {
			merged[h.Tag()] = h
		} else if dropped := merged[h.Tag()].Merge(h); dropped != 0 {
			t.Fatalf("%d values dropped", dropped)
		}
	}
	read := r.Phase("measure").Class("read").Response
	// The library rounds to the nearest rank where run.json has the next one, as HdrHistogram in Java does.
	h := merged["read.response"]
	next := 100 * math.Ceil(0.99*float64(read.Count+read.Lost)) / float64(h.TotalCount())
	p99 := min(h.ValueAtQuantile(next), read.Max)
	if h.TotalCount() != read.Count || p99 != *read.P99 {
		t.Errorf("tag read.response: %d values, p99 %d; run.json: %d, %d", h.TotalCount(), p99, read.Count, *read.P99)
	}
	if merged["warmup:read.response"] == nil || merged["client.lateness"] == nil {
		t.Error("the warm-up or the lateness has no separate tag")
	}
}

// A killed process leaves files that end anywhere.
func TestKilledRunKeepsAllButTheLastInterval(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "record")
	w := newTestWriter(t, dir)
	ivs := testIntervals(t, 2)
	var sizes []map[string]int64
	for _, iv := range ivs {
		if err := w.Interval(iv); err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, map[string]int64{IntervalsFile: size(t, dir, IntervalsFile),
			LatencyFile: size(t, dir, LatencyFile)})
	}
	r, err := OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != Killed || !slices.ContainsFunc(r.Validity, func(f measure.Finding) bool { return f.ID == "incomplete" }) {
		t.Errorf("status %s, validity %+v", r.Status, r.Validity)
	}
	if len(r.Objectives) != len(r.Specification.Objectives) || len(r.Objectives) == 0 ||
		measure.Worst(r.Validity) != measure.Invalid {
		t.Errorf("a killed run that fell behind its schedule is judged like any other: %+v, %+v", r.Objectives, r.Validity)
	}
	whole, err := w.Run()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole.Phases, r.Phases); diff != "" {
		t.Errorf("recovered results (-measured +recovered):\n%s", diff)
	}
	for _, name := range []string{IntervalsFile, LatencyFile} {
		checkTruncations(t, dir, name, sizes)
	}
}

func size(t testing.TB, dir, name string) int64 {
	t.Helper()
	st, err := os.Stat(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}

// checkTruncations cuts a file at many offsets: around the border of every interval and all over one of
// them. As many intervals must be readable as were whole at that length.
func checkTruncations(t *testing.T, dir, name string, sizes []map[string]int64) {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "cut")
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(copied, name)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	offsets := map[int64]bool{0: true, 1: true, 5: true}
	for i, s := range sizes {
		for d := int64(-1); d <= 1; d++ {
			offsets[s[name]+d] = true
		}
		if i == 4 {
			for o := sizes[3][name]; o < s[name]; o += max(1, (s[name]-sizes[3][name])/25) {
				offsets[o] = true
			}
		}
	}
	for o := range offsets {
		if o > int64(len(content)) {
			continue
		}
		if err := os.WriteFile(path, content[:o], 0o644); err != nil {
			t.Fatal(err)
		}
		want, got := 0, 0
		for want < len(sizes) && sizes[want][name] <= o {
			want++
		}
		if _, err := EachInterval(copied, func(*measure.Interval) error { got++; return nil }); err != nil {
			t.Fatalf("%s cut at %d: %v", name, o, err)
		}
		if got != want {
			t.Errorf("%s cut at %d of %d: %d intervals, want %d", name, o, len(content), got, want)
		}
	}
}

func TestRunFileIsThereFromTheBeginning(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "record")
	w, err := CreateRun(dir, Tool{}, spec.Run{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != Killed || len(r.Phases) != 0 {
		t.Errorf("status %s with %d phases", r.Status, len(r.Phases))
	}
	if err := w.Interval(&measure.Interval{}); err == nil {
		t.Error("an interval was taken before Begin")
	}
	if _, err := CreateRun(dir, Tool{}, spec.Run{}); err == nil || !strings.Contains(err.Error(), "already holds a record") {
		t.Errorf("a second record in the same directory: %v", err)
	}
}

func TestRunFileIsBroughtUpToDate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "record")
	w := newTestWriter(t, dir)
	feed(t, w, testIntervals(t, 3)[:11])
	b, err := os.ReadFile(filepath.Join(dir, RunFile))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b, []byte(`"phase": "measure"`)) {
		t.Error("after ten seconds run.json has no result yet")
	}
}

func TestAlteredFilesAreReported(t *testing.T) {
	dir, _ := writeTestRecord(t)
	f, err := os.OpenFile(filepath.Join(dir, EventsFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"at_ns":1,"kind":"forged"}` + "\n"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	r, err := OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Validity, func(f measure.Finding) bool { return f.ID == "altered" })
	if i < 0 || r.Validity[i].Severity != measure.Invalid || !strings.Contains(r.Validity[i].Text, EventsFile) {
		t.Errorf("findings %+v", r.Validity)
	}
}

func TestSegmentsShareOneTimeline(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "record")
	w := newTestWriter(t, dir)
	ivs := testIntervals(t, 4)
	load := *ivs[0]
	load.Phase = "load"
	feed(t, w, []*measure.Interval{&load})
	if err := w.Begin(testDims(), testStart.Add(30*time.Second)); err != nil {
		t.Fatal(err)
	}
	feed(t, w, ivs[3:])
	r := finishTest(t, w)
	if p := r.Phase("measure"); p.Start != int64(33*time.Second) || p.Seconds != 12 {
		t.Errorf("the measured phase begins at %v and takes %g s", time.Duration(p.Start), p.Seconds)
	}
	if d := testDims(); w.Begin(measure.Dims{Classes: d.Classes[:1], Outcomes: d.Outcomes}, testStart) == nil {
		t.Error("other classes were accepted")
	}
	if load.Failures[0].Example == "" || !strings.Contains(load.Failures[0].Example, secret) {
		t.Error("the writer changed the interval of its caller")
	}
}

func TestDiskFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		notrun.Here(t, "this system has no /dev/full: %v", err)
		return
	}
	dir := filepath.Join(t.TempDir(), "record")
	w := newTestWriter(t, dir)
	ivs := testIntervals(t, 5)
	feed(t, w, ivs[:6])
	latency := w.log.latency
	latency.file.Close()
	latency.Writer, latency.file = bufio.NewWriter(full), full
	w.log.log = hdr.NewHistogramLogWriter(latency)
	err = w.Interval(ivs[6])
	if !errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "free space") {
		t.Fatalf("error %v", err)
	}
	if again := w.Interval(ivs[7]); again == nil {
		t.Error("the next interval was accepted")
	}
	if _, err := w.Finish(Ending{Status: Complete, Ended: testStart}); err == nil {
		t.Error("Finish reports success")
	}
	r, err := OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if p := r.Phase("measure"); r.Status != Failed || p == nil || p.Seconds != 3 || !strings.Contains(r.Problem, "free space") {
		t.Errorf("status %s, problem %q, measured phase %+v", r.Status, r.Problem, p)
	}
}
