package wire

import (
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// tally has the results of the messages of one write request.
type tally struct {
	messages int
	sent     int // documents or statements in them
	applied  int // known to be inserted or matched
	failed   []store.ServerError
	concern  *store.ServerError
	many     bool // a statement may match any number of documents
}

// insert sends documents, in several messages if the server's limits require it.
func (x *exchange) insert(req *workload.Request) {
	var t tally
	docs, n := req.Docs, 0
	for more := true; more; {
		x.again(&t)
		x.s.out, n = x.l.appendInsert(x.s.out, req, docs, x.timeLeft())
		for _, d := range docs[:n] {
			x.res.Bytes += len(d)
		}
		docs = docs[n:]
		more = len(docs) > 0
		if !x.put(&t, n, more) {
			return
		}
		more = more && (req.Unordered || len(t.failed) == 0)
	}
	if x.settled(&t) {
		return
	}
	if x.res.Docs = t.applied; t.applied != t.sent {
		x.res.Fail(store.Indeterminate, store.Protocol,
			fmt.Sprintf("the server reports %d of %d documents inserted and no error", t.applied, t.sent))
	}
}

// update sends statements of an update or a delete, in several messages if the server's limits require it.
func (x *exchange) update(req *workload.Request) {
	var t tally
	for i := range req.Updates {
		t.many = t.many || req.Updates[i].Many
	}
	list, n := req.Updates, 0
	for more := true; more; {
		x.again(&t)
		x.s.out, n = x.l.appendUpdate(x.s.out, req, list, x.timeLeft())
		for i := range list[:n] {
			x.res.Bytes += len(list[i].Update)
		}
		list = list[n:]
		more = len(list) > 0
		if !x.put(&t, n, more) {
			return
		}
		more = more && (req.Unordered || len(t.failed) == 0)
	}
	if !x.settled(&t) {
		x.res.SetMatched(t.sent, t.applied, req.MayBeEmpty)
	}
}

// again reads the clock before every message but the first.
func (x *exchange) again(t *tally) {
	if t.messages > 0 {
		x.now = time.Now()
		if x.left < forever {
			x.left = x.deadline.Sub(x.now)
		}
	}
}

// put sends one message with n documents or statements and applies the reply. It returns false if the result is final.
func (x *exchange) put(t *tally, n int, more bool) bool {
	if n == 0 {
		x.unfit(t, more)
		return false
	}
	if x.left <= 0 {
		x.res.Fail(store.NotApplied, store.Timeout, "the deadline passed before the rest of the batch could be sent")
		x.partly(t)
		return false
	}
	t.messages++
	if x.l.use.settings.unacknowledged && !more {
		return x.handOver(t, n)
	}
	var r reply
	if !x.call(&r, 0) {
		x.partly(t)
		return false
	}
	if !r.ok {
		x.refused(&r)
		x.partly(t)
		return false
	}
	t.take(&r, n)
	return true
}

// take adds the reply to a message with n documents or statements.
func (t *tally) take(r *reply, n int) {
	if r.concernError != nil {
		t.concern = r.concern()
	}
	if r.writeErrors != nil {
		for _, e := range r.statementErrors() {
			e.Index += t.sent
			t.failed = append(t.failed, e)
		}
	}
	t.sent += n
	if !t.many {
		r.n = min(r.n, int64(n))
	}
	t.applied += int(max(r.n, 0))
}

// handOver sends the last message of an unacknowledged write, which has no reply.
func (x *exchange) handOver(t *tally, n int) bool {
	if f := x.l.send(x.s.out, x.now, x.deadline); f.err != nil {
		x.broken(f)
		return false
	}
	x.res.Attempts = 1
	t.sent += n
	return true
}

// settled fills the result of a write when all replies have arrived or none is expected. It returns false if the server
// reported no error; then the counts decide.
func (x *exchange) settled(t *tally) bool {
	switch {
	case len(t.failed) > 0 || t.concern != nil:
		x.res.SetWriteErrors(t.applied, t.failed, t.concern)
		if t.concern != nil && store.ChangesPrimary(t.concern.Code) {
			x.s.drop(x.p, "reported "+t.concern.Error())
		}
	case x.l.use.settings.unacknowledged:
		x.res.Outcome, x.res.Docs = store.Unacknowledged, t.sent
	default:
		return false
	}
	return true
}

// partly corrects a failure in the middle of a batch of several messages: the proof that nothing was applied is valid
// for the rest only.
func (x *exchange) partly(t *tally) {
	x.res.Docs = t.applied
	if t.messages > 0 && t.sent > 0 {
		x.res.Attempts = 1
		switch {
		case x.l.use.settings.unacknowledged:
			x.res.Outcome = store.Indeterminate
		case x.res.Outcome != store.Indeterminate && t.applied > 0:
			x.res.Outcome = store.Partial
		}
	}
}

// unfit is the result of a request without documents, or with a document that is too large for a message.
func (x *exchange) unfit(t *tally, more bool) {
	msg := "the request holds no documents"
	if more {
		msg = fmt.Sprintf("a document is larger than the server's limit of %d bytes for a message", x.l.greeting.maxMessage)
	}
	x.res.Fail(store.NotApplied, store.Client, msg)
	x.partly(t)
}
