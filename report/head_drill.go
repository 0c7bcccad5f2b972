package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// drillAnswer says whether a drill holds, what was lost, and how long it was out. What clients noticed differently is
// told apart.
func drillAnswer(d *record.Drill) string {
	text := drillVerdict(d)
	if d.Status == record.Running {
		return text
	}
	if lied(d) {
		text += " on a LYING disk"
	}
	list := DrillManners(d)
	if len(list) < 2 {
		var one record.DrillManner
		if len(list) == 1 {
			one = list[0]
		}
		text += ": " + strings.TrimSuffix(lossText(d, &one), " in a round")
		switch o := one.Outages; {
		case o != nil && len(o.Values) > 1 && one.Unended == 0:
			text += "; outage " + nanoseconds(o.Median) + ", at most " + nanoseconds(o.Max)
		case mannerOutage(&one) != "":
			text += "; " + outageText(d, mannerOutage(&one))
		}
		return text
	}
	for i := range list {
		m := &list[i]
		text += "; " + MannerWord(m.Manner) + ": "
		if out := mannerOutage(m); out != "" {
			text += "outage " + out + ", "
		}
		text += lossCount(d, m)
	}
	return text
}

// lied says whether a disk confirmed flushes that it did not do.
func lied(d *record.Drill) bool {
	return slices.ContainsFunc(d.Rounds, func(r record.DrillRound) bool {
		return slices.ContainsFunc(r.Faults, func(f record.DrillFault) bool {
			return f.Fault.Action == fault.DiskLie && f.Hit
		})
	})
}

// lostAny is the round that lost the most acknowledged writes, nil if none did.
func lostAny(d *record.Drill) (worst *record.DrillRound) {
	for i := range d.Rounds {
		if r := &d.Rounds[i]; r.Ledger != nil && r.Ledger.LostWrites() > 0 &&
			(worst == nil || r.Ledger.LostWrites() > worst.Ledger.LostWrites()) {
			worst = r
		}
	}
	return worst
}

// lossPoints say that writes were lost although that was allowed, and which setting keeps them.
func lossPoints(d *record.Drill) []Point {
	r := lostAny(d)
	if r == nil || d.Verdict == record.Violated || !r.LossAllowed() {
		return nil
	}
	text := r.Ledger.LostText() + " lost, as " + allowedBy(d, r) + " allows"
	if advice := lossAdvice(d, r); advice != "" {
		text += ": " + advice
	}
	return []Point{{Warn, "", text}}
}

// lossAdvice is the setting that keeps acknowledged writes, "" if it was set or is not known.
func lossAdvice(d *record.Drill, r *record.DrillRound) string {
	asked := d.Specification.Run.Durability.Effective()
	alone := r.Topology != nil && r.Topology.Kind == spec.LabStandalone
	switch {
	case alone || r.Level != "":
		if r.Level == "durable" || asked.Journal != nil && *asked.Journal {
			return ""
		}
		return "use --durability durable. Then a write is acknowledged when it is on a disk"
	case asked.W != "majority":
		return "use w:majority (--w majority). Then a write is acknowledged when most members have it"
	}
	return ""
}

// drillBasis is how many rounds the answer is based on, and how many writes were checked.
func drillBasis(d *record.Drill) string {
	acknowledged, unchecked, over := int64(0), int64(0), 0
	for i := range d.Rounds {
		r := &d.Rounds[i]
		if r.Status != record.Running {
			over++
		}
		if r.Ledger != nil {
			acknowledged, unchecked = acknowledged+r.Ledger.Acknowledged, unchecked+r.Ledger.UncheckedWrites()
		}
	}
	if over == 0 {
		return ""
	}
	text := figure.Plural(over, "round") + ", " + figure.Count(acknowledged) + " acknowledged writes checked"
	if over == 1 {
		text = "one round, " + figure.Count(acknowledged) + " acknowledged writes checked"
	}
	if unchecked > 0 {
		text += fmt.Sprintf(", %s not", figure.Count(unchecked))
	}
	return text
}

// drillSummary has the events of a single round, or else the rounds.
func drillSummary(d *record.Drill) *Table {
	if len(d.Rounds) != 1 {
		return roundsDone(d)
	}
	story := DrillStories(&d.Rounds[0])[0]
	if len(d.Rounds[0].Faults) == 0 {
		return nil
	}
	t := &Table{Header: []string{"event", "after the request", "details"}, Last: 1}
	for _, m := range story.Moments {
		t.row(DrillMoment(m.Kind), nanoseconds(float64(m.At-d.Rounds[0].Faults[0].Injected)), m.Text)
	}
	return t
}
