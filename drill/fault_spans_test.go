package drill

import (
	"testing"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Each fault has its own time until the next one. An event is over when it ends, a fault when it is reverted.
func TestSpansOfFaultsAndEvents(t *testing.T) {
	r := &record.DrillRound{WindowStart: 1, WindowEnd: 100, Faults: []record.DrillFault{
		{Injected: 10, Done: 20, Healed: 20, Event: &record.DrillEvent{}},
		{Injected: 30, Done: 31, Healed: 60},
		{Injected: 50, Done: 51},
		{}, // not injected
	}}
	want := []span{{from: 10, over: 20, until: 30}, {from: 30, over: 50, until: 50}, {from: 50, over: 100, until: 100}}
	got := spansOf(r)
	if len(got) != len(want) {
		t.Fatalf("%d spans, want %d", len(got), len(want))
	}
	for i, s := range got {
		if s.from != want[i].from || s.over != want[i].over || s.until != want[i].until {
			t.Errorf("span %d is from %d, over %d, until %d, want %+v", i, s.from, s.over, s.until, want[i])
		}
	}
}

// The p99 of a fault is that of all operations: with more than 1 % that did not succeed, it has no answer.
func TestNoticedPercentilesCountFailures(t *testing.T) {
	h := measure.NewHistogram()
	h.RecordN(1e6, 990)
	for lost, want := range map[int64]int64{0: h.Quantile(0.99), 10: h.Quantile(0.99), 11: record.NoAnswer} {
		if got := p99(&measure.Due{Answered: h, Lost: lost}); got != want {
			t.Errorf("%d operations did not succeed: p99 is %d, want %d", lost, got, want)
		}
	}
	if got := p99(&measure.Due{}); got != 0 {
		t.Errorf("p99 of no operation is %d", got)
	}
	if got := p99(&measure.Due{Lost: 3}); got != record.NoAnswer {
		t.Errorf("p99 without a success is %d", got)
	}
}
