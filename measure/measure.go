// Package measure says WHAT IT TOOK: histograms, one-second intervals, counts of outcomes, the client's
// checks of itself, and the validity that follows from them.
//
// It sends nothing, writes no file and imports no other room: operation classes and outcomes are names
// to it. Package load feeds it, package record stores what it closes.
package measure

import "time"

// Dims names what is counted. It is fixed for the length of a run.
type Dims struct {
	Classes  []Class   // operation classes, indexed by [Sample.Class]
	Outcomes []Outcome // outcomes, indexed by [Sample.Outcome]
	// Scheduled is true when operations have an intended time of their own, so that response, wait
	// and service time differ. Without a schedule response equals service time and wait is zero, and
	// only the service histogram is kept.
	Scheduled bool
}

// Class is an operation class; Part marks a step of a larger operation, which is timed but not counted
// as an operation.
type Class struct {
	Name string `json:"name"`
	Part bool   `json:"part,omitempty"`
}

// Outcome is a possible result; Success says that it counts towards throughput.
type Outcome struct {
	Name    string `json:"name"`
	Success bool   `json:"success,omitempty"`
}

// Sample is one finished operation (or part of one). Times are nanoseconds; End counts from the start
// of the run on the monotonic clock.
type Sample struct {
	End      int64 // when the answer was there
	Response int64 // intended time → answer; equals Service without a schedule
	Service  int64 // send → answer
	PoolWait int64 // waiting for a connection, inside Service
	Docs     int32 // documents returned, inserted or matched
	Attempts int32 // commands sent
	Bytes    int32 // BSON bytes of documents moved
	Class    uint8
	Outcome  uint8
	Retries  uint16 // of the commands sent, those beyond one per request
}

// Failure tells apart the ways in which operations did not succeed. Equal keys are counted together.
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

// Interval is what happened between Start and End. Operations belong to the interval in which they
// ended. Intervals of one run have the same Dims and can be merged without loss.
type Interval struct {
	Phase    string        // "load", "warmup", "warmup-drain", "measure", "drain"
	Start    time.Duration // since the start of the run
	End      time.Duration
	Classes  []ClassInterval // indexed like Dims.Classes
	Failures []FailureCount  // new failures of this interval, ordered
	Offered  int64           // operations that fell due in this interval (scheduled loads only)
	Dropped  int64           // of those, given up because they were too late
	Workers  int             // workers that were started at the end of the interval
	InFlight float64         // mean number of operations under way, sampled independently of the latencies
	Samples  int             // how often InFlight was sampled
	Lateness *Histogram      // actual − intended send time where a worker was free; nil without a schedule
	Client   ClientUse       // what the client itself used
}

// ClassInterval holds the counts and times of one operation class. A histogram without values is nil.
type ClassInterval struct {
	Counts   []int64 // by outcome, indexed like Dims.Outcomes
	Docs     int64
	Bytes    int64
	Attempts int64
	Retries  int64 // attempts beyond one per request: what a driver hides in one slow operation

	Service  *Histogram // successful operations, send → answer
	Response *Histogram // successful operations, intended time → answer; nil without a schedule
	Wait     *Histogram // all operations, intended time → send; nil without a schedule
	Failed   *Histogram // operations that did not succeed: response time (service without a schedule)
	PoolWait *Histogram // waiting for a connection, where the store reports it (non-zero values only)
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
}

// Event is something that happened at a moment: a phase border, a lost connection, a new primary.
type Event struct {
	At   time.Duration     `json:"at_ns"` // since the start of the run
	Kind string            `json:"kind"`
	Text string            `json:"text,omitempty"`
	Data map[string]string `json:"data,omitempty"`
}

// Sink takes what a run produces, in order of time. Calls come from one goroutine. An error ends the
// run: a result that cannot be kept must not be measured any further.
type Sink interface {
	Interval(*Interval) error
	Event(Event) error
}
