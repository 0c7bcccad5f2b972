package judge

import (
	"fmt"
	"math"
	"strconv"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// lossMetric is the chance that a failure takes acknowledged writes with it, in percent: what a document asserts and
// drills count.
const lossMetric = "loss"

// widestChance is how wide the interval of a chance may be for it to be called found again: with few rounds it is
// nearly everything, and that some figure lies in it says nothing.
const widestChance = 0.3

// lossConfidence is that of the interval of a chance.
const lossConfidence = 0.95

// lossRounds are the rounds of a drill in which something was acknowledged, and in how many of them some of that was
// gone.
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

// lossFinding holds the chance of a loss that a document states, from 0 to 1, against the rounds of a drill.
func lossFinding(d *record.Drill, chance float64, stated bool) finding {
	rounds, lossy := lossRounds(d)
	if rounds == 0 {
		return finding{GoneText(gone(d)), record.NotStated, lack{why: "nobody acknowledged a write, so that no promise was broken"}}
	}
	low, high := chanceInterval(lossy, rounds)
	found := fmt.Sprintf("%d of %s lost acknowledged writes: a chance of %s", lossy, figure.Plural(rounds, "round"), ChanceText(low, high))
	switch {
	case !stated:
		return finding{found, record.NotStated, lack{why: "the document states no chance"}}
	case chance < low || chance > high:
		return finding{found, record.Disagrees, lack{why: "the document's chance lies outside of the measured interval"}}
	case high-low > widestChance:
		return finding{found, record.NotTold, lack{why: "so few rounds leave room for many chances; the document's is one of them"}}
	}
	return finding{found, record.Agrees, lack{why: "the document's chance lies in the measured interval"}}
}

// gone counts the writes without an answer, and those of them that were not there afterwards.
func gone(d *record.Drill) (unanswered, gone int64) {
	for i := range d.Rounds {
		if l := d.Rounds[i].Ledger; l != nil {
			unanswered += l.Indeterminate
			gone += l.Inserts[record.WriteDropped] + l.Updates[record.WriteDropped]
		}
	}
	return unanswered, gone
}

// GoneText tells how many of the writes without an answer were not there afterwards.
func GoneText(unanswered, gone int64) string {
	if unanswered == 0 {
		return "none"
	}
	return fmt.Sprintf("%s of %s gone", figure.Count(gone), figure.Count(unanswered))
}

// LossText is what rounds lost of what had been acknowledged; nil is that nobody knows.
func LossText(losses *record.Spread) string {
	switch {
	case losses == nil:
		return "loss not known"
	case losses.Max == 0:
		return "no acknowledged write lost"
	case len(losses.Values) == 1:
		return figure.Plural(int(losses.Max), "acknowledged write") + " lost"
	}
	return fmt.Sprintf("up to %s lost in a round", figure.Plural(int(losses.Max), "acknowledged write"))
}

// ChanceText is the interval of a chance.
func ChanceText(low, high float64) string { return percent(low) + " to " + percent(high) }

// percent writes a chance without decimals: rounds are never so many that these would mean something.
func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 0, 64) + " %" }

// losses are what each failure took of what had been acknowledged.
func (s *Suite) losses() (list []record.SuiteLoss) {
	for i := range s.Parts {
		d := s.Parts[i].Drill
		if d == nil {
			continue
		}
		x := record.SuiteLoss{Part: s.Parts[i].Name}
		x.Unanswered, x.Gone = gone(d)
		if x.Rounds, x.Lossy = lossRounds(d); x.Rounds > 0 {
			x.Low, x.High = chanceInterval(x.Lossy, x.Rounds)
			x.Most = int64(d.Losses.Max)
		}
		for k := range d.Rounds {
			if l := d.Rounds[k].Ledger; l != nil && l.LossWindow >= 0 && (x.Oldest == nil || *x.Oldest < l.LossWindow) {
				x.Oldest = &l.LossWindow
			}
		}
		list = append(list, x)
	}
	return list
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
