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

// atOnce is how many tests go on at the same time, whatever the number of cores, unless -parallel says otherwise: they
// wait for timers, for faults and for disks most of the time.
const atOnce = 3

// turns says which test may begin. All tests are known before the first one begins, because [inTurn] is called while
// they still are called one after the other, and those that take long begin first: what is left at the end is short.
var turns = struct {
	sync.Mutex
	free    int           // how many more may go on
	waiting []*turn       // the longest first
	changed chan struct{} // closed when somebody ended
}{changed: make(chan struct{})}

// turn is a test that waits for its turn.
type turn struct{ seconds int }

// setTurns reads how many tests go on at once. The testing package lets all of them begin that call t.Parallel.
func setTurns() error {
	turns.free = atOnce
	flag.Visit(func(f *flag.Flag) {
		if n, err := strconv.Atoi(f.Value.String()); f.Name == "test.parallel" && err == nil {
			turns.free = n
		}
	})
	return flag.Set("test.parallel", "1000")
}

// inTurn lets a test go on beside others, when it is its turn. seconds is about how long it takes on a machine that has
// nothing else to do; a test that takes fewer than ten need not say so.
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
	next() // there may be room for another one
	turns.Unlock()
	t.Logf("waited %.0f s for its turn", time.Since(begun).Seconds())
	t.Cleanup(func() {
		turns.Lock()
		defer turns.Unlock()
		turns.free++
		next()
	})
}

// next lets all that wait look whether it is their turn. The caller holds the lock.
func next() {
	close(turns.changed)
	turns.changed = make(chan struct{})
}
