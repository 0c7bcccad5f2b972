// Package fleet performs one run with several load processes on this machine. It divides the load among them, starts
// them at the same time, and merges their results into one record, bucket by bucket.
//
// It generates no load itself and opens no target. Package run does that in each process. The caller starts the
// processes.
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

// Launcher returns the command of a process that calls [Serve] with its standard input and output. It must not have
// secrets; a client gets its order on standard input.
type Launcher func() *exec.Cmd

// Execute performs a run with the load processes of the specification. With one client it is [run.Execute]; with more,
// start must not be nil.
//
// This process loads the data and writes the record. The clients run the measured load and write records of their own
// below it, in clients/00, clients/01, … The intervals of the record are the sums of those of the clients, and its
// result is the time that all of them share.
func Execute(ctx context.Context, asked spec.Run, o run.Options, start Launcher) (*record.Run, error) {
	return ExecuteWith(ctx, asked, o, start, Duty{})
}

// ExecuteWith is [Execute] with clients that also have a duty.
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
