package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

func diagnosisKind() *kind { return kindOf("diagnostic data", figureless(diagnosisDocument)) }

const minuteLayout = "2006-01-02 15:04"

// diagnosisDocument is how much load a server had in the days of its diagnostic data, and where operations waited.
func diagnosisDocument(d *record.Diagnosis) *Document {
	doc := &Document{Title: "diagnostic data of " + d.Server}
	span := max(d.To.Sub(d.From), time.Duration(d.Seconds*float64(time.Second)))
	doc.Answer = fmt.Sprintf("%s had %s operations/s on average and %s/s in its busiest minute (%s UTC)", d.Server,
		figure.Rate(d.Rate),
		figure.Rate(d.PeakRate), d.PeakAt.UTC().Format(minuteLayout))
	doc.Sure = fmt.Sprintf("%s of %s are covered by %s", share(d.Seconds, span.Seconds()),
		duration(span.Nanoseconds()),
		figure.Plural(int(d.Samples), "sample"))
	doc.Where = strings.Replace(anatomyLine(d.Peak), "service time", "busiest minute", 1)
	point := func(grade Grade, text string, args ...any) {
		doc.Findings = append(doc.Findings, Point{grade, "", fmt.Sprintf(text, args...)})
	}
	for _, x := range d.Damaged {
		point(Warn, "not read: %s", x)
	}
	for _, o := range d.Others {
		point(Warn, "%s of another server, %s, were left out: give a directory with the files of one server",
			figure.Plural(int(o.Samples), "sample"), o.Server)
	}
	if len(d.Names) > 0 {
		point(Note, "the server had another name before a restart: %s", strings.Join(d.Names, ", "))
	}
	if d.SetBack > 0 {
		point(Warn, "the server's clock was set back %s, so times and the length of the period are not certain",
			figure.Plural(d.SetBack, "time"))
	}
	if d.GapCount > 0 {
		point(Warn, "the server wrote no sample for %s, %s in all; a server that is stalled writes none",
			seconds(d.Gaps[0].Seconds), figure.Plural(d.GapCount, "gap"))
	}
	for _, x := range []struct {
		seconds float64
		what    string
	}{{d.FlowControl, "flow control limited writes"}, {d.FullCache,
		"the cache was so full that operations had to evict pages"},
		{d.NoTicket, "no ticket was free"}} {
		if x.seconds >= 1 {
			point(Note, "%s for %s (%s of the time)", x.what, seconds(x.seconds), share(x.seconds, d.Seconds))
		}
	}
	doc.Short = slices.Clone(doc.Findings)
	doc.Facts = Facts("from", d.From.UTC().Format(minuteLayout)+" UTC", "to", d.To.UTC().Format(minuteLayout)+" UTC",
		"last hour", figure.Rate(d.LastRate)+" operations/s", "restarts", figure.Count(int64(d.Restarts)), "directory", d.Directory)
	mean, peak := anatomySection(d.Anatomy), anatomySection(d.Peak)
	peak.ID, peak.Title = "anatomy-peak", "time by place in the busiest minute"
	doc.Sections = appendFilled(nil, busiestSection(d), peak, mean, gapsSection(d), diagnosisSeries(d))
	doc.Next = Next{"plimsoll capacity DIR --now " + d.Directory,
		"how much of a measured line this load is; DIR is the record of a capacity"}
	doc.Summary = doc.Sections[0].Table
	return doc
}

// busiestSection are the statistics that say how busy a server and its machine were.
func busiestSection(d *record.Diagnosis) Section {
	s := Section{ID: "busy", Title: "how busy", Table: &Table{Left: 1, Last: 1, Header: []string{"what", "mean",
		"most", "at (UTC)"}}}
	for _, x := range d.Series {
		if x.Max <= 0 || !telling(x.Name) {
			continue
		}
		s.Table.row(x.Name, text(x.Mean, x.Unit), text(x.Max, x.Unit), x.MaxAt.UTC().Format(minuteLayout))
	}
	return s
}

// telling says whether a statistic is one of those that say how busy something is.
func telling(name string) bool {
	return slices.Contains([]string{"cpu.busy", "cpu.iowait", "cache.used_share", "cache.dirty_share",
		"connections.current",
		"latency.reads", "latency.writes", "replication.lag", "log.sync_time", "update_conflicts"}, name) ||
		strings.HasPrefix(name, "waiting.") || strings.HasSuffix(name, ".utilisation")
}

func gapsSection(d *record.Diagnosis) Section {
	s := Section{ID: "gaps", Title: "longest gaps", Table: &Table{Left: 1, Header: []string{"from (UTC)", "length"}}}
	for _, g := range d.Gaps {
		s.Table.row(g.From.UTC().Format("2006-01-02 15:04:05"), seconds(g.Seconds))
	}
	return s
}

func diagnosisSeries(d *record.Diagnosis) Section {
	s := Section{ID: "series", Title: "all statistics", Long: true, Table: &Table{Left: 2, Header: []string{"source",
		"what", "mean", "most", "last"}}}
	for _, x := range d.Series {
		s.Table.row(x.Source, x.Name, text(x.Mean, x.Unit), text(x.Max, x.Unit), text(x.Last, x.Unit))
	}
	return s
}
