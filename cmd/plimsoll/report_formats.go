package main

import (
	"io"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/ycsb"
)

// writeRecord writes a record in a format other than HTML. Pages bound their content; the other formats have the
// complete record.
func writeRecord(w io.Writer, s *report.Source, format string) error {
	result, err := report.Read(s.Dir)
	if err != nil {
		return withExit(exitUsage, err)
	}
	if r, ok := result.(*record.Run); ok && format == "ycsb" {
		return ycsbExit(ycsb.WriteRun(w, s.Dir, r))
	}
	return printRecord(w, s.Dir, result, format, reportFormats()...)
}

// writeSides writes the comparison of several records, with default flags.
func writeSides(w io.Writer, list []*report.Source, format string) error {
	if probes := report.ProbesOf(list); probes != nil {
		return printResult(w, probes, format)
	}
	sides := make([]report.Side, len(list))
	for i, s := range list {
		if !s.Comparable() {
			return usageError("%s is neither a run nor a study, so it cannot be compared with other records: give it alone for --format %s", report.Clean(s.Dir), format)
		}
		sides[i] = report.Side{Name: s.Name, Dir: s.Dir}
	}
	c, err := compareSides(sides)
	if err != nil {
		return withExit(exitUsage, err)
	}
	return printResult(w, c, format)
}
