package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/filelock"
	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
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

// teardownLimit bounds the orderly removal of the lab's resources. The journal has the rest.
const teardownLimit = 25 * time.Second

// supervisor is the parent of all processes of one lab. It makes the lab, answers requests, and removes the lab.
type supervisor struct {
	*core
	dir     string
	order   order
	builder builder
	journal *journal.Journal
	stop    context.CancelFunc
	own     Own

	inventory    *inventory
	inPlace      *inPlace
	roster       *roster
	memory       *memoryWatch
	storage      *storage
	availability *availability
	injector     *injector

	mu  sync.Mutex
	lab record.Lab // the fields that change with the state alone
}

// Supervise makes one lab, keeps it until a request to stop arrives or ctx ends, and removes it. The program that [Up]
// starts calls it.
func Supervise(ctx context.Context, dir string) error {
	s, release, err := begin(ctx, dir)
	if err != nil {
		return err
	}
	defer release()
	return s.serve()
}

// begin locks a lab and makes its supervisor in this process.
func begin(ctx context.Context, dir string) (s *supervisor, release func(), err error) {
	unlock, err := filelock.Hold(filepath.Join(dir, aliveFile))
	if errors.Is(err, filelock.ErrBusy) {
		return nil, nil, errors.New("another process has locked this lab")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cannot lock the lab: %w", err)
	}
	var o order
	if err := readJSON(dir, orderFile, &o); err != nil {
		unlock()
		return nil, nil, fmt.Errorf("cannot read the specification of the lab: %w", err)
	}
	j, err := journal.Open(dir)
	if err == nil {
		err = writeJSON(dir, supervisorFile, procid.Self())
	}
	r := &labBuilder{dir: dir, order: o, journal: j}
	if err == nil {
		s, err = newSupervisor(ctx, dir, o, r, j)
	}
	release = func() {
		if s != nil {
			s.events.close()
		}
		if j != nil {
			j.Close()
		}
		unlock()
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	r.progress = func(text string) { s.event("progress", text, nil) }
	return s, release, nil
}

func newSupervisor(ctx context.Context, dir string, o order, b builder, j *journal.Journal) (*supervisor, error) {
	events, err := openEvents(dir, time.Now)
	if err != nil {
		return nil, err
	}
	s := &supervisor{core: &core{events: events}, dir: dir, order: o, builder: b, journal: j}
	s.ctx, s.stop = context.WithCancel(ctx)
	s.inventory, s.inPlace = &inventory{hosts: map[string]host.Host{}}, &inPlace{}
	s.roster = newRoster(s.core, s.inventory)
	s.memory = &memoryWatch{core: s.core, inventory: s.inventory, shortages: map[string]shortage{}}
	s.storage = newStorage(s.core, b, s.inventory, s.roster, s.inPlace)
	s.availability = &availability{core: s.core, policy: o.Spec.Availability, inventory: s.inventory, roster: s.roster,
		memory: s.memory, storage: s.storage, inPlace: s.inPlace}
	s.injector = &injector{core: s.core, lab: o.Spec.Name, builder: b, inventory: s.inventory, roster: s.roster,
		storage: s.storage, availability: s.availability, inPlace: s.inPlace}
	s.lab = record.Lab{SchemaVersion: record.SchemaVersion, Name: o.Spec.Name, State: stateStarting, Started: o.Began,
		Specification: o.Spec, Engine: o.Spec.Engine.Name}
	return s, nil
}

// serve answers on the socket while the lab is made, runs and is removed.
func (s *supervisor) serve() error {
	defer s.stop()
	l, err := listenIn(s.dir)
	if err != nil {
		return fmt.Errorf("cannot listen on the socket of the lab: %w", err)
	}
	server := &http.Server{Handler: s.handler(), BaseContext: s.permitted}
	served := make(chan struct{})
	go func() { _ = server.Serve(l); close(served) }()
	err = s.keep()
	quiet, cancel := context.WithTimeout(context.Background(), time.Second) // for answers that are being sent
	defer cancel()
	_ = server.Shutdown(quiet)
	_ = server.Close()
	<-served
	return err
}

// permitted is the context of requests: what the supervisor may do, they may.
func (s *supervisor) permitted(net.Listener) context.Context { return context.WithoutCancel(s.ctx) }

func (s *supervisor) keep() error {
	err := s.make()
	if err == nil {
		s.setState(stateUp, nil)
		var watch sync.WaitGroup
		cluster := s.inventory.running()
		watch.Go(func() { cluster.Watch(s.ctx) })
		s.availability.watch(&watch, cluster)
		watch.Go(s.memory.watch)
		go s.storage.watch()
		<-s.ctx.Done()
		watch.Wait()
	} else if s.ctx.Err() == nil && s.order.Keep {
		s.setState(stateFailed, err)
		<-s.ctx.Done()
	}
	stopped := s.ctx.Err() != nil
	if stopped {
		s.setState(stateStopping, nil)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), teardownLimit)
	defer cancel()
	left := s.teardown(ctx)
	if stopped {
		s.setState(stateGone, left)
		return left
	}
	s.setState(stateFailed, err)
	return left
}

// make makes the lab and returns when it is usable.
func (s *supervisor) make() error {
	limit := s.order.Spec.Deadline.Std()
	ctx, cancel := context.WithTimeoutCause(s.ctx, limit,
		fmt.Errorf("the lab was not usable within %v (deadline)", s.order.Spec.Deadline))
	defer cancel()
	p, err := s.builder.plan(ctx)
	if err != nil {
		return err
	}
	s.inventory.change(func(v *inventory) { v.planned = p })
	s.mu.Lock()
	s.lab.Specification, s.lab.Engine, s.lab.Version = p.Spec, p.Spec.Engine.Name, p.Engine.Version
	s.lab.Notes, s.lab.Failover = p.Layout.Notes, p.Layout.Failover
	s.mu.Unlock()
	if err := s.builder.ready(ctx, p); err != nil {
		return s.withDeadline(ctx, err)
	}
	if err := s.makeHosts(ctx, p); err != nil {
		return s.withDeadline(ctx, err)
	}
	cluster, err := s.builder.cluster(ctx, topology.Site{Spec: p.Spec, Layout: p.Layout, Home: s.order.Home, Dir: s.dir,
		Journal: s.journal, Hosts: s.inventory.hosts, Volume: s.volume, Clients: s.own.Clients, Event: s.event})
	if err != nil {
		return s.withDeadline(ctx, err)
	}
	s.inventory.change(func(v *inventory) { v.made = cluster })
	what := "starting %d servers"
	if p.Spec.Engine.Name == engine.None {
		what = "creating %d volumes"
	}
	s.event("progress", fmt.Sprintf(what, len(p.Layout.Members)), nil)
	return s.withDeadline(ctx, cluster.Start(ctx))
}

// volume returns the directory of a member's data.
func (s *supervisor) volume(ctx context.Context, member string) (dir string, err error) {
	if s.own.Data != "" {
		return s.own.Data, nil
	}
	return s.storage.make(ctx, member)
}

// withDeadline adds the deadline to an error that it caused.
func (s *supervisor) withDeadline(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && s.ctx.Err() == nil && !errors.Is(err, context.Cause(ctx)) {
		return fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return err
}

func (s *supervisor) makeHosts(ctx context.Context, p Planned) error {
	s.event("progress", fmt.Sprintf("creating %d %s hosts", len(p.Layout.Hosts), p.Spec.Hosts.Mode), nil)
	for _, plan := range p.Layout.Hosts {
		h, err := s.builder.host(ctx, plan)
		if err != nil {
			return err
		}
		s.inventory.change(func(v *inventory) { v.hosts[plan.Name] = h })
	}
	return nil
}

// setState changes the state of the lab in memory and in its file, and writes an event.
func (s *supervisor) setState(state string, why error) {
	l := s.describe(s.ctx, topology.Known)
	l.State = state
	s.inventory.change(func(v *inventory) { v.up = state == stateUp })
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
		if err := writeJSON(s.dir, labFile, l); err != nil && state == stateFailed { // read after the supervisor has ended
			l.Problem += fmt.Sprintf(" (%s could not be written: %v)", labFile, err)
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

// teardown removes the lab: in order as far as possible, and then whatever the journal still has.
func (s *supervisor) teardown(ctx context.Context) error {
	s.injector.clearDisks(ctx)
	if cluster := s.inventory.cluster(); cluster != nil {
		stopping, cancel := context.WithCancel(ctx)
		if s.own.Data == "" { // servers do not end in order, because their data are not needed any more
			cancel()
		}
		_ = cluster.Stop(stopping) // the journal has the servers that did not end
		cancel()
	}
	first := s.builder.close(ctx)
	if err := s.journal.Clean(ctx, Removers()); err != nil {
		return errors.Join(first, err)
	}
	return nil // the journal removed what the first attempt did not
}
