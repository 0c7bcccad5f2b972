package predict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// round is a round of a drill in which a primary failed.
type round struct {
	drillSetup
	dir          string
	election     time.Duration // without a primary until the servers elect another one; 0: not known
	outage, away time.Duration
}

// drillSetup is what rounds must have in common to be drawn together.
type drillSetup struct {
	action, engine, durability string
	members                    int
	failover                   string // what elects, "" for the servers themselves
}

// near are the rounds with an election time if there are any, and otherwise all.
func near(rounds []round, election time.Duration) []round {
	same := slices.DeleteFunc(slices.Clone(rounds), func(r round) bool { return r.election != election })
	if len(same) > 0 {
		return same
	}
	return rounds
}

// with is the outage if sets elect after another time.
func (r *round) with(election time.Duration) time.Duration {
	if election == 0 || r.election == 0 {
		return r.outage
	}
	return max(0, r.outage-r.election+election)
}

// roundsOf are the rounds of drills that show what one failure of a primary does.
func roundsOf(out *record.Failures, drills []Drilled) (list []round) {
	for _, d := range drills {
		for i := range d.Rounds {
			r, why := roundOf(&d, &d.Rounds[i])
			if why != "" {
				out.LeftOut = append(out.LeftOut, fmt.Sprintf("%s, round %d: %s", d.Dir, d.Rounds[i].Number, why))
				continue
			}
			list = append(list, r)
		}
	}
	return list
}

func roundOf(d *Drilled, r *record.DrillRound) (x round, why string) {
	if r.Status != record.Complete {
		return x, "it is not complete"
	}
	if len(r.Faults) != 1 {
		return x, fmt.Sprintf("it has %d faults. The effect of one is known from rounds with one", len(r.Faults))
	}
	f := &r.Faults[0]
	x = round{dir: d.Dir, drillSetup: drillSetup{action: f.Fault.Name, engine: d.Engine, members: max(1, r.Members),
		failover: r.Failover, durability: strings.Join(d.Specification.Run.Durability.Asked(), ", ")}}
	if r.Topology != nil && r.Failover == "" {
		x.election = electionTimeout(r.Topology)
	}
	i := slices.IndexFunc(r.Effects, func(e record.DrillEffect) bool {
		return e.Kind == record.KindWrites && e.Shard == "" && e.Client == -1
	})
	j := slices.IndexFunc(r.Moments, func(m record.DrillMoment) bool { return m.Kind == record.MomentRedundant })
	switch {
	case !f.Hit || f.Disputed:
		return x, "nothing confirms that the fault hit"
	case x.members > 1 && !strings.HasSuffix(f.Fault.Target, "primary"):
		return x, "the fault did not aim at a primary"
	case len(r.Shards) > 1:
		return x, "it has several shards"
	case i < 0 || r.Effects[i].Outage < 0:
		return x, "its writes did not return"
	case j < 0:
		return x, "redundancy did not return"
	}
	x.outage, x.away = time.Duration(r.Effects[i].Outage), time.Duration(r.Moments[j].At-f.Injected)
	return x, ""
}

// electionTimeout is the time without a primary after which a set of mongod elects.
func electionTimeout(t *spec.Topology) time.Duration {
	settings, err := t.SetSettings()
	if ms, ok := settings["electionTimeoutMillis"].(int32); ok && err == nil {
		return time.Duration(ms) * time.Millisecond
	}
	return 10 * time.Second // that of the server's releases
}

// checkOutages compares the outages of each drill with the rounds of the others.
func checkOutages(out *record.Failures, rounds []round) {
	type key struct {
		drillSetup
		dir string
	}
	groups := map[key][]round{}
	for _, r := range rounds {
		k := key{r.drillSetup, r.dir}
		groups[k] = append(groups[k], r)
	}
	for _, k := range slices.SortedFunc(maps.Keys(groups), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.action, b.action), cmp.Compare(a.dir, b.dir))
	}) {
		own := groups[k]
		rest := slices.DeleteFunc(slices.Clone(rounds), func(r round) bool {
			return r.drillSetup != k.drillSetup || r.dir == k.dir
		})
		var others, measured []float64
		for _, r := range near(rest, own[0].election) {
			others = append(others, float64(r.with(own[0].election)))
		}
		if len(others) == 0 {
			out.LeftOut = append(out.LeftOut, fmt.Sprintf("%s: no other drill is %s of %s with %s", k.dir, k.action,
				cmp.Or(k.engine, "an unknown engine"), figure.Plural(k.members, "member")))
			continue
		}
		for _, r := range own {
			measured = append(measured, float64(r.outage))
		}
		text := k.action + " of a primary, " + figure.Plural(k.members, "member")
		if own[0].election > 0 && k.members > 1 {
			text += ", election after " + strconv.FormatFloat(own[0].election.Seconds(), 'g', 4, 64) + " s"
		}
		c := record.FailuresCheck{Record: k.dir, Setup: text, Measured: int64(measure.Median(measured)),
			Others: int64(measure.Median(others)), Limit: outageLimit}
		c.Error = measure.Median(others)/measure.Median(measured) - 1
		c.Holds = math.Abs(c.Error) <= c.Limit
		out.Checks = append(out.Checks, c)
	}
}
