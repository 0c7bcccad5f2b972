package loadline

import (
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// The intervals before an event and those of the outage of a failover do not count; all others do.
func TestIntervalsThatDoNotCount(t *testing.T) {
	effect := func(kind string, from, length time.Duration) record.DrillEffect {
		return record.DrillEffect{Kind: kind, Client: -1, OutageFrom: int64(from), Outage: int64(length)}
	}
	short := effect(record.KindReads, 8*time.Second, 900*time.Millisecond)
	for _, x := range []struct {
		name    string
		effects []record.DrillEffect
		left    []int // seconds of the run
		elected time.Duration
	}{
		{"without an outage", nil, []int{2, 3, 4, 5, 6}, 0},
		{"with a short one", []record.DrillEffect{short}, []int{2, 3, 4, 5, 6}, 0},
		{"with a short one after another primary", []record.DrillEffect{short}, []int{2, 3, 4, 5, 6}, 6 * time.Second},
		{"with a short one of a new primary", []record.DrillEffect{short}, []int{2, 3, 4, 5, 6, 8, 9, 10, 11}, 8500 * time.Millisecond},
		{"with a hiccup of a new primary", []record.DrillEffect{effect(record.KindReads, 8*time.Second, 99*time.Millisecond)},
			[]int{2, 3, 4, 5, 6}, 8500 * time.Millisecond},
		{"of writes", []record.DrillEffect{short, effect(record.KindWrites, 7500*time.Millisecond, 2*time.Second)},
			[]int{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 0},
		{"of both", []record.DrillEffect{effect(record.KindReads, 8*time.Second, 3*time.Second),
			effect(record.KindWrites, 9*time.Second, time.Second)}, []int{2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13}, 0},
	} {
		r := record.DrillRound{Effects: x.effects, Faults: []record.DrillFault{{Injected: int64(7 * time.Second)}}}
		if x.elected > 0 {
			r.Moments = []record.DrillMoment{{Kind: record.MomentElected, At: int64(x.elected)}}
		}
		leave, left := leaveOf(&r), map[int]bool{}
		for _, s := range x.left {
			left[s] = true
		}
		for s := 2; s < 27; s++ {
			at := time.Duration(s) * time.Second
			iv := measure.Interval{Phase: "measure", Start: at, End: at + time.Second}
			if leave(&iv) != left[s] {
				t.Errorf("%s: second %d is left out: %v", x.name, s, !left[s])
			}
			if iv.Phase = "drain"; leave(&iv) {
				t.Errorf("%s: operations that ended later are left out", x.name)
			}
		}
	}
}
