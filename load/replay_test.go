package load

import (
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/workload"
)

// recordedTimes are the times of a recording.
type recordedTimes []time.Duration

func (r *recordedTimes) Next() (time.Duration, bool) {
	if len(*r) == 0 {
		return 0, false
	}
	at := (*r)[0]
	*r = (*r)[1:]
	return at, true
}

// TestRecordedArrivals takes the times of a recording as they are, and each process those of its turns.
func TestRecordedArrivals(t *testing.T) {
	cfg := Config{Rate: 1, Times: func() workload.Times { return &recordedTimes{0, 5, 5, 9, 100} }}
	if got := dues(cfg, 6); !slices.Equal(got, []int64{0, 5, 5, 9, 100, never}) {
		t.Errorf("due at %v", got)
	}
	cfg.Turns = workload.Turns{Cycle: 3, Mine: []int{1, 2}}
	if got := dues(cfg, 4); !slices.Equal(got, []int64{5, 5, 100, never}) {
		t.Errorf("due at %v for one of two processes", got)
	}
	if n := newCounter(newArrivals(cfg, never), 6).before(1000); n != [2]int64{2, 1} {
		t.Errorf("%v operations are due", n)
	}
}
