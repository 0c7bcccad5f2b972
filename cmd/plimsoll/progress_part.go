package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/visible"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
)

const (
	statusEvery = 100 * time.Millisecond // between two status lines of one thing on a terminal
	barColumns  = 20                     // of a bar
)

// whole is when all parts of a study or suite end, as planned. The zero value shows nothing.
type whole struct {
	end   time.Time
	outer bool // it is that of a suite, which its studies leave
}

// left says how long it takes until then, before other words.
func (w whole) left(now time.Time) string {
	if left := w.end.Sub(now); left >= time.Second {
		return clock(left) + " left  "
	}
	return ""
}

// endsIn says when everything ends.
func (p *progressLines) endsIn(left time.Duration, outer bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.whole = whole{end: p.now().Add(left), outer: outer}
}

// partBegun is the part that is shown.
type partBegun struct {
	name  string
	begun time.Time
	next  time.Time // when it is shown again
	done  int64     // as shown last; less of the same name is another time
}

// listening returns a context whose long waits p shows; without p nobody does.
func (p *progressLines) listening(ctx context.Context) context.Context {
	if p == nil {
		return ctx
	}
	return wait.Listen(ctx, wait.Listener{Part: p.Part})
}

// Part shows how far something is: on a terminal at once, else when it lasts for ten seconds, and every ten seconds.
func (p *progressLines) Part(x wait.Part) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, every := p.now(), plainEvery
	if p.terminal {
		every = statusEvery
	}
	if x.Name != p.part.name || x.Done < p.part.done {
		p.part = partBegun{name: x.Name, begun: now, next: now}
		if !p.terminal {
			p.part.next = now.Add(every)
		}
	}
	p.part.done = x.Done
	if now.Before(p.part.next) {
		return
	}
	p.part.next = now.Add(every)
	text := p.whole.left(now) + partText(x, now.Sub(p.part.begun), p.terminal)
	if p.terminal {
		p.status(text)
		return
	}
	fmt.Fprintln(p.w, visible.Line(p.prefix+text))
}

// partText words how far something is: of a total, a bar and the time left at the pace until now; otherwise its limit.
func partText(x wait.Part, elapsed time.Duration, bar bool) string {
	text := x.Name + " "
	count := figure.Count
	if x.Bytes {
		count = figure.Bytes
	}
	switch {
	case x.Total > 0:
		done := float64(min(x.Done, x.Total)) / float64(x.Total)
		if bar {
			full := int(done * barColumns)
			text += "[" + strings.Repeat("#", full) + strings.Repeat(" ", barColumns-full) + "]"
		}
		text += fmt.Sprintf(" %2.0f %%", 100*done)
		if x.Of != "" || x.Bytes {
			text += strings.TrimRight(fmt.Sprintf("  %s of %s %s", count(x.Done), count(x.Total), x.Of), " ")
		}
		left := time.Duration(float64(elapsed) * (1 - done) / max(done, 1e-9))
		if elapsed >= time.Second && done > 0 && done < 1 {
			text += fmt.Sprintf(", about %s left", clock(left))
		}
	case x.Done > 0:
		text += strings.TrimRight(fmt.Sprintf(" %s %s", count(x.Done), x.Of), " ") + ", " + clock(elapsed)
	default:
		text += " " + clock(elapsed)
	}
	if x.Limit > 0 {
		text += ", at most " + clock(x.Limit)
	}
	if x.Status != "" {
		text += ": " + x.Status
	}
	return text
}
