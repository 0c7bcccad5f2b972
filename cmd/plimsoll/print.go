package main

import (
	"encoding/json"
	"io"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
)

// formats lists the values of --format.
func formats() []string { return []string{"text", "md", "json", "csv", "gobench"} }

// printResult prints a record on standard output.
func printResult(env *environment, r *record.Run, format string) error {
	switch format {
	case "json":
		return printJSON(env.stdout, r)
	case "md":
		return report.Markdown(env.stdout, r)
	case "csv":
		return report.CSV(env.stdout, r)
	case "gobench":
		return report.GoBench(env.stdout, r)
	}
	return writeText(env.stdout, r)
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
