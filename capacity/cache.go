package capacity

import (
	"cmp"
	"math"

	"github.com/plimsoll-bench/plimsoll/workload/own"
)

// Cache is a cache of pages. Sizes are in bytes.
type Cache struct {
	Bytes     float64 // configured size
	Fill      float64 // share of it that pages occupy, 1 if 0
	PageBytes float64 // of a page of documents in memory
	// EntryBytes is the size of an entry of the index on _id, in pages of IndexPageBytes. 0: without the index.
	EntryBytes, IndexPageBytes float64
}

// pageFill is the fill of leaf pages after random splits and reconciliation: split_pct of WiredTiger.
const pageFill = 0.9

// WiredTigerCache returns the default size of the cache of a mongod on a machine with so much memory, both in bytes:
// half of the memory above 1 GiB, at least 256 MiB.
func WiredTigerCache(memory float64) float64 {
	return max(0.5*(memory-(1<<30)), 256<<20)
}

// memoryFor is the inverse of [WiredTigerCache]. Below 256 MiB it returns the memory at which the cache begins to grow.
func memoryFor(cache float64) float64 { return 2*max(cache, 256<<20) + (1 << 30) }

// WiredTiger is the cache of a mongod of this size. The other figures are MongoDB's defaults for storage engine version
// 12: eviction_target, from which pages are evicted, and leaf_page_max of a collection, before compression, and of an
// index. An entry of an index on YCSB's keys has a key of 24 bytes, a record id and cell headers.
func WiredTiger(bytes float64) Cache {
	return Cache{Bytes: bytes, Fill: 0.80, PageBytes: 32 << 10, EntryBytes: 40, IndexPageBytes: 16 << 10}
}

// Prediction is the result of the cache model.
type Prediction struct {
	// Hit is the share of reads and updates whose page of documents is in the cache; IndexHit is that of index pages.
	Hit, IndexHit float64
	// Misses is the number of pages that an operation reads, of both kinds.
	Misses float64
}

// Predict returns the hit ratio in the steady state, by Che's approximation of an LRU cache ("Hierarchical Web Caching
// Systems", 2002): an item is in the cache if it was requested within the last T requests. T is the number of requests
// that just fills the cache. With independent requests, an item with probability p is in the cache with 1 − exp(−pT).
//
// The items are pages of k documents. If neighbours are unrelated (zipfian), the other k−1 documents of a page are
// drawn from all. With φ(T) as the mean of exp(−pT) over all documents, a page is absent with φ^k, and the page of a
// requested document with exp(−pT)·φ^(k−1), so single pages need not be considered. If neighbours are alike (uniform,
// hotspot, latest, exponential), pages are items of k times the probability.
//
// It fails if the cache or the documents have no size.
func (k Keys) Predict(c Cache) (Prediction, error) {
	return Accesses{[]access{{Keys: k, share: 1}}}.Predict(c)
}

// layout describes how records are stored in pages: the terms of the formula in [Keys.Predict].
type layout struct {
	classes              []class
	items, records       float64 // ranks of the distribution, and the records to which they belong
	perPage, pages       float64
	pageBytes            float64
	perIndex, indexPages float64
	indexBytes           float64
	room                 float64
	alike, hashed        bool // neighbours are alike; several ranks may belong to one record
	cycle                bool // through all records, so that what was just evicted is needed next
}

func (k Keys) layOut(c Cache) layout {
	// Documents are stored in the order of their insertion, so hot and new keys are neighbours in hotspot, latest and
	// exponential.
	l := layout{classes: k.popularity(), items: k.items(), records: k.Records,
		alike:  k.Distribution != "zipfian" && k.Distribution != own.FoundKeys,
		hashed: k.items() != k.Records, cycle: k.Distribution == "sequential",
		perPage: 1, pageBytes: k.DocBytes, room: c.Bytes * cmp.Or(c.Fill, 1)}
	if c.PageBytes > 0 {
		l.perPage = max(1, math.Floor(c.PageBytes*pageFill/k.DocBytes))
		l.pageBytes = max(l.perPage*k.DocBytes, k.DocBytes)
	}
	l.pages = k.Records / l.perPage
	if c.EntryBytes > 0 && c.IndexPageBytes > 0 {
		l.perIndex = max(1, math.Floor(c.IndexPageBytes*pageFill/c.EntryBytes))
		l.indexPages, l.indexBytes = k.Records/l.perIndex, l.perIndex*c.EntryBytes
	}
	return l
}

func (l layout) bytes() float64 { return l.pages*l.pageBytes + l.indexPages*l.indexBytes }

// absent is the probability that none of the k records of a page of unrelated records was requested within t.
func (l layout) absent(k, t float64) float64 {
	asked := 0.0 // expected number of requested ranks
	for _, c := range l.classes {
		asked -= c.items * math.Expm1(-c.each*t)
	}
	if l.hashed { // each rank belongs to a random record
		return math.Exp(-k / l.records * asked)
	}
	return math.Pow(max(0, 1-asked/l.items), k)
}

// present is the expected size of the pages that were requested within t.
func (l layout) present(t float64) float64 {
	used := 0.0
	if l.cycle {
		share := min(1, t/l.records)
		return share * l.bytes()
	}
	if l.alike {
		for _, c := range l.classes {
			used -= c.items / l.perPage * math.Expm1(-l.perPage*c.each*t)
		}
	} else {
		used = l.pages * (1 - l.absent(l.perPage, t))
	}
	used *= l.pageBytes
	if l.indexPages > 0 {
		used += l.indexPages * l.indexBytes * (1 - l.absent(l.perIndex, t))
	}
	return used
}

// logBisect returns the value at which below changes from true to false, by bisection on the logarithm.
func logBisect(below func(float64) bool) float64 {
	low, high := -2.0, 80.0
	for range 44 { // to 5e-12
		if mid := (low + high) / 2; below(math.Exp(mid)) {
			low = mid
		} else {
			high = mid
		}
	}
	return math.Exp(high)
}

func (l layout) dataHit(t float64) float64 {
	if l.cycle {
		return l.cycleHit(t)
	}
	if !l.alike {
		return l.hit(l.perPage, t)
	}
	hit := 0.0
	for _, c := range l.classes {
		hit -= c.items * c.each * math.Expm1(-l.perPage*c.each*t)
	}
	return hit
}

// cycleHit is 1 if all records were requested within t. Otherwise, only neighbours in a page are hits.
func (l layout) cycleHit(t float64) float64 {
	if t >= l.records*(1-1e-9) {
		return 1
	}
	return 1 - 1/max(1, l.perPage)
}

// indexHit is the probability that a page of the index on _id is there, in which neighbours are unrelated, because keys
// are hashes.
func (l layout) indexHit(t float64) float64 {
	if l.cycle {
		return l.cycleHit(t)
	}
	return l.hit(l.perIndex, t)
}

// hit is the probability that a page of k unrelated records is in the cache when one of them is requested.
func (l layout) hit(k, t float64) float64 {
	others := l.absent(k-1, t)
	if l.hashed { // the record itself may have other ranks
		others = l.absent(k, t)
	}
	hit := 0.0
	for _, c := range l.classes {
		hit += c.items * c.each * (1 - math.Exp(-c.each*t)*others)
	}
	return hit
}

// Sized returns the keys of a data set with another number of records.
func (k Keys) Sized(records float64) Keys {
	k.Records = max(1, records)
	return k
}
