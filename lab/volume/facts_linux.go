package volume

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

func kernelFacts() Facts {
	modules := knownModules()
	has := func(kind string) Support {
		missing := func(module string) bool { return !modules[module] }
		return Support{Kernel: !slices.ContainsFunc(programs[kind].modules, missing)}
	}
	f := Facts{OS: "linux", Root: os.Geteuid() == 0, Loop: exists("/dev/loop-control"),
		FUSE: exists("/dev/fuse"), Btrfs: has("btrfs"), XFS: has("xfs"), Ext4: has("ext4"), MD: has("md"), LVM: has("lvm")}
	// A personality of md that is built into the kernel may have no module of its own.
	f.MD.Kernel = f.MD.Kernel || strings.Contains(content("/proc/mdstat"), "raid1")
	return f
}

// knownModules are the modules that are built into the kernel, loaded, or can be loaded.
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

// content is the text of a file; empty if it is not readable.
func content(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}
