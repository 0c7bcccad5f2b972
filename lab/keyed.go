package lab

import (
	"slices"
	"sync"
)

// keyed are mutexes by name. A caller that needs several locks them in one call, in sorted order, to avoid deadlocks.
type keyed struct {
	mu sync.Mutex
	of map[string]*sync.Mutex
}

func (k *keyed) lock(names ...string) (unlock func()) {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	var held []*sync.Mutex
	for _, name := range names {
		k.mu.Lock()
		if k.of == nil {
			k.of = map[string]*sync.Mutex{}
		}
		m := k.of[name]
		if m == nil {
			m = &sync.Mutex{}
			k.of[name] = m
		}
		k.mu.Unlock()
		m.Lock()
		held = append(held, m)
	}
	return func() {
		for _, m := range held {
			m.Unlock()
		}
	}
}
