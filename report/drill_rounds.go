package report

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

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
		row := []string{strconv.Itoa(r.Number), string(r.Verdict), roundMode(r), outage, recovery, acked, lost, window}
		if delayed {
			row = slices.Insert(row, 3, duration(r.Delay))
		}
		s.Table.row(row...)
	}
	return s
}

// drillCommands are the commands of the user that a round ran, with their results.
func drillCommands(r *record.DrillRound) Section {
	s := Section{Title: "commands", Table: &Table{
		Header: []string{"fault", "step", "started after the request", "took", "result", "command", "output"}, Left: 2, Last: 3}}
	for _, f := range r.Faults {
		for _, c := range f.Commands {
			after := "–" // the fault was not injected, so there is no request to count from
			if f.Injected > 0 {
				after = duration(c.Asked - f.Injected)
			}
			s.Table.row(f.Fault.String()+" on "+f.Target, c.Step, after, duration(c.Returned-c.Asked), c.Result(),
				c.Command, strings.Join(strings.Fields(c.Output), " "))
		}
	}
	return s
}

const noticedMeaning = "The p99 is that of all operations, before the first fault, while the fault was in place or the event ran, and from " +
	"then until the next one. \"no answer\": more than 1 % of them did not succeed. It covers whole seconds. The outage and the failed operations count from the fault until the next one."

// drillNoticed is what clients noticed of each fault or planned event, and what an event measured of itself.
func drillNoticed(r *record.DrillRound) Section {
	s := Section{Title: "before, during and after", Table: &Table{Header: []string{"fault or event", "took", "p99 before", "during",
		"after", "outage", "failed", "details"}, Left: 1, Last: 1}}
	latency := func(ns int64) string {
		if ns == 0 {
			return "–"
		}
		return durationOr(ns, NoAnswer)
	}
	for _, f := range r.Faults {
		n := f.Noticed
		if n == nil {
			continue
		}
		took, details := "–", ""
		switch {
		case f.Event != nil:
			took, details = duration(f.Done-f.Injected), eventDetails(f.Event)
		case f.Healed > 0:
			took, details = duration(f.Healed-f.Injected), "reverted"
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
			value = duration(f.Value)
		}
		parts = append(parts, f.Name+": "+value)
	}
	return strings.Join(parts, ", ")
}

// drillCSV writes one line per round, the first line being the header. Times are in seconds; a field is empty where
// nothing is known, or where it did not end.
func drillCSV(w io.Writer, d *record.Drill) error {
	rows := [][]string{{"started", "drill", "target", "round", "status", "verdict", "level", "mode", "outage_s", "recovery_s", "redundant_s", "missing", "failed",
		"attempted", "acknowledged", "indeterminate", "not_applied", "lost", "loss_window_s", "members", "cpu_s", "service_cpu_s", "client_cpu_s", "written_bytes", "record"}}
	for i := range d.Rounds {
		rows = append(rows, drillRow(d, &d.Rounds[i]))
	}
	return csv.NewWriter(w).WriteAll(rows)
}

func drillRow(d *record.Drill, r *record.DrillRound) []string {
	time := func(ns int64) string {
		if ns < 0 {
			return ""
		}
		return strconv.FormatFloat(float64(ns)/1e9, 'f', -1, 64)
	}
	outage, recovery, missing, failed, redundant := "", "", "", "", ""
	if e := r.Headline(); e != nil {
		outage, recovery, failed = time(e.Outage), time(e.Recovery), integer(e.Failed)
		missing = strconv.FormatFloat(e.Missing, 'f', -1, 64)
	}
	for _, m := range r.Moments {
		if m.Kind == record.MomentRedundant && len(r.Faults) > 0 {
			redundant = time(m.At - r.Faults[0].Injected)
		}
	}
	row := []string{d.Started.UTC().Format("2006-01-02T15:04:05Z"), d.Specification.Name, d.Specification.Run.Target,
		strconv.Itoa(r.Number), string(r.Status), string(r.Verdict),
		r.Level, r.Mode(), outage, recovery, redundant, missing, failed}
	ledger := make([]string, 6)
	if l := r.Ledger; l != nil {
		ledger = []string{integer(l.Attempted), integer(l.Acknowledged), integer(l.Indeterminate), integer(l.NotApplied),
			integer(l.LostWrites()), time(l.LossWindow)}
	}
	return append(append(append(row, ledger...), drillUsed(r)...), r.Record)
}

// drillUsed are the members of a round and what it used, empty where nothing is known.
func drillUsed(r *record.DrillRound) []string {
	known := func(x float64) string {
		if x <= 0 {
			return ""
		}
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return []string{known(float64(r.Members)), known(r.CPUSeconds), known(r.ServiceCPUSeconds), known(r.ClientCPUSeconds),
		known(float64(r.WrittenBytes))}
}
