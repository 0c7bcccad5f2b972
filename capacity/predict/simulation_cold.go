package predict

import (
	"errors"
	"math"
	"sort"
	"time"

	"github.com/plimsoll-bench/plimsoll/capacity"
	"github.com/plimsoll-bench/plimsoll/capacity/simulate"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// cold is a shard whose cache does not have all of its pages.
type cold struct {
	filling *capacity.Filling
	steady  float64   // misses of a cache that has been used for long
	misses  []float64 // from those to the ones of an empty cache
	rates   []float64 // operations per second that the shard does with them at most
	offered float64   // 0: a closed load
	writes  float64   // share of the operations
	rate    float64   // with a cache that has been used for long
}

// coldShard simulates a shard with several shares of misses, after the gate of its load.
func (m *deploymentModel) coldShard(s setup, cache float64, records float64) (*cold, error) {
	w := m.base.Run.Specification.Workload
	keys, err := capacity.KeysOf(w)
	if err != nil {
		return nil, err
	}
	f, err := keys.Sized(records).Filling(capacity.WiredTiger(cache))
	if err != nil {
		return nil, err
	}
	x := &cold{filling: f, steady: f.Misses(math.Inf(1)), offered: s.rate, writes: m.out.Writes}
	s.rate = 0
	const points = 4
	for i := range points {
		s.misses = x.steady + (f.Misses(0)-x.steady)*float64(i)/(points-1)
		o, err := m.simulate(s)
		if err != nil {
			return nil, err
		}
		x.misses, x.rates = append(x.misses, s.misses), append(x.rates, o.rate)
	}
	if x.rate = x.rates[0]; x.offered > 0 {
		x.rate = x.offered
	}
	return x, nil
}

// most is the rate that the shard can do with so many misses: the time of an operation is on a straight line between
// the simulated ones.
func (x *cold) most(misses float64) float64 {
	i := min(max(1, sort.SearchFloat64s(x.misses, misses)), len(x.misses)-1)
	a, b := 1/x.rates[i-1], 1/x.rates[i]
	share := min(1, max(0, (misses-x.misses[i-1])/(x.misses[i]-x.misses[i-1])))
	return 1 / (a + share*(b-a))
}

// nearly is the part of the rate from which a shard is no longer slow.
const nearly = 0.95

// after is how long a shard is slow whose cache has the pages of so many requests, and how many operations it does not
// do in that time (closed load) or that wait (open load). Requests are followed in steps in which the misses change
// little.
func (x *cold) after(requests float64) (slow time.Duration, operations float64) {
	seconds, waiting, t := 0.0, 0.0, requests
	for seconds < maxSlow {
		most := x.most(x.filling.Misses(t))
		if x.offered == 0 {
			if most >= nearly*x.rate {
				break
			}
			step := max(1, t/25)
			seconds += step / most
			operations += step/most*x.rate - step
			t += step
			continue
		}
		if waiting <= 0 && most >= x.offered {
			break
		}
		step := max(1, t/25) // that are performed
		took := step / most
		due := took * x.offered
		operations += due
		waiting += due - step
		seconds += took
		t += step
	}
	return time.Duration(seconds * float64(time.Second)), operations
}

// maxSlow is a time after which a slow shard is not followed: it does not carry its load with its cache.
const maxSlow = 7 * 24 * 3600.0

// coldOutages adds up what caches cost after outages. A member that was never away has in its cache the pages that
// writes touched; one that was away, those that writes touched since.
func (x *cold) coldOutages(outages []simulate.Outage) *record.SimulationCold {
	type cost struct {
		slow       time.Duration
		operations float64
	}
	known := map[float64]cost{}
	out := &record.SimulationCold{Waiting: x.offered > 0}
	for _, a := range outages {
		requests := 0.0
		switch {
		case x.writes > 0 && a.Up < 0:
			requests = math.Inf(1)
		case x.writes > 0: // in steps of 19 %
			requests = math.Exp2(math.Floor(4*math.Log2(1+a.Up.Seconds()*x.rate*x.writes))/4) - 1
		}
		if a.Open || requests >= x.filling.Full {
			continue
		}
		c, ok := known[requests]
		if !ok {
			c.slow, c.operations = x.after(requests)
			known[requests] = c
		}
		if c.slow > 0 {
			out.Outages++
			out.Seconds += c.slow.Seconds()
			out.Longest = max(out.Longest, c.slow.Seconds())
			out.Operations += c.operations
		}
	}
	return out
}

// coldFinding is what is assumed of caches.
var coldFinding = measure.Finding{ID: "caches-unmeasured", Severity: measure.Warning, Text: "no drill shows the throughput " +
	"after an outage, so the slow time follows from the model of the cache alone. A member that was away is taken as " +
	"restarted, with an empty cache, and its misses as those of Memory"}

// errNoPages says why nothing is said about caches after outages.
var errNoPages = errors.New("no reproduced record reads pages from the disk, so it is not known what misses cost: measure with more data than fit into the cache")

// coldCaches says what caches that are not full cost after outages, or why nothing is said.
func (o *outcome) coldCaches(out *record.Simulation, outages []simulate.Outage) error {
	like := 0
	for _, c := range o.checked {
		if c.misses > 0 {
			like++
		}
	}
	if like < leastChecks {
		return errNoPages
	}
	d := out.Deployment
	x, err := o.model.coldShard(o.asked, float64(d.Cache), float64(d.Records))
	if err != nil {
		return err
	}
	out.Failures.Cold = x.coldOutages(outages)
	return nil
}
