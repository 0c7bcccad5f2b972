package platform

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
)

// External is an injector for a fault that a person or another program injects, into any target. It only notes when:
// the first time of mark is the injection, the second the healing. name is the target in reports.
func External(name string, mark <-chan time.Time) Injector {
	return &external{mark: mark, known: Injection{Target: name, Mode: fault.Unknown}}
}

type external struct {
	mark  <-chan time.Time
	known Injection
}

var errNoMark = errors.New("no mark arrived")

// next waits for a mark.
func (e *external) next(ctx context.Context) (time.Time, error) {
	select {
	case at, ok := <-e.mark:
		if !ok {
			return time.Time{}, fmt.Errorf("%s: %w", e.known.Target, errNoMark)
		}
		return at, nil
	case <-ctx.Done():
		return time.Time{}, fmt.Errorf("%s: %w: %w", e.known.Target, errNoMark, context.Cause(ctx))
	}
}

// It waits for the first mark.
func (e *external) Inject(ctx context.Context) (Injection, error) {
	at, err := e.next(ctx)
	if err != nil {
		return Injection{}, err
	}
	e.known.Requested, e.known.Effective = at, at
	return e.known, nil
}

// Nothing is polled, because only the user who injects the fault knows where to see it.
func (e *external) Verify(context.Context) (Injection, error) {
	if e.known.Injected() {
		e.known.Hit, e.known.Evidence = true, "marked from outside; Plimsoll verified nothing"
	}
	return e.known, nil
}

// It waits for the second mark, which may never come.
func (e *external) Heal(ctx context.Context) (Injection, error) {
	if !e.known.Injected() || !e.known.Healed.IsZero() {
		return e.known, nil
	}
	at, err := e.next(ctx)
	e.known.Healed = at
	return e.known, err
}
