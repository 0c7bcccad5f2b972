package record

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/mac"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/limit"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// KindCapacity is the kind of record that `plimsoll capacity` leaves.
const KindCapacity = "capacity"

// The files of a capacity besides the records of its steps, which are directories below StepsDir.
const (
	CapacityFile    = "capacity.json"
	CapacityJournal = "steps.ndjson" // a line before and after each step, appended and synced
	StepsDir        = "steps"
)

// Capacity is capacity.json: the highest loads that a deployment carries, and how sure that is.
type Capacity struct {
	Head
	// Specification is the specification, with all defaults and without credentials. MAC is an authentication code of it,
	// by the user who wrote the record.
	Specification *spec.Capacity `json:"specification"`
	MAC           string         `json:"mac,omitempty"`
	// Target is the deployment; absent until the first step has ended.
	Target *Target `json:"target,omitempty"`
	// Objectives are those that hold at each line.
	Objectives []string `json:"objectives"`
	// Lines are the lines in the order of their search. The first one is that of all members up.
	Lines []LoadLine `json:"lines"`
	// Safe is the name of the lowest line that counts; empty if a line that counts has no rate yet.
	Safe string `json:"safe,omitempty"`
	// Now is the present load of the deployment, if it was measured.
	Now *PresentLoad `json:"now,omitempty"`
	// Estimate is the planned time in seconds, without loading data, and Seconds the time that it took in all sessions.
	Estimate float64 `json:"estimate_seconds,omitempty"`
	Seconds  float64 `json:"seconds,omitempty"`
	// Files lists the other files of the record.
	Files []File `json:"files,omitempty"`
}

// LineStatus is the status of a line.
type LineStatus string

const (
	// LinePlanned: its search has not begun.
	LinePlanned LineStatus = "planned"
	// LineRunning: it is being searched.
	LineRunning LineStatus = "running"
	// LineFound: it has a rate, which was confirmed by fresh trials.
	LineFound LineStatus = "found"
	// LineAtLeast: the highest rate that could be offered held, so the line is there or above.
	LineAtLeast LineStatus = "at-least"
	// LineNone: no rate held the objectives.
	LineNone LineStatus = "none"
	// LineUndecided: the search ended before it was confirmed, or no step had enough operations. Rate and interval are
	// those until then.
	LineUndecided LineStatus = "undecided"
	// LineSkipped: it was not searched; Problem says why.
	LineSkipped LineStatus = "skipped"
	// LineFailed: it has no result because of an error; Problem says which.
	LineFailed LineStatus = "failed"
)

// The limits of a line.
const (
	LimitObjective = "objective" // an objective is missed above it
	LimitSustained = "sustained" // the target does not complete the offered rate
	LimitClient    = "client"    // the load generator is busy
	LimitHighest   = "highest"   // the highest rate that was allowed held
	LimitWrites    = "writes"    // acknowledged writes were lost that had to survive
	LimitRecovery  = "recovery"  // redundancy did not return in time
	LimitUndecided = "undecided" // the trials do not decide
	LimitSamples   = "samples"   // too few operations for a percentile
)

// LoadLine is the highest load that holds the objectives under one condition.
type LoadLine struct {
	// Name is the condition: "all members up", or the event during which it holds, such as "kill:secondary".
	Name string `json:"name"`
	// Counts says whether the line counts for the safe load.
	Counts bool       `json:"counts"`
	Status LineStatus `json:"status" jsonschema:"enum=planned,enum=running,enum=found,enum=at-least,enum=none,enum=undecided,enum=skipped,enum=failed"`
	// Rate is the line in operations per second, 0 if there is none, and Low and High the ends of its interval of
	// Confidence. High is absent if nothing is known above it.
	Rate       float64  `json:"rate"`
	Low        *float64 `json:"rate_low,omitempty"`
	High       *float64 `json:"rate_high,omitempty"`
	Confidence float64  `json:"confidence,omitempty"`
	// Trials are the steps within a tenth of Rate. Wrong is the probability that the true line differs from Rate by more
	// than Precision, a share.
	Trials    int      `json:"trials,omitempty"`
	Wrong     *float64 `json:"wrong,omitempty"`
	Precision float64  `json:"precision,omitempty"`
	// Scatter is the estimated standard deviation of the rate that the target carries from step to step, as a share.
	Scatter float64 `json:"scatter,omitempty"`
	// Limit is what is missed above the line, and Reason the same in a sentence with its figures.
	Limit  string `json:"limit,omitempty" jsonschema:"enum=objective,enum=sustained,enum=client,enum=highest,enum=writes,enum=recovery,enum=undecided,enum=samples"`
	Reason string `json:"reason,omitempty"`
	// LimitedBy is the resource or queue that keeps the load from growing; absent for lines with an event.
	LimitedBy *limit.Limit `json:"limited_by,omitempty"`
	// Doubts say why the line is less certain than its interval.
	Doubts []string `json:"doubts,omitempty"`
	// Steps are all steps of its search, in order.
	Steps []LineStep `json:"steps"`
	// Event is what the event did at rates that held; absent for the line of all members up.
	Event *LineEvent `json:"event,omitempty"`
	// Problem is why there is no result.
	Problem string `json:"problem,omitempty"`
	// Seconds is its time.
	Seconds float64 `json:"seconds,omitempty"`
}

// LineVerdict is the verdict of a step.
type LineVerdict string

const (
	// StepMet: the objectives hold at this rate, by a test with 5 % error.
	StepMet LineVerdict = "met"
	// StepMissed: an objective does not hold, by a test with 5 % error.
	StepMissed LineVerdict = "missed"
	// StepUndecided: neither is certain enough.
	StepUndecided LineVerdict = "undecided"
	// StepClient: the load generator or too few workers were the limit, so the step says nothing about the target.
	StepClient LineVerdict = "client"
	// StepFailed: it has no result.
	StepFailed LineVerdict = "failed"
	// StepLost: it was interrupted or killed, and is repeated.
	StepLost LineVerdict = "lost"
)

// LineStep is one step of the search for a line: a run at a rate, or a drill at a rate.
type LineStep struct {
	// Number counts from 1 in each line, Attempt the repetitions of an interrupted step.
	Number  int `json:"number"`
	Attempt int `json:"attempt,omitempty"`
	// Phase is "probe" (a closed loop, which shows where to begin), "ramp", "narrow" or "confirm" (fresh trials just below
	// and above the answer).
	Phase string `json:"phase" jsonschema:"enum=probe,enum=ramp,enum=narrow,enum=confirm"`
	// Record is the directory of its run or drill, relative to that of the capacity.
	Record  string     `json:"record,omitempty"`
	Started *time.Time `json:"started,omitempty"`
	// Seconds is its time with everything around it, and Measured its measured time.
	Seconds  float64 `json:"seconds,omitempty"`
	Measured float64 `json:"measured_seconds,omitempty"`
	// Workers is how many it had.
	Workers int `json:"workers,omitempty"`
	// Offered and Achieved are operations per second.
	Offered  float64 `json:"offered"`
	Achieved float64 `json:"achieved"`
	// Objective is the one that decided: the one that was missed, otherwise the one that was nearest to its limit. Value
	// is what was measured of it, in Unit ("ns", "share", "1/s"); absent if it has no value.
	Objective string   `json:"objective,omitempty"`
	Value     *float64 `json:"value,omitempty"`
	Unit      string   `json:"unit,omitempty"`
	// P99 is the response time in ns, absent if it cannot be stated, and Errors the share that did not succeed.
	P99    *float64 `json:"p99_ns,omitempty"`
	Errors float64  `json:"errors"`
	// Verdict is absent while the step runs. Certainty is the probability that the objectives hold at this rate by this
	// step alone. Why says what decided.
	Verdict   LineVerdict `json:"verdict,omitempty" jsonschema:"enum=met,enum=missed,enum=undecided,enum=client,enum=failed,enum=lost"`
	Certainty *float64    `json:"certainty,omitempty"`
	Why       string      `json:"why,omitempty"`
	// Calm is how long the step waited before it for the target to calm down, in seconds, and Restless what was not calm
	// when the limit was reached.
	Calm     float64  `json:"calm_seconds,omitempty"`
	Restless []string `json:"restless,omitempty"`
	// Event is what the event did; absent for steps without one.
	Event *LineEvent `json:"event,omitempty"`
}

// LineEvent is what an event did to a deployment at a rate, or at all rates of a line that held.
type LineEvent struct {
	// Drills is how many there were.
	Drills int `json:"drills"`
	// Outage is the longest time without a successful operation, in nanoseconds; -1 if it did not end.
	Outage int64 `json:"outage_ns"`
	// Recovery is the longest time until redundancy was back, in nanoseconds; -1 if it did not return in time, absent if
	// nothing was lost.
	Recovery *int64 `json:"recovery_ns,omitempty"`
	// Acknowledged are checked writes, and Lost those of them that are gone. LossAllowed says that the durability level
	// permits it.
	Acknowledged int64 `json:"acknowledged"`
	Lost         int64 `json:"lost"`
	LossAllowed  bool  `json:"loss_allowed,omitempty"`
	// Problem is why this is not known.
	Problem string `json:"problem,omitempty"`
}

// PresentLoad is the load of a deployment at one time, without a load of plimsoll, beside the line of a capacity.
type PresentLoad struct {
	// From is when it was read, and Duration for how long, in nanoseconds.
	From     time.Time `json:"from"`
	Duration int64     `json:"duration_ns"`
	// Source is "server" (counters of the deployment), "recording", or "diagnostic-data" (the files of one server;
	// Busiest is then that of a minute). Address is the deployment, without credentials, or the name of the recording
	// or directory.
	Source  string `json:"source" jsonschema:"enum=server,enum=recording,enum=diagnostic-data"`
	Address string `json:"address,omitempty"`
	// Servers were read. Unread were not, with the reason, so what clients send to them is missing. Restarted are those
	// whose operations before a restart are missing. Routed says that the servers are routers of a cluster.
	Servers   []string `json:"servers,omitempty"`
	Unread    []string `json:"unread,omitempty"`
	Restarted []string `json:"restarted,omitempty"`
	Routed    bool     `json:"routed,omitempty"`
	// Rate is in operations per second as servers count them: documents for insert, statements for update and delete,
	// commands for the others. Busiest is the highest rate in any five seconds.
	Rate        float64            `json:"rate"`
	Busiest     float64            `json:"busiest,omitempty"`
	ByOperation []PresentOperation `json:"by_operation,omitempty"`
	// Reads and Writes are the mean times of commands at the servers in nanoseconds, absent if they are unknown.
	Reads  *int64 `json:"reads_ns,omitempty"`
	Writes *int64 `json:"writes_ns,omitempty"`
	// NotCounted are operations per second that servers count and clients did not send.
	NotCounted map[string]float64 `json:"not_counted,omitempty"`
	// Line is the name of the line that Share is the share of. An operation of its workload is PerOperation operations as
	// servers count them. Low and High are the ends of the share if the kinds of operations cost differently, with the
	// interval of the line. High is absent if the workload has no operations of a kind, or if the line has no lower end.
	Line         string   `json:"line,omitempty"`
	PerOperation float64  `json:"per_operation,omitempty"`
	Share        *float64 `json:"share,omitempty"`
	Low          *float64 `json:"share_low,omitempty"`
	High         *float64 `json:"share_high,omitempty"`
	// Apart is the share of the operations that would have to be of another kind to be those of the workload of the line,
	// absent if that is unknown. Problem says why.
	Apart   *float64 `json:"apart,omitempty"`
	Problem string   `json:"problem,omitempty"`
	// Growth is the growth of the load, as written ("4%/month"). ReachedAt is when the load reaches the line at that, and
	// ReachedEarly when it does if High is right. Both are absent if that is not within a hundred years.
	Growth       string     `json:"growth,omitempty"`
	ReachedAt    *time.Time `json:"reached_at,omitempty"`
	ReachedEarly *time.Time `json:"reached_early,omitempty"`
}

// The sources of a present load.
const (
	PresentServer    = "server"
	PresentRecording = "recording"
	PresentDiagnosis = "diagnostic-data"
)

// PresentOperation is the present load of one kind of operations.
type PresentOperation struct {
	// Name is the kind: find, insert, update, delete, aggregate, count, distinct, findAndModify or mapReduce.
	Name string `json:"name"`
	// Rate is in operations per second, and Share its share of all.
	Rate  float64 `json:"rate"`
	Share float64 `json:"share"`
	// Measured is the share of these operations in the workload of the line, absent if that is unknown.
	Measured *float64 `json:"measured_share,omitempty"`
}

// Line returns the line of a name, nil if there is none.
func (c *Capacity) Line(name string) *LoadLine {
	i := slices.IndexFunc(c.Lines, func(l LoadLine) bool { return l.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Lines[i]
}

// SafeLine returns the lowest line that counts, nil if there is none.
func (c *Capacity) SafeLine() *LoadLine { return c.Line(c.Safe) }

// Words names the line in a sentence: "load line", or "line while kill:primary".
func (l *LoadLine) Words() string {
	if l.Name == spec.AllMembersUp {
		return "load line"
	}
	return "line while " + l.Name
}

// Ended reports whether the search for a line has ended, with any result.
func (l *LoadLine) Ended() bool { return l.Status != LinePlanned && l.Status != LineRunning }

// Has reports whether a line has a rate.
func (l *LoadLine) Has() bool {
	return l.Rate > 0 && (l.Status == LineFound || l.Status == LineAtLeast || l.Status == LineUndecided)
}

// Sure reports whether the probability that a rate is wrong by more than its precision is small enough. Without such a
// probability, the status says how sure the rate is.
func (l *LoadLine) Sure() bool { return l.Wrong == nil || *l.Wrong <= 1-l.Confidence }

// FindSafe sets Safe.
func (c *Capacity) FindSafe() {
	c.Safe = ""
	lowest := -1.0
	for _, l := range c.Lines {
		switch {
		case !l.Counts || l.Status == LineSkipped:
		case !l.Has():
			c.Safe = ""
			return
		case lowest < 0 || l.Rate < lowest:
			c.Safe, lowest = l.Name, l.Rate
		}
	}
}

// Place puts what is known of a step into a line.
func (l *LoadLine) Place(s LineStep) {
	i := slices.IndexFunc(l.Steps, func(have LineStep) bool { return have.Number == s.Number })
	switch {
	case i < 0:
		l.Steps = append(l.Steps, s)
	case s.Attempt > l.Steps[i].Attempt || s.Verdict != "" || l.Steps[i].Verdict == "":
		l.Steps[i] = s
	}
}

// Conclude is [Missed] if a line that counts has no rate, and [Incredible] if its rate is not confirmed.
func (c *Capacity) Conclude() Conclusion {
	worst := c.Head.Conclude()
	if worst != Satisfied {
		return worst
	}
	gravity := []Conclusion{Satisfied, Missed, Incredible, NoResult}
	for i := range c.Lines {
		if l := &c.Lines[i]; l.Counts && slices.Index(gravity, l.conclude()) > slices.Index(gravity, worst) {
			worst = l.conclude()
		}
	}
	return worst
}

func (l *LoadLine) conclude() Conclusion {
	switch l.Status {
	case LineFound, LineAtLeast, LineSkipped:
		return Satisfied
	case LineFailed:
		return NoResult
	case LineNone:
		return Missed
	}
	return Incredible
}

func (c *Capacity) measured() bool {
	return slices.ContainsFunc(c.Lines, func(l LoadLine) bool { return len(l.Steps) > 0 })
}

// identity is what a resume depends on.
func (c *Capacity) identity() []string {
	list := []string{string(c.Status)}
	for i := range c.Lines {
		l := &c.Lines[i]
		list = append(list, fmt.Sprint(l.Name, l.Status))
		for _, s := range l.Steps {
			list = append(list, fmt.Sprint(s.Number, s.Attempt, s.Verdict, s.Record))
		}
	}
	return list
}

// check checks that the records of the steps are below the capacity.
func (c *Capacity) check() error {
	for i := range c.Lines {
		for _, s := range c.Lines[i].Steps {
			if s.Record != "" && !filepath.IsLocal(filepath.FromSlash(s.Record)) {
				return fmt.Errorf("line %q, step %d: its record %q is not below the directory of the capacity", c.Lines[i].Name,
					s.Number, s.Record)
			}
		}
	}
	return nil
}

// complete takes over what the journal says of steps and capacity.json does not say yet.
func (c *Capacity) complete(dir string, held bool) error {
	events, _, err := readCapacityJournal(dir)
	for _, e := range events {
		if l := c.Line(e.Line); e.Step != nil && l != nil && !l.Ended() {
			l.Place(*e.Step)
		}
	}
	if err != nil || held {
		return err
	}
	if c.Status == Running {
		c.Status = Killed
		c.Validity = append(c.Validity, measure.Finding{ID: "incomplete", Severity: measure.Warning,
			Text: "the search was killed. Its finished steps are kept. Continue with: plimsoll capacity resume " + dir})
	}
	for i := range c.Lines {
		for j := range c.Lines[i].Steps {
			if s := &c.Lines[i].Steps[j]; s.Verdict == "" {
				s.Verdict, s.Why = StepLost, "the search was killed during this step"
			}
		}
	}
	return c.check()
}

// sign sets the authentication code.
func (c *Capacity) sign(k *mac.Key) (err error) {
	c.MAC, err = k.Code(KindCapacity, c.Specification)
	return err
}

// Own says whether the user of a key wrote the specification.
func (c *Capacity) Own(k *mac.Key) bool { return k.Valid(KindCapacity, c.Specification, c.MAC) }

// CapacityEvent is a line of the journal of a capacity. The journal only grows, and each line is synced before the
// search continues.
type CapacityEvent struct {
	At time.Time `json:"at"`
	// Event is session, begin or end, as in the journal of a study.
	Event   string        `json:"event"`
	Session *StudySession `json:"session,omitempty"`
	// Line is the name of the line of Step.
	Line string    `json:"line,omitempty"`
	Step *LineStep `json:"step,omitempty"`
}

func (e CapacityEvent) complete() bool {
	switch e.Event {
	case EventSession:
		return e.Session != nil
	case EventBegin, EventEnd:
		return e.Step != nil && e.Line != "" && e.Step.Number > 0
	}
	return false
}

// readCapacityJournal reads the journal of a capacity, in the order in which it was written. Lines that cannot be read
// are left out and counted.
func readCapacityJournal(dir string) (events []CapacityEvent, unreadable int, err error) {
	return readLines(filepath.Join(dir, CapacityJournal), "the capacity in "+dir, (*CapacityEvent).complete)
}

// OpenCapacity reads a capacity with its journal. The current step of a killed search is lost.
func OpenCapacity(dir string) (*Capacity, error) { return openAs[*Capacity](dir, KindCapacity) }
