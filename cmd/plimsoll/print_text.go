package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html"
)

const textWidth = 100 // columns of running text

// writeText prints a result for a person: verdict and validity first, then what was asked and what was
// achieved, then the operations, then what went wrong.
func writeText(w io.Writer, r *record.Run) error {
	var b bytes.Buffer
	p := r.Phase("measure")
	if p == nil {
		fmt.Fprintf(&b, "%s: nothing was measured (%s)\n", html.Headline(r), r.Status)
		textProblem(&b, r)
		textValidity(&b, r)
		_, err := w.Write(b.Bytes())
		return err
	}
	fmt.Fprintln(&b, html.Headline(r))
	fmt.Fprintln(&b)
	textVerdict(&b, r)
	textProblem(&b, r)
	textObjectives(&b, r)
	textValidity(&b, r)
	fmt.Fprintln(&b)
	textLoad(&b, r, p)
	fmt.Fprintln(&b)
	textOperations(&b, r, p)
	textFailures(&b, p)
	textClient(&b, r, p)
	if r.Specification.Out != "" {
		fmt.Fprintf(&b, "\nrecord      %s\n", r.Specification.Out)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// textVerdict is the first line that a person reads: does it hold, and can it be believed.
func textVerdict(b *bytes.Buffer, r *record.Run) {
	fmt.Fprintf(b, "verdict     %s\n", wrap(report.RunVerdict(r), textWidth-12, strings.Repeat(" ", 12)))
}

func textProblem(b *bytes.Buffer, r *record.Run) {
	if r.Problem != "" {
		fmt.Fprintf(b, "problem     %s\n", wrap(r.Problem, textWidth-12, strings.Repeat(" ", 12)))
	}
}

func textObjectives(b *bytes.Buffer, r *record.Run) {
	t := table{left: 3}
	for _, o := range r.Objectives {
		mark, got := "✗ missed", ""
		switch {
		case o.Unknown:
			mark, got = "? unknown", o.Why
		case o.Met:
			mark = "✓ met"
		}
		if o.Measured != nil {
			got = formatFigure(*o.Measured, o.Unit)
		}
		t.row(mark, o.Objective, got)
	}
	t.write(b, strings.Repeat(" ", 12))
}

// formatFigure prints a value of an objective or a finding in its unit.
func formatFigure(x float64, unit string) string {
	switch unit {
	case measure.UnitTime:
		return formatDuration(time.Duration(x))
	case measure.UnitShare:
		return formatPercent(x)
	case measure.UnitRate:
		return formatRate(x) + "/s"
	}
	return significant(x)
}

// textValidity lists the findings, the gravest first. Notes come last and are marked as such.
func textValidity(b *bytes.Buffer, r *record.Run) {
	for _, f := range r.Validity {
		mark := "·"
		if f.Severity != measure.Note {
			mark = "!"
		}
		fmt.Fprintf(b, "          %s %s\n", mark, wrap(f.ID+": "+f.Text, textWidth-12, strings.Repeat(" ", 12)))
	}
}

// textLoad says what was asked for and what came of it.
func textLoad(b *bytes.Buffer, r *record.Run, p *record.PhaseResult) {
	fmt.Fprintf(b, "load        %s\n", html.Load(r, p))
	fmt.Fprintf(b, "durability  %s\n", html.Durability(r))
	fmt.Fprintf(b, "data        %s\n", html.Data(r))
	if r.Lab != nil {
		fmt.Fprintf(b, "lab         %s\n", wrap(report.LabLine(r.Lab), textWidth-12, strings.Repeat(" ", 12)))
	}
	fmt.Fprintf(b, "achieved    %s\n", html.Achieved(p))
	if text := html.Attempted(p); text != "" {
		fmt.Fprintf(b, "attempted   %s\n", text)
	}
	if n := r.Course.Dropped; n > 0 {
		fmt.Fprintf(b, "dropped     %s operations were given up because they were too late\n", formatCount(n))
	}
	if n := r.Course.Unsent; n > 0 {
		fmt.Fprintf(b, "unsent      %s operations were due but not sent when the run ended\n", formatCount(n))
	}
	if n := p.All.Retries; n > 0 {
		fmt.Fprintf(b, "retries     %s commands were sent again by the client, hidden in slow operations\n", formatCount(n))
	}
	if p.Rates.Documents > 0 && ratio(p.Rates.Documents, p.Rates.Achieved) > 1.01 {
		fmt.Fprintf(b, "documents   %s/s (%s/s)\n", formatRate(p.Rates.Documents), formatBytes(int64(p.Rates.Bytes)))
	}
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func formatSeconds(s float64) string { return formatDuration(time.Duration(s * 1e9)) }

// textOperations is the table of operation classes: response time, and service time below it where the
// two differ.
func textOperations(b *bytes.Buffer, r *record.Run, p *record.PhaseResult) {
	t := table{left: 2}
	t.row("operation", "time", "count", "ok/s", "p50", "p90", "p99", "p99.9", "max", "mean")
	classes := slices.Clone(p.Classes)
	slices.SortStableFunc(classes, func(x, y record.ClassResult) int { return cmp.Compare(boolInt(x.Part), boolInt(y.Part)) })
	for _, c := range classes {
		name := c.Name
		if c.Part {
			name += " (part)"
		}
		first, times := "service", c.Service
		if r.Scheduled && !c.Part {
			first, times = "response", c.Response
		}
		t.row(append([]string{name, first, formatCount(c.Counts.Succeeded), formatRate(c.Rate)}, quantiles(times)...)...)
		if r.Scheduled && !c.Part {
			t.row(append([]string{"", "service", "", ""}, quantiles(c.Service)...)...)
		}
	}
	t.write(b, "")
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// quantiles prints the columns of a latency; "-" stands where there are too few values to say.
func quantiles(l *record.Latency) []string {
	if l == nil {
		return []string{"-", "-", "-", "-", "-", "-"}
	}
	var cells []string
	for _, q := range []*int64{l.P50, l.P90, l.P99, l.P999} {
		if q == nil {
			cells = append(cells, "-")
		} else {
			cells = append(cells, formatDuration(time.Duration(*q)))
		}
	}
	return append(cells, formatDuration(time.Duration(l.Max)), formatDuration(time.Duration(l.Mean)))
}

// textFailures lists the ways in which operations did not succeed.
func textFailures(b *bytes.Buffer, p *record.PhaseResult) {
	missing := notFound(p)
	if len(p.Failures)+len(missing) == 0 {
		return
	}
	fmt.Fprintln(b)
	t := table{left: 3}
	t.row("not ok", "outcome", "reason", "count", "first", "last")
	for _, f := range p.Failures {
		reason := f.Reason
		if f.Code != 0 || f.CodeName != "" {
			reason += fmt.Sprintf(" %d %s", f.Code, f.CodeName)
		}
		t.row(f.Class, f.Outcome, strings.TrimSpace(reason), formatCount(f.Count), clock(f.First), clock(f.Last))
	}
	t.rows = append(t.rows, missing...)
	t.write(b, "")
	for _, f := range p.Failures {
		if f.Example != "" {
			fmt.Fprintf(b, "%s\n", wrap("for example: "+f.Example, textWidth, "  "))
			break
		}
	}
}

// notFound returns rows for operations that just found no document: they count as failed, but have no
// error that could be listed.
func notFound(p *record.PhaseResult) (rows [][]string) {
	for _, c := range p.Classes {
		n := c.Counts.NotFound
		for _, f := range p.Failures {
			if f.Class == c.Name && f.Outcome == "not-found" {
				n -= f.Count
			}
		}
		if n > 0 && !c.Part {
			rows = append(rows, []string{c.Name, "not-found", "", formatCount(n), "", ""})
		}
	}
	return rows
}

// textClient says what the load cost on this side.
func textClient(b *bytes.Buffer, r *record.Run, p *record.PhaseResult) {
	c := p.Client
	who := "client    "
	if r.ClientSettings["client"] == "in-process" {
		who = "process   " // the embedded engine works in it as well
	}
	fmt.Fprintf(b, "\n%s  %s CPU per operation, %s of the cores", who, formatDuration(time.Duration(c.CPUPerOperation)), formatPercent(c.CPUShare))
	if p.InFlight != nil {
		fmt.Fprintf(b, ", %s operations under way", significant(*p.InFlight))
	}
	if l := p.Lateness; l != nil && l.P99 != nil {
		fmt.Fprintf(b, ", sent late by p99 %s", formatDuration(time.Duration(*l.P99)))
	}
	fmt.Fprintln(b)
	if s := p.Service; s != nil {
		fmt.Fprintf(b, "service     %s CPU per operation, %s in all, %s of memory at most; a process of its own, apart from client and servers\n",
			formatDuration(time.Duration(s.CPUPerOperation)), formatSeconds(s.CPUSeconds), formatBytes(s.MemoryBytes))
	}
}
