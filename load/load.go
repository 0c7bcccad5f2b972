// Package load is DOING it: workers that send the operations of a workload to a store, when they are
// due, for as long as they shall, each of them with a hard deadline.
//
// [Run] drives the operations of a workload: as a closed loop of workers, as an open loop on one
// shared schedule (constant or Poisson), paced per worker, in ramps and steps of rate or of virtual
// users. [Fill] loads the data before that, in parallel batches, resumable and verified.
//
// What to send is the business of package workload, sending and classifying the answer that of
// package store, counting that of package measure. This package writes no file and prints nothing:
// closed intervals and events go to a [measure.Sink].
//
// # Which phase an operation belongs to
//
// An operation belongs to the phase in which it was due (open and paced loads) or in which it was
// sent (closed loops), never to the one in which it happens to end:
//
//   - warm-up and measured operations are counted apart, from the first to the last. An operation that
//     was due in the warm-up and ends after it is reported in an interval of phase "warmup-drain",
//     which covers the same moments as the first intervals of phase "measure". Around that border two
//     intervals may therefore have the same Start;
//   - operations that were due in the measured window but ended after it are in the intervals of phase
//     "drain". They belong to the result: latencies and outcomes of a run are those of "measure" and
//     "drain" together, or an outage at the end of the window would be invisible. The achieved rate is
//     what ended in phase "measure" over the length of the window.
//
// A run that ends by [Config.Operations] has no drain: its window lasts until the last of them ended.
//
// # Time
//
// All times are nanoseconds of the monotonic clock since the start of the run, which is the moment
// when all sessions are open and the first worker may send.
package load

import (
	"context"
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
	PhaseWarmupDrain = "warmup-drain" // what was due in the warm-up and ended after it
	PhaseMeasure     = "measure"
	PhaseDrain       = "drain" // what was due in the measured window and ended after it
)

// The kinds of events that this package reports.
const (
	EventPhase       = "phase"       // a phase began; Text is its name
	EventStage       = "stage"       // a stage began; Text says what it aims at
	EventFailing     = "failing"     // operations fail and none succeeds any more
	EventRecovered   = "recovered"   // the first success after that
	EventBackoff     = "backoff"     // workers pause because nothing can even be sent
	EventBackoffEnd  = "backoff-end" // none of them pauses any more
	EventAbandoned   = "abandoned"   // a worker whose session did not return was abandoned
	EventInterrupted = "interrupted" // the run was asked to end early
	EventAborted     = "aborted"     // the run was asked to end at once
	EventStalled     = "stalled"     // this process stood still: suspended, stopped or starved
	EventSlowRecord  = "slow-record" // keeping the results took long, and nobody watched over the run meanwhile
	EventEnd         = "end"         // the run is over
	EventRetry       = "retry"       // a batch of the load phase had to be sent again (the first of a series)
	EventResume      = "resume"      // the load phase continues where an earlier one ended
	EventRepair      = "repair"      // documents are missing after the load phase; it goes over all of them again
)

// Tally counts operations of one phase. For scheduled loads Offered = Sent + Dropped + Unsent.
type Tally struct {
	Offered int64 `json:"offered"` // fell due (scheduled loads), 0 for closed loops
	Sent    int64 `json:"sent"`    // handed to a session, with any outcome
	Dropped int64 `json:"dropped"` // given up because they were too late
	Unsent  int64 `json:"unsent"`  // due, but not sent when the run ended
}

// Report is what a run did, as far as the intervals do not say it.
type Report struct {
	Started  time.Time     `json:"started"`          // wall clock at run time 0
	From     time.Duration `json:"window_start_ns"`  // of the measured window, since the start of the run
	Until    time.Duration `json:"window_end_ns"`    // of the measured window
	End      time.Duration `json:"end_ns"`           // when the last operation had ended
	Workers  int           `json:"workers"`          // most workers at once
	Warmup   Tally         `json:"warmup"`           //
	Measured Tally         `json:"measured"`         //
	Flushed  int64         `json:"flushed"`          // short batches sent at the very end; not in Sent
	Verified int64         `json:"verified"`         // reads whose content was compared
	Mismatch int64         `json:"mismatched"`       // of these, the ones that differed (outcome corrupt)
	Missing  int64         `json:"verified_missing"` // of these, the ones that returned no document

	Abandoned   int64 `json:"abandoned"`      // operations whose session did not return past the deadline
	Backoffs    int64 `json:"backoffs"`       // pauses taken because nothing could be sent
	Displaced   int64 `json:"displaced"`      // samples that came after their interval was closed (see measure)
	Rejected    int64 `json:"rejected"`       // samples of a class or outcome that does not exist (see measure)
	EventsLost  int64 `json:"events_lost"`    // events beyond the limit of the queue
	Interrupted bool  `json:"interrupted"`    // ended early because its context ended
	Aborted     bool  `json:"aborted"`        // ended at once because Abort was closed
	ByCount     bool  `json:"ended_by_count"` // ended because all Operations were done or all streams had ended
	Scheduled   bool  `json:"scheduled"`      // operations had an intended time
}

// Dims returns the dimensions of the intervals that a run of w produces; scheduled as in
// [Config.Scheduled].
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

// Run drives the operations of w against st until cfg says that it is enough, and hands every closed
// interval and every event to sink.
//
// It fails before the first operation if cfg makes no sense or a session cannot be opened. After that
// no answer and no lost connection ends the run; what became of the operations is in the intervals.
// An error of the sink ends the run, and Run returns it together with the report so far.
//
// When ctx ends, no new operation is sent and those under way are awaited, at most until their
// deadlines; that is a clean end with Report.Interrupted and no error. When cfg.Abort is closed, Run returns at
// once; see there.
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
