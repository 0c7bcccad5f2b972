package volume

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Support says whether this machine has one kind of storage: in its kernel, and the tools to make it.
type Support struct {
	Kernel bool
	// Tools says that all programs are installed; otherwise Missing names the first that is not.
	Tools   bool
	Missing string
}

// OK says whether it can be used.
func (s Support) OK() bool { return s.Kernel && s.Tools }

// Facts are what this machine can do about storage.
type Facts struct {
	// OS is the operating system as Go names it.
	OS string
	// Root is needed for everything but directories, as are loop devices. FUSE is needed for virtual disks that lie,
	// are slow or lose power.
	Root, Loop, FUSE bool
	// Filesystems, and what combines disks.
	Btrfs, XFS, Ext4, MD, LVM Support
}

// programs are the tools of each kind of storage, with the Debian package that has them.
var programs = map[string]struct {
	names   []string
	packet  string
	modules []string
}{
	"btrfs": {[]string{"mkfs.btrfs", "btrfs"}, "btrfs-progs", []string{"btrfs"}},
	"xfs":   {[]string{"mkfs.xfs"}, "xfsprogs", []string{"xfs"}},
	"ext4":  {[]string{"mkfs.ext4"}, "e2fsprogs", []string{"ext4"}},
	"md":    {[]string{"mdadm"}, "mdadm", []string{"md-mod", "raid1"}},
	"lvm":   {[]string{"pvcreate", "vgcreate", "lvcreate", "lvs", "lvconvert", "vgremove", "pvremove"}, "lvm2", []string{"dm-mod", "dm-raid"}},
}

// Detect finds out what this machine can do. It loads no kernel modules: one that is there to be loaded counts.
func Detect(ctx context.Context) Facts {
	f := kernelFacts(ctx)
	for name, s := range map[string]*Support{"btrfs": &f.Btrfs, "xfs": &f.XFS, "ext4": &f.Ext4, "md": &f.MD, "lvm": &f.LVM} {
		s.Tools = true
		for _, program := range programs[name].names {
			if _, err := lookProgram("", program); err != nil {
				s.Tools, s.Missing = false, fmt.Sprintf("%s (package %s)", program, programs[name].packet)
				break
			}
		}
	}
	return f
}

// lookProgram finds a program of the system's administration, also where only root has its folder on PATH.
func lookProgram(dir, name string) (string, error) {
	if dir != "" {
		return exec.LookPath(filepath.Join(dir, name))
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, d := range []string{"/usr/sbin", "/sbin"} {
		if path, err := exec.LookPath(filepath.Join(d, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not installed", name)
}

// lacks says why a kind of storage cannot be used, or nothing.
func (f Facts) lacks(kind string, s Support) string {
	switch {
	case s.OK():
		return ""
	case !s.Kernel:
		return "this kernel has no " + kernelName(kind)
	default:
		return s.Missing + " is not installed"
	}
}

func kernelName(kind string) string {
	switch kind {
	case "md":
		return "md (software RAID)"
	case "lvm":
		return "device-mapper with RAID, which LVM needs"
	}
	return kind
}

// support returns what is known about a filesystem or an array by its name.
func (f Facts) support(kind string) Support {
	switch strings.ToLower(kind) {
	case "btrfs":
		return f.Btrfs
	case "xfs":
		return f.XFS
	case "ext4":
		return f.Ext4
	case "md":
		return f.MD
	case "lvm":
		return f.LVM
	}
	return Support{}
}
