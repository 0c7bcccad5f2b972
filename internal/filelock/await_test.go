package filelock

import (
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// One at a time has the lock.
func TestAwait(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	var all sync.WaitGroup
	var inside atomic.Int32
	for range 8 {
		all.Go(func() {
			for range 20 {
				release, err := Await(t.Context(), name, nil)
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d have the lock", n)
				}
				runtime.Gosched() // another one would enter now
				inside.Add(-1)
				release()
			}
		})
	}
	all.Wait()
	if _, err := Await(t.Context(), filepath.Join(name, "below"), nil); err == nil {
		t.Error("a file that cannot be created was locked")
	}
}
