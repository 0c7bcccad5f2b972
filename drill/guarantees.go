package drill

import (
	"fmt"
	"math"

	"github.com/plimsoll-bench/plimsoll/drill/reads"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// guarantees derives what the target guarantees for the writes and reads of a round, given what happened to it.
type guarantees struct {
	asked     spec.Durability
	target    *target
	scheduler *scheduler
	primaries *primaries
	members   int // that hold data
}

// circumstances are what the guarantee for acknowledged writes depends on.
func (g *guarantees) circumstances() circumstances {
	t, sees := g.target, g.primaries.sees
	c := circumstances{
		level: t.level, concern: concernOf(g.asked, t.uri, t.concerns), topology: t.identity.Topology(),
		majorityJournal: t.concerns.MajorityJournal, changed: g.primaries.changed,
		hidden: t.lab == nil && (sees == seesRouters || server.Undescribed(t.identity.Kind)),
	}
	c.down, c.members = g.scheduler.worstSet()
	if server.IgnoresConcerns(t.identity.Kind) && !g.asked.Says() {
		c.topology = gateway
	}
	return c
}

// majorityWrites reports whether a majority acknowledged the writes.
func (g *guarantees) majorityWrites() bool {
	grade := g.circumstances().grade()
	return grade == gradeMajorityDisk || grade == gradeMajorityMemory
}

// majorityLasts reports whether what a majority has survived the faults, in every set.
func (g *guarantees) majorityLasts() bool {
	for _, set := range setsOf(g.target.before) {
		c := circumstances{concern: writeConcern{w: levelMajority}, topology: "replica set", changed: g.primaries.changed,
			members: membersOf(g.target.before, set), down: g.scheduler.everDown(set)}
		if loss, _ := c.promise(); loss != spec.LossNone {
			return false
		}
	}
	return true
}

// question returns what the reads of a round are judged against, in times of operations.
func (g *guarantees) question(r *record.DrillRound, shift int64) reads.Question {
	c := reads.Circumstances{Concern: g.asked.ReadConcern, Causal: g.asked.Causal, MajorityWrites: g.majorityWrites(),
		Durable: g.majorityLasts()}
	c.Set, _ = g.target.replicaSet(g.primaries.sees, g.members)
	q := reads.Question{Promised: reads.Promise(c), Linearizable: g.asked.ReadConcern == "linearizable",
		Fault: math.MaxInt64, Healed: math.MaxInt64}
	if !anyInjected(r.Faults) {
		return q
	}
	q.Fault, q.Healed = r.Faults[0].Injected-shift, 0
	for _, f := range r.Faults {
		switch {
		case f.Injected <= 0:
		case f.Healed > 0:
			q.Healed = max(q.Healed, f.Healed-shift)
		default:
			q.Healed = math.MaxInt64
		}
	}
	// A step-down is over at once, but its effect is not.
	if all := r.Headline(); all != nil && all.Outage >= 0 && all.OutageFrom >= 0 {
		q.Healed = max(q.Healed, all.OutageFrom-shift+all.Outage)
	}
	return q
}

// complete adds the read concern and write concern to the result of judging reads, and moves its times to run time.
func (g *guarantees) complete(out *record.ReadsResult, shift int64) {
	if out == nil {
		return
	}
	out.Concern, out.Preference, out.Causal = g.asked.ReadConcern, g.asked.ReadPreference, g.asked.Causal
	out.Writes = "less than a majority"
	if g.majorityWrites() {
		out.Writes = levelMajority
	}
	if _, out.Why = g.target.replicaSet(g.primaries.sees, g.members); out.Why == "" && !g.majorityLasts() {
		out.Why = "so many members failed at once that even writes of a majority may be lost, so MongoDB guarantees nothing. " +
			"Violations are only counted"
	}
	for i := range out.Conflicts {
		c := &out.Conflicts[i]
		for _, o := range []*record.ReadOperation{c.First, &c.Second} {
			if o != nil {
				o.Sent, o.Ended = o.Sent+shift, o.Ended+shift
			}
		}
	}
}

// readViolations returns the guarantees for reads that were broken, each with two operations as evidence.
func readViolations(l *record.LedgerResult) (wrong []string) {
	if l.Judged == nil {
		return nil
	}
	for _, g := range l.Judged.Guarantees {
		if !g.Promised || g.Broken == 0 {
			continue
		}
		text := fmt.Sprintf("%s of %s violated the guarantee %s", figure.Count(g.Broken),
			figure.Plural(int(max(g.Checked, g.Broken)), "operation"), g.Name)
		for _, c := range l.Judged.Conflicts {
			if c.Guarantee == g.Name {
				text += ". For example, " + c.Text()
				break
			}
		}
		wrong = append(wrong, text)
	}
	return wrong
}
