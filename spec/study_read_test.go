package spec

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

const fullStudy = `
name: everything
platform: vsphere.yaml
run: {target: "null:", load: {workers: 16}}
lab: {hosts: {cores: 2.5, memory: 4GiB}, storage: {size: 2GiB, stripe: 2}, topology: {kind: replica-set, members: 3}}
procedures:
  threads: {levels: [1, 2k], trials: 2, duration: 5s, gain: 5%, latency: 20ms}
  steady: {by: operations, from: 1M, to: 8M, factor: 2, tolerance: 2%, cycle: 60s, trials: 1}
  capacity: {from: 1k, to: 20k/s, growth: 1.5, precision: 0.03, confirm: 3, duration: 10s}
factors:
  - path: load.workers
    levels: [8, 16, 1e2, 2k]
  - name: size
    exploratory: true
    levels:
      - {name: small, set: {workload.records: 50k, load.workers: 8, durability.journal: null}}
      - name: large
        set: {workload.records: 1.10, objectives: [p99<20ms], load.rate: 0.5}
        baseline: true
  - path: durability.w
    levels: [{name: one, value: 1}, {value: majority}, true, 007, 9007199254740993]
combine: fraction
fraction: 8
trials: 6
until_decided: true
seed: 7
order: batched
batch: [size]
canary: 10
reload: true
settle: 2s
deadline: 5m
budget: 8h
margin: 3%
confidence: 95%
metrics: [throughput, read.p99]
objectives: [p99<20ms]
published: figures
scale: {data: 1/128, workers: 0.125, cores: 1/16, rates: 2, servers: 1/2}
floors: [{what: lab.hosts.memory, from: 2GiB, to: 256MiB, why: less is too little}]
without: {sharding: {set: {lab.topology.kind: standalone, lab.topology.shards: null}, says: one server}}
instead: [{what: sharding, to: one server, why: documentdb has no sharding}]
out: dir
labels: {host: blue}
`

func TestReadStudy(t *testing.T) {
	got, err := ReadStudy(strings.NewReader(fullStudy))
	if err != nil {
		t.Fatal(err)
	}
	want := Study{
		Name: "everything", Platform: "vsphere.yaml", Run: Run{Target: "null:", Load: Load{Workers: 16}},
		Lab: &Lab{Hosts: Hosts{Cores: 2.5, Memory: 4 << 30}, Storage: Storage{Size: 2 << 30, Stripe: 2},
			Topology: Topology{Kind: "replica-set", Members: 3}},
		Procedures: &Procedures{
			Threads: &Threads{Levels: []Count{1, 2000}, Trials: 2, Duration: Duration(5 * time.Second), Gain: 0.05,
				Latency: Duration(20 * time.Millisecond)},
			Steady: &Steady{By: "operations", From: 1e6, To: 8e6, Factor: 2, Tolerance: 0.02, Cycle: Duration(time.Minute), Trials: 1},
			Capacity: &CapacitySearch{From: 1000, To: 20_000, Growth: 1.5, Precision: 0.03, Confirm: 3,
				Duration: Duration(10 * time.Second)},
		},
		Factors: []Factor{
			{Path: "load.workers", Levels: []Level{{Value: 8}, {Value: 16}, {Value: "1e2"}, {Value: "2k"}}},
			{Name: "size", Exploratory: true, Levels: []Level{
				{Name: "small", Set: map[string]any{"workload.records": "50k", "load.workers": 8, "durability.journal": nil}},
				{Name: "large", Baseline: true, Set: map[string]any{"workload.records": "1.10", "objectives": []any{"p99<20ms"}, "load.rate": "0.5"}},
			}},
			{Path: "durability.w", Levels: []Level{{Name: "one", Value: 1}, {Value: "majority"}, {Value: true}, {Value: "007"}, {Value: "9007199254740993"}}},
		},
		Combine: "fraction", Fraction: 8, Trials: 6, UntilDecided: true,
		Seed: 7, Order: "batched", Batch: []string{"size"}, Canary: 10, Reload: true,
		Settle: Duration(2 * time.Second), Deadline: Duration(5 * time.Minute), Budget: Duration(8 * time.Hour), Margin: 0.03,
		Confidence: 0.95,
		Metrics:    []string{"throughput", "read.p99"}, Objectives: []string{"p99<20ms"}, Published: "figures", Out: "dir",
		Scale:   &Scale{Data: 1. / 128, Workers: 0.125, Cores: 1. / 16, Rates: 2, Servers: 0.5},
		Floors:  []Left{{What: "lab.hosts.memory", From: "2GiB", To: "256MiB", Why: "less is too little"}},
		Without: map[string]Instead{"sharding": {Set: map[string]any{"lab.topology.kind": "standalone", "lab.topology.shards": nil}, Says: "one server"}},
		Instead: []Left{{What: "sharding", To: "one server", Why: "documentdb has no sharding"}},
		Labels:  map[string]string{"host": "blue"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("study (-want +got):\n%s", diff)
	}
	v := reflect.ValueOf(got)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("the test says nothing of %s", v.Type().Field(i).Name)
		}
	}
	checkStudyRoundTrips(t, got)
}

// checkStudyRoundTrips writes a study as YAML and JSON and reads it again, as a study that goes on does.
func checkStudyRoundTrips(t *testing.T, spec Study) {
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
		again, err := ReadStudy(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if diff := cmp.Diff(spec, again); diff != "" {
			t.Errorf("after writing it (-want +got):\n%s\n%s", diff, text)
		}
	}
	var again Study
	if err := json.Unmarshal(j, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(spec, again); diff != "" {
		t.Errorf("after JSON (-want +got):\n%s", diff)
	}
}

func TestLevelsFromJSON(t *testing.T) {
	var level Level
	for text, want := range map[string]Level{
		`16`: {Value: 16}, `"100k"`: {Value: "100k"}, `{"name": "a", "set": {"x": 2}}`: {Name: "a", Set: map[string]any{"x": 2}},
	} {
		if err := json.Unmarshal([]byte(text), &level); err != nil || !cmp.Equal(level, want) {
			t.Errorf("%s is read as %+v, %v", text, level, err)
		}
	}
	if json.Unmarshal([]byte(`null`), &level) == nil {
		t.Error("null is a level")
	}
}

func TestStudyMistakesNameLineAndKey(t *testing.T) {
	for text, want := range map[string]string{
		"factor: []":                                 `study: line 1: unknown key "factor" in the study, did you mean factors?`,
		"run:\n  lod: {}":                            `line 2: unknown key "lod" in run, did you mean load?`,
		"factors:\n  - pth: load.workers":            `line 2: unknown key "pth" in factors, did you mean path?`,
		"factors:\n- levels:\n  - {vale: 3}":         `line 3: unknown key "vale" in factors.levels, did you mean value?`,
		"factors:\n- levels:\n  - {load.workers: 3}": "A level that sets several keys has them below set",
		"procedures:\n  thread: {}":                  `line 2: unknown key "thread" in procedures, did you mean threads?`,
		"procedures:\n  steady: {form: 3}":           `unknown key "form" in procedures.steady, did you mean from?`,
		"factors: [{levels: [[1]]}]":                 "a list goes below value",
		"factors: [{levels: [null]}]":                "factors.levels: there is no value after a hyphen or a comma",
		"factors: [{levels: [{set: 3}]}]":            "line 1: factors.levels.set needs names with values below it",
		"factors: [{levels: [{set: {a: 1, a: 2}}]}]": `"a"`,
		"factors: [{levels: [{baseline: maybe}]}]":   "neither true nor false",
		"factors: [{levels: [{name: [a]}]}]":         "a single value is needed here",
		"factors: [{levels: [{value: {[a]: 1}}]}]":   "line 1",
		"factors: [{levels: [{value: &a [*a]}]}]":    "line 1",
		"factors: [{levels: 4}]":                     "line 1: factors.levels needs a list",
		"factors: {path: x}":                         "line 1: factors needs a list",
		"labels: blue":                               "line 1: labels needs names with values below it",
		"name: [a]":                                  "line 1: name: a single value is needed here",
		"run: {objectives: p99<20ms}":                "line 1: run.objectives needs a list",
		"margin: a lot":                              "is not a share: write it like 3% or 0.03",
		"trials: 5m":                                 "did you mean M?",
		"budget: 8":                                  "did you mean 8s?",
		"- 1":                                        "the study needs keys below it",
		"a: b: c":                                    "study: this is not YAML",
		"name: a\n---\nname: b":                      "second document",
	} {
		_, err := ReadStudy(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want one line with %q", text, err, want)
		}
	}
}

// Aliases that multiply end early, whatever they are below.
func TestAliasesDoNotMultiply(t *testing.T) {
	levels := "factors: [{levels: [{value: &b [" + strings.Repeat("0,", 5000) + "0]}, {value: [*b" + strings.Repeat(", *b", 200) + "]}]}]"
	if _, err := ReadStudy(strings.NewReader(levels)); err == nil || !strings.Contains(err.Error(), "nested too deeply") {
		t.Errorf("a million values in one level: %v", err)
	}
}

func TestStudyDefaults(t *testing.T) {
	spec := Study{Factors: []Factor{{Path: "load.workers", Levels: []Level{{Value: 8}, {Value: "mongodb://u:secret@h/?a=b,c"}}}}}
	spec.Defaults()
	if err := spec.Validate(); err != nil {
		t.Error(err)
	}
	f := spec.Factors[0]
	if f.Name != "workers" || f.Levels[0].Name != "8" || strings.ContainsAny(f.Levels[1].Name, ",=") ||
		strings.Contains(f.Levels[1].Name, "secret") {
		t.Errorf("names: %+v", f)
	}
	again := spec
	again.Defaults()
	if diff := cmp.Diff(spec, again); diff != "" || spec.Run.Load.Workers != 0 {
		t.Errorf("defaults of defaults differ, or fill in the run:\n%s", diff)
	}
	only := Study{Procedures: &Procedures{Threads: &Threads{}}}
	only.Defaults()
	if err := only.Validate(); err != nil || only.Trials != 0 || only.Procedures.Threads.Trials == 0 {
		t.Errorf("a study of procedures alone: %+v, %v", only, err)
	}
}

func TestValidateNamesEveryMistakeOfAStudy(t *testing.T) {
	spec := Study{
		Run: Run{Out: "x", Load: Load{Stages: []Stage{{Rate: 1}}}, LoadPhase: LoadPhase{Only: true, Skip: true}}, Reload: true,
		Combine: "gird", Order: "blocs", Fraction: 3, Batch: []string{"x"}, Trials: -1, Canary: -2, Margin: 2, Confidence: 0.2,
		Settle: -1, Budget: -1, Deadline: -1, Objectives: []string{"p99<20"}, Metrics: []string{" "}, Name: "a\nb", Published: "x",
		Procedures: &Procedures{
			Threads: &Threads{From: 8, To: 4, Levels: []Count{4, 2}}, Steady: &Steady{By: "hours", From: 4, To: 2, Factor: 1},
			Capacity: &CapacitySearch{From: 4, To: 2, Growth: 0.5, Precision: 0.9},
		},
		Factors: []Factor{
			{Levels: []Level{{Value: 1}}},
			{Name: "a=b", Path: "x", Levels: []Level{{}, {Value: 1, Set: map[string]any{"x": 1}}, {Name: "e", Set: map[string]any{}}}},
			{Name: "two", Path: "x", Levels: []Level{{Name: "n", Value: 1, Baseline: true},
				{Name: "n", Value: 2, Baseline: true}, {Value: []any{1}}}},
			{Name: "two", Path: "y", Levels: []Level{{Name: strings.Repeat("long", 30), Value: 1}, {Name: "x", Value: 2}}},
		},
	}
	err := spec.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"run.out: the records of the trials", "run.load_phase.only", "reload and run.load_phase.skip", "did you mean grid?", "did you mean blocks?",
		"fraction: it has no effect", "batch: it has no effect", "trials: -1", "canary: -2", "margin: 2", "confidence: 0.2", "settle:", "budget:", "deadline:",
		"objectives:", "metrics: one of them is empty", "control character", "procedures.threads: levels and from/to", "procedures.threads: to (4) is below from (8)",
		"procedures.threads: levels: they must be numbers of workers", "procedures.steady: by: unknown value", "procedures.steady: factor", "procedures.capacity: growth", "procedures.capacity: precision", "need a load without stages",
		"factors[1]: it needs a path", "factors[1]: it needs two or more levels and has 1", "its value needs a path", `factor "a=b": name:`,
		"level 1: it needs a value", "value and set exclude each other", "set is empty", "2 levels are marked", "another level has this name",
		"level 3: it needs a name", `factor "two": another factor has this name`, "is longer than 80",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("nothing about %q in:\n%v", want, err)
		}
	}
	for _, c := range []struct {
		spec Study
		want string
	}{
		{Study{Combine: "fraction"}, "needs the number of configurations"},
		{Study{Order: "batched"}, "needs the names of the factors"},
		{Study{Order: "batched", Batch: []string{"workrs"}, Factors: []Factor{{Path: "load.workers", Levels: []Level{{Value: 1}, {Value: 2}}}}}, `unknown factor "workrs", did you mean workers?`},
		{Study{Procedures: &Procedures{}}, "procedures: it is empty"},
		{Study{Procedures: &Procedures{Capacity: &CapacitySearch{}}}, "it needs objectives"},
	} {
		c.spec.Defaults()
		if err := c.spec.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.spec, err, c.want)
		}
	}
}

func FuzzReadStudy(f *testing.F) {
	for _, s := range []string{fullStudy, "factors: [{levels: [1, {value: x}]}]", "factors: [{levels: [{value: &a [*a]}]}]", "factors: [&a {levels: [*a]}]",
		"factors: [{levels: [!!float 3, !!binary AA==, 2001-01-01, .nan, 0x1F, ~]}]", "run: &r {labels: {1: 2}}\nlabels: *r", "{", "procedures: {threads:}",
		"factors: [{levels: [{set: {? [a] : b}}]}]", "factors: [{levels: [{<<: {value: 3}}]}]", "margin: nan", "factors: [{levels: [\"\\xff\", {value: 1.0e400}]}]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		spec, err := ReadStudy(strings.NewReader(s))
		if err != nil {
			return
		}
		b, err := json.Marshal(spec)
		if err != nil {
			t.Fatalf("%q was read, but cannot be stored: %v", s, err)
		}
		var again Study
		if err := json.Unmarshal(b, &again); err != nil {
			t.Fatalf("%q was stored as %s, but cannot be read again: %v", s, b, err)
		}
		if b2, err := json.Marshal(again); err != nil || string(b) != string(b2) {
			t.Fatalf("%q was stored as %s, and then as %s (%v)", s, b, b2, err)
		}
		spec.Defaults()
		_ = spec.Validate()
	})
}
