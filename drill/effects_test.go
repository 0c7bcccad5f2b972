package drill

import (
	"context"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/null"
	"github.com/plimsoll-bench/plimsoll/store/wire"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// nothing takes what a load reports.
type nothing struct{}

func (nothing) Interval(*measure.Interval) error { return nil }
func (nothing) Event(measure.Event) error        { return nil }

// made is a course with one success every step, but none in [from, to).
func made(until, step, from, to time.Duration) course {
	w := newWatcher(oneClass)
	s := w.worker()
	op := &workload.Op{Requests: []workload.Request{{Verb: workload.Insert}}}
	for at := time.Duration(0); at < until; at += step {
		o := store.OK
		if at >= from && at < to {
			o = store.NotApplied
		}
		s.add(op, &load.Settlement{Outcome: o, Ended: int64(at)}, false)
	}
	return byClass(w.courses(true))[0]
}

var oneClass = []workload.Class{{Name: "insert"}}

func TestEffectOfAKnownOutage(t *testing.T) {
	c := made(30*time.Second, time.Millisecond, 10*time.Second, 12500*time.Millisecond)
	half := effectOf(c, window{from: int64(time.Second), fault: int64(9 * time.Second), done: int64(10 * time.Second),
		healed: int64(15 * time.Second), until: int64(30 * time.Second)})
	if half.During < 499 || half.During > 501 {
		t.Errorf("while it was broken, half of 1000 per second were left, and not %v", half.During)
	}
	e := effectOf(c, window{from: int64(time.Second), fault: int64(10 * time.Second), until: int64(30 * time.Second)})
	if e.Outage != int64(2501*time.Millisecond) || e.OutageFrom != int64(9999*time.Millisecond) {
		t.Errorf("the outage of 2.5 s is %v from %v", time.Duration(e.Outage), time.Duration(e.OutageFrom))
	}
	if e.Before < 999 || e.Before > 1001 || e.Failed != 2500 {
		t.Errorf("before %v, failed %d", e.Before, e.Failed)
	}
	if e.Recovery != int64(2500*time.Millisecond) {
		t.Errorf("recovered after %v", time.Duration(e.Recovery))
	}
	if e.Missing < 2490 || e.Missing > 2510 {
		t.Errorf("%v are missing", e.Missing)
	}
}

// A primary of a moment does not end an outage. Two outages are two, and single successes of a slow load end theirs.
func TestOutageWithAMomentOfSuccesses(t *testing.T) {
	for _, is := range []struct {
		first, moment, second, want time.Duration
		step                        time.Duration
		stops                       int // on the timeline
	}{
		{4 * time.Second, 300 * time.Millisecond, 4 * time.Second, 8300 * time.Millisecond, time.Millisecond, 1},
		{4 * time.Second, 500 * time.Millisecond, 4 * time.Second, 4 * time.Second, time.Millisecond, 2},
		{12 * time.Second, 1500 * time.Millisecond, 12 * time.Second, 12 * time.Second, time.Millisecond, 2},
		{800 * time.Millisecond, 10 * time.Millisecond, 800 * time.Millisecond, 800 * time.Millisecond, time.Millisecond, 1},
		{4 * time.Second, 300 * time.Millisecond, time.Second, 4 * time.Second, time.Millisecond, 2},
		{1500 * time.Millisecond, time.Second / 2, 1500 * time.Millisecond, 2 * time.Second, time.Second / 2, 1},
	} {
		back := 10*time.Second + is.first + is.moment
		all := course{slices: sum(made(back, is.step, 10*time.Second, 10*time.Second+is.first),
			later(made(30*time.Second, is.step, 0, is.second), back))}
		w := window{fault: int64(10 * time.Second), until: int64(back + 30*time.Second)}
		e := effectOf(all, w)
		if got := time.Duration(e.Outage); (got - is.want).Abs() > 2*is.step {
			t.Errorf("%v without success, %v with, %v without: an outage of %v", is.first, is.moment, is.second, got)
		}
		if n := len(stops(all, w, e)); n != is.stops {
			t.Errorf("%v without success, %v with, %v without: %d stops on the timeline", is.first, is.moment, is.second, n)
		}
	}
}

func TestEffectThatDoesNotEnd(t *testing.T) {
	c := made(20*time.Second, time.Millisecond, 10*time.Second, time.Hour)
	e := effectOf(c, window{from: 0, fault: int64(10 * time.Second), until: int64(20 * time.Second)})
	if e.Outage != -1 || e.Recovery != -1 || e.OutageFrom != int64(9999*time.Millisecond) {
		t.Errorf("the effect is %+v", e)
	}
}

func TestNoEffect(t *testing.T) {
	c := made(20*time.Second, time.Millisecond, 0, 0)
	e := effectOf(c, window{from: 0, fault: int64(10 * time.Second), until: int64(20 * time.Second)})
	if e.Outage != int64(time.Millisecond) || e.Recovery != 0 || e.Failed != 0 || e.Missing > 2 {
		t.Errorf("the effect of nothing is %+v", e)
	}
}

// In a ramp the throughput before is that right before the fault, and half of it is not all of it.
func TestEffectInARamp(t *testing.T) {
	slow, fast, after := made(10*time.Second, 10*time.Millisecond, 0, 0), made(10*time.Second, time.Millisecond, 0, 0),
		made(20*time.Second, 1600*time.Microsecond, 0, time.Second)
	all := course{slices: sum(slow, later(fast, 10*time.Second), later(after, 20*time.Second))}
	w := window{fault: int64(20 * time.Second), until: int64(40 * time.Second)}
	if e := effectOf(all, w); e.Before > 600 || e.Recovery < 0 {
		t.Errorf("against the mean of all of it: %+v", e)
	}
	w.baseline = w.fault - baselineLength
	if e := effectOf(all, w); e.Before < 999 || e.Before > 1001 || e.Recovery != -1 {
		t.Errorf("against what it was when the fault came: %+v", e)
	}
}

// Operations that are given up because somebody ends the drill at once did not fail.
func TestOperationsOfADrillThatIsAborted(t *testing.T) {
	w := newWatcher(oneClass)
	s := w.worker()
	op := &workload.Op{Requests: []workload.Request{{Verb: workload.Insert}}}
	s.add(op, &load.Settlement{Outcome: store.OK, Ended: 1}, false)
	s.add(op, &load.Settlement{Outcome: store.Indeterminate, Reason: store.Client, Abandoned: true, Ended: 2}, false)
	s.add(op, &load.Settlement{Outcome: store.Indeterminate, Reason: store.Timeout, Abandoned: true, Ended: 3}, false)
	if got := byClass(w.courses(true))[0].slices[0]; got.ok != 1 || got.failed != 1 {
		t.Errorf("%d succeeded and %d failed, want 1 and 1", got.ok, got.failed)
	}
}

// While all operations wait for replies, nobody looks for the server, so that time is stated beside the outage. An
// operation that failed in another way before, or one that was answered late, leaves no doubt.
func TestOutageOfConnectionsThatHang(t *testing.T) {
	type end struct {
		at      time.Duration
		outcome store.Outcome
		why     store.Reason
	}
	ok := func(at time.Duration) end { return end{at: at, outcome: store.OK} }
	timeout := func(at time.Duration) end { return end{at, store.Indeterminate, store.Timeout} }
	reset := func(at time.Duration) end { return end{at, store.Indeterminate, store.Network} }
	const s, ms = time.Second, time.Millisecond
	for name, c := range map[string]struct {
		ends         []end
		outage, hung time.Duration
	}{
		"found at the first look":       {[]end{ok(10 * s), timeout(12 * s), timeout(12*s + 20*ms), ok(12*s + 90*ms)}, 2090 * ms, 2 * s},
		"not found for long":            {[]end{ok(10 * s), timeout(12 * s), timeout(14 * s), ok(20 * s)}, 10 * s, 2 * s},
		"reset at once":                 {[]end{ok(10 * s), reset(10*s + 20*ms), timeout(12 * s), ok(12*s + 90*ms)}, 2090 * ms, 0},
		"answered late":                 {[]end{ok(10 * s), ok(12 * s), timeout(12*s + ms)}, 2 * s, 0},
		"a failure before":              {[]end{reset(9 * s), ok(10 * s), timeout(12 * s), ok(12*s + 90*ms)}, 2090 * ms, 2 * s},
		"a failure in the slice before": {[]end{reset(10*s - ms), ok(10 * s), timeout(12 * s), ok(13 * s)}, 3 * s, 2 * s},
	} {
		w := newWatcher(oneClass)
		stream := w.worker()
		op := &workload.Op{Requests: []workload.Request{{Verb: workload.Insert}}}
		until := time.Duration(0)
		for _, e := range append([]end{ok(9900 * ms)}, c.ends...) {
			if e.outcome == store.OK {
				until = e.at
			}
			stream.add(op, &load.Settlement{Outcome: e.outcome, Reason: e.why, Ended: int64(e.at)}, false)
		}
		e := effectOf(byClass(w.courses(true))[0], window{from: 1, fault: int64(10 * s), until: int64(until)})
		if e.Outage != int64(c.outage) || e.Hung != int64(c.hung) {
			t.Errorf("%s: outage %v, hung %v; want %v and %v", name, time.Duration(e.Outage), time.Duration(e.Hung), c.outage, c.hung)
		}
	}
}

// later is a course that began later.
func later(c course, by time.Duration) course {
	moved := course{class: c.class, writes: c.writes}
	for _, s := range c.slices {
		s.number += int64(by) / sliceLength
		if s.ok > 0 {
			s.okFirst, s.okLast = s.okFirst+int64(by), s.okLast+int64(by)
		}
		moved.slices = append(moved.slices, s)
	}
	return moved
}

// The truth is the responder's: it refuses for exactly known times, measured by itself.
func TestOutageIsMeasuredToTenMilliseconds(t *testing.T) {
	for attempt := 1; ; attempt++ {
		off, ok := outageError(t)
		if ok && off <= 10*time.Millisecond {
			return
		}
		t.Logf("attempt %d: off by %v", attempt, off)
		if attempt == 20 { // a machine that is so busy that it stands still does not make the measurement wrong
			t.Fatalf("the outage is never measured to within 10 ms of the responder's own truth")
		}
	}
}

// outageError loads a responder that refuses for a while, and returns how far the measured outage is from when the
// responder itself last answered before and first answered after.
func outageError(t *testing.T) (time.Duration, bool) {
	t.Helper()
	began := time.Now()
	const from, to = 1500 * time.Millisecond, 2300 * time.Millisecond
	var last, first time.Time
	answered := make(chan time.Time, 1<<16)
	r, err := null.Listen(null.Options{Fail: func(uint64, string) *null.Failure {
		at := time.Now()
		if since := at.Sub(began); since >= from && since < to {
			return &null.Failure{Code: 10107, Name: "NotWritablePrimary", Message: "not primary"}
		}
		answered <- at
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	l := ledger.New(ledger.Options{Run: 1, Seed: 1, Writers: 8})
	own, err := l.Workload(ledger.Params{})
	if err != nil {
		t.Fatal(err)
	}
	w := newWatcher(own.Classes())
	st, err := wire.Open(context.Background(), store.Config{Target: r.URI(), Database: "d", Sessions: 8,
		Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	observe := func(int) load.Observer {
		watched := w.worker()
		return func(op *workload.Op, s *load.Settlement) { watched.add(op, s, false) }
	}
	report, err := load.Run(t.Context(), load.Config{Workers: 8, Rate: 500, Duration: 4 * time.Second,
		Timeout: time.Second, Observe: observe}, own, st, nothing{})
	if err != nil {
		t.Fatal(err)
	}
	close(answered)
	for at := range answered {
		if since := at.Sub(began); since < from && at.After(last) {
			last = at
		} else if since >= to && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	fault := began.Add(from).Sub(report.Started)
	e := effectOf(byClass(w.courses(true))[0], window{fault: int64(fault), until: int64(report.Until)})
	if e.Outage < 0 || last.IsZero() || first.IsZero() {
		return 0, false
	}
	return (time.Duration(e.Outage) - first.Sub(last)).Abs(), true
}

// What waited while something was slow comes in a rush when it is over, and does not count for the time before: the
// throughput is back when it is no longer slow.
func TestRecoveryIsNotBeforeTheRush(t *testing.T) {
	w := newWatcher(oneClass)
	s := w.worker()
	op := &workload.Op{Requests: []workload.Request{{Verb: workload.Insert}}}
	ends := func(from, until, step time.Duration) {
		for at := from; at < until; at += step {
			s.add(op, &load.Settlement{Outcome: store.OK, Ended: int64(at)}, false)
		}
	}
	const fault, healed, until = 10 * time.Second, 20 * time.Second, 40 * time.Second
	ends(0, fault, 2*time.Millisecond)
	ends(fault, healed, 14*time.Millisecond)
	ends(healed, healed+2*time.Second, 400*time.Microsecond)
	ends(healed+2*time.Second, until, 2*time.Millisecond)
	e := effectOf(byClass(w.courses(true))[0], window{from: int64(time.Second), fault: int64(fault), until: int64(until)})
	if off := time.Duration(e.Recovery) - (healed - fault); off.Abs() > 250*time.Millisecond {
		t.Errorf("it was slow for 10 s, and the throughput is said to be back after %v", time.Duration(e.Recovery))
	}
}
