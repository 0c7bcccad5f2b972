package recordtest

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Study says what a study is to look like: one factor, the workers, in random blocks, after a search for the
// workers and before one for the capacity.
type Study struct {
	// Workers are the levels; the first one is the baseline.
	Workers []int
	Blocks  int
	Seed    uint64
	// Name replaces all names that users choose.
	Name string
}

func pointer[T any](x T) *T { return &x }

// throughputOf is the truth: a curve that bends at 32 workers and folds back after it.
func throughputOf(workers int) float64 {
	n := float64(workers)
	return 900 * n / (1 + 0.02*(n-1) + 0.0004*n*(n-1))
}

func (o Study) Make() *record.Study {
	if o.Name == "" {
		o.Name = "threads"
	}
	asked := Run{Warmup: 10, Seconds: 60, Seed: o.Seed, Name: "db.example:27017"}.spec()
	s := &record.Study{
		Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindStudy, Status: record.Complete,
			Environment: environment(), Tool: record.Tool{Name: "plimsoll", Version: "1.2.3", Commit: "0123456789abcdef",
				Go: "go1.26"}, Command: []string{"plimsoll", "study", "run", "study.yaml"},
			Started: Started, Ended: pointer(Started.Add(3 * time.Hour)), Validity: []measure.Finding{}}, Base: asked,
		Specification: spec.Study{
			Name: o.Name, Run: asked, Combine: "one-at-a-time", Trials: spec.Count(o.Blocks), Seed: o.Seed + 7, Order: "blocks",
			Margin: 0.03, Confidence: 0.95, Objectives: []string{"p99<20ms"},
			Factors: []spec.Factor{{Name: "workers", Path: "load.workers"}},
		},
	}
	for i, w := range o.Workers {
		f := &s.Specification.Factors[0]
		f.Levels = append(f.Levels, spec.Level{Value: w})
		c := record.Configuration{ID: fmt.Sprintf("workers=%d", w), Levels: map[string]string{"workers": fmt.Sprint(w)}, Factor: "workers"}
		if i == 0 {
			c.ID, c.Factor, c.Baseline = "baseline", "", true
		}
		s.Configurations = append(s.Configurations, c)
		s.Objectives = append(s.Objectives, record.ConfigurationObjective{
			Configuration: c.ID, Objective: "p99<20ms", Met: o.Blocks - number(w > 64)*o.Blocks, N: o.Blocks, Holds: w <= 64,
		})
	}
	o.trials(s)
	o.compare(s)
	o.procedures(s)
	return s
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (o Study) trials(s *record.Study) {
	r := rand.New(rand.NewPCG(o.Seed, 1))
	at := Started
	add := func(kind string, block, i int) {
		w := o.Workers[i]
		x := throughputOf(w) * math.Exp(0.015*r.NormFloat64())
		at = at.Add(75 * time.Second)
		began := at
		s.Trials = append(s.Trials, record.Trial{
			Number: len(s.Trials) + 1, Attempt: 1, Block: block, Configuration: s.Configurations[i].ID, Kind: kind,
			Status: record.TrialDone,
			Record: fmt.Sprintf("trials/%04d", len(s.Trials)+1), Started: &began, Seconds: 72,
			Values: map[string]float64{"throughput": x, "p99": 2e6 * float64(w) / 8 * math.Exp(0.05*r.NormFloat64())},
		})
	}
	for block := range o.Blocks {
		for _, i := range r.Perm(len(o.Workers)) {
			add(record.TrialCompared, block+1, i)
		}
		add(record.TrialCanary, 0, 0)
	}
	s.Canary = &record.CanaryResult{Metric: "throughput", N: o.Blocks, Drift: -0.004, P: pointer(0.71), Spread: 0.03}
}

// compare makes ratios that fit the truth, with simple intervals.
func (o Study) compare(s *record.Study) {
	for i := 1; i < len(o.Workers); i++ {
		for _, m := range []struct {
			name, unit string
			higher     bool
			of         func(int) float64
		}{{"throughput", "1/s", true, throughputOf}, {"p99", "ns", false, func(w int) float64 { return 2e6 * float64(w) / 8 }}} {
			value, base := m.of(o.Workers[i]), m.of(o.Workers[0])
			ratio := value / base
			c := record.Comparison{
				Configuration: s.Configurations[i].ID, Baseline: "baseline", Metric: m.name, Unit: m.unit, Higher: m.higher,
				N: o.Blocks, NBase: o.Blocks, Pairs: o.Blocks, Margin: 0.03,
				Value: &value, ValueLow: pointer(value * 0.98), ValueHigh: pointer(value * 1.02),
				Base: &base, BaseLow: pointer(base * 0.98), BaseHigh: pointer(base * 1.02),
				Ratio: &ratio, Low: pointer(ratio * 0.97), High: pointer(ratio * 1.03), P: pointer(0.0004),
				Adjusted: pointer(0.0016), RankP: pointer(0.008),
				Verdict: record.Better,
			}
			if (ratio < 1) == m.higher {
				c.Verdict = record.Worse
			}
			if math.Abs(ratio-1) < 0.03 {
				c.Verdict = record.Inconclusive
				c.Note = "more trials would tell"
			}
			s.Comparisons = append(s.Comparisons, c)
		}
	}
}

func (o Study) procedures(s *record.Study) {
	p := record.ProcedureResult{
		Name: "threads", Path: "load.workers", Rule: "raise the workers until throughput gains less than 5 %", Reason: "32 to 64 workers gain 2.1 %, less than 5 %",
		Chosen: 32, Settled: true,
	}
	for _, w := range []int{1, 2, 4, 8, 16, 32, 64} {
		x := throughputOf(w)
		p.Points = append(p.Points, record.ProcedurePoint{Value: float64(w), N: 3, Throughput: x, Low: pointer(x * 0.97),
			High: pointer(x * 1.03), P99: pointer(3e5 * float64(w))})
	}
	s.Procedures = []record.ProcedureResult{p}
	c := &record.CapacityResult{Objectives: []string{"p99<20ms"}, Rate: 9600, Confirmed: true, Low: pointer(9540.0), Reason: "9,600/s held in 3 of 3 fresh trials, 10,100/s did not"}
	for i, rate := range []float64{4000, 6000, 9000, 13500, 10100, 9600, 9600, 9600} {
		holds := rate < 10000
		step := record.CapacityStep{Phase: "ramp", Offered: rate, Achieved: min(rate, 10400-rate/40),
			P99: pointer(4e6 * math.Exp(rate/4800)), Holds: holds}
		if i > 3 {
			step.Phase = "bisect"
		}
		if i > 5 {
			step.Phase = "confirm"
		}
		if !holds {
			step.Missed = "p99<20ms"
		}
		c.Steps = append(c.Steps, step)
	}
	s.Capacity = c
}

func (o Study) Write(dir string) (*record.Study, error) {
	s := o.Make()
	return s, writeJSON(filepath.Join(dir, record.StudyFile), s)
}

// Comparison makes a comparison of two sides, and writes it where path is not empty.
func Comparison(path, name string) (*record.ComparisonReport, error) {
	s := Study{Workers: []int{8, 16}, Blocks: 5, Seed: 3}.Make()
	c := &record.ComparisonReport{
		Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindComparison, Tool: s.Tool,
			Validity: []measure.Finding{}}, Comparisons: s.Comparisons,
		Differences: []record.Difference{
			{What: "load.workers", Values: []string{"8", "16"}, Severity: measure.Note, Why: "it is what was changed"},
			{What: "environment.kernel", Values: []string{"6.1.0-28-amd64", "6.1.0-29-amd64"}, Severity: measure.Warning, Why: "another kernel may be faster by itself"},
		},
	}
	for i := range c.Comparisons {
		c.Comparisons[i].Baseline, c.Comparisons[i].Configuration = "before", name
	}
	for i, side := range []string{"before", name} {
		x := record.ComparisonSide{Name: side, N: 5, Values: map[string][]float64{}}
		for k := range 5 {
			x.Records = append(x.Records, fmt.Sprintf("runs/%s-%d", side, k+1))
			x.Values["throughput"] = append(x.Values["throughput"], throughputOf(8<<i)*(1+0.01*float64(k-2)))
		}
		var err error
		if x.Spectra, err = spectra(time.Duration(8<<i) * 200 * time.Microsecond); err != nil {
			return nil, err
		}
		c.Sides = append(c.Sides, x)
	}
	if path == "" {
		return c, nil
	}
	return c, writeJSON(path, c)
}

func spectra(around time.Duration) (list []record.SideSpectrum, err error) {
	for c, class := range []string{"read", "update"} {
		for k, kind := range []string{"response", "service"} {
			h := measure.NewHistogram()
			for i := range 5000 { // evenly over the ranks, with a long tail
				rank := (float64(i) + 0.5) / 5000
				h.Record(int64(float64(around) * (1 + float64(c)) / (1 + float64(k)) * math.Exp(0.3*rank) / math.Sqrt(1-rank)))
			}
			s := record.SideSpectrum{Class: class, Time: kind, Records: 5, N: h.Count(), Max: h.Max()}
			if s.Histogram, err = h.Encode(); err != nil {
				return nil, err
			}
			list = append(list, s)
		}
	}
	return list, nil
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		return err
	}
	return record.Seal(filepath.Dir(path))
}
