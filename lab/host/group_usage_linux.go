package host

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/plimsoll-bench/plimsoll/record"
)

// usage reads what the group has used since it was made.
func (g *group) usage() record.LabUsage {
	var u record.LabUsage
	if path, v2 := g.file("cpu", "cpu.stat", "cpu.stat"); v2 {
		stat := readCounts(path)
		u.CPUSeconds = float64(stat["usage_usec"]) / 1e6
		u.ThrottledSeconds = float64(stat["throttled_usec"]) / 1e6
	} else {
		u.ThrottledSeconds = float64(readCounts(path)["throttled_time"]) / 1e9
		u.CPUSeconds = float64(readCount(filepath.Join(g.where.v1["cpuacct"], g.name, "cpuacct.usage"))) / 1e9
	}
	// Memory of the processes: their own pages and shared memory, without the page cache.
	path, v2 := g.file("memory", "memory.stat", "memory.stat")
	stat := readCounts(path)
	if v2 {
		u.Memory = stat["anon"] + stat["shmem"]
	} else {
		u.Memory = stat["total_rss"] + stat["total_shmem"]
	}
	if path, v2 := g.file("blkio", "", "io.stat"); v2 {
		addIO(&u, path)
	} else {
		addOldIO(&u, path)
	}
	return u
}

// killed is how many processes of the group the kernel has killed for lack of memory.
func (g *group) killed() int64 {
	path, _ := g.file("memory", "memory.oom_control", "memory.events")
	return readCounts(path)["oom_kill"]
}

// readCounts reads lines with a name and a number.
func readCounts(file string) map[string]int64 {
	counts := map[string]int64{}
	text, _ := os.ReadFile(file) // the group may be gone
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			counts[name], _ = strconv.ParseInt(value, 10, 64)
		}
	}
	return counts
}

func readCount(file string) int64 {
	text, _ := os.ReadFile(file) // the group may be gone
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}

// ioCounts are bytes and operations by the kind of device. The kernel counts a request to a loop device or an array
// again at the device below, so the counts of different kinds must not be added.
type ioCounts map[string]*record.LabUsage

func (c ioCounts) of(device string) *record.LabUsage {
	kind := deviceKind(device)
	if c[kind] == nil {
		c[kind] = &record.LabUsage{}
	}
	return c[kind]
}

// into sets the counts to the maximum over the kinds: the layer that all requests passed, except those that ended in a
// layer above (a disk whose file is on a filesystem of other processes).
func (c ioCounts) into(u *record.LabUsage) {
	for _, v := range c {
		u.ReadBytes, u.WriteBytes = max(u.ReadBytes, v.ReadBytes), max(u.WriteBytes, v.WriteBytes)
		u.Reads, u.Writes = max(u.Reads, v.Reads), max(u.Writes, v.Writes)
	}
}

// addIO reads io.stat of version 2: "7:3 rbytes=1 wbytes=2 rios=3 wios=4 …".
func addIO(u *record.LabUsage, file string) {
	text, _ := os.ReadFile(file) // the group may be gone
	counts := ioCounts{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		of := counts.of(fields[0])
		for _, f := range fields[1:] {
			name, value, _ := strings.Cut(f, "=")
			n, _ := strconv.ParseInt(value, 10, 64)
			switch name {
			case "rbytes":
				of.ReadBytes += n
			case "wbytes":
				of.WriteBytes += n
			case "rios":
				of.Reads += n
			case "wios":
				of.Writes += n
			}
		}
	}
	counts.into(u)
}

// addOldIO reads blkio.throttle of version 1: "7:3 Read 4096", once for bytes and once for operations.
func addOldIO(u *record.LabUsage, dir string) {
	counts := ioCounts{}
	for _, file := range []string{"blkio.throttle.io_service_bytes", "blkio.throttle.io_serviced"} {
		text, _ := os.ReadFile(filepath.Join(dir, file)) // the group may be gone
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) != 3 {
				continue
			}
			of := counts.of(f[0])
			n, _ := strconv.ParseInt(f[2], 10, 64)
			bytes := strings.HasSuffix(file, "bytes")
			switch {
			case f[1] == "Read" && bytes:
				of.ReadBytes += n
			case f[1] == "Write" && bytes:
				of.WriteBytes += n
			case f[1] == "Read":
				of.Reads += n
			case f[1] == "Write":
				of.Writes += n
			}
		}
	}
	counts.into(u)
}

// kinds caches the kinds of devices by their numbers. A number keeps its kind as long as the kernel runs.
var kinds sync.Map

// deviceKind is "loop", "md" or "dm" for devices that use other devices, and "disk" for all others.
func deviceKind(number string) string {
	if kind, ok := kinds.Load(number); ok {
		return kind.(string)
	}
	kind := "disk"
	for _, k := range []string{"loop", "md", "dm"} {
		if _, err := os.Stat(filepath.Join("/sys/dev/block", number, k)); err == nil {
			kind = k
		}
	}
	kinds.Store(number, kind)
	return kind
}
