package fit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

// lesser notes a change of a count, "" where nothing changed.
func lesser[T fmt.Stringer](what string, from, to T) spec.Left {
	return spec.Left{What: what, From: from.String(), To: to.String()}
}

// fewerTrials leaves so many trials of a study.
func fewerTrials(trials spec.Count) shed {
	return func(p *Part) []spec.Left {
		if p.Study == nil || p.Study.Trials <= trials {
			return nil
		}
		left := lesser("trials", p.Study.Trials, trials)
		p.Study.Trials = trials
		return []spec.Left{left}
	}
}

// fewerRounds leaves so many rounds of a drill; of one that is vital only where these are meant too.
func fewerRounds(rounds spec.Count, vital bool) shed {
	return func(p *Part) []spec.Left {
		if p.Drill == nil || p.Drill.Repeat <= rounds || p.Vital && !vital {
			return nil
		}
		left := lesser("repeat", p.Drill.Repeat, rounds)
		p.Drill.Repeat = rounds
		return []spec.Left{left}
	}
}

// withoutCanaries leaves the repeated baseline out: in batches each of them brings up another lab.
func withoutCanaries(p *Part) []spec.Left {
	if p.Study == nil || p.Study.Canary < 0 || len(p.Study.Factors) == 0 {
		return nil
	}
	p.Study.Canary = -1
	return []spec.Left{{What: "the canary", Why: "drift between trials is not visible"}}
}

// shorter gives each trial so much measured time and warm-up, each step of a probe as much, and each round of a drill
// so much, all of its moments with it.
func shorter(trial, warmup, round time.Duration) shed {
	return func(p *Part) []spec.Left {
		switch {
		case p.Study != nil:
			return shorterStudy(p, trial, warmup)
		case p.Drill != nil:
			return shorterDrill(p.Drill, round)
		}
		if d := cmp.Or(p.Probe.Duration, spec.Duration(probeDuration)); p.Probe.Duration == 0 || d.Std() > trial {
			p.Probe.Duration = spec.Duration(trial)
			return []spec.Left{lesser("duration", d, p.Probe.Duration)}
		}
		return nil
	}
}

// shortenLoad takes the measured time of a load to d, and returns by which share, and what it was.
func shortenLoad(l *spec.Load, d time.Duration) (share float64, was spec.Duration) {
	was = l.Duration
	if was == 0 {
		for _, s := range l.Stages {
			was += s.Duration
		}
	}
	was = cmp.Or(was, spec.Duration(time.Minute)) // what a run has that says nothing
	if was.Std() <= d {
		return 1, was
	}
	share = d.Seconds() / was.Std().Seconds()
	if len(l.Stages) == 0 || l.Duration > 0 {
		l.Duration = spec.Duration(d)
	}
	for i := range l.Stages {
		l.Stages[i].Duration = tenths(share * l.Stages[i].Duration.Std().Seconds())
	}
	return share, was
}

// tenths makes a time of seconds, as whole tenths and at least one second.
func tenths(seconds float64) spec.Duration {
	return spec.Duration(max(time.Second, time.Duration(seconds*1e9).Round(100*time.Millisecond)))
}

func shorterStudy(p *Part, d, warmup time.Duration) (left []spec.Left) {
	l := &p.Study.Run.Load
	share, was := shortenLoad(l, d)
	if share < 1 {
		left = append(left, lesser("load.duration", was, spec.Duration(d)))
		for i := range p.Study.Factors {
			shortenLevels(&p.Study.Factors[i], share, p.baseline)
		}
	}
	if l.Warmup.Std() > warmup {
		left = append(left, lesser("load.warmup", l.Warmup, spec.Duration(warmup)))
		l.Warmup = spec.Duration(warmup)
	}
	if s := &p.Study.Settle; s.Std() > time.Second {
		left = append(left, lesser("settle", *s, spec.Duration(time.Second)))
		*s = spec.Duration(time.Second)
	}
	return append(left, shorterTrialsOfProcedures(p.Study.Procedures, d)...)
}

// shortenLevels takes the times that levels set by the same share, and leaves out those that become as short as others.
func shortenLevels(f *spec.Factor, share float64, baseline map[string]string) {
	seen := map[spec.Duration]bool{}
	shorten := func(v any) (any, spec.Duration) {
		d, err := spec.ParseDuration(fmt.Sprint(v))
		if err != nil {
			return v, 0
		}
		d = tenths(share * d.Std().Seconds())
		return d.String(), d
	}
	levels := f.Levels[:0:0]
	for _, l := range f.Levels {
		var d spec.Duration
		if f.Path == "load.duration" {
			l.Value, d = shorten(l.Value)
		} else if v, ok := l.Set["load.duration"]; ok {
			l.Set["load.duration"], d = shorten(v)
			if len(l.Set) > 1 {
				d = 0 // it differs by something else
			}
		}
		if d > 0 && seen[d] && l.Name != baseline[f.Name] {
			continue
		}
		seen[d] = d > 0
		levels = append(levels, l)
	}
	if len(levels) > 1 {
		f.Levels = levels
	}
}

func shorterTrialsOfProcedures(p *spec.Procedures, d time.Duration) (left []spec.Left) {
	if p == nil {
		return nil
	}
	take := func(what string, to *spec.Duration) {
		if to.Std() > d || *to == 0 {
			left = append(left, spec.Left{What: what, From: orNone(*to), To: spec.Duration(d).String()})
			*to = spec.Duration(d)
		}
	}
	if p.Threads != nil {
		take("procedures.threads.duration", &p.Threads.Duration)
	}
	if s := p.Steady; s != nil && s.By == "duration" && s.To > spec.Count(2*study.CyclesToSettle) {
		to := spec.Count(2 * study.CyclesToSettle)
		left = append(left, lesser("procedures.steady.to", spec.Duration(time.Duration(s.To)*time.Second),
			spec.Duration(time.Duration(to)*time.Second)), lesser("procedures.steady.cycle", s.Cycle, spec.Duration(time.Second)))
		s.From, s.To, s.Factor, s.Cycle = study.CyclesToSettle, to, 2, spec.Duration(time.Second)
	}
	if p.Capacity != nil {
		take("procedures.capacity.duration", &p.Capacity.Duration)
	}
	return left
}

func orNone(d spec.Duration) string {
	if d == 0 {
		return "that of the run"
	}
	return d.String()
}

// fitElection is the shortest time until a member of a set is restarted elsewhere. The others give up a dead primary
// after 10 s, and such a drill shows which of both is first.
const fitElection = 15 * time.Second

// shorterDrill takes a round to d: its moments, its faults and the time until a restart keep their proportions,
// because what a round shows is their order.
func shorterDrill(s *spec.Drill, d time.Duration) (left []spec.Left) {
	share, was := shortenLoad(&s.Run.Load, d)
	if share == 1 {
		return nil
	}
	left = append(left, lesser("load.duration", was, spec.Duration(d)))
	part := func(what string, to *spec.Duration, least time.Duration) {
		if to.Std() <= least {
			return
		}
		shorter := spec.Duration(max(least, time.Duration(share*float64(*to)).Round(time.Second)))
		left = append(left, lesser(what, *to, shorter))
		*to = shorter
	}
	for i := range s.Faults {
		f := &s.Faults[i]
		if f.AtWorkers == 0 {
			part("at of "+f.Action.String(), &f.At, 3*time.Second)
		}
		part("for of "+f.Action.String(), &f.For, 3*time.Second)
	}
	if s.Jitter != nil {
		jitter := *s.Jitter // its specification may be used again
		s.Jitter = &jitter
		part("jitter", &jitter, time.Second)
	}
	if s.Lab != nil {
		least := 3 * time.Second
		if severalServers(s.Lab) {
			least = fitElection
		}
		part("availability.restart_after", &s.Lab.Availability.RestartAfter, least)
	}
	if s.Recovery == 0 || s.Recovery.Std() > d {
		s.Recovery = spec.Duration(d)
	}
	return left
}

// levelsLeft leaves the baseline and both ends of each factor, or only the end that is farthest from the baseline, of
// all factors or of those that change the lab.
func levelsLeft(labs, farthest bool) shed {
	return func(p *Part) (left []spec.Left) {
		if p.Study == nil {
			return nil
		}
		for i := range p.Study.Factors {
			f := &p.Study.Factors[i]
			if labs && !f.ChangesLab() {
				continue
			}
			kept := ends(f.Levels, p.baseline[f.Name], farthest)
			if len(kept) == len(f.Levels) {
				continue
			}
			left = append(left, spec.Left{What: "levels of " + f.Name, From: names(f.Levels), To: names(kept)})
			f.Levels = kept
		}
		if len(left) > 0 && p.Study.Combine == spec.CombineFraction {
			p.Study.Combine, p.Study.Fraction = spec.CombineGrid, 0 // so few that all of them can be run
		}
		return left
	}
}

// ends are the baseline and the first and last other level, or that of the two which is farther from it.
func ends(levels []spec.Level, baseline string, farthest bool) []spec.Level {
	at := max(0, slices.IndexFunc(levels, func(l spec.Level) bool { return l.Name == baseline }))
	keep := []int{0, at, len(levels) - 1}
	if farthest {
		keep = []int{at, 0}
		if len(levels)-1-at >= at {
			keep = []int{at, len(levels) - 1}
		}
	}
	slices.Sort(keep)
	var out []spec.Level
	for _, i := range slices.Compact(keep) {
		out = append(out, levels[i])
	}
	return out
}

// fewerThreads leaves out numbers of threads of probes. Each takes seconds and is a point of a ramp, so that it goes
// after what takes studies minutes.
func fewerThreads(farthest bool) shed {
	return func(p *Part) []spec.Left {
		if p.Probe == nil {
			return nil
		}
		return endsOfThreads(p.Probe, farthest)
	}
}

// endsOfThreads leaves the least, the middle and the most threads of a probe, or the least and the most.
func endsOfThreads(s *spec.PartProbe, farthest bool) []spec.Left {
	n := len(s.Threads)
	keep := []spec.Count{}
	switch {
	case n > 2 && farthest:
		keep = append(keep, s.Threads[0], s.Threads[n-1])
	case n > 3:
		keep = append(keep, s.Threads[0], s.Threads[n/2], s.Threads[n-1])
	default:
		return nil
	}
	left := spec.Left{What: "threads", From: counts(s.Threads), To: counts(keep)}
	s.Threads = keep
	return []spec.Left{left}
}

func counts(list []spec.Count) string {
	var texts []string
	for _, c := range list {
		texts = append(texts, c.String())
	}
	return strings.Join(texts, ", ")
}

// labsOnce brings each lab up once instead of in every block.
func labsOnce(p *Part) []spec.Left {
	s := p.Study
	if s == nil || s.Lab == nil || s.Order == spec.OrderBatched ||
		!slices.ContainsFunc(s.Factors, func(f spec.Factor) bool { return f.ChangesLab() }) {
		return nil
	}
	s.Order, s.Canary = spec.OrderBatched, -1
	for _, f := range s.Factors {
		if f.ChangesLab() {
			s.Batch = append(s.Batch, f.Name)
		}
	}
	return []spec.Left{{What: "order", From: spec.OrderBlocks, To: spec.OrderBatched, Why: "each lab is brought up once, so its effect cannot be distinguished from drift"}}
}

// oneLabFactor leaves the first of the factors that change the lab: each of the others needs labs of its own.
func oneLabFactor(p *Part) (left []spec.Left) {
	if p.Study == nil {
		return nil
	}
	first := true
	p.Study.Factors = slices.DeleteFunc(p.Study.Factors, func(f spec.Factor) bool {
		if !f.ChangesLab() || first {
			first = first && !f.ChangesLab()
			return false
		}
		left = append(left, spec.Left{What: "factor " + f.Name, From: names(f.Levels)})
		p.Study.Batch = slices.DeleteFunc(p.Study.Batch, func(name string) bool { return name == f.Name })
		return true
	})
	return left
}

// leastRecords is the smallest number of documents.
const leastRecords = 1000

// lessData divides the loaded documents; with least, down to that number at most.
func lessData(by, most float64) shed {
	return func(p *Part) (left []spec.Left) {
		divide := func(what string, c *spec.Count) {
			d := by
			if most > 0 {
				d = max(d, float64(*c)/most)
			}
			to := max(leastRecords, spec.Count(float64(*c)/d))
			if *c > to {
				left = append(left, spec.Left{What: what, From: c.String(), To: to.String(), Why: "the ratio to memory is not the document's any more"})
				*c = to
			}
		}
		switch {
		case p.Study != nil:
			base := p.Study.Run.Workload.Records
			divide("workload.records", &p.Study.Run.Workload.Records)
			if to := p.Study.Run.Workload.Records; base > to {
				for i := range p.Study.Factors {
					divideLevels(&p.Study.Factors[i], float64(base)/float64(to))
				}
			}
		case p.Drill != nil && !p.Drill.Run.LoadPhase.Skip && p.Drill.Run.Workload.Name != "" &&
			!spec.OfDrills(p.Drill.Run.Workload.Name):
			divide("workload.records", &p.Drill.Run.Workload.Records)
		case p.Probe != nil && float64(p.Probe.Size) > by*(64<<20):
			to := spec.Size(float64(p.Probe.Size)/by) >> 20 << 20
			left = append(left, lesser("size", p.Probe.Size, to))
			p.Probe.Size = to
		}
		return left
	}
}

// divideLevels divides the documents that levels load as those of the base were.
func divideLevels(f *spec.Factor, by float64) {
	divided := func(v any) any {
		c, err := spec.ParseCount(fmt.Sprint(v))
		if err != nil {
			return v
		}
		return int(max(leastRecords, float64(c)/by))
	}
	for i := range f.Levels {
		l := &f.Levels[i]
		if f.Path == "workload.records" && l.Value != nil {
			l.Value = divided(l.Value)
		} else if v, ok := l.Set["workload.records"]; ok {
			l.Set["workload.records"] = divided(v)
		}
	}
}

// shorterProcedures leaves two steps of each procedure.
func shorterProcedures(p *Part) (left []spec.Left) {
	if p.Study == nil || p.Study.Procedures == nil {
		return nil
	}
	x := p.Study.Procedures
	if t := x.Threads; t != nil {
		if levels := threadLevels(t); len(levels) > 2 {
			t.Levels, t.From, t.To = []spec.Count{levels[0], levels[len(levels)-1]}, 0, 0
			left = append(left, spec.Left{What: "procedures.threads.levels", From: counts(levels), To: counts(t.Levels)})
		}
		t.Trials = 1
	}
	if c := x.Capacity; c != nil && c.Confirm > 1 {
		left = append(left, lesser("procedures.capacity.confirm", c.Confirm, 1), spec.Left{What: "procedures.capacity.precision", From: figure.Percent(float64(c.Precision)), To: "20 %"})
		c.Confirm, c.Precision = 1, max(c.Precision, 0.2)
	}
	return left
}

// threadLevels are the numbers of workers that are tried.
func threadLevels(t *spec.Threads) []spec.Count {
	levels := slices.Clone(t.Levels)
	for w := t.From; len(levels) == 0 || len(t.Levels) == 0 && w <= t.To && w > 0; w *= 2 {
		levels = append(levels, w)
	}
	return levels
}

// oneStepOfProcedures leaves one number of workers to be tried, and no other procedure.
func oneStepOfProcedures(p *Part) (left []spec.Left) {
	if p.Study == nil || p.Study.Procedures == nil {
		return nil
	}
	x := p.Study.Procedures
	if t := x.Threads; t != nil {
		levels := threadLevels(t)
		t.Levels, t.From, t.To, t.Trials = levels[:1], 0, 0, 1
		if slices.Contains(levels, p.Study.Run.Load.Workers) {
			t.Levels = []spec.Count{p.Study.Run.Load.Workers}
		}
		left = append(left, spec.Left{What: "procedures.threads.levels", From: counts(levels), To: counts(t.Levels)})
	}
	if x.Steady != nil {
		left = append(left, spec.Left{What: "procedure steady", From: "steady"})
		x.Steady = nil
	}
	if x.Capacity != nil {
		left = append(left, spec.Left{What: "procedure capacity", From: "capacity"})
		x.Capacity = nil
	}
	if x.Threads == nil {
		p.Study.Procedures = nil
		p.Study.Trials = max(p.Study.Trials, 1) // a study of procedures alone had none
	}
	return left
}

// smallestProbe leaves two numbers of threads, one second and one operation of each profile.
func smallestProbe(p *Part) (left []spec.Left) {
	s := p.Probe
	if s == nil {
		return nil
	}
	left = endsOfThreads(s, true)
	if s.Duration.Std() != time.Second {
		left = append(left, spec.Left{What: "duration", From: orNone(s.Duration), To: "1s"})
		s.Duration = spec.Duration(time.Second)
	}
	if len(s.Operations) > 1 {
		left = append(left, spec.Left{What: "operations", From: strings.Join(s.Operations, ", "), To: s.Operations[0]})
		s.Operations = s.Operations[:1]
	}
	return left
}
