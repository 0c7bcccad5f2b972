package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/action"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Inject implements [Injector].
func (i *injector) Inject(ctx context.Context) (Injection, error) {
	if !i.done.Asked.IsZero() {
		return i.done, fmt.Errorf("%s: it was done already", i.fault.Strike)
	}
	var err error
	if i.before, err = action.Look(ctx, i.lab); err != nil {
		return Injection{}, fmt.Errorf("%s: cannot look at the lab before it is broken: %w", i.fault.Strike, err)
	}
	asked := time.Now()
	f, err := i.lab.Fail(ctx, i.fault, i.limit)
	if err != nil {
		return Injection{}, fmt.Errorf("%s: %w", i.fault.Strike, err)
	}
	i.done = Injection{Asked: asked, Done: time.Now(), Target: f.Target, ID: f.ID, Manner: i.action.Manner}
	if i.action.Isolated != "" && i.before.Isolated(f.Target) {
		i.done.Manner = i.action.Isolated
	}
	return i.done, nil
}

// Heal implements [Injector].
func (i *injector) Heal(ctx context.Context) (time.Time, error) {
	if i.done.ID == 0 { // it was not done, or does not last
		return time.Now(), nil
	}
	_, err := i.lab.Heal(ctx, lab.Healing{ID: i.done.ID})
	if err == nil {
		return i.healed(ctx), nil
	}
	if errors.Is(err, lab.ErrRefused) { // it may have healed by itself
		l, lookErr := i.lab.Describe(ctx, false)
		if lookErr == nil && !slices.ContainsFunc(l.Faults, func(f record.LabFault) bool { return f.ID == i.done.ID }) {
			return i.healed(ctx), nil
		}
	}
	return time.Time{}, fmt.Errorf("%s: %w", i.fault.Strike, err)
}

// healed is when the lab says that it was undone; now, if it does not say.
func (i *injector) healed(ctx context.Context) time.Time {
	now := time.Now()
	events, err := i.lab.EventsSince(ctx, 0)
	if err != nil {
		return now
	}
	for _, e := range events {
		if e.Kind == "heal" && e.Data["id"] == strconv.Itoa(i.done.ID) && !e.Time.Before(i.done.Asked.Round(0)) && e.Time.Before(now) {
			return e.Time
		}
	}
	return now
}
