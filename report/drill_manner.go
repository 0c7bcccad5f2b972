package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// mannerNames are what clients notice of a fault, in the order in which they are told.
var mannerNames = []struct{ manner, text string }{
	{"crash", "crash (connections break)"},
	{"black-hole", "black hole (connections hang)"},
	{"planned", "planned hand-over"},
	{"disk", "disk"},
	{"slow", "slow"},
	{"unknown", "caused from outside"},
}

// DrillManner is what clients noticed of the faults of a round: outages of different manners are not compared.
func DrillManner(r *record.DrillRound) string {
	var list []string
	for _, m := range mannerNames {
		if slices.ContainsFunc(r.Faults, func(f record.DrillFault) bool { return f.Injected > 0 && f.Manner == m.manner }) {
			list = append(list, m.text)
		}
	}
	return strings.Join(list, " and ")
}

// drillManners are the outages of several rounds, those of each manner apart.
func drillManners(d *record.Drill) Section {
	s := Section{Title: "outages by manner", Table: &Table{Header: []string{"manner of the fault", "rounds", "median outage", "longest", "did not end", "rounds with loss"}, Left: 1}}
	if len(d.Rounds) < 2 {
		return Section{}
	}
	var names []string
	rounds := map[string][]*record.DrillRound{}
	for i := range d.Rounds {
		name := DrillManner(&d.Rounds[i])
		if name == "" {
			continue
		}
		if rounds[name] == nil {
			names = append(names, name)
		}
		rounds[name] = append(rounds[name], &d.Rounds[i])
	}
	for _, name := range names {
		s.Table.row(append([]string{name}, mannerCells(rounds[name])...)...)
	}
	return s
}

func mannerCells(rounds []*record.DrillRound) []string {
	var outages []int64
	endless, lossy := 0, 0
	for _, r := range rounds {
		switch e := wholeEffect(r); {
		case e == nil:
		case e.Outage < 0:
			endless++
		default:
			outages = append(outages, e.Outage)
		}
		if l := r.Ledger; l != nil && l.Inserts[record.WriteLost]+l.Updates[record.WriteLost] > 0 {
			lossy++
		}
	}
	median, longest := "–", "–"
	if n := len(outages); n > 0 {
		slices.Sort(outages)
		median, longest = nanoseconds(float64(outages[(n-1)/2]+outages[n/2])/2), nanoseconds(float64(outages[n-1]))
	}
	return []string{figure.Count(int64(len(rounds))), median, longest, figure.Count(int64(endless)), figure.Count(int64(lossy))}
}

// wholeEffect is what the faults meant for all operations of all clients, nil if that is not known.
func wholeEffect(r *record.DrillRound) *record.DrillEffect {
	for i := range r.Effects {
		if e := &r.Effects[i]; e.Class == "" && e.Client == -1 {
			return e
		}
	}
	return nil
}

// drillLeft says how much of the throughput was left while something was slow, "" if nothing was.
func drillLeft(r *record.DrillRound) string {
	e := wholeEffect(r)
	if e == nil || e.Before <= 0 || !slices.ContainsFunc(r.Faults, func(f record.DrillFault) bool { return f.Manner == "slow" && f.Injected > 0 }) {
		return ""
	}
	return fmt.Sprintf("%s of the throughput was left while it was slow: %s ok/s, %s before", figure.Percent(e.During/e.Before), figure.Rate(e.During), figure.Rate(e.Before))
}
