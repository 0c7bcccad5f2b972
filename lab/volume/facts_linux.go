package volume

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// kernelFacts asks the kernel what it can do.
func kernelFacts(context.Context) Facts {
	modules := knownModules()
	has := func(kind string) Support {
		return Support{Kernel: !slices.ContainsFunc(programs[kind].modules, func(m string) bool { return !modules[m] })}
	}
	f := Facts{OS: "linux", Root: os.Geteuid() == 0, Loop: exists("/dev/loop-control"),
		FUSE: exists("/dev/fuse"), Btrfs: has("btrfs"), XFS: has("xfs"), Ext4: has("ext4"), MD: has("md"), LVM: has("lvm")}
	// Personalities of md and targets of dm that are built in may have no module of their own name.
	f.MD.Kernel = f.MD.Kernel || contains("/proc/mdstat", "raid1")
	return f
}

// knownModules are the parts that the kernel has: built in, loaded, or there to be loaded.
func knownModules() map[string]bool {
	known := map[string]bool{}
	add := func(path string) {
		base := filepath.Base(path)
		name, _, _ := strings.Cut(base, ".ko")
		known[strings.ReplaceAll(name, "_", "-")] = true
	}
	for line := range strings.Lines(content("/proc/filesystems")) {
		if fields := strings.Fields(line); len(fields) > 0 {
			add(fields[len(fields)-1])
		}
	}
	for line := range strings.Lines(content("/proc/modules")) {
		name, _, _ := strings.Cut(line, " ")
		add(name)
	}
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return known
	}
	dir := filepath.Join("/lib/modules", unix.ByteSliceToString(u.Release[:]))
	for line := range strings.Lines(content(filepath.Join(dir, "modules.builtin"))) {
		add(strings.TrimSpace(line))
	}
	for line := range strings.Lines(content(filepath.Join(dir, "modules.dep"))) {
		path, _, _ := strings.Cut(line, ":")
		add(path)
	}
	return known
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// content is a file's text, empty if it cannot be read.
func content(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}

func contains(path, text string) bool { return strings.Contains(content(path), text) }
