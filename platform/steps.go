package platform

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/visible"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// witnessEvery is the pause between two runs of a witness.
const witnessEvery = 250 * time.Millisecond

// stepInjector is an [Injector] of the steps of a [Backend].
type stepInjector struct {
	platform *Deployment
	fault    spec.Fault
	steps    Steps // known when the member is
	entry    Entry
	monitor  *monitor // nil if the fault names no member
	known    Injection
}

// The fault is in the journal before the step starts. After a step that failed, the fault is healed, because the step
// may have done a part of its work.
func (i *stepInjector) Inject(ctx context.Context) (Injection, error) {
	if i.known.Injected() {
		return i.known, fmt.Errorf("%s: the fault was injected already", i.fault.Action)
	}
	m, err := i.platform.choose(ctx, i.fault)
	if err != nil {
		return i.known, fmt.Errorf("%s: %w", i.fault.Action, err)
	}
	if i.steps, err = i.platform.steps(ctx, i.fault, m); err != nil {
		return i.known, err
	}
	i.describe()
	i.entry = Entry{Fault: i.fault.Action.String(), Member: i.known.Target, Kind: i.platform.backend(i.fault).Kind(),
		Timeout: i.steps.Timeout}
	if i.fault.For > 0 {
		i.entry.Until = time.Now().Add(i.fault.For.Std()).UTC()
	}
	for _, member := range i.platform.members {
		i.entry.Addresses = append(i.entry.Addresses, member.Address)
	}
	if m != nil {
		i.entry.Member = m.Name
		i.monitor = newMonitor(m, i.platform.hide)
	}
	held, err := i.platform.openJournal()
	if err == nil {
		i.known.ID, err = held.add(i.entry, i.steps.Undo)
	}
	if err != nil {
		i.close()
		return i.known, fmt.Errorf("%s: nothing was done, because the journal cannot be written: %w", i.fault.Action, err)
	}
	ctx, stop := wait.Must(ctx) // an interrupted load does not stop a step, which has its own time limit
	defer stop()
	c, err := perform(ctx, "inject", i.steps.Inject, i.steps.Timeout)
	i.known.Commands = append(i.known.Commands, c)
	if err == nil {
		i.known.Requested, i.known.Effective = c.Asked, c.Returned
		if !i.known.Lasts {
			err = held.gone(i.known.ID)
		}
		return i.known, err
	}
	i.close()
	if errors.Is(err, ErrNotRun) {
		return i.known, errors.Join(fmt.Errorf("%s: %w", i.fault.Action, err), held.gone(i.known.ID))
	}
	_, healErr := i.Heal(ctx)
	i.known.Healed = time.Time{} // it was not injected
	return i.known, errors.Join(fmt.Errorf("%s: %w", i.fault.Action, err), healErr)
}

// perform runs a step.
func perform(ctx context.Context, what string, s Step, limit time.Duration) (Command, error) {
	wait.Extend(ctx, limit)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	asked := time.Now()
	c, err := s.Run(ctx)
	c.Step, c.Text = what, s.Text
	if c.Asked.IsZero() {
		c.Asked, c.Returned = asked, time.Now()
	}
	return c, err
}

// describe sets what is known of the fault before it is injected.
func (i *stepInjector) describe() {
	i.known.Target = i.steps.Target
	i.known.Mode = fault.Unknown
	if i.steps.Mode != "" {
		i.known.Mode = i.steps.Mode
	}
	down := i.known.Mode == fault.Crash || i.known.Mode == fault.BlackHole
	i.known.TakesDown = down && !i.steps.Returns
	i.known.Unseats = down || i.known.Mode == fault.Planned
	i.known.Lasts = i.steps.Undo != nil
}

// close ends Plimsoll's own connection.
func (i *stepInjector) close() {
	if i.monitor != nil {
		i.monitor.close()
	}
}

// The witness step, if there is one, and Plimsoll's own connection, if the failure mode says what it notices, must both
// see an effect.
func (i *stepInjector) Verify(ctx context.Context) (Injection, error) {
	if !i.known.Injected() {
		return i.known, fmt.Errorf("%s: the fault was not injected", i.fault.Action)
	}
	if !i.known.Healed.IsZero() || i.known.Hit {
		return i.known, nil
	}
	asked, witnessed := i.steps.Witness.Run != nil, false
	// Connections tell a member that is away. A slow disk, or what a mode nobody named does, they need not notice.
	down := i.known.Mode == fault.Crash || i.known.Mode == fault.BlackHole
	watched := i.monitor != nil && (down || !asked)
	var at time.Time
	own := "was not used, because the fault names no member"
	for {
		if asked && !witnessed {
			witnessed = i.witness(ctx)
		}
		if i.monitor != nil {
			at, own = i.monitor.seen()
		}
		if (witnessed || !asked) && (!at.IsZero() || !watched) {
			break
		}
		if wait.Sleep(ctx, witnessEvery) != nil {
			break
		}
	}
	i.close()
	i.judge(asked, witnessed, watched, at, own)
	return i.known, nil
}

// judge compares what the injector, the witness and Plimsoll's own connection say.
func (i *stepInjector) judge(asked, witnessed, watched bool, at time.Time, own string) {
	inject := i.known.Commands[0]
	said := []string{fmt.Sprintf("%s succeeded after %v", i.steps.Inject.Name, inject.Returned.Sub(inject.Asked).Round(time.Millisecond))}
	if asked {
		last := i.known.Commands[len(i.known.Commands)-1]
		text := i.steps.Witness.Name + " saw the effect"
		if !witnessed {
			text = i.steps.Witness.Name + " saw no effect"
		} else {
			i.known.Seen = last.Returned
		}
		said = append(said, text+" ("+last.detail()+")")
	}
	if i.monitor != nil {
		said = append(said, fmt.Sprintf("Plimsoll's own connection to %s (%s) %s", i.monitor.member.Name, i.monitor.member.Address, own))
	}
	if !at.IsZero() && (i.known.Seen.IsZero() || at.Before(i.known.Seen)) {
		i.known.Seen = at
	}
	i.known.Hit = (witnessed || !at.IsZero()) && (witnessed || !asked) && (!at.IsZero() || !watched)
	i.known.Disputed = !i.known.Hit && (witnessed || !at.IsZero())
	i.known.Evidence = visible.Line(strings.Join(said, "; "))
}

// witness runs the witness step once. Of all its runs, the first and the last are kept.
func (i *stepInjector) witness(ctx context.Context) bool {
	c, err := perform(ctx, "witness", i.steps.Witness, i.steps.Timeout)
	if n := len(i.known.Commands); n > 2 && i.known.Commands[n-1].Step == c.Step {
		i.known.Commands[n-1] = c
	} else {
		i.known.Commands = append(i.known.Commands, c)
	}
	return err == nil && c.Exit == 0
}

// The fault is reverted by what the journal has, as after the end of this process.
func (i *stepInjector) Heal(ctx context.Context) (Injection, error) {
	i.close()
	if !i.known.Lasts {
		i.known.Healed = i.known.Effective
		return i.known, nil
	}
	if !i.known.Healed.IsZero() {
		return i.known, nil
	}
	list, err := i.platform.revert(ctx, i.known.ID, i.platform.backend(i.fault))
	i.known.Commands = append(i.known.Commands, list...)
	if err != nil {
		return i.known, fmt.Errorf("%s: %w", i.fault.Action, err)
	}
	i.known.Healed = list[len(list)-1].Returned
	return i.known, nil
}
