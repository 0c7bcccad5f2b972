package volume

import (
	"fmt"
	"os/exec"
	"path/filepath"
)

// Support says whether the kernel supports one kind of storage, and whether its tools are installed.
type Support struct {
	Kernel bool
	// Tools says that all programs are installed. Otherwise Missing names the first that is not.
	Tools   bool
	Missing string
}

func (s Support) OK() bool { return s.Kernel && s.Tools }

// Facts say which storage this machine supports.
type Facts struct {
	OS string // as in GOOS
	// Root and Loop are required for virtual disks, FUSE for the fault filesystem.
	Root, Loop, FUSE          bool
	Btrfs, XFS, Ext4, MD, LVM Support
}

// programs are the tools and kernel modules of each kind of storage, with the Debian package of the tools.
var programs = map[string]struct {
	names   []string
	packet  string
	modules []string
}{
	"btrfs": {[]string{"mkfs.btrfs", "btrfs"}, "btrfs-progs", []string{"btrfs"}},
	"xfs":   {[]string{"mkfs.xfs"}, "xfsprogs", []string{"xfs"}},
	"ext4":  {[]string{"mkfs.ext4"}, "e2fsprogs", []string{"ext4"}},
	"md":    {[]string{"mdadm"}, "mdadm", []string{"md-mod", "raid1"}},
	"lvm": {[]string{"pvcreate", "vgcreate", "lvcreate", "lvs", "lvconvert", "vgremove", "pvremove"}, "lvm2",
		[]string{"dm-mod", "dm-raid"}},
}

// Detect reads what this machine supports. It loads no kernel modules; a module that can be loaded counts.
func Detect() Facts {
	f := kernelFacts()
	for name, s := range map[string]*Support{"btrfs": &f.Btrfs, "xfs": &f.XFS, "ext4": &f.Ext4, "md": &f.MD,
		"lvm": &f.LVM} {
		s.Tools = true
		for _, program := range programs[name].names {
			if _, err := findProgram("", program); err != nil {
				s.Tools, s.Missing = false, fmt.Sprintf("%s (package %s)", program, programs[name].packet)
				break
			}
		}
	}
	return f
}

// findProgram finds a program for administration, even in directories that only root has on PATH.
func findProgram(dir, name string) (string, error) {
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

// lacks is the reason why a kind of storage is not supported; empty if it is.
func (f Facts) lacks(kind string) string {
	switch s := f.support(kind); {
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

func (f Facts) support(kind string) Support {
	switch kind {
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
