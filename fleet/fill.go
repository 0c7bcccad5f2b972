package fleet

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// fill makes the clients load the records of p, each a range of its share. It returns the sum of their reports. If a
// client is lost, the others load the rest of its range. It is [run.Clients.Fill]. The clients stay for the load.
func (t *coordinator) fill(ctx context.Context, address string, p run.FillRange, sink run.Sink) (
	all load.FillReport, err error) {

	t.address = address
	for parts := []run.FillRange{p}; len(parts) > 0 && t.err == nil && !all.Interrupted; parts = parts[1:] {
		parts = append(parts, t.fillRange(ctx, parts[0], sink, &all)...)
	}
	return all, t.err
}

// fillRange makes the clients load a part of the records, adds to the sum of their reports, and returns what lost
// clients have left.
func (t *coordinator) fillRange(ctx context.Context, p run.FillRange, sink run.Sink, all *load.FillReport) (
	left []run.FillRange) {

	t.begin(sink)
	if t.placeAll(ctx); t.err != nil {
		t.await(ctx, t.alive)
		return nil
	}
	t.filling = time.Now()
	defer func() { t.filling = time.Time{} }()
	t.fail(sink.Begin(t.filling))
	parts := ranges(p.From, p.To, t.turns)
	for i, r := range parts {
		m := t.members[i]
		m.records, m.busy = r[1]-r[0], 0
		if r[0] == r[1] { // more clients than records
			m.filled = &filled{}
			continue
		}
		m.filled, m.idle = nil, 0
		o := t.order(i)
		o.Fill = &run.FillRange{Collection: p.Collection, From: r[0], To: r[1], Resume: p.Resume, Again: p.Again}
		o.Spec.LoadPhase = t.spec.LoadPhase
		o.Spec.LoadPhase.Parallel = max(1, divided(t.spec.LoadPhase.Parallel, t.turns[i]))
		m.command(command{Order: &o})
	}
	t.await(ctx, func() bool {
		return slices.ContainsFunc(t.members, func(m *member) bool { return m.filled == nil && !m.gone })
	})
	var end time.Duration
	for i, m := range t.members {
		if m.filled == nil {
			left = append(left, run.FillRange{Collection: p.Collection, From: parts[i][0], To: parts[i][1], Resume: !p.Again,
				Again: p.Again})
			continue
		}
		r := m.filled.Report
		all.Inserted, all.Present, end = all.Inserted+r.Inserted, all.Present+r.Present, max(end, r.End)
		all.Interrupted, all.Aborted = all.Interrupted || r.Interrupted, all.Aborted || r.Aborted
	}
	if t.err != nil {
		return nil
	}
	all.End += end
	t.fail(sink.Event(measure.Event{At: end, Kind: load.EventEnd}))
	t.withdraw()
	return left
}

// finishFill notes that a client has loaded its records, or why it has not.
func (t *coordinator) finishFill(m *member, f *filled) {
	if (f.Stopped || f.Report.Interrupted) && !t.stopping && !closed(t.opts.Abort) {
		m.why = "it was ended on its machine, by a signal or an eviction"
		return // its link ends next
	}
	m.filled = f
	t.fail(t.merger.end(m.number))
	if err := f.err(); err != nil && !(t.stopping && f.Stopped) {
		t.fail(&run.Error{Stage: f.Stage, Err: fmt.Errorf("%s: %w", name(m.number), err)})
	}
}

// takesOver reports whether the other clients load the rest of the range of a lost one, and notes the loss then. A duty
// was divided among a fixed number of clients.
func (t *coordinator) takesOver(m *member) bool {
	if t.filling.IsZero() || t.fleet.Strict || t.fleet.Duty.Name != "" || t.stopping || !t.alive() {
		return false
	}
	why := fmt.Sprintf("%s was lost in the load phase (%s)", named(m.number, m.facts), m.why)
	t.missed = append(t.missed, why)
	t.fail(t.merger.end(m.number))
	t.fail(t.sink.Event(measure.Event{At: time.Since(t.filling), Kind: EventLost, Text: why,
		Data: map[string]string{"client": strconv.Itoa(m.number)}}))
	return true
}

// withdraw removes lost clients and divides the load among the others, which get new numbers.
func (t *coordinator) withdraw() {
	t.members = slices.DeleteFunc(t.members, func(m *member) bool { return m.gone })
	for i, m := range t.members {
		m.number = i
	}
	if lost := int(t.spec.Load.Clients) - len(t.members); lost > 0 {
		t.spec.Load.Clients = spec.Count(len(t.members))
		t.share()
	}
}

// ranges divides the records [from, to) by the shares of the clients, in their order.
func ranges(from, to int64, turns []workload.Turns) [][2]int64 {
	list := make([][2]int64, len(turns))
	begin, before := from, 0
	for i, t := range turns {
		before += len(t.Mine)
		whole, rest := (to-from)/int64(t.Cycle), (to-from)%int64(t.Cycle)
		end := from + whole*int64(before) + rest*int64(before)/int64(t.Cycle)
		list[i], begin = [2]int64{begin, end}, end
	}
	return list
}

// end ends the clients that are still there.
func (t *coordinator) end() {
	t.each(func(m *member) { m.Close() })
	impatient := time.After(abortAtMost)
	for t.alive() {
		select {
		case r := <-t.reports:
			if r.gone {
				r.member.gone = true
				t.living.remove(r.member.facts.PID)
			}
		case <-impatient:
			t.each(func(m *member) { m.Break() })
		}
	}
}
