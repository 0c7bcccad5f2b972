package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// writeLabUp prints a new lab: addresses, hosts, members, volumes, costs and next commands.
func writeLabUp(w io.Writer, l record.Lab, usage []record.LabUsage, addresses map[string]string) error {
	var b strings.Builder
	writeLabHead(&b, l)
	writeAddresses(&b, l, addresses)
	writeLabTables(&b, l)
	var memory int64
	for _, u := range usage {
		memory += u.Memory
	}
	var disk int64
	for _, v := range l.Volumes {
		disk += v.Used
	}
	fmt.Fprintf(&b, "\ncost      usable after %s", formatDuration(time.Duration(l.UsableAfter)))
	if memory > 0 {
		fmt.Fprintf(&b, ", %s of memory", formatBytes(memory))
	}
	if disk > 0 {
		fmt.Fprintf(&b, ", %s in volumes", formatBytes(disk))
	}
	if l.Specification.InKubernetes() {
		fmt.Fprintf(&b, "\n\nnext      plimsoll run lab:%[1]s --workload a\n          plimsoll drill k8s:%[2]s/%[1]s --fault pod-kill:%[3]s --yes-break-it\n          plimsoll lab status %[1]s\n          plimsoll lab down %[1]s\n",
			l.Name, l.Specification.Kubernetes.Namespace, victim(l))
		_, err := io.WriteString(w, b.String())
		return err
	}
	if l.Engine == spec.LabNone {
		writeNextBare(&b, l)
		_, err := io.WriteString(w, b.String())
		return err
	}
	fmt.Fprintf(&b, "\n\nnext      plimsoll run lab:%[1]s --workload a\n          plimsoll lab status %[1]s\n          plimsoll lab fail %[1]s kill %[2]s --for 10s\n          plimsoll drill lab:%[1]s --fault kill:%[2]s\n          plimsoll lab down %[1]s\n",
		l.Name, victim(l))
	_, err := io.WriteString(w, b.String())
	return err
}

// writeNextBare prints next commands for volumes without a database.
func writeNextBare(b *strings.Builder, l record.Lab) {
	b.WriteString("\n\n")
	label := "next"
	for _, v := range l.Volumes {
		fmt.Fprintf(b, "%-9s plimsoll disk lab:%s/%s\n", label, l.Name, v.Name)
		label = ""
	}
	fmt.Fprintf(b, "          plimsoll lab status %[1]s\n          plimsoll lab down %[1]s\n", l.Name)
}

// victim is the target of the kill in examples.
func victim(l record.Lab) string {
	if l.Specification.Topology.Kind == spec.LabReplicaSet {
		return "primary"
	}
	return "random"
}

func writeLabHead(b *strings.Builder, l record.Lab) {
	fmt.Fprintf(b, "%s: %s", l.Name, l.State)
	if !l.Started.IsZero() {
		fmt.Fprintf(b, ", started %s", l.Started.UTC().Format(time.RFC3339))
	}
	fmt.Fprintf(b, ", %s", topologyText(l.Specification))
	if l.Engine != "" && l.Engine != spec.LabNone {
		fmt.Fprintf(b, " of %s", l.Engine)
	}
	if l.Version != "" {
		fmt.Fprintf(b, " (%s)", report.Clean(l.Version))
	}
	fmt.Fprintln(b)
	if l.Problem != "" {
		fmt.Fprintf(b, "problem   %s\n", wrap(report.Clean(l.Problem), textWidth-10, strings.Repeat(" ", 10)))
	}
}

func topologyText(s spec.Lab) string {
	t := s.Topology
	if s.Engine.Name == spec.LabNone {
		return plural(int(max(t.Members, 1)), "volume") + " without a database"
	}
	switch t.Kind {
	case spec.LabSharded:
		return fmt.Sprintf("%s of %s, %s, %s", plural(int(t.Shards), "shard"), plural(int(t.Members), "member"),
			plural(int(t.ConfigServers), "config server"), plural(int(t.Routers), "router"))
	case spec.LabReplicaSet:
		text := "replica set of " + plural(int(t.Members), "member")
		if t.Arbiter {
			text += " and an arbiter"
		}
		return text + ", " + t.Election
	}
	return "standalone"
}

// writeAddresses prints addresses without passwords.
func writeAddresses(b *strings.Builder, l record.Lab, addresses map[string]string) {
	if l.URI == "" {
		return
	}
	label := "address"
	hidden := false
	for _, level := range slices.Sorted(maps.Keys(addresses)) {
		hidden = hidden || lab.Redact(addresses[level]) != addresses[level]
	}
	hidden = hidden || l.Specification.Engine.Authentication
	fmt.Fprintf(b, "%-9s %s\n", label, l.URI)
	levels := &table{left: 100}
	for _, level := range slices.Sorted(maps.Keys(l.URIs)) {
		levels.row(l.URIs[level], level, topology.LevelMeaning(level, membersOf(l)))
	}
	levels.write(b, strings.Repeat(" ", 10))
	if hidden {
		fmt.Fprintf(b, "%-9s (print it with user and password: plimsoll lab connect %s)\n", "", l.Name)
	}
}

// membersOf returns the number of members of a set with data.
func membersOf(l record.Lab) int {
	if t := l.Specification.Topology; t.Kind == spec.LabReplicaSet {
		return int(t.Members)
	}
	return 1
}

func writeLabTables(b *strings.Builder, l record.Lab) {
	writeHosts(b, l.Hosts)
	writeMembers(b, l.Members)
	writeVolumes(b, l.Volumes)
	if s := l.Sharding; s != nil {
		fmt.Fprintf(b, "\nsharded   %s by %s:", s.Namespace, s.Key)
		for _, shard := range slices.Sorted(maps.Keys(s.Chunks)) {
			fmt.Fprintf(b, " %s %s", shard, plural(int(s.Chunks[shard]), "chunk"))
		}
		fmt.Fprintln(b)
	}
	if len(l.Faults) > 0 {
		fmt.Fprintln(b)
		for _, f := range l.Faults {
			fmt.Fprintf(b, "fault %-3d %s\n", f.ID, faultText(f))
		}
	}
	if l.Failover != "" {
		fmt.Fprintf(b, "\n%-9s %s\n", "failover", wrap(l.Failover, textWidth-10, strings.Repeat(" ", 10)))
	}
	for i, n := range l.Notes {
		label := ""
		if i == 0 {
			fmt.Fprintln(b)
			label = "notes"
		}
		fmt.Fprintf(b, "%-9s %s\n", label, wrap(report.Clean(n), textWidth-10, strings.Repeat(" ", 10)))
	}
}

func faultText(f record.LabFault) string {
	text := f.Action + " " + f.Target
	if f.From != "" {
		text += " from " + f.From
	}
	text += ", since " + f.Since.UTC().Format(time.TimeOnly)
	if f.Until != nil {
		text += ", reverts at " + f.Until.UTC().Format(time.TimeOnly)
	}
	return text
}

func writeHosts(b *strings.Builder, hosts []record.LabHost) {
	if len(hosts) == 0 {
		return
	}
	t := &table{left: 100}
	t.row("host", "role", "state", "address", "cores", "memory", "members")
	for _, h := range hosts {
		state := h.State
		if len(h.CutFrom) > 0 {
			state += ", cut from " + strings.Join(h.CutFrom, " ")
		}
		t.row(h.Name, h.Role, state, h.Address, limitText(h.Cores > 0, significant(h.Cores)),
			limitText(h.Memory > 0, formatBytes(h.Memory)), cmp.Or(strings.Join(h.Members, " "), "-"))
	}
	fmt.Fprintln(b)
	t.write(b, "")
}

func limitText(limited bool, text string) string {
	if limited {
		return text
	}
	return "all"
}

func writeMembers(b *strings.Builder, members []record.LabMember) {
	if len(members) == 0 {
		return
	}
	t := &table{left: 100}
	if !slices.ContainsFunc(members, func(m record.LabMember) bool { return m.Kind != topology.KindVolume }) {
		return // the table of volumes has more
	}
	t.row("member", "role", "state", "host", "address", "lag", "set")
	var problems []string
	who := map[string][]string{} // members by problem: gateways often share one
	for _, m := range members {
		t.row(m.Name, cmp.Or(m.Role, "-"), m.State, m.Host, m.Address, report.LagText(m), cmp.Or(m.Set, "-"))
		if m.Problem != "" {
			if who[m.Problem] == nil {
				problems = append(problems, m.Problem)
			}
			who[m.Problem] = append(who[m.Problem], m.Name)
		}
	}
	fmt.Fprintln(b)
	t.write(b, "")
	for _, p := range problems {
		fmt.Fprintln(b, wrap(report.Clean(strings.Join(who[p], ", ")+": "+p), textWidth, "  "))
	}
}

func writeVolumes(b *strings.Builder, volumes []record.LabVolume) {
	if len(volumes) == 0 {
		return
	}
	t := &table{left: 100}
	t.row("volume", "health", "layout", "capacity", "used", "disks")
	var details []string
	for _, v := range volumes {
		capacity, used := cmp.Or(knownBytes(v.Capacity), "-"), cmp.Or(knownBytes(v.Used), "-")
		if v.Layout.Backend == "directory" { // it shares the filesystem
			capacity = "that of the disk"
		}
		t.row(v.Name, v.Health, layoutText(v.Layout), capacity, used, diskText(v.Disks))
		if v.Detail != "" && v.Health != "healthy" {
			details = append(details, v.Name+": "+v.Detail)
		}
	}
	fmt.Fprintln(b)
	t.write(b, "")
	for _, d := range details {
		fmt.Fprintln(b, wrap(report.Clean(d), textWidth, "  "))
	}
}

// knownBytes formats a size; "" if it is unknown.
func knownBytes(n int64) string {
	if n == 0 {
		return ""
	}
	return formatBytes(n)
}

func layoutText(l record.LabLayout) string {
	words := []string{l.Backend, l.Profile}
	if l.Filesystem != l.Backend {
		words = append(words, l.Filesystem)
	}
	return strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), " ")
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
