package lab

import (
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/lab/volume"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// CheckTarget says what is wrong with the target of a fault in a lab, as far as its description tells: that there is no
// such host, member or disk, or that the hosts and disks of this lab cannot do it. Who has a role is known only when
// the fault is due.
func CheckTarget(l record.Lab, f Fault) error {
	var hosts, known []string
	for _, h := range l.Hosts {
		hosts = append(hosts, h.Name)
	}
	for _, m := range l.Members {
		known = append(known, m.Name)
	}
	known = append(hosts, known...)
	member, disk := splitTarget(f.Target)
	role := member[strings.LastIndexByte(member, '/')+1:]
	switch {
	case onDisk(f.Action) && slices.Contains(hosts, member):
		return hostHasNoDisk(f)
	case !slices.Contains(known, member) && !slices.Contains(roles, role):
		return noTarget(f.Target, known)
	case disk != "" && !onDisk(f.Action):
		return refuse("%s is done to a host or a member, and %s is a disk: name %s for the member of that volume", f.Action, f.Target, member)
	}
	return checkMeans(l, f)
}

// checkMeans refuses what the hosts and disks of a lab cannot do.
func checkMeans(l record.Lab, f Fault) error {
	made := func(v record.LabVolume) bool { return v.Layout.Backend != volume.Directory }
	storage := l.Specification.Storage
	failing := storage.Faults || storage.Device != "" || storage.Cache != nil
	switch {
	case (f.Action == Cut || f.Action == Slow) && l.Specification.Hosts.Mode == spec.LabPlain:
		return refuse("%s needs isolated hosts, and those of this lab are plain: bring it up with --hosts isolated (hosts: {mode: isolated})", f.Action)
	case onDisk(f.Action) && len(l.Volumes) > 0 && !slices.ContainsFunc(l.Volumes, made):
		return refuse("%s needs virtual disks, and the volumes of this lab are directories: bring it up with --size%s", f.Action, lyingDisks(f))
	case (actions[f.Action].disk != "" || f.Action == PowerLoss) && !failing:
		return refuse("%s needs disks that can fail so: bring the lab up with --size and --faults (storage: {size: …, faults: true})", f.Action)
	}
	return nil
}

// lyingDisks adds what other faults of disks need than their failure.
func lyingDisks(f Fault) string {
	if actions[f.Action].disk == "" {
		return " (storage: {size: …})"
	}
	return " and --faults (storage: {size: …, faults: true})"
}

// hostHasNoDisk refuses a fault of disks on a host.
func hostHasNoDisk(f Fault) error {
	return refuse("%s is done to disks, and %s is a host: name MEMBER/DISK such as primary/d1, or a member for all disks of its volume", f.Action, f.Target)
}

// noTarget says which names there are.
func noTarget(name string, known []string) error {
	return refuse("there is no %q in this lab%s (hosts and members: %s; roles: %s)", name,
		nearest.DidYouMean(name, append(slices.Clone(known), roles...)), strings.Join(known, ", "), strings.Join(roles, ", "))
}
