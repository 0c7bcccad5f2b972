package measure

import (
	"fmt"
	"slices"
	"time"
)

// The outcomes with a separate meaning in totals and checks.
const (
	outcomeNotFound       = "not-found"
	outcomeIndeterminate  = "indeterminate"
	outcomeUnacknowledged = "unacknowledged"
	outcomeCorrupt        = "corrupt"
)

// Tally sums up the outcomes of operations. Attempted = Succeeded + Failed + Indeterminate.
type Tally struct {
	Attempted      int64 `json:"attempted"`      // operations that ended, with any outcome
	Succeeded      int64 `json:"succeeded"`      // at the requested level; the goodput
	Failed         int64 `json:"failed"`         // certainly
	Indeterminate  int64 `json:"indeterminate"`  // may or may not have been applied
	NotFound       int64 `json:"not_found"`      // of Failed: no document where one was expected
	Unacknowledged int64 `json:"unacknowledged"` // of Succeeded: without confirmation
}

func (t Tally) Add(o Tally) Tally {
	return Tally{
		Attempted: t.Attempted + o.Attempted, Succeeded: t.Succeeded + o.Succeeded, Failed: t.Failed + o.Failed,
		Indeterminate: t.Indeterminate + o.Indeterminate, NotFound: t.NotFound + o.NotFound,
		Unacknowledged: t.Unacknowledged + o.Unacknowledged,
	}
}

// Bad returns the number of operations that did not certainly succeed.
func (t Tally) Bad() int64 { return t.Failed + t.Indeterminate }

// Tally sums up counts by outcome.
func (d Dims) Tally(counts []int64) Tally {
	var t Tally
	for i, n := range counts[:min(len(counts), len(d.Outcomes))] {
		o := d.Outcomes[i]
		t.Attempted += n
		switch {
		case o.Success:
			t.Succeeded += n
		case o.Name == outcomeIndeterminate:
			t.Indeterminate += n
		default:
			t.Failed += n
		}
		switch o.Name {
		case outcomeNotFound:
			t.NotFound += n
		case outcomeUnacknowledged:
			t.Unacknowledged += n
		}
	}
	return t
}

// Tally sums up the operations of the interval; parts of operations do not count.
func (iv *Interval) Tally(d Dims) Tally {
	var t Tally
	for i := range iv.Classes {
		if i < len(d.Classes) && !d.Classes[i].Part {
			t = t.Add(d.Tally(iv.Classes[i].Counts))
		}
	}
	return t
}

// Point has the sums and counts of an interval for the checks. Points can be combined to longer ones.
type Point struct {
	Start, End      time.Duration
	Tally           Tally
	ServiceSum      int64 // nanoseconds, over all operations with any outcome
	ResponseSum     int64 // nanoseconds, over successful operations; service time without a schedule
	PoolWaitSum     int64
	InFlight        float64
	InFlightSamples int
	Client          ClientUse
}

// Summary is the merge of the intervals of one phase. Percentiles come only from merged histograms.
type Summary struct {
	Dims     Dims
	Phase    string
	Start    time.Duration // since the start of the run
	End      time.Duration
	Classes  []ClassInterval // indexed like Dims.Classes
	Failures []FailureCount  // most frequent first
	Offered  int64
	Dropped  int64
	Workers  int        // the most of any interval
	InFlight float64    // mean number of operations in flight, weighted by time
	Samples  int        // number of samples of InFlight
	Lateness *Histogram // nil without a schedule
	// Noticed and Bare are as in [Interval].
	Noticed, Bare *Histogram
	// Client has the sums of times and counts, LatenessP99 and the mean of LoopBusy of the whole phase, and the largest of
	// each other figure.
	Client ClientUse
	Points []Point // one per interval, in order of time
	Unsent int64   // operations that were due in the phase and never sent; set by the caller, before checks
	Tail   Tally   // of the operations that belong to the phase but ended after it; see [Summary.AddTail]

	failures  map[Failure]*FailureCount
	metered   time.Duration // length of the intervals of which Client is known
	sampled   time.Duration // length of the intervals in which InFlight was sampled
	tails     []classTail   // the part of Classes after the phase; nil without a tail
	moments   []moment      // in order of time; see [minEpisodes]
	perMoment int           // intervals of a moment, one if zero
}

// classTail is the part of a class that ended after its phase.
type classTail struct {
	succeeded   int64
	docs, bytes int64
}

// NewSummary returns an empty summary of a phase.
func NewSummary(d Dims, phase string) *Summary {
	s := &Summary{Dims: d, Phase: phase, failures: map[Failure]*FailureCount{}}
	s.Classes = newInterval(d, span{}).Classes
	return s
}

// Merge merges intervals of one phase, which must have the dimensions d.
func Merge(d Dims, ivs []*Interval) (*Summary, error) {
	phase := ""
	if len(ivs) > 0 {
		phase = ivs[0].Phase
	}
	s := NewSummary(d, phase)
	for _, iv := range ivs {
		if err := s.Add(iv); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Add adds an interval. It keeps nothing of iv.
func (s *Summary) Add(iv *Interval) error {
	if iv.Phase != s.Phase {
		return fmt.Errorf("an interval of phase %q cannot be merged into phase %q", iv.Phase, s.Phase)
	}
	if err := s.addCounts(iv); err != nil {
		return err
	}
	s.Points = append(s.Points, pointOf(s.Dims, iv))
	if len(s.Points) == 1 {
		s.Start = iv.Start
	}
	s.End = max(s.End, iv.End)
	s.Workers = max(s.Workers, iv.Workers)
	if length := iv.End - iv.Start; iv.Samples > 0 {
		total := s.InFlight*float64(s.sampled) + iv.InFlight*float64(length)
		s.sampled += length
		s.Samples += iv.Samples
		if s.sampled > 0 {
			s.InFlight = total / float64(s.sampled)
		}
	}
	before := s.Client.LoopBusy * float64(s.metered)
	s.Client = s.Client.Add(iv.Client)
	if s.metered += iv.End - iv.Start; s.metered > 0 {
		s.Client.LoopBusy = (before + iv.Client.LoopBusy*float64(iv.End-iv.Start)) / float64(s.metered)
	}
	s.Client.LatenessP99 = time.Duration(s.Lateness.Quantile(0.99))
	return nil
}

// Interval returns the summary as one interval. Both share their counts.
func (s *Summary) Interval() *Interval {
	return &Interval{
		Phase: s.Phase, Start: s.Start, End: s.End, Classes: s.Classes, Failures: s.Failures, Offered: s.Offered,
		Dropped: s.Dropped,
		Workers: s.Workers, InFlight: s.InFlight, Samples: s.Samples, Lateness: s.Lateness, Client: s.Client,
		Noticed: s.Noticed, Bare: s.Bare,
	}
}

// AddTail adds the operations of an interval after the phase that were due in the phase, so that an outage at its end
// is visible. They do not count in its rates, and do not extend the phase.
func (s *Summary) AddTail(iv *Interval) error {
	if err := s.addCounts(iv); err != nil {
		return err
	}
	s.Tail = s.Tail.Add(iv.Tally(s.Dims))
	if s.tails == nil {
		s.tails = make([]classTail, len(s.Dims.Classes))
	}
	for i := range iv.Classes {
		c, t := &iv.Classes[i], &s.tails[i]
		t.succeeded += s.Dims.Tally(c.Counts).Succeeded
		t.docs += c.Docs
		t.bytes += c.Bytes
	}
	return nil
}

// addCounts adds the operations of an interval.
func (s *Summary) addCounts(iv *Interval) error {
	if len(s.Classes) != len(iv.Classes) {
		return fmt.Errorf("merging the interval from %v to %v: it has %d operation classes, not %d", iv.Start, iv.End,
			len(iv.Classes), len(s.Classes))
	}
	for i := range iv.Classes {
		if err := s.Classes[i].merge(&iv.Classes[i]); err != nil {
			return fmt.Errorf("merging the interval from %v to %v: %w", iv.Start, iv.End, err)
		}
	}
	for _, h := range []struct {
		to   **Histogram
		from *Histogram
	}{{&s.Lateness, iv.Lateness}, {&s.Noticed, iv.Noticed}, {&s.Bare, iv.Bare}} {
		if err := mergeInto(h.to, h.from); err != nil {
			return err
		}
	}
	if len(iv.Failures) > 0 {
		for _, f := range iv.Failures {
			countFailure(s.failures, f)
		}
		s.Failures = sortedFailures(s.failures)
	}
	s.Offered += iv.Offered
	s.Dropped += iv.Dropped
	s.addMoment(iv)
	return nil
}

// merge adds the counts and times of another class or interval.
func (c *ClassInterval) merge(from *ClassInterval) error {
	if len(from.Counts) != len(c.Counts) {
		return fmt.Errorf("it has %d outcomes, not %d", len(from.Counts), len(c.Counts))
	}
	for i, n := range from.Counts {
		c.Counts[i] += n
	}
	c.Docs += from.Docs
	c.Bytes += from.Bytes
	c.Attempts += from.Attempts
	c.Retries += from.Retries
	to, add := c.histograms(), from.histograms()
	for i := range to {
		if err := mergeInto(to[i], *add[i]); err != nil {
			return err
		}
	}
	return nil
}

// histograms are the histograms in the order of [Kinds].
func (c *ClassInterval) histograms() []**Histogram {
	return []**Histogram{&c.Service, &c.Response, &c.Wait, &c.Failed, &c.PoolWait}
}

// Kinds names the histograms of a class in the order of [ClassInterval.Histogram].
func Kinds() []string { return []string{"service", "response", "wait", "failed", "pool-wait"} }

// Histogram returns the histogram of a kind, nil for an unknown kind.
func (c *ClassInterval) Histogram(kind string) **Histogram {
	if i := slices.Index(Kinds(), kind); i >= 0 {
		return c.histograms()[i]
	}
	return nil
}

func mergeInto(to **Histogram, from *Histogram) error {
	if from.Count() == 0 {
		return nil
	}
	if *to == nil {
		*to = NewHistogram()
	}
	return (*to).Merge(from)
}

// Add adds up two uses: the sums of times and counts, and the largest of each other figure.
func (u ClientUse) Add(o ClientUse) ClientUse {
	return ClientUse{
		CPU:          u.CPU + o.CPU,
		SchedP99:     max(u.SchedP99, o.SchedP99),
		GCPauseMax:   max(u.GCPauseMax, o.GCPauseMax),
		GCPauseSum:   u.GCPauseSum + o.GCPauseSum,
		HeapBytes:    max(u.HeapBytes, o.HeapBytes),
		LatenessOver: u.LatenessOver + o.LatenessOver,
		NoticeSum:    u.NoticeSum + o.NoticeSum,
		Loops:        max(u.Loops, o.Loops),
		LoopBusy:     max(u.LoopBusy, o.LoopBusy),
		TurnP99:      max(u.TurnP99, o.TurnP99),
		TurnMax:      max(u.TurnMax, o.TurnMax),
		Throttled:    u.Throttled + o.Throttled, ThrottledTimes: u.ThrottledTimes + o.ThrottledTimes,
		RunDelay: u.RunDelay + o.RunDelay,
	}
}

// held is the time in which operations held their workers: until the worker continued.
func (p *Point) held() int64 { return p.ServiceSum + int64(p.Client.NoticeSum) }

func pointOf(d Dims, iv *Interval) Point {
	p := Point{
		Start: iv.Start, End: iv.End, Tally: iv.Tally(d), InFlight: iv.InFlight, InFlightSamples: iv.Samples,
		Client: iv.Client,
	}
	for i := range iv.Classes {
		if c := &iv.Classes[i]; !d.Classes[i].Part {
			p.ServiceSum += c.Service.Sum() + c.Failed.Sum()
			if c.Wait != nil { // with a schedule, failed operations have response times
				p.ServiceSum += c.Response.Sum() - c.Wait.Sum() - c.Service.Sum()
			}
			p.PoolWaitSum += c.PoolWait.Sum()
			p.ResponseSum += c.Answered().Sum()
		}
	}
	return p
}

// Answered returns the response times of successful operations, which are the service times without a schedule.
func (c *ClassInterval) Answered() *Histogram {
	if c.Response != nil {
		return c.Response
	}
	return c.Service
}

// Duration returns the measured length of the phase.
func (s *Summary) Duration() time.Duration { return s.End - s.Start }

// Rate returns n per second of the phase, 0 for an empty phase.
func (s *Summary) Rate(n int64) float64 {
	if s.Duration() <= 0 {
		return 0
	}
	return float64(n) / s.Duration().Seconds()
}

// Ended sums up the operations that ended within the phase, for its rates.
func (s *Summary) Ended() Tally {
	var t Tally
	for _, p := range s.Points {
		t = t.Add(p.Tally)
	}
	return t
}

// EndedClass returns the number of operations of a class that succeeded within the phase. With a backlog, the tail may
// be as large as the phase.
func (s *Summary) EndedClass(i int) (succeeded int64) {
	succeeded = s.Dims.Tally(s.Classes[i].Counts).Succeeded
	if s.tails != nil {
		succeeded -= s.tails[i].succeeded
	}
	return succeeded
}

// Moved returns the documents that operations with any outcome moved within the phase, and their BSON bytes. Parts of
// operations do not count.
func (s *Summary) Moved() (docs, bytes int64) {
	for i, c := range s.Dims.Classes {
		if c.Part {
			continue
		}
		docs += s.Classes[i].Docs
		bytes += s.Classes[i].Bytes
		if s.tails != nil {
			docs -= s.tails[i].docs
			bytes -= s.tails[i].bytes
		}
	}
	return docs, bytes
}

// Tally sums up all operations of the phase, its tail included; parts of operations do not count.
func (s *Summary) Tally() Tally {
	var t Tally
	for i, c := range s.Dims.Classes {
		if !c.Part {
			t = t.Add(s.Dims.Tally(s.Classes[i].Counts))
		}
	}
	return t
}

// Due returns the number of operations that were due in the phase: attempted, dropped and unsent.
func (s *Summary) Due() int64 { return s.Tally().Attempted + s.Dropped + s.Unsent }

// Achieved returns the operations that succeeded within the phase by those that were due in it, more than 1 after a
// backlog. It is false without a schedule.
func (s *Summary) Achieved() (float64, bool) {
	if s.Offered == 0 {
		return 0, false
	}
	return share(s.Ended().Succeeded, s.Offered), true
}

func share(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// All returns the merge of all classes; parts of operations do not count.
func (s *Summary) All() (ClassInterval, error) {
	all := ClassInterval{Counts: make([]int64, len(s.Dims.Outcomes))}
	for i, c := range s.Dims.Classes {
		if c.Part {
			continue
		}
		if err := all.merge(&s.Classes[i]); err != nil {
			return all, err
		}
	}
	return all, nil
}

// Class returns an operation class by name, nil if there is none.
func (s *Summary) Class(name string) *ClassInterval {
	if i := s.Dims.index(name); i >= 0 {
		return &s.Classes[i]
	}
	return nil
}

func (d Dims) index(name string) int {
	return slices.IndexFunc(d.Classes, func(c Class) bool { return c.Name == name })
}

// LittleInFlight returns the mean number of operations in flight by Little's law, N = X·R: the service time of all
// operations by the length of the phase.
func (s *Summary) LittleInFlight() float64 {
	var served int64
	for _, p := range s.Points {
		served = saturatingAdd(served, p.held())
	}
	if s.Duration() <= 0 {
		return 0
	}
	return float64(served) / float64(s.Duration())
}
