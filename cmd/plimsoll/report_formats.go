package main

import (
	"io"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html"
	"github.com/plimsoll-bench/plimsoll/ycsb"
)

// writeRecord writes a record in a format other than HTML. Pages bound their content; the other formats have the
// complete record.
func writeRecord(w io.Writer, s *html.Source, format string) error {
	result, err := recordOf(s)
	if err != nil {
		return withExit(exitUsage, err)
	}
	if r, ok := result.(*record.Run); ok && format == "ycsb" {
		return ycsbExit(ycsb.WriteRun(w, s.Dir, r))
	}
	return printResult(w, result, format, reportFormats()...)
}

// recordOf reads the complete record.
func recordOf(s *html.Source) (any, error) {
	if s.Comparison != nil { // a comparison can be a single file
		return s.Comparison, nil
	}
	r, err := record.Open(s.Dir)
	if err != nil {
		return nil, err
	}
	result, _ := resultOf(s.Dir, r)
	return result, nil
}

// writeSides writes the comparison of several records, with default flags.
func writeSides(w io.Writer, list []*html.Source, format string) error {
	sides := make([]html.Side, len(list))
	probes := &report.Probes{}
	for _, s := range list {
		if s.Probe != nil {
			probes.Names, probes.Probes = append(probes.Names, s.Name), append(probes.Probes, s.Probe)
		}
	}
	if len(probes.Probes) == len(list) {
		return printResult(w, probes, format)
	}
	for i, s := range list {
		if s.Run == nil && s.Study == nil {
			return usageError("%s is neither a run nor a study, so it cannot be compared with other records: give it alone for --format %s", report.Clean(s.Dir), format)
		}
		sides[i] = html.Side{Name: s.Name, Dir: s.Dir}
	}
	c, err := compareSides(sides)
	if err != nil {
		return withExit(exitUsage, err)
	}
	return printResult(w, c, format)
}
