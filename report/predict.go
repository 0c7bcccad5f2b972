package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// backtestDocument compares the predictions of left-out levels with their measurements, factor by factor.
func backtestDocument(b *record.Backtest) *Document {
	d := &Document{Title: backtestTitle(b), Grade: gradeOf(b.Validity, record.Complete),
		Findings: findingPoints(b.Validity)}
	d.Brief = doubt(b.Validity)
	d.conclude(b.Validity, record.Complete, backtestTitle(b), "")
	for i := range b.Factors {
		s := BacktestSection(&b.Factors[i])
		s.ID, s.Group = NthID("backtest", i), "" // several factors may have the same name
		d.Sections = append(d.Sections, s)
	}
	return d
}

func backtestTitle(b *record.Backtest) string {
	in, out := b.Inner, b.Outer
	text := fmt.Sprintf("none of %s between others can be predicted", figure.Plural(in.Levels, "level"))
	if n := in.Predicted(); n > 0 {
		text = fmt.Sprintf("%d of %s between others predicted: median error %s, %d inside of the 95 %% interval", n, figure.Plural(in.Levels, "level"),
			figure.Percent(*in.Median), in.Held)
	}
	if n := out.Predicted(); n > 0 {
		return text + fmt.Sprintf("; upper limits of %d of %d beyond the others: %d hold, median %s above the measurement", n, out.Levels, out.Held, figure.Percent(*out.Median))
	}
	return text + fmt.Sprintf("; no upper limit of %d beyond the others", out.Levels)
}

// BacktestSection has the left-out levels of a factor and the model that was chosen.
func BacktestSection(f *record.BacktestFactor) Section {
	s := Section{Group: "backtest", Title: f.Factor + " (" + f.Source + ")", Named: true, Table: &Table{
		Header: []string{f.Factor, "measured ok/s", "predicted", "interval", "error", "held", "model"}, Left: 1, Last: 2}}
	if f.Model == "" {
		s.Lines = append(s.Lines, "Refused: "+f.Why+".")
	} else {
		s.Lines = append(s.Lines, f.Why+". "+parametersText(f))
	}
	for i := range f.Points {
		p := &f.Points[i]
		name := p.Level
		if p.Beyond {
			name += " *"
		}
		held := map[bool]string{true: "yes", false: "no"}[p.Held]
		switch {
		case p.Refused != "":
			s.Table.row(name, figure.Rate(p.Measured), "-", "-", "-", "refused", p.Refused)
		case p.Predicted == nil:
			s.Table.row(name, figure.Rate(p.Measured), "-", "at most "+figure.Rate(*p.High), "-", held, p.Model)
		default:
			s.Table.row(name, figure.Rate(p.Measured), figure.Rate(*p.Predicted), span(p.Low, p.High, measure.UnitRate),
				signed(*p.Error), held, p.Model)
		}
	}
	for _, m := range f.Models {
		if m.Name == f.Model {
			s.Lines = append(s.Lines, "Model: "+m.Formula+" ("+m.Basis+"). Levels with * are beyond the others, so they have an upper limit only.")
		}
	}
	return s
}

func parametersText(f *record.BacktestFactor) string {
	var list []string
	for _, p := range f.Parameters {
		list = append(list, p.Name+" "+figure.Significant(p.Value))
	}
	return "Parameters: " + strings.Join(list, ", ") + "."
}

func signed(share float64) string {
	text := figure.Percent(share)
	if share > 0 {
		text = "+" + text
	}
	return text
}

// whatIfDocument is the answer for a deployment that was not measured.
func whatIfDocument(w *record.WhatIf) *Document {
	d := &Document{Title: whatIfTitle(w), Grade: gradeOf(w.Validity, record.Complete), Findings: findingPoints(w.Validity)}
	d.Brief = doubt(w.Validity)
	d.conclude(w.Validity, record.Complete, whatIfTitle(w), "")
	d.refuse(w.Refused)
	n := w.Nearest
	lines := []string{fmt.Sprintf("Nearest measured configuration: %s of %s, %s/s (n = %d).", n.Configuration, n.Study, figure.Rate(n.Throughput), n.N)}
	if len(w.Same) > 0 {
		lines = append(lines, "As measured there: "+strings.Join(w.Same, ", ")+".")
	}
	changes := Section{Title: "changes", Table: &Table{Header: []string{"key", "measured", "asked", "change", "interval", "by", "why"}, Left: 3, Last: 2}}
	for _, c := range w.Changes {
		ratio, iv := "-", "-"
		switch {
		case c.Ratio != nil:
			ratio, iv = "×"+figure.Significant(*c.Ratio), span(c.Low, c.High, "")
		case c.High != nil:
			iv = "at most ×" + figure.Significant(*c.High)
		}
		changes.Table.row(c.Key, c.From, c.To, ratio, iv, cmp.Or(c.Basis, "-"), c.Why)
	}
	d.Sections = appendFilled(nil, Section{Title: "refused", Lines: w.Refused}, Section{Title: "nearest", Lines: lines}, changes)
	return d
}

func whatIfTitle(w *record.WhatIf) string {
	changed := " (" + strconv.Itoa(len(w.Changes)) + " changed)"
	switch {
	case len(w.Refused) > 0 || w.High == nil:
		return w.Asked + ": these records do not show it"
	case w.Throughput == nil:
		return w.Asked + ": at most " + figure.Rate(*w.High) + " ok/s, because it is beyond the measured levels" + changed
	}
	return w.Asked + ": " + figure.Rate(*w.Throughput) + " ok/s, 95 % interval " + figure.Rate(*w.Low) + " to " + figure.Rate(*w.High) + changed
}

func backtestKind() *kind { return kindOf("a backtest", figureless(backtestDocument)) }

func whatIfKind() *kind { return kindOf("a what-if", figureless(whatIfDocument)) }
