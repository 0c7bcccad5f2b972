package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/published"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/chart"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/suite/judge"
)

// Beside is the published effect of a factor, and that of a study. Both are ratios to their own baseline, because the
// machines differ.
type Beside struct {
	Source *published.Source
	Sweep  *published.Sweep
	Factor string
	Rows   []BesideRow
	// Other is the study's baseline where it is not the document's: then what was measured is not set beside it.
	Other string
}

// BesideRow is one metric at one level.
type BesideRow struct {
	Level, Metric string
	// Published is the ratio that follows from the document's own figures, and As how it has them; Published is nil
	// where the document only draws them.
	Published *float64
	As, Place string
	// Bound is "about", "below", "above" or "up to" where the document says no more.
	Bound string
	// Comparison is the measurement, nil if there is none.
	Comparison *record.Comparison
	// Doubt says in what the document contradicts itself there.
	Doubt string
}

// publishedBeside finds the published figures that a study names, factor by factor. What is named and not there is an
// error; a study that names none has none.
func publishedBeside(s *record.Study) ([]Beside, error) {
	if s.Specification.Published == "" {
		return nil, nil
	}
	source, sweeps, err := published.Select(s.Specification.Published)
	if err != nil {
		return nil, err
	}
	v := newStudyView(s)
	workload := strings.TrimPrefix(strings.ToLower(s.Base.Workload.Name), "ycsb-")
	var list []Beside
	for i := range s.Specification.Factors {
		f := &s.Specification.Factors[i]
		for _, sweep := range sweeps {
			if strings.EqualFold(strings.TrimSpace(sweep.Factor), strings.TrimSpace(f.Title())) &&
				(sweep.Workload == "" || sweep.Workload == workload) {
				list = append(list, v.beside(source, sweep, f))
			}
		}
	}
	return list, nil
}

// beside joins a sweep of a document with the levels of a factor.
func (v *studyView) beside(source *published.Source, sweep *published.Sweep, f *spec.Factor) Beside {
	b := Beside{Source: source, Sweep: sweep, Factor: f.Title()}
	measured, other := judge.Levels(v.study, sweep, f)
	b.Other = other
	for _, metric := range sweep.Metrics {
		for i := range sweep.Levels {
			level := &sweep.Levels[i]
			if level.Name == sweep.Baseline {
				continue
			}
			x := sweep.Stated(level.Name, metric)
			row := BesideRow{Level: level.Name, Metric: metric, Published: x.Ratio, As: x.As, Bound: x.Bound, Place: x.Place}
			var doubts []string
			for _, name := range []string{level.Name, sweep.Baseline} {
				for _, d := range source.Doubts(sweep.ID + "/" + name + "/" + metric) {
					if !slices.Contains(doubts, d.Why) {
						doubts = append(doubts, d.Why)
					}
				}
			}
			row.Doubt = strings.Join(doubts, "; ")
			if c := measured[level.Name]; c != nil && b.Other == "" {
				row.Comparison = v.of[[2]string{c.ID, metric}]
			}
			if row.Published != nil || row.Comparison != nil {
				b.Rows = append(b.Rows, row)
			}
		}
	}
	return b
}

func (b *Beside) section() Section {
	s := Section{Group: GroupPublished, Title: b.Factor + ", " + cmp.Or(b.Sweep.Item, b.Sweep.ID) + " of " +
		b.Source.Title, Named: true, Table: &Table{Left: 2, Last: 2,
		Header: []string{"level", "metric", "measured", "interval", "n", "published", "in the document", "where"}}}
	s.Lines = []string{"changes, each against its own baseline (" + b.Sweep.Baseline + " in the document), because the machines differ",
		"document: " + b.Source.Title + bracketed(publisher(b.Source))}
	if b.Other != "" {
		s.Lines = append(s.Lines, fmt.Sprintf("not comparable: the study's baseline is %s", b.Other))
	}
	for i := range b.Rows {
		r := &b.Rows[i]
		change, interval, n := "-", "-", "-"
		if c := r.Comparison; c != nil {
			change, interval, n = changeText(c), intervalText(c), strconv.Itoa(c.N)
		}
		s.Table.row(r.Level, heading(r.Metric), change, interval, n, publishedText(r),
			strings.TrimSpace(r.As+" "+s.note(r.Doubt)), r.Place)
	}
	for _, t := range b.Sweep.Trends {
		where := ""
		if t.From != "" || t.To != "" {
			where = " from " + t.From + " to " + t.To
		}
		s.Points = append(s.Points, Point{Note, "in words:", fmt.Sprintf("%s %s%s: “%s”", heading(t.Metric), t.Goes, where, t.Words)})
	}
	return s
}

// publishedText is the published change, written like a measured one. Bounds of the document ("about") stay.
func publishedText(r *BesideRow) string {
	if r.Published == nil {
		return "-"
	}
	return strings.TrimSpace(r.Bound + " " + writeRatio(r.Published)(*r.Published))
}

// GroupPublished is the group of the sections with published and measured figures.
const GroupPublished = "published"

// published are the sections of all published figures beside the study's, or what is wrong with their name.
func (v *studyView) published() []Section {
	s := v.study
	list, err := publishedBeside(s)
	if err != nil {
		return []Section{{Group: GroupPublished, Points: []Point{{Warn, "warning", err.Error()}}}}
	}
	var sections []Section
	for i := range list {
		x := list[i].section()
		x.ID = nthID(GroupPublished, i)
		if v.drawn {
			x.draw(publishedFigure(&list[i], timeOf(s), x.ID))
		}
		sections = append(sections, x)
	}
	if len(list) == 0 && s.Specification.Published != "" {
		sections = append(sections, Section{Group: GroupPublished, Lines: []string{
			s.Specification.Published + " has nothing about the factors of this study in workload " + s.Base.Workload.Name}})
	}
	return sections
}

// publishedFigure has a row for each level and metric: a dot with its interval for what was measured, a diamond for
// what was published, both as ratios to their own baseline.
func publishedFigure(b *Beside, kind, id string) *Figure {
	c := suiteRows(id+"-published", "Measured (dots) and published (diamonds) change by "+b.Factor)
	for i := range b.Rows {
		r := &b.Rows[i]
		row := chart.Row{Name: r.Level, Group: metricWords(r.Metric, kind), Value: math.NaN(), Low: math.NaN(),
			High: math.NaN()}
		measured := "-"
		if x := r.Comparison; x != nil && x.Ratio != nil {
			row.Value, row.Low, row.High = *x.Ratio, or(x.Low), or(x.High)
			measured = changeText(x)
		}
		if r.Published != nil {
			row.Published = *r.Published
		}
		if math.IsNaN(row.Value) && row.Published == 0 {
			continue
		}
		row.Text = cmp.Or(measured, "-") + " | " + publishedText(r)
		c.Rows = append(c.Rows, row)
	}
	return rowsFigure(c, "At the right: measured | published. Each is a change against its own baseline, because the machines differ.", nil)
}
