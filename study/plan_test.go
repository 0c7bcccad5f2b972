package study

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/spec"
)

var update = flag.Bool("update", false, "write the golden files anew")

func read(t testing.TB, text string) spec.Study {
	t.Helper()
	asked, err := spec.ReadStudy(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return asked
}

// newPlan completes and plans a study.
func newPlan(asked spec.Study, o PlanOptions) (*Plan, error) {
	asked, err := Complete(asked)
	if err != nil {
		return nil, err
	}
	return NewPlan(asked, o)
}

func plan(t testing.TB, text string) *Plan {
	t.Helper()
	p, err := newPlan(read(t, text), PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// mistake plans what cannot be planned.
func mistake(t *testing.T, text string, wants ...string) {
	t.Helper()
	_, err := newPlan(read(t, text), PlanOptions{})
	if err == nil {
		t.Errorf("no error for\n%s", text)
		return
	}
	for _, want := range wants {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q, want one with %q, for\n%s", err, want, text)
		}
	}
}

func TestPlansAreAsTheyWere(t *testing.T) {
	files, err := filepath.Glob("testdata/plan/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("only %v (%v)", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		golden := strings.TrimSuffix(file, ".yaml") + ".golden"
		got := describe(t, plan(t, string(text)))
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
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// describe writes a plan so that a person can review it: the trials in short, the rest as JSON.
func describe(t *testing.T, p *Plan) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, trial := range p.Trials {
		fmt.Fprintf(&b, "%d %s %d %s\n", trial.Number, trial.Kind, trial.Block, trial.Configuration)
	}
	e := p.Estimate
	e.Starts = nil
	rest, err := json.MarshalIndent(map[string]any{
		"configurations": p.Configurations, "order": p.Order, "notes": p.Notes, "estimate": e,
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	b.Write(rest)
	b.WriteByte('\n')
	for _, c := range p.Configurations {
		spec, err := p.RunSpec(c.ID)
		if err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s: %s\n", c.ID, line)
	}
	return b.Bytes()
}

func TestBaseline(t *testing.T) {
	for _, c := range []struct{ name, text, baseline, note string }{
		{"the first level", "factors: [{path: load.rate, levels: [10, 20]}]", "10", ""},
		{"the level that the base run has", "run: {load: {rate: 20}}\nfactors: [{path: load.rate, levels: [10, 20]}]", "20", ""},
		{"the level that is the default", "factors: [{path: load.workers, levels: [8, 16, 32]}]", "16", ""},
		{"the level that is the default of the workload", "factors: [{path: workload.params.fieldlength, levels: [20, 100]}]", "100", ""},
		{"one client", "factors: [{path: load.clients, levels: [2, 1]}]", "1", ""},
		{"the journal that the level of durability means", "run: {durability: {name: durable}}\nfactors: [{path: durability.journal, levels: [false, true]}]", "true", ""},
		{"the same value, written otherwise", "run: {load: {rate: 20000}}\nfactors: [{path: load.rate, levels: [10k, 20k/s]}]", "20k/s", ""},
		{"the level that is marked", "run: {load: {rate: 20}}\nfactors: [{path: load.rate, levels: [{value: 10, baseline: true}, 20]}]", "10", ""},
		{"all keys of a paired level", "run: {load: {workers: 8, rate: 5}}\nfactors: [{name: x, levels: [{name: p, set: {load.workers: 8, load.rate: 6}}, {name: q, set: {load.workers: 8, load.rate: 5}}]}]", "q", ""},
		{"none that the base run has", "run: {load: {rate: 5}}\nfactors: [{path: load.rate, levels: [10, 20]}]", "10", "is not a level of rate. The baseline is 10"},
	} {
		p := plan(t, withTarget(c.text))
		for _, level := range p.Configurations[0].Levels {
			if level != c.baseline || !p.Configurations[0].Baseline || p.Configurations[0].ID != "baseline" {
				t.Errorf("%s: the baseline is %+v, want %s", c.name, p.Configurations[0], c.baseline)
			}
		}
		if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, c.note) ||
			c.note == "" && strings.Contains(notes, "its baseline is") {
			t.Errorf("%s: notes %q, want %q", c.name, notes, c.note)
		}
	}
}

// withTarget lets a study run against nothing, and for so many trials that nothing is warned of.
func withTarget(text string) string {
	if rest, ok := strings.CutPrefix(text, "run: {"); ok {
		return "run: {target: 'null:', " + rest
	}
	return "run: {target: 'null:'}\n" + text
}

func TestConfigurationsDefaultAfterTheirLevels(t *testing.T) {
	p := plan(t, withTarget(`factors:
  - {path: workload.name, levels: [a, ycsb-a]}
  - {path: load.rate, levels: [{name: closed, value: 0}, 1k]}
`))
	for id, want := range map[string]string{
		"baseline": "core  ", "workload=ycsb-a": "ycsb  ", "rate=1k": "core poisson queue",
	} {
		spec, err := p.RunSpec(id)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%s %s %s", spec.Workload.Mode, spec.Load.Arrivals, spec.Load.Late); got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
	if _, err := p.RunSpec("nobody"); err == nil {
		t.Error("an unknown configuration has a run")
	}
}

func TestEqualConfigurationsRunOnce(t *testing.T) {
	p := plan(t, withTarget(`factors:
  - path: durability.name
    levels: [durable, balanced]
  - name: concern
    exploratory: true
    levels:
      - {name: none, set: {labels.concern: none}}
      - {name: w1j0, set: {durability.name: balanced}}
  - name: other
    levels:
      - {name: unset, set: {labels.concern: none}}
      - {name: own, set: {durability.w: 1, durability.journal: false}}
`))
	var ids []string
	for _, c := range p.Configurations {
		ids = append(ids, fmt.Sprintf("%s %v %v", c.ID, c.Same, c.Exploratory))
	}
	want := []string{"baseline [] false", "durability=balanced [concern=w1j0 other=own] false"}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("configurations (-want +got):\n%s", diff)
	}
	if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, "concern=w1j0 is the same run as durability=balanced") {
		t.Errorf("nothing about it in %q", notes)
	}
}

func TestSharedKeys(t *testing.T) {
	two := `factors:
  - {path: load.workers, levels: [8, 16]}
  - name: size
    levels:
      - {name: small, set: {workload.records: 100k, load.workers: %s}}
      - {name: large, set: {workload.records: 200k, load.workers: 32}}
%s`
	p := plan(t, withTarget(fmt.Sprintf(two, "16", "")))
	for id, workers := range map[string]spec.Count{"baseline": 16, "workers=8": 8, "size=large": 32} {
		if spec, err := p.RunSpec(id); err != nil || spec.Load.Workers != workers {
			t.Errorf("%s has %d workers (%v), want %d", id, spec.Load.Workers, err, workers)
		}
	}
	mistake(t, withTarget(fmt.Sprintf(two, "64", "")), `"workers" and "size" both set load.workers, but their baselines differ (16 and 64)`)
	mistake(t, withTarget(fmt.Sprintf(two, "16", "combine: grid")), "Combine them in one factor")
}

func TestMistakesNameWhereTheyAre(t *testing.T) {
	mistake(t, withTarget("factors: [{path: load.workers, levels: [8, lots]}]"), `factor "workers", level "lots": load.workers: "lots" is not a number`)
	mistake(t, withTarget("factors: [{path: load.threads, levels: [8, 16]}]"), "did you mean load.workers?")
	mistake(t, withTarget("factors: [{path: lab.nodes, levels: [2, 4]}]"), "the lab has no such key, did you mean lab.topology.members?")
	mistake(t, withTarget("factors: [{path: workload.params.fieldlenth, levels: [2, 4]}]"), "trial 1, configuration baseline", "fieldlenth", "fieldlength")
	mistake(t, withTarget("factors: [{path: workload.name, levels: [a, aa]}]\ncanary: -1"), "configuration workload=aa: ", "unknown workload")
	mistake(t, withTarget("factors: [{path: durability.w, levels: [1, 3]}]\ncanary: -1"), "configuration w=3: durability.w: null: has one member")
	mistake(t, "run: {target: embedded:x}\nfactors: [{path: load.clients, levels: [1, 4]}]", "configuration clients=4: load.clients: one process at a time can open embedded:x")
	mistake(t, "run: {target: embedded:x}\nfactors: [{path: target, levels: ['null:', 'redis://u:secret@h/']}]", "unknown target")
	mistake(t, "run: {target: 'mongodb://u:secret@h:x/'}", "trial 1, configuration baseline", "cannot be read")
	mistake(t, withTarget("factors: [{path: load.workers, levels: [1, 2]}]\nprocedures: {threads: {}}"), "result of procedures.threads would never be used")
	mistake(t, withTarget("factors: [{path: load.workers, levels: [1, 2]}]\nobjectives: ['raed.p99<1s']"), `class "raed", did you mean read?`)
	mistake(t, withTarget("combine: fraction\nfraction: 3\nfactors: [{path: load.workers, levels: [1, 2]}]"), "3 of the 2 configurations")
	mistake(t, withTarget("combine: fraction\nfraction: 3\nfactors: [{path: load.workers, levels: [1, 2, 3, 4]}, {path: load.rate, levels: [1, 2]}]"), "leave some of them out")
	mistake(t, withTarget("trials: 10000\ncombine: grid\nfactors: [{path: load.workers, levels: [1, 2, 3, 4]}, {path: load.rate, levels: [1, 2, 3]}]"), "more than 100000 in all")
	_, err := newPlan(read(t, "run: {target: 'mongodb://u:secret@h:x/'}"), PlanOptions{})
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the password is in %q", err)
	}
}

func TestMetricsAreAskedFor(t *testing.T) {
	spec := read(t, withTarget("metrics: [read.p99, raed.p99, nonsense]"))
	_, err := newPlan(spec, PlanOptions{Metric: func(name string) (string, error) {
		class, figure, _ := strings.Cut(name, ".")
		if figure == "" {
			return "", fmt.Errorf("unknown metric %q", name)
		}
		return class, nil
	}})
	if err == nil || !strings.Contains(err.Error(), `metrics: raed.p99: no workload of the study has operations of class "raed", did you mean read?`) ||
		!strings.Contains(err.Error(), `unknown metric "nonsense"`) || strings.Contains(err.Error(), ": read.p99") {
		t.Errorf("error %v", err)
	}
}

func TestDataSets(t *testing.T) {
	factors := "\nfactors: [{path: workload.records, levels: [1k, 2k]}, {path: workload.name, levels: [a, b, d]}]\ntrials: 6\ncanary: -1"
	p := plan(t, "run: {target: embedded:data/, workload: {records: 1k}}"+factors)
	targets := map[string]string{}
	for _, c := range p.Configurations {
		spec, err := p.RunSpec(c.ID)
		if err != nil {
			t.Fatal(err)
		}
		targets[c.ID] = spec.Target
	}
	if targets["baseline"] != "embedded:data/" || targets["workload=b"] != "embedded:data/" || targets["workload=d"] != "embedded:data/" {
		t.Errorf("workloads with the same documents do not share them: %v", targets)
	}
	if got := targets["records=2k"]; !strings.HasPrefix(got, "embedded:data-") {
		t.Errorf("twice as many records are in %s, next to the others", got)
	}
	if n := len(p.Estimate.DataSets); n != 2 || p.Estimate.DataSets[0].Loads != 1 || p.Estimate.DataSets[1].Loads != 1 {
		t.Errorf("data sets: %+v", p.Estimate.DataSets)
	}
	if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, "2 data sets") || !strings.Contains(notes, "trials insert into usertable") {
		t.Errorf("notes: %q", notes)
	}
	checkFreshData(t, factors)
}

func checkFreshData(t *testing.T, factors string) {
	t.Helper()
	p := plan(t, "run: {target: 'mongodb://host/', workload: {records: 1k}}\nreload: true"+factors)
	for _, c := range p.Configurations {
		if spec, err := p.RunSpec(c.ID); err != nil || spec.Database != "plimsoll" || !spec.LoadPhase.Drop {
			t.Errorf("with reload %s uses %s (%v), dropped: %v", c.ID, spec.Database, err, spec.LoadPhase.Drop)
		}
	}
	if p.Estimate.DataSets[0].Loads+p.Estimate.DataSets[1].Loads != len(p.Trials) {
		t.Errorf("with reload: %+v", p.Estimate.DataSets)
	}
	p = plan(t, "run: {target: 'mongodb://host/', workload: {records: 1k}}"+factors)
	if spec, err := p.RunSpec("records=2k"); err != nil || !strings.HasPrefix(spec.Database, "plimsoll_") {
		t.Errorf("twice as many records are in the database %s (%v)", spec.Database, err)
	}
	p = plan(t, "run: {target: 'mongodb://host/', load_phase: {skip: true}}\nfactors: [{path: workload.records, levels: [1k, 2k]}]")
	if spec, err := p.RunSpec("records=2k"); err != nil || spec.Database != "plimsoll" || p.Estimate.Loading != 0 {
		t.Errorf("data that are to be taken as they are: database %s (%v), %v s of loading", spec.Database, err, p.Estimate.Loading)
	}
	p = plan(t, "run: {target: 'embedded:data', workload: {name: ycsb-d, records: 1k}}\ntrials: 6")
	if p.Estimate.DataSets[0].Loads != 6 {
		t.Errorf("a workload that inserts the same keys in every trial is loaded %d times, not 6", p.Estimate.DataSets[0].Loads)
	}
}

func TestEstimate(t *testing.T) {
	p := plan(t, "run: {target: 'null:', load: {warmup: 10s, duration: 50s}}\nsettle: 2s\ntrials: 10\nfactors: [{path: load.workers, levels: [16, 32]}]\ncanary: 10")
	if e := p.Estimate; e.Measuring != 23*60 || e.Pauses != 23*2.5 || e.Seconds != 23*62.5 || e.Loading != 0 ||
		e.Starts[2] != 125 {
		t.Errorf("23 trials of a minute: %+v", e)
	}
	for text, want := range map[string]float64{
		"{duration: 50s, operations: 100k, rate: 1k}":                   50,
		"{operations: 100k, rate: 10k}":                                 10,
		"{operations: 100k, pace: 100, workers: 50}":                    20,
		"{operations: 100k}":                                            20, // assumed: 5,000 ops/s
		"{stages: [{duration: 20s, rate: 5}, {duration: 1m, rate: 9}]}": 80,
		"{warmup: 5s}": 65,
	} {
		p := plan(t, "trials: 1\nrun: {target: 'null:', load: "+text+"}")
		if p.Estimate.Measuring != want {
			t.Errorf("%s takes %v s, want %v", text, p.Estimate.Measuring, want)
		}
	}
	spec := read(t, "trials: 1\nrun: {target: 'embedded:x', load: {operations: 100k}, workload: {records: 100k}}")
	p, err := newPlan(spec, PlanOptions{Rate: 1000, FillRate: 1e6})
	if err != nil || p.Estimate.Measuring != 100 || p.Estimate.Loading != float64(p.Estimate.DataBytes)/1e6 ||
		p.Estimate.DataBytes < 100e6 {
		t.Errorf("with measured rates: %+v, %v", p.Estimate, err)
	}
}

func TestEstimateOfProcedures(t *testing.T) {
	p := plan(t, `run: {target: 'null:', load: {duration: 1m}}
objectives: ["p99<1s"]
procedures:
  threads: {from: 1, to: 8, trials: 2, duration: 9500ms}
  steady: {from: 60, to: 240, cycle: 15s}
  capacity: {from: 1000, to: 2250, precision: 25%, confirm: 1, duration: 500ms}
`)
	// 4 levels twice at 10 s; 60, 120, 240 s; 13 steps of 1 s.
	if want := 80.0 + 420 + 1.5 + 13; p.Estimate.Procedures != want || p.Estimate.Seconds != want || len(p.Trials) != 0 {
		t.Errorf("the procedures take %v s of %v, %d trials; want %v", p.Estimate.Procedures, p.Estimate.Seconds, len(p.Trials), want)
	}
}

func TestBudget(t *testing.T) {
	text := "run: {target: 'null:', load: {duration: 59500ms}}\nfactors: [{path: load.workers, levels: [16, 32]}]\ncanary: -1\nbudget: "
	plan(t, text+"12m")
	p, err := newPlan(read(t, text+"11m59s"), PlanOptions{})
	over, ok := err.(*BudgetError)
	if !ok || p == nil || !strings.Contains(over.Fits, "5 trials of each configuration would fit (trials: 5)") {
		t.Errorf("12 minutes of 11m59s: %v", err)
	}
	if _, err := newPlan(read(t, text+"1m"), PlanOptions{}); err == nil || !strings.Contains(err.Error(), "not even one trial") {
		t.Errorf("two trials within a minute: %v", err)
	}
}

// The power is that of package stats; here is only whether the right questions are asked of it.
func TestPower(t *testing.T) {
	p := plan(t, withTarget("factors: [{path: load.workers, levels: [16, 32, 64]}]\ntrials: 10"))
	for i, want := range []struct{ cv, low, high float64 }{{0.01, 0.012, 0.016}, {0.03, 0.037, 0.048},
		{0.05, 0.06, 0.08}} {
		got := p.Estimate.Power[i]
		if got.CV != want.cv || got.Effect == nil || *got.Effect < want.low || *got.Effect > want.high ||
			*got.Corrected <= *got.Effect {
			t.Errorf("power: %+v, want an effect between %v and %v", got, want.low, want.high)
		}
	}
	if p := plan(t, withTarget("factors: [{path: load.workers, levels: [16, 32]}]\ntrials: 1")); p.Estimate.Power[0].Effect != nil {
		t.Errorf("one trial finds %v", *p.Estimate.Power[0].Effect)
	}
	p = plan(t, withTarget("factors: [{path: load.workers, levels: [16, 32]}]\norder: batched\nbatch: [workers]"))
	if p.Estimate.Power != nil {
		t.Error("a power is promised for a comparison between batches")
	}
}

func TestShownHasNoCredentials(t *testing.T) {
	asked := read(t, `run: {target: "mongodb://u:secret@h/", labels: {at: "mongodb://u:secret@h/"}}
factors:
  - path: target
    levels: ["mongodb://u:secret@h/", "mongodb://u:secret@other/?replicaSet=a,b"]
  - {path: workload.params.table, levels: [usertable, "mongodb://u:secret@h/"]}
  - name: both
    levels: [{name: one, set: {load.workers: 4}}, {name: two, set: {labels.to: "mongodb://u:secret@h/"}}]
`)
	p, err := newPlan(asked, PlanOptions{Check: func(spec.Run) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(p.Shown())
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte("secret")) {
		t.Errorf("a password is shown: %s", b)
	}
	if run, err := p.RunSpec("target=mongodb://u:***@other/?replicaSet_a_b"); err != nil || run.Target != "mongodb://u:secret@other/?replicaSet=a,b" {
		t.Errorf("the plan itself lost the credentials: %q, %v", run.Target, err)
	}
}

// NewPlan leaves the specification that it was given as it was.
func TestPlanChangesNothing(t *testing.T) {
	text := withTarget("factors: [{path: load.workers, levels: [16, 32]}]\nprocedures: {capacity: {}}\nobjectives: ['errors<1%']")
	spec := read(t, text)
	if _, err := newPlan(spec, PlanOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(read(t, text), spec); diff != "" {
		t.Errorf("the specification was changed:\n%s", diff)
	}
}

// BenchmarkPlan plans 10,000 trials in three forms: many repetitions, as many configurations as trials, and a grid of
// data sets, each of which has to be looked at. Two seconds are the limit.
func BenchmarkPlan(b *testing.B) {
	list := func(from, n int) string {
		var levels []string
		for i := range n {
			levels = append(levels, fmt.Sprint(from+i))
		}
		return "[" + strings.Join(levels, ", ") + "]"
	}
	for name, text := range map[string]string{
		"1000x10": "trials: 10\nfactors: [{path: load.workers, levels: " + list(1, 1000) + "}]",
		"10000x1": "trials: 1\nfactors: [{path: labels.x, levels: " + list(1, 10_000) + "}]",
		"grid": "trials: 10\ncombine: grid\nfactors: [{path: workload.records, levels: " + list(1000, 100) + "}, {path: load.workers, levels: " +
			list(1, 10) + "}]",
	} {
		b.Run(name, func(b *testing.B) {
			spec := read(b, withTarget(text))
			for b.Loop() {
				p, err := newPlan(spec, PlanOptions{})
				if err != nil || len(p.Trials) < 10_000 {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/plan")
		})
	}
}

func TestRoughly(t *testing.T) {
	for d, want := range map[time.Duration]string{
		26*time.Hour + 3*time.Minute + 20*time.Second: "26h3m", 90*time.Second + 200*time.Millisecond: "1m30s",
		12340 * time.Millisecond: "12.3s",
	} {
		if got := roughly(spec.Duration(d)).String(); got != want {
			t.Errorf("%v is about %s, want %s", d, got, want)
		}
	}
}
