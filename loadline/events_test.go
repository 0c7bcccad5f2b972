package loadline_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/loadline"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

// share is how much of its capacity the simulated deployment has while an event lasts.
const share = 0.8

const (
	second   = int64(time.Second)
	injected = 7 * second // after the warm-up
)

// breakable is a simulated deployment in virtual time whose drills are simulated too.
type breakable struct {
	*bench
	drills int
	begins func(n int, dir string) error // when the n-th drill begins; nil for nothing
	// changes changes the result of a drill at a rate; nil for none.
	changes func(rate float64, d *record.Drill)
	longer  time.Duration // than the load of a drill lasts, until the event has ended
	struck  bool
}

func newBreakable() *breakable {
	b := &breakable{}
	g := queueing
	g.Effects = []simulatedtest.Effect{{When: func(spec.Run) bool { return b.struck }, Factor: share}}
	b.bench = &bench{runner: simulatedtest.New(g, 3)}
	b.runner.Write = true
	return b
}

func (b *breakable) options(dir string) loadline.Options {
	o := b.bench.options(dir)
	o.Drill = b.drill
	return o
}

// drill makes a drill up: its run is simulated with what the event takes away.
func (b *breakable) drill(ctx context.Context, asked spec.Drill, dir string) (*record.Drill, error) {
	b.drills++
	w, err := record.CreateDrill(dir, asked)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	d := &record.Drill{Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindDrill,
		Status: record.Running, Started: b.runner.Clock().Now()}, Specification: asked, Verdict: record.Unknown}
	if err := w.Write(d); err != nil {
		return nil, err
	}
	if b.begins != nil {
		if err := b.begins(b.drills, dir); err != nil {
			return d, err
		}
	}
	b.struck = true
	r, err := b.runner.Trial(ctx, study.Request{Spec: asked.Run, Dir: filepath.Join(dir, record.RoundsDir, "1")})
	b.struck = false
	if err == nil {
		err = b.runner.Clock().Sleep(ctx, b.longer)
	}
	if err != nil {
		return d, err
	}
	d.Status, d.Verdict = record.Complete, record.Holds
	d.Rounds = []record.DrillRound{{Number: 1, Record: record.RoundsDir + "/1", Status: record.Complete,
		Verdict: record.Holds, WindowStart: 2 * second, WindowEnd: r.Run.Course.WindowEnd,
		Faults:  []record.DrillFault{{Fault: asked.Faults[0].Action, Target: "rs0-2", Injected: injected, Hit: true}},
		Moments: []record.DrillMoment{{Kind: record.MomentFault, At: injected}, redundantAfter(14 * second)},
		Effects: []record.DrillEffect{{Kind: record.KindWrites, Client: -1, Outage: second / 5, OutageFrom: injected}},
		Ledger:  &record.LedgerResult{Acknowledged: 1000, Inserts: map[string]int64{record.WriteOK: 1000}}}}
	if b.changes != nil {
		b.changes(float64(asked.Run.Load.Rate), d)
	}
	return d, w.Write(d)
}

func redundantAfter(ns int64) record.DrillMoment {
	return record.DrillMoment{Kind: record.MomentRedundant, At: injected + ns}
}

func askedWhile(t *testing.T, events ...string) spec.Capacity {
	t.Helper()
	c := spec.Capacity{Run: spec.Run{Target: "null:"}, Objectives: []string{"p99<10ms"}, YesBreakIt: true}
	for _, e := range events {
		c.While = append(c.While, spec.ParseAction(e))
	}
	if err := c.Complete(); err != nil {
		t.Fatal(err)
	}
	return c
}

// truth is the capacity while the event lasts.
func truth() float64 {
	g := queueing
	g.Service = time.Millisecond * 10 / 8
	return g.Capacity(0.99, 10*time.Millisecond)
}

func checkEventLine(t *testing.T, c *record.Capacity, err error) {
	t.Helper()
	if err != nil || len(c.Lines) != 2 {
		t.Fatalf("%+v, %v", c, err)
	}
	l, want := c.Lines[1], truth()
	if l.Status != record.LineFound || l.Low == nil || l.High == nil || *l.Low > want*1.02 || *l.High < want*0.98 ||
		math.Abs(l.Rate/want-1) > 0.1 {
		t.Errorf("%s, %v (truth %.0f): %s %s", l.Status, l.Rate, want, l.Reason, l.Problem)
	}
	if c.Safe != "kill:secondary" || c.Conclude() != record.Satisfied {
		t.Errorf("safe %q, %s", c.Safe, c.Conclude())
	}
	e := l.Event
	if e == nil || e.Drills == 0 || e.Acknowledged != int64(e.Drills)*1000 || e.Lost != 0 || e.Outage != second/5 ||
		e.Recovery == nil || *e.Recovery != 14*second || e.Problem != "" {
		t.Errorf("%+v", e)
	}
	for _, s := range l.Steps {
		if s.Event == nil || s.Value == nil || s.Verdict == "" {
			t.Errorf("step %d: %+v", s.Number, s)
		}
	}
}

// A line while an event lasts is what the deployment carries then, and not before the event.
func TestLineWhileAnEventLasts(t *testing.T) {
	dir, b := filepath.Join(t.TempDir(), "capacity"), newBreakable()
	c, err := loadline.Run(t.Context(), askedWhile(t, "kill:secondary"), b.options(dir))
	checkEventLine(t, c, err)
	if within := 15 * time.Minute; c.Seconds > within.Seconds() {
		t.Errorf("it took %.0f s of %v", c.Seconds, within)
	}
	again, err := record.OpenCapacity(dir)
	checkEventLine(t, again, err)
}

// Objectives of the mean, the maximum or of no errors at all are judged without the outage, too.
func TestEventWithObjectivesOfTheWhole(t *testing.T) {
	for _, objective := range []string{"mean<50ms", "max<20ms", "errors<=0%"} {
		given := askedWhile(t, "kill:secondary")
		given.Objectives = append(given.Objectives, objective)
		c, err := loadline.Run(t.Context(), given, newBreakable().options(filepath.Join(t.TempDir(), "capacity")))
		if l := c.Lines[1]; err != nil || l.Status != record.LineFound || l.Rate >= c.Lines[0].Rate {
			t.Errorf("%s: %v, %s, %v: %q", objective, err, l.Status, l.Rate, l.Reason)
		}
	}
}

// atFirstDrill is a search that was interrupted when its first drill began, so that only the first line has ended.
func atFirstDrill(t *testing.T, given spec.Capacity) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "capacity")
	ctx, cancel := context.WithCancel(t.Context())
	b := newBreakable()
	b.begins = func(int, string) error { cancel(); return context.Canceled }
	c, err := loadline.Run(ctx, given, b.options(dir))
	if err == nil || c.Status != record.Interrupted || c.Lines[0].Status != record.LineFound {
		t.Fatalf("%v, %+v", err, c)
	}
	return dir
}

// resumeAt continues a copy of a search.
func (b *breakable) resumeAt(t *testing.T, from string, given spec.Capacity) *record.Capacity {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "capacity")
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	c, err := loadline.Resume(t.Context(), &given, b.options(dir))
	if err != nil || b.runs > 0 {
		t.Fatalf("%v, %d runs: %+v", err, b.runs, c)
	}
	return c
}

// What an event does to writes and redundancy bounds its line, whatever the latencies are.
func TestEventThatMisses(t *testing.T) {
	lose := func(r *record.DrillRound) {
		r.Verdict, r.Reasons = record.Violated, []string{"5 acknowledged writes lost"}
		r.Ledger.Inserts[record.WriteLost] = 5
	}
	given := askedWhile(t, "kill:secondary")
	first := atFirstDrill(t, given)
	for name, x := range map[string]struct {
		does   func(*record.DrillRound)
		status record.LineStatus
		limit  string
		says   string
	}{
		"lost writes": {lose, record.LineNone, record.LimitWrites, "acknowledged writes were lost that had to survive"},
		"lost writes that may be lost": {func(r *record.DrillRound) {
			lose(r)
			r.Verdict, r.Expect.Loss = record.Holds, spec.LossAny
		}, record.LineFound, record.LimitObjective, "p99<10ms is missed"},
		"corrupt writes": {func(r *record.DrillRound) {
			r.Verdict, r.Reasons = record.Violated, []string{"3 writes corrupt"}
		}, record.LineNone, record.LimitWrites, "3 writes corrupt"},
		"redundancy that does not return": {func(r *record.DrillRound) {
			r.Moments = r.Moments[:1]
			r.Problem = "redundancy was not restored within 2m after the load: rs0-2 is down"
		}, record.LineNone, record.LimitRecovery, "rs0-2 is down"},
		"redundancy that returns late": {func(r *record.DrillRound) {
			r.Moments[1] = redundantAfter(200 * second)
		}, record.LineNone, record.LimitRecovery, "redundancy did not return within 2m"},
		"redundancy that nothing took away": {func(r *record.DrillRound) {
			r.Moments = r.Moments[:1]
		}, record.LineFound, record.LimitObjective, "p99<10ms is missed"},
		"an outage that does not end": {func(r *record.DrillRound) {
			r.Effects[0].Outage = -1
		}, record.LineNone, record.LimitRecovery, "the outage did not end"},
		"an outage until the event is reverted": {func(r *record.DrillRound) {
			r.Effects[0].OutageFrom, r.Effects[0].Outage, r.Faults[0].Healed = injected, 12*second, injected+12*second
		}, record.LineNone, record.LimitRecovery, "succeeded until the event was reverted"},
		"an outage that ends before": {func(r *record.DrillRound) {
			r.Effects[0].OutageFrom, r.Effects[0].Outage, r.Faults[0].Healed = injected, 9*second, injected+12*second
		}, record.LineFound, record.LimitObjective, "p99<10ms is missed"},
		"an event that fails": {func(r *record.DrillRound) {
			r.Faults[0].Event, r.Faults[0].Problem = &record.DrillEvent{Outcome: record.EventFailed}, "it did not end in time"
		}, record.LineNone, record.LimitRecovery, "the event failed: it did not end in time"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBreakable()
			b.changes = func(_ float64, d *record.Drill) { x.does(&d.Rounds[0]) }
			l := b.resumeAt(t, first, given).Lines[1]
			if l.Status != x.status || l.Limit != x.limit || !strings.Contains(l.Reason, x.says) ||
				l.Has() != (x.status == record.LineFound) {
				t.Errorf("%s, %v, %s: %q", l.Status, l.Rate, l.Limit, l.Reason)
			}
		})
	}
	checkLossAboveARate(t, first, given)
}

// checkLossAboveARate: a deployment that loses writes above a rate carries that rate.
func checkLossAboveARate(t *testing.T, first string, given spec.Capacity) {
	b, most := newBreakable(), 0.7*truth()
	b.changes = func(rate float64, d *record.Drill) {
		if r := &d.Rounds[0]; rate > most {
			r.Verdict, r.Ledger.Inserts[record.WriteLost] = record.Violated, 5
		}
	}
	uncertain := func(doubt string) bool { return strings.HasPrefix(doubt, "the outcome of the event is not certain: ") }
	if l := b.resumeAt(t, first, given).Lines[1]; l.Status != record.LineFound || l.Limit != record.LimitWrites ||
		math.Abs(l.Rate/most-1) > 0.15 || l.Event == nil || l.Event.Lost != 0 || slices.ContainsFunc(l.Doubts, uncertain) {
		t.Errorf("%s, %v (truth %.0f), %s, %+v", l.Status, l.Rate, most, l.Limit, l.Event)
	}
	b = newBreakable()
	b.changes = func(_ float64, d *record.Drill) {
		d.Verdict, d.Reasons = record.Unknown, []string{"only 8 checked writes acknowledged"}
	}
	l := b.resumeAt(t, first, given).Lines[1]
	if l.Status != record.LineFound || !slices.ContainsFunc(l.Doubts, uncertain) {
		t.Errorf("%s: losses that cannot be seen: %q", l.Status, l.Doubts)
	}
}

// An event that is refused, unknown or does not take place leaves a line without a result, and the others have one.
func TestEventThatDoesNotTakePlace(t *testing.T) {
	b := newBreakable()
	b.changes = func(_ float64, d *record.Drill) {
		if f := &d.Rounds[0].Faults[0]; f.Fault.Name == "cut" {
			f.Injected, f.Hit, f.Problem = 0, false, "exit code 1"
		}
	}
	o := b.options(filepath.Join(t.TempDir(), "capacity"))
	o.Drill = func(ctx context.Context, asked spec.Drill, dir string) (*record.Drill, error) {
		if asked.Faults[0].Action.Name == "backup" {
			return nil, errors.New("it has no backup")
		}
		return b.drill(ctx, asked, dir)
	}
	given := askedWhile(t, "backup", "meteor:primary", "cut:primary", "kill:secondary")
	given.Must = []string{spec.AllMembersUp, "kill:secondary"}
	c, err := loadline.Run(t.Context(), given, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"", "it has no backup", "there is no event meteor", "the event did not take place: exit code 1", ""} {
		l := &c.Lines[i]
		if want == "" && l.Status != record.LineFound ||
			want != "" && (l.Status != record.LineFailed || !strings.Contains(l.Problem, want) || l.Has()) {
			t.Errorf("%s: %s, %v, %q", l.Name, l.Status, l.Rate, l.Problem)
		}
	}
	if c.Conclude() != record.Satisfied || c.Safe != "kill:secondary" {
		t.Errorf("%s, safe %q, with both lines that count (must)", c.Conclude(), c.Safe)
	}
	for i := range c.Lines {
		c.Lines[i].Counts = true
	}
	if c.FindSafe(); c.Conclude() == record.Satisfied || c.Safe != "" {
		t.Errorf("%s, safe %q, without three lines that count", c.Conclude(), c.Safe)
	}
	o = b.options(filepath.Join(t.TempDir(), "capacity"))
	o.Drill = nil
	if c, err = loadline.Run(t.Context(), askedWhile(t, "kill:secondary"), o); err != nil || c.Lines[1].Status != record.LineSkipped {
		t.Errorf("%v, %+v", err, c.Lines[1])
	}
}

// A search that was interrupted or killed in the middle of a drill continues without repeating one that had ended.
func TestSearchContinuesAfterADrill(t *testing.T) {
	const third = 3
	for name, kill := range map[string]bool{"interrupted": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			dir, b := filepath.Join(t.TempDir(), "capacity"), newBreakable()
			left := dir
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			b.begins = func(n int, _ string) error {
				switch {
				case n != third:
				case kill:
					left = filepath.Join(t.TempDir(), "killed")
					return os.CopyFS(left, os.DirFS(dir))
				default:
					cancel()
					return context.Canceled
				}
				return nil
			}
			given := askedWhile(t, "kill:secondary")
			c, err := loadline.Run(ctx, given, b.options(dir))
			if (err == nil) != kill {
				t.Fatalf("%v, %+v", err, c)
			}
			if c, err = record.OpenCapacity(left); err != nil || c.Status != record.Interrupted && c.Status != record.Killed ||
				c.Lines[0].Status != record.LineFound || c.Lines[1].Has() && c.Lines[1].Status == record.LineFound {
				t.Fatalf("%v, %+v", err, c)
			}
			again := newBreakable()
			c, err = loadline.Resume(t.Context(), &given, again.options(left))
			checkEventLine(t, c, err)
			if want := len(c.Lines[1].Steps) - (third - 1); again.drills != want || again.runs != 0 {
				t.Errorf("%d drills and %d runs for %d steps, of which %d were finished", again.drills, again.runs,
					len(c.Lines[1].Steps), third-1)
			}
		})
	}
}

// A line with an event is not searched above the highest rate that the user allows.
func TestHighestRateOfAnEvent(t *testing.T) {
	c := askedWhile(t, "kill:secondary")
	c.Search.To = spec.Rate(truth() / 2)
	got, err := loadline.Run(t.Context(), c, newBreakable().options(filepath.Join(t.TempDir(), "capacity")))
	if err != nil || len(got.Lines) != 2 {
		t.Fatalf("%v, %+v", err, got)
	}
	l := got.Lines[1]
	for _, s := range l.Steps {
		if s.Offered > float64(c.Search.To)*1.001 { // rates are rounded
			t.Errorf("step %d offers %v/s, and %v/s is allowed", s.Number, s.Offered, c.Search.To)
		}
	}
	if l.Status != record.LineAtLeast || l.Limit != record.LimitHighest || strings.Contains(l.Reason, "--to") {
		t.Errorf("%s, %s: %s", l.Status, l.Limit, l.Reason)
	}
}

// If an event takes long, a line without enough time says how long, and with the time that it names it has a rate.
func TestEventThatTakesLong(t *testing.T) {
	search := func(within time.Duration) *record.LoadLine {
		given := askedWhile(t, "kill:secondary")
		given.Within = spec.Duration(within)
		b := newBreakable()
		b.longer = 100 * time.Second
		c, err := loadline.Run(t.Context(), given, b.options(filepath.Join(t.TempDir(), "capacity")))
		if err != nil || c.Seconds > within.Seconds()+150 {
			t.Fatalf("%v, %+v", err, c)
		}
		return &c.Lines[1]
	}
	l := search(7 * time.Minute)
	why := l.Problem
	if l.Has() {
		why = strings.Join(l.Doubts, "\n")
	}
	said := regexp.MustCompile(`a drill takes 2m9s, and the time was enough for \d; use --within (\w+),`).FindStringSubmatch(why)
	if l.Status != record.LineUndecided || said == nil {
		t.Fatalf("%s, %v/s: %q, %q", l.Status, l.Rate, l.Problem, l.Doubts)
	}
	enough, err := time.ParseDuration(said[1])
	if err != nil {
		t.Fatal(err)
	}
	if l = search(enough); l.Status != record.LineFound || math.Abs(l.Rate/truth()-1) > 0.15 {
		t.Errorf("with %v: %s, %v/s (truth %.0f): %q, %q", enough, l.Status, l.Rate, truth(), l.Problem, l.Doubts)
	}
}
