// Package fleet does one run with several load processes on this machine: it divides the load among them,
// gives them one start, and merges what they measured into one record, bucket by bucket.
//
// It makes no load itself and opens no target: that is package run, which each of the processes calls, and
// which takes the merged load for its own. How a process is started is the business of whoever calls.
package fleet

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Launcher returns the command, not started yet, of a process that calls [Serve] with its standard input and
// output. Nothing secret may be in it: a client is told what to do through its standard input.
type Launcher func() *exec.Cmd

// Execute does a run with as many load processes as the specification says. With one client it is
// [run.Execute]; with more, start must not be nil.
//
// This process loads the data, once for all, and keeps the record; the clients make the measured load and
// keep records of their own below it, in clients/00, clients/01, … The record is an ordinary one: its
// intervals are the sums of those of the clients, and its result is the window that all of them share.
func Execute(ctx context.Context, asked spec.Run, o run.Options, start Launcher) (*record.Run, error) {
	return ExecuteWith(ctx, asked, o, start, Duty{})
}

// ExecuteWith is [Execute] with clients that do something besides the load.
func ExecuteWith(ctx context.Context, asked spec.Run, o run.Options, start Launcher, duty Duty) (*record.Run, error) {
	if asked.Load.Clients <= 1 {
		return run.Execute(ctx, asked, o)
	}
	if start == nil {
		return nil, wrong(errors.New("load.clients: this command runs with one client only"))
	}
	if err := run.CheckClients(asked); err != nil {
		return nil, wrong(err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Number == 0 {
		o.Number = run.Number(o.Now())
	}
	var living pids
	o.Processes = living.list
	o.Team = func(ctx context.Context, address string, d measure.Dims, sink run.Sink) (run.Teamwork, error) {
		t := newTeam(asked, o, start, d, sink)
		t.living, t.address, t.duty = &living, address, duty
		return t.load(ctx)
	}
	return run.Execute(ctx, asked, o)
}

// pids are the processes of the clients that live, for whoever watches them.
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

// wrong marks an error of the specification.
func wrong(err error) error { return &run.Error{Stage: run.Specification, Err: err} }
