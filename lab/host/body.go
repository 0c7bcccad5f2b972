package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// ErrPaused says that no process can start on a host because it is paused.
var ErrPaused = errors.New("the host is paused")

// kindProcess is a process, with its descendants and its process group.
const kindProcess = "process"

// body is the part that plain and isolated hosts share: name, state and processes.
type body struct {
	maker      *Maker
	name, role string
	dir        string
	limits     Limits

	state power
	mu    sync.Mutex // held while a process starts and while the power changes
	ports []*reservation
	// freezer is a control group of version 1 that may be frozen. Processes in a frozen group do not die.
	freezer string

	running  sync.Mutex // guards what follows
	roots    map[int]*root
	problems error          // of the journal, about processes that ended
	watchers sync.WaitGroup // one for each running process
}

// root is a process that was started on a host.
type root struct {
	*process.Process
	id int // in the journal
}

// power is the state of a host. It can be read while it changes, which may take long because of a process that hangs in
// a disk.
type power struct{ v atomic.Value }

func (p *power) set(state string) { p.v.Store(state) }

func newBody(g *Maker, name, role string, l Limits) *body {
	b := &body{maker: g, name: name, role: role, dir: g.hostDir(name), limits: l, roots: map[int]*root{}}
	b.state.set(On)
	return b
}

func (b *body) Name() string   { return b.name }
func (b *body) Role() string   { return b.role }
func (b *body) Dir() string    { return b.dir }
func (b *body) Limits() Limits { return b.limits }
func (b *body) Mode() string   { return b.maker.opts.Mode }

func (b *body) State() string { return b.state.v.Load().(string) }

// usable returns an error if no process can start. The caller holds mu.
func (b *body) usable() error {
	switch b.State() {
	case Off:
		return fmt.Errorf("%s: %w", b.name, ErrOff)
	case Paused:
		return fmt.Errorf("%s: %w", b.name, ErrPaused)
	}
	return nil
}

// start adds a process to the journal, starts it and notes its id in the journal. The caller holds mu.
func (b *body) start(ctx context.Context, s process.Spec) (*process.Process, error) {
	if err := b.usable(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", s.Role, err)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s was not started: %w", s.Role, context.Cause(ctx))
	}
	j := b.maker.opts.Journal
	mark := b.mark() + newToken()
	details := map[string]string{"host": b.name, "boot": procid.Self().Boot, "mark": mark}
	if b.freezer != "" {
		details["freezer"] = b.freezer
	}
	id, err := j.Add(kindProcess, s.Role, details)
	if err != nil {
		return nil, fmt.Errorf("%s was not started: %w", s.Role, err)
	}
	s.Also = append(slices.Clip(s.Also), markVar+"="+mark)
	p, err := process.Start(ctx, s)
	if err != nil {
		return nil, errors.Join(err, j.Gone(id))
	}
	err = j.Note(id, map[string]string{"pid": strconv.Itoa(p.PID), "born": strconv.FormatUint(p.Born, 10)})
	if err != nil {
		p.Kill()
		return nil, errors.Join(fmt.Errorf("%s was killed after its start: %w", s.Role, err), j.Gone(id))
	}
	b.watch(&root{p, id})
	return p, nil
}

// markVar is a variable in the environment of all processes on hosts. It finds processes whose ids are not in the
// journal, because the lab was killed just after it started them.
const markVar = "PLIMSOLL_LAB_PROCESS"

// mark is the prefix of the marks of this host's processes. Names of hosts have no slash.
func (b *body) mark() string { return b.maker.token + "/" + b.name + "/" }

// watch keeps a process in roots until it and its process group have ended.
func (b *body) watch(r *root) {
	b.running.Lock()
	b.roots[r.id] = r
	b.running.Unlock()
	b.watchers.Go(func() {
		<-r.Done
		if b.prune(); b.kept(r.id) {
			go b.pruneLater(r.id)
		}
	})
}

// pruneLater polls, less and less often, until the group of a process that has ended is empty.
func (b *body) pruneLater(id int) {
	for wait := 10 * time.Millisecond; b.kept(id); wait = min(2*wait, 5*time.Second) {
		time.Sleep(wait)
		b.prune()
	}
}

func (b *body) kept(id int) bool {
	b.running.Lock()
	defer b.running.Unlock()
	return b.roots[id] != nil
}

// prune removes the processes that have ended with their group. It keeps a group without its leader, because background
// processes of a server belong to the host too.
func (b *body) prune() {
	b.running.Lock()
	defer b.running.Unlock()
	for id, r := range b.roots {
		if r.Running() || groupRuns(r.PID) {
			continue
		}
		delete(b.roots, id)
		if err := b.maker.opts.Journal.Gone(id); err != nil {
			b.problems = errors.Join(b.problems, err)
		}
	}
}

// groupRuns says whether a process group has members that have not ended. The kernel does not reuse its id while it has
// any.
func groupRuns(pgid int) bool {
	return !errors.Is(syscall.Kill(-pgid, 0), syscall.ESRCH) && groupAlive(pgid) // kill is cheap
}

// all are the processes that have not ended, or whose group has not.
func (b *body) all() []*root {
	b.running.Lock()
	defer b.running.Unlock()
	var all []*root
	for _, r := range b.roots {
		all = append(all, r)
	}
	return all
}

// run runs a program to its end. start must lock mu.
func run(ctx context.Context, s process.Spec,
	start func(context.Context, process.Spec) (*process.Process, error)) ([]byte, error) {
	var log io.Writer = io.Discard
	if s.Log != nil {
		log = s.Log
	}
	return process.RunBy(ctx, s, log, start)
}

// awaitEnd waits until the journal has the ends of all processes, and returns the errors of the journal.
func (b *body) awaitEnd() error {
	b.watchers.Wait()
	b.prune()
	b.running.Lock()
	defer b.running.Unlock()
	err := b.problems
	b.problems = nil
	return err
}

// releasePorts releases the reserved ports. The caller holds mu.
func (b *body) releasePorts() error {
	var err error
	for _, p := range b.ports {
		err = errors.Join(err, p.release())
	}
	b.ports = nil
	return err
}
