package null

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Options say what a responder does besides answering at once. The zero value is a standalone server
// with YCSB's default record that answers as fast as it can.
type Options struct {
	FieldLen int   // bytes in each of the ten fields of the canned document; 0 means 100
	Count    int64 // documents that a count reports

	Role Role // what it says of its place in a topology

	// Service is the time between the arrival of an operation and its answer; nil answers at once.
	// Commands that are no operations (greetings, pings) are always answered at once.
	Service ServiceTime
	// Spin is the last part of a wait that is spent polling the clock instead of sleeping. A sleep ends
	// some tens of microseconds late (more on a busy machine); with 100 µs of Spin most waits end
	// within a few. It keeps a core busy, so it suits few connections and low rates.
	Spin time.Duration
	// Stalls are the spans in which nothing is answered; what falls due in one is answered at its end.
	Stalls []Window
	// Outages are the spans in which every new connection is reset; at their start all connections
	// are. A client sees a connection that opens and closes at once, not a refused port.
	Outages []Window
	// Fail returns what to do with operation n (counted from 0) instead of answering it, nil to answer
	// it. It is called from the goroutines of all connections.
	Fail func(n uint64, command string) *Failure

	// Capture sees every message as it arrived, of connection conn (counted from 0). The bytes are
	// valid during the call only. It is called from the goroutines of all connections.
	Capture func(conn int, msg []byte)
	// Observe is told when operation n arrived and when its answer was handed to the kernel: the truth
	// that a client's measurement is compared with. It is called from the goroutines of all connections.
	Observe func(n uint64, arrived, answered time.Time)
}

// timed reports whether the moments of arrival and answer matter.
func (o *Options) timed() bool {
	return o.Service != nil || len(o.Stalls) > 0 || o.Observe != nil
}

// server is the state that all connections of a responder share.
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

// roleState is a role with the answer to hello that follows from it.
type roleState struct {
	Role
	helloDoc []byte
}

func newServer(addr string, opts Options) *server {
	if opts.FieldLen <= 0 {
		opts.FieldLen = 100
	}
	s := &server{
		opts: opts, docs: newCanned(opts.FieldLen), templates: newTemplates(opts.Count), addr: addr,
		conns: make(map[*conn]struct{}),
	}
	s.setRole(opts.Role)
	return s
}

func (s *server) setRole(r Role) {
	r = r.complete(s.addr)
	s.role.Store(&roleState{Role: r, helloDoc: r.hello()})
}

// Serve answers on ln until ctx ends, then closes ln and all connections. It returns nil after ctx
// ended, otherwise what went wrong with ln.
func Serve(ctx context.Context, ln net.Listener, opts Options) error {
	s := newServer(ln.Addr().String(), opts)
	stop := context.AfterFunc(ctx, func() { s.shutdown(ln) })
	defer stop()
	return s.serve(ln)
}

// serve accepts connections until the server is shut down or ln fails.
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
	c := &conn{s: s, nc: nc, id: s.opened}
	s.opened++
	s.conns[c] = struct{}{}
	s.working.Go(c.run)
}

// outage reports whether the present moment lies in one of the outages.
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

// reset closes a connection so that the client gets a reset and not an orderly end.
func reset(nc net.Conn) {
	if tcp, ok := nc.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // fails only on a connection that is already gone
	}
	_ = nc.Close()
}

// killAll resets all connections.
func (s *server) killAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		reset(c.nc)
	}
}

// forget takes a connection that has ended out of the books.
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
	_ = ln.Close() // it only ends accepting, and that it fails is seen there
	for c := range s.conns {
		_ = c.nc.Close()
	}
}

// begin marks the moment of the first operation, from which stalls and outages count.
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

// killAt resets all connections at the given moment.
func (s *server) killAt(at time.Time) {
	var timer sleeper
	defer timer.close()
	timer.until(at)
	s.killAll()
}

// due is when an operation that arrived at the given moment must be answered.
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
