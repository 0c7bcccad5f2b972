package drill

import (
	"fmt"
	"math"

	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/drill/reads"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// majorityWrites reports whether writes were acknowledged by a majority.
func (r *round) majorityWrites() bool {
	grade := r.circumstances().grade()
	return grade == gradeMajorityDisk || grade == gradeMajorityMemory
}

// majorityLasts reports whether what a majority of the members has outlives what was broken, in every set.
func (r *round) majorityLasts() bool {
	for _, set := range setsOf(r.before) {
		c := circumstances{concern: writeConcern{w: levelMajority}, topology: "replica set", changed: r.changed,
			members: membersOf(r.before, set), struck: r.breaks.targets(set)}
		if loss, _ := c.promise(); loss != spec.LossNone {
			return false
		}
	}
	return true
}

// targets is how many members of a set that hold data were down or away at some time, each counted once, whatever was
// done to it.
func (b *breaker) targets(set string) int {
	away := map[string]bool{}
	for _, one := range b.list() {
		if one.Injected() && one.takesDown() {
			one.addData(set, away)
		}
	}
	return len(away)
}

// isSet reports whether the target is a replica set of MongoDB, or a cluster of them, and otherwise says why nothing is
// promised.
func (r *round) isSet() (set bool, why string) {
	switch {
	case r.result.Level != "" || r.identity.Kind == server.FerretDB:
		return false, "the target is not MongoDB, so MongoDB's promises about reads do not apply; conflicts are counted"
	case r.lab != nil && r.result.Members < 2, r.lab == nil && r.sees == seesServer:
		return false, "the target is one server, and MongoDB's promises about reads are those of replica sets; conflicts are counted"
	}
	return true, ""
}

// question is what the reads of the round are judged against.
func (r *round) question() reads.Question {
	d := r.drill.spec.Run.Durability
	c := reads.Circumstances{Concern: d.ReadConcern, Causal: d.Causal, MajorityWrites: r.majorityWrites(),
		Durable: r.majorityLasts()}
	c.Set, _ = r.isSet()
	q := reads.Question{Promised: reads.Promise(c), Linearizable: d.ReadConcern == "linearizable", Fault: math.MaxInt64,
		Healed: math.MaxInt64}
	if !broke(r.result.Faults) {
		return q
	}
	q.Fault, q.Healed = r.result.Faults[0].Injected-r.shift, 0
	for _, f := range r.result.Faults {
		switch {
		case f.Injected <= 0:
		case f.Healed > 0:
			q.Healed = max(q.Healed, f.Healed-r.shift)
		default:
			q.Healed = math.MaxInt64
		}
	}
	// what is over as soon as it is done has its effect still
	if all := r.result.Headline(); all != nil && all.Outage >= 0 && all.OutageFrom >= 0 {
		q.Healed = max(q.Healed, all.OutageFrom-r.shift+all.Outage)
	}
	return q
}

// judged puts what was asked for, and the clock of the record, into the result of judging reads.
func (r *round) judged(out *record.ReadsResult) {
	if out == nil {
		return
	}
	d := r.drill.spec.Run.Durability
	out.Concern, out.Preference, out.Causal, out.Writes = d.ReadConcern, d.ReadPreference, d.Causal, "less than a majority"
	if r.majorityWrites() {
		out.Writes = levelMajority
	}
	if _, out.Why = r.isSet(); out.Why == "" && !r.majorityLasts() {
		out.Why = "so many members failed at once that not even what a majority had is safe, so MongoDB promises nothing; conflicts are counted"
	}
	for i := range out.Conflicts {
		c := &out.Conflicts[i]
		for _, o := range []*record.ReadOperation{c.First, &c.Second} {
			if o != nil {
				o.Sent, o.Ended = o.Sent+r.shift, o.Ended+r.shift
			}
		}
	}
}

// readViolations are the promises about reads that were broken, each with the two operations that show it.
func readViolations(l *record.LedgerResult) (wrong []string) {
	if l.Judged == nil {
		return nil
	}
	for _, g := range l.Judged.Guarantees {
		if !g.Promised || g.Broken == 0 {
			continue
		}
		text := fmt.Sprintf("%s is promised and was broken by %s of %s", g.Name, figure.Count(g.Broken), figure.Plural(int(max(g.Checked, g.Broken)), "operation"))
		for _, c := range l.Judged.Conflicts {
			if c.Guarantee == g.Name {
				text += ": " + c.Text()
				break
			}
		}
		wrong = append(wrong, text)
	}
	return wrong
}

// ownParams are what the workload of a drill does: its defaults, with the share of reads that was asked for, most of
// which are judged then.
func ownParams(share float64) ledger.Params {
	if share <= 0 {
		return ledger.Params{}
	}
	return ledger.Params{Insert: 60 * (1 - share), Update: 30 * (1 - share), Read: 90 * share, Judged: 0.9}
}
