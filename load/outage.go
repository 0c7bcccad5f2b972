package load

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/store"
)

// gapLeast is the shortest time without any success that is worth an event. Single failures among
// successes are in the counts; events are for what stands out in a timeline.
const gapLeast = 100 * time.Millisecond

// outage notices when operations begin to fail with none succeeding in between, and when the first one
// succeeds again. Workers look at open after every success, which is a read of a shared but seldom
// written word; the lock is taken for failures and for the first success after one only.
type outage struct {
	open atomic.Bool

	mu        sync.Mutex
	first     int64 // end of the first failure
	lastOK    int64 // end of the last success before it, -1 if there was none
	announced bool
	data      map[string]string
}

// failed notes an operation, sent at start, that a broken or overloaded target did not do.
func (c *crew) failed(start, end int64, res *store.Result) {
	if c.outage.open.Load() {
		return
	}
	o := &c.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open.Load() {
		return
	}
	o.first, o.announced, o.lastOK = end, false, -1
	for _, w := range c.workers {
		o.lastOK = max(o.lastOK, w.lastOK.Load())
	}
	o.data = map[string]string{"reason": res.Reason.String(), "sent_ns": strconv.FormatInt(start, 10)}
	if res.Message != "" {
		o.data["message"] = res.Message
	}
	if res.CodeName != "" {
		o.data["code_name"] = res.CodeName
	}
	o.open.Store(true)
}

// succeeded notes the first success after a failure.
func (c *crew) succeeded(end int64) {
	o := &c.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.open.Load() {
		return
	}
	o.open.Store(false)
	from := o.first
	if o.lastOK >= 0 {
		from = o.lastOK
	}
	if !o.announced && end-from < int64(gapLeast) {
		return
	}
	o.announce(c)
	c.events.add(measure.Event{At: time.Duration(end), Kind: EventRecovered,
		Text: "first success after " + time.Duration(end-from).Round(time.Millisecond).String(),
		Data: map[string]string{"gap_ns": strconv.FormatInt(end-from, 10)}})
}

// watchOutage announces an outage that lasts, so that a live view shows it before it is over.
func (c *crew) watchOutage(now int64) {
	o := &c.outage
	if !o.open.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open.Load() && now-o.first >= int64(gapLeast) {
		o.announce(c)
	}
}

// announce reports the beginning of an outage once. The caller holds the lock.
func (o *outage) announce(c *crew) {
	if o.announced {
		return
	}
	o.announced = true
	if o.lastOK >= 0 {
		o.data["last_success_ns"] = strconv.FormatInt(o.lastOK, 10)
	}
	c.events.add(measure.Event{At: time.Duration(o.first), Kind: EventFailing,
		Text: "operations fail and none succeeds", Data: o.data})
}

// maxEvents bounds the queue of events between two looks of the conductor.
const maxEvents = 4096

// eventQueue takes events from anywhere until the conductor hands them to the sink.
type eventQueue struct {
	mu     sync.Mutex
	events []measure.Event
	lost   int64
}

func (q *eventQueue) add(e measure.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.events) >= maxEvents {
		q.lost++
		return
	}
	q.events = append(q.events, e)
}

func (q *eventQueue) take() []measure.Event {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.events
	q.events = nil
	return taken
}
