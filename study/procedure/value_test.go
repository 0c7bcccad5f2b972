package procedure

import (
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// A percentile that failed operations miss has no value within its limit, and one that slow operations miss has one.
func TestValueOfAMissedPercentile(t *testing.T) {
	list, err := measure.ParseObjectives("p99<10ms")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		time  time.Duration
		due   float64
		known bool
	}{{time.Millisecond, 100, true}, {time.Millisecond, 200, false}, {20 * time.Millisecond, 200, true}} {
		c := counted{objective: list[0], allowed: 0.01, times: measure.NewHistogram()}
		for range 100 {
			c.times.Record(int64(x.time))
		}
		if v := c.value(x.due, x.due-100); (v != nil) != x.known {
			t.Errorf("100 of %v operations in %v: %v", x.due, x.time, v)
		}
	}
}
