package capacity

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The figures that disks are sized with.
const (
	// diskOverhead is the size of a collection on disk relative to its documents: index on _id, pages that are not
	// full. The reference architecture's 100 million records of 1,168 bytes of BSON took 128 GB, 1.10 times that.
	// Compression is not included, because YCSB's values do not compress.
	diskOverhead = 1.10
	// journalFile is the size of a file of WiredTiger's journal. One more is preallocated.
	journalFile = 100 << 20
	// journalKept is the time for which the journal is kept: from the last checkpoint to the end of the next one.
	journalKept = 2 * time.Minute
	// The oplog takes 5 % of the disk by default, at least 990 MB and at most 50 GB.
	oplogShare, oplogLeast, oplogMost = 0.05, 990e6, 50e9
	month                             = 365.25 / 12 * 86400 // seconds
	maxShards                         = 1 << 16             // the largest number that is tried
)

// choose makes the answer from all demands.
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
	if a := s.out.Answer; a != nil && s.comparable(a) {
		s.explainAnswer(a)
	}
}

const (
	// smallData and tooSmallData are how many times the documents of a member may be those of a measured member: until
	// the result says so first, and until there is no result.
	smallData    = 10
	tooSmallData = 1000
)

// comparable compares the documents of a member with those of a measured one. Depth of indexes, caches and disks were
// measured at that size only. It returns false after a refusal.
func (s *sizer) comparable(a *record.SizeAnswer) bool {
	for _, d := range s.demands {
		planned, _ := s.data(d)
		planned /= float64(a.Shards)
		measured := d.records * d.docBytes * float64(d.copies) / float64(d.nodes)
		factor := planned / measured
		a.DataFactor = max(a.DataFactor, factor)
		text := fmt.Sprintf("workload %s was measured with %s of documents per member, and the plan has %s, %s times as much",
			d.w.name, figure.Bytes(int64(measured)), figure.Bytes(int64(planned)), figure.Significant(factor))
		advice := fmt.Sprintf("Load at least %s documents for each measured shard (--records), and measure again",
			figure.Count(int64(math.Ceil(planned/smallData/d.docBytes))))
		switch {
		case factor >= tooSmallData:
			s.refuse(record.SizeUnknown, text+". Caches, indexes and disks were not measured at such a size. "+advice)
		case factor >= smallData:
			s.doubt("data-small", measure.Warning, "%s. Caches, indexes and disks may be slower at that size. %s", text, advice)
		}
	}
	return s.out.Verdict == record.SizeAnswered
}

// usualCopies is the number of members with each document if the need says none: the fewest of which one may fail and
// leave a majority.
const usualCopies = 3

// copies is the number of members with each document in the answer.
func (s *sizer) copies() int {
	if n := s.in.Need.Copies; n > 0 {
		return n
	}
	n := usualCopies
	for _, d := range s.demands {
		n = max(n, d.copies)
	}
	return n
}

// leastShards is the number of shards that operations need and, if the batch is known, the journal allows.
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

// data is the size of all documents of a demand, and their number.
func (s *sizer) data(d *demand) (bytes, records float64) {
	if s.in.Need.Data > 0 {
		return float64(s.in.Need.Data), float64(s.in.Need.Data) / d.docBytes
	}
	return d.records * d.docBytes, d.records
}

// cacheFor is the cache that each member needs for the measured hit ratio, 0 without a model.
func (s *sizer) cacheFor(shards int) float64 {
	most := 0.0
	for _, d := range s.demands {
		if d.keys == nil {
			continue
		}
		_, records := s.data(d)
		if c, err := d.keys.Scaled(records/float64(shards)/d.records).CacheFor(d.required, WiredTiger(1)); err == nil {
			most = max(most, c)
		}
	}
	return most
}

// kept reports whether a cache has the measured hit ratio of all demands.
func (s *sizer) kept(cache float64, shards int) bool {
	for _, d := range s.demands {
		if d.keys == nil {
			continue
		}
		_, records := s.data(d)
		p, err := d.keys.Scaled(records / float64(shards) / d.records).Predict(WiredTiger(cache))
		if err != nil || p.Hit < d.required-1e-6 {
			return false
		}
	}
	return true
}

// first returns the smallest number of shards from least on that fits, 0 if none does.
func first(least int, fit func(int) bool) int {
	n := least + sort.Search(maxShards-least+1, func(i int) bool { return fit(least + i) })
	if n > maxShards {
		return 0
	}
	return n
}

// diskFor is the content of the disk of a member.
func (s *sizer) diskFor(shards int) record.SizeDisk {
	documents, overhead, journal := 0.0, 0.0, 2.0*journalFile
	for _, d := range s.demands {
		bytes, records := s.data(d)
		documents = max(documents, bytes/float64(shards))
		overhead = max(overhead, bytes/float64(shards)*(diskOverhead-1)+records/float64(shards)*d.indexBytes)
		rate := s.in.Need.Operations
		if rate == 0 {
			rate = d.out.Rate
		}
		written := rate * d.writes / float64(shards) * d.docBytes * journalKept.Seconds()
		journal = max(journal, math.Ceil(written/journalFile)*journalFile+journalFile)
	}
	p := record.SizeDisk{Documents: int64(documents), Overhead: int64(overhead),
		Journal: int64(journal)}
	used, free := float64(p.Documents+p.Overhead+p.Journal), s.in.Need.Free
	total := used / (1 - free)
	if s.copies() > 1 {
		// The oplog is a share of the total: used + share·total = (1−free)·total, within its limits.
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

// size makes an answer. A memory of 0 is what the cache needs.
func (s *sizer) size(shards int, decides string, memory float64) record.SizeAnswer {
	a := record.SizeAnswer{Shards: shards, Copies: s.copies(), Decides: decides}
	a.AtMost = decides == "operations" && slices.ContainsFunc(s.demands, func(d *demand) bool {
		return d.shards == shards && d.p.atLeast
	})
	// Another member with the same documents takes over the work of a failed one if a majority is left to elect it.
	// Otherwise the work needs a spare node.
	if failures := s.in.Need.Failures; a.Copies < 2*failures+1 {
		a.Spare = failures
	}
	a.Nodes = a.Shards*a.Copies + a.Spare
	if memory == 0 {
		if cache := s.cacheFor(shards); cache > 0 {
			memory = memoryFor(cache)
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

// chooseLikeMeasured answers in nodes like the measured ones. The alternative is fewer nodes with more memory.
func (s *sizer) chooseLikeMeasured(shards int, decides string) {
	memory := 0.0
	for i, d := range s.demands {
		if i == 0 || d.memory < memory { // 0: unknown, and the cache too
			memory = d.memory
		}
	}
	if memory == 0 || s.cacheFor(1) == 0 {
		a := s.size(shards, decides, 0)
		s.out.Answer = &a
		return
	}
	cache := s.demands[0].cache
	for _, d := range s.demands {
		cache = min(cache, d.cache)
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

// withType is the answer in nodes of one type, or the reason why they do not fit.
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

// price is the price of nodes, also by operations if a rate is needed. Quotients are rounded up to three digits, as
// TPC-C 7.3 requires.
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
	if exponent < 0 { // multiplication keeps 0.0123 exact, division by 0.0001 does not
		return math.Ceil(x*unit*(1-1e-12)) / unit
	}
	return math.Ceil(x/unit*(1-1e-12)) * unit
}
