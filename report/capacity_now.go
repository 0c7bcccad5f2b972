package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// sameMix is the share of operations that may be of another kind in the same workload, otherMix that from which a share
// of the line says little.
const (
	sameMix  = 0.05
	otherMix = 0.2
)

// presentPercent is the share of the line, "" if it is unknown.
func presentPercent(p *record.PresentLoad) string {
	if p.Share == nil {
		return ""
	}
	return figure.Percent(*p.Share) + " of the line"
}

// presentShare is the share of the line with its ends.
func presentShare(p *record.PresentLoad) string {
	text := presentPercent(p)
	if text == "" {
		return "the line is unknown"
	}
	return text + bracketed(presentRange(p))
}

// presentRange is the range of the share of the line, "" if it has no ends.
func presentRange(p *record.PresentLoad) string {
	switch low, high := p.Low, p.High; {
	case low != nil && high != nil:
		return figure.Percent(*low) + " to " + figure.Percent(*high)
	case low != nil:
		return "at least " + figure.Percent(*low)
	case high != nil:
		return "at most " + figure.Percent(*high)
	}
	return ""
}

// presentBrief is the present load in a few words, "" without one.
func presentBrief(p *record.PresentLoad) string {
	if p == nil {
		return ""
	}
	rate := figure.Rate(p.Rate) + " ops/s"
	if len(p.Unread)+len(p.Restarted) > 0 || p.Source == record.PresentDiagnosis {
		rate = "at least " + rate
	}
	return join(", ", rate, presentPercent(p))
}

// presentSection is how much load a deployment has now, how far its share of the line can be trusted, and when the line
// is reached.
func presentSection(c *record.Capacity) Section {
	p := c.Now
	if p == nil {
		return Section{}
	}
	s := Section{ID: "now", Title: "present load", Lines: []string{presentFirst(c)}, Points: []Point{presentTrust(p)}}
	if p.PerOperation != 0 && p.PerOperation != 1 {
		s.Lines = append(s.Lines, countedWords(c))
	}
	for _, x := range p.Unread {
		s.Points = append(s.Points, Point{Warn, "", "not read, so its load is missing: " + x})
	}
	for _, x := range p.Restarted {
		s.Points = append(s.Points, Point{Warn, "", x + " was restarted during the reading. Its operations until then are missing"})
	}
	if p.Source == record.PresentDiagnosis {
		s.Points = append(s.Points, Point{Note, "", "this is the load of one member: that of others is missing"})
	}
	if text := presentGrowth(p); text != "" {
		s.Lines = append(s.Lines, text)
	}
	busiest := "busiest 5 s"
	if p.Source == record.PresentDiagnosis {
		busiest = "busiest minute"
	}
	s.Facts = Facts("read", presentRead(p), busiest, presentBusiest(p), "time of reads", optionalTime(p.Reads),
		"time of writes", optionalTime(p.Writes), "not counted", notCounted(p))
	t := &Table{Header: []string{"operation", "now/s", "now", "measured workload"}, Left: 1}
	for _, o := range p.ByOperation {
		measured := "-"
		if o.Measured != nil {
			measured = figure.Percent(*o.Measured)
		}
		t.row(o.Name, figure.Rate(o.Rate), figure.Percent(o.Share), measured)
	}
	s.Table = t
	return s
}

func presentFirst(c *record.Capacity) string {
	p := c.Now
	text := Capitalised(presentBrief(p))
	if l := c.Line(p.Line); l != nil {
		text = strings.Replace(text, "of the line", "of the load line "+lineName(l.Name)+" ("+lineRate(l)+" ops/s)", 1)
	}
	return text + prefixed(". The share is ", presentRange(p)) + "."
}

// countedWords say what the line is in operations as servers count them.
func countedWords(c *record.Capacity) string {
	p := c.Now
	text := fmt.Sprintf("An operation of the measured workload is %s operations as servers count them", figure.Significant(p.PerOperation))
	if l := c.Line(p.Line); l != nil {
		text += fmt.Sprintf(", so the line is %s of them", figure.Rate(l.Rate*p.PerOperation))
	}
	return text + "."
}

// presentTrust says how far the share of the line can be trusted.
func presentTrust(p *record.PresentLoad) Point {
	const advice = "For a line of the present operations, write their workload with: plimsoll workload record"
	switch {
	case p.Problem != "" && p.Share == nil:
		return Point{Warn, "", "the share of the line is unknown: " + p.Problem}
	case p.Problem != "":
		return Point{Warn, "", "the share assumes the operations of the measured workload: " + p.Problem + ". " + advice}
	case p.Apart == nil:
		return Point{Note, "", "there is no load to compare with the measured workload"}
	case *p.Apart <= sameMix:
		return Point{Good, "", fmt.Sprintf("the kinds of operations are those of the measured workload (%s differ). Queries, keys and sizes "+
			"of documents were not compared", figure.Percent(*p.Apart)) + prefixed("; ", presentLeftOut(p))}
	}
	text := fmt.Sprintf("the operations are not those of the measured workload: %s are of another kind (%s). ", figure.Percent(*p.Apart),
		presentDifferences(p))
	grade := Note
	if *p.Apart > otherMix || p.High == nil {
		grade = Warn
	}
	if p.High == nil {
		text += "The measured workload has none of a kind, so its cost is unknown and the share may be higher. "
	} else {
		text += "The ends of the share hold for any cost of each measured kind, if costs add up" + prefixed("; ", presentLeftOut(p)) + ". "
	}
	return Point{grade, "", text + advice}
}

// presentLeftOut says which rare kinds have no part in the ends of the share, "" for none.
func presentLeftOut(p *record.PresentLoad) string {
	var list []string
	for _, o := range p.ByOperation {
		if o.Rate > 0 && o.Measured != nil && *o.Measured == 0 {
			list = append(list, fmt.Sprintf("%s (%s)", o.Name, figure.Percent(o.Share)))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "left out, because it was not measured and is rare: " + strings.Join(list, ", ")
}

// presentDifferences are the kinds that differ most.
func presentDifferences(p *record.PresentLoad) string {
	var list []string
	for _, o := range p.ByOperation {
		if d := o.Share - *o.Measured; d > 0.01 || d < -0.01 {
			list = append(list, fmt.Sprintf("%s %s now, %s measured", o.Name, figure.Percent(o.Share), figure.Percent(*o.Measured)))
		}
	}
	return strings.Join(list[:min(3, len(list))], "; ")
}

// presentGrowth says when the line is reached, "" without a growth.
func presentGrowth(p *record.PresentLoad) string {
	switch {
	case p.Growth == "":
		return ""
	case p.Share == nil:
		return "At " + p.Growth + ": the line is unknown, so it is unknown when it is reached."
	case *p.Share >= 1:
		return "The load is at the line now."
	case p.ReachedAt == nil:
		return "At " + p.Growth + " the line is not reached within a hundred years."
	}
	text := fmt.Sprintf("At %s the line is reached in %s (%s)", p.Growth, monthsUntil(p, *p.ReachedAt), p.ReachedAt.Format("January 2006"))
	if p.ReachedEarly != nil && p.ReachedAt.Sub(*p.ReachedEarly) > 15*24*time.Hour {
		text += fmt.Sprintf(", at the upper end of the share in %s (%s)", monthsUntil(p, *p.ReachedEarly), p.ReachedEarly.Format("January 2006"))
	} else if p.High == nil {
		text += ", or earlier"
	}
	return text + "."
}

func monthsUntil(p *record.PresentLoad, at time.Time) string {
	months := at.Sub(p.From).Hours() / 24 / (365.25 / 12)
	if months < 2 {
		return figure.Plural(int(at.Sub(p.From).Hours()/24), "day")
	}
	return figure.Plural(int(math.Round(months)), "month")
}

func presentRead(p *record.PresentLoad) string {
	text := fmt.Sprintf("for %s at %s UTC", duration(p.Duration), p.From.UTC().Format("2006-01-02 15:04:05"))
	if p.Source == record.PresentRecording {
		return "recording " + p.Address + ", " + duration(p.Duration)
	}
	if p.Source == record.PresentDiagnosis {
		return text + prefixed(" from the diagnostic data of ", strings.Join(p.Servers, ", "))
	}
	what := "server"
	if p.Routed {
		what = "router"
	}
	return text + prefixed(" from ", p.Address) + ", " + figure.Plural(len(p.Servers), what)
}

func presentBusiest(p *record.PresentLoad) string {
	if p.Busiest <= 0 || p.Rate <= 0 {
		return ""
	}
	text := figure.Rate(p.Busiest) + " ops/s"
	if p.Share != nil {
		text += ", " + figure.Percent(*p.Share*p.Busiest/p.Rate) + " of the line"
	}
	return text + "; read again in the busiest hour of the day"
}

func optionalTime(ns *int64) string {
	if ns == nil {
		return ""
	}
	return duration(*ns) + " on average, at the servers"
}

// notCounted are the operations that clients did not send, the most frequent first.
func notCounted(p *record.PresentLoad) string {
	kinds := slices.SortedFunc(maps.Keys(p.NotCounted), func(a, b string) int {
		return cmp.Or(cmp.Compare(p.NotCounted[b], p.NotCounted[a]), cmp.Compare(a, b))
	})
	var list []string
	for _, kind := range kinds {
		if rate := p.NotCounted[kind]; rate >= 0.05 {
			list = append(list, fmt.Sprintf("%s %s/s", kind, figure.Rate(rate)))
		}
	}
	return strings.Join(list, ", ")
}
