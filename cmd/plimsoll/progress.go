package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/internal/visible"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/run"
)

// plainEvery is the time between two lines of progress without a terminal.
const plainEvery = 10 * time.Second

// progressLines shows the progress of a run on standard error: a status line that is rewritten every second on a
// terminal, else a line every ten seconds. It is safe for concurrent use.
type progressLines struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	width    func() int
	now      func() time.Time
	prefix   string // of the status line and of intervals
	whole    whole
	part     partBegun
	plan     run.Plan
	shown    bool          // a status line is on the terminal
	next     time.Duration // when the next plain line is due
	done     int64         // documents of the load phase, operations of the run
	failed   int64
	events   []measure.Event // not printed yet, in order of time
}

// settle is how late an event may come and still be printed in order: the load, the lab and a separate client report
// what they see, each at its own pace.
const settle = 2 * time.Second

func newProgressLines(env *environment) *progressLines {
	return &progressLines{w: env.stderr, terminal: env.terminal, width: env.width, now: env.now}
}

// Note prints a line.
func (p *progressLines) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintln(p.w, report.Clean(text))
}

func (p *progressLines) Step(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step(text)
}

func (p *progressLines) step(text string) {
	p.told(never)
	if p.terminal {
		p.status(text)
		return
	}
	fmt.Fprintln(p.w, visible.Line(p.prefix+text))
}

func (p *progressLines) Begin(plan run.Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.plan, p.done, p.failed, p.next = plan, 0, 0, plainEvery
	if plan.Phase == load.PhaseLoad {
		p.step("loading " + figure.Count(plan.Operations) + " documents")
	}
}

func (p *progressLines) Interval(d measure.Dims, iv *measure.Interval) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := iv.Tally(d)
	p.failed += t.Bad()
	if iv.Phase == load.PhaseLoad {
		for i := range iv.Classes {
			p.done += iv.Classes[i].Docs
		}
	} else {
		p.done += t.Succeeded
	}
	p.told(iv.End - settle)
	if p.terminal {
		p.status(p.line(d, iv))
		return
	}
	if iv.End >= p.next {
		p.told(iv.End)
		p.next = iv.End + plainEvery
		fmt.Fprintln(p.w, p.prefix+p.line(d, iv))
	}
}

func (p *progressLines) line(d measure.Dims, iv *measure.Interval) string {
	return p.whole.left(p.now()) + p.interval(d, iv)
}

// interval words an interval of the load.
func (p *progressLines) interval(d measure.Dims, iv *measure.Interval) string {
	if iv.Phase == load.PhaseLoad {
		x := wait.Part{Name: "load    ", Done: p.done, Total: p.plan.Operations, Of: "documents"}
		return partText(x, iv.End, p.terminal) + p.failures()
	}
	seconds := (iv.End - iv.Start).Seconds()
	t := iv.Tally(d)
	text := fmt.Sprintf("%-8s %s  %s ok/s", iv.Phase, p.clockOf(iv), figure.Rate(float64(t.Succeeded)/max(seconds, 1e-9)))
	if p.plan.Offered > 0 && (iv.Phase == load.PhaseWarmup || iv.Phase == load.PhaseMeasure) {
		text += fmt.Sprintf(" of %s/s offered", figure.Rate(float64(iv.Offered)/max(seconds, 1e-9)))
	}
	var due measure.Due
	_ = due.Add(d, iv) // cannot fail: same geometry
	if h := due.Answered; h.Count() > 0 {
		text += fmt.Sprintf("  p50 %s  p99 %s  max %s", percentile(due, 0.5), percentile(due, 0.99), figure.Duration(time.Duration(h.Max())))
	}
	return text + p.failures()
}

func (p *progressLines) failures() string {
	if p.failed == 0 {
		return ""
	}
	return "  " + figure.Count(p.failed) + " failed"
}

// percentile words that of the operations of an interval.
func percentile(d measure.Due, q float64) string {
	if ns, answered := d.Value(q); answered {
		return figure.Duration(time.Duration(ns))
	}
	return report.NoAnswer
}

// clockOf formats the elapsed time and, if known, the length of the run.
func (p *progressLines) clockOf(iv *measure.Interval) string {
	if p.plan.Duration == 0 {
		return clock(iv.End)
	}
	return clock(iv.End) + "/" + clock(p.plan.Warmup+p.plan.Duration)
}

// clock formats a time as minutes and seconds.
func clock(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}

func (p *progressLines) Event(e measure.Event) {
	switch e.Kind {
	case load.EventPhase, load.EventEnd:
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.events, func(o measure.Event) bool { return o.At > e.At })
	if at < 0 {
		at = len(p.events)
	}
	p.events = slices.Insert(p.events, at, e)
}

// never is after all events.
const never = time.Duration(math.MaxInt64)

// told prints the events until a time.
func (p *progressLines) told(until time.Duration) {
	for len(p.events) > 0 && p.events[0].At <= until {
		e := p.events[0]
		p.events = p.events[1:]
		p.wipe()
		fmt.Fprintf(p.w, "%s  %s: %s\n", clock(e.At), e.Kind, visible.Line(e.Text))
	}
}

func (p *progressLines) status(text string) {
	text = visible.Line(redact.InText(p.prefix + text))
	if limit := p.width() - 1; utf8.RuneCountInString(text) > limit && limit > 0 {
		text = string([]rune(text)[:limit])
	}
	fmt.Fprintf(direct(p.w), "\r\x1b[K%s", strings.TrimRight(text, " "))
	p.shown = true
}

// clear prints what happened and removes the status line, before other output.
func (p *progressLines) clear() {
	p.told(never)
	p.wipe()
}

func (p *progressLines) wipe() {
	if p.shown {
		fmt.Fprint(direct(p.w), "\r\x1b[K")
		p.shown = false
	}
}

func (p *progressLines) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prefix = ""
	p.clear()
}
