package load

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/store"
)

// gapLeast is the shortest time without a success that makes an event. Single failures are only counted.
const gapLeast = 100 * time.Millisecond

// outage detects when all operations fail, and when the first one succeeds again. Workers read open after every
// success; it is a shared word that is seldom written. Only failures and the first success after one take the lock.
//
// Failures and successes may alternate thousands of times a second, so their cost must not depend on the number of
// workers. The time of the last success is therefore only searched for an outage that lasts ([latestSuccess]).
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

// failed notes a failed operation that was sent at start.
func (c *pool) failed(start, end int64, res *store.Result) {
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
func (c *pool) succeeded(end int64) {
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

// latestSuccess returns the time of the last success, -1 if there is none. It returns the first success that it finds
// at or after enough, so it checks fewer workers if more operations succeed.
func latestSuccess(workers []*worker, enough int64) int64 {
	last := int64(-1)
	for _, w := range workers {
		if last = max(last, w.lastOK.Load()); last >= enough {
			break
		}
	}
	return last
}

// watchOutage announces a current outage for live views.
func (c *pool) watchOutage(now int64) {
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

// announce reports the begin of an outage once. last is the last success before it, -1 if there is none. The caller
// holds the lock.
func (o *outage) announce(c *pool, last int64) {
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

// maxEvents bounds the queue of events until the controller takes them.
const maxEvents = 4096

// eventQueue holds events from any goroutine until the controller gives them to the sink.
type eventQueue struct {
	mu     sync.Mutex
	events []measure.Event
	lost   int64
}

func (c *pool) event(at int64, kind, text string) {
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
