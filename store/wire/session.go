package wire

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/loop"
	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// forever is the deadline of a request without one.
const forever = 24 * time.Hour

// Session is the connection of one worker. It has two if reads go to another member than writes.
type Session struct {
	store  *Store
	worker int
	task   *loop.Task // of the event loop, nil on a goroutine
	lsid   []byte     // {id: UUID}
	ids    objectIDs
	out    []byte // the current message
	writes port
	reads  port    // used only if reads have another server than writes
	others []*port // for read preferences of single requests
	causal *causal
	txn    transaction
	feeds  []*feed // change streams
	turn   uint64  // of the topology at the last check of the server for reads
}

// port has the preference for a server and the connection, if there is one.
type port struct {
	want preference
	link *link
	from choice // of the server
}

func newSession(s *Store, worker int) *Session {
	return &Session{
		store: s, worker: max(worker, 0), lsid: newLSID(), ids: newObjectIDs(), out: make([]byte, 0, 512),
		writes: port{want: primary}, reads: port{want: s.st.preference}, causal: newCausal(s.st),
	}
}

// newLSID makes {id: UUID}, a random UUID of version 4.
func newLSID() []byte {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails: the runtime ends the program instead
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	d, start := rawbson.Open(nil)
	return rawbson.Close(bsoncore.AppendBinaryElement(d, "id", 4, id[:]), start)
}

// Do sends req once and waits for the reply until deadline (plus a tenth of the remaining time, at least 1 ms). A zero
// deadline is none. getMore commands and the further messages of a batch that is too large for one do not count as
// attempts.
func (s *Session) Do(deadline time.Time, req *workload.Request, res *store.Result) {
	res.Reset()
	now := time.Now()
	left := deadline.Sub(now)
	if deadline.IsZero() {
		left, deadline = forever, now.Add(forever)
	}
	write := req.Writes()
	if left <= 0 {
		s.unsent(res, write, store.Timeout, "the deadline had passed before the request could be sent")
		return
	}
	p := s.portOf(write, req)
	if p.link == nil {
		if !s.connect(p, now, deadline, write, res) {
			return
		}
		now = time.Now()
		if left = deadline.Sub(now); left <= 0 {
			s.unsent(res, write, store.Timeout, "the deadline passed while connecting")
			return
		}
	}
	x := exchange{s: s, p: p, l: p.link, res: res, now: now, deadline: deadline, left: left, write: write}
	x.l.arrived, x.l.delayed = time.Time{}, 0
	x.l.use = x.l.shapeOf(req.Concern, s.lsid)
	s.causal.join(x.l)
	if req.Within || req.Verb == workload.Commit || req.Verb == workload.Abort {
		s.txn.join(s, x.l, req)
	}
	switch req.Verb {
	case workload.Find, workload.Aggregate:
		x.read(req)
	case workload.Distinct:
		x.distinct(req)
	case workload.Watch:
		x.watch(req)
	case workload.Insert:
		x.insert(req)
	case workload.Update, workload.Delete:
		x.update(req)
	case workload.FindAndModify:
		x.findAndModify(req)
	case workload.Commit, workload.Abort:
		x.end(req)
	default:
		s.unsent(res, write, store.Client, "unknown verb "+req.Verb.String())
		return
	}
	res.Arrived, res.Delayed = x.l.arrivedAfter(now), x.l.delayed
}

// portOf returns the port of a request. A transaction has one server.
func (s *Session) portOf(write bool, req *workload.Request) *port {
	if req.Within || req.Concern == nil || req.Concern.Preference == "" || write {
		return s.port(write || req.Within)
	}
	want, _ := parsePreference(req.Concern.Preference) // an unknown one was refused before
	switch {
	case want == s.reads.want:
		return s.port(false)
	case want == primary || s.writes.link != nil && s.writes.link.greeting.setName == "":
		return &s.writes
	}
	for _, p := range s.others {
		if p.want == want {
			return p
		}
	}
	s.store.watchOnce()
	p := &port{want: want}
	s.others = append(s.others, p)
	return p
}

// port returns the port of a read or a write. Reads have a separate one only in a replica set with a read preference
// other than primary.
func (s *Session) port(write bool) *port {
	if write || s.reads.want == primary || s.writes.link != nil && s.writes.link.greeting.setName == "" {
		return &s.writes
	}
	s.reconsider()
	return &s.reads
}

// unsent fills the result of a request that was not sent.
func (s *Session) unsent(res *store.Result, write bool, why store.Reason, msg string) {
	res.Fail(store.Unsent(write), why, msg)
}

// connect gives p a connection within deadline, or fills res and returns false.
func (s *Session) connect(p *port, now, deadline time.Time, write bool, res *store.Result) bool {
	ctx, cancel := context.WithDeadline(s.store.topology.ctx, deadline)
	defer cancel()
	err := s.open(ctx, p)
	res.PoolWait = time.Since(now)
	if err == nil {
		return true
	}
	var auth *authError
	var refusal *store.ServerError
	switch {
	case errors.As(err, &auth) && errors.As(err, &refusal):
		res.SetServerError(write, refusal)
		res.Outcome, res.Message = store.Rejected, store.OneLine(err.Error())
	case errors.As(err, &auth):
		res.Fail(store.Rejected, store.Client, store.OneLine(err.Error()))
	default:
		s.unsent(res, write, store.Selection, store.OneLine(err.Error()))
	}
	return false
}

// open gives p a connection. Finding a server and connecting may block, so an event loop runs other tasks during that
// time.
func (s *Session) open(ctx context.Context, p *port) error {
	var l *link
	var c choice
	var err error
	if s.task == nil {
		l, c, err = s.store.connect(ctx, p.want, s.worker)
	} else {
		s.task.Offload(func() { l, c, err = s.store.connect(ctx, p.want, s.worker) })
	}
	if err == nil && s.task != nil {
		if err = l.moveTo(s.task); err != nil {
			l.close()
		}
	}
	if err != nil {
		return err
	}
	l.shape, l.ids, l.causal = newShape(s.store.st, l.greeting, s.lsid), &s.ids, s.causal
	p.link, p.from = l, c
	return nil
}

// If a connection cannot wait on the loop, the next request makes a new one, and reports the error if that fails too.
func (s *Session) RunOn(t *loop.Task) {
	s.task = t
	for _, p := range s.ports() {
		if p.link == nil {
			continue
		}
		if p.link.moveTo(t) != nil {
			p.link.close()
			p.link = nil
		}
	}
}

// drop closes p's connection and reports its server for another greeting.
func (s *Session) drop(p *port, why string) {
	s.store.topology.report(p.from, why)
	p.link.close()
	p.link = nil
}

func (s *Session) ports() []*port { return append([]*port{&s.writes, &s.reads}, s.others...) }

// Close closes the session's connections. After unacknowledged writes it first waits until the server has read them
// all, for three quarters of the timeout at most.
func (s *Session) Close() error {
	for _, p := range s.ports() {
		if p.link != nil {
			p.link.settle(s.store.st.timeout)
			p.link.close()
			p.link = nil
		}
	}
	return nil
}
