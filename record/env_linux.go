package record

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/internal/cgroup"
)

func (e *Environment) readSystem() {
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		e.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	e.Distro = prettyName("/etc/os-release")
	e.Governor = word("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	e.HugePages = chosen(word("/sys/kernel/mm/transparent_hugepage/enabled"))
	e.Clock = word("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	e.Virtual = virtualization()
	if fs, err := procfs.NewDefaultFS(); err == nil {
		e.readProc(fs)
	}
	e.readCgroup()
}

func (e *Environment) readProc(fs procfs.FS) {
	if cpus, err := fs.CPUInfo(); err == nil && len(cpus) > 0 {
		e.CPU = cpus[0].ModelName
	}
	if m, err := fs.Meminfo(); err == nil {
		e.MemoryBytes = deref(m.MemTotalBytes)
		e.SwapBytes = deref(m.SwapTotalBytes)
	}
	if l, err := fs.LoadAvg(); err == nil {
		e.Load1 = &l.Load1
	}
}

func deref(p *uint64) uint64 {
	if p == nil {
		return 0
	}
	return *p
}

// readCgroup finds the limits of the control group of this process and of those above it: version 2, then
// version 1.
func (e *Environment) readCgroup() {
	e.Cores = min(e.Cores, cgroup.Cores(cgroup.CPU()))
	for _, dir := range cgroup.Unified() {
		e.limitMemory(word(filepath.Join(dir, "memory.max")))
	}
	for _, dir := range cgroup.Controller("memory") {
		e.limitMemory(word(filepath.Join(dir, "memory.limit_in_bytes")))
	}
}

func (e *Environment) limitMemory(limit string) {
	n, err := strconv.ParseUint(limit, 10, 64)
	if err == nil && n > 0 && n < e.MemoryBytes && (e.MemoryLimit == 0 || n < e.MemoryLimit) {
		e.MemoryLimit = n
	}
}

// chosen returns the word in brackets, as in "always [madvise] never".
func chosen(s string) string {
	_, rest, ok := strings.Cut(s, "[")
	if !ok {
		return s
	}
	inside, _, _ := strings.Cut(rest, "]")
	return inside
}

func prettyName(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if v, ok := strings.CutPrefix(s.Text(), "PRETTY_NAME="); ok {
			return strings.Trim(v, `"'`)
		}
	}
	return ""
}

// virtualization names the container and the virtual machine that this process is in, as far as shows.
func virtualization() string {
	var kinds []string
	for path, name := range map[string]string{"/.dockerenv": "docker", "/run/.containerenv": "podman"} {
		if _, err := os.Stat(path); err == nil {
			kinds = append(kinds, name)
		}
	}
	if v := word("/sys/class/dmi/id/sys_vendor"); v != "" {
		kinds = append(kinds, v)
	}
	return strings.Join(kinds, " on ")
}

func filesystemOf(use, dir string) Filesystem {
	f := Filesystem{Use: use}
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) == nil {
		f.Bytes = st.Blocks * uint64(st.Bsize)
		f.Free = st.Bavail * uint64(st.Bsize)
	}
	mounts, err := procfs.GetMounts()
	if err != nil {
		return f
	}
	best := -1
	for _, m := range mounts {
		if len(m.MountPoint) >= best && within(dir, m.MountPoint) {
			best = len(m.MountPoint)
			f.Type, f.Device, f.Options = m.FSType, m.Source, mountOptions(m.Options)
		}
	}
	return f
}

func within(dir, mount string) bool {
	return mount == "/" || dir == mount || strings.HasPrefix(dir, mount+"/")
}

// mountOptions lists the options that change how storage behaves. Others may hold addresses, paths and
// credentials of network file systems.
func mountOptions(all map[string]string) string {
	var list []string
	for _, name := range []string{
		"ro", "rw", "sync", "dirsync", "noatime", "relatime", "nobarrier", "barrier", "discard", "data", "commit",
		"compress", "compress-force", "nodatacow", "logbsize", "hard", "soft", "vers", "size",
	} {
		if v, ok := all[name]; ok && v != "" {
			list = append(list, name+"="+v)
		} else if ok {
			list = append(list, name)
		}
	}
	return strings.Join(list, ",")
}
