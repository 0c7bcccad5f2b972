//go:build unix

package filelock

import (
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// One at a time has the lock, also while its file comes and goes.
func TestWait(t *testing.T) {
	for _, take := range []func(name string) (func(), error){
		Wait, func(name string) (func(), error) { return Await(t.Context(), name, nil) }} {
		name := filepath.Join(t.TempDir(), "lock")
		var all sync.WaitGroup
		var inside atomic.Int32
		for range 8 {
			all.Go(func() {
				for range 20 {
					release, err := take(name)
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
		if _, err := take(filepath.Join(name, "below")); err == nil {
			t.Error("a file that cannot be created was locked")
		}
	}
}
