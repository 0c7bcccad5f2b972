package platform

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

func (i *injector) Inject(ctx context.Context) (Injection, error) {
	if i.known.Injected() {
		return i.known, fmt.Errorf("%s: the fault was injected already", i.fault.Action)
	}
	var err error
	if i.before, err = action.TakeSnapshot(ctx, i.lab); err != nil {
		return Injection{}, fmt.Errorf("%s: cannot read the state of the lab before the fault: %w", i.fault.Action, err)
	}
	requested := time.Now()
	f, err := i.lab.Fail(ctx, i.fault, i.limit)
	if err != nil {
		return Injection{}, fmt.Errorf("%s: %w", i.fault.Action, err)
	}
	i.known = Injection{Requested: requested, Effective: time.Now(), Target: f.Target, ID: f.ID, Mode: i.action.Mode,
		TakesDown: i.action.TakesDown, Unseats: i.action.Unseats(), Lasts: f.ID != 0, Figures: f.Figures}
	if i.action.Isolated != "" && i.before.Isolated(f.Target) {
		i.known.Mode = i.action.Isolated
	}
	return i.known, nil
}

func (i *injector) Heal(ctx context.Context) (Injection, error) {
	if !i.known.Lasts { // it was not injected, or does not last
		i.known.Healed = i.known.Effective
		return i.known, nil
	}
	_, err := i.lab.Heal(ctx, lab.Healing{ID: i.known.ID})
	if errors.Is(err, lab.ErrRefused) { // its time limit may have expired
		l, describeErr := i.lab.Describe(ctx, false)
		if describeErr == nil &&
			!slices.ContainsFunc(l.Faults, func(f record.LabFault) bool { return f.ID == i.known.ID }) {
			err = nil
		}
	}
	if err != nil {
		return i.known, fmt.Errorf("%s: %w", i.fault.Action, err)
	}
	i.known.Healed = i.healed(ctx)
	return i.known, nil
}

// healed is the time of the lab's event about the end of the fault; now, if there is no such event.
func (i *injector) healed(ctx context.Context) time.Time {
	now := time.Now()
	events, err := i.lab.EventsSince(ctx, 0)
	if err != nil {
		return now
	}
	for _, e := range events {
		if e.Kind == "heal" && e.Data["id"] == strconv.Itoa(i.known.ID) &&
			!e.Time.Before(i.known.Requested.Round(0)) && e.Time.Before(now) {
			return e.Time
		}
	}
	return now
}
