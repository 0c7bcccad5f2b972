package capacity

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The figures that disks are sized with.
const (
	// diskOverhead is what a collection takes on the disk by what its documents take: index on _id, pages that are not
	// full. The reference architecture's 100 million records of 1,168 bytes of BSON took 128 GB, 1.10 times that.
	// Compression is not counted on: YCSB's values do not compress, those of others may.
	diskOverhead = 1.10
	// journalFile is the size of a file of WiredTiger's journal; one more is preallocated.
	journalFile = 100 << 20
	// journalKept is for how long the journal is kept: since the checkpoint before, and until this one ends.
	journalKept = 2 * time.Minute
	// The oplog takes 5 % of the disk, at least 990 MB and at most 50 GB, unless told otherwise.
	oplogShare, oplogLeast, oplogMost = 0.05, 990e6, 50e9
	// month is how many seconds a month has, on the average.
	month = 365.25 / 12 * 86400
	// maxShards is where looking for a number of shards ends.
	maxShards = 1 << 16
)

// choose makes the answer out of all demands.
func (s *sizer) choose() {
	if !s.checkJournal() {
		return
	}
	shards, decides := s.leastShards()
	s.explainDemands()
	if s.in.Prices != nil {
		s.chooseType(shards, decides)
	} else {
		s.chooseLikeMeasured(shards, decides)
	}
	if s.out.Answer != nil {
		s.explainAnswer(s.out.Answer)
	}
}

// copies is how many members keep each document in the answer.
func (s *sizer) copies() int {
	if n := s.in.Need.Copies; n > 0 {
		return n
	}
	n := 1
	for _, d := range s.demands {
		n = max(n, d.copies)
	}
	return n
}

// spare is how many nodes stand by. Where other members keep the same documents, one of them, of the same size, takes
// over what a failed one did, as long as a majority is left to elect it; otherwise the work needs another node.
func (s *sizer) spare() int {
	copies, failures := s.copies(), s.in.Need.Failures
	if copies >= 2*failures+1 {
		return 0
	}
	return failures
}

// leastShards is what operations need, and what the journal allows where its batch is known.
func (s *sizer) leastShards() (n int, decides string) {
	n, decides = 1, "data"
	for _, d := range s.demands {
		if s.in.Need.Operations > 0 && d.shards >= n {
			n, decides = d.shards, "operations"
		}
	}
	for _, d := range s.demands {
		if j := d.out.Journal; j != nil && s.in.Batch > 0 && j.Ceiling > 0 {
			if by := int(math.Ceil(s.in.Need.Operations*d.writes/j.Ceiling - 1e-9)); by > n {
				n, decides = by, "journal"
			}
		}
	}
	return n, decides
}

// data is the bytes of all documents of a demand, and how many they are.
func (s *sizer) data(d *demand) (bytes, records float64) {
	if s.in.Need.Data > 0 {
		return float64(s.in.Need.Data), float64(s.in.Need.Data) / d.docBytes
	}
	return d.records * d.docBytes, d.records
}

// cacheFor is the cache that each member needs with so many shards, for the same hit ratio as measured, 0 without a
// model.
func (s *sizer) cacheFor(shards int) float64 {
	most := 0.0
	for _, d := range s.demands {
		if d.keys == nil {
			continue
		}
		_, records := s.data(d)
		if c, err := d.keys.Sized(records/float64(shards)).CacheFor(d.required, WiredTiger(1)); err == nil {
			most = max(most, c)
		}
	}
	return most
}

// kept says whether a cache keeps the hit ratio of all demands with so many shards.
func (s *sizer) kept(cache float64, shards int) bool {
	for _, d := range s.demands {
		if d.keys == nil {
			continue
		}
		_, records := s.data(d)
		p, err := d.keys.Sized(records / float64(shards)).Predict(WiredTiger(cache))
		if err != nil || p.Hit < d.required-1e-6 {
			return false
		}
	}
	return true
}

// first finds the smallest number of shards, from least on, that fits; fit must not change back to false. 0 if none
// does.
func first(least int, fit func(int) bool) int {
	high := least
	for !fit(high) {
		if high *= 2; high > maxShards {
			return 0
		}
	}
	low := max(least, high/2)
	for low < high {
		if mid := (low + high) / 2; fit(mid) {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return high
}

// diskFor is what the disk of a member is for, with so many shards.
func (s *sizer) diskFor(shards int) record.SizeDisk {
	documents, journal := 0.0, 2.0*journalFile
	for _, d := range s.demands {
		bytes, _ := s.data(d)
		documents = max(documents, bytes/float64(shards))
		rate := s.in.Need.Operations
		if rate == 0 {
			rate = d.out.Rate
		}
		written := rate * d.writes / float64(shards) * d.docBytes * journalKept.Seconds()
		journal = max(journal, math.Ceil(written/journalFile)*journalFile+journalFile)
	}
	p := record.SizeDisk{Documents: int64(documents), Overhead: int64(documents * (diskOverhead - 1)),
		Journal: int64(journal)}
	used, free := float64(p.Documents+p.Overhead+p.Journal), s.in.Need.Free
	total := used / (1 - free)
	if s.copies() > 1 {
		// The oplog is a share of the whole: used + share·total = (1−free)·total, within its limits.
		oplog := min(max(oplogShare*used/(1-free-oplogShare), oplogLeast), oplogMost)
		p.Oplog = int64(oplog)
		total = (used + oplog) / (1 - free)
	}
	p.Free = int64(total * free)
	return p
}

func diskTotal(p record.SizeDisk) int64 {
	return p.Documents + p.Overhead + p.Journal + p.Oplog + p.Free
}

// gib rounds bytes up to whole GiB.
func gib(bytes float64) int64 { return int64(math.Ceil(bytes/(1<<30)-1e-9)) << 30 }

// size makes an answer with so many shards. A memory of 0 is what the cache needs.
func (s *sizer) size(shards int, decides string, memory float64) record.SizeAnswer {
	a := record.SizeAnswer{Shards: shards, Copies: s.copies(), Spare: s.spare(), Decides: decides}
	a.Nodes = a.Shards*a.Copies + a.Spare
	if memory == 0 {
		if cache := s.cacheFor(shards); cache > 0 {
			memory = MemoryFor(cache)
		}
	}
	if memory > 0 {
		a.Memory = gib(memory)
		a.Cache = int64(WiredTigerCache(float64(a.Memory)))
	}
	parts := s.diskFor(shards)
	a.Parts, a.Disk = &parts, gib(float64(diskTotal(parts)))
	return a
}

// chooseLikeMeasured answers in nodes like those that were measured, and beside that in fewer with more memory.
func (s *sizer) chooseLikeMeasured(shards int, decides string) {
	memory := 0.0
	for _, d := range s.demands {
		if d.memory > 0 && (memory == 0 || d.memory < memory) {
			memory = d.memory
		}
	}
	if memory == 0 || s.cacheFor(1) == 0 {
		a := s.size(shards, decides, 0)
		s.out.Answer = &a
		return
	}
	cache := WiredTigerCache(memory)
	for _, d := range s.demands {
		if d.cache > 0 {
			cache = min(cache, d.cache)
		}
	}
	like := first(shards, func(n int) bool { return s.kept(cache, n) })
	if like == 0 {
		s.refuse(record.SizeImpossible, fmt.Sprintf("up to %s shards, none keeps the measured hit ratio with %s of cache per member. Plan nodes with more memory (--price)",
			figure.Count(maxShards), figure.Bytes(int64(cache))))
		return
	}
	if like > shards {
		fewer := s.size(shards, decides, 0)
		s.out.Alternatives = append(s.out.Alternatives, fewer)
		decides = "memory"
	}
	a := s.size(like, decides, memory)
	a.Cache = int64(cache)
	s.out.Answer = &a
}

// chooseType answers in the cheapest of the node types that fit.
func (s *sizer) chooseType(shards int, decides string) {
	cores := 0.0
	for _, d := range s.demands {
		cores = max(cores, d.cores)
	}
	if cores == 0 {
		s.doubt("cores-unknown", measure.Warning, "the cores of the measured nodes are not in the records, so node types were not compared with them. Give --cores")
	}
	var fit []record.SizeAnswer
	for _, t := range s.in.Prices.Nodes {
		a, why := s.withType(t, cores, shards, decides)
		if why != "" {
			s.out.Refused = append(s.out.Refused, record.SizeRefusal{Type: t.Name, Why: why})
			continue
		}
		fit = append(fit, a)
	}
	if len(fit) == 0 {
		var why []string
		for _, r := range s.out.Refused {
			why = append(why, r.Type+": "+r.Why)
		}
		s.refuse(record.SizeImpossible, "no node type of the price list fits ("+strings.Join(why, "; ")+")")
		return
	}
	slices.SortStableFunc(fit, func(a, b record.SizeAnswer) int {
		return cmp.Or(cmp.Compare(a.Price.Month, b.Price.Month), cmp.Compare(a.Nodes, b.Nodes))
	})
	s.out.Answer, s.out.Alternatives = &fit[0], fit[1:]
}

// withType is the answer in nodes of one type, or why they do not fit.
func (s *sizer) withType(t spec.NodeType, cores float64, shards int, decides string) (record.SizeAnswer, string) {
	if t.Cores < cores {
		return record.SizeAnswer{}, fmt.Sprintf("it has %s cores, but the measured nodes have %s, and fewer were not measured", number(t.Cores), number(cores))
	}
	cache := WiredTigerCache(float64(t.Memory))
	memory := func(n int) bool { return s.kept(cache, n) }
	disk := func(n int) bool { return diskTotal(s.diskFor(n)) <= int64(t.Disk) }
	byMemory, byDisk := first(shards, memory), first(shards, disk)
	switch {
	case byMemory == 0:
		return record.SizeAnswer{}, fmt.Sprintf("with its %s of memory no number of shards keeps the measured hit ratio", figure.Bytes(int64(t.Memory)))
	case byDisk == 0:
		return record.SizeAnswer{}, fmt.Sprintf("its %s of disk are too small for any number of shards", figure.Bytes(int64(t.Disk)))
	}
	n := max(shards, byMemory, byDisk)
	switch {
	case n == shards:
	case n == byMemory:
		decides = "memory"
	default:
		decides = "disk"
	}
	a := s.size(n, decides, float64(t.Memory))
	a.Type, a.Memory, a.Cache, a.Disk = t.Name, int64(t.Memory), int64(cache), int64(t.Disk)
	a.Price = s.price(a.Nodes, t)
	return a, ""
}

// price is what nodes cost, by operations as well where a rate is needed. Quotients are rounded up to three digits, as
// TPC-C 7.3 asks: nobody gets more for the money than is said.
func (s *sizer) price(nodes int, t spec.NodeType) *record.SizePrice {
	l := s.in.Prices
	p := &record.SizePrice{Currency: l.Currency, Date: l.Date, Source: l.Source, Month: float64(nodes) * t.Price}
	if rate := s.in.Need.Operations; rate > 0 {
		per, million := upToThree(p.Month/rate), upToThree(p.Month/(rate*month)*1e6)
		p.PerRate, p.PerMillion = &per, &million
	}
	return p
}

// upToThree rounds x up to three significant digits.
func upToThree(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 0) {
		return x
	}
	exponent := math.Floor(math.Log10(x)) - 2
	unit := math.Pow(10, math.Abs(exponent))
	if exponent < 0 { // multiplying keeps 0.0123 exact where dividing by 0.0001 does not
		return math.Ceil(x*unit*(1-1e-12)) / unit
	}
	return math.Ceil(x/unit*(1-1e-12)) * unit
}
