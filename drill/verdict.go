package drill

import (
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// fewestWrites is how many writes must have been acknowledged in the second before the fault: with fewer, what is lost in
// the last milliseconds before it is not seen.
const fewestWrites = 20

// evidence is what a round is judged from.
type evidence struct {
	round *record.DrillRound
	// acknowledged writes in the second before the first fault; -1 if there was no fault.
	acknowledged int64
	// stayed are the sets in which another member had to become the primary, and none did.
	stayed []string
	// sharded: the target is a sharded cluster.
	sharded bool
	// collection is the one that the load writes to, if it is not on all shards.
	collection string
	// planned is how many faults the drill was to cause itself.
	planned int
	// problem is why the round could not be done as it was meant.
	problem string
}

// judge says what a round showed. What is proven to be wrong weighs more than what is not known.
func judge(e evidence) (verdict record.DrillVerdict, reasons []string) {
	wrong, open := violations(e.round), unknowns(e)
	switch {
	case len(wrong) > 0:
		return record.Violated, append(wrong, open...)
	case len(open) > 0:
		return record.Unknown, open
	}
	return record.Holds, []string{holding(e.round)}
}

// holding says what held.
func holding(r *record.DrillRound) string {
	if l := r.Ledger; l.Acknowledged == 0 {
		return fmt.Sprintf("no write was acknowledged (w:0), so none had to survive; %s of %s are there", figure.Count(l.Inserts[record.WriteRecovered]+l.Updates[record.WriteRecovered]),
			figure.Plural(int(l.Attempted), "write"))
	}
	text := fmt.Sprintf("%s acknowledged writes were all there afterwards", figure.Count(r.Ledger.Acknowledged))
	if n := lostOf(r.Ledger); n > 0 {
		text = fmt.Sprintf("%s of %s acknowledged writes are lost, which this durability level allows (measured window %s)",
			figure.Count(n), figure.Count(r.Ledger.Acknowledged), shortly(r.Ledger.LossWindow))
	}
	return text
}

// violations are what must not be.
func violations(r *record.DrillRound) []string {
	var wrong []string
	add := func(format string, a ...any) { wrong = append(wrong, fmt.Sprintf(format, a...)) }
	if l := r.Ledger; l != nil {
		lost := lostOf(l)
		switch {
		case lost == 0:
		case r.Expect.Loss == spec.LossNone || r.Expect.Loss == "":
			add("%s lost: %s", figure.Plural(int(lost), "acknowledged write"), r.Promise)
		case r.Expect.Loss == spec.LossWindow && l.LossWindow > int64(r.Expect.LossWindow):
			add("%s lost, the oldest acknowledged %s before the fault; %s were allowed", figure.Plural(int(lost), "acknowledged write"), shortly(l.LossWindow), r.Expect.LossWindow)
		}
		for _, c := range []struct{ class, text string }{
			{record.WriteCorrupt, "present with other content than was written"},
			{record.WriteDuplicated, "applied more than once"},
			{record.WritePhantom, "there although the client was told that they were not applied"},
			{record.WriteUnexpected, "there although nobody wrote them"},
			{record.WriteDiverged, "not the same on all members after replication had caught up"},
		} {
			if n := l.Inserts[c.class] + l.Updates[c.class]; n > 0 {
				add("%s %s: %s", figure.Plural(int(n), "write"), c.class, c.text)
			}
		}
	}
	if r.Ledger != nil {
		wrong = append(wrong, readViolations(r.Ledger)...)
	}
	if r.Seeds > 0 && r.SeedsFound < r.Seeds && r.Ledger != nil {
		add("%d of %d seed records are gone", r.Seeds-r.SeedsFound, r.Seeds)
	}
	late, _ := tooLong(r)
	return append(wrong, late...)
}

// tooLong is what took longer, or failed more, than was asked for, and what of that cannot be told: a load that ended within the
// time that was allowed shows neither that it would have been enough nor that it would not.
func tooLong(r *record.DrillRound) (wrong, open []string) {
	all := r.Headline()
	if all == nil {
		return nil, nil
	}
	add := func(to *[]string, format string, a ...any) {
		text := fmt.Sprintf(format, a...)
		if all.Shard != "" {
			text = all.Shard + ": " + text
		}
		*to = append(*to, text)
	}
	x := r.Expect
	switch silent := r.WindowEnd - all.OutageFrom; {
	case x.Outage == 0:
	case all.Outage > int64(x.Outage):
		add(&wrong, "the outage was %s; %s was allowed", shortly(all.Outage), x.Outage)
	case all.Outage >= 0:
	case all.OutageFrom < 0:
		add(&open, "no operation succeeded before the fault, so nothing shows how long it was out")
	case silent > int64(x.Outage):
		add(&wrong, "no operation succeeded any more; an outage of %s was allowed", x.Outage)
	default:
		add(&open, "no operation succeeded any more, and the load ended %s later; an outage of %s was allowed: load it for longer (--duration)", shortly(silent), x.Outage)
	}
	switch {
	case x.Recovery == 0:
	case all.Recovery > int64(x.Recovery):
		add(&wrong, "the throughput was back after %s; %s was allowed", shortly(all.Recovery), x.Recovery)
	case all.Recovery >= 0:
	case all.Before == 0:
		add(&open, "no operation succeeded before the fault, so there is no throughput to come back to")
	case r.WindowEnd-r.Faults[0].Injected-spanOf(all.Before) > int64(x.Recovery):
		add(&wrong, "the throughput did not come back; %s was allowed", x.Recovery)
	default:
		add(&open, "the throughput did not come back, and the load ended too soon to tell whether it does within %s: load it for longer (--duration)", x.Recovery)
	}
	if whole := r.Whole(); x.NoErrors && whole != nil && whole.Failed > 0 {
		add(&wrong, "%s failed; none was allowed", figure.Plural(int(whole.Failed), "operation"))
	}
	return wrong, open
}

// unknowns are the reasons why a round shows nothing.
func unknowns(e evidence) []string {
	var open []string
	add := func(format string, a ...any) { open = append(open, fmt.Sprintf(format, a...)) }
	r := e.round
	if e.problem != "" {
		add("%s", e.problem)
	}
	if len(r.Faults) == 0 {
		add("nothing was broken")
	} else if n := e.planned - len(r.Faults); n > 0 {
		add("%d of %s did not come about: the load had ended before", n, figure.Plural(e.planned, "fault"))
	}
	for _, f := range r.Faults {
		if f.Injected <= 0 {
			add("%s could not be done%s", f.Fault, detail(f.Problem))
		} else if !f.Hit {
			add("%s of %s did not hit, as far as anybody could see%s", f.Fault, f.Target, detail(f.Evidence, f.Problem))
		}
	}
	if len(e.stayed) == 1 && !e.sharded {
		add("the primary is the same as before, although it was what was broken")
	} else if len(e.stayed) > 0 {
		add("the primary of %s is the same as before, although it was what was broken", strings.Join(e.stayed, " and "))
	}
	open = append(open, shardUnknowns(e)...)
	if e.acknowledged >= 0 && e.acknowledged < fewestWrites {
		add("only %s acknowledged in the second before the fault; at least %d are needed to see a loss: offer more (--rate)",
			figure.Plural(int(e.acknowledged), "write"), fewestWrites)
	}
	if why := unread(r.Ledger); why != "" {
		add("%s", why)
	} else if r.Ledger.Acknowledged == 0 && r.Expect.Loss != spec.LossAny {
		add("no write was acknowledged, so none could be lost")
	} else if lost := lostOf(r.Ledger); lost > 0 && r.Expect.Loss == spec.LossUnknown {
		add("%s lost, and whether that is wrong is not known: %s", figure.Plural(int(lost), "acknowledged write"), r.Promise)
	} else if r.Expect.Loss == spec.LossWindow && r.Ledger.LossWindow < 0 && lostOf(r.Ledger) > 0 {
		add("%s lost, and when they were acknowledged is not known", figure.Plural(int(lostOf(r.Ledger)), "acknowledged write"))
	}
	_, late := tooLong(r)
	return append(open, late...)
}

// unread is why the final read does not tell.
func unread(l *record.LedgerResult) string {
	if l == nil {
		return "nothing was read in the end"
	}
	found := false
	for _, read := range l.Reads {
		if read.Source == finalRead {
			found = true
			if read.Problem != "" {
				return "the final read failed: " + read.Problem
			}
		}
	}
	if !found {
		return "there was no final read"
	}
	if n := l.Inserts[record.WriteNeverRead] + l.Updates[record.WriteNeverRead]; n > 0 {
		return figure.Plural(int(n), "write") + " not covered by the final read"
	}
	return ""
}

func detail(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return ": " + t
		}
	}
	return ""
}

// lostOf is how many acknowledged writes are gone.
func lostOf(l *record.LedgerResult) int64 {
	if l == nil {
		return 0
	}
	return l.LostWrites()
}

func shortly(ns int64) string {
	if ns < 0 {
		return "an unknown time"
	}
	return figure.Duration(time.Duration(ns))
}

// whole is the verdict over all rounds: the worst of them.
func whole(rounds []record.DrillRound) (verdict record.DrillVerdict, reasons []string) {
	verdict = record.Holds
	if len(rounds) == 0 {
		return record.Unknown, []string{"no round was done"}
	}
	for _, r := range rounds {
		if rank(r.Verdict) > rank(verdict) {
			verdict = r.Verdict
		}
	}
	for _, r := range rounds {
		if r.Verdict != verdict {
			continue
		}
		for _, text := range r.Reasons {
			if len(rounds) > 1 {
				text = fmt.Sprintf("round %d: %s", r.Number, text)
			}
			reasons = append(reasons, text)
		}
	}
	return verdict, reasons
}

func rank(verdict record.DrillVerdict) int {
	switch verdict {
	case record.Holds:
		return 0
	case record.Violated:
		return 2
	}
	return 1
}
