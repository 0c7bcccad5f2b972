package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/study/conduct"
)

// tellStudy tells a progress about a procedure and two trials.
func tellStudy(p *studyProgress) {
	trial := p.trial()
	dims := measure.Dims{Classes: []measure.Class{{Name: "read"}}, Outcomes: []measure.Outcome{{Name: "ok", Success: true}}}
	interval := &measure.Interval{Phase: "measure", Start: 9 * time.Second, End: 10 * time.Second,
		Classes: []measure.ClassInterval{{Counts: []int64{1500}}}}
	p.Note("procedure threads")
	p.Begin(conduct.Status{Trial: record.Trial{Number: 1, Attempt: 1, Kind: record.TrialSearch,
		Configuration: "16 workers"}, Procedure: "threads"})
	p.End(record.Trial{Status: record.TrialDone, Seconds: 61, Values: map[string]float64{"throughput": 1234}})
	p.Begin(conduct.Status{Trial: record.Trial{Number: 7, Attempt: 2, Block: 2, Kind: record.TrialCompared,
		Configuration: "workers=8"}, Total: 24, Blocks: 3, Left: 90 * time.Second})
	trial.Step("opening null:")
	trial.Begin(run.Plan{Phase: "measure", Duration: 20 * time.Second})
	trial.Interval(dims, interval)
	trial.Event(measure.Event{At: 11 * time.Second, Kind: "outage", Text: "nothing succeeds"})
	p.End(record.Trial{Status: record.TrialTimeout, Seconds: 30, Problem: "its deadline of 30 s passed"})
	p.Begin(conduct.Status{Trial: record.Trial{Number: 8, Attempt: 1, Kind: record.TrialCanary,
		Configuration: "baseline"}, Total: 24})
	p.End(record.Trial{Status: record.TrialDone, Seconds: 20, Values: map[string]float64{"throughput": 5},
		Validity: []measure.Finding{{ID: "outage", Severity: measure.Invalid, Text: "it was away"}, {ID: "few", Severity: measure.Warning}}})
	p.end()
}

// standing is a clock that stands.
func standing() time.Time { return time.Unix(1_800_000_000, 0) }

func TestStudyProgress(t *testing.T) {
	var b bytes.Buffer
	tellStudy(newStudyProgress(&environment{stderr: &b, now: standing, width: func() int { return 80 }}))
	want := `procedure threads
procedure threads  16 workers
procedure threads  done after 61.0 s: 1,234 ok/s
trial 7 of 24  workers=8, block 2 of 3, attempt 2, about 01:30 left
trial 7 of 24  01:30 left  measure  00:10/00:20  1,500 ok/s
00:11  outage: nothing succeeds
trial 7 of 24  timeout after 30.0 s: its deadline of 30 s passed
trial 8 of 24  baseline (canary)
trial 8 of 24  done after 20.0 s: 5.00 ok/s
trial 8 of 24  invalid (outage): it was away
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("where there is no terminal (-want +got):\n%s", d)
	}
}

// On a terminal there is one status line at a time, which is gone when something else is printed, and at the end.
func TestStudyProgressOnATerminal(t *testing.T) {
	var b bytes.Buffer
	tellStudy(newStudyProgress(&environment{stderr: &b, terminal: true, now: standing, width: func() int { return 40 }}))
	screen := []string{""}
	for _, part := range strings.SplitAfter(b.String(), "\n") {
		for i, line := range strings.Split(part, "\r\x1b[K") {
			if i > 0 {
				screen[len(screen)-1] = ""
			}
			if len(strings.TrimRight(line, "\n")) > 39 && !strings.HasSuffix(line, "\n") {
				t.Errorf("a status line is wider than the terminal: %q", line)
			}
			screen[len(screen)-1] += strings.TrimRight(line, "\n")
		}
		if strings.HasSuffix(part, "\n") {
			screen = append(screen, "")
		}
	}
	if last := screen[len(screen)-1]; last != "" {
		t.Errorf("what is left on the last line: %q", last)
	}
	for _, want := range []string{"trial 7 of 24  opening null:", "trial 7 of 24  01:30 left  measure"} {
		if !strings.Contains(b.String(), "\r\x1b[K"+want) {
			t.Errorf("there was no status line %q:\n%q", want, b.String())
		}
	}
	for _, line := range screen {
		if strings.Contains(line, "opening") || strings.Contains(line, "measure  ") {
			t.Errorf("a status line stays: %q", line)
		}
	}
}
