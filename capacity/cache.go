package capacity

import (
	"fmt"
	"math"
)

// Cache is what holds pages, and how they are cut.
type Cache struct {
	// Bytes is the size of the cache as it is configured.
	Bytes float64
	// Fill is the share of it that pages occupy, [WiredTigerFill] for WiredTiger. 1 if 0.
	Fill float64
	// PageBytes is the size of a page of documents in memory, [WiredTigerPage] for WiredTiger.
	PageBytes float64
	// EntryBytes is what the index on _id takes per record in pages of IndexPageBytes; 0 leaves the index out.
	EntryBytes, IndexPageBytes float64
}

// WiredTiger's figures (MongoDB's defaults, read in its sources for storage engine version 12).
const (
	// WiredTigerPage is leaf_page_max of a collection, before compression.
	WiredTigerPage = 32 << 10
	// WiredTigerIndexPage is leaf_page_max of an index.
	WiredTigerIndexPage = 16 << 10
	// WiredTigerFill is eviction_target: from there on pages are thrown out, so more is not kept.
	WiredTigerFill = 0.80
	// pageFill is how full leaf pages are after random splits and reconciliation, split_pct's 90 % at best.
	pageFill = 0.9
	// indexEntry is the size of an entry of an index on YCSB's keys: key of 24 bytes, record id and cell headers.
	indexEntry = 40
)

// WiredTigerCache returns the size of the cache of a mongod that is not told one, of a machine with so much memory,
// both in bytes: the larger of half of what lies above 1 GiB, and 256 MiB.
func WiredTigerCache(memory float64) float64 {
	return max(0.5*(memory-(1<<30)), 256<<20)
}

// MemoryFor is the inverse of [WiredTigerCache]: the memory of a machine whose mongod has so large a cache. Below
// 256 MiB it is the memory at which the cache begins to grow.
func MemoryFor(cache float64) float64 { return 2*max(cache, 256<<20) + (1 << 30) }

// WiredTiger is the cache of a mongod with so many bytes of cache.
func WiredTiger(bytes float64) Cache {
	return Cache{
		Bytes: bytes, Fill: WiredTigerFill, PageBytes: WiredTigerPage, EntryBytes: indexEntry,
		IndexPageBytes: WiredTigerIndexPage,
	}
}

// Prediction is what the model says of a cache.
type Prediction struct {
	// Hit is the share of reads and updates whose page of documents is in the cache; IndexHit is that of index pages.
	Hit, IndexHit float64
	// Misses is how many pages are read per operation, of both kinds.
	Misses float64
	// DataBytes is what all pages take, of both kinds. Ratio is what fits, as a share of them, at most 1.
	DataBytes, Ratio float64
	// PerPage is how many documents lie in a page.
	PerPage float64
}

// Predict returns the hit ratio in the steady state, by Che's approximation of an LRU cache ("Hierarchical Web Caching
// Systems", 2002): an item is in the cache if it was asked for within the last T requests, where T is such that the
// cache is just full. With requests that are independent of each other, an item with probability p is there with
// 1 − exp(−pT).
//
// The items are pages of k documents. Where neighbours are unrelated (zipfian), the other k−1 documents of a page are
// drawn from all, so with φ(T) the mean of exp(−pT) over all documents, a page is absent with φ^k, and the page of a
// document that is asked for with exp(−pT)·φ^(k−1): no page has to be looked at by itself. Where they are alike
// (uniform, hotspot, latest, exponential), pages are items of k times the probability.
//
// It fails where cache or documents have no size.
func (k Keys) Predict(c Cache) (Prediction, error) {
	if !(k.Records >= 1) || !(k.DocBytes > 0) {
		return Prediction{}, fmt.Errorf("no cache model for %v records of %v bytes", k.Records, k.DocBytes)
	}
	if !(c.Bytes > 0) || math.IsInf(c.Bytes, 0) {
		return Prediction{}, fmt.Errorf("a cache of %v bytes holds nothing", c.Bytes)
	}
	l := k.layOut(c)
	p := Prediction{DataBytes: l.bytes(), PerPage: l.perPage}
	p.Ratio = min(1, l.room/p.DataBytes)
	switch {
	case p.Ratio >= 1:
		p.Hit, p.IndexHit = 1, 1
	case k.Distribution == "sequential":
		// A cycle through more than fits finds what it needs just thrown out: only neighbours in a page are hits.
		p.Hit = 1 - 1/max(1, l.perPage)
		p.IndexHit = p.Hit
	default:
		t := l.characteristicTime()
		p.Hit, p.IndexHit = l.dataHit(t), l.indexHit(t)
	}
	p.Misses = (1 - k.Inserts) * (1 - p.Hit)
	if l.indexPages > 0 {
		p.Misses += 1 - p.IndexHit
	}
	return p, nil
}

// layout is how the records lie in pages: the terms of the formula in [Keys.Predict].
type layout struct {
	classes              []class
	items, records       float64 // ranks of the distribution, and records they fall on
	perPage, pages       float64
	pageBytes            float64
	perIndex, indexPages float64
	indexBytes           float64
	room                 float64
	alike, hashed        bool // neighbours are alike; several ranks may fall on one record
}

func (k Keys) layOut(c Cache) layout {
	fill := c.Fill
	if fill == 0 {
		fill = 1
	}
	l := layout{classes: k.popularity(), items: k.items(), records: k.Records, alike: !k.scattered(),
		hashed: k.items() != k.Records}
	l.perPage, l.pageBytes = 1, k.DocBytes
	if c.PageBytes > 0 {
		l.perPage = max(1, math.Floor(c.PageBytes*pageFill/k.DocBytes))
		l.pageBytes = max(l.perPage*k.DocBytes, k.DocBytes)
	}
	l.pages = k.Records / l.perPage
	if c.EntryBytes > 0 && c.IndexPageBytes > 0 {
		l.perIndex = max(1, math.Floor(c.IndexPageBytes*pageFill/c.EntryBytes))
		l.indexPages, l.indexBytes = k.Records/l.perIndex, l.perIndex*c.EntryBytes
	}
	l.room = c.Bytes * fill
	return l
}

func (l layout) bytes() float64 { return l.pages*l.pageBytes + l.indexPages*l.indexBytes }

// absent is the probability that none of the k records of a page of unrelated ones was asked for within t.
func (l layout) absent(k, t float64) float64 {
	asked := 0.0 // expected number of ranks that were asked for
	for _, c := range l.classes {
		asked -= c.items * math.Expm1(-c.each*t)
	}
	if l.hashed { // ranks fall on records at random, as many as chance puts there
		return math.Exp(-k / l.records * asked)
	}
	return math.Pow(max(0, 1-asked/l.items), k)
}

// present is the expected number of bytes of pages that were asked for within t.
func (l layout) present(t float64) float64 {
	used := 0.0
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

// characteristicTime is T, in requests: present grows with it.
func (l layout) characteristicTime() float64 {
	return logBisect(func(t float64) bool { return l.present(t) < l.room })
}

// logBisect finds where below changes from true to false, by bisection on the logarithm.
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
	if !l.alike {
		return l.hit(l.perPage, t)
	}
	hit := 0.0
	for _, c := range l.classes {
		hit -= c.items * c.each * math.Expm1(-l.perPage*c.each*t)
	}
	return hit
}

// indexHit is that of index pages, in which neighbours are unrelated: keys are hashes.
func (l layout) indexHit(t float64) float64 {
	if l.indexPages == 0 {
		return 1
	}
	return l.hit(l.perIndex, t)
}

// hit is the probability that a page of k unrelated records is there when one of them is asked for.
func (l layout) hit(k, t float64) float64 {
	others := l.absent(k-1, t)
	if l.hashed { // the record itself has other ranks, too
		others = l.absent(k, t)
	}
	hit := 0.0
	for _, c := range l.classes {
		hit += c.items * c.each * (1 - math.Exp(-c.each*t)*others)
	}
	return hit
}

// CacheFor returns the smallest cache, in bytes as configured, whose predicted hit ratio of documents is at least hit
// (0…1). It is never more than what holds everything.
func (k Keys) CacheFor(hit float64, c Cache) (bytes float64, err error) {
	c.Bytes = 1
	if _, err := k.Predict(c); err != nil {
		return 0, err
	}
	l := k.layOut(c)
	fill := l.room // that of one byte
	all := l.bytes() / fill
	switch {
	case hit >= 1:
		return all, nil
	case k.Distribution == "sequential" && hit <= 1-1/l.perPage:
		return l.pageBytes / fill, nil // one page is enough for its neighbours
	case k.Distribution == "sequential":
		return all, nil
	}
	t := logBisect(func(t float64) bool { return l.dataHit(t) < hit })
	return min(all, l.present(t)/fill), nil
}

// fitting is how many records fit into a cache, index included.
func (k Keys) fitting(c Cache) float64 {
	l := k.layOut(c)
	return l.room / (l.bytes() / k.Records)
}

// Sized returns the keys of a data set with another number of records.
func (k Keys) Sized(records float64) Keys {
	k.Records = max(1, records)
	return k
}
