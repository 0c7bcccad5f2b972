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
//
// Failures and successes may take turns, thousands of times a second, so neither may cost more the more workers there
// are. When the last success was is therefore looked up only for an outage that lasts, see [latestSuccess].
type outage struct {
	open atomic.Bool

	mu        sync.Mutex
	first     int64 // end of the first failure
	announced bool
	sent      int64 // when the operation that failed first was sent
	reason    store.Reason
	message   string
	codeName  string
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
	o.first, o.announced, o.sent = end, false, start
	o.reason, o.message, o.codeName = res.Reason, res.Message, res.CodeName
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
	from := latestSuccess(c.workers, end-int64(gapLeast)+1)
	last := from
	if from < 0 {
		from = o.first
	}
	if !o.announced && end-from < int64(gapLeast) {
		return
	}
	o.announce(c, last)
	c.events.add(measure.Event{At: time.Duration(end), Kind: EventRecovered,
		Text: "first success after " + time.Duration(end-from).Round(time.Millisecond).String(),
		Data: map[string]string{"gap_ns": strconv.FormatInt(end-from, 10)}})
}

// latestSuccess returns when an operation succeeded last, -1 if none did. It ends with the first success that it finds
// at or after enough: the more operations succeed, the fewer workers it looks at.
func latestSuccess(workers []*worker, enough int64) int64 {
	last := int64(-1)
	for _, w := range workers {
		if last = max(last, w.lastOK.Load()); last >= enough {
			break
		}
	}
	return last
}

// watchOutage announces an outage that lasts, so that a live view shows it before it is over.
func (c *crew) watchOutage(now int64) {
	o := &c.outage
	if !o.open.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open.Load() && !o.announced && now-o.first >= int64(gapLeast) {
		o.announce(c, latestSuccess(c.workers, never))
	}
}

// announce reports the beginning of an outage once. last is when an operation succeeded before it, -1 if none did. The
// caller holds the lock.
func (o *outage) announce(c *crew, last int64) {
	if o.announced {
		return
	}
	o.announced = true
	data := map[string]string{"reason": o.reason.String(), "sent_ns": strconv.FormatInt(o.sent, 10)}
	if o.message != "" {
		data["message"] = o.message
	}
	if o.codeName != "" {
		data["code_name"] = o.codeName
	}
	if last >= 0 {
		data["last_success_ns"] = strconv.FormatInt(last, 10)
	}
	c.events.add(measure.Event{At: time.Duration(o.first), Kind: EventFailing,
		Text: "operations fail and none succeeds", Data: data})
}

// maxEvents bounds the queue of events between two looks of the controller.
const maxEvents = 4096

// eventQueue takes events from anywhere until the controller hands them to the sink.
type eventQueue struct {
	mu     sync.Mutex
	events []measure.Event
	lost   int64
}

// event reports what happened at a moment of run time.
func (c *crew) event(at int64, kind, text string) {
	c.events.add(measure.Event{At: time.Duration(at), Kind: kind, Text: text})
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

func (q *eventQueue) drain() []measure.Event {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.events
	q.events = nil
	return taken
}
