package measure

import (
	"math"
	"runtime/metrics"
	"time"
)

// usageSampler finds out what this process used between two looks.
type usageSampler struct {
	metrics []metrics.Sample
	cpu     time.Duration
	sched   []uint64 // counts of the scheduling latencies at the last look
	pauses  []uint64
	last    int64               // time of the last look
	bins    map[int64]ClientUse // by start of the interval
}

// The order of the metrics in usageSampler.metrics.
const (
	metricSched = iota
	metricPauses
	metricHeap
)

func (u *usageSampler) start() {
	u.metrics = []metrics.Sample{
		metricSched:  {Name: "/sched/latencies:seconds"},
		metricPauses: {Name: "/sched/pauses/total/gc:seconds"},
		metricHeap:   {Name: "/memory/classes/heap/objects:bytes"},
	}
	u.bins = map[int64]ClientUse{}
	u.look()
}

// sample attributes what was used since the last look to the interval in the middle of that time.
func (u *usageSampler) sample(now int64, l timeline) {
	span := l.at(u.last + (now-u.last)/2)
	u.last = now
	use, have := u.look(), u.bins[span.start]
	u.bins[span.start] = ClientUse{
		CPU:        have.CPU + use.CPU,
		SchedP99:   max(have.SchedP99, use.SchedP99),
		GCPauseMax: max(have.GCPauseMax, use.GCPauseMax),
		HeapBytes:  max(have.HeapBytes, use.HeapBytes),
	}
}

// take removes what belongs to the intervals that begin before end.
func (u *usageSampler) take(_, end int64) ClientUse {
	var all ClientUse
	for at, use := range u.bins {
		if at < end {
			delete(u.bins, at)
			all.CPU += use.CPU
			all.SchedP99 = max(all.SchedP99, use.SchedP99)
			all.GCPauseMax = max(all.GCPauseMax, use.GCPauseMax)
			all.HeapBytes = max(all.HeapBytes, use.HeapBytes)
		}
	}
	return all
}

// look returns what was used since the last look.
func (u *usageSampler) look() ClientUse {
	metrics.Read(u.metrics)
	cpu := processCPU()
	use := ClientUse{CPU: cpu - u.cpu}
	u.cpu = cpu
	if v := u.metrics[metricSched].Value; v.Kind() == metrics.KindFloat64Histogram {
		use.SchedP99 = newQuantile(v.Float64Histogram(), &u.sched, 0.99)
	}
	if v := u.metrics[metricPauses].Value; v.Kind() == metrics.KindFloat64Histogram {
		use.GCPauseMax = newQuantile(v.Float64Histogram(), &u.pauses, 1)
	}
	if v := u.metrics[metricHeap].Value; v.Kind() == metrics.KindUint64 {
		use.HeapBytes = v.Uint64()
	}
	return use
}

// newQuantile returns the quantile q of what was added to the runtime's histogram since the counts in
// last were taken, as the upper end of its bucket, and brings last up to date.
func newQuantile(h *metrics.Float64Histogram, last *[]uint64, q float64) time.Duration {
	if len(*last) != len(h.Counts) {
		*last = make([]uint64, len(h.Counts))
	}
	added := make([]uint64, len(h.Counts))
	var total uint64
	for i, n := range h.Counts {
		added[i] = n - (*last)[i]
		total += added[i]
	}
	copy(*last, h.Counts)
	if total == 0 {
		return 0
	}
	rank := max(1, uint64(math.Ceil(q*float64(total))))
	var seen uint64
	for i, n := range added {
		if seen += n; seen >= rank {
			return seconds(finiteEnd(h.Buckets, i))
		}
	}
	return 0
}

// finiteEnd returns the upper bound of bucket i, or its lower one where the upper one is infinite.
func finiteEnd(bounds []float64, i int) float64 {
	if !math.IsInf(bounds[i+1], 0) {
		return bounds[i+1]
	}
	return max(0, bounds[i])
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
