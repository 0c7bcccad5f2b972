package device

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/record"
)

// add adds a device and the devices below it.
func (w *walker) add(name, above string, depth int) {
	if i, ok := w.at[name]; ok {
		if above != "" && !slices.Contains(w.list[i].Above, above) {
			w.list[i].Above = append(w.list[i].Above, above)
		}
		return
	}
	dir := w.directory(name)
	if dir == "" || depth > deepest {
		w.unseen = append(w.unseen, "the device "+name+under(above))
		return
	}
	b := w.facts(name, dir)
	if above != "" {
		b.Above = []string{above}
	}
	w.at[name] = len(w.list)
	w.list = append(w.list, b)
	below := w.below(name, dir, &b, depth)
	b.Leaf = len(below) == 0
	w.list[w.at[name]] = b
	for _, n := range below {
		w.add(n, name, depth+1)
	}
}

// directory returns the sysfs directory of a device. That of a partition is inside the directory of its disk.
func (w *walker) directory(name string) string {
	dir, err := filepath.EvalSymlinks(filepath.Join(w.system.Sys, "class/block", name))
	if err != nil {
		dir = filepath.Join(w.system.Sys, "block", name)
		if _, err := os.Stat(dir); err != nil {
			return ""
		}
	}
	return dir
}

// below returns the devices directly below a device.
func (w *walker) below(name, dir string, b *record.ProbeBlock, depth int) []string {
	var names []string
	entries, _ := os.ReadDir(filepath.Join(dir, "slaves"))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if b.Kind == "partition" {
		names = append(names, filepath.Base(filepath.Dir(dir)))
	}
	switch {
	case b.Kind == "loop":
		names = append(names, w.loop(name, dir, b, depth)...)
	case holdsMemory(b):
		w.memory = append(w.memory, name)
	case b.Bus == "network":
		w.unseen = append(w.unseen, "the storage of the server of "+name)
	}
	if len(entries) > 0 {
		b.Members = len(entries)
	}
	return names
}

// facts reads the kernel's facts of a device. A partition has the queue of its disk.
func (w *walker) facts(name, dir string) record.ProbeBlock {
	queue := filepath.Join(dir, "queue")
	b := record.ProbeBlock{Name: name, Kind: kindOf(name, dir)}
	if b.Kind == "partition" {
		queue = filepath.Join(filepath.Dir(dir), "queue")
	}
	number := func(parts ...string) int64 {
		n, _ := strconv.ParseInt(readWord(parts...), 10, 64) // 0 where it is not known
		return n
	}
	b.Bus = busOf(name)
	b.Model, b.Vendor = readWord(dir, "device/model"), readWord(dir, "device/vendor")
	b.Rotational = readWord(queue, "rotational") == "1"
	b.WriteCache, b.FUA = readWord(queue, "write_cache"), readWord(queue, "fua") == "1"
	b.Scheduler = Chosen(readWord(queue, "scheduler"))
	b.ReadAheadKiB, b.Requests = number(queue, "read_ahead_kb"), number(queue, "nr_requests")
	b.Logical, b.Physical = number(queue, "logical_block_size"), number(queue, "physical_block_size")
	b.Bytes = number(dir, "size") * sectorBytes
	b.RAID = readWord(dir, "md/level")
	b.Chunk = number(dir, "md/chunk_size")
	if b.Kind == "dm" {
		b.Chunk = number(queue, "minimum_io_size")
		b.Model = readWord(dir, "dm/name")
	}
	// Only request queues count flushes: bio-based devices (md, dm, zram, RAM) have none.
	_, err := os.Stat(filepath.Join(dir, "mq"))
	b.FlushCounted = err == nil && len(strings.Fields(readWord(dir, "stat"))) >= flushFields
	b.NoCounters = readWord(queue, "iostats") == "0" || err != nil && neverCounted(dir)
	if b.Kind == "partition" {
		b.FlushCounted = false // flushes are the disk's
	}
	return b
}

func kindOf(name, dir string) string {
	if _, err := os.Stat(filepath.Join(dir, "partition")); err == nil {
		return "partition"
	}
	for prefix, kind := range map[string]string{"loop": "loop", "md": "md", "dm-": "dm", "bcache": "bcache"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" && rest[0] >= '0' && rest[0] <= '9' {
			return kind
		}
	}
	return "disk"
}

func busOf(name string) string {
	for prefix, bus := range map[string]string{"nvme": "nvme", "sd": "scsi", "vd": "virtio", "xvd": "xen", "mmcblk": "mmc", "zram": "zram", "ram": "ram",
		"nullb": "null", "nbd": "network", "rbd": "network"} {
		if strings.HasPrefix(name, prefix) {
			return bus
		}
	}
	return ""
}

// flushFields is the number of fields of a device's stat since the kernel counts flushes (5.5).
const flushFields = 17

// neverCounted reports whether a device has counted no request since its creation. Some drivers without a request queue
// count none.
func neverCounted(dir string) bool {
	for _, f := range strings.Fields(readWord(dir, "stat")) {
		if f != "0" {
			return false
		}
	}
	return true
}

// holdsMemory reports whether a device is memory, or forgets what is written to it.
func holdsMemory(b *record.ProbeBlock) bool {
	switch b.Bus {
	case "zram", "ram", "null":
		return true
	}
	// modules of the kernel that emulate disks of the bus SCSI in memory
	return strings.Contains(b.Model, "scsi_debug") || strings.Contains(b.Model, "RAMDISK")
}

// Chosen returns the selected word of a list such as "none [mq-deadline]".
func Chosen(s string) string {
	_, rest, ok := strings.Cut(s, "[")
	if !ok {
		return s
	}
	word, _, _ := strings.Cut(rest, "]")
	return word
}
