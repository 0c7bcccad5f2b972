package judge

import (
	"fmt"
	"strconv"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
)

// lossMetric is the probability, in percent, that a failure loses acknowledged writes. Documents assert it, drills
// count it.
const lossMetric = "loss"

// chanceWithin is how far the whole interval of a probability may be from the stated one to confirm it. With few rounds
// the interval is nearly everything, so it contains any figure.
const chanceWithin = 0.2

const lossConfidence = 0.95

// lossRounds counts the rounds of a drill that show something about losses, and those that lost acknowledged writes.
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

// lossFinding compares the probability of a loss that a document states, from 0 to 1, with the rounds of a drill.
func lossFinding(d *record.Drill, chance float64, stated bool) finding {
	rounds, lossy := lossRounds(d)
	if rounds == 0 {
		return finding{GoneText(gone(d)), record.NotStated, reason{why: "no write was acknowledged, so none could be lost"}}
	}
	iv := stats.BinomialInterval(lossy, rounds, lossConfidence)
	found := fmt.Sprintf("%d of %s lost acknowledged writes: a probability of %s", lossy, figure.Plural(rounds, "round"),
		ChanceText(iv.Low, iv.High))
	switch {
	case !stated:
		return finding{found, record.NotStated, reason{why: "the document states no probability"}}
	case chance < iv.Low || chance > iv.High:
		return finding{found, record.Disagrees, reason{why: "the document's probability is outside the measured interval"}}
	case iv.Low < chance-chanceWithin || iv.High > chance+chanceWithin:
		return finding{found, record.Compatible, reason{why: "the document's probability is inside the measured interval, but the interval of so few rounds is too wide to confirm it"}}
	}
	return finding{found, record.Agrees, reason{why: "the measured interval is within 20 percentage points of the document's probability"}}
}

// gone counts the writes without an answer, and those of them that are absent.
func gone(d *record.Drill) (unanswered, gone int64) {
	for i := range d.Rounds {
		if l := d.Rounds[i].Ledger; l != nil {
			unanswered += l.Indeterminate
			gone += l.Inserts[record.WriteDropped] + l.Updates[record.WriteDropped]
		}
	}
	return unanswered, gone
}

// GoneText says how many of the writes without an answer are gone.
func GoneText(unanswered, gone int64) string {
	if unanswered == 0 {
		return "none"
	}
	return fmt.Sprintf("%s of %s gone", figure.Count(gone), figure.Count(unanswered))
}

// LossText is the acknowledged writes that rounds lost; nil is not known.
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

// ChanceText is the interval of a probability.
func ChanceText(low, high float64) string { return percent(low) + " to " + percent(high) }

// percent has no decimals, because there are never enough rounds for them to mean something.
func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 0, 64) + " %" }

// losses returns the acknowledged writes that each failure lost.
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
			if l := d.Rounds[k].Ledger; l != nil {
				x.After = max(x.After, l.LossAfter)
			}
		}
		list = append(list, x)
	}
	return list
}
