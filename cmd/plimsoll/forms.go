package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html"
)

// printResult prints a result in a format that its kind has, and that is among the given formats, if any.
func printResult(w io.Writer, result any, format string, among ...string) error {
	what, has := report.Formats(result)
	if len(among) > 0 {
		has = slices.DeleteFunc(has, func(f string) bool { return !slices.Contains(among, f) })
	}
	value := report.Value(result)
	switch {
	case !slices.Contains(has, format):
		return usageError("%s has no format %s (known: %s)", what, format, strings.Join(has, ", "))
	case format == "json":
		return printJSON(w, value)
	}
	html.Tidy(value)
	if format != "text" {
		return report.Write(w, result, format)
	}
	if err := writeDocument(w, report.Of(result)); err != nil {
		return err
	}
	if r, ok := result.(*record.Run); ok && r.Specification.Out != "" {
		fmt.Fprintf(w, "\nrecord      %s\n", r.Specification.Out)
	}
	return nil
}
