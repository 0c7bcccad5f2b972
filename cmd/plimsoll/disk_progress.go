package main

import (
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
)

// diskProgress shows the progress of a probe on standard error: a status line on a terminal, else a line for each step.
type diskProgress struct {
	lines  *progressLines
	env    *environment
	quiet  bool
	iostat bool
	headed int
	step   string
}

func newDiskProgress(env *environment, quiet, iostat bool) *diskProgress {
	return &diskProgress{lines: newProgressLines(env), env: env, quiet: quiet, iostat: iostat}
}

func (d *diskProgress) plan(s record.ProbeSpec) {
	if d.quiet {
		return
	}
	steps, total := disk.Estimate(s)
	fmt.Fprintf(d.env.stderr, "%s, %s, plus time to write the test files\n", figure.Plural(steps, "step"), figure.Duration(total))
	d.lines.endsIn(total, false)
}

func (d *diskProgress) Step(text string) {
	d.step = text
	if !d.quiet {
		d.lines.Step(d.lines.whole.left(d.env.now()) + text)
	}
}

func (d *diskProgress) Note(text string) {
	if !d.quiet {
		d.lines.Note(text)
	}
}

func (d *diskProgress) Second(s record.ProbeSecond) {
	d.lines.mu.Lock()
	defer d.lines.mu.Unlock()
	if d.iostat && len(s.Devices) > 0 {
		d.lines.clear()
		d.devices(s)
	}
	if d.quiet || !d.env.terminal || s.Length == 0 {
		return
	}
	d.lines.status(d.lines.whole.left(d.env.now()) + fmt.Sprintf("%s: %s: %s op/s, p50 %s, p99 %s", d.step, clock(time.Duration(s.At+s.Length)),
		figure.Rate(float64(s.Operations)/time.Duration(s.Length).Seconds()),
		figure.Duration(time.Duration(s.P50)), figure.Duration(time.Duration(s.P99))))
}

// devices prints a second like iostat -x, with the header every 20 lines.
func (d *diskProgress) devices(s record.ProbeSecond) {
	if d.headed%20 == 0 {
		d.deviceLine("Device", report.IOStatColumns())
	}
	d.headed++
	for _, x := range s.Devices {
		d.deviceLine(x.Name, report.IOStatCells(x))
	}
}

func (d *diskProgress) deviceLine(name string, cells []string) {
	line := fmt.Sprintf("%-10s", name)
	for i, c := range cells {
		line += fmt.Sprintf(" %*s", max(8, len(report.IOStatColumns()[i])), c)
	}
	fmt.Fprintln(d.env.stderr, line)
}

func (d *diskProgress) end() { d.lines.end() }
