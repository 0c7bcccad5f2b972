package record

import (
	"cmp"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// NoAnswer stands for a percentile of which more operations did not succeed than lie above it: see [measure.Due].
const NoAnswer = -1

// NewLatency sums up a histogram of values that are not operations of a run, nil if there is no value.
func NewLatency(h *measure.Histogram) *Latency {
	if h.Count() == 0 {
		return nil
	}
	return newLatency(h, func(q float64) (int64, bool) { return h.Quantile(q), h.Enough(q) })
}

// newDueLatency sums up the times of operations that were due, nil if none succeeded.
func newDueLatency(d measure.Due) *Latency {
	if d.Answered.Count() == 0 {
		return nil
	}
	var few []float64
	l := newLatency(d.Answered, func(q float64) (int64, bool) {
		ns, reach := d.Quantile(q)
		if reach == measure.OneMoment {
			few = append(few, q)
		}
		return ns, reach == measure.Stated || reach == measure.OneMoment
	})
	l.Lost, l.Unclassed, l.FewMoments = d.Lost, d.Unclassed, few
	return l
}

func newLatency(h *measure.Histogram, quantile func(q float64) (int64, bool)) *Latency {
	stated := func(q float64) *int64 {
		if ns, ok := quantile(q); ok {
			return &ns
		}
		return nil
	}
	return &Latency{
		Count: h.Count(), Mean: h.Mean(), Min: h.Min(), Max: h.Max(), OutOfRange: h.OutOfRange(),
		P50: stated(0.5), P90: stated(0.9), P95: stated(0.95), P99: stated(0.99), P999: stated(0.999), P9999: stated(0.9999),
	}
}

// Quantile returns a percentile in nanoseconds, or why it is not stated. It knows those that the record has.
func (l *Latency) Quantile(q float64) (ns int64, reach measure.Reach) {
	if l == nil {
		return 0, measure.TooFew
	}
	x := map[float64]*int64{0.5: l.P50, 0.9: l.P90, 0.95: l.P95, 0.99: l.P99, 0.999: l.P999, 0.9999: l.P9999}[q]
	switch reach = measure.ReachOf(q, l.Count, l.Lost, l.Unclassed); {
	case x == nil && reach == measure.Stated: // a record that somebody else wrote
		return 0, measure.TooFew
	case x == nil:
		return 0, reach
	case slices.Contains(l.FewMoments, q):
		return *x, measure.OneMoment
	}
	return *x, measure.Stated
}

// NewPhaseResult makes the result of a phase from its summary. cores is the number of cores that the client may use.
// Classes of which no operation ended are left out.
func NewPhaseResult(s *measure.Summary, cores float64) (PhaseResult, error) {
	all, err := s.All()
	if err != nil {
		return PhaseResult{}, err
	}
	p := PhaseResult{
		Phase: s.Phase, Start: int64(s.Start), End: int64(s.End), Seconds: s.Duration().Seconds(), Workers: s.Workers,
		Counts: s.Tally(), Ended: s.Ended(), Offered: s.Offered, Dropped: s.Dropped,
		LittleInFlight: s.LittleInFlight(),
		Classes:        []ClassResult{}, Failures: append([]measure.FailureCount{}, s.Failures...),
		Lateness: NewLatency(s.Lateness), Noticed: NewLatency(s.Noticed), Bare: NewLatency(s.Bare),
		Client: newClientResult(s, cores),
	}
	if s.Samples > 0 {
		p.InFlight = &s.InFlight
	}
	docs, bytes := s.Moved()
	p.Rates = Rates{
		Offered: s.Rate(p.Offered), Attempted: s.Rate(p.Ended.Attempted), Achieved: s.Rate(p.Ended.Succeeded),
		Failed: s.Rate(p.Ended.Failed), Indeterminate: s.Rate(p.Ended.Indeterminate),
		Documents: s.Rate(docs), Bytes: s.Rate(bytes),
	}
	if p.All, err = newClassResult(s, "", &all, s.Ended().Succeeded); err != nil {
		return p, err
	}
	for i, c := range s.Dims.Classes {
		r, err := newClassResult(s, c.Name, &s.Classes[i], s.EndedClass(i))
		if err != nil {
			return p, err
		}
		if r.Part = c.Part; r.Counts.Attempted > 0 {
			p.Classes = append(p.Classes, r)
		}
	}
	return p, nil
}

// newClassResult summarizes a class, "" for all together. succeeded is the number of its operations that succeeded
// within the phase.
func newClassResult(s *measure.Summary, class string, ci *measure.ClassInterval, succeeded int64) (ClassResult, error) {
	r := ClassResult{
		Name: cmp.Or(class, "all"), Counts: s.Dims.Tally(ci.Counts), Outcomes: map[string]int64{},
		Documents: ci.Docs, Bytes: ci.Bytes, Attempts: ci.Attempts, Retries: ci.Retries,
		Wait: NewLatency(ci.Wait), Failed: NewLatency(ci.Failed), PoolWait: NewLatency(ci.PoolWait),
	}
	for kind, to := range map[string]**Latency{"response": &r.Response, "service": &r.Service} {
		d, _, err := s.Times(class, kind)
		if err != nil {
			return r, err
		}
		*to = newDueLatency(d)
	}
	r.Rate = s.Rate(succeeded)
	for i, n := range ci.Counts {
		if n > 0 {
			r.Outcomes[s.Dims.Outcomes[i].Name] = n
		}
	}
	return r, nil
}

func newClientResult(s *measure.Summary, cores float64) ClientResult {
	u := s.Client
	r := ClientResult{
		CPUSeconds: u.CPU.Seconds(), SchedP99: int64(u.SchedP99), GCPauseMax: int64(u.GCPauseMax),
		GCPauseSum: int64(u.GCPauseSum),
		HeapBytes:  u.HeapBytes, LatenessOver: u.LatenessOver,
		Loops: u.Loops, LoopBusy: u.LoopBusy, TurnP99: int64(u.TurnP99), TurnMax: int64(u.TurnMax),
		Throttled: int64(u.Throttled), RunDelay: int64(u.RunDelay),
	}
	if d := s.Duration(); d > 0 && cores > 0 {
		r.CPUShare = u.CPU.Seconds() / d.Seconds() / cores
	}
	if n := s.Ended().Attempted; n > 0 {
		r.CPUPerOperation = float64(u.CPU) / float64(n)
	}
	return r
}

// summaries gathers intervals by phase, in the order in which the phases begin.
type summaries struct {
	dims measure.Dims
	list []*measure.Summary
}

// The phases that belong together; see measure.Summary.AddTail.
const (
	phaseWarmup      = "warmup"
	phaseWarmupDrain = "warmup-drain"
	phaseMeasure     = "measure"
	phaseDrain       = "drain"
)

// whole returns the phase that an interval of a phase belongs to.
func whole(phase string) string {
	switch phase {
	case phaseDrain:
		return phaseMeasure
	case phaseWarmupDrain:
		return phaseWarmup
	}
	return phase
}

func (l *summaries) get(phase string) *measure.Summary {
	for _, s := range l.list {
		if s.Phase == phase {
			return s
		}
	}
	return nil
}

func (l *summaries) add(iv *measure.Interval) error {
	if phase := whole(iv.Phase); phase != iv.Phase {
		if s := l.get(phase); s != nil {
			return s.AddTail(iv)
		}
	}
	s := l.get(iv.Phase)
	if s == nil {
		s = measure.NewSummary(l.dims, iv.Phase)
		l.list = append(l.list, s)
	}
	return s.Add(iv)
}

// results makes the results of all phases. unsent operations were due in the measured phase and never sent.
func (l *summaries) results(cores float64, unsent int64) ([]PhaseResult, error) {
	results := []PhaseResult{}
	for _, s := range l.list {
		if s.Phase == phaseMeasure {
			s.Unsent = unsent
		}
		r, err := NewPhaseResult(s, cores)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// shift returns a copy of the interval on a timeline that began earlier. Its failures are its own.
func shift(iv *measure.Interval, by time.Duration) *measure.Interval {
	c := *iv
	c.Start += by
	c.End += by
	c.Failures = append([]measure.FailureCount(nil), iv.Failures...)
	for i := range c.Failures {
		c.Failures[i].First += by
		c.Failures[i].Last += by
	}
	return &c
}
