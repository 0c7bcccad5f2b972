package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/published"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	studyjudge "github.com/plimsoll-bench/plimsoll/study/judge"
	"github.com/plimsoll-bench/plimsoll/suite/judge"
)

// stated is a ratio that a document states of two levels, and the suite measures by a study or by drills.
type stated struct{ document, sweep, level, metric string }

// The statements of the campaign: large ratios, a small one, and one of outages.
var (
	byStudies = []stated{
		{"ssd-vs-disk", "table-1-a", "SSD", "throughput"}, {"ssd-vs-disk", "table-1-b", "SSD", "throughput"}, {"ssd-vs-disk", "table-1-c", "SSD", "throughput"},
		{"ssd-vs-disk", "table-1-d", "SSD", "throughput"}, {"ssd-vs-disk", "table-1-f", "SSD", "throughput"}, {"policy-storage", "figure-23", "SATA", "throughput"},
	}
	byDrills = stated{"failover", "results", "replicated volume", "outage"}
)

// documentFamily judges statements of documents that are true or wrong by a factor here, with noise.
func documentFamily() family {
	f := family{name: "documents", verdict: "`plimsoll suite`: a statement of the document *agrees* with the measurement (within 20 % and half of the stated change)",
		parallel: 2, notFound: []string{
			"A statement that is wrong by less than its margin.",
			"A wrong statement whose measurement varies too much: it is *compatible, not confirmed*. This is neither an agreement nor a contradiction.",
			"Probes, which measure each step once: they confirm no ratio, and contradict one if it is more than an assumed 10 % off.",
			"Words about failures (users noticed it) of a single round.",
		}}
	for _, noise := range []float64{0.05, 0.10, 0.20} {
		at := fmt.Sprintf("%.0f", 100*noise)
		for _, wrong := range []float64{1.2, 1.5, 3} {
			what := fmt.Sprintf("a statement that is wrong by ×%v, 6 trials of each side with %s %% of noise", wrong, at)
			name := fmt.Sprintf("wrong-%v-noise-%s", wrong, at)
			least := unclaimed
			if wrong == 3 && noise < 0.2 || wrong == 1.5 && noise < 0.1 {
				least = atLeast(0.95)
			}
			f.rows = append(f.rows, row{name: name, lie: what + ": it is not confirmed", goal: atLeast(0.95), small: 10, full: 500,
				try: func(_ context.Context, t *trial) (answer, error) {
					st, err := t.aStudy(wrong, noise)
					if err == nil && st.Agreement != record.Agrees {
						return accused, nil
					}
					return cleared, err
				}}, row{name: name + "-contradicted", lie: what + ": the report says that it is wrong", goal: least, small: 5, full: 500,
				notFound: "the others are *compatible, not confirmed*",
				try:      func(_ context.Context, t *trial) (answer, error) { return contradicted(t.aStudy(wrong, noise)) }})
		}
		f.rows = append(f.rows, row{name: "true-noise-" + at, honest: "a true statement, 6 trials of each side with " + at + " % of noise", goal: atMost(0.05),
			small: 10, full: 500, notFound: "*no verdict* is a true statement that is not confirmed",
			try: func(_ context.Context, t *trial) (answer, error) { return contradicted(t.aStudy(1, noise)) }})
	}
	for _, rounds := range []int{2, 3, 6} {
		f.rows = append(f.rows, row{name: fmt.Sprintf("wrong-1.2-rounds-%d", rounds), lie: fmt.Sprintf("an outage that is wrong by ×1.2, %d rounds of each drill with 10 %% of noise: it is not confirmed", rounds),
			goal: atLeast(0.95), small: 10, full: 500, try: func(_ context.Context, t *trial) (answer, error) {
				st, err := t.someDrills(1.2, 0.10, rounds)
				if err == nil && st.Agreement != record.Agrees {
					return accused, nil
				}
				return cleared, err
			}}, row{name: fmt.Sprintf("true-rounds-%d", rounds), goal: atMost(0.05),
			honest: fmt.Sprintf("a true outage, %d rounds of each drill with 10 %% of noise", rounds),
			small:  10, full: 500,
			try: func(_ context.Context, t *trial) (answer, error) {
				return contradicted(t.someDrills(1, 0.10, rounds))
			}})
	}
	return f
}

// contradicted is the answer for a statement: accused if it has another size or direction, cleared if it is confirmed.
func contradicted(st record.SuiteStatement, err error) (answer, error) {
	switch st.Agreement {
	case record.Disagrees, record.SameDirection:
		return accused, err
	case record.Agrees:
		return cleared, err
	}
	return undecided, err
}

// truth is the ratio of a statement divided by the factor by which it is wrong, in a random direction.
func (t *trial) truth(s stated, wrong float64) (float64, *published.Sweep, error) {
	source, err := published.Document(s.document)
	if err != nil {
		return 0, nil, err
	}
	sweep := source.Sweep(s.sweep)
	x := sweep.Stated(s.level, s.metric)
	if x.Ratio == nil {
		return 0, nil, fmt.Errorf("%+v is not stated", s)
	}
	if t.rand.IntN(2) == 0 {
		wrong = 1 / wrong
	}
	return *x.Ratio * wrong, sweep, nil
}

// aStudy repeats a statement by a study of six blocks in random order, and judges both.
func (t *trial) aStudy(wrong, noise float64) (record.SuiteStatement, error) {
	s := byStudies[t.rand.IntN(len(byStudies))]
	ratio, sweep, err := t.truth(s, wrong)
	if err != nil {
		return record.SuiteStatement{}, err
	}
	levels := []string{sweep.Baseline, s.level}
	study := &record.Study{Head: record.Head{Kind: record.KindStudy, Status: record.Complete},
		Specification: spec.Study{Margin: 0.03, Confidence: 0.95, Factors: []spec.Factor{{Name: sweep.Factor, Path: "lab.storage.device"}}}}
	study.Base.Workload.Name = sweep.Workload
	for i, level := range levels {
		study.Configurations = append(study.Configurations, record.Configuration{
			ID: level, Baseline: i == 0, Factor: sweep.Factor, Levels: map[string]string{sweep.Factor: level}})
	}
	const blocks = 6
	began := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	for block := range blocks {
		for _, i := range t.rand.Perm(len(levels)) {
			n := len(study.Trials) + 1
			started := began.Add(time.Duration(n) * time.Minute)
			study.Trials = append(study.Trials, record.Trial{
				Number: n, Attempt: 1, Block: block + 1, Configuration: levels[i], Kind: record.TrialCompared,
				Status: record.TrialDone, Started: &started, Record: fmt.Sprintf("trials/%04d", n), Seconds: 60,
				Values: map[string]float64{s.metric: 1000 * math.Pow(ratio, float64(i)) * math.Exp(noise*t.rand.NormFloat64())}})
		}
	}
	studyjudge.Study(study)
	part := record.Part{Name: "study", Kind: record.KindStudy, Status: record.PartDone, Shows: []string{s.sweep}}
	return t.judged(s, judge.Part{Part: &part, Study: study})
}

// someDrills repeats the statement about outages by two drills.
func (t *trial) someDrills(wrong, noise float64, rounds int) (record.SuiteStatement, error) {
	s := byDrills
	ratio, sweep, err := t.truth(s, wrong)
	if err != nil {
		return record.SuiteStatement{}, err
	}
	var parts []judge.Part
	for i, level := range []string{sweep.Baseline, s.level} {
		d := &record.Drill{Head: record.Head{Kind: record.KindDrill, Status: record.Complete}, Verdict: record.Holds}
		var outages []float64
		for range rounds {
			outages = append(outages, 20e9*math.Pow(ratio, float64(i))*math.Exp(noise*t.rand.NormFloat64()))
		}
		d.Outages = record.SpreadOf("ns", outages)
		part := record.Part{
			Name: fmt.Sprint("drill-", i), Kind: record.KindDrill, Status: record.PartDone, Shows: []string{s.sweep}, Level: level,
		}
		parts = append(parts, judge.Part{Part: &part, Drill: d})
	}
	return t.judged(s, parts...)
}

// judged is the statement as the suite judges it.
func (t *trial) judged(s stated, parts ...judge.Part) (record.SuiteStatement, error) {
	suite := &record.Suite{
		Head: record.Head{Kind: record.KindSuite, Status: record.Complete}, Specification: spec.Suite{Published: s.document},
	}
	by := map[string]judge.Part{}
	for _, p := range parts {
		p.Record = record.PartsDir + "/" + p.Name
		by[p.Name] = p
		suite.Parts = append(suite.Parts, *p.Part)
	}
	judge.Read(suite, func(p *record.Part) (judge.Part, error) { return by[p.Name], nil })
	var seen []string
	for _, st := range suite.Statements {
		if st.Sweep == s.sweep && st.Level == s.level && st.Metric == s.metric && st.Kind == record.StatementRatio {
			t.say("%s of %s: %s (%s)", s.sweep, s.document, st.Agreement, st.Why)
			if st.Ratio == nil {
				return st, fmt.Errorf("%s of %s was not measured: %s", s.sweep, s.document, st.Why)
			}
			return st, nil
		}
		seen = append(seen, st.Sweep+"/"+st.Level)
	}
	return record.SuiteStatement{}, fmt.Errorf("%+v is not among %s", s, strings.Join(seen, ", "))
}
