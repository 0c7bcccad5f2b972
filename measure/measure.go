// Package measure has histograms, one-second intervals, counts of outcomes, the checks of the client, the validity of
// results, and the model of a group commit.
//
// It sends nothing and writes no files. Operation classes and outcomes are only names here.
package measure

import "time"

// Dims has the dimensions of all counts of a run.
type Dims struct {
	Classes  []Class   // operation classes, indexed by [Sample.Class]
	Outcomes []Outcome // outcomes, indexed by [Sample.Outcome]
	// Scheduled: operations have a due time, so response, wait and service time differ. Without a schedule, response
	// equals service time, wait is zero, and only the service histogram is kept.
	Scheduled bool
}

// Class is an operation class. Part marks a step of a larger operation, which is timed but not counted.
type Class struct {
	Name string `json:"name"`
	Part bool   `json:"part,omitempty"`
}

// Outcome is a possible result. Success: it counts as throughput.
type Outcome struct {
	Name    string `json:"name"`
	Success bool   `json:"success,omitempty"`
}

// Sample is one finished operation or part of one. Times are nanoseconds; End is since the start of the run on the
// monotonic clock.
type Sample struct {
	End      int64 // when the answer arrived, or was read if the arrival is unknown
	Response int64 // due time → answer; equals Service without a schedule
	Service  int64 // send → answer
	PoolWait int64 // waiting for a connection, inside Service
	// Late is the time from the arrival of the answer until the worker continued, after Service; -1 if it is unknown.
	// Inside is such time within Service, of earlier parts of the answer and of earlier requests of the operation.
	Late, Inside int64
	Docs         int32 // documents returned, inserted or matched
	Attempts     int32 // commands sent
	Bytes        int32 // BSON bytes of documents moved
	Class        uint8
	Outcome      uint8
	Retries      uint16 // of the commands sent, those beyond one per request
}

// Failure is a kind of failed operations. Equal keys are counted together.
type Failure struct {
	Class    string `json:"class"`
	Outcome  string `json:"outcome"`
	Reason   string `json:"reason"`
	Code     int32  `json:"code,omitempty"`
	CodeName string `json:"code_name,omitempty"`
	Labels   string `json:"labels,omitempty"` // comma-separated, sorted
}

// FailureCount is how often a [Failure] happened, with one message as an example.
type FailureCount struct {
	Failure
	Count   int64         `json:"count"`
	First   time.Duration `json:"first_ns"` // since the start of the run
	Last    time.Duration `json:"last_ns"`
	Example string        `json:"example,omitempty"` // without credentials
}

// Interval has the counts and times between Start and End. Operations belong to the interval in which they ended.
// Intervals of one run have the same Dims and can be merged without loss.
type Interval struct {
	Phase    string        // "load", "warmup", "warmup-drain", "measure", "drain"
	Start    time.Duration // since the start of the run
	End      time.Duration
	Classes  []ClassInterval // indexed like Dims.Classes
	Failures []FailureCount  // new failures of this interval, ordered
	Offered  int64           // operations that fell due in this interval (scheduled loads only)
	Dropped  int64           // of those, discarded because they were too late
	Workers  int             // workers that were started at the end of the interval
	InFlight float64         // mean number of operations in flight, by the marks of their begins and ends
	Samples  int             // number of readings of InFlight
	Lateness *Histogram      // actual − due send time if a worker was free; nil without a schedule
	Client   ClientUse       // what the client itself used
	// Noticed and Bare are the service times of successful operations whose Late is known: until the worker continued
	// (Service + Late), and without the delays of the client (Service − Inside). Nil if none is known.
	Noticed, Bare *Histogram
}

// ClassInterval holds the counts and times of one operation class. A histogram without values is nil.
type ClassInterval struct {
	Counts   []int64 // by outcome, indexed like Dims.Outcomes
	Docs     int64
	Bytes    int64
	Attempts int64
	Retries  int64 // attempts beyond one per request, which a driver hides in one slow operation

	Service  *Histogram // successful operations, send → answer
	Response *Histogram // successful operations, due time → answer; nil without a schedule
	Wait     *Histogram // all operations, due time → send; nil without a schedule
	Failed   *Histogram // operations that did not succeed: response time (service without a schedule)
	PoolWait *Histogram // waiting for a connection, if the store reports it (non-zero values only)
}

// ClientUse is what this process used during an interval.
type ClientUse struct {
	CPU          time.Duration `json:"cpu_ns"`            // user + system
	SchedP99     time.Duration `json:"sched_p99_ns"`      // goroutine scheduling latency, 99th percentile
	GCPauseMax   time.Duration `json:"gc_pause_max_ns"`   // longest stop-the-world pause
	GCPauseSum   time.Duration `json:"gc_pause_sum_ns"`   // of all these pauses
	HeapBytes    uint64        `json:"heap_bytes"`        // live and not yet swept
	LatenessP99  time.Duration `json:"lateness_p99_ns"`   // actual − intended send time when a worker was free
	LatenessOver int64         `json:"lateness_over_1ms"` // sends more than 1 ms late although a worker was free
	// NoticeSum is the time between the arrival of answers and the moments when their workers continued, in total.
	NoticeSum time.Duration `json:"notice_sum_ns,omitempty"`
	// Loops is the number of event loops, LoopBusy the share of the time in which the busiest one did not wait for events,
	// TurnP99 and TurnMax are the lengths of their turns; see [LoopUse].
	Loops    int           `json:"loops,omitempty"`
	LoopBusy float64       `json:"loop_busy,omitempty"`
	TurnP99  time.Duration `json:"turn_p99_ns,omitempty"`
	TurnMax  time.Duration `json:"turn_max_ns,omitempty"`
	// Throttled is the time in which the quota of a control group stopped threads of this process, ThrottledTimes how
	// often; Linux only.
	Throttled      time.Duration `json:"throttled_ns,omitempty"`
	ThrottledTimes int64         `json:"throttled_times,omitempty"`
	// RunDelay is the time in which threads of this process were ready to run and another one had the core; Linux only.
	RunDelay time.Duration `json:"run_delay_ns,omitempty"`
}

// Event is an event of a run: a phase border, a lost connection, a new primary.
type Event struct {
	At   time.Duration     `json:"at_ns"` // since the start of the run
	Kind string            `json:"kind"`
	Text string            `json:"text,omitempty"`
	Data map[string]string `json:"data,omitempty"`
}

// Sink receives the intervals and events of a run in order of time, from one goroutine. An error ends the run.
type Sink interface {
	Interval(*Interval) error
	Event(Event) error
}
