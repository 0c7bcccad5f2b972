package main

import (
	"fmt"
	"sync"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/run"
)

// sharedProgress shows on standard error how runs go that are a part of something larger, which tells from several
// goroutines: a study, a drill.
type sharedProgress struct {
	mu    sync.Mutex
	lines *progressLines
}

func newSharedProgress(env *environment) *sharedProgress {
	return &sharedProgress{lines: &progressLines{w: env.stderr, terminal: env.terminal, width: env.width}}
}

// Note prints what happened, in a line of its own.
func (p *sharedProgress) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines.clear()
	fmt.Fprintln(p.lines.w, report.Clean(text))
}

// Step implements [run.Progress].
func (p *sharedProgress) Step(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines.Step(text)
}

// Begin implements [run.Progress].
func (p *sharedProgress) Begin(plan run.Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines.Begin(plan)
}

// Interval implements [run.Progress].
func (p *sharedProgress) Interval(d measure.Dims, iv *measure.Interval) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines.Interval(d, iv)
}

// Event implements [run.Progress].
func (p *sharedProgress) Event(e measure.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines.Event(e)
}

func (p *sharedProgress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines.prefix = ""
	p.lines.end()
}
