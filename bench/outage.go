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
	plimsoll "github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store/null"
)

// outageGoal is how far from the truth an outage may be measured, as issue 6 has it.
const outageGoal = 10 * time.Millisecond

// outageFrom is when the outage begins after the responder's first answer.
const outageFrom = 3 * time.Second

// outageLoad is how long the load goes on after the outage began.
const outageLoad = 6 * time.Second

// outages are the ways in which a responder is out for a known time.
var outages = []struct {
	name   string
	last   time.Duration
	resets bool // connections instead of refusing operations
}{
	{"refuses for 300 ms", 300 * time.Millisecond, false},
	{"refuses for 1.5 s", 1500 * time.Millisecond, false},
	{"resets connections for 1.5 s", 1500 * time.Millisecond, true},
}

// outageError does drills against a responder that is out for exactly known times, and compares the outage that the drill
// found for its inserts with that time, and with what the responder knows: from its last answer before to its first one after.
// The first holds also how long the clients take to notice that they are answered again.
func outageError(ctx context.Context, w io.Writer, c config) error {
	fmt.Fprintf(w, "\noutage    of a drill at 2000 operations/s on 16 workers, against the time for which the responder is out; largest error of %d\n", c.rounds)
	for _, o := range outages {
		var worst, answers time.Duration
		for range c.rounds {
			r := &refuser{last: o.last, resets: o.resets}
			got, truth, err := r.drill(ctx)
			if err != nil {
				return err
			}
			worst, answers = max(worst, (got-o.last).Abs()), max(answers, (got-truth).Abs())
		}
		fmt.Fprintf(w, "  %-29s off by %6.2f ms at most, goal %v: %s; off from its answers by %.2f ms\n", o.name, worst.Seconds()*1e3, outageGoal, verdict(worst <= outageGoal), answers.Seconds()*1e3)
	}
	return nil
}

// loadsClass is the class of operations that is compared, and the command that they send. Only the load sends it: the drill
// has a client besides that looks at the primary, whose reads are often the first to be answered after an outage.
const loadsClass = "insert"

// refuser is a responder that is out for a known time and keeps when it answered an operation of loadsClass. Times count
// from its first operation.
type refuser struct {
	last   time.Duration
	resets bool
	began  atomic.Pointer[time.Time]
	before atomic.Int64 // the last answer before the outage
	after  atomic.Int64 // the first one after it
}

func (r *refuser) options() null.Options {
	o := null.Options{Fail: r.answer}
	if r.resets {
		o.Outages = []null.Window{{From: outageFrom, To: outageFrom + r.last}}
	}
	return o
}

// answer refuses an operation or notes that it is answered now.
func (r *refuser) answer(_ uint64, command string) *null.Failure {
	now := time.Now()
	r.began.CompareAndSwap(nil, &now)
	at := now.Sub(*r.began.Load())
	if !r.resets && at >= outageFrom && at < outageFrom+r.last {
		return &null.Failure{Code: 10107, Name: "NotWritablePrimary", Message: "not primary"}
	}
	if command != loadsClass {
		return nil
	}
	if at >= outageFrom+r.last { // what is answered just before connections are reset was answered before
		r.after.CompareAndSwap(0, int64(at))
		return nil
	}
	for was := r.before.Load(); int64(at) > was && !r.before.CompareAndSwap(was, int64(at)); was = r.before.Load() {
	}
	return nil
}

// drill does one drill and returns what it measured and what is true.
func (r *refuser) drill(ctx context.Context) (got, truth time.Duration, err error) {
	server, err := null.Listen(r.options())
	if err != nil {
		return 0, 0, err
	}
	defer server.Close()
	dir, err := scratch("", "outage")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	mark := make(chan time.Time, 1)
	go r.mark(ctx, mark)
	asked := spec.Drill{External: true, Run: spec.Run{Target: server.URI()}}
	asked.Run.Load.Rate, asked.Run.Load.Workers, asked.Run.Load.Duration = 2000, 16, spec.Duration(outageFrom+outageLoad)
	if err := asked.Complete(); err != nil {
		return 0, 0, err
	}
	d, err := drill.Run(ctx, asked, drill.Options{Dir: filepath.Join(dir, "drill"), Mark: mark, Run: plimsoll.Options{Now: time.Now}})
	if err != nil {
		return 0, 0, err
	}
	for _, e := range d.Rounds[0].Effects {
		if e.Class == loadsClass && e.Client < 0 && e.Outage >= 0 && r.after.Load() > 0 {
			return time.Duration(e.Outage), time.Duration(r.after.Load() - r.before.Load()), nil
		}
	}
	return 0, 0, fmt.Errorf("the drill saw no outage: %q", d.Rounds[0].Reasons)
}

// mark tells the drill when the outage begins, as a person would.
func (r *refuser) mark(ctx context.Context, mark chan<- time.Time) {
	for r.began.Load() == nil && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if ctx.Err() == nil {
		time.Sleep(time.Until(r.began.Load().Add(outageFrom)))
		mark <- time.Now()
	}
}
