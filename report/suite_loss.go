package report

import (
	"fmt"
	"math"
	"strconv"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// lossMetric is the chance that a failure takes acknowledged writes with it, in percent: what a document asserts and drills count.
const lossMetric = "loss"

// widestChance is how wide the interval of a chance may be for it to be called found again: with few rounds it is nearly
// everything, and that some figure lies in it says nothing.
const widestChance = 0.3

// lossConfidence is that of the interval of a chance.
const lossConfidence = 0.95

// lossRounds are the rounds of a drill in which something was acknowledged, and in how many of them some of that was gone.
func lossRounds(d *record.Drill) (rounds, lossy int) {
	if d.Losses == nil {
		return 0, 0
	}
	for _, lost := range d.Losses.Values {
		if lost > 0 {
			lossy++
		}
	}
	return len(d.Losses.Values), lossy
}

// lossWords hold the chance of a loss that a document states, from 0 to 1, against the rounds of a drill.
func lossWords(d *record.Drill, chance float64, stated bool) (found string, a record.Agreement, why string) {
	rounds, lossy := lossRounds(d)
	if rounds == 0 {
		return gone(d), record.NotStated, "nobody acknowledged a write, so that no promise was broken"
	}
	low, high := chanceInterval(lossy, rounds)
	found = fmt.Sprintf("%d of %s lost acknowledged writes: a chance of %s to %s", lossy, figure.Plural(rounds, "round"), percent(low), percent(high))
	switch {
	case !stated:
		return found, record.NotStated, "the document states no chance"
	case chance < low || chance > high:
		return found, record.Disagrees, "the document's chance lies outside of the measured interval"
	case high-low > widestChance:
		return found, record.NotTold, "so few rounds leave room for many chances; the document's is one of them"
	}
	return found, record.Agrees, "the document's chance lies in the measured interval"
}

// gone tells how many of the writes without an answer were not there afterwards.
func gone(d *record.Drill) string {
	sent, dropped := int64(0), int64(0)
	for i := range d.Rounds {
		if l := d.Rounds[i].Ledger; l != nil {
			sent += l.Indeterminate
			dropped += l.Inserts[record.WriteDropped] + l.Updates[record.WriteDropped]
		}
	}
	if sent == 0 {
		return "none"
	}
	return fmt.Sprintf("%s of %s gone", figure.Count(dropped), figure.Count(sent))
}

// percent writes a chance without decimals: rounds are never so many that these would mean something.
func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 0, 64) + " %" }

// lossSection is what each failure took of what had been acknowledged.
func (s *Suite) lossSection() Section {
	x := Section{Title: "chance that a failure takes acknowledged writes", Table: &Table{Left: 1, Last: 1,
		Header: []string{"part", "rounds", "with a loss", "chance", "most lost in a round", "oldest lost", "writes without an answer"}}}
	for i := range s.Parts {
		d := s.Parts[i].Drill
		if d == nil {
			continue
		}
		cells := []string{s.Parts[i].Name, "-", "-", "-", "-", "-", gone(d)}
		if rounds, lossy := lossRounds(d); rounds > 0 {
			low, high := chanceInterval(lossy, rounds)
			cells[1], cells[2], cells[3], cells[4] = strconv.Itoa(rounds), strconv.Itoa(lossy), percent(low)+" to "+percent(high), figure.Count(int64(d.Losses.Max))
		}
		if at := oldestLost(d); at >= 0 {
			cells[5] = nanoseconds(float64(at)) + " before"
		}
		x.Table.row(cells...)
	}
	if len(x.Table.Rows) > 0 {
		x.Lines = []string{"a round is one failure. The chance is that a failure takes something; the interval of 95 % is the exact one of Clopper and Pearson, and with few rounds " +
			"it is wide. Oldest lost: how long before the fault it had been acknowledged. Writes without an answer are those that nobody promised to keep"}
	}
	return x
}

// oldestLost is how long before the fault the oldest lost write of all rounds had been acknowledged, in nanoseconds; -1 if none was
// lost.
func oldestLost(d *record.Drill) int64 {
	oldest := int64(-1)
	for i := range d.Rounds {
		if l := d.Rounds[i].Ledger; l != nil {
			oldest = max(oldest, l.LossWindow)
		}
	}
	return oldest
}

// chanceInterval is the exact interval of a chance that came true k times in n rounds (Clopper and Pearson 1934).
func chanceInterval(k, n int) (low, high float64) {
	tail := (1 - lossConfidence) / 2
	low, high = 0, 1
	if k > 0 { // so many or more are as rare as the tail
		low = bisect(func(p float64) bool { return 1-atMost(k-1, n, p) < tail })
	}
	if k < n { // so many or fewer are as rare as the tail
		high = bisect(func(p float64) bool { return atMost(k, n, p) > tail })
	}
	return low, high
}

// bisect finds where below stops to hold, from 0 to 1.
func bisect(below func(float64) bool) float64 {
	a, b := 0.0, 1.0
	for range 60 {
		if mid := (a + b) / 2; below(mid) {
			a = mid
		} else {
			b = mid
		}
	}
	return (a + b) / 2
}

// atMost is the probability of at most k of n with the chance p, which is neither 0 nor 1.
func atMost(k, n int, p float64) float64 {
	all, _ := math.Lgamma(float64(n + 1))
	sum := 0.0
	for i := range k + 1 {
		a, _ := math.Lgamma(float64(i + 1))
		b, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(all - a - b + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return min(sum, 1)
}
