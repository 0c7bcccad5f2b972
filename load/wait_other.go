//go:build !linux

package load

// newPreciseWaiter returns the best waiter there is: elsewhere than on Linux the runtime's timers.
func newPreciseWaiter(c *clock, stop <-chan struct{}) (waiter, error) {
	return newTimerWaiter(c, stop), nil
}
