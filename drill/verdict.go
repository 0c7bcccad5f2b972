package drill

import (
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// fewestWrites is how many writes must have been acknowledged in the second before the fault: with fewer, what is lost in
// the last milliseconds before it is not seen.
const fewestWrites = 20

// evidence is what a round is judged from.
type evidence struct {
	round *record.DrillRound
	// acknowledged writes in the second before the first fault; -1 if there was no fault.
	acknowledged int64
	// mustChange: another member had to become the primary; changed: one did.
	mustChange, changed bool
	// problem is why the round could not be done as it was meant.
	problem string
}

// judge says what a round showed. What is proven to be wrong weighs more than what is not known.
func judge(e evidence) (verdict string, reasons []string) {
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
		case r.Expect.Loss == record.LossNone || r.Expect.Loss == "":
			add("%s lost: %s", figure.Plural(int(lost), "acknowledged write"), r.Promise)
		case r.Expect.Loss == record.LossWindow && (l.LossWindow < 0 || l.LossWindow > int64(r.Expect.LossWindow)):
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
	if r.Seeds > 0 && r.SeedsFound < r.Seeds && r.Ledger != nil {
		add("%d of %d seed records are gone", r.Seeds-r.SeedsFound, r.Seeds)
	}
	if all := r.Whole(); all != nil {
		wrong = append(wrong, tooLong(r.Expect, all)...)
	}
	return wrong
}

// tooLong is what took longer, or failed more, than was asked for.
func tooLong(x record.ExpectSpec, all *record.DrillEffect) []string {
	var wrong []string
	add := func(format string, a ...any) { wrong = append(wrong, fmt.Sprintf(format, a...)) }
	if x.Outage > 0 && all.Outage < 0 {
		add("no operation succeeded any more; an outage of %s was allowed", x.Outage)
	} else if x.Outage > 0 && all.Outage > int64(x.Outage) {
		add("the outage was %s; %s was allowed", shortly(all.Outage), x.Outage)
	}
	if x.Recovery > 0 && all.Recovery < 0 {
		add("the throughput did not come back; %s was allowed", x.Recovery)
	} else if x.Recovery > 0 && all.Recovery > int64(x.Recovery) {
		add("the throughput was back after %s; %s was allowed", shortly(all.Recovery), x.Recovery)
	}
	if x.NoErrors && all.Failed > 0 {
		add("%s failed; none was allowed", figure.Plural(int(all.Failed), "operation"))
	}
	return wrong
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
	}
	for _, f := range r.Faults {
		if !f.Hit {
			add("%s of %s did not hit, as far as anybody could see%s", f.Fault, f.Target, detail(f.Evidence, f.Problem))
		}
	}
	if e.mustChange && !e.changed {
		add("the primary is the same as before, although it was what was broken")
	}
	if e.acknowledged >= 0 && e.acknowledged < fewestWrites {
		add("only %s acknowledged in the second before the fault; at least %d are needed to see a loss: offer more (--rate)",
			figure.Plural(int(e.acknowledged), "write"), fewestWrites)
	}
	if why := unread(r.Ledger); why != "" {
		add("%s", why)
	}
	return open
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
func whole(rounds []record.DrillRound) (verdict string, reasons []string) {
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

func rank(verdict string) int {
	switch verdict {
	case record.Holds:
		return 0
	case record.Violated:
		return 2
	}
	return 1
}
