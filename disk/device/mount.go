package device

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
)

// mountOf returns the mount of a directory. Of several mounts at the same point the last one hides the others.
func mountOf(list []mountinfo.Mount, dir string) (best mountinfo.Mount, ok bool) {
	for _, m := range list {
		in := m.Point == "/" || dir == m.Point || strings.HasPrefix(dir, m.Point+"/")
		if in && len(m.Point) >= len(best.Point) {
			best, ok = m, true
		}
	}
	return best, ok
}

// MountOf returns the mount of a directory of this machine.
func (s System) MountOf(dir string) (mountinfo.Mount, bool) {
	mounts, err := mountinfo.Read(filepath.Join(s.Proc, "self/mountinfo"))
	if err != nil {
		return mountinfo.Mount{}, false
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return mountOf(mounts, dir)
}

// mountOfNumber returns a mount of the filesystem with a device number.
func (s System) mountOfNumber(number string) (mountinfo.Mount, bool) {
	mounts, err := mountinfo.Read(filepath.Join(s.Proc, "self/mountinfo"))
	if err != nil {
		return mountinfo.Mount{}, false
	}
	i := slices.IndexFunc(mounts, func(m mountinfo.Mount) bool { return m.Number == number })
	if i < 0 {
		return mountinfo.Mount{}, false
	}
	return mounts[i], true
}

// devicesOf returns the block devices of a mount: the device of its number, the members of a btrfs or bcachefs, and the
// device of an external log.
func (s System) devicesOf(m mountinfo.Mount) (list []string) {
	add := func(name string) {
		if name != "" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	if m.Type == "btrfs" {
		if members := s.btrfsMembers(filepath.Base(m.Source)); len(members) > 0 {
			return members
		}
	}
	if link, err := os.Readlink(filepath.Join(s.Sys, "dev/block", m.Number)); err == nil {
		add(filepath.Base(link))
	} else {
		for source := range strings.SplitSeq(m.Source, ":") {
			add(s.deviceOf(source))
		}
	}
	for _, name := range []string{"logdev", "rtdev"} {
		add(s.deviceOf(option(m.Super, name)))
	}
	return list
}

// btrfsMembers returns all devices of the btrfs of a device.
func (s System) btrfsMembers(device string) []string {
	if real, err := filepath.EvalSymlinks(filepath.Join("/dev", device)); err == nil {
		device = filepath.Base(real)
	}
	lists, _ := filepath.Glob(filepath.Join(s.Sys, "fs/btrfs/*/devices"))
	for _, dir := range lists {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		var names []string
		mine := false
		for _, e := range entries {
			names = append(names, e.Name())
			mine = mine || e.Name() == device
		}
		if mine {
			return names
		}
	}
	return nil
}

// importantOptions returns the options of a mount with an effect on the behavior of storage. Others may have addresses
// and credentials.
func importantOptions(lists ...string) string {
	var kept []string
	seen := map[string]bool{}
	for _, o := range strings.Split(strings.Join(lists, ","), ",") {
		name, _, _ := strings.Cut(o, "=")
		switch name {
		case "ro", "rw", "sync", "dirsync", "noatime", "relatime", "nodiratime", "nobarrier", "barrier", "discard", "data", "commit", "dax",
			"compress", "compress-force", "nodatacow", "nodatasum", "logbufs", "logbsize", "hard", "soft", "vers", "volatile", "errors", "emergency_ro", "degraded", "fsync_mode":
			if !seen[o] {
				kept, seen[o] = append(kept, o), true
			}
		}
	}
	return strings.Join(kept, ",")
}
