package main

import (
	"io"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/report"
)

// printResult prints a result that has no directory.
func printResult(w io.Writer, result any, format string, among ...string) error {
	return printRecord(w, "", result, format, among...)
}

// printRecord prints the result in a directory in a format that its kind has, and that is among the given formats, if
// any.
func printRecord(w io.Writer, dir string, result any, format string, among ...string) error {
	what, has := report.Formats(result)
	if len(among) > 0 {
		has = slices.DeleteFunc(has, func(f string) bool { return !slices.Contains(among, f) })
	}
	value := report.Value(result)
	everything := format == verbose
	if everything {
		format = "text"
	}
	switch {
	case !slices.Contains(has, format):
		return usageError("%s has no format %s (known: %s)", what, format, strings.Join(has, ", "))
	case format == "json":
		return printSummarized(w, value, report.Of(result).In(dir))
	}
	report.Tidy(value)
	switch format {
	case "text":
		return writeDocument(w, report.Of(result).In(dir), everything)
	case "md":
		return report.Of(result).In(dir).Markdown(w)
	}
	return report.Write(w, result, format)
}
