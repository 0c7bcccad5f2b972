package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/run"
)

// drillProgress shows on standard error how a drill goes. Faults tell from goroutines of their own.
type drillProgress struct {
	mu    sync.Mutex
	lines *progressLines
}

func newDrillProgress(env *environment) *drillProgress {
	return &drillProgress{lines: &progressLines{w: env.stderr, terminal: env.terminal, width: env.width}}
}

// Note implements [drill.Progress].
func (p *drillProgress) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines.clear()
	fmt.Fprintln(p.lines.w, report.Clean(text))
}

func (p *drillProgress) Step(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines.Step(text)
}

func (p *drillProgress) Begin(plan run.Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines.Begin(plan)
}

func (p *drillProgress) Interval(d measure.Dims, iv *measure.Interval) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines.Interval(d, iv)
}

func (p *drillProgress) Event(e measure.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines.Event(e)
}

func (p *drillProgress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines.end()
}

// drillMarks returns the moments that somebody marks: by Enter, or by SIGUSR1 where there is one.
func drillMarks(env *environment) (<-chan time.Time, func()) {
	marks := make(chan time.Time, 16)
	send := func() {
		select {
		case marks <- time.Now():
		default: // nobody needs so many
		}
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, markSignals()...)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-signals:
				send()
			case <-done:
				return
			}
		}
	}()
	go func() { // it ends with the program: reading from a terminal cannot be interrupted
		lines := bufio.NewReader(env.stdin)
		for {
			if _, err := lines.ReadString('\n'); err != nil {
				return
			}
			send()
		}
	}()
	return marks, func() { signal.Stop(signals); close(done) }
}

// printDrill prints a drill.
func printDrill(w io.Writer, d *record.Drill, format string) error {
	switch format {
	case "json":
		return printJSON(w, d)
	case "md":
		return report.DrillMarkdown(w, d)
	}
	return writeSections(w, report.DrillTitle(d), report.DrillSections(d))
}

// showDrill prints the record of a drill again.
func showDrill(env *environment, dir, format string) error {
	d, err := record.OpenDrill(dir)
	if err != nil {
		return withExit(exitUsage, err)
	}
	if err := printDrill(env.stdout, d, format); err != nil {
		return err
	}
	return verdictOfDrill(d)
}
