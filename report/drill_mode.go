package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/suite/judge"
)

// modeNames are what clients notice of a fault. Those that are left out are words already.
var modeNames = map[string]string{
	fault.Crash: "crash (connections break)", fault.BlackHole: "black hole (connections hang)",
	fault.Planned: "planned hand-over", fault.Unknown: "injected from outside",
}

// modeName is a failure mode in words; see [record.DrillMode].
func modeName(mode string) string {
	var list []string
	for name := range strings.SplitSeq(mode, "+") {
		list = append(list, cmp.Or(modeNames[name], name, "no fault"))
	}
	return strings.Join(list, " and ")
}

// modeWord is a failure mode without its explanation.
func modeWord(mode string) string { return strings.ReplaceAll(mode, "+", " and ") }

// DrillModes are the rounds of a drill by what clients noticed: those of its record, or, of one that is older, as its
// rounds have it. Where the record has the figures of all rounds only, they are those of one mode.
func DrillModes(d *record.Drill) []record.DrillMode {
	list := d.Modes
	if len(list) == 0 {
		list = d.ByMode()
	}
	if len(list) < 2 && (d.Outages != nil || d.Losses != nil) {
		one := record.DrillMode{Rounds: len(d.Rounds)}
		if len(list) == 1 {
			one = list[0]
		}
		one.Outages, one.Losses, one.Statement = d.Outages, d.Losses, d.Statement
		return []record.DrillMode{one}
	}
	return list
}

// modeOutage is the outage of the rounds of a failure mode; "" if none is known.
func modeOutage(m *record.DrillMode) string {
	text := ""
	switch {
	case m.Outages == nil && m.Unended == 1 && m.Rounds == 1:
		return "that did not end while the load ran"
	case m.Outages == nil && m.Unended == 0:
		return ""
	case m.Outages == nil:
	case len(m.Outages.Values) == 1:
		text = duration(m.Outages.Values[0])
	default:
		text = duration(m.Outages.Median) + " (median), " + duration(m.Outages.Max) + " (longest)"
	}
	if m.Unended > 0 {
		text = strings.TrimPrefix(fmt.Sprintf("%s and one that did not end while the load ran in %d of %s", text, m.Unended, figure.Plural(m.Rounds, "round")), " and ")
	}
	return text
}

// lossText is what the rounds of a failure mode lost.
func lossText(d *record.Drill, m *record.DrillMode) string {
	loss, silent := judge.LossText(m.Losses), 0
	for i := range d.Rounds {
		r := &d.Rounds[i]
		if r.Ledger != nil && r.Mode() == m.Mode && r.Ledger.ReadBack() && r.Ledger.Acknowledged == 0 {
			silent++
		}
		if r.Ledger != nil && r.Mode() == m.Mode && r.Ledger.LostAtLeast && r.Ledger.LostWrites() > 0 {
			loss = "at least " + strings.TrimPrefix(strings.TrimPrefix(loss, "at least "), "up to ")
		}
	}
	if m.Losses == nil && silent > 0 && silent == m.Rounds {
		return "no write was acknowledged, so none could be lost"
	}
	return loss
}

// lossCount is what the rounds of a failure mode lost, and whether that was allowed.
func lossCount(d *record.Drill, m *record.DrillMode) string {
	loss := lossText(d, m)
	if by, forbidden := lossJudged(d, m); by != "" {
		loss += ", which " + by + " allows"
	} else if forbidden != "" {
		loss += ", " + forbidden
	}
	return loss
}

// lossOf is what the rounds of a failure mode lost, and whether that was allowed, as the end of a headline.
func lossOf(d *record.Drill, m *record.DrillMode) string {
	oldest, after, hidden, coverage := int64(-1), int64(0), int64(0), ""
	for i := range d.Rounds {
		r := &d.Rounds[i]
		if r.Ledger == nil || r.Mode() != m.Mode {
			continue
		}
		oldest, after = max(oldest, r.Ledger.LossWindow), max(after, r.Ledger.LossAfter)
		hidden = max(hidden, r.Ledger.Hidden)
		coverage = cmp.Or(r.Ledger.CoverageText(), coverage)
	}
	loss := lossCount(d, m)
	if hidden > 0 {
		loss += fmt.Sprintf(", %s hidden at most", figure.Count(hidden))
	}
	if text := windowText(oldest, after); text != "" {
		loss += " (acknowledged " + text + ")"
	}
	if coverage != "" {
		loss += "; " + coverage
	}
	return loss
}

// lossJudged is what allows the losses of the rounds of a failure mode, or that they are not allowed. Both are empty
// without losses.
func lossJudged(d *record.Drill, m *record.DrillMode) (by, forbidden string) {
	for i := range d.Rounds {
		r := &d.Rounds[i]
		switch {
		case r.Ledger == nil || r.Mode() != m.Mode || r.Ledger.LostWrites() == 0:
		case r.LossAllowed():
			by = allowedBy(d, r)
		case r.Expect.Loss != spec.LossUnknown:
			return "", "which had to survive"
		default:
			forbidden = "not known whether that is allowed"
		}
	}
	if forbidden != "" {
		by = ""
	}
	return by, forbidden
}

// allowedBy is what allows a round to lose writes: the specification of the drill, or the write concern.
func allowedBy(d *record.Drill, r *record.DrillRound) string {
	asked := d.Specification.Run.Durability.Effective()
	switch {
	case d.Specification.Expect != nil && d.Specification.Expect.Loss != "":
		return "the drill"
	case r.Level != "":
		return "the durability level " + r.Level
	case asked.W != "" && asked.Journal != nil && *asked.Journal:
		return "w:" + asked.W + ", j:true"
	case asked.W != "":
		return "w:" + asked.W
	}
	return "the write concern"
}

// statements are what so many rounds allow to say, each mode by itself.
func statements(d *record.Drill) []string {
	list := DrillModes(d)
	if len(list) < 2 {
		if d.Statement == "" {
			return nil
		}
		return []string{d.Statement}
	}
	var lines []string
	for _, m := range list {
		if m.Statement != "" {
			lines = append(lines, Capitalised(modeName(m.Mode))+": "+m.Statement)
		}
	}
	return lines
}

func drillModes(d *record.Drill) Section {
	s := Section{Title: "outages by failure mode", Table: &Table{Header: []string{"failure mode", "rounds", "median outage", "longest", "did not end", "rounds with lost writes"}, Left: 1}}
	if len(d.Rounds) < 2 {
		return Section{}
	}
	for _, m := range DrillModes(d) {
		median, longest := "–", "–"
		if m.Outages != nil {
			median, longest = duration(m.Outages.Median), duration(m.Outages.Max)
		}
		s.Table.row(modeName(m.Mode), figure.Count(int64(m.Rounds)), median, longest, figure.Count(int64(m.Unended)),
			figure.Count(int64(m.Lossy)))
	}
	return s
}

// drillLeft says how much of the throughput was left while something was slow, "" if nothing was.
func drillLeft(r *record.DrillRound) string {
	e := r.Headline()
	if e == nil || e.Before <= 0 || !slices.ContainsFunc(r.Faults, func(f record.DrillFault) bool {
		return f.Mode == fault.Late && f.Injected > 0
	}) {
		return ""
	}
	return fmt.Sprintf("while the fault was in place, throughput was %s ok/s. That is %s of the %s ok/s before the fault", figure.Rate(e.During), figure.Percent(e.During/e.Before), figure.Rate(e.Before))
}

// drillAnswer says whether a drill holds, what was lost, and how long it was out. What clients noticed differently is
// told apart.
func drillAnswer(d *record.Drill) string {
	text := drillVerdict(d)
	if d.Status == record.Running {
		return text
	}
	if lied(d) {
		text += " on a LYING disk"
	}
	list := DrillModes(d)
	if len(list) < 2 {
		var one record.DrillMode
		if len(list) == 1 {
			one = list[0]
		}
		text += ": " + strings.TrimPrefix(isolationAnswer(d)+"; ", "; ") + strings.TrimSuffix(lossText(d, &one), " in a round")
		switch o := one.Outages; {
		case o != nil && len(o.Values) > 1 && one.Unended == 0:
			text += "; outage " + duration(o.Median) + ", at most " + duration(o.Max)
		case modeOutage(&one) != "":
			text += "; " + outageText(d, modeOutage(&one))
		}
		return text
	}
	for i := range list {
		m := &list[i]
		text += "; " + modeWord(m.Mode) + ": "
		if out := modeOutage(m); out != "" {
			text += "outage " + out + ", "
		}
		text += lossCount(d, m)
	}
	return text
}

// lied says whether a disk confirmed flushes that it did not do.
func lied(d *record.Drill) bool {
	return slices.ContainsFunc(d.Rounds, func(r record.DrillRound) bool {
		return slices.ContainsFunc(r.Faults, func(f record.DrillFault) bool {
			return f.Fault.Name == fault.DiskLie && f.Hit
		})
	})
}

// lostAny is the round that lost the most acknowledged writes, nil if none did.
func lostAny(d *record.Drill) (worst *record.DrillRound) {
	for i := range d.Rounds {
		if r := &d.Rounds[i]; r.Ledger != nil && r.Ledger.LostWrites() > 0 &&
			(worst == nil || r.Ledger.LostWrites() > worst.Ledger.LostWrites()) {
			worst = r
		}
	}
	return worst
}

// lossPoints say that writes were lost although that was allowed, and which setting keeps them.
func lossPoints(d *record.Drill) []Point {
	r := lostAny(d)
	if r == nil || d.Verdict == record.Violated || !r.LossAllowed() {
		return nil
	}
	text := r.Ledger.LostText() + " lost, as " + allowedBy(d, r) + " allows"
	if advice := lossAdvice(d, r); advice != "" {
		text += ": " + advice
	}
	return []Point{{Warn, "", text}}
}

// lossAdvice is the setting that keeps acknowledged writes, "" if it was set or is not known.
func lossAdvice(d *record.Drill, r *record.DrillRound) string {
	asked := d.Specification.Run.Durability.Effective()
	alone := r.Topology != nil && r.Topology.Kind == spec.LabStandalone
	switch {
	case alone || r.Level != "":
		if r.Level == "durable" || asked.Journal != nil && *asked.Journal {
			return ""
		}
		return "use --durability durable. Then a write is acknowledged when it is on a disk"
	case asked.W != "majority":
		return "use w:majority (--w majority). Then a write is acknowledged when most members have it"
	}
	return ""
}

// drillBasis is how many rounds the answer is based on, and how many writes were checked.
func drillBasis(d *record.Drill) string {
	acknowledged, unchecked, over := int64(0), int64(0), 0
	for i := range d.Rounds {
		r := &d.Rounds[i]
		if r.Status != record.Running {
			over++
		}
		if r.Ledger != nil {
			acknowledged, unchecked = acknowledged+r.Ledger.Acknowledged, unchecked+r.Ledger.UncheckedWrites()
		}
	}
	if over == 0 {
		return ""
	}
	text := figure.Plural(over, "round") + ", " + figure.Count(acknowledged) + " acknowledged writes checked"
	if over == 1 {
		text = "one round, " + figure.Count(acknowledged) + " acknowledged writes checked"
	}
	if unchecked > 0 {
		text += fmt.Sprintf(", %s not", figure.Count(unchecked))
	}
	return text
}

// drillSummary has the events of a single round, or else the rounds.
func drillSummary(d *record.Drill) *Table {
	if len(d.Rounds) != 1 {
		return roundsDone(d)
	}
	story := drillStories(&d.Rounds[0])[0]
	if len(d.Rounds[0].Faults) == 0 {
		return nil
	}
	t := &Table{Header: []string{"event", "after the request", "details"}, Last: 1}
	for _, m := range story.Moments {
		t.row(DrillMoment(m.Kind), duration(m.At-d.Rounds[0].Faults[0].Injected), m.Text)
	}
	return t
}
