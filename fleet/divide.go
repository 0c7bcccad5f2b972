package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// divide returns the specification of one client: its turns of workers, operations and rate. The pace stays, because it
// is that of one worker.
func divide(asked spec.Run, turns workload.Turns) spec.Run {
	part := func(n spec.Count) spec.Count { return divided(n, turns) }
	rate := func(r spec.Rate) spec.Rate { return r * spec.Rate(turns.Share()) }
	l := &asked.Load
	l.Clients, l.Place, l.Strict, l.Shares, l.Zones = 0, "", false, "", nil
	l.Workers, l.Rate, l.Operations = part(l.Workers), rate(l.Rate), part(l.Operations)
	l.Stages = append([]spec.Stage(nil), l.Stages...)
	for i := range l.Stages {
		l.Stages[i].Workers, l.Stages[i].Rate = part(l.Stages[i].Workers), rate(l.Stages[i].Rate)
	}
	asked.LoadPhase = spec.LoadPhase{Skip: true, Batch: asked.LoadPhase.Batch, Parallel: 1} // the parent has loaded
	asked.Objectives = nil                                                                  // the parent checks them
	asked.Out, asked.Observe = "", nil
	return asked
}

func divided(n spec.Count, turns workload.Turns) spec.Count {
	return spec.Count(turns.Before(int64(n)))
}

// partsPerAgent is how finely a load is divided by weights or zones: with n agents into n times as many parts, so that
// the share of an agent with the mean weight is exact to a thousandth.
const partsPerAgent = 1000

// turnsOf returns the turns of each agent in the load: equal, or by weight, within the share of its zone.
func turnsOf(l spec.Load, agents []Facts) ([]workload.Turns, error) {
	weights := make([]float64, len(agents))
	for i, a := range agents {
		switch weights[i] = 1; {
		case l.Shares != spec.SharesByWeight || a.Local: // on the same machine
		case a.Weight <= 0:
			return nil, fmt.Errorf("load.shares: %s does not know how many operations per second it can send. Run plimsoll calibrate on that "+
				"machine, or use equal shares", named(i, a))
		default:
			weights[i] = a.Weight
		}
	}
	zones, shares, err := zonesOf(l, agents)
	if err != nil {
		return nil, err
	}
	parts := make([]int, len(agents))
	for z, of := range apportion(partsPerAgent*len(agents), shares) {
		var own []float64
		for _, i := range zones[z] {
			own = append(own, weights[i])
		}
		if of < len(own) {
			return nil, fmt.Errorf("load.zones: the share of %s is too small for its %s. Place fewer agents there",
				slices.Sorted(maps.Keys(l.Zones))[z], figure.Plural(len(own), "agent"))
		}
		for k, n := range apportion(of, own) {
			parts[zones[z][k]] = n
		}
	}
	return workload.TakeTurns(parts), nil
}

// zonesOf returns the numbers of the agents in each zone of a load, and the shares of the zones. A load without zones
// has one for all agents.
func zonesOf(l spec.Load, agents []Facts) (zones [][]int, shares []float64, err error) {
	if len(l.Zones) == 0 {
		all := make([]int, len(agents))
		for i := range all {
			all[i] = i
		}
		return [][]int{all}, []float64{1}, nil
	}
	names := slices.Sorted(maps.Keys(l.Zones))
	zones = make([][]int, len(names))
	for i, a := range agents {
		in := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !a.in(name) })
		switch {
		case a.Local:
			return nil, nil, errors.New("load.zones: processes on this machine have no zone. Place agents in the zones (plimsoll agent --zone NAME), or " +
				"remove load.zones")
		case len(in) == 0:
			return nil, nil, fmt.Errorf("load.zones: %s is in none of %s. Start it with --zone or --label, or give its zone a share", named(i, a),
				strings.Join(names, ", "))
		case len(in) > 1:
			return nil, nil, fmt.Errorf("load.zones: %s is in %s. Give shares to zones or labels of which each agent has one", named(i, a),
				strings.Join(in, " and in "))
		}
		z := slices.Index(names, in[0])
		zones[z] = append(zones[z], i)
	}
	for z, name := range names {
		if len(zones[z]) == 0 {
			return nil, nil, fmt.Errorf("load.zones: no agent is in %s. Start one there with --zone or --label, or remove its share", name)
		}
		shares = append(shares, float64(l.Zones[name]))
	}
	return zones, shares, nil
}

// in reports whether an agent is in a zone of spec.Load.Zones: a zone by its name, or the agents with a label.
func (f Facts) in(zone string) bool {
	key, value, label := strings.Cut(zone, "=")
	if !label {
		return f.Zone == zone
	}
	return f.Labels[key] == value || key == "zone" && f.Zone == value || key == "host" && f.Host == value
}

func named(client int, a Facts) string {
	if a.Name == "" {
		return name(client)
	}
	return fmt.Sprintf("the agent %s on %s", a.Name, a.Host)
}

// apportion divides n parts by weights, by the largest remainder. Each weight gets at least one part, if there are as
// many.
func apportion(n int, weights []float64) []int {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	type claim struct {
		at        int
		remainder float64
	}
	parts, left := make([]int, len(weights)), n
	claims := make([]claim, len(weights))
	for i, w := range weights {
		quota := float64(n) * (w / sum)
		parts[i] = max(1, int(math.Floor(quota+1e-9)))
		left -= parts[i]
		claims[i] = claim{i, quota - float64(parts[i])}
	}
	slices.SortStableFunc(claims, func(a, b claim) int { return cmp.Compare(b.remainder, a.remainder) })
	for k := 0; left > 0; k++ {
		parts[claims[k%len(claims)].at]++
		left--
	}
	for ; left < 0; left++ { // small weights got more than their quota, at the cost of the largest
		largest := 0
		for i := range parts {
			if parts[i] > parts[largest] {
				largest = i
			}
		}
		parts[largest]--
	}
	return parts
}
