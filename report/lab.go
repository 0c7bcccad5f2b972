package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// labLine is the name of a lab with its [LabText].
func labLine(l *record.Lab) string { return l.Name + ": " + LabText(l) }

// LabText says in one line what a lab is: its hosts, its software, its cluster, and its storage.
func LabText(l *record.Lab) string {
	text := join(", ", hostsText(l), labSoftware(l), labStorage(l))
	if l.State != "" && l.State != "up" {
		text += " (" + l.State + ")"
	}
	return text
}

// labSoftware is the software of a lab and its cluster.
func labSoftware(l *record.Lab) string {
	asked := l.Specification
	if l.Engine == spec.LabNone {
		return figure.Plural(int(max(asked.Topology.Members, 1)), "volume") + " without a database"
	}
	return join(", ", strings.TrimSpace(l.Engine+" "+l.Version), topologyText(asked.Topology))
}

func labStorage(l *record.Lab) string {
	policy, layout := l.Specification.Storage.Policy(), ""
	if len(l.Volumes) > 0 && l.Volumes[0].Policy != "" {
		policy, layout = l.Volumes[0].Policy, layoutText(l.Volumes[0].Layout)
	}
	if policy == "directory" {
		policy = "a directory"
	}
	return "each on " + policy + layout
}

func hostsText(l *record.Lab) string {
	n, cores, memory, alike := 0, 0.0, int64(0), true
	for _, h := range l.Hosts {
		if h.Role != "member" {
			continue
		}
		if n > 0 && (h.Cores != cores || h.Memory != memory) {
			alike = false
		}
		n, cores, memory = n+1, h.Cores, h.Memory
	}
	if len(l.Hosts) == 0 { // only the specification is known
		h := l.Specification.Hosts
		n, cores, memory = int(h.Count), h.Cores, int64(h.Memory)
		if l.Specification.InKubernetes() {
			n = int(l.Specification.Topology.Members)
		}
	}
	eachCores, eachMemory := "", ""
	if alike && cores > 0 {
		if eachCores = number(cores) + " core"; cores != 1 {
			eachCores += "s"
		}
	}
	if alike && memory > 0 {
		eachMemory = figure.Bytes(memory) + " of memory"
	}
	what := "host"
	if l.Specification.InKubernetes() {
		what = "pod"
	}
	text := figure.Plural(n, what)
	if details := join(", ", l.Specification.Hosts.Mode, eachCores, eachMemory); details != "" {
		text += " (" + details + ")"
	}
	return text
}

func topologyText(t spec.Topology) string {
	switch t.Kind {
	case spec.LabSharded:
		return fmt.Sprintf("%s of %s, %s, %s", figure.Plural(int(t.Shards), "shard"), figure.Plural(int(t.Members), "member"),
			figure.Plural(int(t.ConfigServers), "config server"), figure.Plural(int(t.Routers), "router"))
	case spec.LabReplicaSet:
		text := "replica set of " + figure.Plural(int(t.Members), "member")
		if t.Arbiter {
			text += " and an arbiter"
		}
		if t.Election != "" {
			text += " (" + t.Election + ")"
		}
		return text
	}
	return "standalone"
}

// layoutText says what was made of a policy, where it is more than a directory.
func layoutText(l record.LabLayout) string {
	if l.Backend == "" || l.Backend == "directory" {
		return ""
	}
	return " (" + join(" ", l.Backend, l.Profile, differing(l.Filesystem, l.Backend)) + ")"
}

func differing(s, from string) string {
	if s == from {
		return ""
	}
	return s
}

// labSpecLine is a specification of a lab in one line.
func labSpecLine(asked spec.Lab) string {
	asked.Defaults()
	return labLine(&record.Lab{Name: asked.Name, State: "up", Specification: asked, Engine: asked.Engine.Name,
		Version: asked.Engine.Version})
}

// labSections describe a lab in a run: its hosts with their usage, its members, its volumes, and notes. After is the
// lab at the end of the run, nil if there is none; series are those of the run, if any, and usage are figures of its
// hosts.
func labSections(l, after *record.Lab, series []record.Series, usage ...*Figure) []Section {
	after = cmp.Or(after, &record.Lab{})
	return append(appendFilled(nil, labHead(l, after)), labTables(l, after, series, usage...)...)
}

// labTables are what a lab has.
func labTables(l, after *record.Lab, series []record.Series, usage ...*Figure) []Section {
	hosts := labHosts(l, after, series)
	hosts.draw(usage...)
	return appendFilled(nil, hosts, labPerOperation(l, series), labMembers(l, after), labVolumes(l, after),
		labSharding(l, after), labSettings(l))
}

func labHead(l, after *record.Lab) Section {
	s := Section{ID: "lab", Group: "lab"}
	if l.UsableAfter > 0 {
		s.Lines = append(s.Lines, "usable after "+duration(l.UsableAfter))
	}
	if l.Failover != "" {
		s.Lines = append(s.Lines, "failover by "+l.Failover)
	}
	if l.Problem != "" {
		s.Points = append(s.Points, Point{Warn, "warning", l.Problem})
	}
	for _, f := range l.Faults {
		s.Points = append(s.Points, Point{Warn, "warning", "fault " + FaultText(f)})
	}
	for _, f := range after.Faults {
		if !slices.ContainsFunc(l.Faults, func(before record.LabFault) bool { return before.ID == f.ID }) {
			s.Points = append(s.Points, Point{Warn, "warning", "fault in place at the end: " + FaultText(f)})
		}
	}
	for _, n := range l.Notes {
		s.Points = append(s.Points, Point{Note, "note", n})
	}
	return s
}

// FaultText is a fault of a lab, with its number where it has one.
func FaultText(f record.LabFault) string {
	text := f.Action + prefixed(" of ", f.Target) + prefixed(" from ", f.From)
	if f.ID > 0 {
		text = fmt.Sprintf("%d: %s", f.ID, text)
	}
	if !f.Since.IsZero() {
		text += " since " + f.Since.UTC().Format("15:04:05")
	}
	if f.Until != nil {
		text += " until " + f.Until.UTC().Format("15:04:05")
	}
	return text
}

func hostSeries(l *record.Lab, host string, series []record.Series, name string) *record.Series {
	for i := range series {
		if series[i].Source == "host:"+l.Name+"/"+host && series[i].Name == name {
			return &series[i]
		}
	}
	return nil
}

func labHosts(l, after *record.Lab, series []record.Series) Section {
	s := Section{ID: "lab-hosts", Group: "lab", Title: "hosts", Table: &Table{Header: []string{"host", "role", "state", "cores", "memory", "CPU used, mean", "most",
		"waited at its limit", "memory used, most", "read", "written", "received", "sent"}, Left: 3}}
	last := map[string]record.LabHost{}
	for _, h := range after.Hosts {
		last[h.Name] = h
	}
	for _, h := range l.Hosts {
		state := h.State
		if len(h.CutFrom) > 0 {
			state += ", cut off from " + strings.Join(h.CutFrom, ", ")
		}
		if now, ok := last[h.Name]; ok {
			state = changed(state, now.State)
		}
		cores := "no limit"
		if h.Cores != 0 {
			cores = number(h.Cores)
		}
		cells := []string{h.Name, h.Role, state, cores, bytesOr(h.Memory, "no limit")}
		used := func(name string, print func(float64) string, value func(*record.Series) float64) {
			cell := "-"
			if x := hostSeries(l, h.Name, series, name); x != nil {
				cell = print(value(x))
			}
			cells = append(cells, cell)
		}
		mean := func(x *record.Series) float64 { return x.Mean }
		most := func(x *record.Series) float64 { return x.Max }
		bytes := func(v float64) string { return figure.Bytes(int64(v)) }
		used("cpu.used", figure.Significant, mean)
		used("cpu.used", figure.Significant, most)
		used("cpu.throttled", figure.Significant, mean)
		used("memory.resident", bytes, most)
		for _, name := range []string{"disk.read_bytes", "disk.write_bytes", "network.received", "network.sent"} {
			used(name, func(v float64) string { return bytes(v) + "/s" }, mean)
		}
		s.Table.row(cells...)
	}
	if len(series) == 0 { // a lab without a run has no results
		s.Table.Header = append(s.Table.Header[:5], "address", "members")
		s.Table.Last = 2
		for i, h := range l.Hosts {
			s.Table.Rows[i] = append(s.Table.Rows[i][:5], cmp.Or(h.Address, "-"), cmp.Or(strings.Join(h.Members, " "), "-"))
		}
		s.Table.dropEmpty()
	}
	return s
}

func changed(before, after string) string {
	if before == after || after == "" {
		return before
	}
	return before + " → " + after
}

// labPerOperation says what one operation costs on each host.
func labPerOperation(l *record.Lab, series []record.Series) Section {
	s := Section{ID: "lab-operation", Group: "lab", Title: "one operation on the hosts", Table: &Table{Header: []string{"host", "CPU time", "read", "reads", "written", "writes",
		"received", "sent"}, Left: 1}}
	for _, h := range l.Hosts {
		known := false
		per := func(name string, text func(float64) string) string {
			if x := hostSeries(l, h.Name, series, name); x != nil && x.PerOperation != nil {
				known = true
				return text(*x.PerOperation)
			}
			return "-"
		}
		bytes := func(v float64) string { return figure.Bytes(int64(v)) }
		row := []string{h.Name, per("cpu.used", seconds), per("disk.read_bytes", bytes), per("disk.reads", figure.Significant),
			per("disk.write_bytes", bytes), per("disk.writes", figure.Significant), per("network.received", bytes), per("network.sent", bytes)}
		if known {
			s.Table.row(row...)
		}
	}
	return s
}

func labMembers(l, after *record.Lab) Section {
	s := Section{ID: "lab-members", Group: "lab", Title: "members", Table: &Table{Header: []string{"member", "kind", "host", "role", "state", "lag", "term"}, Left: 5}}
	if l.Engine == spec.LabNone { // the volumes have more
		return s
	}
	last := map[string]record.LabMember{}
	for _, m := range after.Members {
		last[m.Name] = m
	}
	var problems []string
	who := map[string][]string{} // members by problem: gateways often share one
	for _, m := range l.Members {
		now, ok := last[m.Name]
		if !ok {
			now = m
		}
		kind := m.Kind + prefixed(" of ", m.Set) + prefixed(" for ", m.Durability)
		term := "-"
		if now.Term > 0 {
			term = fmt.Sprint(now.Term)
		}
		if now.Problem != "" {
			if who[now.Problem] == nil {
				problems = append(problems, now.Problem)
			}
			who[now.Problem] = append(who[now.Problem], m.Name)
		}
		s.Table.row(m.Name, kind, changed(m.Host, now.Host), cmp.Or(changed(m.Role, now.Role), "-"),
			changed(m.State, now.State), lagText(now), term)
	}
	for _, p := range problems {
		s.Points = append(s.Points, Point{Warn, strings.Join(who[p], ", "), p})
	}
	if len(after.Members) == 0 {
		s.Table.Header, s.Table.Last = append(s.Table.Header, "address"), 1
		for i, m := range l.Members {
			s.Table.Rows[i] = append(s.Table.Rows[i], cmp.Or(m.Address, "-"))
		}
		s.Table.dropEmpty()
	}
	if len(after.Members) > 0 && len(s.Table.Rows) > 0 {
		s.Lines = []string{"lag and term are from the end of the run; an arrow marks a change during the run"}
	}
	return s
}

// lagText says how far a member is behind; "-" if that is not known.
func lagText(m record.LabMember) string {
	lag, bytes := "", ""
	switch {
	case m.Idle:
		lag = "idle"
	case m.LagSeconds != nil && *m.LagSeconds > 0:
		lag = seconds(*m.LagSeconds)
	case m.LagSeconds != nil:
		lag = "0 s" // a figure with a unit, beside one with another
	}
	if m.LagBytes != nil {
		bytes = figure.Bytes(*m.LagBytes)
	}
	return cmp.Or(join(", ", lag, bytes), "-")
}

func labVolumes(l, after *record.Lab) Section {
	s := Section{ID: "lab-volumes", Group: "lab", Title: "volumes", Table: &Table{Header: []string{"volume", "member", "policy", "layout", "health", "capacity", "used",
		"write amplification", "may lose"}, Left: 5}}
	last := map[string]record.LabVolume{}
	for _, v := range after.Volumes {
		last[v.Name] = v
	}
	for _, v := range l.Volumes {
		now, ok := last[v.Name]
		if !ok {
			now = v
		}
		health := changed(v.Health, now.Health) + prefixed(": ", now.Detail)
		amplification := "-"
		if x := v.Layout.WriteAmplification; x > 0 {
			amplification = figure.Significant(x) + "×"
		}
		s.Table.row(v.Name, v.Member, v.Policy, layoutLine(v), health, bytesOr(now.Capacity, "-"), bytesOr(now.Used, "-"),
			amplification,
			figure.Plural(v.Layout.Tolerates, "disk"))
		for _, n := range v.Layout.Notes {
			if p := (Point{Note, "note", n}); !slices.Contains(s.Points, p) {
				s.Points = append(s.Points, p)
			}
		}
	}
	if len(after.Volumes) == 0 {
		s.Table.Header, s.Table.Last, s.Table.Wide = append(s.Table.Header, "disks"), 1, []int{1, 2}
		for i, v := range l.Volumes {
			s.Table.Rows[i] = append(s.Table.Rows[i], diskText(v.Disks))
		}
		s.Table.dropEmpty()
	}
	return s
}

func diskText(disks []record.LabDisk) string {
	var parts []string
	for _, d := range disks {
		text := d.Name
		if d.State != "ok" {
			text += " (" + d.State + ")"
		}
		parts = append(parts, text)
	}
	return cmp.Or(strings.Join(parts, " "), "-")
}

func layoutLine(v record.LabVolume) string {
	l := v.Layout
	disks := ""
	if l.Disks > 0 {
		disks = figure.Plural(l.Disks, "disk")
		if l.DiskSize > 0 {
			disks += " of " + figure.Bytes(l.DiskSize)
		}
	}
	return join(", ", strings.TrimSpace(l.Backend+" "+l.Profile), differing(l.Filesystem, l.Backend),
		prefixed("checksum ", l.Checksum), disks, prefixed("like ", l.Device), prefixed("cache ", l.Cache))
}

func labSharding(l, after *record.Lab) Section {
	s := Section{ID: "lab-chunks", Group: "lab", Title: "chunks", Table: &Table{Header: []string{"shard", "chunks"}, Left: 1}}
	if l.Sharding == nil {
		return s
	}
	s.Lines = []string{fmt.Sprintf("%s is sharded by %s", l.Sharding.Namespace, l.Sharding.Key)}
	for _, shard := range slices.Sorted(maps.Keys(l.Sharding.Chunks)) {
		text := figure.Count(l.Sharding.Chunks[shard])
		if after.Sharding != nil {
			text = changed(text, figure.Count(after.Sharding.Chunks[shard]))
		}
		s.Table.row(shard, text)
	}
	return s
}

func labSettings(l *record.Lab) Section {
	s := Section{ID: "lab-settings", Group: "lab", Title: "settings of the members", Appendix: true, Table: &Table{Header: []string{"setting", "value", "members"}, Left: 3}}
	who := map[[2]string][]string{}
	for _, m := range l.Members {
		for name, value := range m.Settings {
			who[[2]string{name, value}] = append(who[[2]string{name, value}], m.Name)
		}
	}
	keys := slices.SortedFunc(maps.Keys(who), func(a, b [2]string) int {
		return slices.Compare(a[:], b[:])
	})
	for _, k := range keys {
		s.Table.row(k[0], k[1], strings.Join(who[k], ", "))
	}
	return s
}
