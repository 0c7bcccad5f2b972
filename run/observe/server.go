package observe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
)

// lookAtMost is how long a server may take for its statistics. One that is busy takes longer; the gaps show it.
const lookAtMost = 5 * time.Second

// Opener opens a store that is used for nothing but watching.
type Opener func(ctx context.Context) (store.Store, error)

// server is the primary or the router of a deployment.
type server struct {
	open     Opener
	address  string // by which it is called when it does not say its own
	st       store.Store
	observer store.Observer
	status   *statusReader
	replica  replicaReader
	set      bool // it may be a member of a replica set
}

// NewServer returns the server behind a store as a source called "server:ADDRESS". The store is opened at the
// first look, and again after a failure.
func NewServer(address string, open Opener) Source {
	return &server{open: open, address: address, status: newStatusReader(), set: true}
}

// NewMember returns one server of a lab as [NewServer] does. It is not asked for its replica set: the lab tells of
// elections and of who is behind.
func NewMember(address string, open Opener) Source {
	return &server{open: open, address: address, status: newStatusReader()}
}

// Close implements [Source].
func (s *server) Close() error {
	if s.st == nil {
		return nil
	}
	err := s.st.Close()
	s.st, s.observer = nil, nil
	return err
}

// Look implements [Source].
func (s *server) Look(ctx context.Context) (Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, lookAtMost)
	defer cancel()
	if err := s.connect(ctx); err != nil {
		return Reading{}, err
	}
	doc, err := s.observer.ServerStatus(ctx)
	if err != nil {
		return Reading{}, s.lost("the statistics of the server (serverStatus)", err)
	}
	now := time.Now()
	values, events := s.status.read(doc, now)
	r := Reading{Source: "server:" + s.name(), Values: values, Events: events}
	if len(values) == 0 {
		return r, never("the server's serverStatus says nothing about what it does, so there are no statistics of it beside the load")
	}
	if s.set {
		r.Events = append(r.Events, s.lookAtSet(ctx, values)...)
	}
	return r, nil
}

// lookAtSet asks for the replica set, until it is told that there is none.
func (s *server) lookAtSet(ctx context.Context, values map[string]float64) []Event {
	doc, err := s.observer.ReplicaStatus(ctx)
	var refused *store.ServerError
	switch {
	case errors.As(err, &refused):
		s.set = false
		return nil
	case err != nil:
		return nil // the next look finds out
	}
	return s.replica.read(doc, values, time.Now())
}

func (s *server) name() string {
	if s.status.server != "" {
		return s.status.server
	}
	return s.address
}

// connect opens the store where it is not open.
func (s *server) connect(ctx context.Context) error {
	if s.observer != nil {
		return nil
	}
	st, err := s.open(ctx)
	if err != nil {
		return fmt.Errorf("the server cannot be looked at beside the load: %w", err)
	}
	observer, ok := st.(store.Observer)
	if !ok {
		return errors.Join(never("this target has no statistics of its own"), st.Close())
	}
	s.st, s.observer = st, observer
	return nil
}

// lost decides whether asking again can help: a refusal is final, a lost connection is not.
func (s *server) lost(what string, err error) error {
	var refused *store.ServerError
	if errors.As(err, &refused) && !store.ChangesPrimary(refused.Code) {
		return never("%s cannot be read: %s", what, store.OneLine(refused.Error()))
	}
	return fmt.Errorf("%s: %w", what, err)
}
