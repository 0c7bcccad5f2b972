package wire

import (
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// exchange is the state of one request: its round trips and its result.
type exchange struct {
	s        *Session
	p        *port
	l        *link
	res      *store.Result
	now      time.Time
	deadline time.Time
	left     time.Duration
	write    bool
}

// call sends the message in the session's buffer and parses the reply in reply buffer slot. If there is no usable
// reply, it fills the result and returns false.
func (x *exchange) call(r *reply, slot int) bool {
	x.res.Server = x.l.addr
	doc, f := x.l.roundTrip(x.s.out, x.now, x.deadline, slot)
	if f.err == nil {
		if err := r.parse(doc); err != nil {
			f = protocolFault(err)
		}
	}
	if f.err != nil {
		x.broken(f)
		return false
	}
	x.res.Attempts = 1
	x.res.OperationTime, x.res.SnapshotTime = r.operation, max(x.res.SnapshotTime, r.snapshot)
	if r.clusterTime != nil {
		x.l.noteClusterTime(r.clusterTime)
	}
	x.s.causal.note(r)
	return true
}

// broken fills the result of a failed round trip and closes the connection, because a late reply on it would be taken
// for the reply to another request.
func (x *exchange) broken(f fault) {
	msg := store.OneLine(f.err.Error())
	outcome := store.Unsent(x.write)
	if f.sent {
		x.res.Attempts = 1
		if x.write {
			outcome = store.Indeterminate
		}
	}
	x.res.Fail(outcome, f.why, msg)
	x.s.drop(x.p, msg)
}

// refused fills the result for a reply with ok: 0. If the code says that the server is no longer the primary, the next
// request searches for the new one.
func (x *exchange) refused(r *reply) {
	e := r.serverError()
	x.res.SetServerError(x.write, e)
	if store.ChangesPrimary(e.Code) {
		x.s.drop(x.p, "answered "+e.Error())
	}
}

// unconfirmed fills the result for a write that the server applied without the write concern.
func (x *exchange) unconfirmed(r *reply, applied int) {
	e := r.concern()
	x.res.SetWriteErrors(applied, nil, e)
	if store.ChangesPrimary(e.Code) {
		x.s.drop(x.p, "reported "+e.Error())
	}
}

// read sends a find or an aggregate and reads its cursor to the end.
func (x *exchange) read(req *workload.Request) {
	if req.Verb == workload.Find {
		x.s.out = x.l.appendFind(x.s.out, req, x.timeLeft())
	} else {
		x.s.out = x.l.appendAggregate(x.s.out, req)
	}
	var r reply
	var ns []byte // in the first reply buffer, which further batches do not use
	for slot := 0; ; slot = 1 {
		if !x.call(&r, slot) {
			return
		}
		if !r.ok {
			x.refused(&r)
			return
		}
		if r.concernError != nil && x.write {
			x.unconfirmed(&r, 0)
			return
		}
		if !x.take(&r) {
			return
		}
		if r.cursorID == 0 {
			break
		}
		if slot == 0 {
			ns = r.ns
		}
		x.s.out = x.l.appendGetMore(x.s.out, r.cursorID, ns, 0)
		x.now = time.Now()
	}
	if x.res.Docs == 0 && !req.MayBeEmpty {
		x.res.Outcome = store.NotFound
	}
}

// timeLeft is the remaining time for maxTimeMS, 0 without a deadline.
func (x *exchange) timeLeft() time.Duration {
	if x.left >= forever {
		return 0
	}
	return x.left
}

// take counts the documents of one batch.
func (x *exchange) take(r *reply) bool {
	if !r.hasBatch || r.cursorID != 0 && x.res.Docs == 0 && len(r.ns) == 0 {
		x.broken(protocolFault(errNoBatch))
		return false
	}
	first, docs, size, err := walkBatch(r.batch)
	if err != nil {
		x.broken(protocolFault(err))
		return false
	}
	if x.res.Docs == 0 {
		x.res.Doc = first
	}
	x.res.Docs += docs
	x.res.Bytes += size
	return true
}
