package device

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/prometheus/procfs"
)

// System has the paths of /proc and /sys; tests use other directories.
type System struct{ Proc, Sys string }

// Here is this machine.
func Here() System { return System{Proc: "/proc", Sys: "/sys"} }

// Sample has all counters at one time.
type Sample struct {
	at       time.Time
	devices  map[string]Counters
	pressure [3]uint64 // µs that some task waited for cpu, io, memory
	psi      bool
	steal    float64 // of all processors, in seconds
	busy     float64
	total    float64
	throttle time.Duration
}

// Sample reads all counters. Unreadable ones are missing.
func (s System) Sample() Sample {
	m := Sample{at: time.Now(), devices: s.Devices(), throttle: throttled(s)}
	fs, err := procfs.NewFS(s.Proc)
	if err != nil {
		return m
	}
	for i, name := range []string{"cpu", "io", "memory"} {
		if psi, err := fs.PSIStatsForResource(name); err == nil && psi.Some != nil {
			m.pressure[i], m.psi = psi.Some.Total, true
		}
	}
	if stat, err := fs.Stat(); err == nil {
		t := stat.CPUTotal
		m.steal = t.Steal
		m.busy = t.User + t.Nice + t.System + t.IRQ + t.SoftIRQ
		m.total = m.busy + m.steal + t.Idle + t.Iowait
	}
	return m
}

// Counters returns the counters of a device.
func (m Sample) Counters(name string) (Counters, bool) {
	c, ok := m.devices[name]
	return c, ok
}

// throttled returns the throttled time of the control group of this process, from cpu.stat of either version.
func throttled(s System) time.Duration {
	for line := range strings.Lines(readWord(s.Proc, "self", "cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		var dirs []string
		switch {
		case parts[1] == "":
			dirs = []string{filepath.Join(s.Sys, "fs/cgroup", parts[2]), filepath.Join(s.Sys, "fs/cgroup/unified", parts[2])}
		case slices.Contains(strings.Split(parts[1], ","), "cpu"):
			dirs = []string{filepath.Join(s.Sys, "fs/cgroup/cpu", parts[2])}
		}
		for _, dir := range dirs {
			for stat := range strings.Lines(readWord(dir, "cpu.stat")) {
				name, value, _ := strings.Cut(strings.TrimSpace(stat), " ")
				unit := map[string]time.Duration{"throttled_usec": time.Microsecond, "throttled_time": time.Nanosecond}[name]
				if n, err := strconv.ParseInt(value, 10, 64); err == nil && unit > 0 {
					return time.Duration(n) * unit
				}
			}
		}
	}
	return 0
}

// Between returns the activity of devices and of the host between two samples. syncs is the number of requested syncs
// in between, 0 for none.
func Between(before, after Sample, names []string, syncs int64) ([]record.ProbeDevice, record.ProbeHost) {
	seconds := after.at.Sub(before.at).Seconds()
	var list []record.ProbeDevice
	for _, name := range names {
		now, ok := after.devices[name]
		if !ok {
			continue
		}
		delta := now.Sub(before.devices[name])
		d := Usage(name, delta, seconds)
		if syncs > 0 {
			w := float64(delta.WriteIOs) / float64(syncs)
			d.WritesPerSync = &w
			if delta.HasFlushes {
				f := float64(delta.FlushRequestsCompleted) / float64(syncs)
				d.FlushesPerSync = &f
			}
		}
		list = append(list, d)
	}
	var h record.ProbeHost
	if before.psi && after.psi {
		share := func(i int) *float64 {
			x := min(1, over(float64(grown(after.pressure[i], before.pressure[i]))/1e6, seconds))
			return &x
		}
		h.CPUPressure, h.IOPressure, h.MemoryPressure = share(0), share(1), share(2)
	}
	total := after.total - before.total
	h.Steal, h.Busy = over(after.steal-before.steal, total), over(after.busy-before.busy, total)
	h.Throttled = max(0, (after.throttle - before.throttle).Seconds())
	return list, h
}

// Seconds returns the time between two samples.
func Seconds(before, after Sample) float64 { return after.at.Sub(before.at).Seconds() }

// readWord returns the content of a small file, "" if it cannot be read.
func readWord(parts ...string) string {
	b, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
