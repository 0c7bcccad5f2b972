package record

import (
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// NewLatency sums up a histogram, nil if there is no value.
func NewLatency(h *measure.Histogram) *Latency {
	if h.Count() == 0 {
		return nil
	}
	stated := func(q float64) *int64 {
		if !h.Enough(q) {
			return nil
		}
		v := h.Quantile(q)
		return &v
	}
	return &Latency{
		Count: h.Count(), Mean: h.Mean(), Min: h.Min(), Max: h.Max(), OutOfRange: h.OutOfRange(),
		P50: stated(0.5), P90: stated(0.9), P95: stated(0.95), P99: stated(0.99), P999: stated(0.999), P9999: stated(0.9999),
	}
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
		LittleInFlight: s.LittleInFlight(), All: newClassResult(s, measure.Class{Name: "all"}, &all, s.Ended().Succeeded),
		Classes: []ClassResult{}, Failures: append([]measure.FailureCount{}, s.Failures...),
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
	for i, c := range s.Dims.Classes {
		if r := newClassResult(s, c, &s.Classes[i], s.EndedClass(i)); r.Counts.Attempted > 0 {
			p.Classes = append(p.Classes, r)
		}
	}
	return p, nil
}

// newClassResult summarizes a class. succeeded is the number of its operations that succeeded within the phase.
func newClassResult(s *measure.Summary, c measure.Class, ci *measure.ClassInterval, succeeded int64) ClassResult {
	r := ClassResult{
		Name: c.Name, Part: c.Part, Counts: s.Dims.Tally(ci.Counts), Outcomes: map[string]int64{},
		Documents: ci.Docs, Bytes: ci.Bytes, Attempts: ci.Attempts, Retries: ci.Retries,
		Response: NewLatency(ci.Answered()), Service: NewLatency(ci.Service), Wait: NewLatency(ci.Wait),
		Failed: NewLatency(ci.Failed), PoolWait: NewLatency(ci.PoolWait),
	}
	r.Rate = s.Rate(succeeded)
	for i, n := range ci.Counts {
		if n > 0 {
			r.Outcomes[s.Dims.Outcomes[i].Name] = n
		}
	}
	return r
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

func (l *summaries) results(cores float64) ([]PhaseResult, error) {
	results := []PhaseResult{}
	for _, s := range l.list {
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
