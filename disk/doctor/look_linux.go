package doctor

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/disk/device"
)

// Look reads a host, and the storage of a directory unless it is "".
func Look(s device.System, dir string) (*Host, error) {
	read := func(root string, path string) string {
		b, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(b))
	}
	const huge = "kernel/mm/transparent_hugepage/"
	h := &Host{
		Kernel: read(s.Proc, "sys/kernel/osrelease"), HugePages: chosen(read(s.Sys, huge+"enabled")), Defrag: chosen(read(s.Sys, huge+"defrag")),
		MaxPTEsNone: read(s.Sys, huge+"khugepaged/max_ptes_none"), Swappiness: read(s.Proc, "sys/vm/swappiness"), ZoneReclaim: read(s.Proc, "sys/vm/zone_reclaim_mode"),
		Clock:    read(s.Sys, "devices/system/clocksource/clocksource0/current_clocksource"),
		Governor: read(s.Sys, "devices/system/cpu/cpu0/cpufreq/scaling_governor"), Overcommit: read(s.Proc, "sys/vm/overcommit_memory"),
		MaxMaps: read(s.Proc, "sys/vm/max_map_count"), KeepAlive: read(s.Proc, "sys/net/ipv4/tcp_keepalive_time"),
	}
	nodes, _ := filepath.Glob(filepath.Join(s.Sys, "devices/system/node/node[0-9]*"))
	h.Nodes = max(1, len(nodes)) // kernels without NUMA have none
	for line := range strings.Lines(read(s.Proc, "meminfo")) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		n, _ := strconv.ParseInt(f[1], 10, 64) // 0 for what is no number
		switch f[0] {
		case "MemTotal:":
			h.Memory = n << 10
		case "SwapTotal:":
			h.Swap = n << 10
		}
	}
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) == nil {
		h.Files = r.Max // Go raises the soft limit of its own process to this
	}
	if unix.Getrlimit(unix.RLIMIT_NPROC, &r) == nil {
		h.Processes = r.Cur
	}
	if dir == "" {
		return h, nil
	}
	storage, err := s.Storage(dir)
	if err != nil {
		return nil, err
	}
	h.Storage = &storage
	return h, nil
}

// chosen returns the word in brackets.
func chosen(s string) string {
	_, rest, ok := strings.Cut(s, "[")
	if !ok {
		return s
	}
	word, _, _ := strings.Cut(rest, "]")
	return word
}
