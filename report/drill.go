package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func drillTitle(d *record.Drill) string { return d.Specification.Name + onEngine(d.Engine) }

// onEngine says on which engine something was done, "" where nothing says it.
func onEngine(engine string) string {
	if engine == "" {
		return ""
	}
	var names []string // without the versions of what belongs to an engine, which are among the facts
	for one := range strings.SplitSeq(engine, "; ") {
		name, _, _ := strings.Cut(one, ",")
		names = append(names, name)
	}
	return " on " + strings.Join(names, "; ")
}

// drillVerdict is the verdict with how far the drill came.
func drillVerdict(d *record.Drill) string {
	if d.Status == record.Running {
		return drillRunning(d)
	}
	text := string(d.Verdict)
	if measure.Worst(d.Validity) == measure.Invalid {
		text = doubt(d.Validity)
	}
	if d.Status != record.Complete {
		text += " (" + string(d.Status) + ")"
	}
	return text
}

// drillRunning is the progress of a running drill, with the verdicts of its finished rounds.
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

// drillLoss is what was lost, by failure mode if there are several.
func drillLoss(d *record.Drill) string {
	list := DrillModes(d)
	switch len(list) {
	case 0:
		return lossOf(d, &record.DrillMode{})
	case 1:
		return lossOf(d, &list[0])
	}
	var parts []string
	for i := range list {
		parts = append(parts, modeName(list[i].Mode)+": "+lossOf(d, &list[i]))
	}
	return strings.Join(parts, "; ")
}

// found is the ID of the section with the conclusion of a drill.
const found = "found"

func drillDocument(d *record.Drill, on *drillFiles) *Document {
	reasons := drillReasons(d)
	doc := &Document{Title: drillTitle(d), Grade: drillGrade(d), Problem: d.Problem, Brief: drillVerdict(d),
		Findings: append(reasons, findingPoints(d.Validity)...), Tiles: drillTiles(d), Checks: drillChecks(d)}
	doc.conclude(d.Validity, d.Status, drillAnswer(d), drillBasis(d), reasons...)
	doc.Answer = drillAnswer(d) // its verdict says whether it is invalid
	doc.Summary, doc.Next, doc.Facts = drillSummary(d), reportNext(), drillFacts(d)
	if n := lostAny(d); n != nil {
		doc.Brief += ", " + n.Ledger.LostText() + " lost"
	}
	concluded := Section{ID: found, Title: "conclusion", Lines: statements(d)}
	if d.Status == record.Running {
		concluded.Lines = []string{"The drill is running. Results appear when a round ends."}
	}
	doc.Sections = appendFilled(nil, concluded)
	for i := range d.Rounds {
		r := &d.Rounds[i]
		var round []Section
		for _, story := range drillStories(r) {
			round = append(round, drillTimeline(r, story))
		}
		for _, s := range append(round, drillCommands(r), drillNoticed(r), drillEffects(r, false), drillShards(r),
			drillEffects(r, true), drillLedger(r, d.Specification.Run.Client), drillReads(r), drillLost(r), drillJudged(r),
			drillStaleness(r), drillIsolation(r)) {
			if len(d.Rounds) > 1 {
				s.Group = fmt.Sprintf("round %d", r.Number)
			}
			if i > 0 {
				s.Lines = slices.DeleteFunc(s.Lines, explains)
			}
			doc.Sections = appendFilled(doc.Sections, s)
		}
	}
	doc.Sections = appendFilled(doc.Sections, drillModes(d), drillDistribution(d), drillRecords(d))
	if on != nil {
		doc.Tiles, doc.Sections = append(statusTiles(on.Status), doc.Tiles...), on.sections(doc.Sections)
	}
	return doc
}

// drillFacts are what was lost, what was planned and expected, and where the drill ran.
func drillFacts(d *record.Drill) []Fact {
	first, lost, external, means := &record.DrillRound{}, "", "", ""
	if len(d.Rounds) > 0 {
		first = &d.Rounds[0]
	}
	if d.Status != record.Running {
		lost = drillLoss(d)
	}
	facts := Facts("loss", lost)
	for _, f := range d.Specification.Faults {
		facts = append(facts, Fact{"fault", plannedFault(f)})
	}
	if d.Specification.External {
		external = "injected from outside and marked by hand"
	}
	facts = append(facts, Facts("moments", Delays(d.Specification), "fault", external)...)
	if first.Promise != "" {
		reason := Fact{"reason", Capitalised(first.Promise) + "."}
		facts = append(facts, slices.Insert(expectation(first.Expect), 1, reason)...)
	}
	if i := slices.IndexFunc(d.Rounds, func(r record.DrillRound) bool { return r.Means != "" }); i >= 0 {
		means = d.Rounds[i].Level + ": " + d.Rounds[i].Means
	}
	return slices.Concat(facts, Facts("durability", means, "load", drillLoad(d), "lab", drillLab(d), "failover", first.Failover),
		kubernetesFacts(first.Kubernetes), vsphereFacts(first.VSphere), Facts("target", drillTarget(d), "begun", begun(&d.Head)))
}

// drillGrade is that of a drill. Lost writes are never good, also where the write concern allows them.
func drillGrade(d *record.Drill) Grade {
	switch {
	case d.Verdict == record.Violated || d.Status == record.Failed:
		return Bad
	case d.Verdict == record.Holds && d.Status == record.Complete && lostAny(d) == nil &&
		gradeOf(d.Validity, d.Status) == Good:
		return Good
	}
	return Warn
}

// plannedFault is a fault as specified, with its times.
func plannedFault(f spec.Fault) string {
	text := f.Action.String()
	if f.From != "" {
		text += " from " + f.From
	}
	switch {
	case f.AtWorkers > 0:
		text += fmt.Sprintf(", when the load has %s workers", figure.Count(int64(f.AtWorkers)))
	case f.At > 0:
		text += fmt.Sprintf(", %v after the start of the measured time", f.At)
	}
	switch {
	case f.For > 0:
		text += fmt.Sprintf(", in place for %v, then reverted", f.For)
	case f.Stay:
		text += ", reverted after the audit"
	}
	return text
}

// explains reports whether a line explains a section.
func explains(line string) bool {
	return slices.Contains([]string{timeMeaning, noticedMeaning, effectMeaning, memberMeaning, ownDocuments, updateMeaning,
		guaranteeMeaning, staleMeaning, driverRepeats}, line)
}

// drillReasons are why the verdict is what it is, and what else has to be known.
func drillReasons(d *record.Drill) []Point {
	list := lossPoints(d)
	add := func(p Point) { // each round may say the same
		if !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	for _, text := range d.Reasons {
		if d.Problem != "" && strings.HasSuffix(text, d.Problem) {
			continue // the document has it already
		}
		grade := Warn
		if d.Verdict == record.Violated {
			grade = Bad
		}
		add(check(d.Verdict == record.Holds, grade, text, text))
	}
	for i := range d.Rounds {
		r := &d.Rounds[i]
		if r.Problem != "" && r.Problem != d.Problem {
			add(Point{Warn, "warning", fmt.Sprintf("round %d: %s", r.Number, r.Problem)})
		}
		if left := drillLeft(r); left != "" {
			add(Point{Note, "note", ofRound(d, r) + left})
		}
		found := slices.ContainsFunc(lostOf(r), func(w record.LostWrite) bool { return w.Found != "" })
		if found && d.Specification.Lab != nil {
			add(Point{Note, "note", "the files in which lost writes were found are removed with the lab of this drill. " +
				"To keep them, start the lab with plimsoll lab up, and drill lab:NAME"})
		}
		for _, u := range r.Unread {
			add(Point{Note, "note", "not read: " + u})
		}
	}
	return list
}

func lostOf(r *record.DrillRound) []record.LostWrite {
	if r.Ledger == nil {
		return nil
	}
	return r.Ledger.Lost
}

func drillTiles(d *record.Drill) (list []Tile) {
	modes := DrillModes(d)
	kinds := kindOutages(d)
	for _, k := range kinds {
		list = append(list, Tile{"outage of " + k.kind, k.text(), "one round"})
	}
	for _, m := range modes {
		of := ""
		if len(modes) > 1 { // one tile for each failure mode
			of = ", " + modeWord(m.Mode)
		}
		if m.Outages != nil && len(kinds) == 0 {
			list = append(list, Tile{"outage" + of, duration(m.Outages.Median), drillRounds(m.Outages)})
		}
		if m.Losses != nil {
			note := drillRounds(m.Losses)
			if by, forbidden := lossJudged(d, &m); by != "" {
				note += "; allowed by " + by
			} else if forbidden != "" {
				note += "; " + forbidden
			}
			list = append(list, Tile{"acknowledged writes lost" + of, figure.Count(int64(m.Losses.Max)), note})
		}
	}
	n := len(d.Rounds)
	if n == 0 {
		return list
	}
	r := &d.Rounds[n-1]
	for _, m := range r.Moments {
		if m.Kind == record.MomentRedundant && len(r.Faults) > 0 {
			list = append(list, Tile{"redundancy restored", duration(m.At - r.Faults[0].Injected),
				"after the fault"})
		}
	}
	if r.Ledger != nil {
		note := "each was checked"
		if n := r.Ledger.UncheckedWrites(); n > 0 {
			note = "each was checked; " + figure.Count(n) + " further writes were not"
		}
		list = append(list, Tile{"acknowledged writes", figure.Count(r.Ledger.Acknowledged), note})
	}
	return list
}

// drillRounds says what a figure of several rounds is: the middle one of outages, the greatest of losses.
func drillRounds(s *record.Spread) string {
	n := len(s.Values)
	switch {
	case n == 1:
		return "one round"
	case s.Unit == "ns":
		return fmt.Sprintf("median of %d rounds", n)
	}
	return fmt.Sprintf("most of %d rounds", n)
}

// drillChecks are the questions that the verdict is based on, answered for the finished rounds.
func drillChecks(d *record.Drill) []Point {
	over, complete, unhit, absent, unread, unjudged, seeds, found := 0, 0, 0, 0, 0, 0, 0, 0
	unchecked := int64(0)
	for i := range d.Rounds {
		r := &d.Rounds[i]
		if r.Status == record.Running {
			continue
		}
		over++
		if r.Status == record.Complete {
			complete++
		}
		for _, f := range r.Faults {
			if !f.Hit {
				unhit++
			}
		}
		absent += max(0, len(d.Specification.Faults)-len(r.Faults))
		unread += len(r.Unread)
		if r.Ledger == nil {
			unjudged++
		} else {
			unchecked += r.Ledger.UncheckedWrites()
		}
		seeds, found = seeds+r.Seeds, found+r.SeedsFound
	}
	if over == 0 {
		return nil
	}
	notChecked := figure.Count(unchecked) + " writes not checked"
	if unjudged > 0 {
		notChecked = "writes not checked in " + figure.Plural(unjudged, "round")
	}
	list := []Point{
		check(complete == over, Warn, figure.Plural(over, "round")+" complete",
			fmt.Sprintf("%d of %s complete", complete, figure.Plural(over, "round"))),
		check(unhit == 0 && absent == 0, Bad, "each fault took effect", missingFaults(unhit, absent)),
		check(unjudged == 0 && unchecked == 0, Bad, "all writes checked", notChecked),
		check(unread == 0 && unjudged < over, Warn, "all members read", "not all members read"),
		check(unjudged < over && !slices.ContainsFunc(d.Validity,
			func(f measure.Finding) bool { return f.ID == record.DrillRunInvalid }), Warn, "rates valid", "rates not valid"),
	}
	if seeds > 0 {
		list = append(list, check(found == seeds, Bad, "documents from before the load present",
			figure.Count(int64(seeds-found))+" documents from before the load lost"))
	}
	return list
}

func missingFaults(unhit, absent int) string {
	var parts []string
	if absent > 0 {
		parts = append(parts, figure.Plural(absent, "fault")+" not injected")
	}
	if unhit > 0 {
		parts = append(parts, figure.Plural(unhit, "fault")+" without effect")
	}
	return strings.Join(parts, ", ")
}

// expectation is what had to hold: each limit is a fact.
func expectation(e spec.Expect) []Fact {
	text := "No acknowledged write may be lost."
	switch e.Loss {
	case spec.LossUnknown:
		text = "It is not known which acknowledged writes may be lost."
	case spec.LossAny:
		text = "Acknowledged writes may be lost."
	case spec.LossWindow:
		text = fmt.Sprintf("Writes that were acknowledged in the last %v before the fault may be lost.", e.LossWindow)
	}
	facts := []Fact{{"expected", text}}
	if e.Outage > 0 {
		facts = append(facts, Fact{"expected", fmt.Sprintf("The outage lasts at most %v.", e.Outage)})
	}
	if e.Recovery > 0 {
		facts = append(facts, Fact{"expected", fmt.Sprintf("Throughput is restored within %v after the fault.", e.Recovery)})
	}
	if e.NoErrors {
		facts = append(facts, Fact{"expected", "No operation fails."})
	}
	return facts
}

var drillPhases = map[string]string{
	record.MomentFault: "fault", record.MomentFirstError: "first failed operation",
	record.MomentPrimaryOut: "primary lost, as clients see it",
	record.MomentElected:    "new primary", record.MomentFirstRead: "reads succeed again",
	record.MomentEtcd: "new leader of etcd", record.MomentRestart: "restarted by the lab",
	record.MomentFirstWrite: "writes succeed again",
	record.MomentReadsBack:  "rate of reads restored", record.MomentWritesBack: "rate of writes restored",
	record.MomentHealed: "fault reverted", record.MomentRedundant: "redundancy restored",
	record.MomentReturned: "command returned", record.MomentSeen: "first effect seen",
	record.MomentReverting:  "heal command started",
	record.MomentPodDeleted: "pod deleted", record.MomentPodPlaced: "new pod has a node",
	record.MomentAttached: "volume attached", record.MomentPodStarted: "new pod started", record.MomentPodReady: "new pod ready",
	record.MomentEvent: "event begun", record.MomentEnded: "event ended",
}

// DrillMoment is the name of a moment of a drill.
func DrillMoment(kind string) string { return cmp.Or(drillPhases[kind], kind) }

var drillStages = map[string]string{
	record.StagePrepare: "preparing", record.StageLoad: "load before the fault",
	record.StageBroken:  "the fault is in place",
	record.StageHealing: "reverting the fault", record.StageHealed: "load after the fault was reverted",
	record.StageRecovery: "waiting until redundancy is restored",
	record.StageAudit:    "audit: reading all writes",
}

// drillStage is the name of a stage of a running round.
func drillStage(stage string) string { return cmp.Or(drillStages[stage], stage) }

// drillTimeline is what happened, counted from the first fault, in one story of several.
func drillTimeline(r *record.DrillRound, story DrillStory) Section {
	title := "timeline"
	if story.Shard != "" {
		title += " of " + story.Shard
	}
	s := Section{Title: title, Table: &Table{Header: []string{"event", "after the request", "after the last event", "details"}, Left: 1,
		Last: 1}}
	if len(r.Faults) == 0 {
		return s
	}
	first := r.Faults[0].Injected
	last := first
	if len(story.Moments) > 0 {
		s.Lines = append(s.Lines, timeMeaning)
	}
	for _, m := range story.Moments {
		s.Table.row(DrillMoment(m.Kind), duration(m.At-first), "+"+duration(m.At-last), m.Text)
		last = m.At
	}
	if story.Beside {
		s.Lines = append(s.Lines,
			fmt.Sprintf("No fault was injected into %s. Its operations also stop while all workers wait for a faulted shard; use more workers (--workers) to see the difference.", story.Shard))
	}
	for _, f := range story.Faults {
		text := fmt.Sprintf("%s on %s", f.Fault, f.Target)
		switch {
		case f.Mode == "":
			s.Points = append(s.Points, Point{Warn, "warning",
				fmt.Sprintf("%s (%s): %s", f.Fault, notInjected, f.Problem)})
		case f.Hit:
			s.Lines = append(s.Lines, fmt.Sprintf("%s took effect: %s. Failure mode: %s.", text, f.Evidence, modeName(f.Mode)))
			if f.Problem != "" {
				s.Points = append(s.Points, Point{Warn, "warning", text + ": " + f.Problem})
			}
		case f.Disputed:
			s.Points = append(s.Points, Point{Warn, "warning", text + ": the witnesses contradict each other. " +
				Capitalised(f.Evidence) + "."})
		default:
			s.Points = append(s.Points, Point{Warn, "warning", text + ": no effect was observed. " + Capitalised(f.Evidence+f.Problem)})
		}
	}
	return s
}

// notInjected replaces the failure mode of a fault that could not be injected.
const notInjected = "not injected"

func roundMode(r *record.DrillRound) string {
	mode := modeWord(r.Mode())
	if mode == "" && len(r.Faults) > 0 && !slices.ContainsFunc(r.Faults,
		func(f record.DrillFault) bool { return f.Mode != "" }) {
		return notInjected
	}
	return cmp.Or(mode, "–")
}

// drillEffects is what the faults meant for all clients, or for each one by itself where there are several.
func drillEffects(r *record.DrillRound, each bool) Section {
	s := Section{Title: "outage", Table: &Table{Header: slices.Concat([]string{"operations"}, effectColumns), Left: 1}}
	if each {
		s = Section{Title: "outage by client", Long: true,
			Table: &Table{Header: slices.Concat([]string{"client", "operations"}, effectColumns), Left: 2}}
	}
	for _, e := range r.Effects {
		switch cells := append([]string{effectName(e)}, effectCells(r, e)...); {
		case each && e.Client >= 0:
			s.Table.row(append([]string{strconv.Itoa(e.Client)}, cells...)...)
		case !each && e.Client == -1 && e.Shard == "":
			s.Table.row(cells...)
			s.Lines = []string{effectMeaning}
		}
	}
	return s
}

var effectColumns = []string{"ok/s before", "outage", "outage began", "rate restored after", "shortfall", "failed"}

// These explain a section. With several rounds they are in the first one only.
const (
	timeMeaning = "Times count from the request for the first fault. The fault takes effect some milliseconds later. " +
		"Until then operations succeed."
	effectMeaning = "The outage is the longest time without a successful operation. It begins with the last success before it. " +
		"The rate is restored when it reaches 95 % of the rate before the fault. The shortfall is how many more operations would have succeeded until then at the rate before the fault."
	memberMeaning    = "The final read goes through the client to the primary and decides the verdict. Then each member that can be read directly is compared with it."
	ownDocuments     = "Each insert is one document. The other documents have counters, which updates increment: up to 16 updates each."
	updateMeaning    = "ID.x is an update of the counter x in the document with this _id: db.plimsoll_ledger.find({_id: ObjectId(\"ID\")})."
	guaranteeMeaning = "If a guarantee that MongoDB promises with these settings is violated, the verdict is violated. Other violations are only counted. " +
		"Reads are compared for each document with counters. " +
		"Reads that a server shows in a wrong order across documents are found only if an update was rolled back. " +
		"Times in examples count from the start of the run."
	staleMeaning = "A read is stale if it does not return an update that was acknowledged before the read was sent. Its staleness is the time between the two, and a lower bound. Other reads count as 0. Updates that were rolled back do not count."
)

// effectCells are the figures of one effect, with times since the first fault.
func effectCells(r *record.DrillRound, e record.DrillEffect) []string {
	began := "–"
	if e.OutageFrom >= 0 && len(r.Faults) > 0 {
		began = sinceFault(e.OutageFrom-r.Faults[0].Injected, "the request")
	}
	return []string{figure.Rate(e.Before), orNever(e.Outage), began, orUnseen(e.Recovery),
		figure.Count(int64(e.Missing)), figure.Count(e.Failed)}
}

// windowText is when lost writes were acknowledged: the oldest one before the fault, and the last one after it. It is
// empty without loss, or if that is not known.
func windowText(window, after int64) string {
	switch {
	case window < 0:
		return ""
	case window == 0 && after == 0:
		return "when " + effect
	case window == 0:
		return "up to " + sinceFault(after, effect)
	case after == 0:
		return "up to " + sinceFault(-window, effect)
	}
	return "from " + duration(window) + " before to " + sinceFault(after, effect)
}

// effect is the moment from which the age of lost writes counts.
const effect = "the fault took effect"

// sinceFault is a time, counted from the request for the first fault or from the moment when it took effect.
func sinceFault(ns int64, what string) string {
	if ns < 0 {
		return duration(-ns) + " before " + what
	}
	return duration(ns) + " after " + what
}

// orNever is a time, or that something did not end.
func orNever(ns int64) string { return durationOr(ns, "did not end") }

// orUnseen is a time until which the load may have been over.
func orUnseen(ns int64) string { return durationOr(ns, "not while the load ran") }

// ofRound names a round where there are several.
func ofRound(d *record.Drill, r *record.DrillRound) string {
	if len(d.Rounds) < 2 {
		return ""
	}
	return "round " + strconv.Itoa(r.Number) + ": "
}

func drillTarget(d *record.Drill) string {
	if d.Specification.Run.Via == spec.ViaREST {
		return d.Specification.Run.Target + ", through a REST service"
	}
	return d.Specification.Run.Target
}

// drillLoad is the planned load, and the rate that it reached before the fault.
func drillLoad(d *record.Drill) string {
	asked := d.Specification.Run
	clients := int(asked.Load.Clients)
	if clients < 2 {
		clients = 0
	}
	text := join(", ", "workload "+asked.Workload.Name, loadText(asked.Load, int(asked.Load.Workers), clients),
		prefixed("client ", asked.Client))
	if asked.Load.Duration > 0 {
		text += fmt.Sprintf(", for %v", asked.Load.Duration)
	}
	if len(d.Rounds) > 0 {
		if e := d.Rounds[0].Whole(); e != nil && e.Before > 0 {
			text += fmt.Sprintf("; %sreached %s ok/s before the fault", ofRound(d, &d.Rounds[0]), figure.Rate(e.Before))
		}
	}
	return text
}

// drillLab is the cluster of the lab, with what decides how long an election takes.
func drillLab(d *record.Drill) string {
	if len(d.Rounds) == 0 || d.Rounds[0].Topology == nil {
		return ""
	}
	t := d.Rounds[0].Topology
	text := topologyText(*t)
	if t.Kind == spec.LabStandalone || !strings.Contains(d.Engine, "mongod") && !strings.Contains(d.Engine, "MongoDB") {
		return text
	}
	settings, err := t.SetSettings()
	timeout, set := settings["electionTimeoutMillis"].(int32)
	switch {
	case err != nil:
	case set && timeout != mongodTimeout:
		text += fmt.Sprintf(", election timeout %s (MongoDB's default: 10 s)", duration(float64(timeout)*1e6))
	default:
		text += ", election timeout 10 s (MongoDB's default)"
	}
	return text
}

// mongodTimeout is MongoDB's default of electionTimeoutMillis.
const mongodTimeout = 10_000

func drillRecords(d *record.Drill) Section {
	s := Section{ID: "records", Title: "results of the load, in the directory of the drill"}
	for _, r := range d.Rounds {
		s.Lines = append(s.Lines, r.Record)
	}
	return s
}
