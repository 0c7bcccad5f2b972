package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/suite"
)

// reports has the parts of three waits with the seconds at which they are told: a download, a recovery, and an audit
// of a collection whose size is not known.
func reports(p *progressLines, clock *time.Time, every time.Duration) {
	ctx := p.listening(context.Background())
	inner := wait.Listen(ctx, wait.Listener{Say: func(string) {}}) // as drills do
	for at := time.Duration(0); at <= 30*time.Second; at += every {
		wait.Advance(ctx, wait.Part{Name: "download", Done: int64(at/time.Second) * 3 << 20, Total: 120 << 20, Bytes: true})
		*clock = clock.Add(every)
	}
	for range int(25 * time.Second / every) {
		wait.Advance(inner, wait.Part{Name: "redundancy", Limit: 5 * time.Minute, Status: "rs0-2 is 3 s behind"})
		*clock = clock.Add(every)
	}
	for i := range int64(25 * time.Second / every) {
		wait.Advance(inner, wait.Part{Name: "audit: final read, ledger", Done: i, Of: "documents"})
		*clock = clock.Add(every)
	}
}

// Without a terminal a long wait has a line every ten seconds, with the time left or the limit.
func TestWaitsWithoutATerminal(t *testing.T) {
	var b bytes.Buffer
	now := standing()
	p := newProgressLines(&environment{stderr: &b, now: func() time.Time { return now }})
	reports(p, &now, time.Second)
	want := `download  25 %  30.0 MiB of 120 MiB, about 00:30 left
download  50 %  60.0 MiB of 120 MiB, about 00:20 left
download  75 %  90.0 MiB of 120 MiB, about 00:10 left
redundancy  00:10, at most 05:00: rs0-2 is 3 s behind
redundancy  00:20, at most 05:00: rs0-2 is 3 s behind
audit: final read, ledger  10 documents, 00:10
audit: final read, ledger  20 documents, 00:20
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	b.Reset() // what does not last has no line
	wait.Advance(p.listening(t.Context()), wait.Part{Name: "short", Done: 5, Total: 10})
	if b.Len() > 0 {
		t.Errorf("a wait that begins: %q", b.String())
	}
}

// On a terminal a wait has a status line with a bar, at most ten times a second.
func TestWaitsOnATerminal(t *testing.T) {
	var b bytes.Buffer
	now := standing()
	p := newProgressLines(&environment{stderr: &b, terminal: true, width: func() int { return 100 },
		now: func() time.Time { return now }})
	reports(p, &now, 50*time.Millisecond)
	lines := strings.Split(b.String(), "\r\x1b[K")
	if n := len(lines) - 1; n < 700 || n > 900 { // 80 s, ten lines a second
		t.Errorf("%d status lines", n)
	}
	for _, want := range []string{"download [##########          ] 50 %  60.0 MiB of 120 MiB, about 00:20 left",
		"download [                    ]  0 %  0 B of 120 MiB",
		"redundancy  00:12, at most 05:00: rs0-2 is 3 s behind"} {
		found := false
		for _, line := range lines {
			found = found || strings.HasPrefix(line, want)
		}
		if !found {
			t.Errorf("no status line is %q; the first are %q", want, lines[:5])
		}
	}
	p.end()
	if !strings.HasSuffix(b.String(), "\r\x1b[K") {
		t.Error("the last status line remains")
	}
}

// The load phase says when it ends, and the parts of a suite when the suite does.
func TestLoadPhaseAndSuiteSayWhatIsLeft(t *testing.T) {
	var b bytes.Buffer
	now := standing()
	p := &suiteProgress{newStudyProgress(&environment{stderr: &b, now: func() time.Time { return now }})}
	p.Begin(suite.Status{Number: 1, Total: 2, Left: 10 * time.Minute})
	now = now.Add(time.Minute)
	dims := measure.Dims{Classes: []measure.Class{{Name: "insert"}}, Outcomes: []measure.Outcome{{Name: "ok", Success: true}}}
	run.Progress(p.trial()).Begin(run.Plan{Phase: load.PhaseLoad, Operations: 1000})
	p.Interval(dims, &measure.Interval{Phase: load.PhaseLoad, Start: 9 * time.Second, End: 10 * time.Second,
		Classes: []measure.ClassInterval{{Counts: []int64{1}, Docs: 250}}})
	if want := "09:00 left  load      25 %  250 of 1,000 documents, about 00:30 left\n"; !strings.HasSuffix(b.String(), want) {
		t.Errorf("%q does not end with %q", b.String(), want)
	}
}
