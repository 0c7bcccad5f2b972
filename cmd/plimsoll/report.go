package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html"
)

func reportFormats() []string { return []string{"html", "md", "json", "csv", "ycsb"} }

func newReportCommand(env *environment) *cobra.Command {
	var format, out string
	cmd := &cobra.Command{
		Use:   "report [RECORD…]",
		Short: "Write records as an HTML page, Markdown, JSON or CSV",
		Long: `Write a report of one or several records: runs, studies, suites, drills, probes or comparisons.

The HTML page is one file that needs no network, next to the record. It has the verdict and the most important
numbers first, then charts with their data, then everything needed to repeat the measurement. Without RECORD, it is of
the newest record below plimsoll-data.

Exit codes: 0 report written, 1 report not written, 2 usage error or unreadable record.`,
		Example: `  plimsoll report my-record                     write my-record.html
  plimsoll report run-1 run-2 -o both.html      compare runs on one page; the first is the baseline
  plimsoll report my-study --format md           write text for a pull request to standard output
  plimsoll report run-1 run-2 --format csv      write the table of 'plimsoll compare'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				newest, err := newestRecord()
				if err != nil {
					return err
				}
				args = []string{newest}
			}
			return writeReport(cmd.Context(), env, args, format, out)
		},
	}
	formatFlag(cmd.Flags(), &format, "report", reportFormats()...)
	cmd.Flags().StringVarP(&out, "output", "o", "", "output `file`, - for standard output (default: RECORD.html, next to the record; standard output for other formats)")
	return cmd
}

// writeReport reads all records before it writes, so a failure leaves no partial file.
func writeReport(ctx context.Context, env *environment, paths []string, format, out string) error {
	if format == "ycsb" && len(paths) > 1 {
		return usageError("--format ycsb takes one record: give them one by one")
	}
	sources := make([]*report.Source, len(paths))
	for i, path := range paths {
		s, err := report.Open(path)
		if err != nil {
			return withExit(exitUsage, err)
		}
		sources[i] = s
		for _, p := range s.Problems {
			fmt.Fprintf(env.stderr, "plimsoll: %s\n", report.Clean(p))
		}
	}
	if out == "" && format == "html" {
		out = reportName(paths)
	}
	write := func(w io.Writer) error {
		if format == "html" {
			return html.Write(direct(w), sources, report.PageOptions{Tool: tool(), Compare: compareSides})
		}
		if len(sources) > 1 {
			return writeSides(w, sources, format)
		}
		return writeRecord(w, sources[0], format)
	}
	if out == "" {
		return write(env.stdout)
	}
	if err := writeOutput(ctx, env, out, 0o644, write); err != nil {
		return withExit(exitFailure, fmt.Errorf("cannot write the report %s: %w", out, err))
	}
	if isStdout(env, out) {
		return nil
	}
	fmt.Fprintf(env.stderr, "report written to %s\n", out)
	return nil
}

// reportName is the name of a record with .html, next to it. That of several records is report.html, next to the first.
func reportName(paths []string) string {
	first := filepath.Clean(paths[0])
	if base := filepath.Base(first); len(paths) > 1 || base == "." || base == ".." || base == string(filepath.Separator) {
		return filepath.Join(filepath.Dir(first), "report.html")
	}
	return strings.TrimSuffix(first, ".json") + ".html"
}
