package wait

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Sleep waits for d. It returns why ctx ended if that is earlier.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Each calls do for all elements at the same time, waits for all calls, and joins their errors.
func Each[T any](list []T, do func(T) error) error {
	errs := make([]error, len(list))
	var all sync.WaitGroup
	for i, x := range list {
		all.Go(func() { errs[i] = do(x) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// Bounded adds a limit to a context without a deadline.
func Bounded(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}
