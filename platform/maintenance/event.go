package maintenance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// event is the [platform.Injector] of an event that this package does. Inject returns at the end of the event.
type event struct {
	deployment *Deployment
	action     *fault.Action
	fault      spec.Fault
	limit      time.Duration
	// prepare finds the target, and returns what does the event. An error means that nothing was done.
	prepare func(ctx context.Context) (do func(context.Context) error, err error)
	// clean removes what the event left behind; nil for nothing.
	clean func(ctx context.Context) error
	known platform.Injection
}

// refusal is the error of an event that a server refused, so it did not begin.
type refusal struct{ error }

// An event that began and failed was injected, and its failure is the error.
func (e *event) Inject(ctx context.Context) (platform.Injection, error) {
	e.known.Mode, e.known.TakesDown, e.known.Unseats = e.action.Mode, e.action.TakesDown, e.action.Unseats()
	do, err := e.prepare(ctx)
	if err != nil {
		return e.known, fmt.Errorf("%s: %w", e.fault.Action, err)
	}
	e.known.Requested = time.Now()
	err = do(ctx)
	if errors.As(err, new(refusal)) {
		e.known.Requested = time.Time{}
		return e.known, fmt.Errorf("%s: %w", e.fault.Action, err)
	}
	e.known.Effective = time.Now()
	if err != nil {
		e.known.Hit = false
		return e.known, fmt.Errorf("%s: %w", e.fault.Action, err)
	}
	return e.known, nil
}

// The event itself has queried the servers for its effect.
func (e *event) Verify(context.Context) (platform.Injection, error) { return e.known, nil }

// It removes what the event left behind.
func (e *event) Heal(ctx context.Context) (platform.Injection, error) {
	e.known.Healed = e.known.Effective
	if e.clean == nil {
		return e.known, nil
	}
	if err := e.clean(ctx); err != nil {
		return e.known, fmt.Errorf("%s: what the event left behind could not be removed: %w", e.fault.Action, err)
	}
	return e.known, nil
}

// figure adds a figure of the event.
func (e *event) figure(name string, value float64, unit string) {
	e.known.Figures = append(e.known.Figures, record.EventFigure{Name: name, Value: value, Unit: unit})
}

// saw notes the evidence for the effect.
func (e *event) saw(format string, a ...any) {
	e.known.Hit, e.known.Evidence = true, fmt.Sprintf(format, a...)
}

// affects notes the target and the members that the event concerns.
func (e *event) affects(target string, members ...record.LabMember) {
	e.known.Target = target
	for _, m := range members {
		e.known.Members = append(e.known.Members, m.Name)
	}
}

// around is an event that the platform does: it waits for its end, and adds figures and evidence.
type around struct {
	*event
	inner platform.Injector
	calls float64 // of fsync on the member before a backup
}

func (a *around) Inject(ctx context.Context) (platform.Injection, error) {
	if a.action.Name == fault.Backup {
		if m, err := a.target(ctx, a.fault.Action.Target); err == nil {
			a.fault.Action.Target = m.Name
			a.calls, _ = a.count(ctx, m, "fsync")
		}
	}
	known, err := a.inner.Inject(ctx)
	a.known = known
	if err != nil {
		return a.known, err
	}
	if a.action.Name == fault.InitialSync || a.action.Name == fault.AddMember {
		err = a.deployment.await(ctx, a.known.Target+" to be a secondary", func(members []record.LabMember) bool {
			m, ok := named(members, a.known.Target)
			return ok && serves(m)
		})
		a.known.Effective = time.Now()
	}
	if err == nil {
		a.measure(ctx)
	} else if a.known.Lasts { // a fault that could not be injected leaves nothing to heal
		must, stop := wait.Must(ctx)
		defer stop()
		_, herr := a.inner.Heal(must)
		a.known.Effective, err = time.Time{}, errors.Join(err, herr)
	}
	return a.known, err
}

// measure adds the figures of the event.
func (a *around) measure(ctx context.Context) {
	m, err := a.target(ctx, a.known.Target)
	if err != nil || m.Kind != "mongod" {
		return
	}
	switch a.action.Name {
	case fault.InitialSync, fault.AddMember:
		_ = a.deployment.onMember(ctx, m, func(c server.Commander) error { // without them, the event has its times only
			documents, bytes, err := held(ctx, c, a.deployment.Database)
			if err == nil {
				a.figure("documents after the copy", documents, "")
				a.figure("data after the copy", bytes, "B")
			}
			return err
		})
	case fault.Backup:
		if n, err := a.count(ctx, m, "fsync"); err == nil && n > a.calls {
			a.saw("%s counted %.0f more fsync commands", m.Name, n-a.calls)
		}
	}
}

// target finds a member by its name or role, as it is now.
func (e *event) target(ctx context.Context, name string) (record.LabMember, error) {
	members, err := e.deployment.settled(ctx, answered)
	if err != nil {
		return record.LabMember{}, err
	}
	return find(members, name)
}

// count returns how often a member ran a command since it started.
func (e *event) count(ctx context.Context, m record.LabMember, command string) (n float64, err error) {
	err = e.deployment.onMember(ctx, m, func(c server.Commander) (err error) {
		n, err = server.QueryCalls(ctx, c, command)
		return err
	})
	return n, err
}

func (a *around) Verify(ctx context.Context) (platform.Injection, error) {
	if a.known.Hit {
		return a.known, nil
	}
	known, err := a.inner.Verify(ctx)
	return a.adopt(known), err
}

func (a *around) Heal(ctx context.Context) (platform.Injection, error) {
	known, err := a.inner.Heal(ctx)
	if !known.Lasts {
		known.Healed = a.known.Effective
	}
	return a.adopt(known), err
}

// adopt takes over what the platform knows, except what this package knows better.
func (a *around) adopt(known platform.Injection) platform.Injection {
	known.Effective, known.Figures = a.known.Effective, a.known.Figures
	if a.known.Hit {
		known.Hit, known.Evidence = true, a.known.Evidence
	}
	a.known = known
	return known
}
