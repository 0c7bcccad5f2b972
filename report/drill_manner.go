package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/suite/judge"
)

// mannerNames are what clients notice of a fault. Those that are left out are words already.
var mannerNames = map[string]string{
	record.MannerCrash: "crash (connections break)", record.MannerBlackHole: "black hole (connections hang)",
	record.MannerPlanned: "planned hand-over", record.MannerUnknown: "caused from outside",
}

// MannerName is a failure mode in words; see [record.DrillManner].
func MannerName(manner string) string {
	var list []string
	for name := range strings.SplitSeq(manner, "+") {
		list = append(list, cmp.Or(mannerNames[name], name, "nothing broken"))
	}
	return strings.Join(list, " and ")
}

// MannerWord is a failure mode without its explanation.
func MannerWord(manner string) string { return strings.ReplaceAll(manner, "+", " and ") }

// DrillManners are the rounds of a drill by what clients noticed: those of its record, or, of one that is older, as its
// rounds have it. Where the record has the figures of all rounds only, they are those of one manner.
func DrillManners(d *record.Drill) []record.DrillManner {
	list := d.Manners
	if len(list) == 0 {
		list = d.ByManner()
	}
	if len(list) < 2 && (d.Outages != nil || d.Losses != nil) {
		one := record.DrillManner{Rounds: len(d.Rounds)}
		if len(list) == 1 {
			one = list[0]
		}
		one.Outages, one.Losses, one.Statement = d.Outages, d.Losses, d.Statement
		return []record.DrillManner{one}
	}
	return list
}

// mannerOutage is the outage of the rounds of a failure mode; "" if none is known.
func mannerOutage(m *record.DrillManner) string {
	text := ""
	switch {
	case m.Outages == nil && m.Unended == 1 && m.Rounds == 1:
		return "that did not end in the load"
	case m.Outages == nil && m.Unended == 0:
		return ""
	case m.Outages == nil:
	case len(m.Outages.Values) == 1:
		text = nanoseconds(m.Outages.Values[0])
	default:
		text = nanoseconds(m.Outages.Median) + " (median), " + nanoseconds(m.Outages.Max) + " (longest)"
	}
	if m.Unended > 0 {
		text = strings.TrimPrefix(fmt.Sprintf("%s and one that did not end in the load in %d of %s", text, m.Unended, figure.Plural(m.Rounds, "round")), " and ")
	}
	return text
}

func mannerLoss(m *record.DrillManner) string { return judge.LossText(m.Losses) }

// windowOf is the longest loss window of all rounds of a failure mode, as the end of a sentence.
func windowOf(d *record.Drill, manner string) string {
	longest := int64(-1)
	for i := range d.Rounds {
		if r := &d.Rounds[i]; r.Ledger != nil && r.Manner() == manner {
			longest = max(longest, r.Ledger.LossWindow)
		}
	}
	if longest < 0 {
		return ""
	}
	return ", acknowledged up to " + nanoseconds(float64(longest)) + " before the fault"
}

// statements are what so many rounds allow to say, each manner by itself.
func statements(d *record.Drill) []string {
	list := DrillManners(d)
	if len(list) < 2 {
		if d.Statement == "" {
			return nil
		}
		return []string{d.Statement}
	}
	var lines []string
	for _, m := range list {
		if m.Statement != "" {
			lines = append(lines, Capitalised(MannerName(m.Manner))+": "+m.Statement)
		}
	}
	return lines
}

func drillManners(d *record.Drill) Section {
	s := Section{Title: "outages by failure mode", Table: &Table{Header: []string{"failure mode", "rounds", "median outage", "longest", "did not end", "rounds with loss"}, Left: 1}}
	if len(d.Rounds) < 2 {
		return Section{}
	}
	for _, m := range DrillManners(d) {
		median, longest := "–", "–"
		if m.Outages != nil {
			median, longest = nanoseconds(m.Outages.Median), nanoseconds(m.Outages.Max)
		}
		s.Table.row(MannerName(m.Manner), figure.Count(int64(m.Rounds)), median, longest, figure.Count(int64(m.Unended)),
			figure.Count(int64(m.Lossy)))
	}
	return s
}

// drillLeft says how much of the throughput was left while something was slow, "" if nothing was.
func drillLeft(r *record.DrillRound) string {
	e := r.Headline()
	if e == nil || e.Before <= 0 || !slices.ContainsFunc(r.Faults, func(f record.DrillFault) bool {
		return f.Manner == record.MannerSlow && f.Injected > 0
	}) {
		return ""
	}
	return fmt.Sprintf("%s of the throughput was left while it was slow: %s ok/s, %s before", figure.Percent(e.During/e.Before), figure.Rate(e.During), figure.Rate(e.Before))
}
