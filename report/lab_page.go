package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// maxHosts is the largest number of hosts in a chart of a lab, those with the highest means; the tables have all of
// them.
const maxHosts = 6

// besideHosts are the names of processes that are not hosts of a lab: the load processes, and the REST service in front
// of the lab.
var besideHosts = map[string]string{"client": "the load", "service": "REST service"}

func noHost(name string) bool { return name == besideHosts["client"] || name == besideHosts["service"] }

// ofLab reports whether a source is a host or a member of a lab.
func ofLab(source, lab string) bool {
	return strings.HasPrefix(source, "host:"+lab+"/") || strings.HasPrefix(source, "member:"+lab+"/")
}

func labAgain(s *runFiles) Section {
	b := reproduceBlock("This command brings the same lab up again:", "plimsoll lab up /dev/stdin", s.lab, record.RunFile)
	b.Title = "Bring the lab up"
	return b
}

// labChart is one figure of all hosts, or members, over time.
type labChart struct {
	subject, kind, name string
	unit                string
	load                bool // what processes on this side used is drawn too
}

var labChartList = []labChart{
	{subject: "CPU used", kind: "host", name: "cpu.used", unit: "cores", load: true},
	{subject: "CPU waited for at the limit", kind: "host", name: "cpu.throttled", unit: "cores"},
	{subject: "memory used", kind: "host", name: "memory.resident", unit: "B"},
	{subject: "written to disks", kind: "host", name: "disk.write_bytes", unit: "B/s"},
	{subject: "read from disks", kind: "host", name: "disk.read_bytes", unit: "B/s"},
	{subject: "received over the network", kind: "host", name: "network.received", unit: "B/s"},
	{subject: "sent over the network", kind: "host", name: "network.sent", unit: "B/s"},
	{subject: "behind the primary", kind: "member", name: "replication.lag", unit: "ns"},
	{subject: "bytes behind the primary", kind: "member", name: "replication.lag_bytes", unit: "B"},
}

// labFigures draw what each host used over time, with the faults and promotions that are marked in all charts over
// time.
func labFigures(s *runFiles, track *Track) (list []*Figure) {
	if s == nil || s.Samples == nil {
		return nil
	}
	source := &SampleSource{Name: "lab:" + s.Run.Lab.Name}
	for i, c := range labChartList {
		if g := c.group(s, c.kind+":"+s.Run.Lab.Name+"/"); len(g.series) > 0 && g.moves() {
			list = append(list, sampleFigure(s, source, g, fmt.Sprintf("lab-%d", i+1), track))
		}
	}
	return list
}

// serverChartList is one figure of all servers over time: what explains a result.
var serverChartList = []labChart{
	{subject: "reads", name: "opcounters.query", unit: "1/s"},
	{subject: "updates", name: "opcounters.update", unit: "1/s"},
	{subject: "inserts", name: "opcounters.insert", unit: "1/s"},
	{subject: "time of reads in the server", name: "latency.reads", unit: "ns"},
	{subject: "time of writes in the server", name: "latency.writes", unit: "ns"},
	{subject: "time of commands in the server", name: "latency.commands", unit: "ns"},
	{subject: "time of transactions in the server", name: "latency.transactions", unit: "ns"},
	{subject: "queued readers", name: "queue.readers"},
	{subject: "queued writers", name: "queue.writers"},
	{subject: "read tickets in use", name: "tickets.read.out"},
	{subject: "write tickets in use", name: "tickets.write.out"},
	{subject: "write conflicts", name: "write_conflicts", unit: "1/s"},
	{subject: "cache used", name: "cache.used_share", unit: "share"},
	{subject: "dirty part of the cache", name: "cache.dirty_share", unit: "share"},
	{subject: "operations that waited for the cache", name: "waiting.cache"},
	{subject: "read into the cache", name: "cache.read_bytes", unit: "B/s"},
	{subject: "checkpoint running", name: "checkpoint.running"},
	{subject: "time of a journal sync", name: "log.sync_time", unit: "ns"},
	{subject: "behind the primary", name: "replication.lag", unit: "ns"},
	{subject: "operations applied from the primary", name: "repl.applied", unit: "1/s"},
	{subject: "time under flow control", name: "flow_control.lagged_time", unit: "share"},
	{subject: "limit of flow control", name: "flow_control.limit"},
	{subject: "threads that waited for a core", name: "cpu.waiting"},
}

// serverFigures draw each value of all servers in one chart.
func serverFigures(s *runFiles, track *Track) (list []*Figure) {
	source := &SampleSource{Name: "servers"}
	for i, c := range serverChartList {
		if g := c.group(s, "server:"); len(g.series) > 0 && g.moves() {
			list = append(list, sampleFigure(s, source, g, fmt.Sprintf("servers-%d", i+1), track))
		}
	}
	return list
}

// group collects the series of one chart: that of each host, member or server by its name, and those of this side.
func (c labChart) group(s *runFiles, before string) sampleGroup {
	g := sampleGroup{subject: c.subject, unit: c.unit, lines: maxHosts, marked: true}
	for i := range s.Samples.Sources {
		source := &s.Samples.Sources[i]
		name, ok := strings.CutPrefix(source.Name, before)
		if beside := besideHosts[source.Name]; beside != "" && c.load {
			name, ok = beside, true
		}
		for j := range source.Series {
			if x := source.Series[j]; ok && x.Name == c.name {
				x.Name = name
				g.series = append(g.series, &x)
			}
		}
	}
	slices.SortStableFunc(g.series, func(a, b *SampleSeries) int { return cmp.Compare(b.Mean, a.Mean) })
	g.series = g.series[:min(len(g.series), maxHosts)]
	slices.SortStableFunc(g.series, func(a, b *SampleSeries) int { // a host has the same colour in all charts
		if beside := noHost(a.Name); beside != noHost(b.Name) {
			return map[bool]int{true: 1, false: -1}[beside]
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return g
}

// LabView is a lab by itself, as it is now, or as it is planned.
type LabView struct {
	Lab record.Lab
	// Dead is true if its supervisor has ended.
	Dead bool
	// New is true right after its start.
	New bool
	// Secret is true if its addresses need a password, which is not shown.
	Secret bool
	// Levels are the meanings of the durability levels with their own addresses.
	Levels map[string]string
	// Usage is the usage of its hosts since they were powered on.
	Usage []record.LabUsage
	// Events are its events, the oldest first.
	Events []record.LabEvent
	// Past is the usage of its hosts at previous moments, the oldest first; empty if it was not kept.
	Past []LabMoment
	// Command starts a planned lab.
	Command string
}

// planned is the state of a lab that does not exist yet.
const planned = "planned"

func labKind() *kind {
	k := kindOf("the lab", figureless(labDocument))
	k.value = typed((*LabView).value)
	return k
}

// value is a lab as JSON has it.
func (v *LabView) value() any {
	return &struct {
		*record.Lab
		// Alive is false if the supervisor has ended. The lab can only be removed then.
		Alive bool `json:"alive"`
	}{&v.Lab, !v.Dead && v.Lab.State != planned}
}

// PageOf is a page about a result that is no record.
func PageOf(result any, o PageOptions) *Page {
	Tidy(result)
	p := &Page{MadeBy: Version(o.Tool)}
	p.put(Of(result), "")
	p.Answers[0].Headline = "" // it is the title of the page
	return p
}

// labDocument describes a lab by itself: its state and its faults, how to reach it, its hosts, members and volumes, its
// events, and commands that a reader probably wants.
func labDocument(v *LabView) *Document {
	l := &v.Lab
	d := &Document{Title: "lab " + l.Name + ": " + join(", ", v.state(), v.Health()), Sentence: true, Problem: l.Problem}
	for _, f := range l.Faults {
		d.Findings = append(d.Findings, Point{Warn, "fault", FaultText(f)})
	}
	address, restart, started := l.URI, "", ""
	if v.Secret {
		address += " (without user and password)"
	}
	if a := l.Specification.Availability; a.Restart {
		restart = fmt.Sprintf("members of a host that is down for %v are started on another host", a.RestartAfter)
	}
	if !l.Started.IsZero() {
		started = l.Started.UTC().Format(time.RFC3339)
	}
	d.Facts = Facts("hosts", hostsText(l), "cluster", labSoftware(l), "storage", labStorage(l), "started", started, "cost", v.cost(),
		"address", address, "failover", l.Failover, "restart", restart)
	levels := Section{Title: "addresses by durability", Table: &Table{Header: []string{"level", "address", "acknowledged"}, Left: 3}}
	for _, level := range slices.Sorted(maps.Keys(l.URIs)) {
		levels.Table.row(level, l.URIs[level], v.Levels[level])
	}
	d.Sections = appendFilled(nil, levels)
	for _, s := range labTables(l, &record.Lab{}, nil) {
		s.Group = ""
		d.Sections = append(d.Sections, s)
	}
	notes := Section{Title: "notes"}
	for _, n := range l.Notes {
		notes.Points = append(notes.Points, Point{Note, "", n})
	}
	d.Sections = appendFilled(d.Sections, v.layout(), Section{Title: "resources used since power-on", Table: usageTable(v.Usage)}, labPast(*v),
		labEvents(v.Events), notes, v.next())
	return d
}

func (v *LabView) state() string {
	state := cmp.Or(v.Lab.State, "not known")
	if v.Dead {
		return "dead (was " + state + ")"
	}
	return state
}

// Health says how many hosts and members work, "" for a planned lab.
func (v *LabView) Health() string {
	if v.Lab.State == planned {
		return ""
	}
	on, running := 0, 0
	for _, h := range v.Lab.Hosts {
		if h.State == "on" {
			on++
		}
	}
	for _, m := range v.Lab.Members {
		if m.State == "running" {
			running++
		}
	}
	faults := ""
	if n := len(v.Lab.Faults); n > 0 {
		faults = figure.Plural(n, "fault")
	}
	return join(", ", fmt.Sprintf("%d of %s on", on, figure.Plural(len(v.Lab.Hosts), "host")),
		fmt.Sprintf("%d of %s running", running, figure.Plural(len(v.Lab.Members), "member")), faults)
}

// cost is what a lab took to become usable, and what it uses now.
func (v *LabView) cost() string {
	usable, memory, disk := "", int64(0), int64(0)
	for _, u := range v.Usage {
		memory += u.Memory
	}
	for _, x := range v.Lab.Volumes {
		disk += x.Used
	}
	if v.Lab.UsableAfter > 0 {
		usable = "usable after " + duration(v.Lab.UsableAfter)
	}
	return join(", ", usable, suffixed(bytesOr(memory, ""), " of memory"), suffixed(bytesOr(disk, ""), " in volumes"))
}

// layout says how many disks of the volumes may fail, and what that costs.
func (v *LabView) layout() Section {
	if len(v.Lab.Volumes) == 0 || v.Lab.Volumes[0].Layout.Disks == 0 {
		return Section{}
	}
	l := v.Lab.Volumes[0].Layout
	survives, written := "no disk may fail", "each byte is written once"
	if l.Tolerates > 0 {
		survives = figure.Plural(l.Tolerates, "disk") + " may fail"
	}
	profile := strings.ReplaceAll(strings.ToLower(l.Profile), " ", "")
	switch {
	case strings.HasPrefix(profile, "raid5"), strings.HasPrefix(profile, "raid6"):
		written = fmt.Sprintf("each byte of full stripes is written %s times; a small write needs %d writes and %[2]d reads",
			figure.Significant(l.WriteAmplification), 1+l.Tolerates)
	case l.WriteAmplification > 1:
		written = fmt.Sprintf("each byte is written %s times", figure.Significant(l.WriteAmplification))
	}
	return Section{Title: "layout of each volume", Lines: []string{fmt.Sprintf("%s; %s; %s of the raw space is usable; all volumes take at most %s",
		survives, written, figure.Percent(l.RawShare), figure.Bytes(int64(len(v.Lab.Volumes))*int64(l.Disks)*l.DiskSize))}}
}

// next are the commands that a reader of a lab probably wants.
func (v *LabView) next() Section {
	l := &v.Lab
	var commands []string
	switch {
	case l.State == planned:
		return next("start it with", v.Command)
	case v.Dead:
		return next("remove what it left with", "plimsoll lab down "+l.Name)
	case len(l.Faults) > 0:
		commands = append(commands, "plimsoll lab revert "+l.Name+" --all")
	case l.Engine == spec.LabNone:
		for _, x := range l.Volumes {
			commands = append(commands, "plimsoll disk lab:"+l.Name+"/"+x.Name)
		}
	case l.Specification.InKubernetes():
		commands = []string{"plimsoll run lab:" + l.Name + " --workload a", "plimsoll drill k8s:" + l.Specification.Kubernetes.Namespace + "/" +
			l.Name + " --fault pod-kill:" + v.victim() + " --yes-break-it"}
	default:
		commands = []string{"plimsoll run lab:" + l.Name + " --workload a", "plimsoll lab fail " + l.Name + " kill " + v.victim() + " --for 10s",
			"plimsoll drill lab:" + l.Name + " --fault kill:" + v.victim()}
	}
	if v.Secret {
		commands = append(commands, "plimsoll lab connect "+l.Name)
	}
	if v.New {
		commands = append(commands, "plimsoll lab status "+l.Name)
	}
	return next("commands", append(commands, "plimsoll lab down "+l.Name)...)
}

// victim is the target of the kill in examples.
func (v *LabView) victim() string {
	if v.Lab.Specification.Topology.Kind == spec.LabReplicaSet {
		return "primary"
	}
	return "random"
}

// Labs are the labs of a machine.
type Labs struct {
	Labs []*LabView
	// Notes are what users should know about them.
	Notes []string
	Now   time.Time
	// None says what to do if there are none.
	None string
}

func labsKind() *kind {
	k := kindOf("the list of labs", figureless(labsDocument))
	k.value = typed(func(all *Labs) any {
		list := []any{}
		for _, v := range all.Labs {
			list = append(list, v.value())
		}
		return list
	})
	return k
}

func labsDocument(all *Labs) *Document {
	if len(all.Labs) == 0 {
		return &Document{Title: "no labs; " + all.None}
	}
	d := &Document{Title: figure.Plural(len(all.Labs), "lab")}
	for _, n := range all.Notes {
		d.Findings = append(d.Findings, Point{Warn, "", n})
	}
	s := Section{Table: &Table{Left: 6, Header: []string{"lab", "state", "age", "what", "hosts", "address"}}}
	var dead []string
	for _, v := range all.Labs {
		l := &v.Lab
		state, age := l.State, "-"
		if v.Dead {
			state, dead = "dead", append(dead, l.Name)
		}
		if !l.Started.IsZero() {
			age = clock(int64(all.Now.Sub(l.Started)))
		}
		s.Table.row(l.Name, state, age, labSoftware(l), cmp.Or(l.Specification.Hosts.Mode, "-"), cmp.Or(l.URI, "-"))
	}
	d.Sections = []Section{s}
	if len(dead) > 0 {
		d.Sections = append(d.Sections, next("remove what dead labs left with", "plimsoll lab down "+strings.Join(dead, " ")))
	}
	return d
}

// LabEvents are the events of a lab, the oldest first.
type LabEvents struct {
	Name   string
	Events []record.LabEvent
}

func labEventsKind() *kind {
	k := kindOf("the log of a lab", figureless(func(e *LabEvents) *Document {
		return &Document{Title: "lab " + e.Name, Sentence: true, Sections: appendFilled(nil, labEvents(e.Events))}
	}))
	k.value = typed(func(e *LabEvents) any { return append([]record.LabEvent{}, e.Events...) })
	return k
}

func usageTable(list []record.LabUsage) *Table {
	if len(list) == 0 {
		return nil
	}
	t := &Table{Left: 1, Header: []string{"host", "CPU time", "waited at its limit", "memory now",
		"read", "written", "received", "sent"}}
	known := func(bytes int64) string { return bytesOr(bytes, "–") }
	for _, u := range list {
		t.Rows = append(t.Rows, []string{u.Host, seconds(u.CPUSeconds), seconds(u.ThrottledSeconds), figure.Bytes(u.Memory),
			known(u.ReadBytes), known(u.WriteBytes),
			known(u.Received), known(u.Sent)})
	}
	return t
}

func labEvents(events []record.LabEvent) Section {
	const most = 200
	s := Section{ID: "lab-events", Title: "events", Table: &Table{Left: 3, Header: []string{"time (UTC)", "event", "what"}}}
	if n := len(events) - most; n > 0 {
		s.Lines = []string{fmt.Sprintf("the newest first; %s before these", figure.Plural(n, "event"))}
		events = events[n:]
	}
	for _, e := range slices.Backward(events) {
		s.Table.row(e.Time.UTC().Format("15:04:05.000"), e.Kind, e.Text)
	}
	return s
}

// LabMoment is the usage of the hosts of a lab at a moment.
type LabMoment struct {
	At    time.Time
	Usage []record.LabUsage
}

// fewestMoments is the smallest number of samples for a line.
const fewestMoments = 3

// labPast draws what the hosts of a lab used while its page was open, with the charts of the labs of runs.
func labPast(v LabView) Section {
	sec := Section{ID: "lab-past", Title: "Hosts over time"}
	if len(v.Past) < fewestMoments {
		return sec
	}
	first, last := v.Past[0].At, v.Past[len(v.Past)-1].At
	sec.Lead = fmt.Sprintf("Resources that each host used, from %s to %s UTC: recorded while this page is open, at most the last minutes. A gap is a host that was off.",
		first.UTC().Format("15:04:05"), last.UTC().Format("15:04:05"))
	past := &runFiles{Run: &record.Run{Lab: &v.Lab}, Samples: samplesOf(v)}
	for _, f := range labFigures(past, nil) {
		sec.Parts = append(sec.Parts, Section{Figures: []*Figure{f}})
	}
	return sec
}

// samplesOf are the usages of the hosts at the moments of a lab, by the names of samples.
func samplesOf(v LabView) *Samples {
	s := &Samples{since: v.Past[0].At.UTC().Format("15:04:05") + " UTC", bin: "moment"}
	for _, m := range v.Past {
		s.At = append(s.At, m.At.Sub(v.Past[0].At).Seconds())
	}
	for _, name := range hostsOf(v) {
		for _, c := range []struct {
			name, unit string
			of         func(record.LabUsage) float64
			grows      bool // it is a counter, so its rate is drawn
		}{
			{"cpu.used", "cores", func(u record.LabUsage) float64 { return u.CPUSeconds }, true},
			{"cpu.throttled", "cores", func(u record.LabUsage) float64 { return u.ThrottledSeconds }, true},
			{"memory.resident", "B", func(u record.LabUsage) float64 { return float64(u.Memory) }, false},
			{"disk.write_bytes", "B/s", func(u record.LabUsage) float64 { return float64(u.WriteBytes) }, true},
			{"disk.read_bytes", "B/s", func(u record.LabUsage) float64 { return float64(u.ReadBytes) }, true},
			{"network.received", "B/s", func(u record.LabUsage) float64 { return float64(u.Received) }, true},
			{"network.sent", "B/s", func(u record.LabUsage) float64 { return float64(u.Sent) }, true},
		} {
			values := make([]float64, len(v.Past))
			series := record.Series{Source: "host:" + v.Lab.Name + "/" + name, Name: c.name, Unit: c.unit}
			n := 0.0
			for i := range v.Past {
				values[i] = usageAt(v.Past, i, name, c.of, c.grows)
				if !math.IsNaN(values[i]) {
					series.Mean, series.Max = series.Mean+values[i], max(series.Max, values[i])
					n++
				}
			}
			series.Mean /= max(n, 1)
			s.add(series, values)
		}
	}
	return s
}

// usageAt returns a usage of a host at a moment, NaN if unknown: counters have no rate at their first moment, and after
// the host was powered on again.
func usageAt(past []LabMoment, i int, host string, of func(record.LabUsage) float64, grows bool) float64 {
	here, ok := usageOf(past[i], host)
	switch {
	case !ok:
		return math.NaN()
	case !grows:
		return of(here)
	case i == 0:
		return math.NaN()
	}
	before, ok := usageOf(past[i-1], host)
	seconds := past[i].At.Sub(past[i-1].At).Seconds()
	if !ok || seconds <= 0 || of(here) < of(before) {
		return math.NaN()
	}
	return (of(here) - of(before)) / seconds
}

func usageOf(m LabMoment, host string) (record.LabUsage, bool) {
	i := slices.IndexFunc(m.Usage, func(u record.LabUsage) bool { return u.Host == host })
	if i < 0 {
		return record.LabUsage{}, false
	}
	return m.Usage[i], true
}

func hostsOf(v LabView) []string {
	var names []string
	for _, m := range v.Past {
		for _, u := range m.Usage {
			names = append(names, u.Host)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
