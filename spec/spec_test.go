package spec

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"60s": time.Minute, "1h30m": 90 * time.Minute, "500ms": 500 * time.Millisecond, "1.5s": 1500 * time.Millisecond,
		"0": 0, "2d": 48 * time.Hour, "10us": 10 * time.Microsecond, "10µs": 10 * time.Microsecond, " 5m ": 5 * time.Minute,
	} {
		if got, err := ParseDuration(text); err != nil || got.Std() != want {
			t.Errorf("%q = %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"60": "did you mean 60s?", "60sec": "did you mean s?", "5minutes": "did you mean m?", "3hours": "did you mean h?",
		"": "not a time", "s": "not a time", "-5s": "not a time", "1..5s": "not a time", "5s5": "needs a unit",
		"9999999h": "too long", "10xyz": "not a unit",
	} {
		if _, err := ParseDuration(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

func TestParseCountRateSize(t *testing.T) {
	for text, want := range map[string]Count{"100k": 100_000, "1M": 1e6, "1e6": 1e6, "2G": 2e9, "1.5k": 1500, "1_000": 1000, "0": 0, "7": 7} {
		if got, err := ParseCount(text); err != nil || got != want {
			t.Errorf("count %q = %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]Rate{"20k": 20_000, "20k/s": 20_000, "0.5": 0.5, "1e6": 1e6} {
		if got, err := ParseRate(text); err != nil || got != want {
			t.Errorf("rate %q = %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]Size{"4GiB": 4 << 30, "10MB": 10e6, "4096": 4096, "1.5KiB": 1536, "7 kB": 7000} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("size %q = %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestCountRateSizeErrors(t *testing.T) {
	count := func(s string) error { _, err := ParseCount(s); return err }
	rate := func(s string) error { _, err := ParseRate(s); return err }
	size := func(s string) error { _, err := ParseSize(s); return err }
	for _, c := range []struct {
		parse      func(string) error
		text, want string
	}{
		{count, "1.5", "whole number"}, {count, "5m", "did you mean M?"}, {count, "5million", "did you mean M?"},
		{count, "many", "not a number"}, {count, "", "not a number"}, {count, "1e300", "too large"}, {count, "NaN", "not a number"},
		{count, "0x10", "not a number"}, {rate, "20q", "not a multiplier"}, {rate, "Inf", "not a number"},
		{size, "4G", "did you mean GiB?"}, {size, "4gb", "did you mean GB?"}, {size, "4Gib", "did you mean GiB?"},
		{size, "0.3B", "whole number of bytes"}, {size, "GiB", "not a size"}, {size, "99999999999TiB", "too large"},
	} {
		if err := c.parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want one with %q", c.text, err, c.want)
		}
	}
}

func FuzzUnits(f *testing.F) {
	for _, s := range []string{"60s", "1h30m", "100k", "1e6", "4GiB", "20k/s", "", "..", "-1", "µ", "9e99G", "1\x00s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := ParseDuration(s); err == nil {
			if again, err := ParseDuration(d.String()); err != nil || again != d {
				t.Errorf("duration %q → %s → %v, %v", s, d, again, err)
			}
		}
		if n, err := ParseCount(s); err == nil {
			if again, err := ParseCount(n.String()); err != nil || again != n {
				t.Errorf("count %q → %s → %v, %v", s, n, again, err)
			}
		}
		if n, err := ParseSize(s); err == nil {
			if again, err := ParseSize(n.String()); err != nil || again != n {
				t.Errorf("size %q → %s → %v, %v", s, n, again, err)
			}
		}
		if r, err := ParseRate(s); err == nil && (math.IsNaN(float64(r)) || math.IsInf(float64(r), 0)) {
			t.Errorf("rate %q → %v", s, r)
		}
	})
}

const fullSpec = `
target: mongodb://db:27017/
client: driver
workload: {name: b, seed: 7, records: 100k, params: {fieldcount: 10, readallfields: true}}
load:
  workers: 64
  rate: 20k
  arrivals: constant
  late: drop
  drop_after: 2s
  stages:
    - {duration: 30s, rate: 10k}
    - {rate: 20k, step: true}
  warmup: 10s
  duration: 1m30s
load_phase: {batch: 500, drop: true}
durability: {name: balanced, w: 2, journal: false, read_concern: majority}
objectives: ["p99<20ms", "errors<0.1%"]
labels: {host: blue}
`

func TestReadRun(t *testing.T) {
	got, err := ReadRun(strings.NewReader(fullSpec))
	if err != nil {
		t.Fatal(err)
	}
	no := false
	want := Run{
		Target: "mongodb://db:27017/", Client: "driver",
		Workload: Workload{Name: "b", Seed: 7, Records: 100_000, Params: map[string]string{"fieldcount": "10", "readallfields": "true"}},
		Load: Load{
			Workers: 64, Rate: 20_000, Arrivals: "constant", Late: "drop", DropAfter: Duration(2 * time.Second),
			Stages: []Stage{{Duration: Duration(30 * time.Second), Rate: 10_000}, {Rate: 20_000, Step: true}},
			Warmup: Duration(10 * time.Second), Duration: Duration(90 * time.Second),
		},
		LoadPhase:  LoadPhase{Batch: 500, Drop: true},
		Durability: Durability{Name: "balanced", W: "2", Journal: &no, ReadConcern: "majority"},
		Objectives: []string{"p99<20ms", "errors<0.1%"}, Labels: map[string]string{"host": "blue"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("specification (-want +got):\n%s", diff)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
	checkRoundTrips(t, got)
}

// checkRoundTrips writes a specification as YAML and JSON and reads it again.
func checkRoundTrips(t *testing.T, spec Run) {
	t.Helper()
	y, err := yaml.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	j, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(y), string(j)} {
		again, err := ReadRun(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if diff := cmp.Diff(spec, again); diff != "" {
			t.Errorf("after writing it (-want +got):\n%s", diff)
		}
	}
}

func TestSpecErrorsNameLineAndNearestKey(t *testing.T) {
	for text, want := range map[string]string{
		"targt: x":                             `line 1: unknown key "targt" in the specification, did you mean target?`,
		"load:\n  workers: 4\n  arivals: x":    `line 3: unknown key "arivals" in load, did you mean arrivals?`,
		"load:\n  stages:\n    - {dration: 1}": `line 3: unknown key "dration" in load.stages, did you mean duration?`,
		"load:\n  duration: 60":                `line 2: load.duration: the time "60" needs a unit, did you mean 60s?`,
		"load: {workers: 5m}":                  "did you mean M?",
		"load: 5":                              "line 1: load needs keys below it",
		"load: {workers: [1]}":                 "a single value is needed here",
		"a: b: c":                              "not YAML",
		"target: a\ntarget: b":                 "line 2",
		"target: a\n---\ntarget: b":            "second document",
		"- 1":                                  "needs keys below it",
		"durability: {journal: maybe}":         "line 1",
		"x: &a [*a]":                           "unknown",
	} {
		_, err := ReadRun(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want one line with %q", text, err, want)
		}
	}
	if _, err := ReadRun(strings.NewReader(strings.Repeat("#", 2<<20))); err == nil {
		t.Error("a file of two megabytes was read")
	}
	for _, empty := range []string{"", "# nothing\n", "---\n", "null", "load:\n"} {
		if spec, err := ReadRun(strings.NewReader(empty)); err != nil || !cmp.Equal(spec, Run{}) {
			t.Errorf("%q: %+v, %v", empty, spec, err)
		}
	}
}

func FuzzReadRun(f *testing.F) {
	for _, s := range []string{fullSpec, "load: {workers: 5m}", "a: &a [*a]", "load: &l {stages: [*l]}", "target: !!binary AA==",
		"labels: {1: 2}", "{", "? [a]: b", "<<: {target: x}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		spec, err := ReadRun(strings.NewReader(s))
		if err != nil {
			return
		}
		spec.Defaults()
		_ = spec.Validate()
		if _, err := json.Marshal(spec); err != nil {
			t.Errorf("%q was read, but cannot be stored: %v", s, err)
		}
	})
}

func TestDefaultsAreValid(t *testing.T) {
	for _, spec := range []Run{{}, {Load: Load{Rate: 100, Late: "drop"}}, {Workload: Workload{Name: "ycsb-a"}}} {
		spec.Defaults()
		if err := spec.Validate(); err != nil {
			t.Error(err)
		}
		again := spec
		again.Defaults()
		if diff := cmp.Diff(spec, again); diff != "" {
			t.Errorf("defaults of defaults differ:\n%s", diff)
		}
	}
}

// Virtual users that a stage brings do not join 16 others that nobody asked for.
func TestWorkersBeforeTheirStages(t *testing.T) {
	for _, c := range []struct {
		load    Load
		workers Count
	}{
		{Load{}, 16},
		{Load{Stages: []Stage{{Duration: 1, Workers: 50}}}, 0},
		{Load{Workers: 2, Stages: []Stage{{Duration: 1, Workers: 50}}}, 2},
		{Load{Stages: []Stage{{Duration: 1, Rate: 50}}}, 16},
	} {
		s := Run{Load: c.load}
		s.Defaults()
		if s.Load.Workers != c.workers || s.LoadPhase.Parallel < 1 {
			t.Errorf("%+v: %d workers before the stages, want %d; %d load", c.load, s.Load.Workers, c.workers, s.LoadPhase.Parallel)
		}
	}
}

// What would have no effect, or contradicts itself through the name of a level, is a mistake as well.
func TestValidateRefusesWhatHasNoEffect(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		load Load
		safe Durability
		want string
	}{
		{load: Load{Arrivals: "poisson"}, want: "need a rate"},
		{load: Load{Late: "drop", Pace: 3}, want: "need a rate"},
		{load: Load{Rate: 3, Late: "queue", DropAfter: 1}, want: "needs late: drop"},
		{load: Load{Rate: 3, Late: "drop", DropAfter: 1, Arrivals: "constant"}},
		{safe: Durability{Name: "throughput", Journal: &yes}, want: "exclude each other"},
		{safe: Durability{Name: "durable", W: "0"}, want: "exclude each other"},
		{safe: Durability{Name: "durable", W: "0", Journal: &no}},
		{safe: Durability{Name: "throughput", W: "1", Journal: &yes}},
	} {
		spec := Run{Load: c.load, Durability: c.safe}
		err := spec.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v %+v: %v, want %q", c.load, c.safe, err, c.want)
		}
	}
}

func TestValidateNamesEveryMistake(t *testing.T) {
	yes := true
	spec := Run{
		Client: "wired", Database: "a/b", Workload: Workload{Mode: "yscb", Records: -1},
		Load: Load{
			Rate: 5, Pace: 5, Late: "queu", Duration: -1,
			Stages: []Stage{{Rate: 1}, {Workers: 3, Duration: 1}, {Duration: -1}},
		},
		LoadPhase:  LoadPhase{Skip: true, Drop: true},
		Durability: Durability{Name: "durabel", W: "0", Journal: &yes},
		Objectives: []string{"p99<20"},
	}
	err := spec.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"did you mean wire?", "database:", "did you mean ycsb?", "workload.records", "load.rate and load.pace", "did you mean queue?",
		"load.duration", "stage 1: a ramp", "stage 2: it changes the workers", "stage 3", "exclude each other. Data are",
		"did you mean durable?", "w: 0 and journal", "objectives:",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("nothing about %q in:\n%v", want, err)
		}
	}
}

func TestDurationIsWrittenShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Minute: "1m", time.Hour: "1h", 90 * time.Second: "1m30s", 0: "0s", 1500 * time.Millisecond: "1.5s", 10 * time.Second: "10s",
		100 * time.Minute: "1h40m",
	} {
		if got := Duration(d).String(); got != want {
			t.Errorf("%v is written %q, want %q", d, got, want)
		}
	}
}

// A lab calls addresses after how many confirm; who takes that for a level is told how to ask for it.
func TestMajorityIsNoLevel(t *testing.T) {
	for name, want := range map[string]string{"majority": "--w majority)", "majority-unjournaled": "journal: false", "most": "known: throughput"} {
		spec := Run{Durability: Durability{Name: name}}
		if err := spec.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", name, err, want)
		}
	}
}
