package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/shellword"
	"github.com/plimsoll-bench/plimsoll/record"
)

func failuresKind() *kind { return kindOf("a cost of failures", figureless(failuresDocument)) }

// failuresDocument is what a year of failures costs a deployment, how sure that is, and the drill that would say more.
func failuresDocument(f *record.Failures) *Document {
	basis := ""
	if y := f.Year; y != nil {
		worst := 0.0
		for _, c := range f.Checks {
			worst = max(worst, math.Abs(c.Error))
		}
		basis = fmt.Sprintf("%s to %s of outages in the middle 90 of %d simulated years; "+
			"the outages of each drill are within %s of the others",
			inSeconds(y.Down.Low), inSeconds(y.Down.High), y.Years, figure.Percent(worst))
	}
	d := answered(failuresTitle(f), basis, f.Validity)
	d.Summary, d.Next = failureKinds(f.Kinds).Table, failuresNext(f)
	d.refuse(f.Refused)
	d.Sections = appendFilled(nil, Section{Title: "refused", Lines: f.Refused}, failuresYear(f.Year), failureKinds(f.Kinds),
		failureChecks(f.Checks), Section{Title: "left out", Lines: f.LeftOut})
	return d
}

func failuresTitle(f *record.Failures) string {
	y := f.Year
	if y == nil {
		return f.Asked + ": these records do not show it"
	}
	sum := 0.0
	for _, k := range f.Kinds {
		sum += k.Number
	}
	title := figure.Plural(f.Shards, "shard") + " of " + figure.Plural(f.Members, "member") + ", a year with " +
		strconv.FormatFloat(sum, 'f', -1, 64) + " failures: no writes for " + inSeconds(y.Down.Median)
	if f.Shards > 1 {
		title += " in all"
	}
	title += ", available " + available(y)
	if y.Operations > 0 {
		title += ", " + figure.Count(int64(y.Operations)) + " operations late or failed"
	}
	return title
}

// inSeconds is a time that is given in seconds.
func inSeconds(x float64) string {
	if x == 0 {
		return "0 s"
	}
	return seconds(x)
}

// available has six digits after the point: 32 seconds of a year are 0.0001 %.
func available(y *record.FailuresYear) string {
	return strconv.FormatFloat(100*y.Available, 'f', 6, 64) + " %"
}

func failuresYear(y *record.FailuresYear) Section {
	if y == nil {
		return Section{}
	}
	whole := func(x float64) string { return figure.Count(int64(math.Round(x))) }
	outages := fmt.Sprintf("%s, of which %s without a majority; the longest %s (%s to %s)", whole(y.Outages), whole(y.Majority),
		inSeconds(y.Longest.Median), inSeconds(y.Longest.Low), inSeconds(y.Longest.High))
	return Section{Title: "a year", Facts: Facts("outages", outages,
		"members away", inSeconds(y.Away)+" in which a shard had a primary and not all members")}
}

func failureKinds(kinds []record.FailuresKind) Section {
	s := Section{Title: "failures", Table: &Table{Left: 1,
		Header: []string{"failure", "in a year", "drills", "rounds", "outage of a primary", "member away"}}}
	for _, k := range kinds {
		outage, away := "-", "-"
		if k.Rounds > 0 {
			outage, away = duration(k.Outage), duration(k.Away)
		}
		s.Table.row(k.Action, figure.Significant(k.Number), strconv.Itoa(k.Drills), strconv.Itoa(k.Rounds), outage, away)
	}
	return s
}

func failureChecks(checks []record.FailuresCheck) Section {
	s := Section{Title: "median outage of each drill", Table: &Table{Left: 2, Last: 1,
		Header: []string{"drill", "failure", "measured", "other drills", "error", "limit", "like the others"}}}
	for _, c := range checks {
		s.Table.row(c.Record, c.Setup, duration(c.Measured), duration(c.Others), signed(c.Error), figure.Limit(c.Limit),
			yesNo(c.Holds))
	}
	return s
}

// failuresNext is the drill that would say more: of the refused kind, or of the one with the fewest rounds.
func failuresNext(f *record.Failures) Next {
	kinds := slices.Clone(f.Kinds)
	slices.SortStableFunc(kinds, func(a, b record.FailuresKind) int {
		return cmp.Or(-cmp.Compare(refusedKind(f, a.Action), refusedKind(f, b.Action)), cmp.Compare(a.Rounds, b.Rounds))
	})
	if len(kinds) == 0 || f.Target == "" {
		return Next{}
	}
	return Next{"plimsoll drill " + shellword.Quote(f.Target) + " --fault " + shellword.Quote(kinds[0].Action+":primary") + " --repeat 5 --w majority",
		"the drill that would say more"}
}

func refusedKind(f *record.Failures, action string) int {
	if slices.ContainsFunc(f.Refused, func(why string) bool { return strings.HasPrefix(why, action+":") }) {
		return 1
	}
	return 0
}
