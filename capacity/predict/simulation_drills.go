package predict

import (
	"cmp"
	"fmt"
	"maps"
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

func sortedKinds(failures map[string]spec.Count) []string { return slices.Sorted(maps.Keys(failures)) }

// roundsOf are the rounds of drills that show what one failure of a primary does.
func roundsOf(out *record.Simulation, drills []Drilled) (list []round) {
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
	x = round{dir: d.Dir, drillSetup: drillSetup{action: f.Fault.Action, engine: d.Engine, members: max(1, r.Members),
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

// checkOutages simulates the outages of each drill from the rounds of the others.
func checkOutages(out *record.Simulation, rounds []round) {
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
		others := slices.DeleteFunc(slices.Clone(rounds), func(r round) bool {
			return r.drillSetup != k.drillSetup || r.dir == k.dir
		})
		var simulated, measured []float64
		for _, r := range near(others, own[0].election) {
			simulated = append(simulated, float64(r.with(own[0].election)))
		}
		if len(simulated) == 0 {
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
		out.Checks = append(out.Checks, judged(record.SimulationCheck{Records: []string{k.dir}, Setup: text,
			Metric: record.CheckOutage, Simulated: measure.Median(simulated), Measured: measure.Median(measured)}, outageLimit))
	}
}

// shownFailure refuses failures of a kind whose outages no drills show, or whose drills are not reproduced.
func shownFailure(out *record.Simulation, kind string, of []round) error {
	d := out.Deployment
	setups, dirs, elections := map[drillSetup]bool{}, map[string]bool{}, map[time.Duration]bool{}
	for _, r := range of {
		setups[r.drillSetup], dirs[r.dir], elections[r.election] = true, true, true
	}
	failed := 0
	for _, c := range out.Checks {
		if c.Metric == record.CheckOutage && !c.Holds && strings.HasPrefix(c.Setup, kind+" ") {
			failed++
		}
	}
	election := time.Duration(d.Election)
	switch {
	case len(dirs) < leastChecks:
		return fmt.Errorf("%s: two drills of it are needed, because each is simulated from the other, and the records have %d", kind, len(dirs))
	case len(setups) > 1:
		return fmt.Errorf("%s: its drills differ in engine, members, durability or failover: give those of one setup", kind)
	case of[0].members != int(d.Members):
		return fmt.Errorf("%s: its drills have %s, and the deployment has %d", kind, figure.Plural(of[0].members, "member"), d.Members)
	case failed > 0:
		return fmt.Errorf("%s: the outages of %s are off by more than %s", kind, figure.Plural(failed, "drill"), figure.Percent(outageLimit))
	case election > 0 && elections[0]:
		return fmt.Errorf("%s: other software than the servers elects in its drills, so election: does not apply", kind)
	case election > 0 && !elections[election] && len(elections) < leastChecks:
		return fmt.Errorf("%s: its drills elect after one time, so it is not known whether the outage follows it: drill another one", kind)
	case election == 0 && len(elections) > 1:
		return fmt.Errorf("%s: its drills elect after different times: say with election: which one the deployment has", kind)
	}
	return nil
}
