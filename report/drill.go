package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// DrillTitle is the verdict of a drill in one line: what held, for how long it was out, and what it lost. What clients
// noticed differently is told apart.
func DrillTitle(d *record.Drill) string {
	text := d.Specification.Name + onEngine(d.Engine) + ": " + DrillVerdict(d)
	if d.Status == record.Running {
		return text
	}
	list := DrillManners(d)
	if len(list) < 2 {
		if len(list) == 1 && mannerOutage(&list[0]) != "" {
			text += ", outage " + mannerOutage(&list[0]) + outageOf(d)
		}
		return text + ", " + DrillLoss(d)
	}
	for i := range list {
		m := &list[i]
		text += "; " + MannerName(m.Manner) + ": "
		if out := mannerOutage(m); out != "" {
			text += "outage " + out + ", "
		}
		text += mannerLoss(m) + windowOf(d, m.Manner)
	}
	return text
}

// onEngine says on which engine something was done, "" where nothing says it.
func onEngine(engine string) string {
	if engine == "" {
		return ""
	}
	return " on " + engine
}

// DrillVerdict is the verdict with how far the drill came.
func DrillVerdict(d *record.Drill) string {
	if d.Status == record.Running {
		return drillRunning(d)
	}
	text := string(d.Verdict)
	if measure.Worst(d.Validity) == measure.Invalid {
		text = Brief(validityWords(d.Validity))
	}
	if d.Status != record.Complete {
		text += " (" + string(d.Status) + ")"
	}
	return text
}

// drillRunning is how far a drill is that goes on, with the verdicts of the rounds that are over.
func drillRunning(d *record.Drill) string {
	verdicts := map[record.DrillVerdict]int{}
	over := 0
	for _, r := range d.Rounds {
		if r.Status != record.Running {
			verdicts[r.Verdict]++
			over++
		}
	}
	text := "running"
	if n := int(d.Specification.Repeat); n > 1 {
		text += fmt.Sprintf(", round %d of %d", min(over+1, n), n)
	}
	for _, v := range []record.DrillVerdict{record.Violated, record.Unknown, record.Holds} {
		if verdicts[v] > 0 {
			text += fmt.Sprintf(", %d %s", verdicts[v], v)
		}
	}
	return text
}

// DrillLoss is what was lost, each manner told apart if there are several.
func DrillLoss(d *record.Drill) string {
	list := DrillManners(d)
	switch len(list) {
	case 0:
		return mannerLoss(&record.DrillManner{})
	case 1:
		return mannerLoss(&list[0]) + windowOf(d, list[0].Manner)
	}
	var parts []string
	for i := range list {
		parts = append(parts, MannerName(list[i].Manner)+": "+mannerLoss(&list[i])+windowOf(d, list[i].Manner))
	}
	return strings.Join(parts, "; ")
}

func nanoseconds(ns float64) string { return figure.Duration(time.Duration(ns)) }

// DrillSections say what a drill found, the verdict first.
func DrillSections(d *record.Drill) []Section {
	list := []Section{drillHead(d)}
	for i := range d.Rounds {
		r := &d.Rounds[i]
		name := ""
		if len(d.Rounds) > 1 {
			name = fmt.Sprintf("round %d: ", r.Number)
		}
		for _, story := range DrillStories(r) {
			list = append(list, drillTimeline(r, story, name))
		}
		list = append(list, drillEffects(r, name), drillShards(r, name), drillClients(r, name), drillLedger(r, name),
			drillReads(r, name), drillLost(r, name), drillJudged(r, name), drillStaleness(r, name))
	}
	list = append(list, drillManners(d), drillDistribution(d), drillAgain(d))
	return slices.DeleteFunc(list, func(s Section) bool {
		return (s.Table == nil || len(s.Table.Rows) == 0) && len(s.Lines) == 0 && len(s.Points) == 0
	})
}

// drillHead is what is read first.
func drillHead(d *record.Drill) Section {
	s := Section{}
	if d.Status == record.Running {
		return Section{Lines: []string{"It goes on; what it finds comes when its rounds are over."}}
	}
	for _, text := range d.Reasons {
		mark := "warning "
		if d.Verdict == record.Holds {
			mark = "note "
		}
		s.Points = append(s.Points, mark+text)
	}
	if d.Problem != "" {
		s.Points = append(s.Points, "warning "+d.Problem)
	}
	s.Lines = append(s.Lines, statements(d)...)
	for i := range d.Rounds {
		r := &d.Rounds[i]
		if i == 0 && r.Promise != "" {
			s.Lines = append(s.Lines, "Expected: "+expectation(r.Expect)+" ("+r.Promise+").")
		}
		if r.Problem != "" && r.Problem != d.Problem {
			s.Points = append(s.Points, "warning round "+strconv.Itoa(r.Number)+": "+r.Problem)
		}
		if left := drillLeft(r); left != "" {
			s.Points = append(s.Points, "note "+ofRound(d, r)+left)
		}
		for _, u := range r.Unread {
			if text := "note not read: " + u; !slices.Contains(s.Points, text) { // each round may say the same
				s.Points = append(s.Points, text)
			}
		}
	}
	for _, f := range d.Validity {
		s.Points = append(s.Points, string(f.Severity)+" "+f.Text)
	}
	return s
}

// expectation is what had to hold, in words.
func expectation(e spec.Expect) string {
	text := "no acknowledged write is lost"
	switch e.Loss {
	case spec.LossUnknown:
		text = "what may be lost is not known"
	case spec.LossAny:
		text = "acknowledged writes may be lost"
	case spec.LossWindow:
		text = fmt.Sprintf("acknowledged writes of the last %v before the fault may be lost", e.LossWindow)
	}
	if e.Outage > 0 {
		text += fmt.Sprintf(", an outage of at most %v", e.Outage)
	}
	if e.Recovery > 0 {
		text += fmt.Sprintf(", the throughput back after at most %v", e.Recovery)
	}
	if e.NoErrors {
		text += ", no errors"
	}
	return text
}

// drillPhases are the names of the moments of a drill.
var drillPhases = map[string]string{
	record.MomentFault: "fault", record.MomentFirstError: "first client error", record.MomentPrimaryOut: "primary gone from the client's view",
	record.MomentElected: "new primary", record.MomentFirstRead: "first read", record.MomentFirstWrite: "first acknowledged write",
	record.MomentReadsBack: "95 % of the reads", record.MomentWritesBack: "95 % of the writes", record.MomentThroughput: "95 % of the throughput",
	record.MomentHealed: "healed", record.MomentRedundant: "redundancy back",
}

// DrillMoment is the name of a moment of a drill.
func DrillMoment(kind string) string { return cmp.Or(drillPhases[kind], kind) }

// drillStages are the names of the stages of a round that goes on.
var drillStages = map[string]string{
	record.StagePrepare: "preparing", record.StageLoad: "load, nothing is broken yet", record.StageBroken: "the fault is in place",
	record.StageHealing: "healing", record.StageHealed: "load, everything is healed", record.StageRecovery: "waiting until redundancy is back",
	record.StageAudit: "audit: everything is read back",
}

// DrillStage is the name of a stage of a round that goes on.
func DrillStage(stage string) string { return cmp.Or(drillStages[stage], stage) }

// drillTimeline is what happened, counted from the first fault, in one story of several.
func drillTimeline(r *record.DrillRound, story DrillStory, name string) Section {
	title := "timeline"
	if story.Shard != "" {
		title += " of " + story.Shard
	}
	s := Section{Title: name + title, Named: name != "", Table: &Table{Header: []string{"moment", "after the fault", "step", "what"}, Left: 1, Last: 1}}
	if len(r.Faults) == 0 {
		return s
	}
	first := r.Faults[0].Injected
	last := first
	for _, m := range story.Moments {
		s.Table.row(DrillMoment(m.Kind), nanoseconds(float64(m.At-first)), "+"+nanoseconds(float64(m.At-last)), m.Text)
		last = m.At
	}
	if story.Beside {
		s.Lines = append(s.Lines, fmt.Sprintf("No fault struck %s. Operations on it also stop while all workers wait for a shard that was struck; more workers (--workers) show the difference.", story.Shard))
	}
	for _, f := range story.Faults {
		text := fmt.Sprintf("%s (%s), done to %s", f.Fault, f.Manner, f.Target)
		switch {
		case f.Manner == "":
			s.Points = append(s.Points, fmt.Sprintf("warning %s (%s): %s", f.Fault, notInjected, f.Problem))
		case f.Hit:
			s.Lines = append(s.Lines, text+": "+f.Evidence)
		default:
			s.Points = append(s.Points, "warning "+text+": no effect was seen "+f.Evidence+f.Problem)
		}
	}
	return s
}

// notInjected stands in the place of the manner of a fault that could not be done, of which clients noticed nothing.
const notInjected = "not injected"

// roundManner is the manner of a round in a table.
func roundManner(r *record.DrillRound) string {
	manner := strings.ReplaceAll(r.Manner(), "+", " and ")
	if manner == "" && len(r.Faults) > 0 && !slices.ContainsFunc(r.Faults, func(f record.DrillFault) bool { return f.Manner != "" }) {
		return notInjected
	}
	return cmp.Or(manner, "–")
}

// drillEffects is what the faults meant for operations.
func drillEffects(r *record.DrillRound, name string) Section {
	s := Section{Title: name + "outage", Named: name != "", Table: &Table{Header: append([]string{"class"}, effectColumns...), Left: 1}}
	for _, e := range r.Effects {
		if e.Client == -1 && e.Shard == "" {
			s.Table.row(append([]string{effectName(e)}, effectCells(r, e)...)...)
		}
	}
	return s
}

// drillClients is what the faults meant for each load process, where there are several.
func drillClients(r *record.DrillRound, name string) Section {
	s := Section{Title: name + "outage by client", Named: name != "", Long: true,
		Table: &Table{Header: append([]string{"client", "class"}, effectColumns...), Left: 2}}
	for _, e := range r.Effects {
		if e.Client >= 0 {
			s.Table.row(append([]string{strconv.Itoa(e.Client), effectName(e)}, effectCells(r, e)...)...)
		}
	}
	return s
}

// effectColumns are the columns of [effectCells].
var effectColumns = []string{"ok/s before", "outage", "began after", "95 % again after", "missing", "failed"}

// effectCells are the figures of one effect, with times since the first fault.
func effectCells(r *record.DrillRound, e record.DrillEffect) []string {
	began := "–"
	if e.OutageFrom >= 0 && len(r.Faults) > 0 {
		began = nanoseconds(float64(e.OutageFrom - r.Faults[0].Injected))
	}
	return []string{figure.Rate(e.Before), orNever(e.Outage), began, orUnseen(e.Recovery), figure.Count(int64(e.Missing)), figure.Count(e.Failed)}
}

func orNever(ns int64) string {
	if ns < 0 {
		return "did not end"
	}
	return nanoseconds(float64(ns))
}

// orUnseen is a time until which the load may have been over.
func orUnseen(ns int64) string {
	if ns < 0 {
		return "not in the load"
	}
	return nanoseconds(float64(ns))
}

// ofRound names a round where there are several.
func ofRound(d *record.Drill, r *record.DrillRound) string {
	if len(d.Rounds) < 2 {
		return ""
	}
	return "round " + strconv.Itoa(r.Number) + ": "
}

// drillDistribution is each round in one line.
func drillDistribution(d *record.Drill) Section {
	s := Section{Title: "rounds", Table: &Table{Header: []string{"round", "verdict", "manner", "outage", "95 % again after", "lost", "loss window", "acknowledged"}, Left: 3}}
	if len(d.Rounds) < 2 {
		return Section{}
	}
	for i := range d.Rounds {
		r := &d.Rounds[i]
		outage, recovery, lost, window, acked := "–", "–", "–", "–", "–"
		if e := r.Headline(); e != nil {
			outage, recovery = orNever(e.Outage), orUnseen(e.Recovery)
		}
		if l := r.Ledger; l != nil {
			lost, acked = figure.Count(l.LostWrites()), figure.Count(l.Acknowledged)
			if l.LossWindow >= 0 {
				window = nanoseconds(float64(l.LossWindow))
			}
		}
		s.Table.row(strconv.Itoa(r.Number), string(r.Verdict), roundManner(r), outage, recovery, lost, window, acked)
	}
	return s
}

// DrillTarget is what a drill loaded, and through what.
func DrillTarget(d *record.Drill) string {
	if d.Specification.Run.Via == spec.ViaREST {
		return d.Specification.Run.Target + ", through a REST service"
	}
	return d.Specification.Run.Target
}

// drillAgain says what was loaded, and where the record of each round is.
func drillAgain(d *record.Drill) Section {
	s := Section{Title: "what was done"}
	s.Lines = append(s.Lines, fmt.Sprintf("%s, %s", DrillTarget(d), d.Started.UTC().Format("2006-01-02 15:04:05 UTC")))
	for _, r := range d.Rounds {
		if r.Means != "" {
			s.Lines = append(s.Lines, r.Level+": "+r.Means)
			break
		}
	}
	for _, r := range d.Rounds {
		s.Lines = append(s.Lines, "record of the run: "+r.Record)
	}
	return s
}

// DrillMarkdown writes a drill in the dialect of pull requests.
func DrillMarkdown(w io.Writer, d *record.Drill) error {
	return markdown(w, DrillTitle(d), DrillSections(d))
}
