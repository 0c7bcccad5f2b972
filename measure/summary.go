package measure

import (
	"fmt"
	"slices"
	"time"
)

// The outcomes that have a meaning of their own in totals and checks.
const (
	outcomeNotFound       = "not-found"
	outcomeIndeterminate  = "indeterminate"
	outcomeUnacknowledged = "unacknowledged"
	outcomeCorrupt        = "corrupt"
)

// Tally sums up the outcomes of operations. Attempted = Succeeded + Failed + Indeterminate.
type Tally struct {
	Attempted      int64 `json:"attempted"`      // operations that ended, with any outcome
	Succeeded      int64 `json:"succeeded"`      // did what was asked at the level asked for; the goodput
	Failed         int64 `json:"failed"`         // known not to have done what was asked
	Indeterminate  int64 `json:"indeterminate"`  // may or may not have been applied
	NotFound       int64 `json:"not_found"`      // of Failed: no document where one was expected
	Unacknowledged int64 `json:"unacknowledged"` // of Succeeded: nobody confirmed it
}

// Add returns the sum of two tallies.
func (t Tally) Add(o Tally) Tally {
	return Tally{
		Attempted: t.Attempted + o.Attempted, Succeeded: t.Succeeded + o.Succeeded, Failed: t.Failed + o.Failed,
		Indeterminate: t.Indeterminate + o.Indeterminate, NotFound: t.NotFound + o.NotFound,
		Unacknowledged: t.Unacknowledged + o.Unacknowledged,
	}
}

// Sub returns the tally without a part of it.
func (t Tally) Sub(o Tally) Tally {
	return t.Add(Tally{
		Attempted: -o.Attempted, Succeeded: -o.Succeeded, Failed: -o.Failed, Indeterminate: -o.Indeterminate,
		NotFound: -o.NotFound, Unacknowledged: -o.Unacknowledged,
	})
}

// Bad returns how many operations did not succeed for certain.
func (t Tally) Bad() int64 { return t.Failed + t.Indeterminate }

// Tally sums up counts that are indexed like Outcomes.
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

// Point is what is kept of each interval for judging the course of a phase. It holds sums and counts
// only, so points can be put together to longer ones.
type Point struct {
	Start, End      time.Duration
	Tally           Tally
	ServiceSum      int64 // nanoseconds, over all operations with any outcome
	ResponseSum     int64 // nanoseconds, over successful operations; service time without a schedule
	PoolWaitSum     int64
	Offered         int64
	InFlight        float64
	InFlightSamples int
	Client          ClientUse
}

// Summary is the merge of the intervals of one phase. Percentiles come out of merged histograms only:
// the mean of percentiles is not the percentile of anything.
type Summary struct {
	Dims     Dims
	Phase    string
	Start    time.Duration // since the start of the run
	End      time.Duration
	Classes  []ClassInterval // indexed like Dims.Classes
	Failures []FailureCount  // most frequent first
	Offered  int64
	Dropped  int64
	Workers  int        // the most there were
	InFlight float64    // mean number of operations under way, weighted by time
	Samples  int        // how often InFlight was sampled
	Lateness *Histogram // nil without a schedule
	// Client sums up CPU, GCPauseSum and LatenessOver, has the largest of each other figure of any interval, and
	// LatenessP99 of the whole phase.
	Client ClientUse
	Points []Point // one per interval, in order of time
	// Unsent operations fell due in the phase and were never sent. Intervals do not know them: whoever
	// knows sets it before the summary is judged.
	Unsent int64
	// Tail counts the operations that belong to the phase but ended after it; see [Summary.AddTail].
	Tail Tally

	failures map[Failure]*FailureCount
	sampled  time.Duration // length of the intervals in which InFlight was sampled
	tails    []classTail   // what Classes owe to the tail, indexed like Dims.Classes; nil without a tail
}

// classTail is what of a class ended after its phase.
type classTail struct {
	tally       Tally
	docs, bytes int64
}

// NewSummary returns the summary of no interval yet.
func NewSummary(d Dims, phase string) *Summary {
	s := &Summary{Dims: d, Phase: phase, failures: map[Failure]*FailureCount{}}
	s.Classes = newInterval(d, span{}).Classes
	return s
}

// Merge sums up intervals of one phase. They must all have the dimensions d.
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

// Add takes an interval into account. It keeps nothing of iv.
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
	s.addInFlight(iv)
	s.Client = s.Client.add(iv.Client)
	s.Client.LatenessP99 = time.Duration(s.Lateness.Quantile(0.99))
	return nil
}

// Interval returns the summary as one interval, as long as those it was made of. Both share what they count.
func (s *Summary) Interval() *Interval {
	return &Interval{
		Phase: s.Phase, Start: s.Start, End: s.End, Classes: s.Classes, Failures: s.Failures, Offered: s.Offered,
		Dropped: s.Dropped,
		Workers: s.Workers, InFlight: s.InFlight, Samples: s.Samples, Lateness: s.Lateness, Client: s.Client,
	}
}

// AddTail takes over the operations of an interval after the phase: they fell due in the phase, so what
// became of them and how long they took belongs to its result, or an outage at its end would be
// invisible. They do not count towards its rates, and the phase does not become longer.
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
		t.tally = t.tally.Add(s.Dims.Tally(c.Counts))
		t.docs += c.Docs
		t.bytes += c.Bytes
	}
	return nil
}

// addCounts adds what belongs to the operations of an interval rather than to its time.
func (s *Summary) addCounts(iv *Interval) error {
	if err := mergeClasses(s.Classes, iv.Classes); err != nil {
		return fmt.Errorf("merging the interval from %v to %v: %w", iv.Start, iv.End, err)
	}
	if err := mergeInto(&s.Lateness, iv.Lateness); err != nil {
		return err
	}
	s.addFailures(iv.Failures)
	s.Offered += iv.Offered
	s.Dropped += iv.Dropped
	return nil
}

func mergeClasses(to, from []ClassInterval) error {
	if len(to) != len(from) {
		return fmt.Errorf("it has %d operation classes, not %d", len(from), len(to))
	}
	for i := range from {
		if err := to[i].merge(&from[i]); err != nil {
			return err
		}
	}
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

// histograms lists where the histograms are, in the order of [Kinds].
func (c *ClassInterval) histograms() []**Histogram {
	return []**Histogram{&c.Service, &c.Response, &c.Wait, &c.Failed, &c.PoolWait}
}

// Kinds names the histograms of a class in the order of [ClassInterval.Histogram].
func Kinds() []string { return []string{"service", "response", "wait", "failed", "pool-wait"} }

// Histogram returns where the histogram of a kind is, nil if there is no such kind.
func (c *ClassInterval) Histogram(kind string) **Histogram {
	for i, k := range Kinds() {
		if k == kind {
			return c.histograms()[i]
		}
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

func (s *Summary) addFailures(add []FailureCount) {
	if len(add) == 0 {
		return
	}
	for _, f := range add {
		countFailure(s.failures, f)
	}
	s.Failures = sortedFailures(s.failures)
}

func (s *Summary) addInFlight(iv *Interval) {
	if iv.Samples == 0 {
		return
	}
	length := iv.End - iv.Start
	total := s.InFlight*float64(s.sampled) + iv.InFlight*float64(length)
	s.sampled += length
	s.Samples += iv.Samples
	if s.sampled > 0 {
		s.InFlight = total / float64(s.sampled)
	}
}

func (u ClientUse) add(o ClientUse) ClientUse {
	return ClientUse{
		CPU:          u.CPU + o.CPU,
		SchedP99:     max(u.SchedP99, o.SchedP99),
		GCPauseMax:   max(u.GCPauseMax, o.GCPauseMax),
		GCPauseSum:   u.GCPauseSum + o.GCPauseSum,
		HeapBytes:    max(u.HeapBytes, o.HeapBytes),
		LatenessOver: u.LatenessOver + o.LatenessOver,
	}
}

func pointOf(d Dims, iv *Interval) Point {
	p := Point{
		Start: iv.Start, End: iv.End, Tally: iv.Tally(d), Offered: iv.Offered, InFlight: iv.InFlight,
		InFlightSamples: iv.Samples, Client: iv.Client,
	}
	for i := range iv.Classes {
		if c := &iv.Classes[i]; !d.Classes[i].Part {
			p.ServiceSum += c.serviceSum()
			p.PoolWaitSum += c.PoolWait.Sum()
			p.ResponseSum += c.Answered().Sum()
		}
	}
	return p
}

// serviceSum is the time that all operations spent being served, with any outcome. With a
// schedule the failed ones are kept by response time, so what all of them waited is taken off.
func (c *ClassInterval) serviceSum() int64 {
	if c.Wait == nil {
		return c.Service.Sum() + c.Failed.Sum()
	}
	return c.Response.Sum() + c.Failed.Sum() - c.Wait.Sum()
}

// Answered returns the times that users feel: the response time of successful operations, which equals
// the service time where there is no schedule.
func (c *ClassInterval) Answered() *Histogram {
	if c.Response != nil {
		return c.Response
	}
	return c.Service
}

// Duration returns the length of the phase as far as it was measured.
func (s *Summary) Duration() time.Duration { return s.End - s.Start }

// Rate returns n per second of the phase, 0 for an empty phase.
func (s *Summary) Rate(n int64) float64 {
	if s.Duration() <= 0 {
		return 0
	}
	return float64(n) / s.Duration().Seconds()
}

// Ended sums up the operations that ended within the phase: what rates are made of.
func (s *Summary) Ended() Tally {
	var t Tally
	for _, p := range s.Points {
		t = t.Add(p.Tally)
	}
	return t
}

// EndedClass sums up the operations of the class with that index that ended within the phase: what the
// rate of the class is made of. With a backlog the tail may be as large as the phase.
func (s *Summary) EndedClass(i int) Tally {
	all := s.Dims.Tally(s.Classes[i].Counts)
	if s.tails == nil {
		return all
	}
	return all.Sub(s.tails[i].tally)
}

// Moved returns the documents that were moved within the phase, by operations with any outcome, and
// their BSON bytes; parts of operations do not count.
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

// Due returns how many operations of the phase had to be done: all that were attempted, the dropped and
// the unsent.
func (s *Summary) Due() int64 { return s.Tally().Attempted + s.Dropped + s.Unsent }

// Achieved returns the operations that succeeded within the phase by those that fell due in it, 0…1 and
// more where a backlog was worked off. It is false without a schedule.
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

// Class returns the operation class of that name, nil if there is none.
func (s *Summary) Class(name string) *ClassInterval {
	if i := s.Dims.index(name); i >= 0 {
		return &s.Classes[i]
	}
	return nil
}

// index returns which class has that name, -1 if none has.
func (d Dims) index(name string) int {
	return slices.IndexFunc(d.Classes, func(c Class) bool { return c.Name == name })
}

// LittleInFlight returns the mean number of operations under way that follows from rate and service
// time by Little's law, N = X·R: the time that all operations spent being served per time that passed.
func (s *Summary) LittleInFlight() float64 {
	var served int64
	for _, p := range s.Points {
		served = saturatingAdd(served, p.ServiceSum)
	}
	if s.Duration() <= 0 {
		return 0
	}
	return float64(served) / float64(s.Duration())
}
