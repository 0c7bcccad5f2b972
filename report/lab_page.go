package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
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
	{subject: "pages evicted by operations", name: "cache.evicted_by_application", unit: "1/s"},
	{subject: "read into the cache", name: "cache.read_bytes", unit: "B/s"},
	{subject: "checkpoint running", name: "checkpoint.running"},
	{subject: "time of a journal sync", name: "log.sync_time", unit: "ns"},
	{subject: "behind the primary", name: "replication.lag", unit: "ns"},
	{subject: "operations applied from the primary", name: "repl.applied", unit: "1/s"},
	{subject: "time under flow control", name: "flow_control.lagged_time", unit: "share"},
	{subject: "limit of flow control", name: "flow_control.limit"},
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

// LabView is a lab by itself, as it is now.
type LabView struct {
	Lab record.Lab
	// Usage is the usage of its hosts since they were powered on.
	Usage []record.LabUsage
	// Events are its events, the oldest first.
	Events []record.LabEvent
	// Past is the usage of its hosts at previous moments, the oldest first; empty if it was not kept.
	Past []LabMoment
}

// LabPage is a page about a lab by itself.
func LabPage(v LabView, o PageOptions) *Page {
	Tidy(&v)
	p := &Page{Title: "Lab " + v.Lab.Name, MadeBy: Version(o.Tool)}
	p.Sections = arranged(LabSections(&v.Lab, nil, nil), "")
	sec := &p.Sections[0]
	sec.Title = "State: " + cmp.Or(v.Lab.State, "not known")
	if len(sec.Parts) > 1 { // behind the hosts
		sec.Parts = slices.Insert(sec.Parts, 2, Section{Table: usageTable(v.Usage)})
	}
	p.Sections = appendFilled(p.Sections, labPast(v), labEvents(v.Events))
	return p
}

func usageTable(list []record.LabUsage) *Table {
	if len(list) == 0 {
		return nil
	}
	t := &Table{Caption: "What the hosts used since they were powered on", Left: 1, Header: []string{"host", "CPU time", "waited at its limit", "memory now",
		"read", "written", "received", "sent"}}
	known := func(bytes int64) string {
		if bytes == 0 {
			return "–"
		}
		return figure.Bytes(bytes)
	}
	for _, u := range list {
		t.Rows = append(t.Rows, []string{u.Host, seconds(u.CPUSeconds), seconds(u.ThrottledSeconds), figure.Bytes(u.Memory),
			known(u.ReadBytes),
			known(u.WriteBytes), known(u.Received), known(u.Sent)})
	}
	return t
}

func labEvents(events []record.LabEvent) Section {
	const most = 200
	sec := Section{ID: "lab-events", Title: "What happened"}
	if len(events) == 0 {
		return sec
	}
	t := &Table{Caption: "Events of the lab, the newest first", Quiet: true, Left: 3, Header: []string{"time (UTC)", "event", "what"}}
	for i := len(events) - 1; i >= 0; i-- {
		if len(t.Rows) == most {
			t.Notes = append(t.Notes, fmt.Sprintf("%s before these.", figure.Plural(i+1, "event")))
			break
		}
		e := events[i]
		t.Rows = append(t.Rows, []string{e.Time.UTC().Format("15:04:05.000"), e.Kind, e.Text})
	}
	sec.Parts = []Section{{Table: t}}
	return sec
}
