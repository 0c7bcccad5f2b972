package host

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/record"
)

// plainHost is a set of processes of this user on loopback.
type plainHost struct {
	*body
	usage *treeUsage
}

func (h *plainHost) Address() string { return "127.0.0.1" }

func (h *plainHost) Start(ctx context.Context, s process.Spec) (*process.Process, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.Place = process.Place{}
	return h.body.start(ctx, s)
}

func (h *plainHost) Run(ctx context.Context, s process.Spec) ([]byte, error) {
	return run(ctx, s, h.Start)
}

func (h *plainHost) Port() (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	port, p, err := h.maker.port()
	if err != nil {
		return 0, fmt.Errorf("cannot reserve a port for host %s: %w", h.name, err)
	}
	h.ports = append(h.ports, p)
	return port, nil
}

func (h *plainHost) PowerOff(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.off(ctx)
}

// off kills all processes. It stops them first, so that none forks meanwhile, or sees that another one died. The caller
// holds mu.
func (h *plainHost) off(ctx context.Context) error {
	h.state.set(Off)
	for first := true; ; first = false {
		h.usage.update(h.body) // before they end
		all := h.all()
		if len(all)+len(marked(h.mark())) == 0 {
			h.usage.end()
			return nil
		}
		if !first && ctx.Err() != nil {
			return fmt.Errorf("host %s has processes that were killed but have not ended: %w", h.name, context.Cause(ctx))
		}
		h.signal(all, syscall.SIGSTOP)
		h.signal(all, syscall.SIGKILL)
		if err := waitEnded(ctx, all); err != nil {
			return fmt.Errorf("host %s: %w", h.name, err)
		}
		h.prune()
	}
}

// signal sends a signal to processes, their groups and all their descendants, until there is no process without it: a
// process may fork before it gets the signal.
func (h *plainHost) signal(roots []*root, sig syscall.Signal) {
	sent := map[int]bool{}
	for more := true; more; {
		more = false
		all := marked(h.mark()) // with processes that left their tree and group, as daemons do
		for _, r := range roots {
			_ = syscall.Kill(-r.PID, sig) // it may be empty
			if r.Running() {
				all = append(append(all, r.PID), process.Descendants(r.PID)...)
			}
		}
		for _, pid := range all {
			if !sent[pid] {
				_ = syscall.Kill(pid, sig) // it may have ended
				sent[pid], more = true, true
			}
		}
	}
}

// waitEnded waits until processes and their groups have ended.
func waitEnded(ctx context.Context, all []*root) error {
	for _, r := range all {
		for {
			wait := r.Done
			if !r.Running() {
				if !groupRuns(r.PID) {
					break
				}
				wait = nil
			}
			select {
			case <-wait:
			case <-ctx.Done():
				return fmt.Errorf("%s (process %d) was killed but has not ended: %w", r.Role, r.PID, context.Cause(ctx))
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	return nil
}

func (h *plainHost) PowerOn(context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.State() != Off {
		return nil
	}
	h.state.set(On)
	h.usage.begin()
	return nil
}

func (h *plainHost) Pause(context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.State() == Off {
		return h.usable()
	}
	h.state.set(Paused)
	h.signal(h.all(), syscall.SIGSTOP)
	return nil
}

func (h *plainHost) Resume(context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.State() == Off {
		return h.usable()
	}
	h.state.set(On)
	h.signal(h.all(), syscall.SIGCONT)
	return nil
}

func (h *plainHost) Cuts() []string { return nil }

func (h *plainHost) unsupported(what string) error {
	return fmt.Errorf("%w: the plain host %s cannot %s. Use hosts.mode: isolated (--hosts isolated)",
		ErrUnsupported, h.name, what)
}

func (h *plainHost) Cut(context.Context, Host, Direction) error { return h.unsupported("be cut off") }

// A plain host has no cuts.
func (h *plainHost) Mend(context.Context, Host) error { return nil }

func (h *plainHost) Slow(_ context.Context, rate int64) error {
	if rate == 0 {
		return nil
	}
	return h.unsupported("have a slower network")
}

func (h *plainHost) Throttle(_ context.Context, cores float64) error {
	if cores == 0 {
		return nil
	}
	return h.unsupported("have fewer cores")
}

func (h *plainHost) Limit(_ context.Context, limits []IOLimit) error {
	if len(limits) == 0 {
		return nil
	}
	return h.unsupported("limit its disks")
}

func (h *plainHost) Usage() (record.LabUsage, error) {
	u, err := h.usage.now(h.body)
	if err != nil {
		return u, fmt.Errorf("cannot read the usage of host %s: %w", h.name, err)
	}
	return u, nil
}

func (h *plainHost) Close(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.off(ctx); err != nil {
		return err
	}
	return errors.Join(h.awaitEnd(), h.releasePorts())
}
