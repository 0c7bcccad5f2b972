// Package report describes results for people. [Of] turns a record of any kind into a [Document]. [Write] prints it as
// Markdown, and the tables for programs as CSV and as lines of Go benchmarks. The package measures nothing, judges
// nothing and opens no connection: only what is in the record is reported.
//
// The command line prints documents on the terminal, report/html as a page; both know no kind of result. YCSB's own
// output is in ycsb/ycsbtext.
package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// runCSV writes one line per operation class of the measured phase, the first line being the header. Times
// are in microseconds; a field is empty where there are too few values to state it. The column validity
// is "valid", "warning" or "invalid".
func runCSV(w io.Writer, r *record.Run) error {
	out := csv.NewWriter(w)
	header := []string{"started", "workload", "target", "status", "validity", "class", "part", "seconds", "workers", "offered_per_s",
		"attempted", "succeeded", "failed", "indeterminate", "ok_per_s"}
	for _, kind := range []string{"response", "service"} {
		for _, q := range []string{"mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"} {
			header = append(header, kind+"_"+q+"_us")
		}
	}
	if err := out.Write(header); err != nil {
		return err
	}
	for _, p := range r.Phases {
		if p.Phase != "measure" {
			continue
		}
		for _, c := range p.Classes {
			if err := out.Write(csvRow(r, &p, &c)); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// validity is the gravest reason to doubt a result in one word.
func validity(r *record.Run) string {
	switch worst := measure.Worst(r.Validity); worst {
	case measure.Invalid, measure.Warning:
		return string(worst)
	}
	return "valid"
}

func csvRow(r *record.Run, p *record.PhaseResult, c *record.ClassResult) []string {
	row := []string{
		r.Started.UTC().Format("2006-01-02T15:04:05Z"), r.Specification.Workload.Name, r.Target.Address, string(r.Status),
		validity(r), c.Name, strconv.FormatBool(c.Part), number(p.Seconds), strconv.Itoa(p.Workers), number(p.Rates.Offered),
		integer(c.Counts.Attempted), integer(c.Counts.Succeeded), integer(c.Counts.Failed), integer(c.Counts.Indeterminate),
		number(c.Rate),
	}
	for _, l := range []*record.Latency{c.Response, c.Service} {
		if l == nil {
			row = append(row, make([]string, 8)...)
			continue
		}
		row = append(row, number(l.Mean/1e3))
		for _, q := range []*int64{l.P50, l.P90, l.P95, l.P99, l.P999, l.P9999, &l.Max} {
			cell := ""
			if q != nil {
				cell = number(float64(*q) / 1e3)
			}
			row = append(row, cell)
		}
	}
	return row
}

// runBench writes the measured phase in the format of Go benchmarks, which benchstat compares: one line
// per operation class with the mean response time, percentiles and successful operations per second. A
// result that must not be believed says so in a line of its own, which keeps benchstat from comparing it
// with one that may.
func runBench(w io.Writer, r *record.Run) error {
	fmt.Fprintf(w, "goos: %s\ngoarch: %s\n", r.Environment.OS, r.Environment.Arch)
	if r.Environment.CPU != "" {
		fmt.Fprintf(w, "cpu: %s\n", r.Environment.CPU)
	}
	if measure.Worst(r.Validity) == measure.Invalid {
		fmt.Fprintln(w, "validity: invalid")
	}
	p := r.Phase("measure")
	if p == nil {
		return nil
	}
	for _, c := range p.Classes {
		if c.Response == nil {
			continue
		}
		line := fmt.Sprintf("BenchmarkRun/workload=%s/class=%s/workers=%d \t%d\t%.1f ns/op", word(r.Specification.Workload.Name),
			word(c.Name), p.Workers, c.Counts.Succeeded, c.Response.Mean)
		for _, q := range []struct {
			name string
			ns   *int64
		}{{"p50", c.Response.P50}, {"p99", c.Response.P99}, {"p99.9", c.Response.P999}} {
			if q.ns != nil {
				line += fmt.Sprintf("\t%d %s-ns", *q.ns, q.name)
			}
		}
		if _, err := fmt.Fprintf(w, "%s\t%.1f ok/s\n", line, c.Rate); err != nil {
			return err
		}
	}
	return nil
}

// word makes a name fit into the name of a benchmark.
func word(s string) string {
	return strings.Map(func(c rune) rune {
		if c == ' ' || c == '/' || c == '\t' {
			return '-'
		}
		return c
	}, s)
}

// number has no exponent and no needless zeros.
func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

func integer(n int64) string { return strconv.FormatInt(n, 10) }
