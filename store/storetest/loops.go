package storetest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/loop"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// onLoops reports whether the sessions of a store can wait on an event loop.
func onLoops(s store.Store) bool {
	l, ok := s.(loop.Store)
	return ok && loop.Supported && l.OnLoops()
}

// mostLooped is the largest number of sessions of a [looped] store.
const mostLooped = 256

// OnLoop returns a store whose sessions all wait on one event loop, as in a load. The loop ends with the store.
func OnLoop(tb testing.TB, s store.Store) store.Store {
	tb.Helper()
	l, err := loop.New(time.Now())
	if err != nil {
		tb.Fatal(err)
	}
	st := &looped{Store: s}
	for range mostLooped {
		x := &loopedSession{done: make(chan struct{})}
		x.task = l.Go(x.serve)
		st.free = append(st.free, x)
		st.all = append(st.all, x)
	}
	st.running.Go(l.Run)
	return st
}

type looped struct {
	store.Store
	mu      sync.Mutex
	free    []*loopedSession
	all     []*loopedSession
	running sync.WaitGroup
	once    sync.Once
}

// loopedSession runs each call on its task.
type loopedSession struct {
	inner store.Session
	task  *loop.Task
	done  chan struct{}
	mu    sync.Mutex
	job   func() // nil for none
	ended bool
}

func (s *looped) Session(worker int) (store.Session, error) {
	inner, err := s.Store.Session(worker)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) == 0 {
		return nil, errors.Join(errors.New("too many sessions for one test"), inner.Close())
	}
	x := s.free[0]
	s.free = s.free[1:]
	x.inner = inner
	x.call(func() { inner.(loop.Session).RunOn(x.task) })
	return x, nil
}

func (s *looped) Close() error {
	s.once.Do(func() {
		for _, x := range s.all {
			x.mu.Lock()
			x.ended = true
			x.mu.Unlock()
			x.task.Wake()
		}
		s.running.Wait()
	})
	return s.Store.Close()
}

// serve is the task.
func (x *loopedSession) serve(t *loop.Task) {
	for {
		t.Park(loop.Never)
		x.mu.Lock()
		job, ended := x.job, x.ended
		x.job = nil
		x.mu.Unlock()
		if job != nil {
			job()
			x.done <- struct{}{} // call waits for it
		}
		if ended {
			return
		}
	}
}

// call runs a job on the task and waits for its end.
func (x *loopedSession) call(job func()) {
	x.mu.Lock()
	x.job = job
	x.mu.Unlock()
	x.task.Wake()
	<-x.done
}

func (x *loopedSession) Do(deadline time.Time, req *workload.Request, res *store.Result) {
	x.call(func() { x.inner.Do(deadline, req, res) })
}

func (x *loopedSession) Close() (err error) {
	x.call(func() { err = x.inner.Close() })
	return err
}
