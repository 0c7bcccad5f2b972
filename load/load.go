// Package load runs workers that send the operations of a workload to a store when they are due, each with a hard
// deadline.
//
// [Run] sends the operations of a workload: as a closed loop of workers, as an open loop on one shared schedule
// (constant or Poisson), paced per worker, in ramps and steps of rate or of virtual users. [Fill] loads the data before
// that, in parallel batches, resumable and verified.
//
// Package workload makes the operations, package store sends them and classifies the replies, package measure counts.
// This package writes no file and prints nothing: closed intervals and events go to a [measure.Sink].
//
// # Which phase an operation belongs to
//
// An operation belongs to the phase in which it was due (open and paced loads) or was sent (closed loops), not to the
// phase in which it ends:
//
//   - Warm-up and measured operations are counted separately. An operation that was due in the warm-up and ends after
//     it is in an interval of phase "warmup-drain", at the same time as the first intervals of phase "measure". So two
//     intervals may have the same Start.
//   - Operations that were due in the measured window and ended after it are in the intervals of phase "drain".
//     Latencies and outcomes of a run are those of "measure" and "drain" together, so that an outage at the end of the
//     window is visible. The achieved rate is that of phase "measure".
//
// A run that ends by [Config.Operations] has no drain: its window ends with the last operation.
//
// # Time
//
// All times are nanoseconds of the monotonic clock since the start of the run, when all sessions are open and the first
// worker may send.
package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// The phases of a run as they appear in [measure.Interval.Phase].
const (
	PhaseLoad        = "load"
	PhaseWarmup      = "warmup"
	PhaseWarmupDrain = "warmup-drain" // operations that were due in the warm-up and ended after it
	PhaseMeasure     = "measure"
	PhaseDrain       = "drain" // operations that were due in the measured window and ended after it
)

// The kinds of events that this package reports.
const (
	EventPhase       = "phase"       // a phase began; Text is its name
	EventStage       = "stage"       // a stage began; Text says what it aims at
	EventFailing     = "failing"     // operations fail and none succeeds
	EventRecovered   = "recovered"   // the first success after that
	EventBackoff     = "backoff"     // workers pause because nothing can be sent
	EventBackoffEnd  = "backoff-end" // no worker pauses
	EventAbandoned   = "abandoned"   // a worker was abandoned because its session did not return
	EventLoops       = "loops"       // the client has one more event loop, or cannot have one
	EventInterrupted = "interrupted" // the run was interrupted
	EventAborted     = "aborted"     // the run was aborted
	EventStalled     = "stalled"     // this process did not run: suspended, stopped or starved
	EventSlowRecord  = "slow-record" // writing the results took long and delayed the watch over workers
	EventEnd         = "end"         // the run is over
	EventRetry       = "retry"       // a batch of the load phase is retried (the first of a series)
	EventResume      = "resume"      // the load phase continues an earlier one
	EventRepair      = "repair"      // documents are missing after the load phase, which repairs them
)

// Tally counts operations of one phase. For scheduled loads Offered = Sent + Dropped + Unsent.
type Tally struct {
	Offered int64 `json:"offered"` // were due (scheduled loads), 0 for closed loops
	Sent    int64 `json:"sent"`    // handed to a session, with any outcome
	Dropped int64 `json:"dropped"` // too late to be sent
	Unsent  int64 `json:"unsent"`  // due, but not sent when the run ended
}

// Report is the result of a run beside its intervals.
type Report struct {
	Started  time.Time     `json:"started"`          // wall clock at run time 0
	From     time.Duration `json:"window_start_ns"`  // of the measured window, since the start of the run
	Until    time.Duration `json:"window_end_ns"`    // of the measured window
	End      time.Duration `json:"end_ns"`           // when the last operation had ended
	Workers  int           `json:"workers"`          // largest number of workers
	Warmup   Tally         `json:"warmup"`           //
	Measured Tally         `json:"measured"`         //
	Flushed  int64         `json:"flushed"`          // short batches sent at the very end; not in Sent
	Verified int64         `json:"verified"`         // reads whose content was compared
	Mismatch int64         `json:"mismatched"`       // of these, those that differed (outcome corrupt)
	Missing  int64         `json:"verified_missing"` // of these, those without a document

	Abandoned   int64 `json:"abandoned"`      // operations whose session did not return after the deadline
	Backoffs    int64 `json:"backoffs"`       // pauses taken because nothing could be sent
	Displaced   int64 `json:"displaced"`      // samples that came after their interval was closed (see measure)
	Rejected    int64 `json:"rejected"`       // samples of a class or outcome that does not exist (see measure)
	EventsLost  int64 `json:"events_lost"`    // events beyond the limit of the queue
	Interrupted bool  `json:"interrupted"`    // ended early because its context ended
	Aborted     bool  `json:"aborted"`        // ended at once because Abort was closed
	ByCount     bool  `json:"ended_by_count"` // ended because all Operations were done or all streams had ended
	Scheduled   bool  `json:"scheduled"`      // operations had a due time
}

// Dims returns the dimensions of the intervals of a run of w; scheduled as in [Config.Scheduled].
func Dims(w workload.Workload, scheduled bool) measure.Dims {
	d := measure.Dims{Scheduled: scheduled}
	for _, c := range w.Classes() {
		d.Classes = append(d.Classes, measure.Class{Name: c.Name, Part: c.Part})
	}
	for i, name := range store.Outcomes() {
		d.Outcomes = append(d.Outcomes, measure.Outcome{Name: name, Success: store.Outcome(i).Success()})
	}
	return d
}

// ErrEnough is the cause of the end of a context that ends a run as planned: with the current interval, before the
// duration is over. The report is that of a complete run.
var ErrEnough = errors.New("the load was long enough")

// Run sends the operations of w to st as cfg says, and gives every closed interval and event to sink.
//
// It fails before the first operation if cfg is invalid or a session cannot be opened. After that, failed operations
// and lost connections do not end the run; they are counted. An error of the sink ends the run, and Run returns it with
// the report.
//
// When ctx ends, no new operation is sent, and Run waits for the current ones, at most until their deadlines. That is a
// clean end with Report.Interrupted and no error; see also [ErrEnough]. When cfg.Abort is closed, Run returns at once;
// see there.
func Run(ctx context.Context, cfg Config, w workload.Workload, st store.Store, sink measure.Sink) (Report, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return Report{}, fmt.Errorf("load: %w", err)
	}
	c := newRun(cfg, w, st, sink)
	if err := c.open(ctx); err != nil {
		if ctx.Err() != nil || closed(cfg.Abort) {
			return Report{Interrupted: true, Aborted: closed(cfg.Abort)}, nil
		}
		return Report{}, err
	}
	if cfg.Ready != nil {
		if err := cfg.Ready(ctx); err != nil {
			c.closeSessions()
			if ctx.Err() != nil || closed(cfg.Abort) {
				return Report{Interrupted: true, Aborted: closed(cfg.Abort)}, nil
			}
			return Report{}, err
		}
	}
	return c.conduct(ctx)
}
