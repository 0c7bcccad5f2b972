package judge

import (
	"fmt"
	"strconv"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
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
	iv := stats.BinomialInterval(lossy, rounds, lossConfidence)
	found := fmt.Sprintf("%d of %s lost acknowledged writes: a chance of %s", lossy, figure.Plural(rounds, "round"), ChanceText(iv.Low, iv.High))
	switch {
	case !stated:
		return finding{found, record.NotStated, lack{why: "the document states no chance"}}
	case chance < iv.Low || chance > iv.High:
		return finding{found, record.Disagrees, lack{why: "the document's chance lies outside of the measured interval"}}
	case iv.High-iv.Low > widestChance:
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
			iv := stats.BinomialInterval(x.Lossy, x.Rounds, lossConfidence)
			x.Low, x.High = iv.Low, iv.High
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
