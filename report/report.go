// Package report describes results for people. [Of] turns a record of any kind into a [Document]. [Write] prints it as
// Markdown, and the tables for programs as CSV and as lines of Go benchmarks. The package measures nothing, judges
// nothing and opens no connection: only what is in the record is reported.
//
// The command line prints documents on the terminal, report/html as a page; both know no kind of result. YCSB's own
// output is in ycsb/ycsbtext.
package report

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// runCSV writes one line per operation class of the measured phase, the first line being the header. Times
// are in microseconds; a field is empty where there are too few values to state it. The column validity
// is "valid", "warning" or "invalid".
func runCSV(w io.Writer, r *record.Run) error {
	header := []string{"started", "workload", "target", "status", "validity", "class", "part", "seconds", "workers", "offered_per_s",
		"attempted", "succeeded", "failed", "indeterminate", "ok_per_s"}
	for _, kind := range []string{"response", "service"} {
		for _, q := range []string{"mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"} {
			header = append(header, kind+"_"+q+"_us")
		}
	}
	rows := [][]string{header}
	for _, p := range r.Phases {
		if p.Phase != "measure" {
			continue
		}
		for _, c := range p.Classes {
			row := []string{r.Started.UTC().Format(time.RFC3339), r.Specification.Workload.Name, r.Target.Address,
				string(r.Status),
				validity(r.Validity), c.Name, strconv.FormatBool(c.Part), number(p.Seconds), strconv.Itoa(p.Workers),
				number(p.Rates.Offered),
				integer(c.Counts.Attempted), integer(c.Counts.Succeeded), integer(c.Counts.Failed), integer(c.Counts.Indeterminate),
				number(c.Rate)}
			for _, l := range []*record.Latency{c.Response, c.Service} {
				l = cmp.Or(l, &record.Latency{})
				row = append(row, microseconds(l, l.P50, l.P90, l.P95, l.P99, l.P999, l.P9999)...)
			}
			rows = append(rows, row)
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// microseconds are the mean, some quantiles and the maximum, empty where there are too few values.
func microseconds(l *record.Latency, quantiles ...*int64) []string {
	if l.Count == 0 {
		return make([]string, len(quantiles)+2)
	}
	cells := []string{number(l.Mean / 1e3)}
	for _, q := range append(quantiles, &l.Max) {
		cell := ""
		if q != nil {
			cell = number(float64(*q) / 1e3)
		}
		cells = append(cells, cell)
	}
	return cells
}

// validity is the gravest reason to doubt a result in one word.
func validity(list []measure.Finding) string {
	switch worst := measure.Worst(list); worst {
	case measure.Invalid, measure.Warning:
		return string(worst)
	}
	return "valid"
}

// runBench writes the measured phase in the format of Go benchmarks, which benchstat compares: one line per operation
// class with the mean response time, percentiles and successful operations per second. An invalid result has a separate
// line, which keeps benchstat from comparing it with a valid one.
func runBench(w io.Writer, r *record.Run) error {
	b := benchWriter{w: w}
	b.head(r.Environment, r.Validity)
	p := r.Phase("measure")
	if p == nil {
		return b.err
	}
	for _, c := range p.Classes {
		if c.Response != nil {
			b.printf("BenchmarkRun/workload=%s/class=%s/workers=%d \t%d\t%s\t%.1f ok/s\n", word(r.Specification.Workload.Name),
				word(c.Name), p.Workers, c.Counts.Succeeded, benchTimes(c.Response), c.Rate)
		}
	}
	return b.err
}

// benchTimes are the mean and the quantiles that are known.
func benchTimes(l *record.Latency) string {
	text := fmt.Sprintf("%.1f ns/op", l.Mean)
	for _, q := range []struct {
		name string
		ns   *int64
	}{{"p50", l.P50}, {"p99", l.P99}, {"p99.9", l.P999}} {
		if q.ns != nil {
			text += fmt.Sprintf("\t%d %s-ns", *q.ns, q.name)
		}
	}
	return text
}

// benchWriter writes lines of benchmark results.
// (golang.org/design/14313-benchmark-format)
type benchWriter struct {
	w   io.Writer
	err error
}

func (b *benchWriter) printf(format string, args ...any) {
	if b.err == nil {
		_, b.err = fmt.Fprintf(b.w, format, args...)
	}
}

func (b *benchWriter) head(e record.Environment, findings []measure.Finding) {
	for _, line := range [][2]string{{"goos", e.OS}, {"goarch", e.Arch}, {"cpu", e.CPU}} {
		if v := strings.TrimSpace(Clean(line[1])); v != "" {
			b.printf("%s: %s\n", line[0], v)
		}
	}
	if measure.Worst(findings) == measure.Invalid {
		b.printf("validity: invalid\n")
	}
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
