package lab

import (
	"regexp"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/lab/action"
	"github.com/plimsoll-bench/plimsoll/lab/volume"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// CheckTarget says what is wrong with the target of a fault in a lab, as far as its description tells: that there is no
// such host, member or disk, or that the hosts and disks of this lab cannot do it. Who has a role is known only when
// the fault is due. The fault itself is one that [action.Check] takes.
func CheckTarget(l record.Lab, f spec.Fault) error {
	a, what := action.Find(f.Strike.Action), f.Strike
	var hosts, known []string
	for _, h := range l.Hosts {
		hosts = append(hosts, h.Name)
	}
	for _, m := range l.Members {
		known = append(known, m.Name)
	}
	known = append(hosts, known...)
	member, disk := splitTarget(what.Target)
	role := member[strings.LastIndexByte(member, '/')+1:]
	switch {
	case a.On == action.Disk && slices.Contains(hosts, member):
		return hostHasNoDisk(what)
	case !slices.Contains(known, member) && !slices.Contains(roles, role):
		return noTarget(what.Target, known)
	case disk != "" && a.On != action.Disk:
		return isADisk(what)
	}
	return checkNeeds(l, a)
}

// checkNeeds refuses what the hosts and disks of a lab cannot do.
func checkNeeds(l record.Lab, a *action.Action) error {
	made := func(v record.LabVolume) bool { return v.Layout.Backend != volume.Directory }
	directories := len(l.Volumes) > 0 && !slices.ContainsFunc(l.Volumes, made)
	const faulty = " and --faults (storage: {size: …, faults: true})"
	switch {
	case a.Needs == action.NeedsIsolated && l.Specification.Hosts.Mode == spec.LabPlain:
		return refuse("%s needs isolated hosts, and those of this lab are plain: bring it up with --hosts isolated (hosts: {mode: isolated})", a.Name)
	case a.On == action.Disk && directories:
		with := " (storage: {size: …})"
		if a.Needs == action.NeedsFaults {
			with = faulty
		}
		return refuse("%s needs virtual disks, and the volumes of this lab are directories: bring it up with --size%s", a.Name, with)
	case a.Needs == action.NeedsFaults && !action.CanFail(l.Specification.Storage):
		return refuse("%s needs disks that can fail so: bring the lab up with --size"+faulty, a.Name)
	}
	return nil
}

// splitTarget parts MEMBER/DISK, where MEMBER is a name or a role: rs0-1/d1, primary/d1, shard2/primary/d1. disk is
// "" where none is named: shard2/primary is a member.
func splitTarget(name string) (member, disk string) {
	name = presentName(name)
	at := strings.LastIndexByte(name, '/')
	if at < 0 || slices.Contains(roles, name[at+1:]) {
		return name, ""
	}
	return name[:at], name[at+1:]
}

// formerName matches what members were called before all engines had the same names; accepted for one release.
var formerName = regexp.MustCompile(`^(?:pg|mongod)-([0-9]+)(/|$)`)

// presentName is the name that a member has now.
func presentName(name string) string {
	if rest, ok := strings.CutPrefix(name, "pg/"); ok {
		return "rs0/" + rest
	}
	return formerName.ReplaceAllString(name, "rs0-$1$2")
}

// isADisk refuses what is not done to disks on one.
func isADisk(what spec.Strike) error {
	member, _ := splitTarget(what.Target)
	return refuse("%s is done to a host or a member, and %s is a disk: name %s for the member of that volume, or use %s",
		what.Action, what.Target, member, action.DiskFail)
}

// hostHasNoDisk refuses a fault of disks on a host.
func hostHasNoDisk(what spec.Strike) error {
	return refuse("%s is done to disks, and %s is a host: name MEMBER/DISK such as primary/d1, or a member for all disks of its volume", what.Action, what.Target)
}

// noTarget says which names there are.
func noTarget(name string, known []string) error {
	return refuse("there is no %q in this lab%s (hosts and members: %s; roles: %s)", name,
		nearest.DidYouMean(name, append(slices.Clone(known), roles...)), strings.Join(known, ", "), strings.Join(roles, ", "))
}

// amongst ends a sentence about a name that is not there.
func amongst(name string, names []string) string {
	slices.Sort(names)
	if len(names) == 0 {
		return ""
	}
	return nearest.DidYouMean(name, names) + " (there are: " + strings.Join(names, ", ") + ")"
}
