// Package cgroup finds the control groups of this process.
package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// root is where the hierarchies are mounted.
const root = "/sys/fs/cgroup"

// CPU returns the directories of the control groups that may limit the processor time of this process.
func CPU() []string { return append(Unified(), Controller("cpu")...) }

// Unified returns the directories of the control group of this process and of those above it in version 2. Inside a
// container they are at the root of the mounted hierarchy.
func Unified() []string { return Dirs(root, own(), "") }

// Controller is [Unified] for a controller of version 1.
func Controller(name string) []string { return Dirs(filepath.Join(root, name), own(), name) }

func own() string {
	b, _ := os.ReadFile("/proc/self/cgroup") // without control groups there is no such file
	return string(b)
}

// Dirs lists the directories below root of a control group and of those above it. own is the content of
// /proc/self/cgroup, with lines like "0::/path" (version 2, no controller) or "4:cpu,cpuacct:/path".
func Dirs(root, own, controller string) []string {
	dirs := []string{root}
	for line := range strings.Lines(own) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 || !slices.Contains(strings.Split(fields[1], ","), controller) {
			continue
		}
		for path := fields[2]; path != "/" && path != "." && path != ""; path = filepath.Dir(path) {
			dirs = append(dirs, filepath.Join(root, path))
		}
	}
	return dirs
}
