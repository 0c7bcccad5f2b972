package judge

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/record/schema"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// keep writes a run as a record.
func keep(t *testing.T, dir string, r *record.Run) string {
	t.Helper()
	return keepJSON(t, dir, record.RunFile, r)
}

func keepJSON(t *testing.T, dir, name string, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := record.Seal(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// faster is a run with another throughput, at another time.
func faster(factor float64, after time.Duration) *record.Run {
	r := measured()
	r.Started = begin.Add(after)
	r.Phases[0].Rates.Achieved *= factor
	return r
}

// group of records in a directory, one per factor.
func keepAll(t *testing.T, dir string, after time.Duration, factors ...float64) string {
	t.Helper()
	for i, f := range factors {
		keep(t, filepath.Join(dir, fmt.Sprint(i)), faster(f, after+time.Duration(i)*time.Hour))
	}
	return dir
}

func compareDirs(t *testing.T, o CompareOptions, names ...string) *record.ComparisonReport {
	t.Helper()
	var sources []Source
	for _, name := range names {
		s, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, s)
	}
	r, err := Compare(Sides(sources, o.Metrics), o)
	if err != nil {
		t.Fatal(err)
	}
	fitsSchema(t, schema.Comparison, r)
	return r
}

// compiled are the schemas that were compiled already, which takes a while.
var compiled sync.Map

func compile(t *testing.T, content []byte) *jsonschema.Schema {
	t.Helper()
	if s, ok := compiled.Load(string(content)); ok {
		return s.(*jsonschema.Schema)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(content)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	compiled.Store(string(content), s)
	return s
}

// fitsSchema makes sure that what other programs read is what was promised to them.
func fitsSchema(t *testing.T, content []byte, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	if err := compile(t, content).Validate(value); err != nil {
		t.Errorf("%v\n%s", err, b)
	}
}

func cellOf(r *record.ComparisonReport, configuration, metric string) *record.Comparison {
	for i := range r.Comparisons {
		if c := &r.Comparisons[i]; c.Configuration == configuration && c.Metric == metric {
			return c
		}
	}
	return nil
}

func TestCompareDirectories(t *testing.T) {
	top := t.TempDir()
	old := keepAll(t, filepath.Join(top, "old"), 0, 1, 1.01, 0.99, 1.005, 0.995, 1)
	other := keepAll(t, filepath.Join(top, "new"), 30*time.Minute, 1.2, 1.21, 1.19, 1.205, 1.195, 1.2)
	r := compareDirs(t, CompareOptions{Tool: record.Tool{Name: "plimsoll"}}, old, other)
	c := cellOf(r, other, "throughput")
	if c == nil || c.Verdict != record.Better || math.Abs(*c.Ratio-1.2) > 0.01 || c.N != 6 || c.Pairs != 3 ||
		c.Baseline != old {
		t.Errorf("%+v", c)
	}
	if r.Sides[1].N != 6 || len(r.Sides[1].Values["throughput"]) != 6 || len(r.Sides[1].Records) != 6 {
		t.Errorf("%+v", r.Sides[1])
	}
	if len(r.Validity) != 0 || len(r.Differences) != 0 {
		t.Errorf("%+v\n%+v", r.Validity, r.Differences)
	}
}

// Runs that were not made in turns may differ because of the machine.
func TestCompareTellsOfSidesThatRanApart(t *testing.T) {
	top := t.TempDir()
	old := keepAll(t, filepath.Join(top, "old"), 0, 1, 1.01, 0.99, 1)
	other := keepAll(t, filepath.Join(top, "new"), 24*time.Hour, 1, 1.01, 0.99, 1)
	r := compareDirs(t, CompareOptions{}, old, other)
	if !hasFinding(r.Validity, "not-interleaved", measure.Warning) || !hasFinding(r.Validity, "few-trials", measure.Note) {
		t.Errorf("%+v", r.Validity)
	}
	for _, c := range r.Comparisons {
		if c.Verdict != record.Inconclusive || !strings.Contains(c.Note, "not interleaved") || c.P != nil || c.Low != nil ||
			c.Ratio == nil && c.Difference == nil {
			t.Errorf("only figures may be shown: %+v", c)
		}
	}
}

func TestCompareSingleRuns(t *testing.T) {
	top := t.TempDir()
	a, b, c := keep(t, filepath.Join(top, "a"), faster(1, 0)), keep(t, filepath.Join(top, "b"), faster(2, time.Hour)),
		keep(t, filepath.Join(top, "c"), faster(3, time.Hour))
	r := compareDirs(t, CompareOptions{Metrics: []string{"throughput"}}, a, b, c)
	if len(r.Comparisons) != 2 || !hasFinding(r.Validity, "one-record", measure.Warning) {
		t.Fatalf("%+v", r)
	}
	if x := r.Comparisons[1]; x.Verdict != record.Inconclusive || math.Abs(*x.Ratio-3) > 1e-9 || x.Low != nil ||
		x.Note == "" {
		t.Errorf("%+v", x)
	}
}

func TestCompareRefusesWhatMustBeEqual(t *testing.T) {
	change := map[string]func(*record.Run){
		"workload.name":               func(r *record.Run) { r.Specification.Workload.Name = "b" },
		"workload.params.fieldcount":  func(r *record.Run) { r.Specification.Workload.Params = map[string]string{"fieldcount": "20"} },
		"workload.records":            func(r *record.Run) { r.Specification.Workload.Records = 2000 },
		"data.records":                func(r *record.Run) { r.Fill = &record.FillResult{Records: 2000} },
		"scheduled":                   func(r *record.Run) { r.Scheduled = false },
		"environment.cpu":             func(r *record.Run) { r.Environment.CPU = "another" },
		"environment.cores_available": func(r *record.Run) { r.Environment.Cores = 2 },
	}
	for what, f := range change {
		t.Run(what, func(t *testing.T) {
			top := t.TempDir()
			other := measured()
			f(other)
			a, b := keep(t, filepath.Join(top, "a"), measured()), keep(t, filepath.Join(top, "b"), other)
			r := compareDirs(t, CompareOptions{}, a, b)
			if !hasFinding(r.Validity, "not-comparable", measure.Invalid) || r.Differences[0].What != what ||
				r.Differences[0].Severity != measure.Invalid {
				t.Errorf("%+v\n%+v", r.Validity, r.Differences)
			}
			for _, c := range r.Comparisons {
				if c.Verdict != record.Inconclusive || c.Ratio == nil && c.Difference == nil && c.Value != nil {
					t.Errorf("%+v", c)
				}
			}
			r = compareDirs(t, CompareOptions{Force: true}, a, b)
			if measure.Worst(r.Validity) == measure.Invalid {
				t.Errorf("in spite of force: %+v", r.Validity)
			}
			r = compareDirs(t, CompareOptions{Varied: []string{what}}, a, b)
			if hasFinding(r.Validity, "not-comparable", measure.Invalid) || r.Differences[0].Severity != measure.Note {
				t.Errorf("although it was varied on purpose: %+v", r.Validity)
			}
		})
	}
}

// A write concern in the address counts as one of the specification does, and no measurement makes another deployment.
func TestCompareWriteConcernOfTheAddress(t *testing.T) {
	top, n := t.TempDir(), 0
	compared := func(a, b func(*record.Run)) *record.ComparisonReport {
		var dirs []string
		for _, change := range []func(*record.Run){a, b} {
			r := measured()
			r.Specification.Durability = spec.Durability{}
			change(r)
			n++
			dirs = append(dirs, keep(t, filepath.Join(top, strconv.Itoa(n)), r))
		}
		return compareDirs(t, CompareOptions{}, dirs...)
	}
	address := func(options string) func(*record.Run) {
		return func(r *record.Run) { r.Specification.Target = "mongodb://db/" + options }
	}
	r := compared(address("?w=majority"), address("?w=0"))
	if len(r.Differences) != 1 || r.Differences[0].What != "durability.w" || !r.Differences[0].Compared {
		t.Errorf("%+v\n%+v", r.Validity, r.Differences)
	}
	for name, b := range map[string]func(*record.Run){
		"by a flag": func(r *record.Run) { r.Specification.Durability.W = "majority" },
		"another round trip": func(r *record.Run) {
			address("?w=majority")(r)
			r.Target.RoundTrip = 5e6
		},
	} {
		r := compared(func(r *record.Run) {
			address("?w=majority")(r)
			r.Target.RoundTrip = 1e5
		}, b)
		if len(r.Differences) > 0 {
			t.Errorf("%s: %+v", name, r.Differences)
		}
	}
}

// What a lab is made of should be equal, but for its name; what follows from a lab that was varied needs no excuse.
func TestCompareLabs(t *testing.T) {
	on := func(name string, members int) *record.Run {
		r := measured()
		r.Target.Topology = fmt.Sprintf("%d members", members)
		l := spec.Lab{Name: name, Topology: spec.Topology{Members: spec.Count(members)},
			Hosts: spec.Hosts{Cores: float64(members)}}
		l.Defaults()
		r.Lab = &record.Lab{Name: name, Specification: l, Version: "2.7.0"}
		return r
	}
	top := t.TempDir()
	a, b, c := keep(t, filepath.Join(top, "a"), on("one", 3)), keep(t, filepath.Join(top, "b"), on("two", 3)),
		keep(t, filepath.Join(top, "c"), on("one", 1))
	if r := compareDirs(t, CompareOptions{}, a, b); len(r.Differences) != 0 {
		t.Errorf("labs that differ in their names: %+v", r.Differences)
	}
	r := compareDirs(t, CompareOptions{}, a, c)
	if !hasFinding(r.Validity, "not-comparable", measure.Invalid) || !strings.HasPrefix(r.Differences[0].What, "lab.") {
		t.Errorf("labs that differ: %+v", r.Differences)
	}
	r = compareDirs(t, CompareOptions{Varied: []string{"lab"}}, a, c)
	for _, d := range r.Differences {
		if d.Severity != measure.Note {
			t.Errorf("although the lab was varied: %+v", d)
		}
	}
}

func TestCompareWarnsOfWhatShouldBeEqual(t *testing.T) {
	other := measured()
	other.Target.Version, other.Tool.Version, other.Environment.Kernel = "8.0.4", "1.1.0", "6.1"
	other.Environment.MemoryBytes = 8<<30 + 4096 // nothing
	other.Environment.Load1 = ptr(0.7)
	other.Specification.Out, other.Specification.Labels = "elsewhere", map[string]string{"x": "y"}
	top := t.TempDir()
	r := compareDirs(t, CompareOptions{}, keep(t, filepath.Join(top, "a"), measured()),
		keep(t, filepath.Join(top, "b"), other))
	got := map[string]measure.Severity{}
	for _, d := range r.Differences {
		got[d.What] = d.Severity
	}
	want := map[string]measure.Severity{"target.version": measure.Warning, "tool.version": measure.Warning, "environment.kernel": measure.Warning}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !hasFinding(r.Validity, "differences", measure.Warning) {
		t.Errorf("%+v", r.Validity)
	}
}

func TestCompareRefusesMixedRecords(t *testing.T) {
	top := t.TempDir()
	old := keepAll(t, filepath.Join(top, "old"), 0, 1, 1.01)
	odd := faster(1, time.Minute)
	odd.Specification.Workload.Name = "c"
	keep(t, filepath.Join(old, "odd"), odd)
	r := compareDirs(t, CompareOptions{}, old, keepAll(t, filepath.Join(top, "new"), time.Minute, 1, 1))
	if !hasFinding(r.Validity, "mixed-records", measure.Invalid) || r.Comparisons[0].Verdict != record.Inconclusive {
		t.Errorf("%+v", r.Validity)
	}
}

// Records that are invalid, failed or cannot be read do not count, and are named.
func TestCompareLeavesOut(t *testing.T) {
	top := t.TempDir()
	old := keepAll(t, filepath.Join(top, "old"), 0, 1, 1.01)
	bad, failed, nothing := faster(9, 0), faster(9, 0), faster(9, 0)
	bad.Validity = []measure.Finding{{ID: "client-cpu", Severity: measure.Invalid}}
	failed.Status = record.Failed
	nothing.Phases = nil
	for name, r := range map[string]*record.Run{"bad": bad, "failed": failed, "nothing": nothing} {
		keep(t, filepath.Join(old, name), r)
	}
	keepJSON(t, filepath.Join(old, "torn"), record.RunFile, "no record")
	r := compareDirs(t, CompareOptions{}, old, keepAll(t, filepath.Join(top, "new"), time.Minute, 1, 1))
	if r.Sides[0].N != 2 {
		t.Errorf("%d count, want 2", r.Sides[0].N)
	}
	i := slices.IndexFunc(r.Validity, func(f measure.Finding) bool { return f.ID == "left-out" })
	if i < 0 {
		t.Fatalf("%+v", r.Validity)
	}
	for _, why := range []string{"4 records of 8", "client-cpu", "failed", "nothing-measured", "unreadable"} {
		if !strings.Contains(r.Validity[i].Text, why) {
			t.Errorf("%q lacks %q", r.Validity[i].Text, why)
		}
	}
}

// keepStudy writes a study without the records of its trials.
func keepStudy(t *testing.T, dir string, s *record.Study) string {
	t.Helper()
	s.SchemaVersion, s.Kind, s.Started = record.SchemaVersion, record.KindStudy, begin
	s.Base = measured().Specification
	s.Environment, s.Tool = measured().Environment, measured().Tool
	for i := range s.Configurations[1:] {
		s.Configurations[i+1].Set = map[string]any{"load.workers": 16 * (i + 2), "durability.name": "balanced"}
	}
	Study(s)
	fitsSchema(t, schema.Study, s)
	return keepJSON(t, dir, record.StudyFile, s)
}

func TestCompareStudiesMatchesConfigurations(t *testing.T) {
	top := t.TempDir()
	a := keepStudy(t, filepath.Join(top, "a"), made(1, 8, 0.01, 1, 1.2, 0.8))
	second := made(2, 8, 0.01, 1, 1.5)
	for i := range second.Trials {
		later := second.Trials[i].Started.Add(24 * time.Hour)
		second.Trials[i].Started = &later
	}
	b := keepStudy(t, filepath.Join(top, "b"), second)
	r := compareDirs(t, CompareOptions{}, a, b)
	if c := cellOf(r, b+"#level=1", "throughput"); c == nil || c.Baseline != a+"#level=1" || c.Verdict != record.Inconclusive ||
		math.Abs(*c.Ratio-1.25) > 0.02 || c.Pairs != 0 || !strings.Contains(c.Note, "not interleaved") {
		t.Errorf("%+v", c)
	}
	if c := cellOf(r, b+"#baseline", "throughput"); c == nil || c.Verdict == record.Better || c.Verdict == record.Worse {
		t.Errorf("%+v", c)
	}
	if !hasFinding(r.Validity, "unmatched", measure.Note) {
		t.Errorf("%+v", r.Validity)
	}
}

// Configurations of one study are compared within its blocks, and what the study varies is no reason to refuse.
func TestCompareWithinAStudy(t *testing.T) {
	dir := keepStudy(t, filepath.Join(t.TempDir(), "a"), made(1, 8, 0.01, 1, 1.2))
	r := compareDirs(t, CompareOptions{}, dir+"#baseline", dir+"#level=1")
	c := cellOf(r, dir+"#level=1", "throughput")
	if c == nil || c.Pairs != 8 || c.Verdict != record.Better {
		t.Errorf("%+v", c)
	}
	if measure.Worst(r.Validity) == measure.Invalid || len(r.Differences) != 2 {
		t.Errorf("%+v\n%+v", r.Validity, r.Differences)
	}
	if _, err := Open(dir + "#level=7"); err == nil || !strings.Contains(err.Error(), "level=1") {
		t.Errorf("%v", err)
	}
}

func TestCompareStudyWithRecord(t *testing.T) {
	top := t.TempDir()
	study := keepStudy(t, filepath.Join(top, "a"), made(1, 8, 0.01, 1, 1.2))
	run := keep(t, filepath.Join(top, "run"), measured())
	r := compareDirs(t, CompareOptions{}, study, run)
	if len(r.Sides) != 2 || r.Sides[0].Name != study+"#baseline" || r.Sides[0].N != 8 {
		t.Errorf("%+v", r.Sides)
	}
	if measure.Worst(r.Validity) == measure.Invalid { // what a study without its records does not know differs in nothing
		t.Errorf("%+v\n%+v", r.Validity, r.Differences)
	}
}

// A metric that the study did not keep is taken from the records of its trials.
func TestCompareReadsTrialsForOtherMetrics(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	s := made(1, 2, 0.01, 1, 1.2)
	keepStudy(t, dir, s)
	for i := range s.Trials {
		keep(t, filepath.Join(dir, s.Trials[i].Record), faster(float64(i+1), 0))
	}
	r := compareDirs(t, CompareOptions{Metrics: []string{"read-modify-write.service.p99"}}, dir+"#baseline", dir+"#level=1")
	if len(r.Comparisons) != 1 || r.Comparisons[0].N != 2 || *r.Comparisons[0].Value != 5e6 {
		t.Errorf("%+v", r.Comparisons)
	}
}

func TestCompareTellsOfMistakes(t *testing.T) {
	top := t.TempDir()
	a, b := keepAll(t, filepath.Join(top, "a"), 0, 1, 1.01), keepAll(t, filepath.Join(top, "b"), time.Minute, 1, 1.01)
	r := compareDirs(t, CompareOptions{Metrics: []string{"scan.p99", "throughput", "throughput"}}, a, b)
	if !hasFinding(r.Validity, "unknown-metric", measure.Warning) || len(r.Comparisons) != 1 {
		t.Errorf("%+v\n%+v", r.Validity, r.Comparisons)
	}
	r = compareDirs(t, CompareOptions{}, a, a+"/")
	if !hasFinding(r.Validity, "same-records", measure.Warning) {
		t.Errorf("%+v", r.Validity)
	}
}

func TestCompareTellsOfCapacities(t *testing.T) {
	top := t.TempDir()
	small, large := made(1, 2, 0.01, 1), made(2, 2, 0.01, 1)
	small.Capacity = &record.CapacityResult{Rate: 9000, Confirmed: true, Objectives: []string{},
		Steps: []record.CapacityStep{}}
	large.Capacity = &record.CapacityResult{Rate: 12000, Confirmed: true, Objectives: []string{},
		Steps: []record.CapacityStep{}}
	r := compareDirs(t, CompareOptions{}, keepStudy(t, filepath.Join(top, "a"), small),
		keepStudy(t, filepath.Join(top, "b"), large))
	want := []record.Difference{{What: "capacity.rate", Values: []string{"9,000/s", "12,000/s"}, Severity: measure.Note, Why: "the load line that the study found"}}
	if diff := cmp.Diff(want, r.Differences); diff != "" {
		t.Error(diff)
	}
}

func TestCompareErrors(t *testing.T) {
	top := t.TempDir()
	run := keep(t, filepath.Join(top, "run"), measured())
	one := keepStudy(t, filepath.Join(top, "one"), made(1, 2, 0.01, 1))
	other := made(1, 2, 0.01, 1)
	other.Configurations[0].ID = "another"
	two := keepStudy(t, filepath.Join(top, "two"), other)
	for name, says := range map[string]string{top + "/nowhere": "does not exist", run + "#x": "is not a study", top: ""} {
		if _, err := Open(name); says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	a, errA := Open(one)
	b, errB := Open(two)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if _, err := Compare(Sides([]Source{a, b}, nil), CompareOptions{}); err == nil || !strings.Contains(err.Error(), "in common") {
		t.Errorf("%v", err)
	}
	if _, err := Compare(Sides([]Source{a, a}, nil), CompareOptions{Varied: []string{"durabilty"}}); err == nil ||
		!strings.Contains(err.Error(), "did you mean durability") {
		t.Errorf("%v", err)
	}
	if s, err := Open(filepath.Join(run, record.RunFile)); err != nil || s.Path != run || len(s.Runs) != 1 {
		t.Errorf("the file of a record: %+v, %v", s, err)
	}
	if _, err := Compare(Sides([]Source{a}, nil), CompareOptions{}); err == nil || !strings.Contains(err.Error(), "two sides") {
		t.Errorf("%v", err)
	}
	if _, err := Compare(Sides([]Source{a, a}, nil), CompareOptions{Metrics: []string{"nonsense"}}); err == nil {
		t.Error("nonsense was compared")
	}
}

// Two sides of five thousand records are compared well within two seconds.
func BenchmarkCompare(b *testing.B) {
	side := func(name string, factor float64) Side {
		s := Side{Name: name}
		facts := newFacts(measured())
		for i := range 5000 {
			s.Trials = append(s.Trials, Trial{Started: begin.Add(time.Duration(i) * time.Minute), Facts: facts,
				Values: map[string]float64{"throughput": factor * (1000 + float64(i%97)), "errors": 0,
					"read.mean": 1e6 + float64(i%89), "read.p99": 5e6 + float64(i%83)}})
		}
		return s
	}
	sides := []Side{side("a", 1), side("b", 1.01)}
	for b.Loop() {
		if _, err := Compare(sides, CompareOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// Two studies of a thousand configurations and ten thousand trials each are read and compared.
func BenchmarkCompareStudies(b *testing.B) {
	factors := make([]float64, 1000)
	for i := range factors {
		factors[i] = 1 + float64(i)/10000
	}
	var dirs []string
	for i := range 2 {
		s := made(uint64(i), 10, 0.02, factors...)
		s.SchemaVersion, s.Kind, s.Started = record.SchemaVersion, record.KindStudy, begin
		content, err := json.Marshal(s)
		if err != nil {
			b.Fatal(err)
		}
		dir := b.TempDir()
		if err := os.WriteFile(filepath.Join(dir, record.StudyFile), content, 0o644); err != nil {
			b.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	for b.Loop() {
		var sources []Source
		for _, dir := range dirs {
			s, err := Open(dir)
			if err != nil {
				b.Fatal(err)
			}
			sources = append(sources, s)
		}
		if _, err := Compare(Sides(sources, nil), CompareOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
