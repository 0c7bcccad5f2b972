package fit

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

const fitStudy = `
lab: {engine: {name: documentdb}, topology: {kind: standalone}}
scale: {workers: 1/2}
run:
  workload: {name: a, records: 100k}
  load: {workers: 32, warmup: 10s, duration: 60s}
factors:
  - {path: load.workers, levels: [8, 16, 32, 64]}
  - {path: lab.storage.stripe, levels: [1, 2, 4]}
  - {name: length, levels: [{name: short, set: {load.duration: 6s}}, {name: long, set: {load.duration: 60s}, baseline: true}]}
`

func fitParts(t *testing.T) []Part {
	t.Helper()
	a, b := read(t, fitStudy), read(t, fitStudy)
	drill, err := spec.ReadDrill(strings.NewReader(`
lab: {engine: {name: documentdb}, topology: {kind: replica-set, members: 3}, availability: {restart: true, restart_after: 30s}}
run: {workload: {name: a, records: 100k}, load: {rate: 100, duration: 180s}}
faults: [{fault: "power-off:primary", at: 20s, for: 60s}]
repeat: 3
`))
	if err == nil {
		err = drill.Complete()
	}
	if err != nil {
		t.Fatal(err)
	}
	probe := spec.PartProbe{Profiles: []string{"random"}, Operations: []string{"read", "mixed"},
		Threads: []spec.Count{1, 4, 16, 64, 256}, Size: 1 << 30, Duration: spec.Duration(10 * time.Second)}
	return []Part{{Name: "a", Study: &a, Vital: true}, {Name: "drill", Drill: &drill},
		{Name: "b", Study: &b, Variant: true}, {Name: "probe", Probe: &probe}, {Name: "away", Out: true, Why: "it is not there"}}
}

func asText(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What is given stays as it is, and the same parts give the same result.
func TestFitIsPure(t *testing.T) {
	parts := fitParts(t)
	before := asText(t, parts)
	one, left := Fit(parts, 5*time.Minute, false)
	if d := cmp.Diff(before, asText(t, parts)); d != "" {
		t.Errorf("the parts were changed:\n%s", d)
	}
	again, leftAgain := Fit(parts, 5*time.Minute, false)
	if asText(t, one) != asText(t, again) || asText(t, left) != asText(t, leftAgain) {
		t.Error("the same parts give different results")
	}
	// What is fitted fits, and is not shed again.
	twice, left := Fit(one, 5*time.Minute, false)
	if d := cmp.Diff(asText(t, one), asText(t, twice)); d != "" || len(left) > 0 {
		t.Errorf("fitted twice: %v\n%s", left, d)
	}
}

// Without a budget nothing is shed, and everything has an estimate.
func TestFitOnlyEstimates(t *testing.T) {
	parts := fitParts(t)
	fitted, left := Fit(parts, 0, false)
	if len(left) > 0 || len(fitted) != len(parts) {
		t.Errorf("left %v of %d parts", left, len(fitted))
	}
	for _, p := range fitted[:4] {
		if p.Estimate < 60 || p.Out {
			t.Errorf("%s takes %v s, out: %v", p.Name, p.Estimate, p.Out)
		}
	}
	if last := fitted[4]; !last.Out || last.Estimate != 0 || last.Why != "it is not there" {
		t.Errorf("%+v", last)
	}
	if s := fitted[0].Study; s.Run.Load.Workers != 16 || !s.Scale.Applied || s.Factors[0].Levels[3].Value != 32 {
		t.Errorf("it was not scaled: %+v", s)
	}
}

// Certainty goes first, as far as something can be told with what is left of it, then length, then levels, then data,
// then second values of a part. Only then there are too few trials to tell anything, and last parts are out; those
// that are vital not at all.
func TestFitShedsInOrder(t *testing.T) {
	parts := fitParts(t)
	of := func(part, what string) func([]spec.Left) bool {
		return func(left []spec.Left) bool { return hasLeft(left, part, what) }
	}
	order := []struct {
		name string
		shed func([]spec.Left) bool
	}{
		{"the canary", of("a", "the canary")}, {"trials", of("a", "trials")}, {"length", of("a", "load.duration")}, {"levels of the run", of("a", "levels of workers")},
		{"levels of the lab", of("a", "levels of stripe")}, {"data", of("a", "workload.records")}, {"the second value", of("b", spec.LeftPart)},
		{"trials below what verdicts need", func(left []spec.Left) bool {
			return leftTo(left, "a", "trials") == "3" || leftTo(left, "a", "trials") == "2"
		}},
		{"other parts", of("probe", spec.LeftPart)},
	}
	var last int
	for budget := 3 * time.Hour; budget > 20*time.Second; budget = budget * 9 / 10 {
		fitted, left := Fit(parts, budget, false)
		if total := seconds(fitted); total > budget.Seconds() && !(fitted[1].Out && fitted[2].Out && fitted[3].Out) {
			t.Errorf("%v: it takes %.0f s", budget, total)
		}
		if fitted[0].Out {
			t.Errorf("%v: the vital part is out", budget)
		}
		reached := 0
		for i, what := range order {
			if !what.shed(left) {
				continue
			}
			reached = i + 1
			for _, before := range order[:i] {
				if !before.shed(left) {
					t.Errorf("%v: %s was shed before %s: %v", budget, what.name, before.name, left)
				}
			}
		}
		if reached < min(last, len(order)-1) { // which parts are out depends on what fits beside each other
			t.Errorf("%v: less was shed than with more time", budget)
		}
		last = max(last, reached)
	}
	if last != len(order) {
		t.Errorf("only %d of %d steps were reached", last, len(order))
	}
}

// leftTo is what something was taken to, "" if it was not.
func leftTo(left []spec.Left, part, what string) string {
	for _, l := range left {
		if l.Part == part && l.What == what {
			return l.To
		}
	}
	return ""
}

// Second values of a part are left out one by one, from the last, and no more of them than have to be.
func TestFitLeavesSecondValues(t *testing.T) {
	var parts []Part
	for _, name := range []string{"w-a", "w-b", "w-c"} {
		spec := read(t, fitStudy)
		parts = append(parts, Part{Name: name, Study: &spec, Vital: true, Variant: name != "w-a"})
	}
	outs := map[string]bool{}
	for budget := 30 * time.Minute; budget > time.Minute; budget = budget * 9 / 10 {
		fitted, left := Fit(parts, budget, false)
		out := ""
		for _, p := range fitted {
			if p.Out {
				out += p.Name + " "
				if p.Why == "" || !hasLeft(left, p.Name, spec.LeftPart) {
					t.Errorf("%v: no reason why %s is out", budget, p.Name)
				}
			}
		}
		outs[out] = true
		if s := fitted[0].Study; out == "" && s.Trials < toldTrials {
			t.Errorf("%v: %s trials of all three", budget, s.Trials)
		}
	}
	if len(outs) != 3 || !outs[""] || !outs["w-c "] || !outs["w-b w-c "] {
		t.Errorf("%v", outs)
	}
}

func hasLeft(left []spec.Left, part, what string) bool {
	for _, l := range left {
		if l.Part == part && l.What == what {
			return true
		}
	}
	return false
}

// A smoke keeps one part of each kind, as small as it goes.
func TestFitSmoke(t *testing.T) {
	fitted, left := Fit(fitParts(t), 90*time.Second, true)
	s, d, p := fitted[0].Study, fitted[1].Drill, fitted[3].Probe
	if fitted[0].Out || fitted[1].Out || fitted[3].Out {
		t.Fatalf("not one of each kind: %+v", left)
	}
	if s.Trials != 1 || s.Run.Load.Duration.Std() != 2*time.Second || len(s.Factors[0].Levels) != 2 ||
		len(s.Factors[1].Levels) != 2 || s.Run.Workload.Records != 10_000 || s.Order != spec.OrderBatched {
		t.Errorf("study %+v", s)
	}
	if s.Factors[0].Levels[0].Name != "8" && s.Factors[0].Levels[1].Name != "32" || s.Factors[1].Levels[1].Name != "4" {
		t.Errorf("levels %+v", s.Factors)
	}
	f := d.Faults[0]
	if d.Repeat != 1 || d.Measured() != 15*time.Second || f.At.Std() != 3*time.Second || f.For.Std() != 5*time.Second ||
		d.Lab.Availability.RestartAfter.Std() != fitElection {
		t.Errorf("drill %+v, %+v", d, f)
	}
	if len(p.Threads) != 2 || p.Duration.Std() != time.Second || len(p.Operations) != 1 {
		t.Errorf("probe %+v", p)
	}
	if total := seconds(fitted); total > 90*smokeSlack {
		t.Errorf("it takes %v s", total)
	}
}

// A host that is started elsewhere is that soon after a shorter round, but in a set not before the others could have
// elected: which of both comes first is what the drill is about.
func TestFitKeepsElections(t *testing.T) {
	for topology, want := range map[string]time.Duration{"kind: standalone": 8 * time.Second, "kind: replica-set, members: 3": fitElection} {
		asked, err := spec.ReadDrill(strings.NewReader(`
lab: {engine: {name: documentdb}, topology: {` + topology + `}, availability: {restart: true, restart_after: 30s}}
run: {workload: {name: a, records: 1000}, load: {rate: 100, duration: 180s}}
faults: [{fault: "power-off:host1", at: 20s, stay: true}]
`))
		if err != nil {
			t.Fatal(err)
		}
		shorterDrill(&asked, 45*time.Second)
		if got := asked.Lab.Availability.RestartAfter.Std(); got != want {
			t.Errorf("%s: started elsewhere after %s, not %s", topology, got, want)
		}
	}
}

// Second rounds are given up of drills that are not vital before second values, and of the vital ones only after that.
func TestFitKeepsVitalRounds(t *testing.T) {
	parts := fitParts(t)[:2]
	vital := parts[1].copied()
	vital.Name, vital.Vital = "vital", true
	parts = append(parts, vital)
	once := false
	for budget := time.Hour; budget > time.Minute; budget = budget * 95 / 100 {
		fitted, _ := Fit(parts, budget, false)
		other, kept := fitted[1].Drill, fitted[2].Drill
		if fitted[1].Out || fitted[2].Out {
			break
		}
		if kept.Repeat < other.Repeat {
			t.Errorf("%v: %v rounds of a vital drill, and %v of another", budget, kept.Repeat, other.Repeat)
		}
		once = once || kept.Repeat == 2 && other.Repeat == 1
	}
	if !once {
		t.Error("the drill that is not vital never had fewer rounds")
	}
}

// Procedures get two steps, or one.
func TestFitProcedures(t *testing.T) {
	asked := read(t, `
run: {target: "null:", workload: {name: a, records: 1000}, load: {workers: 16, duration: 60s}}
procedures:
  baseline: {threads: {from: 4, to: 64, duration: 30s}, steady: {from: 60, to: 480}}
factors: [{path: workload.name, levels: [a, b]}]
`)
	parts := []Part{{Name: "baseline", Study: &asked}}
	quick, _ := Fit(parts, 45*time.Second, false)
	p := quick[0].Study.Procedures
	if d := cmp.Diff([]spec.Count{4, 64}, p.Threads.Levels); d != "" || p.Steady.From != 4 || p.Steady.To != 8 ||
		quick[0].Estimate > 60 {
		t.Errorf("%+v %+v %s", p.Threads, p.Steady, d)
	}
	smoke, _ := Fit(parts, time.Minute, true)
	p = smoke[0].Study.Procedures
	if d := cmp.Diff([]spec.Count{16}, p.Threads.Levels); d != "" || p.Steady != nil {
		t.Errorf("%+v %s", p, d)
	}
}

func read(t *testing.T, text string) spec.Study {
	t.Helper()
	asked, err := spec.ReadStudy(strings.NewReader(text))
	if err == nil {
		asked, err = study.Complete(asked)
	}
	if err != nil {
		t.Fatal(err)
	}
	return asked
}
