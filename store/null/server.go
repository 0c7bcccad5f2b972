package null

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/arrival"
)

// Options of a responder. The zero value is a standalone server that replies at once. The goroutines of all connections
// call the functions.
type Options struct {
	Count int64 // documents that a count reports

	Role Role // its place in a topology

	// Service is the time between the arrival of an operation and its reply; nil replies at once. Commands that are not
	// operations (greetings, pings) get their reply at once.
	Service ServiceTime
	// Stalls are windows without replies. Replies that are due in a stall are sent at its end.
	Stalls []Window
	// Outages are windows in which new connections are reset; at their start all connections are. A client sees a
	// connection that opens and closes at once, not a refused port.
	Outages []Window
	// Holes are windows from whose start on nothing arrives any more on connections that were opened before its end, as
	// behind a firewall that has lost their state. They stay open. Connections that are opened later work.
	Holes []Window
	// Fail returns the failure of operation n (counted from 0), nil to reply.
	Fail func(n uint64, command string) *Failure

	// Capture gets every message of connection conn (counted from 0). The bytes are valid during the call only.
	Capture func(conn int, msg []byte)
	// Observe gets the times when operation n arrived, by the kernel's stamp if there is one, and when its reply was
	// ready to be written. Tests compare the measurement of a client with them.
	Observe func(n uint64, arrived, answered time.Time)
	// Document is the size in bytes of the documents of replies; 0 for those of YCSB.
	Document int
}

// timed reports whether the times of arrival and reply matter.
func (o *Options) timed() bool {
	return o.Service != nil || len(o.Stalls)+len(o.Holes) > 0 || o.Observe != nil
}

// server is shared by all connections of a responder.
type server struct {
	opts      Options
	docs      canned
	templates templates
	role      atomic.Pointer[roleState]
	addr      string

	requests atomic.Uint64 // operations so far
	began    atomic.Pointer[time.Time]

	mu      sync.Mutex
	conns   map[*conn]struct{}
	opened  int
	closing atomic.Bool // set under mu
	working sync.WaitGroup
}

// roleState is a role with its reply to hello.
type roleState struct {
	Role
	helloDoc []byte
}

func newServer(addr string, opts Options) *server {
	s := &server{
		opts: opts, docs: newCanned(opts.Document), templates: newTemplates(opts.Count), addr: addr,
		conns: make(map[*conn]struct{}),
	}
	s.setRole(opts.Role)
	return s
}

func (s *server) setRole(r Role) {
	r = r.complete(s.addr)
	s.role.Store(&roleState{Role: r, helloDoc: r.hello()})
}

// Serve answers on ln until ctx ends, then closes ln and all connections. It returns nil after ctx ended, otherwise the
// failure of ln.
func Serve(ctx context.Context, ln net.Listener, opts Options) error {
	s := newServer(ln.Addr().String(), opts)
	stop := context.AfterFunc(ctx, func() { s.shutdown(ln) })
	defer stop()
	return s.serve(ln)
}

func (s *server) serve(ln net.Listener) error {
	defer s.working.Wait()
	for {
		nc, err := ln.Accept()
		if err != nil {
			s.shutdown(ln)
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		s.admit(nc)
	}
}

// admit starts to serve a connection, unless there is an outage.
func (s *server) admit(nc net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() || s.outage() {
		reset(nc)
		return
	}
	if s.opts.Observe != nil {
		nc = arrival.Wrap(nc)
	}
	c := &conn{s: s, nc: nc, id: s.opened, since: time.Now()}
	s.opened++
	s.conns[c] = struct{}{}
	s.working.Go(c.run)
}

// outage reports whether it is time for an outage.
func (s *server) outage() bool {
	began := s.began.Load()
	if began == nil {
		return false
	}
	at := time.Since(*began)
	for _, w := range s.opts.Outages {
		if at >= w.From && at < w.To {
			return true
		}
	}
	return false
}

// reset closes a connection by a TCP reset.
func reset(nc net.Conn) {
	if tcp, ok := nc.(interface{ SetLinger(sec int) error }); ok {
		_ = tcp.SetLinger(0) // fails only for a closed connection
	}
	_ = nc.Close()
}

func (s *server) killAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		reset(c.nc)
	}
}

func (s *server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// shutdown closes the listener and all connections. Later calls do nothing.
func (s *server) shutdown(ln net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Swap(true) {
		return
	}
	_ = ln.Close() // ends serve, which returns a failure of ln
	for c := range s.conns {
		_ = c.nc.Close()
	}
}

// begin returns the time of the first operation, which is now if there was none. Stalls and outages count from it.
func (s *server) begin() time.Time {
	if t := s.began.Load(); t != nil {
		return *t
	}
	now := time.Now()
	if s.began.CompareAndSwap(nil, &now) {
		for _, w := range s.opts.Outages {
			go s.killAt(now.Add(w.From))
		}
	}
	return *s.began.Load()
}

func (s *server) killAt(at time.Time) {
	var timer sleeper
	defer timer.close()
	timer.until(at)
	s.killAll()
}

// due is the time of the reply to an operation that arrived at the given time.
func (s *server) due(n uint64, arrived time.Time) time.Time {
	began := s.begin()
	at := arrived.Sub(began)
	if s.opts.Service != nil {
		at += s.opts.Service(n)
	}
	for _, w := range s.opts.Stalls {
		at = w.postpone(at)
	}
	return began.Add(at)
}
