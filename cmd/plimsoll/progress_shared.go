package main

import (
	"fmt"
	"sync"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/run"
)

// sharedProgress shows the progress of runs that belong to a study or a drill. It is safe for concurrent use.
type sharedProgress struct {
	mu    sync.Mutex
	lines *progressLines
}

func newSharedProgress(env *environment) *sharedProgress {
	return &sharedProgress{lines: newProgressLines(env)}
}

func (p *sharedProgress) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines.clear()
	fmt.Fprintln(p.lines.w, report.Clean(text))
}

func (p *sharedProgress) Step(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines.Step(text)
}

func (p *sharedProgress) Begin(plan run.Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines.Begin(plan)
}

func (p *sharedProgress) Interval(d measure.Dims, iv *measure.Interval) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines.Interval(d, iv)
}

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
