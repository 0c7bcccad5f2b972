package fault

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// External is an injector for what a person or another program does, on any target: it breaks nothing and only takes
// down when it was told of it. mark is told the moments: the first is the fault, the second that it is healed. what is
// how reports call it. It is refused unless it was allowed, so that nobody takes a mark for a fault by mistake.
func External(what string, allowed bool, mark <-chan time.Time) (Injector, error) {
	if !allowed {
		return nil, fmt.Errorf("%s: %w; --external allows to mark what others break", what, ErrNotALab)
	}
	return &external{what: what, mark: mark}, nil
}

// external waits for marks.
type external struct {
	what string
	mark <-chan time.Time

	mu     sync.Mutex
	marked bool
	healed time.Time
}

var errNoMark = errors.New("nobody marked the moment")

// next waits for a mark.
func (e *external) next(ctx context.Context) (time.Time, error) {
	select {
	case at, ok := <-e.mark:
		if !ok {
			return time.Time{}, fmt.Errorf("%s: %w", e.what, errNoMark)
		}
		return at, nil
	case <-ctx.Done():
		return time.Time{}, fmt.Errorf("%s: %w: %w", e.what, errNoMark, context.Cause(ctx))
	}
}

// Inject implements [Injector]: it waits for the first mark.
func (e *external) Inject(ctx context.Context) (Injection, error) {
	at, err := e.next(ctx)
	if err != nil {
		return Injection{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.marked = true
	return Injection{Asked: at, Done: at, Target: e.what, Manner: record.MannerUnknown}, nil
}

// Verify implements [Injector]: only who broke it knows.
func (e *external) Verify(context.Context) (Proof, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.marked {
		return Proof{}, nil
	}
	return Proof{Hit: true, Evidence: "marked from outside; nothing was looked at"}, nil
}

// Heal implements [Injector]: it waits for the second mark, which may never come.
func (e *external) Heal(ctx context.Context) (time.Time, error) {
	e.mu.Lock()
	marked, healed := e.marked, e.healed
	e.mu.Unlock()
	if !marked || !healed.IsZero() {
		return healed, nil
	}
	at, err := e.next(ctx)
	if err != nil {
		return time.Time{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.healed = at
	return at, nil
}
