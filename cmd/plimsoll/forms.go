package main

import (
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html"
)

// forms are the ways in which a result of one kind is printed.
type forms struct {
	// what it is, for errors: "a study".
	what string
	// value is what JSON has: a pointer to the record. The other forms get it with harmless, bounded texts.
	value any
	// by has the others, by the value of --format.
	by map[string]func(io.Writer) error
}

// print writes the result in a format. A kind that has no such form says which forms it has.
func (f forms) print(w io.Writer, format string) error {
	if format == "json" {
		return printJSON(w, f.value)
	}
	write := f.by[format]
	if write == nil {
		known := slices.Sorted(maps.Keys(f.by))
		return usageError("%s has no form %s (it has: %s)", f.what, format, strings.Join(append(known, "json"), ", "))
	}
	html.Tidy(f.value)
	return write(w)
}

// form is one way to print a result.
func form[T any](write func(io.Writer, T) error, of T) func(io.Writer) error {
	return func(w io.Writer) error { return write(w, of) }
}

func runForms(r *record.Run) forms {
	return forms{what: "a run", value: r, by: map[string]func(io.Writer) error{
		"text": form(writeText, r), "md": form(report.Markdown, r), "csv": form(report.CSV, r), "gobench": form(report.GoBench, r)}}
}

func studyForms(s *record.Study) forms {
	return forms{what: "a study", value: s, by: map[string]func(io.Writer) error{
		"text": func(w io.Writer) error { return writeSections(w, report.StudyTitle(s), report.StudySections(s)) },
		"md":   form(report.StudyMarkdown, s), "csv": form(report.StudyCSV, s), "gobench": form(report.StudyGoBench, s)}}
}

func suiteForms(s *report.Suite) forms {
	return forms{what: "a suite", value: s.Record, by: map[string]func(io.Writer) error{
		"text": func(w io.Writer) error { return writeSections(w, report.SuiteTitle(s), report.SuiteSections(s)) },
		"md":   form(report.SuiteMarkdown, s), "csv": form(report.SuiteCSV, s)}}
}

func comparisonForms(c *record.ComparisonReport) forms {
	return forms{what: "a comparison", value: c, by: map[string]func(io.Writer) error{
		"text": func(w io.Writer) error { return writeSections(w, report.CompareTitle(c), report.CompareSections(c)) },
		"md":   form(report.CompareMarkdown, c), "csv": form(report.CompareCSV, c), "gobench": form(report.CompareGoBench, c)}}
}

func probeForms(p *record.Probe) forms {
	return forms{what: "a probe", value: p, by: map[string]func(io.Writer) error{
		"text": func(w io.Writer) error { return writeSections(w, report.ProbeTitle(p), report.ProbeSections(p)) },
		"md":   form(report.ProbeMarkdown, p), "csv": form(report.ProbeCSV, p), "gobench": form(report.ProbeGoBench, p)}}
}

func drillForms(d *record.Drill) forms {
	return forms{what: "a drill", value: d, by: map[string]func(io.Writer) error{
		"text": func(w io.Writer) error { return writeSections(w, report.DrillTitle(d), report.DrillSections(d)) },
		"md":   form(report.DrillMarkdown, d), "csv": form(report.DrillCSV, d)}}
}
