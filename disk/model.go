package disk

import (
	"slices"
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// The model of the group commit has one flusher. A commit that arrives during a flush waits for the rest of that flush
// and for the next one. S is the time of one cycle of the flusher: it collects the records, writes and flushes them,
// and acknowledges the commits. Except for the fastest devices that is the time of the flush. e is the time between an
// acknowledgement and the next commit of a client.
//
// One client waits for one flush: S. With two or more, a client that was acknowledged at the end of flush k commits
// again e later, when flush k+1 has begun for the clients that waited. It waits for the rest of that flush, S − e, and
// for flush k+2: 2S − e in total, for e < S. Each client needs two flushes per commit, so C clients do C/(2S) commits
// per second.

// modelLatency returns the expected mean time of a commit for a number of clients in a closed loop.
func modelLatency(clients int, flush, think time.Duration) time.Duration {
	if clients <= 1 {
		return flush
	}
	return max(flush, 2*flush-think)
}

// modelOf compares a step with the model for the step's own flush times.
func modelOf(clients int, flush, commits *measure.Histogram, think time.Duration) *record.ProbeModel {
	if flush.Count() == 0 || commits.Count() == 0 {
		return nil
	}
	expected := modelLatency(clients, time.Duration(flush.Mean()), think)
	m := &record.ProbeModel{Latency: int64(expected), Rate: over(float64(clients), (expected + think).Seconds())}
	if expected > 0 {
		m.Error = commits.Mean()/float64(expected) - 1
	}
	return m
}

// meanSquare returns E[S²] in s² from the buckets of a histogram.
func meanSquare(h *measure.Histogram) float64 {
	var sum, n float64
	for ns, count := range h.Buckets() {
		s := float64(ns) / 1e9
		sum += s * s * float64(count)
		n += float64(count)
	}
	return over(sum, n)
}

func over(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

// amongOthers returns the expected mean time of a commit with j:true with other clients: the rest of the running flush,
// and its own flush, E[S]. The rest depends on the arrival of commits; amongOthers uses the longer of two cases:
//
//   - clients that commit again immediately arrive at the start of a flush, so the rest is E[S]
//   - clients that commit again later than a short flush (because their processors are busy), or independently of each
//     other, arrive at any time, and so mostly during long flushes: E[S²]/(2·E[S])
//
// If all flushes take the same time, the first is longer, and a commit takes 2·E[S]. For a device that is mostly fast
// and sometimes slow, as behind a token bucket, the second is many times longer than the mean.
//
// Source: MongoDB 4.4 with j:true. With a constant flush of 5.4 ms a commit took 2.00 to 2.14 flushes with 2 to 32
// clients. With flushes of 0.2 or 97 ms, on average 7 to 9 ms, it took 17 ms with 4 clients (they commit again
// immediately), 51 ms with 32 and 68 ms with 128, where the model gives 56 ms.
func amongOthers(mean time.Duration, square float64) time.Duration {
	s := mean.Seconds()
	if s <= 0 {
		return 0
	}
	return time.Duration((s + max(s, square/(2*s))) * 1e9)
}

// majority returns the expected time of w:majority with journal. A commit is durable on a member after its own flush.
// It reaches another member half a round trip later, and the answer needs the other half. The commit is acknowledged
// when the slowest member of the fastest majority has answered. The time to apply the operation is not included.
func majority(one, many time.Duration, peers []record.ProbePeer) *record.ProbeMajority {
	if len(peers) == 0 {
		return nil
	}
	type member struct {
		name      string
		one, many time.Duration
	}
	list := []member{{"this one", one, many}}
	for i, p := range peers {
		flush, rtt := time.Duration(p.Flush), time.Duration(p.RTT)
		list = append(list, member{"peer " + strconv.Itoa(i+1), rtt + flush, rtt + 2*flush})
	}
	m := &record.ProbeMajority{Members: len(list), Needed: len(list)/2 + 1}
	slices.SortStableFunc(list, func(a, b member) int { return int(a.many - b.many) })
	m.Many, m.Decided = int64(list[m.Needed-1].many), list[m.Needed-1].name
	slices.SortStableFunc(list, func(a, b member) int { return int(a.one - b.one) })
	m.One = int64(list[m.Needed-1].one)
	return m
}
