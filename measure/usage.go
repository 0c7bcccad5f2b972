package measure

import (
	"math"
	"runtime/metrics"
	"slices"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/loop"
)

// usageSampler measures what this process used between two samples.
type usageSampler struct {
	metrics []metrics.Sample
	cpu     time.Duration
	loops   func() []LoopUse
	before  []LoopUse
	at      time.Time // of before
	system  systemUse // since the start of the process
	sched   []uint64  // counts of the scheduling latencies at the last sample
	pauses  []uint64
	last    int64               // time of the last sample
	bins    map[int64]ClientUse // by start of the interval
}

// The order of the metrics in usageSampler.metrics.
const (
	metricSched = iota
	metricPauses
	metricHeap
)

func (u *usageSampler) start(loops func() []LoopUse) {
	u.loops, u.at = loops, time.Now()
	u.metrics = []metrics.Sample{
		metricSched:  {Name: "/sched/latencies:seconds"},
		metricPauses: {Name: "/sched/pauses/total/gc:seconds"},
		metricHeap:   {Name: "/memory/classes/heap/objects:bytes"},
	}
	u.bins = map[int64]ClientUse{}
	u.look()
}

// sample assigns the use since the last sample to the interval in the middle of that time.
func (u *usageSampler) sample(now int64, l timeline) {
	span := l.at(u.last + (now-u.last)/2)
	u.last = now
	use, have := u.look(), u.bins[span.start]
	u.bins[span.start] = have.Add(use)
}

// take removes what belongs to the intervals that begin before end.
func (u *usageSampler) take(end int64) ClientUse {
	var all ClientUse
	for at, use := range u.bins {
		if at < end {
			delete(u.bins, at)
			all = all.Add(use)
		}
	}
	return all
}

// look returns the use since the last call.
func (u *usageSampler) look() ClientUse {
	metrics.Read(u.metrics)
	cpu := ProcessCPU()
	use := ClientUse{CPU: cpu - u.cpu}
	u.cpu = cpu
	u.lookAtLoops(&use)
	before := u.system
	u.system = readSystemUse()
	use.Throttled = max(0, u.system.throttled-before.throttled)
	use.ThrottledTimes = max(0, u.system.times-before.times)
	use.RunDelay = max(0, u.system.runDelay-before.runDelay) // a thread that ended takes its delay along
	if v := u.metrics[metricSched].Value; v.Kind() == metrics.KindFloat64Histogram {
		h := v.Float64Histogram()
		use.SchedP99 = quantileOf(h, added(h, &u.sched), 0.99)
	}
	if v := u.metrics[metricPauses].Value; v.Kind() == metrics.KindFloat64Histogram {
		h := v.Float64Histogram()
		counts := added(h, &u.pauses)
		use.GCPauseMax, use.GCPauseSum = quantileOf(h, counts, 1), sumOf(h, counts)
	}
	if v := u.metrics[metricHeap].Value; v.Kind() == metrics.KindUint64 {
		use.HeapBytes = v.Uint64()
	}
	return use
}

// systemUse is what the operating system counts of this process since its start. Unknown values are 0.
type systemUse struct {
	throttled time.Duration
	times     int64
	runDelay  time.Duration
}

// LoopUse is what one event loop of the client did since its start.
type LoopUse = loop.Use

// lookAtLoops adds the use of the loops since the last call.
func (u *usageSampler) lookAtLoops(use *ClientUse) {
	if u.loops == nil {
		return
	}
	now, list := time.Now(), u.loops()
	passed := now.Sub(u.at)
	var turns loop.Turns
	for i, l := range list {
		var before LoopUse // zero for a loop that has been added
		if i < len(u.before) {
			before = u.before[i]
		}
		if passed > 0 {
			use.LoopBusy = max(use.LoopBusy, min(1, float64(l.Busy-before.Busy)/float64(passed)))
		}
		for b := range turns {
			turns[b] += l.Turns[b] - before.Turns[b]
		}
	}
	use.Loops = len(list)
	use.TurnP99, use.TurnMax = turns.Quantile(0.99), turns.Quantile(1)
	u.at, u.before = now, list
}

// added returns the increase of the counts of the runtime's histogram since last, and updates last.
func added(h *metrics.Float64Histogram, last *[]uint64) []uint64 {
	counts := slices.Clone(h.Counts)
	for i, n := range *last {
		counts[i] -= n
	}
	*last = append((*last)[:0], h.Counts...)
	return counts
}

// quantileOf returns the quantile q of counts in the buckets of h, as the upper end of its bucket.
func quantileOf(h *metrics.Float64Histogram, counts []uint64, q float64) time.Duration {
	var total, seen uint64
	for _, n := range counts {
		total += n
	}
	if total == 0 {
		return 0
	}
	rank := max(1, uint64(math.Ceil(q*float64(total))))
	for i, n := range counts {
		if seen += n; seen >= rank {
			return seconds(finiteEnd(h.Buckets, i))
		}
	}
	return 0
}

// sumOf returns the sum of counts in the buckets of h, with the middle of each bucket as its value.
func sumOf(h *metrics.Float64Histogram, counts []uint64) time.Duration {
	sum := 0.0
	for i, n := range counts {
		if n > 0 {
			sum += float64(n) * (max(0, h.Buckets[i]) + finiteEnd(h.Buckets, i)) / 2
		}
	}
	return seconds(sum)
}

// finiteEnd returns the upper bound of bucket i, or its lower bound if the upper one is infinite.
func finiteEnd(bounds []float64, i int) float64 {
	if !math.IsInf(bounds[i+1], 0) {
		return bounds[i+1]
	}
	return max(0, bounds[i])
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// ProcessCPU returns the user and system time of this process, 0 if it cannot be read.
func ProcessCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
