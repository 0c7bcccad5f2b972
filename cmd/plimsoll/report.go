package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html"
)

// reportFormats lists the values of --format of a report.
func reportFormats() []string { return []string{"html", "md", "json", "csv", "ycsb"} }

func newReportCommand(env *environment) *cobra.Command {
	var format, out string
	cmd := &cobra.Command{
		Use:   "report RECORD…",
		Short: "Make a page, a table or text out of records",
		Long: `Make a report out of the record of a run, a study, a suite, a drill, a probe or a comparison, or out
of several of them. That of a suite holds each statement of the document that it repeats against what
was measured.

The page (--format html) is one file that needs no network and no server: what holds, how much, what is
lost and whether it can be believed first, then charts with their numbers, then everything that is
needed to do it again. Open it in any browser, print it, attach it to an issue.

  plimsoll report my-record                     write my-record.html
  plimsoll report run-1 run-2 -o both.html      one page that compares two runs; the first is the baseline
  plimsoll report my-study --format md          text for a pull request, on standard output
  plimsoll report run-1 run-2 --format csv      what 'plimsoll compare' says of them

Nothing is measured or judged again. Exit codes: 0 the report is written, 1 it cannot be written,
2 a record cannot be read.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("a report needs a record: plimsoll report DIR")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if !slices.Contains(reportFormats(), format) {
				return usageError("unknown format %q%s (known: %s)", format, nearest.DidYouMean(format, reportFormats()), strings.Join(reportFormats(), ", "))
			}
			return writeReport(env, args, format, out)
		},
	}
	cmd.Flags().StringVar(&format, "format", "html", strings.Join(reportFormats(), ", "))
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write, - for standard output (default: RECORD.html; standard output for the other formats)")
	return cmd
}

// writeReport reads all records before it writes anything, so that a failure leaves no half a file.
func writeReport(env *environment, paths []string, format, out string) error {
	if format == "ycsb" && len(paths) > 1 {
		return usageError("--format ycsb writes one record at a time: give them one by one")
	}
	sources := make([]*html.Source, len(paths))
	for i, path := range paths {
		s, err := html.Open(path)
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
			return html.Write(direct(w), sources, html.Options{Tool: tool(), Compare: compareSides})
		}
		if len(sources) > 1 {
			return writeSides(w, sources, format)
		}
		return writeRecord(w, sources[0], format)
	}
	if out == "" || out == "-" {
		return write(env.stdout)
	}
	if err := writeFile(out, write); err != nil {
		return withExit(exitFailure, err)
	}
	fmt.Fprintf(env.stderr, "report written to %s\n", out)
	return nil
}

// reportName is the record's name with .html behind it, in the current directory.
func reportName(paths []string) string {
	if len(paths) > 1 {
		return "report.html"
	}
	abs, err := filepath.Abs(paths[0])
	if err != nil || filepath.Base(abs) == string(filepath.Separator) {
		return "report.html"
	}
	return strings.TrimSuffix(filepath.Base(abs), ".json") + ".html"
}

// writeFile replaces a file as a whole: what reads it sees the old or the new one.
func writeFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".plimsoll-report-*")
	if err != nil {
		return fmt.Errorf("cannot write the report %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("cannot write the report %s: %w", path, err)
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
