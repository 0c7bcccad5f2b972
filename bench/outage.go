package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/drill"
	"github.com/plimsoll-bench/plimsoll/record"
	plimsoll "github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store/null"
)

// outageGoal is the largest error of a measured outage; of one in which new connections hang, hangGoal, because the
// client opens another one each 100 ms.
const (
	outageGoal = 10 * time.Millisecond
	hangGoal   = 120 * time.Millisecond
)

// outageFrom is when the outage begins after the responder's first answer.
const outageFrom = 3 * time.Second

// outageLoad is the duration of the load after the outage began.
const outageLoad = 6 * time.Second

// outages are the failure modes of the responder, each with a known duration.
var outages = []struct {
	name string
	last time.Duration
	kind int
}{
	{"refuses for 300 ms", 300 * time.Millisecond, refuses},
	{"refuses for 1.5 s", 1500 * time.Millisecond, refuses},
	{"resets connections for 1.5 s", 1500 * time.Millisecond, resets},
	{"open connections hang, new ones work", 0, hangs},
	{"all connections hang for 3.1 s", 3100 * time.Millisecond, hangs},
}

// How a responder fails: it refuses operations, resets connections, or says nothing on all connections that were opened
// before the end of the outage.
const (
	refuses = iota
	resets
	hangs
)

// outageError runs drills against a responder with an outage of exactly known duration. It compares the outage that the
// drill measured for inserts with that duration, and with the time between the responder's last reply before the outage
// and the first one after it. The first comparison includes the time in which the clients notice the recovery. Where
// connections hang, the drill states a part of the outage that may be its timeout alone: the duration must be between
// the outage without that part and the outage.
func outageError(ctx context.Context, w io.Writer, c config) error {
	fmt.Fprintf(w, "\nOutage measured by a drill at 2000 operations/s on 16 workers, compared with the responder's outage; "+
		"largest error of %d\n", c.rounds)
	for _, o := range outages {
		var worst, answers, hung time.Duration
		for range c.rounds {
			r := &refuser{last: o.last, kind: o.kind}
			e, truth, err := r.drill(ctx)
			if err != nil {
				return err
			}
			got, least := time.Duration(e.Outage), time.Duration(e.Outage-e.Hung)
			worst = max(worst, o.last-got, least-o.last)
			answers, hung = max(answers, (got-truth).Abs()), max(hung, time.Duration(e.Hung))
		}
		goal, note := outageGoal, ""
		if o.kind == hangs {
			goal, note = hangGoal, fmt.Sprintf("; stated as timeout: %v", hung.Round(time.Millisecond))
		}
		fmt.Fprintf(w, "  %-37s error at most %6.2f ms, goal %v: %s; %.2f ms from its replies%s\n",
			o.name, ms(worst), goal, verdict(worst <= goal), ms(answers), note)
	}
	return nil
}

// loadsClass is the compared class of operations, and their command. Only the load sends it: the drill also has a
// client that polls the primary, whose reads often get the first reply after an outage.
const loadsClass = "insert"

// refuser is a responder with an outage of known duration. It keeps the times of its replies to loadsClass, counted
// from its first operation.
type refuser struct {
	last   time.Duration
	kind   int
	began  atomic.Pointer[time.Time]
	before atomic.Int64 // the last reply before the outage
	after  atomic.Int64 // the first reply after it
}

func (r *refuser) options() null.Options {
	o := null.Options{Fail: r.answer}
	window := []null.Window{{From: outageFrom, To: outageFrom + r.last}}
	switch r.kind {
	case resets:
		o.Outages = window
	case hangs:
		o.Holes = window
	}
	return o
}

// answer refuses an operation or notes the time of the reply.
func (r *refuser) answer(_ uint64, command string) *null.Failure {
	now := time.Now()
	r.began.CompareAndSwap(nil, &now)
	at := now.Sub(*r.began.Load())
	if r.kind == refuses && at >= outageFrom && at < outageFrom+r.last {
		return &null.Failure{Code: 10107, Name: "NotWritablePrimary", Message: "not primary"}
	}
	if command != loadsClass {
		return nil
	}
	if at >= outageFrom+r.last { // a reply just before connections are reset is one before the outage
		r.after.CompareAndSwap(0, int64(at))
		return nil
	}
	for was := r.before.Load(); int64(at) > was && !r.before.CompareAndSwap(was, int64(at)); was = r.before.Load() {
	}
	return nil
}

// drill does one drill and returns the measured effect, and the outage by the responder's replies.
func (r *refuser) drill(ctx context.Context) (got record.DrillEffect, truth time.Duration, err error) {
	server, err := null.Listen(r.options())
	if err != nil {
		return got, 0, err
	}
	defer server.Close()
	dir, err := scratchIn("")
	if err != nil {
		return got, 0, err
	}
	defer os.RemoveAll(dir)
	mark := make(chan time.Time, 1)
	go r.mark(ctx, mark)
	asked := spec.Drill{External: true, Run: spec.Run{Target: server.URI()}}
	asked.Run.Load.Rate, asked.Run.Load.Workers = 2000, 16
	asked.Run.Load.Duration = spec.Duration(outageFrom + outageLoad)
	if err := asked.Complete(); err != nil {
		return got, 0, err
	}
	d, err := drill.Run(ctx, asked, drill.Options{
		Dir: filepath.Join(dir, "drill"), Mark: mark, Run: plimsoll.Options{Now: time.Now},
	})
	if err != nil {
		return got, 0, err
	}
	for _, e := range d.Rounds[0].Effects {
		if e.Class == loadsClass && e.Client < 0 && e.Outage >= 0 && r.after.Load() > 0 {
			return e, time.Duration(r.after.Load() - r.before.Load()), nil
		}
	}
	return got, 0, fmt.Errorf("the drill measured no outage: %q", d.Rounds[0].Reasons)
}

// mark sends the beginning of the outage to the drill, like a person who presses Enter.
func (r *refuser) mark(ctx context.Context, mark chan<- time.Time) {
	for r.began.Load() == nil && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if ctx.Err() == nil {
		time.Sleep(time.Until(r.began.Load().Add(outageFrom)))
		mark <- time.Now()
	}
}
