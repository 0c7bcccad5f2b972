package loop

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTimersComeInOrder: after any pushes, moves and postponements, the heap returns the tasks in the order of their
// times.
func TestTimersComeInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var h timers
		tasks := make([]*Task, 1+rng.IntN(40))
		for i := range tasks {
			tasks[i] = &Task{timer: timer{pos: -1}}
			h.earlier(tasks[i], rng.Int64N(1000))
		}
		for range 50 {
			one := tasks[rng.IntN(len(tasks))]
			switch key := rng.Int64N(1000); rng.IntN(3) {
			case 0:
				h.earlier(one, key)
			case 1:
				h.postpone(max(key, h[0].key))
			case 2:
				if first := h.pop(); first.pos != -1 {
					t.Fatal("a task that was taken out still has a place")
				} else {
					h.earlier(first, key)
				}
			}
		}
		var keys []int64
		for len(h) > 0 {
			for i := range h {
				if h[i].pos != i {
					t.Fatalf("the task at place %d believes to be at %d", i, h[i].pos)
				}
			}
			keys = append(keys, h.pop().key)
		}
		if len(keys) != len(tasks) || !slices.IsSorted(keys) {
			t.Fatalf("%d tasks came out in this order: %v", len(keys), keys)
		}
	}
}
