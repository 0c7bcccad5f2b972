package fault

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/action"
)

// lookEvery is how long Verify waits between two looks.
const lookEvery = 50 * time.Millisecond

// errNotDone says that there is nothing to verify yet.
var errNotDone = errors.New("the fault was not injected")

// Verify implements [Injector].
func (i *injector) Verify(ctx context.Context) (Proof, error) {
	if i.done.Asked.IsZero() {
		return Proof{}, fmt.Errorf("%s: %w", i.fault.Strike, errNotDone)
	}
	var last error
	scene := &action.Scene{Fault: i.fault, Target: i.done.Target, Before: i.before, Lab: i.lab}
	for {
		evidence, err := i.action.Witness(ctx, scene)
		switch {
		case evidence != "":
			return Proof{Hit: true, Evidence: evidence}, nil
		case err == nil || ctx.Err() == nil:
			last = err
		}
		t := time.NewTimer(lookEvery)
		select {
		case <-t.C:
			if ctx.Err() == nil {
				continue
			}
		case <-ctx.Done():
			t.Stop()
		}
		if last != nil {
			last = fmt.Errorf("%s: cannot look whether it hit: %w", i.fault.Strike, last)
		}
		return Proof{Evidence: "nothing saw an effect of " + i.fault.Strike.String() + " on " + i.done.Target}, last
	}
}
