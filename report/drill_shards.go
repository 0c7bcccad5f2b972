package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// DrillStory is what happened in a round on one part of the target.
type DrillStory struct {
	// Shard is the part; "" is all of the target.
	Shard   string
	Moments []record.DrillMoment
	// Faults are those of the story.
	Faults []record.DrillFault
	// Beside says that no fault struck this shard, but others.
	Beside bool
}

// drillStories are the stories of a round: one, or one for each shard on which something happened, each with what
// concerns all shards. A fault that hit no shard, such as one of a router, is shown with the first story.
func drillStories(r *record.DrillRound) []DrillStory {
	var shards []string
	add := func(name string) {
		if name != "" && !slices.Contains(shards, name) {
			shards = append(shards, name)
		}
	}
	for _, f := range r.Faults { // those that were struck come first
		for _, name := range slices.Sorted(slices.Values(f.Shards)) {
			add(name)
		}
	}
	struck := len(shards)
	for _, s := range r.Shards {
		if slices.ContainsFunc(r.Moments, func(m record.DrillMoment) bool { return m.Shard == s.Name }) {
			add(s.Name)
		}
	}
	if len(shards) == 0 {
		return []DrillStory{{Moments: r.Moments, Faults: r.Faults}}
	}
	var list []DrillStory
	for i, name := range shards {
		story := DrillStory{Shard: name, Beside: struck > 0 && i >= struck}
		for _, m := range r.Moments {
			if m.Shard == "" && !concernsOther(r, m, name) || m.Shard == name {
				story.Moments = append(story.Moments, m)
			}
		}
		for _, f := range r.Faults {
			if slices.Contains(f.Shards, name) || i == 0 && len(f.Shards) == 0 {
				story.Faults = append(story.Faults, f)
			}
		}
		list = append(list, story)
	}
	return list
}

// concernsOther says whether a moment is that of a fault which struck other shards than the named one, where something
// struck that too.
func concernsOther(r *record.DrillRound, m record.DrillMoment, shard string) bool {
	of := []string{record.MomentFault, record.MomentHealed, record.MomentEvent, record.MomentEnded}
	if !slices.Contains(of, m.Kind) || m.Fault >= len(r.Faults) ||
		m.Fault == 0 && (m.Kind == record.MomentFault || m.Kind == record.MomentEvent) {
		return false // times count from the first fault
	}
	struck := r.Faults[m.Fault].Shards
	return len(struck) > 0 && !slices.Contains(struck, shard)
}

func drillShards(r *record.DrillRound) Section {
	s := Section{Title: "shards", Table: &Table{Header: []string{"shard", "hit by the fault", "writes/s before",
		"outage of reads", "outage of writes", "new primary after", "acknowledged", "lost", "oldest lost write"}, Left: 2}}
	if r.Placement != "" {
		s.Lines = append(s.Lines, Capitalised(r.Placement)+".")
	}
	for _, shard := range r.Shards {
		struck := yesNo(shard.Struck)
		if shard.Struck && slices.ContainsFunc(r.Faults, func(f record.DrillFault) bool { return f.Mode == "unknown" }) {
			struck = "not known"
		}
		primary, acked, lost, window := "–", "–", "–", "–"
		if shard.NewPrimary > 0 {
			primary = duration(shard.NewPrimary)
		}
		if l := ledgerOf(r, shard.Name); l != nil {
			acked, lost = figure.Count(l.Acknowledged), figure.Count(l.Lost)
			window = cmp.Or(windowText(l.LossWindow, l.LossAfter), window)
		}
		s.Table.row(shard.Name, struck, figure.Count(shard.AcknowledgedBefore), outageOn(r, record.KindReads, shard.Name),
			outageOn(r, record.KindWrites, shard.Name),
			primary, acked, lost, window)
	}
	if l := ledgerOf(r, ""); l != nil {
		s.Notes = append(s.Notes, fmt.Sprintf("the shard of %s is not known. %s of them are lost",
			figure.Plural(int(l.Acknowledged), "acknowledged write"), figure.Count(l.Lost)))
	}
	return s
}

// outageOn is the outage of a kind of operations on a shard. Where all operations were of one kind, that is the outage
// of all.
func outageOn(r *record.DrillRound, kind, shard string) string {
	e := r.Of(kind, shard)
	if e == nil && kind == record.KindWrites {
		e = r.Of("", shard)
	}
	if e == nil || e.OutageFrom < 0 {
		return "–"
	}
	return orNever(e.Outage)
}

// ledgerOf is what became of the writes of a shard, nil if nothing is known.
func ledgerOf(r *record.DrillRound, shard string) *record.LedgerShard {
	if r.Ledger == nil {
		return nil
	}
	for i := range r.Ledger.Shards {
		if s := &r.Ledger.Shards[i]; s.Shard == shard {
			return s
		}
	}
	return nil
}

// effectName is what an effect is about: all operations, those of a kind, or a class.
func effectName(e record.DrillEffect) string {
	switch e.Kind {
	case record.KindReads:
		return "all reads"
	case record.KindWrites:
		return "all writes"
	}
	return cmp.Or(e.Class, "all")
}

// kindOutage is the outage of reads or of writes in a round.
type kindOutage struct {
	kind   string
	length int64
	ended  bool
	effect *record.DrillEffect
}

func (k kindOutage) text() string {
	if !k.ended {
		return "more than " + duration(k.length) + " (did not end)"
	}
	if k.effect.Blind() {
		return duration(k.length) + " (" + blindText(k.effect) + ")"
	}
	return duration(k.length)
}

// blindText says that most of an outage is the timeout of the clients.
func blindText(e *record.DrillEffect) string {
	return duration(e.Hung) + " of it is the timeout of operations on connections that hung"
}

// kindOutages are the outages of writes and of reads in a drill of one round, of both, one or none.
func kindOutages(d *record.Drill) (list []kindOutage) {
	if len(d.Rounds) != 1 {
		return nil
	}
	r := &d.Rounds[0]
	e := r.Headline()
	if e == nil {
		return nil
	}
	for _, kind := range []string{record.KindWrites, record.KindReads} {
		if length, ended := r.KindOutage(kind, e.Shard); length > 0 {
			list = append(list, kindOutage{kind, length, ended, r.Of(kind, e.Shard)})
		}
	}
	return list
}

// outageText is the outage of a drill: of writes and of reads where that is known, otherwise of all operations.
func outageText(d *record.Drill, all string) string {
	var parts []string
	for _, k := range kindOutages(d) {
		parts = append(parts, "of "+k.kind+" "+k.text())
	}
	text := "outage " + cmp.Or(strings.Join(parts, ", "), all)
	if len(d.Rounds) == 1 {
		e := d.Rounds[0].Headline()
		if len(parts) == 0 && e != nil && e.Blind() {
			text += " (" + blindText(e) + ")"
		}
		if e != nil && e.Shard != "" {
			text += " on " + e.Shard
		}
	}
	return text
}
