package disk

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// The model of the group commit: one flusher; a commit that comes while a flush runs waits for the rest of it and for
// the whole next one. S is one turn of the flusher: the records are put together, written and flushed, and who waited
// is let go. On all but the fastest devices that is the time of the flush. e is the time between an acknowledgement and
// the next commit of a client.
//
// One client waits for one flush: S. From two on, a client that was acknowledged at the end of flush k comes back e
// later, when flush k+1 has begun for those who waited meanwhile; it waits for the rest of that, S − e, and for flush
// k+2: 2S − e, as long as e < S. Each client takes two flushes per commit, so that C of them do C/(2S) per second.

// modelLatency is the expected mean time of a commit of so many clients in a closed loop.
func modelLatency(clients int, flush, think time.Duration) time.Duration {
	if clients <= 1 {
		return flush
	}
	return max(flush, 2*flush-think)
}

// modelRate is the expected commits per second.
func modelRate(clients int, flush, think time.Duration) float64 {
	cycle := (modelLatency(clients, flush, think) + think).Seconds()
	if cycle <= 0 {
		return 0
	}
	return float64(clients) / cycle
}

// modelOf holds a step against the model with the step's own flushes.
func modelOf(clients int, flush, commits *measure.Histogram, think time.Duration) *record.ProbeModel {
	if flush.Count() == 0 || commits.Count() == 0 {
		return nil
	}
	expected := modelLatency(clients, time.Duration(flush.Mean()), think)
	m := &record.ProbeModel{Latency: int64(expected), Rate: modelRate(clients, time.Duration(flush.Mean()), think)}
	if expected > 0 {
		m.Error = commits.Mean()/float64(expected) - 1
	}
	return m
}

// meanSquare is E[S²] in s², from the buckets of a histogram.
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

// amongOthers is the expected mean time of a commit with j:true among those of other clients: its own flush, E[S], and
// before that the rest of the flush that runs when it comes. How long that rest is depends on when commits come, and
// the longer of two answers is taken:
//
//   - clients that come back at once come at the beginning of a flush, whose rest is the whole of it: E[S]
//   - clients that come back later than a short flush takes (their processors are busy), or that know nothing of
//     each other, come at any time, and so mostly into long flushes: E[S²]/(2·E[S])
//
// If all flushes take about the same the first is longer, and a commit takes 2·E[S]. A device that is mostly fast and
// at times slow, as behind a token bucket, makes the second one many times longer than the mean says.
//
// Source: a MongoDB 4.4 with j:true. A constant flush of 5.4 ms gave 2.00 to 2.14 flushes with 2 to 32 clients. Flushes
// of 0.2 or 97 ms, 7 to 9 ms on average, gave 17 ms with 4 clients (they came back at once), 51 ms with 32 and 68 ms
// with 128, where this says 56 ms.
func amongOthers(mean time.Duration, square float64) time.Duration {
	s := mean.Seconds()
	if s <= 0 {
		return 0
	}
	return time.Duration((s + max(s, square/(2*s))) * 1e9)
}

// openLatency is the expected mean time of a commit of independent clients that make rate commits per second: one
// flush, and for those that come while another one runs the rest of that, which is E[S²]/(2·E[S]) because more commits
// fall into long flushes. A flush runs for the share b = x·eˣ/(1+x·eˣ) of the time, x = rate·S.
func openLatency(rate float64, mean time.Duration, square float64) time.Duration {
	s := mean.Seconds()
	if s <= 0 {
		return 0
	}
	x := rate * s
	busy := 1 / (1 + math.Exp(-x)/math.Max(x, 1e-12))
	return time.Duration((s + busy*max(square, s*s)/(2*s)) * 1e9)
}

// majority is the expected time of w:majority with journal. A member has a commit durable after its own flush; another
// one hears of it half a round trip later and its answer takes the other half. The commit is acknowledged when as many
// members as a majority takes have it: the slowest of the fastest ones. Applying the operation takes time as well,
// which is not in here.
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
