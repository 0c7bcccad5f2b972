//go:build !linux

package null

import (
	"runtime"
	"time"
)

// spinBelow is how late the runtime's timers may be; what is left of a wait below it is spent
// polling the clock.
const spinBelow = 1500 * time.Microsecond

// sleeper waits until a moment by sleeping for most of the time and polling for the rest.
type sleeper struct{}

func (*sleeper) until(at time.Time) {
	if left := time.Until(at); left > spinBelow {
		time.Sleep(left - spinBelow)
	}
	for time.Now().Before(at) {
		runtime.Gosched()
	}
}

func (*sleeper) close() {}
