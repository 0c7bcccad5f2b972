package lab

import (
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/lab/volume"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// CheckTarget checks the target of a fault against the description of a lab: the host, member or disk must exist, and
// the hosts and disks of the lab must support the action. Roles are resolved only when the fault is injected. The fault
// must have passed [fault.Check].
func CheckTarget(l record.Lab, f spec.Fault) error {
	a, what := fault.Find(f.Action.Name), f.Action
	var hosts, known []string
	for _, h := range l.Hosts {
		hosts = append(hosts, h.Name)
	}
	for _, m := range l.Members {
		known = append(known, m.Name)
	}
	known = append(hosts, known...)
	if a.Name == fault.AddMember || a.On == fault.Collection || a.On == fault.Set && what.Target == fault.AllSets {
		return CheckNeeds(l, a)
	}
	if a.On == fault.Set {
		return checkSet(l, a, what.Target)
	}
	member, disk := splitTarget(what.Target)
	role := member[strings.LastIndexByte(member, '/')+1:]
	switch {
	case a.Platform != "":
		return refuse("%s is an action of %s only. A lab has: %s", a.Name, a.Platform, strings.Join(fault.Names(), ", "))
	case a.On == fault.Disk && slices.Contains(hosts, member):
		return hostHasNoDisk(what)
	case !slices.Contains(known, member) && !slices.Contains(roles, role):
		return noTarget(what.Target, known)
	case disk != "" && a.On != fault.Disk:
		return isADisk(what)
	}
	return CheckNeeds(l, a)
}

// checkSet checks the name of a replica set or shard.
func checkSet(l record.Lab, a *fault.Action, name string) error {
	var sets []string
	for _, m := range l.Members {
		if m.Set != "" && !slices.Contains(sets, m.Set) {
			sets = append(sets, m.Set)
		}
	}
	if !slices.Contains(sets, name) {
		return refuse("there is no set %q%s (sets: %s, or %s)", name, nearest.DidYouMean(name, sets), strings.Join(sets, ", "),
			fault.AllSets)
	}
	return CheckNeeds(l, a)
}

// CheckNeeds checks that a lab has what an action needs. The lab may be a specification only.
func CheckNeeds(l record.Lab, a *fault.Action) error {
	made := func(v record.LabVolume) bool { return v.Layout.Backend != volume.Directory }
	directories := len(l.Volumes) > 0 && !slices.ContainsFunc(l.Volumes, made)
	const faulty = " and --faults (storage: {size: …, faults: true})"
	switch {
	case a.NoLab != "":
		return refuse("%s", a.NoLab)
	case a.Lacking != "" && l.Engine == spec.LabDocumentDB:
		return refuse("the engine %s does not have %s, because %s", spec.LabDocumentDB, a.Name, a.Lacking)
	case a.Needs == fault.NeedsSet && l.Specification.Topology.Kind == spec.LabStandalone:
		return refuse("%s needs a replica set, and this lab has a single server. Create the lab with --members 3", a.Name)
	case a.Needs == fault.NeedsShards && l.Specification.Topology.Kind != spec.LabSharded:
		return refuse("%s needs a sharded cluster. Create the lab with --shards 2", a.Name)
	case a.Needs == fault.NeedsIsolated && l.Specification.Hosts.Mode == spec.LabPlain:
		return refuse("%s needs isolated hosts, but this lab has plain hosts. "+
			"Create the lab with --hosts isolated (hosts: {mode: isolated})", a.Name)
	case a.On == fault.Disk && directories:
		with := " (storage: {size: …})"
		if a.Needs == fault.NeedsFaults {
			with = faulty
		}
		return refuse("%s needs virtual disks, but the volumes of this lab are directories. "+
			"Create the lab with --size%s", a.Name, with)
	case a.Needs == fault.NeedsFaults && !volume.UsesFaultfs(l.Specification.Storage):
		return refuse("%s needs disks of the fault filesystem. Create the lab with --size"+faulty, a.Name)
	}
	return nil
}

// splitTarget splits MEMBER/DISK, where MEMBER is a name or a role: rs0-1/d1, primary/d1, shard2/primary/d1. disk is ""
// if the target is a member, such as shard2/primary.
func splitTarget(name string) (member, disk string) {
	at := strings.LastIndexByte(name, '/')
	if at < 0 || slices.Contains(roles, name[at+1:]) {
		return name, ""
	}
	return name[:at], name[at+1:]
}

func isADisk(what spec.Action) error {
	member, _ := splitTarget(what.Target)
	return refuse("%s needs a host or a member, but %s is a disk. Name %s, the member of that volume, or use %s",
		what.Name, what.Target, member, fault.DiskFail)
}

func hostHasNoDisk(what spec.Action) error {
	return refuse("%s needs a disk, but %s is a host. Name MEMBER/DISK, such as primary/d1, "+
		"or a member for all disks of its volume", what.Name, what.Target)
}

func noTarget(name string, known []string) error {
	return refuse("there is no %q in this lab%s (hosts and members: %s; roles: %s)", name,
		nearest.DidYouMean(name, slices.Concat(known, roles)), strings.Join(known, ", "), strings.Join(roles, ", "))
}

// suggestions ends an error about a volume that does not exist with the names of those that do.
func suggestions(name string, names []string) string {
	slices.Sort(names)
	if len(names) == 0 {
		return ""
	}
	return nearest.DidYouMean(name, names) + " (volumes: " + strings.Join(names, ", ") + ")"
}
