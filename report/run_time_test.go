package report

import (
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/course"
)

// The warm-up ends within a second and some of its operations later: no line falls to zero or jumps for that.
func TestLinesDoNotFallWhereAPhaseEnds(t *testing.T) {
	bin := func(phase string, from, to float64, n int64) course.Bin {
		return course.Bin{Phase: phase, Start: time.Duration(from * 1e9), End: time.Duration(to * 1e9),
			Tally: measure.Tally{Attempted: n, Succeeded: n}, Offered: n, P50: 1e6, P99: 2e6, Max: 3e6}
	}
	s := &runFiles{Run: &record.Run{}, Course: &course.Course{Width: time.Second, Complete: true, Bins: []course.Bin{
		bin("warmup", 0, 1, 1000), bin("warmup", 1, 1.6, 600), bin("warmup-drain", 1.6, 2.6, 2), bin("measure", 1.6, 2.6, 1000),
		bin("warmup-drain", 2.6, 3.6, 1), bin("measure", 2.6, 3.6, 1000), bin("drain", 3.6, 3.61, 4),
	}}}
	line := newTimeline(s)
	for name, rates := range map[string][]float64{"ok": line.rows["ok"], "offered": line.rows["offered"]} {
		if len(rates) != 4 {
			t.Fatalf("%s has %d points, want those of the four bins in which a load was offered", name, len(rates))
		}
		for i, rate := range rates {
			if rate < 999 || rate > 1001 {
				t.Errorf("%s at point %d is %v/s, want 1,000/s", name, i, rate)
			}
		}
	}
	for i := range line.track.T[1:] {
		if line.track.T[i+1] <= line.track.T[i] {
			t.Errorf("two points at one time: %v", line.track.T)
		}
	}
	sec := timeSection(s)
	if !strings.Contains(sec.Lead, "leave out 7 operations that ended after the end of their phase (7 of them ok)") {
		t.Errorf("the lead does not say what was left out: %s", sec.Lead)
	}
}

// A ramp shows how many workers there were, over time and in the table; where there were always as many nothing is
// drawn.
func TestWorkersOfARamp(t *testing.T) {
	bins := func(workers ...int) *timeline {
		s := &runFiles{Run: &record.Run{}, Course: &course.Course{Width: time.Second, Complete: true}}
		for i, n := range workers {
			s.Course.Bins = append(s.Course.Bins, course.Bin{Phase: "measure", Start: time.Duration(i) * time.Second,
				End: time.Duration(i+1) * time.Second, Workers: n})
		}
		return newTimeline(s)
	}
	if f := bins(16, 16, 16).workers(); f != nil {
		t.Error("workers that were always as many are drawn")
	}
	line := bins(3, 16, 50)
	f := line.workers()
	if f == nil || !strings.Contains(svg(f), "from 3 to 50") {
		t.Fatalf("the ramp is not drawn: %+v", f)
	}
	x := line.table()
	if last := len(x.Header) - 1; x.Header[last] != "workers" || x.Rows[1][last] != "16" {
		t.Errorf("the table has no workers: %v, %v", x.Header, x.Rows[1])
	}
}
