package procedure

import (
	"github.com/plimsoll-bench/plimsoll/measure/limit"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Proven are the labels that are stated without a change of a capacity, because their signals are right for planted
// limits (the family limit in docs/reference/liars.md): named in at least 80 % of the trials that plant them, another
// label in at most 5 %, and planted in at least 95 % of the trials that name them. Only that all rates were achieved
// needs no proof.
func Proven() (throughput, latency []limit.Label) {
	return []limit.Label{limit.None, limit.Client, limit.Network, limit.CPU, limit.DiskReads, limit.Tickets,
			limit.Conflicts, limit.Router, limit.Connections},
		[]limit.Label{limit.Network, limit.Flushes, limit.Replication}
}

// State leaves of a limit what was confirmed by a change of a capacity or is proven.
func State(l *limit.Limit) { l.Only(Proven()) }

// LimitSteps are the steps of a line that show what limits it. run opens a record; steps without one, and those that
// are not of a MongoDB, are left out, because their servers have no counters.
func LimitSteps(line *record.LoadLine, run func(path string) *record.Run) (steps []limit.Step) {
	for _, s := range line.Steps {
		if s.Record == "" || s.Verdict == record.StepFailed || s.Verdict == record.StepLost {
			continue
		}
		if step, ok := limitStep(run(s.Record)); ok {
			step.Missed = s.Verdict == record.StepMissed
			steps = append(steps, step)
		}
	}
	return steps
}

func limitStep(r *record.Run) (limit.Step, bool) {
	if r == nil || r.Target.Kind != "mongod" && r.Target.Kind != "mongos" {
		return limit.Step{}, false
	}
	return r.LimitStep(), true
}

// limitOf is what limits by steps, as far as planted limits prove it; nil without two loads.
func limitOf(steps []limit.Step) *limit.Limit {
	if len(steps) < 2 {
		return nil
	}
	l := limit.Decide(steps)
	State(&l)
	return &l
}
