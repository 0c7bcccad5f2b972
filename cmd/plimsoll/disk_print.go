package main

import (
	"io"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
)

// printProbe prints a probe in one of the formats of all results.
func printProbe(w io.Writer, p *record.Probe, format string) error {
	switch format {
	case "md":
		return report.ProbeMarkdown(w, p)
	case "json":
		return printJSON(w, p)
	case "csv":
		return report.ProbeCSV(w, p)
	case "gobench":
		return report.ProbeGoBench(w, p)
	}
	return writeSections(w, report.ProbeTitle(p), report.ProbeSections(p))
}

// showProbe prints the record of a probe again.
func showProbe(env *environment, dir, format string) error {
	p, err := record.OpenProbe(dir)
	if err != nil {
		return withExit(exitUsage, err)
	}
	if err := printProbe(env.stdout, p, format); err != nil {
		return err
	}
	return verdictOfProbe(p)
}
