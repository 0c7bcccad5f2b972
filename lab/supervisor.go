package lab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/lab/volume"
	"github.com/plimsoll-bench/plimsoll/record"
)

// The states of a lab.
const (
	stateStarting = "starting"
	stateUp       = "up"
	stateStopping = "stopping"
	stateFailed   = "failed"
	stateGone     = "gone"
)

// teardownLimit is how long the supervisor takes to remove what it made in order. What is left then is in the journal.
const teardownLimit = 25 * time.Second

// supervisor is the parent of everything in one lab.
type supervisor struct {
	dir     string
	order   order
	builder builder
	journal *journal.Journal
	events  *eventLog
	ctx     context.Context // of everything that it does; ends when it is to stop
	stop    context.CancelFunc
	locks   keyed

	mu      sync.Mutex // guards what follows
	lab     record.Lab // what does not change while it is up
	planned Planned
	hosts   map[string]host.Host
	volumes map[string]volume.Volume // by member
	cluster topology.Cluster
	faults  []*fault
	lastID  int
	down    map[string]string // members that were ended on purpose, and by what
	// unmounted are the members whose filesystem went with the power of their host.
	unmounted map[string]bool
	// shortages are by host; causes say why members ended that ended by themselves.
	shortages map[string]shortage
	causes    map[string]string
	// healed is when the last fault of the disks of a member's volume ended.
	healed map[string]time.Time
}

// Supervise keeps one lab, from making it until it is told to stop or ctx ends; then it removes what it made. It is
// what the program that [Up] starts does.
func Supervise(ctx context.Context, dir string) error {
	release, err := lock(filepath.Join(dir, aliveFile))
	if errors.Is(err, errBusy) {
		return errors.New("this lab is being kept or removed by another process already")
	}
	if err != nil {
		return fmt.Errorf("cannot take the lab: %w", err)
	}
	defer release()
	var o order
	if err := readJSON(dir, orderFile, &o); err != nil {
		return fmt.Errorf("there is no order for a lab: %w", err)
	}
	if err := writeJSON(dir, supervisorFile, procid.Self()); err != nil {
		return err
	}
	j, err := journal.Open(dir)
	if err != nil {
		return err
	}
	defer j.Close()
	r := &rooms{dir: dir, order: o, journal: j}
	s, err := newSupervisor(ctx, dir, o, r, j)
	if err != nil {
		return err
	}
	defer s.events.close()
	r.progress = func(text string) { s.event("progress", text, nil) }
	return s.serve()
}

func newSupervisor(ctx context.Context, dir string, o order, b builder, j *journal.Journal) (*supervisor, error) {
	events, err := openEvents(dir, time.Now)
	if err != nil {
		return nil, err
	}
	s := &supervisor{dir: dir, order: o, builder: b, journal: j, events: events,
		hosts: map[string]host.Host{}, volumes: map[string]volume.Volume{}, down: map[string]string{},
		unmounted: map[string]bool{}, healed: map[string]time.Time{}, shortages: map[string]shortage{}, causes: map[string]string{}}
	s.ctx, s.stop = context.WithCancel(ctx)
	s.lab = record.Lab{SchemaVersion: record.SchemaVersion, Name: o.Spec.Name, State: stateStarting, Started: o.Began,
		Specification: o.Spec, Engine: o.Spec.Engine.Name}
	return s, nil
}

// serve answers on the socket while the lab is made, kept and removed.
func (s *supervisor) serve() error {
	defer s.stop()
	l, err := listenIn(s.dir)
	if err != nil {
		return fmt.Errorf("cannot answer in the lab's directory: %w", err)
	}
	server := &http.Server{Handler: s.handler()}
	served := make(chan struct{})
	go func() { _ = server.Serve(l); close(served) }()
	err = s.keep()
	quiet, cancel := context.WithTimeout(context.Background(), time.Second) // for answers that are on their way
	defer cancel()
	_ = server.Shutdown(quiet)
	_ = server.Close()
	<-served
	return err
}

// keep makes the lab, waits until it is to stop, and removes it.
func (s *supervisor) keep() error {
	err := s.make()
	if err == nil {
		s.becomes(stateUp, nil)
		var watch sync.WaitGroup
		watch.Go(func() { s.cluster.Watch(s.ctx) })
		s.watchMembers(&watch)
		watch.Go(s.watchMemory)
		go s.watchVolumes()
		<-s.ctx.Done()
		watch.Wait()
	} else if s.ctx.Err() == nil && s.order.Keep {
		s.becomes(stateFailed, err)
		<-s.ctx.Done()
	}
	stopped := s.ctx.Err() != nil
	if stopped {
		s.becomes(stateStopping, nil)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), teardownLimit)
	defer cancel()
	left := s.teardown(ctx)
	if stopped {
		s.becomes(stateGone, left)
		return left
	}
	s.becomes(stateFailed, err)
	return left
}

// make makes everything and returns when the lab is usable.
func (s *supervisor) make() error {
	limit := s.order.Spec.Deadline.Std()
	ctx, cancel := context.WithTimeoutCause(s.ctx, limit, fmt.Errorf("it was not usable within %v (deadline)", s.order.Spec.Deadline))
	defer cancel()
	p, err := s.builder.plan(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.planned = p
	s.lab.Specification, s.lab.Engine, s.lab.Version, s.lab.Notes = p.Spec, p.Spec.Engine.Name, p.Engine.Version, p.Layout.Notes
	s.mu.Unlock()
	if err := s.builder.ready(ctx, p); err != nil {
		return s.because(ctx, err)
	}
	if err := s.makeHosts(ctx, p); err != nil {
		return s.because(ctx, err)
	}
	cluster, err := s.builder.cluster(topology.Site{Spec: p.Spec, Layout: p.Layout, Home: s.order.Home, Dir: s.dir,
		Journal: s.journal, Hosts: s.hosts, Volume: s.volume, Event: s.event})
	if err != nil {
		return s.because(ctx, err)
	}
	s.mu.Lock()
	s.cluster = cluster
	s.mu.Unlock()
	what := "starting %d servers"
	if p.Spec.Engine.Name == engine.None {
		what = "making %d volumes"
	}
	s.event("progress", fmt.Sprintf(what, len(p.Layout.Members)), nil)
	return s.because(ctx, cluster.Start(ctx))
}

// because adds the deadline to an error that it caused.
func (s *supervisor) because(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && s.ctx.Err() == nil && !errors.Is(err, context.Cause(ctx)) {
		return fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return err
}

func (s *supervisor) makeHosts(ctx context.Context, p Planned) error {
	s.event("progress", fmt.Sprintf("making %d %s hosts", len(p.Layout.Hosts), p.Spec.Hosts.Mode), nil)
	for _, plan := range p.Layout.Hosts {
		h, err := s.builder.host(ctx, plan)
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.hosts[plan.Name] = h
		s.mu.Unlock()
	}
	return nil
}

// volume makes the storage of a member, or finds it.
func (s *supervisor) volume(ctx context.Context, member string) (string, error) {
	defer s.locks.lock("volume/" + member)()
	s.mu.Lock()
	v, groups := s.volumes[member], diskGroups(s.planned.Layout, member)
	s.mu.Unlock()
	if v != nil {
		return v.Dir(), nil
	}
	v, err := s.builder.volume(ctx, member, groups)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	s.volumes[member] = v
	s.mu.Unlock()
	return v.Dir(), nil
}

// event tells that something happened. Of the ends of logs that errors bring along it tells one line.
func (s *supervisor) event(kind, text string, data map[string]string) {
	s.events.add(kind, process.Brief(text), data)
}

// becomes changes the state of the lab, in memory, in its file and for those who wait for events.
func (s *supervisor) becomes(state string, why error) {
	l := s.describe(s.ctx, topology.Known)
	l.State = state
	s.mu.Lock()
	s.lab.State = state
	if state == stateUp {
		s.lab.UsableAfter = int64(time.Since(s.order.Began))
	}
	if why != nil {
		s.lab.Problem = why.Error()
	}
	l.UsableAfter, l.Problem = s.lab.UsableAfter, s.lab.Problem
	s.mu.Unlock()
	if exists(s.dir) {
		if err := writeJSON(s.dir, labFile, l); err != nil && state == stateFailed { // for those who come when the supervisor is gone
			l.Problem += fmt.Sprintf(" (and this could not be written down: %v)", err)
		}
	}
	switch state {
	case stateUp:
		s.event("progress", fmt.Sprintf("usable after %.1f s", float64(l.UsableAfter)/1e9), nil)
	case stateFailed:
		s.event("problem", l.Problem, nil)
	default:
		s.event("progress", state, nil)
	}
}

// teardown removes what was made, in order as far as that works, and then what the journal still has.
func (s *supervisor) teardown(ctx context.Context) error {
	s.mu.Lock()
	cluster := s.cluster
	s.mu.Unlock()
	s.calmDisks(ctx)
	if cluster != nil {
		// Nothing of it will be needed again, so servers are not asked to end in order.
		now, cancel := context.WithCancel(ctx)
		cancel()
		_ = cluster.Stop(now) // what is not ended is in the journal
	}
	first := s.builder.close(ctx)
	if err := s.journal.Clean(ctx, Removers()); err != nil {
		return errors.Join(first, err)
	}
	return nil // what could not be removed in order was removed from the journal
}
