//go:build !linux

package null

import (
	"runtime"
	"time"
)

// spinBelow is the largest delay of the runtime's timers. The last part of a wait polls the clock instead.
const spinBelow = 1500 * time.Microsecond

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
