//go:build !linux

package load

func newPreciseWaiter(c *clock, stop <-chan struct{}) (waiter, error) {
	return newTimerWaiter(c, stop), nil
}
