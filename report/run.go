package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// runDocument describes a run: its validity, what was asked and achieved, the operations with response and service
// time, what went wrong, and what it takes to repeat it. A page has figures, how it went in time, and what machines did
// beside it.
func runDocument(r *record.Run, on *runFiles) *Document {
	d := &Document{Title: runTitle(r), Grade: gradeOf(r.Validity, r.Status), Problem: r.Problem,
		Objectives: objectivePoints(r.Objectives), Findings: findingPoints(r.Validity), Record: r.Specification.Out}
	h := runObjectives(r)
	d.Brief = verdict(h, r.Validity, r.Status)
	d.conclude(r.Validity, r.Status, runAnswer(r, h), runBasis(r))
	d.Summary, d.Next = runSummary(r), reportNext()
	switch {
	case h.missed > 0:
		d.Grade = Bad
	case h.unknown > 0 && d.Grade == Good:
		d.Grade = Warn
	}
	p := r.Phase("measure")
	var over Section
	if on != nil {
		over = timeSection(on)
	}
	if p == nil {
		d.Facts = Facts("result", "nothing was measured ("+string(r.Status)+")")
		d.Sections = appendFilled(nil, over)
	} else {
		d.Tiles, d.Checks = runTiles(r, p), runChecks(r, p)
		did := operations(r, p)
		if on != nil {
			did.draw(spectrum(on, p))
		}
		where := runAnatomy(r)
		if d.Where = runWhere(r); on != nil {
			where.draw(anatomyBar(r.Anatomy), anatomyOverTime(on, over.Track))
		}
		d.Sections = appendFilled(nil, did, where, over, failures(p))
		d.Facts = Facts("load", runLoad(r, p))
	}
	if !storesNothing(r) {
		d.Facts = append(d.Facts, Facts("durability", Durability(r))...)
	}
	d.Facts = append(d.Facts, Facts("data", Data(r))...)
	if p != nil {
		d.Facts = append(d.Facts, runCounts(r, p)...)
	}
	d.Facts = append(d.Facts, Facts("target", runTarget(r))...)
	d.Facts = append(d.Facts, Facts("notes", strings.Join(r.Target.Notes, "; "))...)
	if r.Lab != nil {
		d.Facts = append(d.Facts, Fact{"lab", labLine(r.Lab)})
		d.Sections = append(d.Sections, labSections(r.Lab, r.LabAfter, r.Series, labFigures(on, over.Track)...)...)
	}
	d.Facts = append(d.Facts, Facts("machine", machine(r.Environment), "begun", begun(&r.Head))...)
	if p != nil {
		use := clientUse(r, p)
		if on != nil {
			machines := resourceSection(on, p, over.Track)
			machines.Parts = append([]Section{use}, machines.Parts...)
			use = machines
		}
		d.Sections = appendFilled(d.Sections, use, loadClients(r))
	}
	if on != nil { // it has more than the conditions
		d.Sections = append(d.Sections, disclosure(on))
		return d
	}
	d.Sections = appendFilled(d.Sections, conditions(r))
	return d
}

func runTitle(r *record.Run) string {
	target := r.Target.Address
	if software := strings.TrimSpace(r.Target.Kind + " " + r.Target.Version); r.Target.Kind != "embedded" &&
		r.Target.Kind != "null" && software != "" {
		target += bracketed(join(", ", software, r.Target.Topology))
	}
	return fmt.Sprintf("workload %s on %s", workloadName(r.Specification.Workload), target)
}

func workloadName(w spec.Workload) string {
	name := w.Name
	if w.Mode == "ycsb" && !strings.HasPrefix(name, "ycsb") {
		name = "ycsb-" + name
	}
	var list []string
	for _, k := range slices.Sorted(maps.Keys(w.Params)) {
		list = append(list, k+"="+w.Params[k])
	}
	return name + bracketed(strings.Join(list, ", "))
}

func runLoad(r *record.Run, p *record.PhaseResult) string {
	l := r.Specification.Load
	how := loadText(l, p.Workers, len(r.Clients)) + ", measured for " + seconds(p.Seconds)
	if l.Warmup > 0 {
		how += " after " + l.Warmup.String() + " of warm-up"
	}
	return how + ", seed " + strconv.FormatUint(r.Specification.Workload.Seed, 10)
}

// loadText is the load without its length. clients is the number of load processes if there are several.
func loadText(l spec.Load, n, clients int) (how string) {
	workers := figure.Plural(n, "worker")
	if clients > 0 {
		workers += fmt.Sprintf(" in %d load processes", clients)
	}
	switch {
	case l.Replay != "" && l.Rate > 0:
		how = fmt.Sprintf("recording %s at %s/s, up to %s", l.Replay, figure.Rate(float64(l.Rate)), workers)
	case l.Replay != "":
		how = fmt.Sprintf("recording %s at %s times its speed, up to %s", l.Replay, figure.Significant(cmp.Or(l.Speed, 1)), workers)
	case l.Open() && l.Rate > 0:
		how = fmt.Sprintf("open loop of %s/s, %s arrivals, up to %s", figure.Rate(float64(l.Rate)), l.Arrivals, workers)
	case l.Open():
		how = fmt.Sprintf("open loop, %s arrivals, up to %s", l.Arrivals, workers)
	case l.Pace > 0:
		how = fmt.Sprintf("%s, planned %s/s each", workers, figure.Rate(float64(l.Pace)))
	default:
		how = "closed loop of " + workers
	}
	if n := len(l.Stages); n > 0 {
		how += ", " + figure.Plural(n, "stage")
	}
	return how
}

func runCounts(r *record.Run, p *record.PhaseResult) []Fact {
	count := func(n int64, what string) string {
		if n == 0 {
			return ""
		}
		return figure.Count(n) + " " + what
	}
	achieved, attempted, documents := figure.Rate(p.Rates.Achieved)+" ok/s", "", ""
	if p.Offered > 0 {
		achieved = fmt.Sprintf("%s of %s ok/s offered (%s)", figure.Rate(p.Rates.Achieved),
			figure.Rate(p.Rates.Offered), share(p.Rates.Achieved, p.Rates.Offered))
	}
	achieved = disclosed(achieved, r.Target.Software())
	if p.Rates.Attempted > 0 && p.Counts.Bad() > 0 {
		attempted = fmt.Sprintf("%s/s, of which %s/s failed and %s/s indeterminate", figure.Rate(p.Rates.Attempted),
			figure.Rate(p.Rates.Failed), figure.Rate(p.Rates.Indeterminate))
	}
	if p.Rates.Achieved > 0 && p.Rates.Documents/p.Rates.Achieved > 1.01 {
		documents = fmt.Sprintf("%s/s (%s/s)", figure.Rate(p.Rates.Documents), figure.Bytes(int64(p.Rates.Bytes)))
	}
	return Facts("achieved", achieved, "attempted", attempted,
		"dropped", count(r.Course.Dropped, "operations were dropped because they were too late"),
		"unsent", count(r.Course.Unsent, "operations were due but not sent when the run ended"),
		"retries", count(p.All.Retries, "commands were retried by the client; the latency includes the retries"),
		"documents", documents)
}

// share is a part of a whole, none of nothing.
func share(part, whole float64) string {
	if whole == 0 {
		return figure.Percent(0)
	}
	return figure.Percent(part / whole)
}

// Durability describes the acknowledgement of writes, with the default of the server if none was requested.
func Durability(r *record.Run) string {
	d := r.Specification.Durability
	text := strings.Join(d.At(r.Specification.Target).Asked(), ", ")
	switch {
	case d.Name != "":
		text = d.Name + " (" + text + ")"
	case text != "" && !d.Says():
		text += ", as the address says"
	case text == "":
		text = defaultDurability(&r.Target)
	}
	client := r.ClientSettings["client"]
	if client == "in-process" {
		client = ""
	}
	return join(", ", text, prefixed("read concern ", d.ReadConcern), prefixed("read from ", d.ReadPreference), prefixed("client ", client))
}

// defaultDurability is the acknowledgement of writes if neither the run nor the address says one.
func defaultDurability(t *record.Target) string {
	w := t.Settings["defaultWriteConcern.w"] // of MongoDB 4.4 and later
	switch {
	case t.Level != "":
		return "that of the lab's servers for " + t.Level
	case w != "":
		return "w: " + w + ", the server's default"
	case t.Kind == "embedded":
		return "w: 1, the embedded store's default"
	}
	return "the server's default, which it did not report"
}

func storesNothing(r *record.Run) bool {
	return r.Target.Kind == "null" || strings.HasPrefix(r.Target.Address, "null:")
}

// Data describes the loaded data, "" if it is not known.
func Data(r *record.Run) string {
	f := r.Fill
	if f == nil {
		return ""
	}
	if storesNothing(r) {
		return "none; the target stores nothing"
	}
	text := figure.Count(f.Records) + " documents"
	switch {
	case f.Skipped:
		text += ", used as they were (" + figure.Count(f.Counted) + " counted)"
	case f.Inserted > 0:
		rate := 0.0
		if f.Seconds > 0 {
			rate = float64(f.Inserted) / f.Seconds
		}
		text += fmt.Sprintf(", %s loaded in %s (%s/s)", figure.Count(f.Inserted), seconds(f.Seconds),
			figure.Rate(rate))
	default:
		text += ", loaded before (" + figure.Count(f.Counted) + " counted)"
	}
	return text
}

func runTarget(r *record.Run) string {
	text := r.Target.Address
	said := strings.TrimSuffix(text, ":") // the address of a target without a server says what it is
	for _, v := range []string{strings.TrimSpace(r.Target.Kind + " " + r.Target.Version), r.Target.Topology} {
		if v != "" && v != said {
			text += ", " + v
		}
	}
	for _, key := range []string{"storage.wiredTiger.cacheSizeGB", "wiredTiger.cacheSizeBytes", "cacheSizeGB",
		"cache"} {
		if v := r.Target.Settings[key]; v != "" {
			text += ", " + key + " " + v
		}
	}
	return text
}

func objectivePoints(list []measure.ObjectiveResult) []Point {
	var points []Point
	for _, o := range list {
		p := Point{Bad, "missed", o.Objective}
		switch {
		case o.Unknown:
			p = Point{Warn, "unknown", o.Objective + ": " + o.Why}
		case o.NoAnswer:
			p.Text += ": no answer, because " + o.Why
		case o.Met:
			p = Point{Good, "met", o.Objective}
		}
		if o.Measured != nil {
			p.Text += ": " + figure.Value(*o.Measured, o.Unit)
		}
		points = append(points, p)
	}
	return points
}

func runTiles(r *record.Run, p *record.PhaseResult) []Tile {
	achieved := Tile{"Throughput", figure.Rate(p.Rates.Achieved) + " ok/s", "closed loop: as fast as answers come"}
	if p.Offered > 0 {
		achieved.Note = fmt.Sprintf("of %s offered (%s)", figure.Rate(p.Rates.Offered),
			share(p.Rates.Achieved, p.Rates.Offered))
	}
	what, l := Capitalised(TimeKind(r))+" time", timesOf(r, &p.All)
	achieved.Note = beside(achieved.Note, r.Target.Software())
	list := []Tile{achieved}
	if l != nil {
		middle := Tile{what + " p50", percentileText(l, 0.5), "n = " + figure.Count(l.Count+l.Lost)}
		if value, note := mediansApart(r, p); value != "" {
			middle.Value, middle.Note = value, note
		}
		list = append(list, middle,
			Tile{what + " p99", percentileText(l, 0.99), beyond(l, 0.99)},
			Tile{what + " p99.9", percentileText(l, 0.999), beyond(l, 0.999)})
	}
	note := fmt.Sprintf("%s failed, %s indeterminate", figure.Count(p.Counts.Failed),
		figure.Count(p.Counts.Indeterminate))
	if p.Dropped > 0 {
		note += fmt.Sprintf(", %s dropped", figure.Count(p.Dropped))
	}
	if n := r.Course.Unsent; n > 0 {
		note += fmt.Sprintf(", %s unsent", figure.Count(n))
	}
	return append(list, Tile{"Not ok", runLoss(r, p), note})
}

// farApart is the ratio of medians of two operations from which their common median describes neither.
const farApart = 4

// mediansApart are the least and the greatest median of the operations of a run, with their names, if they are far
// apart, "" if they are not.
func mediansApart(r *record.Run, p *record.PhaseResult) (value, note string) {
	type median struct {
		name string
		ns   int64
	}
	var list []median
	for i := range p.Classes {
		c := &p.Classes[i]
		if l := timesOf(r, c); !c.Part && l != nil && l.P50 != nil {
			list = append(list, median{c.Name, *l.P50})
		}
	}
	if len(list) < 2 {
		return "", ""
	}
	by := func(a, b median) int { return cmp.Compare(a.ns, b.ns) }
	least, most := slices.MinFunc(list, by), slices.MaxFunc(list, by)
	if most.ns < farApart*least.ns {
		return "", ""
	}
	return duration(least.ns) + " to " + duration(most.ns), least.name + " to " + most.name
}

// runLoss is the share of operations that were due and did not succeed, including those that were dropped or never
// sent: for a user who waits for them it is the same.
func runLoss(r *record.Run, p *record.PhaseResult) string {
	gone := p.Dropped + r.Course.Unsent
	return share(float64(p.Counts.Bad()+gone), float64(p.Counts.Attempted+gone))
}

// NoAnswer is shown instead of a percentile if more operations did not succeed than lie above it.
const NoAnswer = "no answer"

// fewMoments marks a percentile from too few moments of the run.
const fewMoments = "*"

// percentileText is a percentile that a record has, [NoAnswer], or "-" if it is not stated for another reason.
func percentileText(l *record.Latency, q float64) string {
	switch ns, reach := l.Quantile(q); reach {
	case measure.Stated:
		return duration(ns)
	case measure.OneMoment:
		return duration(ns) + fewMoments
	case measure.NoAnswer:
		return NoAnswer
	}
	return "-"
}

// beyond says what a percentile is based on, or why it is not stated.
func beyond(l *record.Latency, q float64) string {
	switch _, reach := l.Quantile(q); reach {
	case measure.NoAnswer:
		return figure.Count(l.Lost) + " of " + figure.Count(l.Count+l.Lost) + " did not succeed"
	case measure.TooFew:
		return "too few values to state it"
	case measure.OneMoment:
		return "*from too few moments of the run"
	}
	n := l.Count + l.Lost
	return figure.Count(n-int64(q*float64(n))) + " at or beyond"
}

// operations is the table of the operation classes, response time first.
func operations(r *record.Run, p *record.PhaseResult) Section {
	s := Section{ID: "operations", Title: disclosed("operations", r.Target.Software()), Table: &Table{Left: 2, Wide: []int{6, 9},
		Header: []string{"operation", "time", "count", "ok/s", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max",
			"mean"}}}
	if r.Scheduled {
		s.Lines = []string{"response: from when an operation was due to its reply, as users feel it; service: from sending it to its reply"}
	} else {
		s.Lines = []string{"service: from sending an operation to its reply; without a schedule it does not show how long users would wait"}
	}
	parts := slices.DeleteFunc(slices.Clone(p.Classes), func(c record.ClassResult) bool { return !c.Part })
	whole := slices.DeleteFunc(slices.Clone(p.Classes), func(c record.ClassResult) bool { return c.Part })
	for _, c := range append(whole, parts...) {
		name, first, times := c.Name, "service", c.Service
		if c.Part {
			name += " (part)"
		}
		if r.Scheduled && !c.Part {
			first, times = "response", c.Response
		}
		s.Table.row(append([]string{name, first, figure.Count(c.Counts.Succeeded), figure.Rate(c.Rate)},
			quantiles(times)...)...)
		if r.Scheduled && !c.Part {
			s.Table.row(append([]string{name, "service", "", ""}, quantiles(c.Service)...)...)
		}
	}
	serverTimes(&s, r)
	explainPercentiles(&s, p, r.Course.Unsent)
	return s
}

// explainPercentiles says what the percentiles of the table of operations are of.
func explainPercentiles(s *Section, p *record.PhaseResult, unsent int64) {
	has := func(cell string) bool {
		return slices.ContainsFunc(s.Table.Narrow().Rows, func(cells []string) bool { return slices.Contains(cells, cell) })
	}
	marked := func(c string) bool { return strings.HasSuffix(c, fewMoments) }
	if p.Counts.Bad() > 0 {
		s.Lines = append(s.Lines, "percentiles are of all operations that were due; those that did not succeed count as longer than all "+
			"others. max and mean are of the operations that succeeded")
	}
	if has(NoAnswer) {
		s.Lines = append(s.Lines, NoAnswer+": more operations did not succeed than lie above the percentile")
	}
	if n := p.Dropped + unsent; n > 0 {
		s.Lines = append(s.Lines, fmt.Sprintf("the class of %s that were dropped or never sent is unknown: percentiles of a "+
			"class count all of them, so they are upper bounds", figure.Plural(int(n), "operation")))
	}
	if has("-") {
		s.Lines = append(s.Lines, "-: too few values to state a percentile with 95 % confidence")
	}
	anyMarked := func(cells []string) bool { return slices.ContainsFunc(cells, marked) }
	if slices.ContainsFunc(s.Table.Rows, anyMarked) {
		s.Lines = append(s.Lines, fewMoments+": the slowest operations come from too few moments of the run, such as one stall, so this is "+
			"not a percentile of the target. Measure longer")
	}
}

// serverTimes adds what servers say of the same time: the mean time of an operation within them, by kind.
func serverTimes(s *Section, r *record.Run) {
	found := false
	for _, kind := range []string{"reads", "writes", "commands", "transactions"} {
		for _, v := range r.Series {
			server, ok := strings.CutPrefix(v.Source, "server:")
			if !ok || v.Name != "latency."+kind || v.Mean <= 0 {
				continue
			}
			found = true
			cells := slices.Repeat([]string{""}, len(s.Table.Header))
			cells[0], cells[1], cells[len(cells)-1] = kind+" of "+server, "server", duration(v.Mean)
			s.Table.row(cells...)
		}
	}
	if found {
		s.Lines = append(s.Lines, "server: the time of an operation within a server, as the server counts it (opLatencies). The rest of "+
			"the service time is the network, and queues outside the server")
	}
}

func quantiles(l *record.Latency) []string {
	if l == nil {
		return slices.Repeat([]string{"-"}, 8)
	}
	var cells []string
	for _, q := range []float64{0.5, 0.9, 0.95, 0.99, 0.999, 0.9999} {
		cells = append(cells, percentileText(l, q))
	}
	return append(cells, duration(l.Max), duration(l.Mean))
}

// mostFailures is the largest number of listed failures; the record has all of them.
const mostFailures = 50

// failures lists the ways in which operations did not succeed, the most frequent first. Those that found no document
// count as failed, but have no error of their own.
func failures(p *record.PhaseResult) Section {
	s := Section{ID: "not-ok", Title: "not ok", Table: &Table{Header: []string{"operation", "outcome", "reason",
		"count", "first", "last"}, Left: 3}}
	missing := map[string]int64{}
	for _, c := range p.Classes {
		if !c.Part {
			missing[c.Name] = c.Counts.NotFound
		}
	}
	for i, f := range p.Failures {
		if f.Outcome == "not-found" {
			missing[f.Class] -= f.Count
		}
		if i >= mostFailures {
			continue
		}
		reason := f.Reason
		if f.Code != 0 || f.CodeName != "" {
			reason += fmt.Sprintf(" %d %s", f.Code, f.CodeName)
		}
		example := ""
		if f.Example != "" {
			example = s.note("for example: " + f.Example)
		}
		s.Table.row(f.Class, f.Outcome, strings.TrimSpace(strings.TrimSpace(reason)+" "+example), figure.Count(f.Count),
			figure.Duration(f.First), figure.Duration(f.Last))
	}
	if more := len(p.Failures) - mostFailures; more > 0 {
		s.Lines = append(s.Lines, fmt.Sprintf("%s more in %s", figure.Plural(more, "way"), record.RunFile))
	}
	for _, c := range p.Classes {
		if n := missing[c.Name]; n > 0 && !c.Part {
			s.Table.row(c.Name, "not-found", "no document with that key", figure.Count(n), "", "")
		}
	}
	return s
}

func clientUse(r *record.Run, p *record.PhaseResult) Section {
	c := p.Client
	who := "client"
	if r.ClientSettings["client"] == "in-process" {
		who = "process" // the embedded engine works in it as well
	}
	text := fmt.Sprintf("%s CPU per operation, %s of the cores", duration(c.CPUPerOperation),
		figure.Percent(c.CPUShare))
	if p.InFlight != nil {
		text += fmt.Sprintf(", %s operations in flight", figure.Significant(*p.InFlight))
	}
	if l := p.Lateness; l != nil && l.P99 != nil {
		text += ", sent late by p99 " + percentileText(l, 0.99)
	}
	if c.Loops > 0 {
		text += fmt.Sprintf(", busiest of %s busy for %s of the time", figure.Plural(c.Loops, "event loop"), figure.Percent(c.LoopBusy))
	}
	if n, b := p.Noticed, p.Bare; n != nil && b != nil && n.P99 != nil && b.P99 != nil {
		text += fmt.Sprintf(", p99 %s until the answer and %s until it continued", percentileText(b, 0.99), percentileText(n, 0.99))
	}
	s := Section{ID: "client", Facts: []Fact{{who, text}}}
	if x := p.Service; x != nil {
		s.Facts = append(s.Facts,
			Fact{"service",
				fmt.Sprintf("%s CPU per operation, %s in all, %s of memory at most; a separate process, not part of client and servers",
					duration(x.CPUPerOperation), seconds(x.CPUSeconds), figure.Bytes(x.MemoryBytes))})
	}
	return s
}

// mostClients is the number of clients from which their table is folded.
const mostClients = 20

func loadClients(r *record.Run) Section {
	s := Section{ID: "clients", Title: "load clients", Long: len(r.Clients) > mostClients}
	elsewhere := r.Remote()
	var columns []clientColumn
	for _, c := range clientColumns {
		said := slices.ContainsFunc(r.Clients, func(of record.ClientShare) bool { return c.cell(&of) != "" })
		if (elsewhere || !c.elsewhere) && (said || c.title != "zone" && c.title != "labels") {
			columns = append(columns, c)
		}
	}
	s.Table = &Table{Left: 2, Last: 1}
	if elsewhere {
		s.Table.Left = 4
	}
	for _, c := range columns {
		s.Table.Header = append(s.Table.Header, c.title)
	}
	for i := range r.Clients {
		var row []string
		for _, c := range columns {
			row = append(row, c.cell(&r.Clients[i]))
		}
		s.Table.row(row...)
	}
	if n := len(r.Clients); n > 1 {
		s.Lines = []string{fmt.Sprintf("%d clients made the load together; their histograms are merged.", n)}
	}
	return s
}

// clientColumn is a column of the table of clients. Some are shown only for clients on other machines.
type clientColumn struct {
	title     string
	elsewhere bool
	cell      func(c *record.ClientShare) string
}

var clientColumns = []clientColumn{
	{"client", false, func(c *record.ClientShare) string { return strconv.Itoa(c.Number) }},
	{"host", true, func(c *record.ClientShare) string { return c.Host }},
	{"machine", true, func(c *record.ClientShare) string {
		return machine(record.Environment{CPU: c.CPU, MemoryBytes: c.MemoryBytes, OS: c.OS, Kernel: c.Kernel})
	}},
	{"status", false, func(c *record.ClientShare) string { return c.Status }},
	{"zone", true, func(c *record.ClientShare) string { return c.Zone }},
	{"labels", true, func(c *record.ClientShare) string {
		var list []string
		for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
			list = append(list, key+"="+c.Labels[key])
		}
		return strings.Join(list, " ")
	}},
	{"ok", false, func(c *record.ClientShare) string { return figure.Count(c.Succeeded) }},
	{"ok/s", false, func(c *record.ClientShare) string { return figure.Rate(c.Rate) }},
	{"CPU", false, func(c *record.ClientShare) string {
		if c.Cores == 0 || c.CPUCores == 0 {
			return "-"
		}
		return fmt.Sprintf("%s of %s cores", figure.Significant(c.CPUCores), figure.Significant(c.Cores))
	}},
	{"round trip", false, func(c *record.ClientShare) string {
		if c.RoundTrip == 0 {
			return "-"
		}
		return duration(c.RoundTrip)
	}},
	{"clock", true, func(c *record.ClientShare) string {
		return duration(c.ClockOffset) + " ±" + duration(c.ClockUncertainty)
	}},
	{"began late by", false, func(c *record.ClientShare) string { return duration(c.StartSkew) }},
	{"problem", false, func(c *record.ClientShare) string { return c.Problem }},
}

// conditions returns what is needed, besides the facts, to repeat or check the run.
func conditions(r *record.Run) Section {
	s := Section{ID: "conditions", Title: "conditions", Appendix: true,
		Table: &Table{Header: []string{"what", "value"}, Left: 2}}
	add := func(what, value string) {
		if value != "" {
			s.Table.row(what, value)
		}
	}
	add("command", strings.Join(r.Command, " "))
	add("seed", strconv.FormatUint(r.Specification.Workload.Seed, 10))
	add("level of the lab's servers", r.Target.Level)
	for _, side := range []struct {
		name     string
		settings map[string]string
	}{{"client: ", r.ClientSettings}, {"target: ", r.Target.Settings}} {
		for _, key := range slices.Sorted(maps.Keys(side.settings)) {
			add(side.name+key, side.settings[key])
		}
	}
	if trip := r.Target.RoundTrip; trip > 0 {
		add("round trip to the target", duration(trip)+" (shortest of ten pings)")
	}
	add("system", strings.TrimSpace(r.Environment.OS+" "+r.Environment.Arch+" "+r.Environment.Kernel))
	return s
}

// runChecks are the questions of the validity, each with what came of it; docs/run.md lists the findings.
func runChecks(r *record.Run, p *record.PhaseResult) []Point {
	offered := p.Offered > 0
	var list []Point
	for _, c := range []struct {
		yes, no  string
		applies  bool
		findings []string
	}{
		{"steady", "not shown to be steady", len(r.Specification.Load.Stages) == 0, []string{"not-steady", "latency-drift", "throughput-variation", "too-short"}},
		{"offered rate achieved", "offered rate not achieved", offered, []string{"schedule-not-sustained", "unsent"}},
		{"load generator not the limit", "load generator may be the limit", true, append(measure.OfProcess(), "client-cpu", "client-limited",
			"clients-share-machine", "client-network", "pool-wait", "client-lost")},
		{"sent on time", "sent late", offered, []string{"schedule-lateness"}},
		{"clocks and counts agree", "clocks or counts disagree", true, []string{"client-clock", "littles-law", "displaced", "not-counted", "events-lost"}},
		{"target available", "target not always available", true, []string{"outage", "nothing", "nothing-succeeded"}},
		{"enough values", "too few values", true, []string{"few-samples", "few-moments"}},
		{"content as written", "content not as written", !storesNothing(r), []string{"corrupt", "short-data"}},
		{"writes confirmed", "writes not confirmed", !storesNothing(r), []string{"unacknowledged", "concern-ignored", "indeterminate"}},
		{"result complete", "result incomplete", true, []string{"interrupted", "failed", "abandoned", "incomplete", "altered", "unsummed",
			"nothing-measured", "unwritten"}},
	} {
		if !c.applies {
			continue
		}
		of := slices.DeleteFunc(slices.Clone(r.Validity),
			func(f measure.Finding) bool { return !slices.Contains(c.findings, f.ID) })
		point := Point{Good, "", c.yes}
		switch point.Grade = severityGrade(measure.Worst(of)); {
		case len(of) == 0:
			point.Grade = Good
		case point.Grade == Note:
			point.Text += " (see the note)"
		default:
			point.Text = c.no
		}
		list = append(list, point)
	}
	return list
}

func runKind() *kind {
	k := kindOf("a run", runDocument)
	k.name, k.open, k.csv, k.bench = record.KindRun, openRun, table(runCSV), table(runBench)
	k.follows, k.spark = true, runSpark
	k.ready = func(dir string, r record.Result) any {
		run, _ := r.(*record.Run)
		run.Specification.Out = dir
		return run
	}
	k.loaded = typed(func(r *record.Run) []string { return []string{r.Target.Software()} })
	k.list = listed(func(r *record.Run, e *Entry) {
		e.Labels, e.Lab = r.Specification.Labels, labOf(r.Specification.Target)
		e.loaded(cmp.Or(r.Specification.Target, r.Target.Address), "", r.Specification.Workload)
		e.Disclosure = cmp.Or(Disclosure(r.Target.Software()), e.Disclosure)
		if p := r.Phase("measure"); p != nil {
			e.Rate, e.P99 = figure.Rate(p.Rates.Achieved)+"/s", p99Of(timesOf(r, &p.All))
		}
	})
	return k
}
