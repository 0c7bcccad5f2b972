// Package serve shows records in a browser: a folder of records, the report of each, comparisons, and records that are
// being written.
//
// It shows what the records say and measures nothing. Its only actions stop a running process and revert the faults of
// a lab. The look of a page comes from report/html.
package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
)

// Bounds of what a client may take. Event streams renew their deadline with everything that is sent.
const (
	readTimeout  = 15 * time.Second
	writeTimeout = 2 * time.Minute
	idleTimeout  = 2 * time.Minute
	maxHeader    = 32 << 10
	maxBody      = 4 << 10
	maxStreams   = 64
	atOnce       = 2 // pages that are made at the same time
)

// Options say what is served.
type Options struct {
	// Dir is a folder of records. With Alone it is the directory of one record, which need not be there yet.
	Dir   string
	Alone bool
	// Token is needed to change anything and, beyond loopback, to see anything; it is made if empty.
	Token string
	// Names are further origins at which the page is reached: https://NAME of a proxy with TLS, or http://NAME:PORT.
	Names []string
	// Further returns the directories of further records, nil for none. Those that do not exist are left out.
	Further func() []string
	// Labs are the labs of this machine, shown to clients that know the token; nil for none.
	Labs Labs
	// Metrics adds /metrics for Prometheus.
	Metrics bool
	Tool    record.Tool
	// Open reads a record for its page; nil for [report.Open]. Tests break it.
	Open func(dir string) (*report.Source, error)
	// Compare compares several records; without it they are shown side by side.
	Compare report.Comparer
}

// Server is the page. It serves from [Server.Serve] to [Server.Close].
type Server struct {
	o       Options
	guard   *Guard
	ln      net.Listener
	http    *http.Server
	library *library
	pages   *pages
	asked   asked
	meters  *meters // nil without metrics
	// labPasts is the usage of the hosts of labs while a client followed them.
	labPasts labPasts
	courses  courses

	ctx    context.Context // ends when the server closes, and with it every stream
	cancel context.CancelFunc

	mu        sync.Mutex
	followers map[string]*follower
	streams   int
}

// New makes a server on a listener, which [Server.Close] closes. The error says what is wrong with the options.
func New(ln net.Listener, o Options) (*Server, error) {
	guard, err := newGuard(ln.Addr(), o.Token, o.Names...)
	if err != nil {
		return nil, err
	}
	lib, err := openLibrary(o.Dir, o.Alone || o.Further != nil, o.Further)
	if err != nil {
		return nil, fmt.Errorf("cannot open the folder %s: %w", o.Dir, err)
	}
	s := &Server{o: o, guard: guard, ln: ln, library: lib, pages: newPages(o),
		followers: map[string]*follower{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if o.Metrics {
		s.meters = newMeters(s)
	}
	s.http = &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: readTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return s.ctx },
	}
	return s, nil
}

// Address is the address to open in a browser, with the token if it was made here.
func (s *Server) Address() string { return s.guard.Address() }

// Listens is the address and port that the page listens on.
func (s *Server) Listens() string { return s.ln.Addr().String() }

// Serve answers requests until the server is closed.
func (s *Server) Serve() error {
	if err := s.http.Serve(s.ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// closeWithin is the time for open pages to receive the last picture.
const closeWithin = 500 * time.Millisecond

// Close ends the server. Clients that follow a record that has ended receive its end, if that takes at most half a
// second.
func (s *Server) Close() error {
	s.finish(closeWithin)
	s.cancel()
	ctx, stop := context.WithTimeout(context.Background(), closeWithin)
	defer stop()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = s.http.Close()
	}
	return errors.Join(err, s.library.close())
}

func (s *Server) finish(limit time.Duration) {
	s.mu.Lock()
	var all []*follower
	for _, f := range s.followers {
		all = append(all, f)
	}
	s.mu.Unlock()
	deadline := time.After(limit)
	for _, f := range all {
		f.hurry()
	}
	for _, f := range all {
		if _, held := record.Holder(f.dir); held || f.dir == "" {
			continue // it is still running
		}
		select {
		case <-f.done:
		case <-deadline:
			return
		}
	}
	for s.streaming() > 0 && len(all) > 0 { // they end by themselves when they have sent the end
		select {
		case <-deadline:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (s *Server) streaming() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams
}
