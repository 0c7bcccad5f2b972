package main

import (
	"io"
	"maps"
	"slices"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html"
)

// writeRecord writes one record in a format that is not a page. The page bounds what it shows; other formats get the
// record as it is.
func writeRecord(w io.Writer, s *html.Source, format string) error {
	f, err := recordForms(s)
	if err != nil {
		return withExit(exitUsage, err)
	}
	maps.DeleteFunc(f.by, func(name string, _ func(io.Writer) error) bool { return !slices.Contains(reportFormats(), name) })
	return f.print(w, format)
}

// recordForms reads a record again, with all that it has.
func recordForms(s *html.Source) (forms, error) {
	if s.Comparison != nil { // it may be a file by itself
		return comparisonForms(s.Comparison), nil
	}
	r, err := record.Open(s.Dir)
	if err != nil {
		return forms{}, err
	}
	f, _ := resultForms(s.Dir, r)
	return f, nil
}

// writeSides writes what compare says of several records without flags.
func writeSides(w io.Writer, list []*html.Source, format string) error {
	sides := make([]html.Side, len(list))
	for i, s := range list {
		if s.Run == nil && s.Study == nil {
			return usageError("%s is neither a run nor a study: --format %s of several records compares them, so give it alone", report.Clean(s.Dir), format)
		}
		sides[i] = html.Side{Name: s.Name, Dir: s.Dir}
	}
	c, err := compareSides(sides)
	if err != nil {
		return withExit(exitUsage, err)
	}
	return comparisonForms(c).print(w, format)
}
