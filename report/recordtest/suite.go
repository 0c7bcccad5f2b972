package recordtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Suite says what a record of a suite is to look like: it repeats some figures of the document policy-storage. One part
// failed and one was left out.
type Suite struct {
	// Running leaves the last of its studies under way.
	Running bool
	// Name replaces all names that users choose.
	Name string
}

// Level is the result of a study at a level.
type Level struct {
	Name string
	// Ratios to the baseline, by metric. Their intervals reach Wide times as much to both sides, 1.03 where it is 0.
	Ratios map[string]float64
	Wide   float64
}

// Factor is one factor of a study as a document names it; its first level is the baseline.
type Factor struct {
	Name   string
	Levels []Level
}

// Sweeps makes a study that changes one factor at a time, in a workload.
func Sweeps(name, workload string, factors ...Factor) *record.Study {
	s := Study{Workers: []int{8}, Blocks: 6, Seed: 5, Name: name}.Make()
	s.Base.Workload.Name, s.Specification.Run.Workload.Name = workload, workload
	s.Procedures, s.Capacity, s.Objectives, s.Specification.Objectives, s.Canary = nil, nil, nil, nil, nil
	s.Specification.Factors, s.Trials, s.Configurations, s.Comparisons = nil, nil, nil, nil
	base := record.Configuration{ID: "baseline", Baseline: true, Levels: map[string]string{}}
	s.Configurations = []record.Configuration{base}
	for _, f := range factors {
		asked := spec.Factor{Name: f.Name, Path: "load.workers"}
		base.Levels[f.Name] = f.Levels[0].Name
		for i, l := range f.Levels {
			asked.Levels = append(asked.Levels, spec.Level{Name: l.Name, Value: i + 1, Baseline: i == 0})
			if i == 0 {
				continue
			}
			c := record.Configuration{ID: f.Name + "=" + l.Name, Factor: f.Name, Levels: map[string]string{f.Name: l.Name}}
			s.Configurations = append(s.Configurations, c)
			s.Comparisons = append(s.Comparisons, l.comparisons(c.ID)...)
		}
		s.Specification.Factors = append(s.Specification.Factors, asked)
	}
	trialsOf(s, 6)
	return s
}

// comparisons hold a level against the baseline, as a judge would.
func (l Level) comparisons(id string) (list []record.Comparison) {
	wide := max(l.Wide, 1.03)
	for _, m := range []struct {
		name, unit string
		base       float64
	}{{"throughput", "1/s", 2000}, {"read.mean", "ns", 2e6}, {"update.mean", "ns", 5e6}, {"insert.mean", "ns", 8e6}, {"insert.p50", "ns", 7e6}, {"insert.p90", "ns", 9e6}} {
		ratio, ok := l.Ratios[m.name]
		if !ok {
			continue
		}
		c := record.Comparison{Configuration: id, Baseline: "baseline", Metric: m.name, Unit: m.unit, Higher: m.unit == "1/s",
			N: 6, NBase: 6, Pairs: 6, Margin: 0.03,
			Base: pointer(m.base), Value: pointer(m.base * ratio), Ratio: pointer(ratio), Low: pointer(ratio / wide),
			High: pointer(ratio * wide), P: pointer(0.001), Adjusted: pointer(0.002),
			Verdict: record.Inconclusive}
		switch more := *c.Low > 1; {
		case *c.Low >= 1/1.0301 && *c.High <= 1.0301*1.0301:
			c.Verdict = record.Equivalent
		case more == c.Higher && (more || *c.High < 1):
			c.Verdict = record.Better
		case more || *c.High < 1:
			c.Verdict = record.Worse
		default:
			c.Note = "about 40 trials of each would find a change of 3.00 %"
		}
		list = append(list, c)
	}
	return list
}

// trialsOf makes the trials of a study whose comparisons are there already.
func trialsOf(s *record.Study, blocks int) {
	r := rand.New(rand.NewPCG(5, 9))
	at := Started
	for block := range blocks {
		for _, i := range r.Perm(len(s.Configurations)) {
			c := &s.Configurations[i]
			at = at.Add(75 * time.Second)
			began := at
			t := record.Trial{Number: len(s.Trials) + 1, Attempt: 1, Block: block + 1, Configuration: c.ID,
				Kind: record.TrialCompared, Status: record.TrialDone,
				Record: fmt.Sprintf("trials/%04d", len(s.Trials)+1), Started: &began, Seconds: 72, Values: map[string]float64{}}
			for k := range s.Comparisons {
				x := &s.Comparisons[k]
				value := *x.Base
				if x.Configuration == c.ID {
					value = *x.Value
				} else if !c.Baseline {
					continue
				}
				t.Values[x.Metric] = value * (1 + 0.01*r.NormFloat64())
			}
			s.Trials = append(s.Trials, t)
		}
	}
}

// Studies are those of the suite: what they find agrees with the document in places, and not in others.
func (o Suite) Studies() []*record.Study {
	name := func(s string) string {
		if o.Name != "" {
			return o.Name
		}
		return s
	}
	all := func(x, read, update float64) map[string]float64 {
		return map[string]float64{"throughput": x, "read.mean": read, "update.mean": update}
	}
	one := all(1, 1, 1)
	client := Sweeps(name("client-b"), "b", Factor{"client threads", []Level{{Name: "128", Ratios: one}, {Name: "32", Ratios: all(0.61, 0.41, 0.45)},
		{Name: "192", Ratios: all(1.19, 1.2, 1.28)}, {Name: "256", Ratios: all(1.005, 1.9, 1.6)}}})
	policy := Sweeps(name("policy-b"), "b",
		Factor{"cores and memory", []Level{{Name: "8C+64GB", Ratios: one}, {Name: "8C+32GB", Ratios: all(0.52, 1.8, 1.7)},
			{Name: "16C+32GB", Ratios: all(0.62, 1.9, 1.8), Wide: 1.6},
			{Name: "16C+64GB", Ratios: all(1.002, 0.99, 1.02)}, {Name: "16C+128GB", Ratios: all(0.9, 1.1, 1.1)}}},
		Factor{"device of the cache tier", []Level{{Name: "NVMe", Ratios: one}, {Name: "SATA", Ratios: all(0.75, 1.17, 1.7)}}},
		Factor{"checksum", []Level{{Name: "disabled", Ratios: one}, {Name: "enabled", Ratios: all(1.01, 1.3, 0.8), Wide: 1.07}}})
	return []*record.Study{client, policy}
}

func (o Suite) Write(dir string) (*record.Suite, error) {
	s := &record.Suite{Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindSuite,
		Status: record.Complete, Tool: record.Tool{Name: "plimsoll", Version: "1.2.3"},
		Command: []string{"plimsoll", "suite", "run", "examples/policy-storage", "--quick"}, Started: Started, Ended: pointer(Started.Add(9 * time.Minute)),
		Environment: environment(), Validity: []measure.Finding{{ID: "scaled-floor", Severity: measure.Note,
			Text: "members have 256 MiB, as less does not start"}}}, Budget: record.BudgetQuick,
		Scale: spec.Scale{Data: 1. / 128, Workers: 1. / 8, Cores: 1. / 16}, Source: "examples/policy-storage",
		Left: []spec.Left{
			{What: "trials", From: "6", To: "3", Why: "to be done in ten minutes"}, {Part: "client-b", What: "client threads", From: "224", Why: "to be done in ten minutes: the ends and the baseline stay"},
			{Part: "nodes-b", What: spec.LeftPart, From: "nodes-b", Why: "there is no mongod here"}}}
	s.Specification = spec.Suite{Name: "policy-storage", Title: "MongoDB on policy storage", Published: "policy-storage", Parts: []spec.Part{
		{Study: "client.yaml", Each: map[string][]any{"workload.name": {"b"}}, Shows: []string{"figure-3"}}, {Study: "policy.yaml", Shows: []string{"figure-7", "figure-21", "figure-23"}},
		{Drill: "rs1-host.yaml", Repeat: 3, Shows: []string{"table-7"}, Level: "rs=1, host"}, {Drill: "rs1-disk.yaml", Shows: []string{"table-7"}, Level: "rs=1, disk"},
		{Study: "nodes.yaml", Needs: []string{"mongod"}, Shows: []string{"figure-11", "table-2"}}}}
	if o.Name != "" {
		s.Specification.Title = o.Name
	}
	at := Started
	add := func(p record.Part, write func(string) error) error {
		if write != nil {
			p.Started, p.Seconds, p.Estimate = pointer(at), 75, 70
			at = at.Add(80 * time.Second)
			p.Record = record.PartsDir + "/" + p.Name
			if err := write(filepath.Join(dir, record.PartsDir, p.Name)); err != nil {
				return err
			}
		}
		s.Parts = append(s.Parts, p)
		return nil
	}
	if err := o.parts(add); err != nil {
		return nil, err
	}
	if o.Running {
		s.Status, s.Ended = record.Running, nil
		s.Parts = append(s.Parts[:2:2], record.Part{Name: "policy-later", Kind: record.KindStudy, Status: record.PartPlanned})
		s.Parts[1].Status = record.PartRunning
	}
	return s, writeJSON(filepath.Join(dir, record.SuiteFile), s)
}

func (o Suite) parts(add func(record.Part, func(string) error) error) error {
	studies := o.Studies()
	study := func(i int) func(string) error {
		return func(dir string) error {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			if o.Running && i == 1 {
				studies[i].Status, studies[i].Ended = record.Running, nil
			}
			return writeJSON(filepath.Join(dir, record.StudyFile), studies[i])
		}
	}
	drill := func(rounds int) func(string) error {
		return func(dir string) error { _, err := Drill{Rounds: rounds, Lossy: 2, Name: o.Name}.Write(dir); return err }
	}
	problem := "the lab did not come up: no space left on device"
	if o.Name != "" {
		problem = o.Name
	}
	for _, x := range []struct {
		part  record.Part
		write func(string) error
	}{
		{record.Part{Name: "client-b", Kind: record.KindStudy, Status: record.PartDone, Shows: []string{"figure-3"},
			Set: map[string]any{"workload.name": "b"}}, study(0)},
		{record.Part{Name: "policy-b", Kind: record.KindStudy, Status: record.PartDone, Shows: []string{"figure-7", "figure-21", "figure-23"}}, study(1)},
		{record.Part{Name: "rs1-host", Kind: record.KindDrill, Status: record.PartDone, Shows: []string{"table-7"}, Level: "rs=1, host"}, drill(3)},
		{record.Part{Name: "rs1-disk", Kind: record.KindDrill, Status: record.PartFailed, Problem: problem,
			Shows: []string{"table-7"}, Level: "rs=1, disk"}, nil},
		{record.Part{Name: "nodes-b", Kind: record.KindStudy, Status: record.PartLeft, Problem: "there is no mongod here", Shows: []string{"figure-11", "table-2"}}, nil},
	} {
		if err := add(x.part, x.write); err != nil {
			return err
		}
	}
	return nil
}
