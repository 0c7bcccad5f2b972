package doctor

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/disk/device"
	facts "github.com/plimsoll-bench/plimsoll/server"
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
		Kernel:    read(s.Proc, "sys/kernel/osrelease"),
		HugePages: device.Chosen(read(s.Sys, huge+"enabled")), Defrag: device.Chosen(read(s.Sys, huge+"defrag")),
		MaxPTEsNone: read(s.Sys, huge+"khugepaged/max_ptes_none"), Swappiness: read(s.Proc, "sys/vm/swappiness"),
		ZoneReclaim: read(s.Proc, "sys/vm/zone_reclaim_mode"),
		Clock:       read(s.Sys, "devices/system/clocksource/clocksource0/current_clocksource"),
		Governor:    read(s.Sys, "devices/system/cpu/cpu0/cpufreq/scaling_governor"),
		Overcommit:  read(s.Proc, "sys/vm/overcommit_memory"),
		MaxMaps:     read(s.Proc, "sys/vm/max_map_count"), KeepAlive: read(s.Proc, "sys/net/ipv4/tcp_keepalive_time"),
	}
	nodes, _ := filepath.Glob(filepath.Join(s.Sys, "devices/system/node/node[0-9]*"))
	h.Nodes = max(1, len(nodes)) // kernels without NUMA have none
	for line := range strings.Lines(read(s.Proc, "meminfo")) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		if f[0] == "SwapTotal:" {
			h.Swap, _ = strconv.ParseInt(f[1], 10, 64)
			h.Swap <<= 10
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

// Running proves that a server runs on this machine: the names of the hosts are equal, and its process has the name of
// a mongod or mongos and the server's age. nil does not prove the contrary: a server in a container has another host
// name and process id.
func Running(s device.System, f facts.Facts) *Process {
	name, err := os.Hostname()
	if err != nil || name != f.Host.Name || f.PID <= 0 {
		return nil
	}
	dir := filepath.Join(s.Proc, strconv.FormatInt(f.PID, 10))
	program, err := os.ReadFile(filepath.Join(dir, "comm"))
	if err != nil || strings.TrimSpace(string(program)) != f.Kind {
		return nil
	}
	age, ok := ageOf(s.Proc, dir)
	if !ok || (age-f.Uptime).Abs() > 5*time.Second {
		return nil
	}
	p := &Process{PID: f.PID}
	p.Files, p.Processes = limitsOf(dir)
	here, err1 := os.Stat(f.DBPath)
	there, err2 := os.Stat(filepath.Join(dir, "root", f.DBPath))
	if err1 == nil && err2 == nil && os.SameFile(here, there) {
		p.DBPath = f.DBPath
	}
	return p
}

// ageOf returns the age of a process, from field 22 of its stat in ticks since boot (proc(5)).
func ageOf(proc, dir string) (time.Duration, bool) {
	stat, err1 := os.ReadFile(filepath.Join(dir, "stat"))
	up, err2 := os.ReadFile(filepath.Join(proc, "uptime"))
	_, rest, found := strings.Cut(string(stat), ") ")
	fields, since := strings.Fields(rest), strings.Fields(string(up))
	if err1 != nil || err2 != nil || !found || len(fields) < 20 || len(since) == 0 {
		return 0, false
	}
	started, err1 := strconv.ParseFloat(fields[19], 64)
	now, err2 := strconv.ParseFloat(since[0], 64)
	const ticks = 100 // USER_HZ is 100 on every architecture of Linux that Go knows
	return time.Duration((now - started/ticks) * float64(time.Second)), err1 == nil && err2 == nil
}

// limitsOf reads the soft limits of a process; 0 for unknown.
func limitsOf(dir string) (files, processes uint64) {
	text, err := os.ReadFile(filepath.Join(dir, "limits"))
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		for name, to := range map[string]*uint64{"Max open files": &files, "Max processes": &processes} {
			rest, ok := strings.CutPrefix(line, name)
			if f := strings.Fields(rest); ok && len(f) > 0 {
				if *to, err = strconv.ParseUint(f[0], 10, 64); err != nil {
					*to = math.MaxUint64 // "unlimited"
				}
			}
		}
	}
	return files, processes
}
