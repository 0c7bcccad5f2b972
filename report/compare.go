package report

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

func compareDocument(r *record.ComparisonReport, on *comparisonFiles) *Document {
	d := &Document{Title: fmt.Sprintf("comparison of %d sides", len(r.Sides)), Sentence: true, Grade: gradeOf(r.Validity, record.Complete),
		Tiles:    compareTiles(r),
		Findings: append(comparisonPoints(r.Comparisons), findingPoints(r.Validity)...)}
	if len(r.Sides) == 2 {
		d.Title = "comparison of " + r.Sides[1].Name + " with " + r.Sides[0].Name
	}
	worse := func(c record.Comparison) bool { return c.Verdict == record.Worse }
	if d.Grade == Good && slices.ContainsFunc(r.Comparisons, worse) {
		d.Grade = Warn
	}
	d.Brief = doubt(r.Validity)
	d.conclude(r.Validity, record.Complete, cmp.Or(comparedAnswer(r), severalAnswer(r)),
		join("; ", prefixed("compared: ", comparedText(r.Differences)), compareBasis(r)))
	d.Summary, d.Next = changesSummary(r.Comparisons), comparedNext(r)
	count := map[measure.Severity]int{}
	for _, x := range r.Differences {
		count[x.Severity]++
	}
	d.Checks = []Point{check(count[measure.Warning] == 0, Warn, "same load, data and machine as far as it matters", figure.Plural(count[measure.Warning], "unexpected difference"))}
	if n := count[measure.Invalid]; n > 0 {
		forbids := map[bool]string{true: " that forbids a comparison", false: " that forbid a comparison"}[n == 1]
		d.Checks[0] = Point{Bad, "", figure.Plural(n, "difference") + forbids}
	}
	for i := range r.Sides {
		name := "side " + strconv.Itoa(i+1)
		if i == 0 {
			name = "baseline"
		}
		side := &r.Sides[i]
		d.Facts = append(d.Facts, Fact{name, disclosed(side.Name+", n = "+strconv.Itoa(side.N), side.TargetKind)})
	}
	d.Facts = append(d.Facts, Facts("compared", comparedText(r.Differences),
		"comparisons", comparisonsText(r.Comparisons), "tool", Version(r.Tool))...)
	against := map[string][]record.Comparison{}
	var baselines []string
	for _, c := range r.Comparisons {
		if against[c.Baseline] == nil {
			baselines = append(baselines, c.Baseline)
		}
		against[c.Baseline] = append(against[c.Baseline], c)
	}
	for i, base := range baselines {
		d.Sections = append(d.Sections, changesOf(nthID("against", i), base, against[base]))
	}
	d.Sections = appendFilled(d.Sections, differencesSection(r), sidesSection(r))
	if on != nil {
		d.Sections = on.sections(r, d.Sections)
	}
	return d
}

// compareTiles are the most important changes, of throughput and of the 99th percentiles of some operations, and the
// number of each verdict.
func compareTiles(r *record.ComparisonReport) (tiles []Tile) {
	const most = 4
	count := map[record.Verdict]int{}
	for i := range r.Comparisons {
		x := &r.Comparisons[i]
		count[x.Verdict]++
		_, rest := splitMetric(x.Metric)
		if len(r.Sides) != 2 || len(tiles) == most || x.Ratio == nil || x.Metric != "throughput" && rest != "p99" && rest != "service.p99" {
			continue
		}
		name := Capitalised(strings.ReplaceAll(x.Metric, ".", " "))
		note := verdictText(x.Verdict) + fmt.Sprintf(", n = %d + %d", x.N, x.NBase)
		if x.Low != nil && x.High != nil {
			note = intervalText(x) + " " + note
		}
		tiles = append(tiles, Tile{name, changeText(x), beside(note, r.Sides[1].TargetKind)})
	}
	for _, v := range []record.Verdict{record.Better, record.Worse, record.Equivalent, record.Inconclusive} {
		tiles = append(tiles, Tile{Capitalised(string(v)), figure.Count(int64(count[v])),
			"of " + figure.Plural(len(r.Comparisons), "comparison")})
	}
	return tiles
}

// changesOf lists the comparisons with one baseline. With a single other side the title names it.
func changesOf(id, base string, list []record.Comparison) Section {
	s := changesSection(id, "against "+base, list)
	if slices.ContainsFunc(list, func(c record.Comparison) bool { return c.Configuration != list[0].Configuration }) {
		return s
	}
	s.Title, s.Named = list[0].Configuration+" against "+base, true
	s.Table.Header, s.Table.Left = s.Table.Header[1:], s.Table.Left-1
	for i, row := range s.Table.Rows {
		s.Table.Rows[i] = row[1:]
	}
	return s
}

func differencesSection(r *record.ComparisonReport) Section {
	s := Section{ID: "differences", Title: "differences", Table: &Table{Header: []string{"severity", "what"}, Left: 2}}
	wide := 0
	for _, d := range r.Differences {
		wide = max(wide, len(d.Values))
	}
	for i := range wide {
		name := "side " + strconv.Itoa(i+1)
		if len(r.Sides) == wide {
			name = r.Sides[i].Name
		}
		s.Table.Header = append(s.Table.Header, name)
	}
	s.Table.Left += wide
	for _, d := range r.Differences {
		cells := []string{string(d.Severity), d.What}
		for i := range wide {
			v := ""
			if i < len(d.Values) {
				v = d.Values[i]
			}
			cells = append(cells, v)
		}
		s.Table.row(append(cells, s.note(d.Why))...)
	}
	if len(s.Notes) > 0 {
		s.Table.Header, s.Table.Left = append(s.Table.Header, ""), s.Table.Left+1
	}
	return s
}

func sidesSection(r *record.ComparisonReport) Section {
	s := Section{ID: "sides", Title: "sides", Long: true, Table: &Table{Header: []string{"side", "n", "records"}, Left: 1, Last: 1}}
	for i := range r.Sides {
		side := &r.Sides[i]
		records := strings.Join(side.Records[:min(3, len(side.Records))], ", ")
		if n := len(side.Records); n > 3 {
			records += fmt.Sprintf(", … (%d in all)", n)
		}
		s.Table.row(disclosed(side.Name, side.TargetKind), strconv.Itoa(side.N), records)
	}
	return s
}

// compareCSV writes a comparison as one table: a line per trial of each side with a column per metric, and a line per
// comparison after them. Times are in microseconds.
func compareCSV(w io.Writer, r *record.ComparisonReport) error {
	var lines []map[string]string
	metrics := comparedMetrics(r.Comparisons)
	for i := range r.Sides {
		side := &r.Sides[i]
		for k, values := range trialsOf(side) {
			trial := record.Trial{Number: k + 1, Attempt: 1, Configuration: side.Name, Kind: record.TrialCompared,
				Status: record.TrialDone, Values: values}
			if k < len(side.Records) && len(side.Records) == side.N {
				trial.Record = side.Records[k]
			}
			metrics = append(metrics, slices.Sorted(maps.Keys(values))...)
			lines = append(lines, trialLine(&trial, nil))
		}
	}
	return writeSheet(w, nil, metrics, append(lines, comparisonLines(r.Comparisons, nil)...))
}

// trialsOf turns the values of a side by metric into values by trial. Of a metric that some trial could not state it is
// not known which trials the values belong to, so they follow in entries of their own.
func trialsOf(side *record.ComparisonSide) []map[string]float64 {
	list := make([]map[string]float64, side.N)
	for i := range list {
		list[i] = map[string]float64{}
	}
	for _, name := range slices.Sorted(maps.Keys(side.Values)) {
		values := side.Values[name]
		for i, x := range values {
			if len(values) == side.N {
				list[i][name] = x
			} else {
				list = append(list, map[string]float64{name: x})
			}
		}
	}
	return list
}

// compareBench writes the trials of all sides in the format of Go benchmarks for benchstat -col /configuration.
func compareBench(w io.Writer, r *record.ComparisonReport) error {
	b := benchWriter{w: w}
	b.head(record.Environment{}, r.Validity)
	b.printf("Unit ok/s better=higher\n")
	for i := range r.Sides {
		for _, values := range trialsOf(&r.Sides[i]) {
			b.trial("Compare", r.Sides[i].Name, values)
		}
	}
	return b.err
}

func historyDocument(h *record.HistoryReport) *Document {
	d := &Document{Grade: gradeOf(h.Validity, record.Complete), Findings: findingPoints(h.Validity)}
	d.Brief = doubt(h.Validity)
	points := 0
	for i := range h.Groups {
		g := &h.Groups[i]
		points += len(g.Points)
		d.Sections = append(d.Sections, groupSection(g), seriesSection(g), pointsSection(g))
	}
	d.Title = fmt.Sprintf("history%s: %s of %s", prefixed(" of ", h.Directory), figure.Plural(points, "point"), figure.Plural(len(h.Groups), "configuration"))
	historyHead(d, h)
	skipped := Section{Title: "not read"}
	for _, k := range h.Skipped {
		skipped.Points = append(skipped.Points, Point{Warn, "", k.Record + ": " + k.Problem})
	}
	d.Sections = appendFilled(d.Sections, skipped)
	return d
}

func groupSection(g *record.HistoryGroup) Section {
	s := Section{Title: g.Name, Named: true, Table: &Table{Header: []string{"since", "record", "metric", "before", "after",
		"change", "p", "verdict"}, Left: 3, Last: 1}}
	type change struct {
		series *record.HistorySeries
		record.HistoryChange
	}
	var all []change
	for i := range g.Series {
		for _, c := range g.Series[i].Changes {
			all = append(all, change{&g.Series[i], c})
		}
	}
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Compare(a.Index, b.Index) })
	for _, c := range all {
		s.Table.row(day(c.Started), c.Record, heading(c.series.Metric), figure.Value(c.Before, c.series.Unit),
			figure.Value(c.After, c.series.Unit),
			ratioText(c.Ratio), figure.P(c.P), string(c.Verdict)+" "+s.note(changedText(c.Differences)))
	}
	if len(all) == 0 {
		s.Lines = append(s.Lines, fmt.Sprintf("no change found in %s", figure.Plural(len(g.Points), "point")))
	}
	return s
}

// day is a moment as it is shown in a history, which is long.
func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

func ratioText(x float64) string {
	if x == 0 {
		return "-"
	}
	return figure.Change(x)
}

// changedText names what else changed at a change.
func changedText(list []record.Difference) string {
	var parts []string
	for i, d := range list {
		if i == 8 {
			parts = append(parts, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		parts = append(parts, d.What+": "+d.Values[0]+" → "+d.Values[len(d.Values)-1])
	}
	return cmp.Or(prefixed("changed there: ", strings.Join(parts, "; ")), "no recorded fact changed there")
}

func seriesSection(g *record.HistoryGroup) Section {
	s := Section{Title: "all metrics of " + g.Name, Table: &Table{Header: []string{"metric", "n", "median", "latest", "spread", "changes", ""}, Left: 1, Last: 1}}
	for i := range g.Series {
		x := &g.Series[i]
		s.Table.row(heading(x.Metric), strconv.Itoa(x.N), figure.Value(x.Median, x.Unit), figure.Value(x.Latest, x.Unit),
			figure.Percent(x.Spread),
			strconv.Itoa(len(x.Changes)), s.note(x.Note))
	}
	return s
}

func pointsSection(g *record.HistoryGroup) Section {
	s := Section{Title: "points of " + g.Name, Long: true, Table: &Table{Header: []string{"began", "record", "n"}, Left: 2, Last: 1}}
	series := g.Series[:min(len(g.Series), 6)]
	for i := range series {
		s.Table.Header = append(s.Table.Header, heading(series[i].Metric))
	}
	s.Table.Header = append(s.Table.Header, "")
	for i := range g.Points {
		p := &g.Points[i]
		cells := []string{day(p.Started), p.Record, strconv.Itoa(p.N)}
		mark := p.Why
		for k := range series {
			x, ok := p.Values[series[k].Metric]
			if !ok {
				cells = append(cells, "-")
				continue
			}
			cells = append(cells, bare(x, series[k].Metric, series[k].Unit))
			for _, c := range series[k].Changes {
				if c.Index == i {
					mark = strings.TrimSpace(mark + " ← " + heading(series[k].Metric) + " " + string(c.Verdict))
				}
			}
		}
		s.Table.row(append(cells, mark)...)
	}
	return s
}

// historyCSV writes the points of a history, one line per point and metric. The column change says where a level
// changed: "better" or "worse" at the first point after it. Times are in microseconds.
func historyCSV(w io.Writer, h *record.HistoryReport) error {
	rows := [][]string{{"group", "started", "record", "n", "why_not", "metric", "unit", "value", "change", "before", "after", "p"}}
	for i := range h.Groups {
		g := &h.Groups[i]
		for k := range g.Series {
			rows = append(rows, seriesRows(g, &g.Series[k])...)
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}

func seriesRows(g *record.HistoryGroup, s *record.HistorySeries) [][]string {
	unit := s.Unit
	if unit == measure.UnitTime {
		unit = "us"
	}
	var rows [][]string
	for i := range g.Points {
		p := &g.Points[i]
		row := []string{cell(g.Name), p.Started.UTC().Format(time.RFC3339), cell(p.Record), strconv.Itoa(p.N), cell(p.Why),
			cell(s.Metric), unit, "", "", "", "", ""}
		if x, ok := p.Values[s.Metric]; ok {
			row[7] = float(scaled(x, s.Unit))
		}
		for _, c := range s.Changes {
			if c.Index == i {
				row[8], row[9], row[10], row[11] = string(c.Verdict), float(scaled(c.Before, s.Unit)),
					float(scaled(c.After, s.Unit)), float(c.P)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func historyKind() *kind {
	k := kindOf("a history", figureless(historyDocument))
	k.csv = table(historyCSV)
	return k
}
