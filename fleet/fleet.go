// Package fleet performs one run with several load agents, on this machine or on others. It divides the load among
// them, starts them at the same time, and merges their results into one record, bucket by bucket.
//
// A [Placer] puts agents somewhere, and a [Link] is the wire to one of them. This package has those of processes on
// this machine; the packages below it have others. It generates no load itself and opens no target: package run does
// that in each agent.
package fleet

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Options are what a run of several clients needs besides [run.Options].
type Options struct {
	// Places finds the placer of the clients; nil where there is one client only.
	Places Placers
	// Duty is a task of the clients besides the load.
	Duty Duty
	// Strict ends the run if a client is lost, as spec.Load.Strict does.
	Strict bool
}

// Execute performs a run with the load clients of its specification. With one client on this machine it is
// [run.Execute].
//
// This process writes the record and prepares the collections. Clients elsewhere load the data, each a range of them;
// for processes on this machine, this one does. The clients run the measured load and write records of their own, which
// are in clients/00, clients/01, … below it in the end. The intervals of the record are the sums of those of the
// clients, and its result is the time that all of them share.
func Execute(ctx context.Context, asked spec.Run, o run.Options, f Options) (*record.Run, error) {
	if asked.Load.Clients <= 1 && asked.Load.Place == "" {
		return run.Execute(ctx, asked, o)
	}
	if f.Places == nil {
		return nil, wrong(errors.New("load.clients: this command runs with one client only"))
	}
	f.Strict = f.Strict || asked.Load.Strict
	if err := run.CheckClients(asked); err != nil {
		return nil, wrong(err)
	}
	place, err := f.Places(asked.Load.Place)
	if err != nil {
		return nil, wrong(err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Number == 0 {
		o.Number = run.Number(o.Now())
	}
	var living pids
	t := newCoordinator(asked, o, f, place, &living)
	defer t.end()
	o.Others = &run.Clients{Load: t.load, Processes: living.list}
	if _, here := place.(processes); !here { // processes load no faster than this one, which has the same cores
		o.Others.Fill = t.fill
	}
	return run.Execute(ctx, asked, o)
}

// pids are the running processes of the clients, for sampling their use.
type pids struct {
	mu  sync.Mutex
	all []int
}

func (p *pids) list() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.all)
}

func (p *pids) add(pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, pid)
}

func (p *pids) remove(pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = slices.DeleteFunc(p.all, func(x int) bool { return x == pid })
}

func wrong(err error) error { return &run.Error{Stage: run.Specification, Err: err} }
