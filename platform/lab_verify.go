package platform

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/action"
)

// pollEvery is the pause of Verify between two polls.
const pollEvery = 50 * time.Millisecond

var errNotDone = errors.New("the fault was not injected")

func (i *injector) Verify(ctx context.Context) (Injection, error) {
	if !i.known.Injected() {
		return i.known, fmt.Errorf("%s: %w", i.fault.Action, errNotDone)
	}
	var last error
	scene := &action.Scene{Fault: i.fault, Target: i.known.Target, Before: i.before, Lab: i.lab}
	for {
		evidence, err := i.action.Witness(ctx, scene)
		switch {
		case evidence != "":
			i.known.Hit, i.known.Evidence = true, evidence
			return i.known, nil
		case err == nil || ctx.Err() == nil:
			last = err
		}
		if wait.Sleep(ctx, pollEvery) == nil && ctx.Err() == nil {
			continue
		}
		if last != nil {
			last = fmt.Errorf("%s: cannot verify that the fault had an effect: %w", i.fault.Action, last)
		}
		if !i.known.Hit {
			i.known.Evidence = "nothing saw an effect of " + i.fault.Action.String() + " on " + i.known.Target
		}
		return i.known, last
	}
}
