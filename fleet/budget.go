package fleet

import (
	"fmt"
	"math"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// An agent on another machine may be broken or hostile. What it sends is counted before it is kept, and its numbers are
// checked before they are added up. An agent that exceeds this is ended, and the others go on without it.

const (
	// mostFrame is the longest frame of an agent.
	mostFrame = 8 << 20
	// mostHandOver is the longest hand-over of a duty.
	mostHandOver = 64 << 20
	// mostFiles is how many files the record of an agent has.
	mostFiles = 1000
	// mostAhead is by how much the clock of an agent may be ahead, beside the difference that is known.
	mostAhead = 10 * time.Minute
	// slowAtMost is how many times as long as most of the clients another one may take for its part, beside idleAtMost.
	// One that sends messages without an end does not work.
	slowAtMost = 10
	// mostCount bounds each count of an interval.
	mostCount = 1e12
)

// budget is how much an agent may send of one kind: an amount, and more each second.
type budget struct{ first, perSecond, spent int64 }

// take counts n, and reports whether that is within the budget after some time.
func (b *budget) take(n int, since time.Duration) bool {
	b.spent += int64(n)
	return b.spent <= b.first+int64(float64(b.perSecond)*since.Seconds())
}

// budgets are those of one agent, in bytes and in numbers of messages.
type budgets struct {
	since time.Time // when the agent began to send

	handOvers, files, other budget // bytes
	messages, events        budget // numbers
	intervals               budget
	fileCount               int
}

func newBudgets(since time.Time) budgets {
	return budgets{since: since.Round(0), handOvers: budget{first: 256 << 20, perSecond: 16 << 20},
		files: budget{first: 256 << 20, perSecond: 4 << 20}, other: budget{first: 64 << 20, perSecond: 512 << 10},
		messages: budget{first: 50_000, perSecond: 500}, events: budget{first: 10_000, perSecond: 50},
		intervals: budget{first: 2000, perSecond: 5}}
}

// excess says what of a message is too much, "" for nothing.
func (b *budgets) excess(m *message, frame int) string {
	since := time.Since(b.since) // by the wall clock, which goes on while this machine is suspended
	bytes, kind := &b.other, "messages"
	switch {
	case m.HandOver != nil:
		bytes, kind = &b.handOvers, "results of its duty"
	case m.Chunk != nil:
		bytes, kind = &b.files, "files"
	}
	switch {
	case !bytes.take(frame, since):
		return fmt.Sprintf("it sent %d MiB of %s in %v, more than an agent may", bytes.spent>>20, kind, since.Round(time.Second))
	case !b.messages.take(1, since):
		return fmt.Sprintf("it sent %d messages in %v, more than an agent may", b.messages.spent, since.Round(time.Second))
	case m.Event != nil && !b.events.take(1, since):
		return fmt.Sprintf("it sent %d events in %v, more than an agent may", b.events.spent, since.Round(time.Second))
	}
	if m.Interval != nil && !b.intervals.take(1, since) {
		return fmt.Sprintf("it sent %d intervals in %v, more than an agent may", b.intervals.spent, since.Round(time.Second))
	}
	if m.Chunk != nil && m.Chunk.First {
		if b.fileCount++; b.fileCount > mostFiles {
			return fmt.Sprintf("it sent more than %d files", mostFiles)
		}
	}
	return ""
}

// checkTime returns an error for a run time at which an agent can have measured nothing. elapsed is that of the
// coordinator.
func checkTime(at, elapsed time.Duration) error {
	if at < 0 || at > elapsed+mostAhead {
		return fmt.Errorf("it sent the time %v of a run that began %v ago", at, elapsed.Round(time.Second))
	}
	return nil
}

// checkInterval returns why an interval cannot have been measured until now.
func checkInterval(p *record.PackedInterval, elapsed time.Duration) error {
	if p.End < p.Start {
		return fmt.Errorf("it sent an interval that ends %v before it begins", time.Duration(p.Start-p.End))
	}
	if err := checkTime(time.Duration(p.Start), elapsed); err != nil {
		return err
	}
	if err := checkTime(time.Duration(p.End), elapsed); err != nil {
		return err
	}
	counts := []int64{p.Offered, p.Dropped, int64(p.Workers), int64(p.Samples)}
	for _, c := range p.Classes {
		counts = append(counts, c.Docs, c.Bytes/1000, c.Attempts, c.Retries)
		for _, n := range c.Outcomes {
			counts = append(counts, n)
		}
	}
	for _, f := range p.Failures {
		counts = append(counts, f.Count)
	}
	for _, n := range counts {
		if n < 0 || n > mostCount {
			return fmt.Errorf("it sent an interval with the count %d", n)
		}
	}
	if !(p.InFlight >= 0 && p.InFlight <= mostCount) {
		return fmt.Errorf("it sent an interval with %g operations in flight", p.InFlight)
	}
	return nil
}

// checkEvent returns why an event cannot have been seen until now.
func checkEvent(e *measure.Event, elapsed time.Duration) error {
	return checkTime(max(e.At, 0), elapsed)
}

// tidyResult bounds the numbers of a result.
func tidyResult(r *result) {
	if r.Ceiling = math.Min(r.Ceiling, mostCount); !(r.Ceiling >= 0) {
		r.Ceiling = 0
	}
}

// Expeller is a link that can keep its agent from sending any more.
type Expeller interface {
	// Expel ends the part of the agent, and the agent if that is possible.
	Expel(why string)
}

// expel ends a client that sent what it must not.
func (t *coordinator) expel(m *member, why string) {
	if m.expelled {
		return
	}
	m.expelled, m.why, m.handedOver = true, why, nil
	if l, ok := m.Link.(Expeller); ok {
		l.Expel(why)
		return
	}
	m.Break()
}

// finished reports whether a client has done its part: loaded its records, or ended its load.
func (t *coordinator) finished(m *member) bool {
	if !t.filling.IsZero() {
		return m.filled != nil
	}
	return t.started.IsZero() || m.done != nil
}

// busyAtMost is how many seconds a client may take for its part: a second for each record, and, once more than half of
// the clients have done theirs, not much longer than these. A client that lies about its end shortens no time, unless
// most of them lie.
func (t *coordinator) busyAtMost(m *member) int {
	most := math.MaxInt
	if !t.filling.IsZero() {
		most = idleAtMost + int(min(m.records, math.MaxInt32))
	}
	longest, done, all := 0, 0, 0
	for _, o := range t.members {
		if !t.filling.IsZero() && o.records == 0 || o.gone && !t.finished(o) {
			continue
		}
		all++
		if t.finished(o) && o.status == "" { // not one that failed
			done++
			longest = max(longest, o.busy)
		}
	}
	if done > all/2 {
		most = min(most, idleAtMost+slowAtMost*longest)
	}
	return most
}

// elapsed is the time since the beginning of the load or of the current part of the load phase.
func (t *coordinator) elapsed() time.Duration {
	from := t.started
	if from.IsZero() {
		from = t.filling
	}
	if from.IsZero() {
		return 0
	}
	return time.Since(from.Round(0))
}
