package simulate

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

func always(outage, away time.Duration) func(*rand.Rand) (_, _ time.Duration) {
	return func(*rand.Rand) (time.Duration, time.Duration) { return outage, away }
}

// One failure of three hits the primary. Each such failure is an outage, and the times add up.
func TestFailures(t *testing.T) {
	f := Fleet{Shards: 1000, Members: 3, Time: 24 * time.Hour, Seed: 1,
		Failures: []Failures{{Mean: 3000, Draw: always(10*time.Second, 5*time.Second)}}}
	o := f.Run()
	near(t, "failures", float64(o.Failures), 3000, 0.05)
	near(t, "outages", float64(len(o.Outages)), 1000, 0.1)
	near(t, "down", o.Down.Seconds(), 10*float64(len(o.Outages)), 0.02)
	if again := f.Run(); !reflect.DeepEqual(o, again) {
		t.Error("the same seed gives other failures")
	}
}

// A set that lost its majority has no primary until enough members are back, and then elects one. With failures of rate
// λ for each member that take R, a set of three has two or more of them away for about 3(λR)² of the time.
func TestMajority(t *testing.T) {
	const shards, each, away = 500, 20, time.Hour
	o := Fleet{Shards: shards, Members: 3, Time: 24 * 100 * time.Hour, Seed: 2,
		Failures: []Failures{{Mean: shards * 3 * each, Draw: always(time.Second, away)}}}.Run()
	lost, total := time.Duration(0), time.Duration(0)
	for _, x := range o.Outages {
		if x.Majority {
			lost += x.For
		}
		total += x.For
	}
	u := float64(each) / 2400 // unavailability of a member
	near(t, "without a majority", lost.Seconds()/(shards*2400*3600), 3*u*u*(1-2*u/3), 0.12)
	if total != o.Down {
		t.Errorf("outages of %v, down for %v", total, o.Down)
	}
}

// A single server is away for as long as nothing is acknowledged.
func TestStandalone(t *testing.T) {
	o := Fleet{Shards: 100, Members: 1, Time: time.Hour, Seed: 3,
		Failures: []Failures{{Mean: 50, Draw: always(time.Minute, time.Hour)}}}.Run()
	if near(t, "down", o.Down.Minutes(), float64(o.Failures), 0.05); o.Away != 0 {
		t.Errorf("away for %v with a primary", o.Away)
	}
}

// What does not end is cut off with the time.
func TestEndless(t *testing.T) {
	o := Fleet{Shards: 1, Members: 3, Time: 100 * 365 * 24 * time.Hour, Seed: 4,
		Failures: []Failures{{Mean: 20, Draw: always(math.MaxInt64, math.MaxInt64)}}}.Run()
	if len(o.Outages) != 1 || o.Down <= 0 || o.Down > 100*365*24*time.Hour || o.Down != o.Outages[0].For {
		t.Errorf("%+v", o)
	}
}
