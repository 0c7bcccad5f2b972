package drill

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// fewestWrites is the smallest number of writes acknowledged in the second before the fault. With fewer, a loss of the
// last milliseconds would not be noticed.
const fewestWrites = 20

// confidence is that of statements about losses that did not happen.
const confidence = 0.95

// evidence is what a round is judged from.
type evidence struct {
	round *record.DrillRound
	// acknowledged is the number of operations with checked writes in the second before the first fault; -1 without a
	// fault.
	acknowledged int64
	// unchanged are the sets in which another member had to become primary, and none did.
	unchanged []string
	sharded   bool
	// collection is one that the load writes to and that is not on all shards, or "".
	collection string
	// planned is the number of faults that the drill was to inject.
	planned int
	// faultless says that none was asked for: transactions are judged at rest.
	faultless bool
	// lacked is what the deployment lacked before the first fault, or "".
	lacked string
	// minority is which fault left a set without a majority in the state before it, or "".
	minority string
	// problem is why the audit failed, or which clients are gone, or "".
	problem string
}

// judge returns the verdict of a round. A violation that is proven counts more than what is not known.
func judge(e evidence) (verdict record.DrillVerdict, reasons []string) {
	wrong, open := violations(e.round), unknowns(e)
	switch {
	case len(wrong) > 0:
		return record.Violated, append(wrong, open...)
	case len(open) > 0:
		return record.Unknown, open
	}
	reasons = []string{held(e.round.Ledger)}
	if text := isolationText(e.round); text != "" {
		reasons = append([]string{text}, reasons...)
	}
	return record.Holds, reasons
}

// held says what a round shows that holds.
func held(l *record.LedgerResult) (text string) {
	switch {
	case l.Acknowledged == 0:
		text = fmt.Sprintf("no write was acknowledged (w:0), so none had to survive. %s of %s are present at the end",
			figure.Count(l.Inserts[record.WriteRecovered]+l.Updates[record.WriteRecovered]), figure.Plural(int(l.Attempted), "write"))
	case l.LostWrites() > 0:
		text = fmt.Sprintf("%s of %s were lost, which is allowed here", l.LostText(), figure.Count(l.Acknowledged))
		if l.LossWindow > 0 {
			text += fmt.Sprintf(". The oldest was acknowledged %s before the fault took effect", durationText(l.LossWindow))
		}
		if l.LostAfter > 0 {
			text += fmt.Sprintf(". %s of them were acknowledged after it, the last one %s after it", figure.Count(l.LostAfter),
				durationText(l.LossAfter))
		}
	case l.Hidden > 0:
		text = fmt.Sprintf("no loss was found among %s acknowledged writes. Up to %s may be lost without a trace, because as many "+
			"updates without a definite answer may have been applied in their place", figure.Count(l.Acknowledged),
			figure.Count(l.Hidden))
	default:
		text = figure.Count(l.Acknowledged) + " acknowledged writes are all present at the end"
	}
	if of := l.CoverageText(); of != "" {
		text += ". However, " + of
	}
	return text
}

// list collects sentences.
type list []string

func (l *list) add(format string, a ...any) { *l = append(*l, fmt.Sprintf(format, a...)) }

// violations returns what must not be.
func violations(r *record.DrillRound) []string {
	var wrong list
	if l := r.Ledger; l != nil {
		lost := l.LostText() + " lost"
		switch {
		case l.LostWrites() == 0:
		case r.Expect.Loss == spec.LossNone || r.Expect.Loss == "":
			wrong.add("%s, although none may be lost. %s", lost, sentence(r.Promise))
		case r.Expect.Loss == spec.LossWindow:
			wrong = append(wrong, outsideWindow(l, r.Expect.LossWindow, lost)...)
		}
		for _, c := range []struct{ class, text string }{
			{record.WriteCorrupt, "present with other content than was written"},
			{record.WriteDuplicated, "applied more than once"},
			{record.WriteTorn, "of a transaction that was applied in part"},
			{record.WritePhantom, "present although the client was told that they were not applied"},
			{record.WriteUnexpected, "present although no client wrote them"},
			{record.WriteDiverged, "different between members after replication had caught up"},
		} {
			if n := l.Inserts[c.class] + l.Updates[c.class]; n > 0 {
				wrong.add("%s %s: %s", figure.Plural(int(n), "write"), c.class, c.text)
			}
		}
		if l.Divided > 0 && (r.Expect.Loss == spec.LossNone || r.Expect.Loss == "") {
			wrong.add("%s without an answer applied in part, or as many acknowledged updates of the same documents lost",
				figure.Plural(int(l.Divided), "transaction"))
		}
		if l.WrongReads > 0 {
			wrong.add("%s during the load returned another document than requested, or other content than was written",
				figure.Plural(int(l.WrongReads), "read"))
		}
		for _, read := range l.Reads {
			if c := read.Copy; c != nil && c.Torn > 0 {
				wrong.add("%s is inconsistent: %s missing before later ones of the same writer, or changed", read.Source,
					figure.Plural(int(c.Torn), "acknowledged write"))
			}
		}
		wrong = append(wrong, readViolations(l)...)
		if r.Seeds > 0 && r.SeedsFound < r.Seeds {
			wrong.add("%d of %d documents from before the load are lost, although a majority confirmed them",
				r.Seeds-r.SeedsFound, r.Seeds)
		}
	}
	if n, classes := r.Isolation.Forbidden(); n > 0 && r.Isolation.Promise == record.NoIsolation {
		wrong.add("transactions saw at least %s times what no setting allows: %s. The section about transactions shows it",
			figure.Count(n), classes)
	} else if n > 0 {
		wrong.add("%s was violated at least %s times: %s. The section about transactions has the shortest cycles", r.Isolation.Promise,
			figure.Count(n), classes)
	}
	late, _ := limits(r)
	return append(wrong, late...)
}

// outsideWindow returns how the lost writes of a round violate the allowed window.
func outsideWindow(l *record.LedgerResult, allowed spec.Duration, lost string) (wrong list) {
	if l.LostAfter > 0 {
		wrong.add("%s. %s of them were acknowledged after the fault had taken effect, the last one %s after it. No window allows that",
			lost, figure.Count(l.LostAfter), durationText(l.LossAfter))
	}
	if l.LossLeast > int64(allowed) {
		wrong.add("%s. The oldest was acknowledged %s before the fault took effect, more than the allowed %s",
			lost, durationText(l.LossLeast), allowed)
	}
	return wrong
}

// limits holds a round against the outage, recovery and errors that were allowed. A load that ended within the allowed
// time leaves the answer open.
func limits(r *record.DrillRound) (wrong, open list) {
	all := r.Headline()
	if all == nil {
		return nil, nil
	}
	prefix := ""
	if all.Shard != "" {
		prefix = all.Shard + ": "
	}
	allowed := r.Expect
	switch silent := r.WindowEnd - all.OutageFrom; {
	case allowed.Outage == 0:
	case all.Outage > int64(allowed.Outage) && all.Outage-all.Hung <= int64(allowed.Outage):
		open.add("%sthe outage was %s, more than the allowed %s, but for the first %s of it all operations waited for replies until "+
			"their timeout. The server may have answered new connections earlier. Use a --timeout shorter than the allowed outage",
			prefix, durationText(all.Outage), allowed.Outage, durationText(all.Hung))
	case all.Outage > int64(allowed.Outage):
		wrong.add("%sthe outage was %s, more than the allowed %s", prefix, durationText(all.Outage), allowed.Outage)
	case all.Outage >= 0:
	case all.OutageFrom < 0:
		open.add("%sno operation succeeded before the fault, so the outage is not known", prefix)
	case silent > int64(allowed.Outage):
		wrong.add("%sno operation succeeded after the fault; the allowed outage is %s", prefix, allowed.Outage)
	default:
		open.add("%sno operation succeeded after the fault, but the load ended %s later and the allowed outage is %s. "+
			"Use a longer load (--duration)", prefix, durationText(silent), allowed.Outage)
	}
	// Operations of one kind may succeed while the other is out.
	if len(wrong) == 0 && len(open) == 0 && allowed.Outage > 0 {
		for _, kind := range []string{record.KindWrites, record.KindReads} {
			length, ended := r.KindOutage(kind, all.Shard)
			e := r.Of(kind, all.Shard)
			if ended && length > int64(allowed.Outage) && length-e.Hung <= int64(allowed.Outage) {
				open.add("%sthe outage of %s was %s, more than the allowed %s, but for the first %s of it they waited for replies "+
					"until their timeout. Use a --timeout shorter than the allowed outage", prefix, kind, durationText(length),
					allowed.Outage, durationText(e.Hung))
			} else if length > int64(allowed.Outage) && ended {
				wrong.add("%sthe outage of %s was %s, more than the allowed %s", prefix, kind, durationText(length), allowed.Outage)
			} else if length > int64(allowed.Outage) {
				wrong.add("%sno %s succeeded after the fault for %s; the allowed outage is %s", prefix, kind, durationText(length),
					allowed.Outage)
			}
		}
	}
	switch {
	case allowed.Recovery == 0:
	case all.Recovery > int64(allowed.Recovery):
		wrong.add("%sthe throughput was back after %s, more than the allowed %s", prefix, durationText(all.Recovery),
			allowed.Recovery)
	case all.Recovery >= 0:
	case all.Before == 0:
		open.add("%sno operation succeeded before the fault, so the recovery is not known", prefix)
	case r.WindowEnd-r.Faults[0].Injected-spanOf(all.Before) > int64(allowed.Recovery):
		wrong.add("%sthe throughput did not come back; the allowed recovery is %s", prefix, allowed.Recovery)
	default:
		open.add("%sthe throughput did not come back, but the load ended before the allowed recovery of %s. "+
			"Use a longer load (--duration)", prefix, allowed.Recovery)
	}
	if every := r.Whole(); allowed.NoErrors && every != nil && every.Failed > 0 {
		wrong.add("%s%s failed, but no errors are allowed", prefix, figure.Plural(int(every.Failed), "operation"))
	}
	return wrong, open
}

// unknowns returns the reasons why a round shows nothing.
func unknowns(e evidence) []string {
	var open list
	r := e.round
	if e.problem != "" {
		open.add("%s", e.problem)
	}
	if len(r.Faults) == 0 && !e.faultless {
		open.add("no fault was injected")
	} else if n := e.planned - len(r.Faults); n > 0 {
		verb := "were"
		if n == 1 {
			verb = "was"
		}
		open.add("%d of %s %s not injected because the load had already ended", n, figure.Plural(e.planned, "fault"), verb)
	}
	for _, f := range r.Faults {
		if f.Injected <= 0 {
			open.add("%s was not injected%s", f.Fault, detail(f.Problem))
		} else if f.Event != nil && f.Event.Outcome == record.EventFailed {
			open.add("%s on %s failed%s", f.Fault, f.Target, detail(f.Problem))
		} else if f.Disputed {
			open.add("the witnesses of %s on %s contradict each other%s", f.Fault, f.Target, detail(f.Evidence))
		} else if !f.Hit {
			open.add("%s had no visible effect on %s%s", f.Fault, f.Target, detail(cmp.Or(f.Evidence, f.Problem)))
		}
	}
	for _, f := range r.Faults {
		if f.Event != nil && f.Event.Outcome != record.EventFailed && r.WindowEnd > 0 && f.Done > r.WindowEnd {
			open.add("%s ended %s after the load, so what clients would have noticed until then is not known. Allow more time for it "+
				"(--duration, --recovery)", f.Fault, durationText(f.Done-r.WindowEnd))
		}
	}
	open = append(open, unrecovered(r)...)
	if len(e.unchanged) == 1 && !e.sharded {
		open.add("the fault struck the primary, but the primary is still the same member")
	} else if len(e.unchanged) > 0 {
		open.add("the fault struck the primary of %s, but the primary is still the same member",
			strings.Join(e.unchanged, " and "))
	}
	if e.minority != "" {
		open.add("%s, so nothing is shown about a failover", e.minority)
	} else if e.lacked != "" && slices.ContainsFunc(r.Effects, func(f record.DrillEffect) bool {
		return f.Kind == record.KindWrites && f.Client < 0 && f.Outage < 0
	}) {
		open.add("writes did not succeed again while the load ran, and before the fault %s", e.lacked)
	}
	open = append(open, shardUnknowns(e)...)
	if e.acknowledged >= 0 && e.acknowledged < fewestWrites {
		open.add("only %s acknowledged in the second before the fault. At least %d are needed to notice a loss. "+
			"Increase the rate (--rate)", figure.Plural(int(e.acknowledged), "checked write"), fewestWrites)
		if r.Ledger != nil && r.Ledger.CoverageText() != "" {
			open.add("%s", r.Ledger.CoverageText())
		}
	}
	if why := untested(r); why != "" {
		open.add("%s", why)
	}
	if why := unread(r.Ledger); why != "" {
		open.add("%s", why)
	} else if lost := r.Ledger.LostWrites(); r.Ledger.Acknowledged == 0 && r.Expect.Loss != spec.LossAny {
		open.add("no write was acknowledged, so none could be lost")
	} else if r.Expect.Loss == spec.LossUnknown {
		text := "no acknowledged write was lost"
		if lost > 0 {
			text = r.Ledger.LostText() + " lost"
		}
		open.add("%s, but it is not known which may be. %s", text, sentence(r.Promise))
	} else if lost > 0 && r.Expect.Loss == spec.LossWindow {
		open = append(open, unsureWindow(r.Ledger, r.Expect.LossWindow)...)
	}
	if l := r.Ledger; l != nil && l.Divided > 0 && r.Expect.Loss != spec.LossNone && r.Expect.Loss != "" {
		open.add("%s without an answer may have been applied in part: a loss of acknowledged updates of the same documents, which "+
			"may be lost here, has the same numbers", figure.Plural(int(l.Divided), "transaction"))
	}
	_, late := limits(r)
	return append(open, late...)
}

// unrecovered returns which operations did not succeed again after a planned event, although the load went on for
// that. How long they would have failed is not known.
func unrecovered(r *record.DrillRound) (open list) {
	event := slices.IndexFunc(r.Faults, func(f record.DrillFault) bool { return f.Event != nil })
	if event < 0 {
		return nil
	}
	for _, kind := range []string{record.KindWrites, record.KindReads} {
		if e := r.Of(kind, ""); e != nil && e.Outage < 0 && e.OutageFrom >= 0 {
			open.add("no %s succeeded in the last %s of the load, although it continued after %s. Allow more time for it "+
				"(--recovery)", kind, durationText(r.WindowEnd-e.OutageFrom), r.Faults[event].Fault)
		}
	}
	return open
}

// unsureWindow says why it is not known whether the lost writes are within the allowed window.
func unsureWindow(l *record.LedgerResult, allowed spec.Duration) (open list) {
	if l.LostUntimed > 0 {
		open.add("%s lost, but when they were acknowledged is not known", figure.Plural(int(l.LostUntimed), "acknowledged write"))
	}
	if l.LossMost > int64(allowed) && l.LossLeast <= int64(allowed) {
		open.add("%s lost. The oldest was acknowledged between %s and %s before the fault took effect, and %s are allowed. The "+
			"moment when the fault took effect is not known more exactly", l.LostText(), durationText(l.LossLeast),
			durationText(l.LossMost), allowed)
	}
	return open
}

// shardUnknowns returns the reasons why a round shows nothing about a shard that was struck.
func shardUnknowns(e evidence) []string {
	r := e.round
	if !e.sharded || !anyInjected(r.Faults) {
		return nil
	}
	external := slices.ContainsFunc(r.Faults, anywhere)
	strikes := external || slices.ContainsFunc(r.Faults, func(f record.DrillFault) bool { return len(f.Shards) > 0 })
	if len(r.Shards) == 0 && strikes {
		return []string{strings.TrimSuffix(r.Placement, ".") +
			". So it is not known whether the fault struck a shard with writes"}
	}
	which, hint := "the struck shard", "Increase the rate (--rate)"
	if external {
		which = "possibly the struck shard"
	}
	if e.collection != "" {
		hint += fmt.Sprintf(", or spread the collection before the drill: sh.shardCollection(%q, {_id: \"hashed\"})",
			e.collection)
	}
	var open list
	for _, s := range r.Shards {
		if s.Struck && s.AcknowledgedBefore < fewestWrites {
			open.add("%s, %s, acknowledged only %s in the second before the fault. At least %d are needed to notice a loss. %s",
				s.Name, which, figure.Plural(int(s.AcknowledgedBefore), "checked write"), fewestWrites, hint)
		}
	}
	return open
}

// unread says why the final read is not complete, "" if it is.
func unread(l *record.LedgerResult) string {
	if l == nil {
		return "nothing was read after the load"
	}
	final := slices.IndexFunc(l.Reads, func(r record.LedgerRead) bool { return r.Source == finalRead })
	if final < 0 {
		return "there was no final read"
	}
	if why := l.Reads[final].Problem; why != "" {
		return "the final read failed: " + why
	}
	if n := l.Inserts[record.WriteNeverRead] + l.Updates[record.WriteNeverRead]; n > 0 {
		return figure.Plural(int(n), "write") + " not covered by the final read"
	}
	return ""
}

// sentence begins with a capital letter.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func detail(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

func durationText(ns int64) string {
	if ns < 0 {
		return "not known"
	}
	return figure.Duration(time.Duration(ns))
}

// overall is the verdict of all rounds: the worst one, with its reasons.
func overall(rounds []record.DrillRound) (verdict record.DrillVerdict, reasons []string) {
	if len(rounds) == 0 {
		return record.Unknown, []string{"no round was run"}
	}
	severity := map[record.DrillVerdict]int{record.Holds: 0, record.Violated: 2}
	rank := func(v record.DrillVerdict) int {
		if n, known := severity[v]; known {
			return n
		}
		return 1
	}
	verdict = record.Holds
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

// statement says what n rounds show about losses. lossy of them lost acknowledged writes.
func statement(n, lossy int) string {
	switch {
	case n == 0:
		return "No round says anything about losses, because none had acknowledged writes, an audit and a verdict."
	case lossy > 0 && n == 1:
		return "The round lost acknowledged writes. Repeat it (--repeat) to see how often that happens."
	case lossy > 0:
		return fmt.Sprintf("%d of %s lost acknowledged writes.", lossy, figure.Plural(n, "round"))
	case n == 1:
		return "One round lost nothing. A single round is weak evidence: a fault that loses writes in 95 % of cases still " +
			"looks like this once in twenty. Repeat it (--repeat)."
	}
	return fmt.Sprintf("No loss in %d rounds. With 95 %% confidence, a fault like this loses acknowledged writes in at most "+
		"%s of cases. A bound of less than 1 %% takes %d rounds.",
		n, figure.Percent(stats.RareBound(n, confidence)), stats.RareTrials(0.01, confidence))
}
