package report

import (
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

const noticedMeaning = "The p99 is that of all operations, before the first fault, while the fault was in place or the event ran, and from " +
	"then until the next one. \"no answer\": more than 1 % of them did not succeed. It covers whole seconds. The outage and the failed operations count from the fault until the next one."

// drillNoticed is what clients noticed of each fault or planned event, and what an event measured of itself.
func drillNoticed(r *record.DrillRound) Section {
	s := Section{Title: "before, during and after", Table: &Table{Header: []string{"fault or event", "took", "p99 before", "during",
		"after", "outage", "failed", "details"}, Left: 1, Last: 1}}
	latency := func(ns int64) string {
		switch ns {
		case 0:
			return "–"
		case record.NoAnswer:
			return NoAnswer
		}
		return nanoseconds(float64(ns))
	}
	for _, f := range r.Faults {
		n := f.Noticed
		if n == nil {
			continue
		}
		took, details := "–", ""
		switch {
		case f.Event != nil:
			took, details = nanoseconds(float64(f.Done-f.Injected)), eventDetails(f.Event)
		case f.Healed > 0:
			took, details = nanoseconds(float64(f.Healed-f.Injected)), "reverted"
		}
		s.Table.row(f.Fault.String()+" on "+f.Target, took, latency(n.P99Before), latency(n.P99During), latency(n.P99After),
			orNever(n.Outage), figure.Count(n.Failed), details)
	}
	if len(s.Table.Rows) > 0 {
		s.Lines = append(s.Lines, noticedMeaning)
	}
	return s
}

// eventDetails is the outcome of an event, with its figures.
func eventDetails(e *record.DrillEvent) string {
	parts := []string{e.Outcome}
	for _, f := range e.Figures {
		value := figure.Count(int64(f.Value))
		switch f.Unit {
		case "B":
			value = figure.Bytes(int64(f.Value))
		case "ns":
			value = nanoseconds(f.Value)
		}
		parts = append(parts, f.Name+": "+value)
	}
	return strings.Join(parts, ", ")
}
