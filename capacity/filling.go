package capacity

import (
	"fmt"
	"math"
)

// Filling is a cache that was empty some requests ago, such as that of a server that was restarted.
type Filling struct {
	keys   Keys
	layout layout
	// Full is after how many requests the cache throws out pages, +Inf if everything fits. From then on its hits are
	// those of [Keys.Predict].
	Full float64
}

// Filling describes the cache while it fills.
func (k Keys) Filling(c Cache) (*Filling, error) {
	if _, err := k.Predict(c); err != nil {
		return nil, err
	}
	if k.Distribution == "sequential" {
		return nil, fmt.Errorf("a cycle through all records has no cache that fills little by little")
	}
	f := &Filling{keys: k, layout: k.layOut(c), Full: math.Inf(1)}
	if f.layout.room < f.layout.bytes() {
		f.Full = logBisect(func(t float64) bool { return f.layout.present(t) < f.layout.room })
	}
	return f, nil
}

// Misses is the number of pages that an operation reads after so many requests. An item is in the cache if it was
// requested since the cache was empty, and within the last requests that fill it (Che's approximation).
func (f *Filling) Misses(requests float64) float64 {
	t := min(requests, f.Full)
	if math.IsInf(t, 1) {
		return 0
	}
	misses := (1 - f.keys.Inserts) * (1 - f.layout.dataHit(t))
	if f.layout.indexPages > 0 {
		misses += 1 - f.layout.hit(f.layout.perIndex, t)
	}
	return max(0, misses)
}

// Dirty is how many bytes of documents the pages have that so many writes touched at least once. New documents are not
// in it.
func (k Keys) Dirty(writes float64) float64 {
	l := k.layOut(Cache{Bytes: math.MaxFloat64, PageBytes: WiredTiger(0).PageBytes})
	if k.Distribution == "sequential" {
		return min(l.pages, writes/l.perPage) * l.pageBytes
	}
	return l.present(writes)
}
