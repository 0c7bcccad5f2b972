//go:build !race

package e2e

import (
	"flag"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// atOnce is the number of parallel tests unless -parallel is given, for any number of cores: tests mostly wait for
// timers, faults and disks.
const atOnce = 3

// turns decides which test may start. All tests are known before the first one starts, because [inTurn] is called while
// tests still run one after the other. Long tests start first, so the end has little idle time.
var turns = struct {
	sync.Mutex
	free    int           // free places
	waiting []*turn       // longest first
	changed chan struct{} // closed when a test ended
}{changed: make(chan struct{})}

// turn is a test that waits for its turn.
type turn struct{ seconds int }

// setTurns sets the number of parallel tests. Package testing starts all tests that call t.Parallel.
func setTurns() error {
	turns.free = atOnce
	flag.Visit(func(f *flag.Flag) {
		if n, err := strconv.Atoi(f.Value.String()); f.Name == "test.parallel" && err == nil {
			turns.free = n
		}
	})
	return flag.Set("test.parallel", "1000")
}

// inTurn lets a test run in parallel when it is its turn. seconds is its time on an idle machine; tests below ten
// seconds can leave it out.
func inTurn(t *testing.T, seconds int) {
	t.Helper()
	me := &turn{seconds}
	turns.Lock()
	at, _ := slices.BinarySearchFunc(turns.waiting, me, func(a, b *turn) int { return b.seconds - a.seconds })
	turns.waiting = slices.Insert(turns.waiting, at, me)
	turns.Unlock()
	t.Parallel()
	begun := time.Now()
	for {
		turns.Lock()
		if turns.free > 0 && turns.waiting[0] == me {
			break
		}
		changed := turns.changed
		turns.Unlock()
		<-changed
	}
	turns.free--
	turns.waiting = turns.waiting[1:]
	next() // there may be another free place
	turns.Unlock()
	t.Logf("waited %.0f s for its turn", time.Since(begun).Seconds())
	t.Cleanup(func() {
		turns.Lock()
		defer turns.Unlock()
		turns.free++
		next()
	})
}

// next wakes the waiting tests to check their turn. The caller holds the lock.
func next() {
	close(turns.changed)
	turns.changed = make(chan struct{})
}
