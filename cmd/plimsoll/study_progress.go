package main

import (
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/study/conduct"
)

// studyProgress shows the progress of a study on standard error: a line when a trial starts and ends, and the progress
// of its run in between.
type studyProgress struct{ *progressLines }

func newStudyProgress(env *environment) *studyProgress {
	return &studyProgress{newProgressLines(env)}
}

func (p *studyProgress) Begin(s conduct.Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prefix = trialName(s.Trial, s.Procedure, s.Total) + "  "
	p.clear()
	text := p.prefix + s.Trial.Configuration
	if s.Trial.Kind == record.TrialCanary {
		text += " (canary)"
	}
	if s.Trial.Block > 0 {
		text += fmt.Sprintf(", block %d of %d", s.Trial.Block, max(s.Blocks, s.Trial.Block))
	}
	if s.Trial.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", s.Trial.Attempt)
	}
	if s.Left >= time.Second {
		text += ", about " + clock(s.Left) + " left"
	}
	if !p.whole.outer {
		p.whole = whole{end: p.now().Add(s.Left)}
	}
	fmt.Fprintln(p.w, text)
}

func trialName(t record.Trial, procedure string, total int) string {
	if procedure != "" {
		return "procedure " + procedure
	}
	return fmt.Sprintf("trial %d of %d", t.Number, total)
}

func (p *studyProgress) End(t record.Trial) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	text := fmt.Sprintf("%s%s after %s", p.prefix, t.Status, figure.Duration(time.Duration(t.Seconds*float64(time.Second))))
	if x, ok := t.Values["throughput"]; ok && t.Status == record.TrialDone {
		text += ": " + figure.Rate(x) + " ok/s"
	}
	if t.Problem != "" {
		text += ": " + t.Problem
	}
	fmt.Fprintln(p.w, text)
	if worst := measure.Worst(t.Validity); worst == measure.Invalid {
		for _, f := range t.Validity {
			if f.Severity == measure.Invalid {
				fmt.Fprintf(p.w, "%sinvalid (%s): %s\n", p.prefix, f.ID, f.Text)
			}
		}
	}
	p.prefix = ""
}

func (p *studyProgress) trial() run.Progress { return &trialProgress{p.progressLines} }

type trialProgress struct{ *progressLines }

// Step is shown only on a terminal, where it is overwritten.
func (p *trialProgress) Step(text string) {
	if p.terminal {
		p.progressLines.Step(text)
	}
}
