package predict

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/capacity/simulate"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Evidence are the records of a simulation.
type Evidence struct {
	Runs   []Calibration
	Probes []*record.Probe
	Drills []Drilled
}

// Drilled is a drill with its directory.
type Drilled struct {
	Dir string
	*record.Drill
}

// OpenEvidence reads records of runs, probes and drills. A study stands for its trials.
func OpenEvidence(dirs []string) (e Evidence, err error) {
	for _, dir := range dirs {
		switch kind := record.KindIn(dir); kind {
		case record.KindRun:
			c, err := OpenCalibration(dir)
			if err != nil {
				return e, err
			}
			e.Runs = append(e.Runs, c)
		case record.KindProbe:
			p, err := record.OpenProbe(dir)
			if err != nil {
				return e, err
			}
			e.Probes = append(e.Probes, p)
		case record.KindDrill:
			d, err := record.OpenDrill(dir)
			if err != nil {
				return e, err
			}
			e.Drills = append(e.Drills, Drilled{dir, d})
		case record.KindStudy:
			trials, err := openTrials(dir)
			if err != nil {
				return e, err
			}
			e.Runs = append(e.Runs, trials...)
		case record.KindSuite, record.KindComparison:
			return e, fmt.Errorf("%s: a simulation takes runs, studies, probes and drills, and this is a %s", dir, kind)
		default:
			return e, fmt.Errorf("%s is not a record", dir)
		}
	}
	return e, nil
}

func openTrials(dir string) (list []Calibration, err error) {
	s, err := record.OpenStudy(dir)
	if err != nil {
		return nil, err
	}
	for _, t := range s.Trials {
		if t.Kind != record.TrialCompared || t.Status != record.TrialDone || t.Record == "" {
			continue
		}
		trial, err := record.Below(dir, t.Record)
		if err != nil {
			return nil, err
		}
		c, err := OpenCalibration(trial)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// The limits of the gate.
const (
	rateLimit   = 0.10
	p99Limit    = 0.25
	outageLimit = 0.10
)

// Simulate simulates a deployment, if the simulation reproduces the records that do not calibrate it. What it says
// about load and what it says about failures have separate gates.
func Simulate(d spec.Deployment, e Evidence, tool record.Tool) *record.Simulation {
	out := &record.Simulation{SchemaVersion: record.SchemaVersion, Kind: record.KindSimulation, Tool: tool, Deployment: d,
		Checks: []record.SimulationCheck{}, Validity: []measure.Finding{}}
	var load *outcome
	if d.Load.Workers > 0 {
		var err error
		if load, err = simulateLoad(out, &e); err != nil {
			out.Refused = append(out.Refused, "load: "+err.Error())
		}
	}
	if len(d.Failures) > 0 {
		if err := simulateFailures(out, &e, load); err != nil {
			out.Refused = append(out.Refused, "failures: "+err.Error())
		}
	}
	if out.Load != nil || out.Failures != nil {
		out.Validity = append(out.Validity, assumptions(d)...)
	}
	if out.Failures != nil && out.Failures.Cold != nil {
		out.Validity = append(out.Validity, coldFinding)
	}
	return out
}

func assumptions(d spec.Deployment) (list []measure.Finding) {
	add := func(id, text string, values ...any) {
		list = append(list, measure.Finding{ID: id, Severity: measure.Warning, Text: fmt.Sprintf(text, values...)})
	}
	if d.Shards > 1 {
		add("shards-independent", "the %d shards have equal parts of the load and share nothing. These records do not "+
			"show what shards share, such as routers and the network", d.Shards)
	}
	if d.Slower > 0 {
		add("slower-unmeasured", "no record has members on different storage. Their lag and the flow control follow from the "+
			"model alone, and their syncs do not carry more writes than the second probe showed")
	}
	if len(d.Failures) > 0 && d.Members > 1 {
		add("secondaries-silent", "failures of secondaries cause no outage while a majority remains. Drill one to see whether "+
			"that is so")
	}
	return list
}

// simulateLoad simulates one shard, after its gate.
func simulateLoad(out *record.Simulation, e *Evidence) (*outcome, error) {
	m, err := newDeploymentModel(e, out.Deployment.Slower > 0)
	if err != nil {
		return nil, err
	}
	out.Calibrations = m.out.Calibrations
	checked := m.check(out)
	d := out.Deployment
	n := float64(d.Shards)
	asked := shardOf(&d)
	if d.Cache > 0 {
		if asked.misses, err = m.misses(float64(d.Cache), d.Records); err != nil {
			return nil, err
		}
	}
	if m.out.Engine == "mongod" {
		asked.checkpoints = m.checkpointsShown(out, checked)
	}
	if err := asked.shown(checked, out.Checks); err != nil {
		return nil, err
	}
	o, err := m.simulate(asked)
	if err != nil {
		return nil, err
	}
	if !o.carries(asked) && o.slower.Limited > 0 {
		return nil, fmt.Errorf("a shard does not carry %s/s: flow control limits it to %s/s, because slower members do not sync more",
			figure.Rate(asked.rate), figure.Rate(o.rate))
	}
	if !o.carries(asked) {
		return nil, fmt.Errorf("a shard does not carry %s/s: it does %s/s with its cores busy for %s of the time",
			figure.Rate(asked.rate), figure.Rate(o.rate), figure.Percent(o.cores))
	}
	out.Load = &record.SimulationLoad{Rate: o.rate * n, Mean: o.mean, P50: int64(o.p50), P99: int64(o.p99),
		P99Low: int64(o.p99Low), P99High: int64(o.p99High), Journal: o.journal, CPU: o.cores, Misses: asked.misses,
		Lag: int64(o.lag)}
	out.Load.Checkpoints = o.checkpoint
	if d.Slower > 0 {
		out.Load.Slower = &o.slower
	}
	o.model, o.asked, o.checked = m, asked, checked
	return o, nil
}

// setup is what differs between the runs of a gate.
type setup struct {
	workers       int
	rate          float64 // 0: a closed load
	members, acks int
	router        bool
	misses        float64 // pages that an operation reads
	checkpoints   bool
	slower        int // members on the storage of the second probe
}

// shardOf is the setup of one shard of a deployment, without misses and checkpoints.
func shardOf(d *spec.Deployment) setup {
	n := float64(d.Shards)
	return setup{workers: int(float64(d.Load.Workers) / n), rate: float64(d.Load.Rate) / n, members: int(d.Members),
		acks: int(d.Acknowledge) - 1, router: d.Routers, slower: int(d.Slower)}
}

func (s setup) String() string {
	text := figure.Plural(s.workers, "worker")
	if s.rate > 0 {
		text = figure.Rate(s.rate) + "/s offered"
	}
	if s.members > 1 {
		text += fmt.Sprintf(", %d members, %d of them acknowledge", s.members, s.acks+1)
	}
	if s.slower > 0 {
		text += fmt.Sprintf(", %d of them on slower storage", s.slower)
	}
	if s.router {
		text += ", through a router"
	}
	if s.misses > 0 {
		text += fmt.Sprintf(", %s pages read for each operation", figure.Significant(s.misses))
	}
	if s.checkpoints {
		text += ", with checkpoints"
	}
	return text
}

// kind is what a check must have in common with the deployment.
func (s setup) kind() setup {
	k := setup{members: s.members, acks: s.acks, router: s.router, checkpoints: s.checkpoints}
	k.rate = float64(min(1, cmp.Compare(s.rate, 0)))
	k.misses = float64(min(1, cmp.Compare(s.misses, 0)))
	return k
}

func (s setup) load() float64 {
	if s.rate > 0 {
		return s.rate
	}
	return float64(s.workers)
}

// leastChecks is how many loads of the kind of the deployment must be reproduced.
const leastChecks = 2

// shown refuses a deployment whose kind and load no reproduced run has shown.
func (s setup) shown(checked []setup, checks []record.SimulationCheck) error {
	tails := slices.ContainsFunc(checks, func(c record.SimulationCheck) bool { return c.Metric == record.CheckP99 })
	if err := reproduced(checks, "records"); err != nil {
		return err
	}
	err := s.near(checked, "records")
	if err == nil && !tails {
		return fmt.Errorf("no record has enough values for a p99 (%d writes), so it is not known whether that is reproduced: measure longer",
			measure.MinCount(0.99))
	}
	return err
}

// reproduced refuses all deployments if a figure of the records, or of what else is compared, is not reproduced.
func reproduced(checks []record.SimulationCheck, what string) error {
	failed := 0
	for _, c := range checks {
		if c.Metric != record.CheckOutage && !c.Holds {
			failed++
		}
	}
	if failed == 0 {
		return nil
	}
	if what == "records" {
		return fmt.Errorf("the simulation does not reproduce these records: %d of their figures are off by more than %s (throughput) or %s (p99). So the deployment is refused",
			failed, figure.Percent(rateLimit), figure.Percent(p99Limit))
	}
	return fmt.Errorf("the simulation does not reproduce these %s: %d of %d are off by more than %s (throughput) or %s (times). So the deployment is refused",
		what, failed, len(checks), figure.Percent(rateLimit), figure.Percent(p99Limit))
}

// near refuses a deployment that is not like what was compared.
func (s setup) near(checked []setup, what string) error {
	var loads []float64
	for _, c := range checked {
		if c.kind() == s.kind() {
			loads = append(loads, c.load())
		}
	}
	switch {
	case len(loads) < leastChecks:
		return fmt.Errorf("%d of the %s that do not calibrate are like the deployment (%s), and %d are needed at least: %s",
			len(loads), what, s, leastChecks, map[bool]string{true: "measure it at two loads", false: "choose other figures"}[what == "records"])
	case s.load() > beyond*slices.Max(loads) || s.load() < slices.Min(loads)/beyond:
		return fmt.Errorf("each shard has %s, and the reproduced %s have %s to %s: more than a factor of %d beyond them is not simulated",
			s, what, figure.Significant(slices.Min(loads)), figure.Significant(slices.Max(loads)), beyond)
	}
	return nil
}

// simulateFailures simulates the time with failures, after its gate. load is that of a shard, nil without one.
func simulateFailures(out *record.Simulation, e *Evidence, load *outcome) error {
	d := out.Deployment
	rounds := roundsOf(out, e.Drills)
	checkOutages(out, rounds)
	f := simulate.Fleet{Shards: int(d.Shards), Members: int(d.Members), Time: time.Duration(d.Time), Seed: 1}
	var errs []error
	for _, kind := range sortedKinds(d.Failures) {
		of := slices.DeleteFunc(slices.Clone(rounds), func(r round) bool { return r.action != kind })
		if err := shownFailure(out, kind, of); err != nil {
			errs = append(errs, err)
			continue
		}
		f.Failures = append(f.Failures, simulate.Failures{Number: int(d.Failures[kind]),
			Draw: drawRounds(near(of, time.Duration(d.Election)), time.Duration(d.Election))})
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	o := f.Run()
	x := &record.SimulationFailures{Seconds: f.Time.Seconds(), Failures: o.Failures, Outages: len(o.Outages),
		Down: o.Down.Seconds(), Away: o.Away.Seconds(), Available: 1 - o.Down.Seconds()/f.Time.Seconds()/float64(f.Shards)}
	for _, a := range o.Outages {
		x.Longest = max(x.Longest, a.For.Seconds())
		if a.Majority {
			x.Majority++
		}
	}
	if load != nil && d.Load.Rate > 0 {
		p99 := overall(load.writes, &f, &o)
		x.P99 = &p99
	}
	out.Failures = x
	if load != nil && d.Cache > 0 {
		if err := load.coldCaches(out, o.Outages); err != nil {
			out.LeftOut = append(out.LeftOut, "caches after outages: "+err.Error())
		}
	}
	return nil
}

// overall is the p99 of durable writes of an open load over the whole time. A write that is due in an outage waits for
// its end, and then as long as others do.
func overall(writes *measure.Histogram, f *simulate.Fleet, o *simulate.FleetOutcome) int64 {
	h := measure.NewHistogram()
	total := f.Time.Seconds() * float64(f.Shards)
	scale := 1e7 / total // of ten million values in all
	for v, n := range writes.Buckets() {
		h.RecordN(v, int64(float64(n)/float64(writes.Count())*(total-o.Down.Seconds())*scale))
	}
	middle := writes.Quantile(0.5)
	const parts = 20
	for _, a := range o.Outages {
		for i := range parts {
			left := float64(a.For) * (float64(i) + 0.5) / parts
			h.RecordN(int64(left)+middle, int64(a.For.Seconds()*scale/parts+0.5))
		}
	}
	return h.Quantile(0.99)
}

// drawRounds draws whole rounds, so that what belongs together stays together.
func drawRounds(of []round, election time.Duration) func(r *rand.Rand) (outage, away time.Duration) {
	return func(r *rand.Rand) (time.Duration, time.Duration) {
		x := of[r.IntN(len(of))]
		return x.with(election), x.away
	}
}
