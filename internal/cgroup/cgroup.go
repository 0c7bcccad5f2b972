// Package cgroup finds the control groups of processes, and reads how they limit processor time.
package cgroup

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// root is where the hierarchies are mounted.
const root = "/sys/fs/cgroup"

// CPU returns the directories of the control groups that may limit the processor time of this process.
func CPU() []string { return append(Unified(), Controller("cpu")...) }

// CPUOf is [CPU] for another process.
func CPUOf(pid int) []string {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	return append(Dirs(root, string(b), ""), Dirs(filepath.Join(root, "cpu"), string(b), "cpu")...)
}

// Cores is the smallest quota of directories in cores, infinite without one.
func Cores(dirs []string) float64 {
	least := math.Inf(1)
	for _, dir := range dirs {
		quota, period, ok := strings.Cut(word(dir, "cpu.max"), " ")
		if !ok {
			quota, period = word(dir, "cpu.cfs_quota_us"), word(dir, "cpu.cfs_period_us")
		}
		q, err1 := strconv.ParseFloat(quota, 64)
		p, err2 := strconv.ParseFloat(period, 64)
		if err1 == nil && err2 == nil && q > 0 && p > 0 {
			least = min(least, q/p)
		}
	}
	return least
}

// Throttled is how often the quotas of directories stopped threads, and for how long: summed over cores.
func Throttled(dirs []string) (times int64, total time.Duration) {
	for _, dir := range dirs {
		for line := range strings.Lines(word(dir, "cpu.stat")) { // the root of a hierarchy has none
			key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			n, _ := strconv.ParseInt(value, 10, 64)
			switch key {
			case "nr_throttled":
				times += n
			case "throttled_usec": // version 2
				total += time.Duration(n) * time.Microsecond
			case "throttled_time": // version 1
				total += time.Duration(n)
			}
		}
	}
	return times, total
}

func word(dir, name string) string {
	b, _ := os.ReadFile(filepath.Join(dir, name))
	return strings.TrimSpace(string(b))
}

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
