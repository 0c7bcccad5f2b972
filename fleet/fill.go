package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// fill makes the clients load the records of p, each a range of its share. It returns the sum of their reports. It is a
// [run.Loaders]. The clients stay for the load.
func (t *team) fill(ctx context.Context, address string, p run.Part, sink run.Sink) (all load.FillReport, err error) {
	t.begin(sink)
	t.address = address
	t.placeAll(ctx)
	if t.err != nil {
		t.await(ctx, t.alive)
		return all, t.err
	}
	for i, r := range ranges(p.From, p.To, t.turns) {
		m := t.members[i]
		if r[0] == r[1] { // more clients than records
			m.filled = &filled{}
			continue
		}
		m.filled = nil
		o := t.order(i)
		o.Fill = &run.Part{From: r[0], To: r[1], Resume: p.Resume, Again: p.Again}
		o.Spec.LoadPhase = t.spec.LoadPhase
		o.Spec.LoadPhase.Parallel = max(1, divided(t.spec.LoadPhase.Parallel, t.turns[i]))
		m.command(command{Order: &o})
	}
	t.await(ctx, func() bool {
		return slices.ContainsFunc(t.members, func(m *member) bool { return m.filled == nil && !m.gone })
	})
	for _, m := range t.members {
		if m.filled == nil {
			continue
		}
		r := m.filled.Report
		all.Inserted, all.Present, all.End = all.Inserted+r.Inserted, all.Present+r.Present, max(all.End, r.End)
		all.Interrupted, all.Aborted = all.Interrupted || r.Interrupted, all.Aborted || r.Aborted
	}
	if t.err == nil {
		t.fail(sink.Event(measure.Event{At: all.End, Kind: load.EventEnd}))
	}
	return all, t.err
}

// finishFill notes that a client has loaded its records, or why it has not.
func (t *team) finishFill(m *member, f *filled) {
	m.filled = f
	t.fail(t.merger.end(m.number))
	if err := f.err(); err != nil && !(t.stopping && f.Stopped) {
		t.fail(&run.Error{Stage: f.Stage, Err: fmt.Errorf("%s: %w", name(m.number), err)})
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
func (t *team) end() {
	t.each(func(m *member) { m.Close() })
	impatient := time.After(abortAtMost)
	for t.alive() {
		select {
		case r := <-t.reports:
			if m := t.members[r.client]; r.gone {
				m.gone = true
				t.living.remove(m.facts.PID)
			}
		case <-impatient:
			t.each(func(m *member) { m.Break() })
		}
	}
}
