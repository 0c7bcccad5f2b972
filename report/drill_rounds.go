package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// delaysAtMost is the number of delays that a line lists.
const delaysAtMost = 10

// Delays says by how much the faults of the rounds of a drill are later than specified; "" if they are not.
func Delays(asked spec.Drill) string {
	if asked.Jitter == nil || *asked.Jitter == 0 {
		return ""
	}
	list := asked.Delays()
	rest := len(list) - delaysAtMost
	var texts []string
	for _, delay := range list[:min(len(list), delaysAtMost)] {
		texts = append(texts, figure.Duration(delay))
	}
	if rest > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", rest))
	}
	return fmt.Sprintf("The faults of each round are later by a random time of up to %s (seed %d): %s",
		figure.Duration(asked.Jitter.Std()), asked.Run.Workload.Seed, strings.Join(texts, ", "))
}

// drillDistribution has a line for each round of a drill with several.
func drillDistribution(d *record.Drill) Section {
	if len(d.Rounds) < 2 {
		return Section{}
	}
	s := Section{Title: "rounds", Table: &Table{Header: []string{"round", "verdict", "failure mode", "outage",
		"rate restored after", "acknowledged", "lost", "lost writes acknowledged"}, Left: 3}}
	delayed := slices.ContainsFunc(d.Rounds, func(r record.DrillRound) bool { return r.Delay > 0 })
	if delayed {
		s.Table.Header = slices.Insert(s.Table.Header, 3, "faults later by")
	}
	for i := range d.Rounds {
		r := &d.Rounds[i]
		outage, recovery, lost, window, acked := "–", "–", "–", "–", "–"
		if e := r.Headline(); e != nil {
			outage, recovery = orNever(e.Outage), orUnseen(e.Recovery)
		}
		if l := r.Ledger; l != nil {
			lost, acked = figure.Count(l.LostWrites()), figure.Count(l.Acknowledged)
			window = cmp.Or(windowText(l.LossWindow, l.LossAfter), window)
		}
		row := []string{strconv.Itoa(r.Number), string(r.Verdict), roundManner(r), outage, recovery, acked, lost, window}
		if delayed {
			row = slices.Insert(row, 3, figure.Duration(time.Duration(r.Delay)))
		}
		s.Table.row(row...)
	}
	return s
}
