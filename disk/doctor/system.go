package doctor

import (
	"fmt"
	"strconv"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	facts "github.com/plimsoll-bench/plimsoll/server"
)

const system = "system"

// hugePages depends on the version of the server: since 8.0 its allocator is faster with huge pages, before it is
// slower.
func hugePages(in Input) []record.DoctorFinding {
	h := in.Host
	const id = "transparent-huge-pages"
	if h.HugePages == "" {
		return unknown(system, id, "always for MongoDB 8.0 and later, never before", "it affects the server's allocator")
	}
	is := "enabled=" + h.HugePages
	if !ofMongod(in) {
		return one(system, id, record.DoctorGood, is, "", "PostgreSQL reserves its own huge pages (huge_pages)", "")
	}
	if in.Server == nil || !in.Server.Version.Known() {
		return one(system, id, record.DoctorAdvice, is, "always (with defrag=defer+madvise and khugepaged/max_ptes_none=0) for MongoDB 8.0 and later, never before",
			"the allocator of MongoDB 8.0 is faster with huge pages, and older ones waste memory with them", "give --uri, so that the doctor can read the version")
	}
	if !in.Server.Version.AtLeast(8, 0) {
		return one(system, id, either(h.HugePages == "never", record.DoctorWarning), is, "never, for MongoDB before 8.0",
			"before 8.0 small allocations are spread over huge pages, which wastes memory and causes latency spikes", "echo never > /sys/kernel/mm/transparent_hugepage/enabled, at each boot")
	}
	good := h.HugePages == "always" && h.Defrag == "defer+madvise" && (h.MaxPTEsNone == "0" || h.MaxPTEsNone == "")
	return one(system, id, either(good, record.DoctorWarning), fmt.Sprintf("%s, defrag=%s, max_ptes_none=%s", is, h.Defrag, h.MaxPTEsNone),
		"enabled=always, defrag=defer+madvise, khugepaged/max_ptes_none=0, for MongoDB 8.0 and later",
		"since 8.0 the server's allocator has caches per CPU, and huge pages make them faster", "write these values to the files below /sys/kernel/mm/transparent_hugepage, at each boot")
}

func swappiness(in Input) []record.DoctorFinding {
	const id, should, why = "swappiness", "1 (or 0)", "operations become very slow when the server's cache is swapped out"
	if in.Host.Swappiness == "" {
		return unknown(system, id, should, why)
	}
	n, err := strconv.Atoi(in.Host.Swappiness)
	severity := either(err == nil && n <= 1, record.DoctorWarning)
	if severity == record.DoctorWarning && in.Host.Swap == 0 {
		severity = record.DoctorAdvice
	}
	return one(system, id, severity, fmt.Sprintf("%s, with %s of swap", in.Host.Swappiness, figure.Bytes(in.Host.Swap)), should, why, "sysctl vm.swappiness=1, and the same line in /etc/sysctl.d")
}

func numa(in Input) []record.DoctorFinding {
	const id, why = "numa", "if the kernel uses or reclaims only the memory of one node, the server is slow although other nodes have free memory"
	h := in.Host
	if h.Nodes == 0 {
		return unknown(system, id, "one node, or the server started with numactl --interleave=all, and zone_reclaim_mode 0", why)
	}
	good := h.Nodes == 1 && h.ZoneReclaim != "1"
	return one(system, id, either(good, record.DoctorWarning), fmt.Sprintf("%s, zone_reclaim_mode %s", figure.Plural(h.Nodes, "node"), h.ZoneReclaim),
		"one node, or the server started with numactl --interleave=all, and zone_reclaim_mode 0", why, "numactl --interleave=all mongod …, and sysctl vm.zone_reclaim_mode=0")
}

// limits checks the limits of the server's process, or those of this shell if there is none.
func limits(in Input) []record.DoctorFinding {
	files, processes, whose := in.Host.Files, in.Host.Processes, "of this shell; the server's may differ"
	if in.Process != nil {
		files, processes, whose = in.Process.Files, in.Process.Processes, "soft limits of process "+strconv.FormatInt(in.Process.PID, 10)
	}
	const why = "each connection needs a file and a thread, and each collection a file; mongod refuses connections beyond 80 % of the soft limit"
	if files == 0 {
		return unknown(system, "limits", "at least 64,000 open files and processes", why)
	}
	good := files >= 64000 && processes >= 64000
	return one(system, "limits", either(good, record.DoctorWarning), fmt.Sprintf("%s open files, %s processes (%s)", limit(files), limit(processes), whose),
		"at least 64,000 of each", why, "LimitNOFILE=64000 and LimitNPROC=64000 in the unit of the server, or ulimit -n 64000 -u 64000")
}

func limit(n uint64) string {
	if n > 1<<40 {
		return "unlimited"
	}
	return figure.Count(int64(n))
}

func clock(in Input) []record.DoctorFinding {
	const id, should, why = "clock-source", "tsc, kvm-clock, hyperv_clocksource_tsc_page or arch_sys_counter", "the server reads the clock several times for each operation, and a slow source needs a system call each time"
	switch in.Host.Clock {
	case "":
		return unknown(system, id, should, why)
	case "tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter":
		return one(system, id, record.DoctorGood, in.Host.Clock, should, why, "")
	}
	return one(system, id, record.DoctorWarning, in.Host.Clock, should, why, "clocksource=tsc on the kernel's command line, if the machine allows it")
}

// kernel checks for the features of 4.18 that MongoDB 8.0 and later need.
func kernel(in Input) []record.DoctorFinding { return judgeKernel(in.Host.Kernel) }

func judgeKernel(release string) []record.DoctorFinding {
	const id, should, why = "kernel", "a maintained kernel of the distribution, at least 4.18", "MongoDB 8.0 needs 4.18 for its allocator; older kernels lack multi-queue block devices and corrections of fsync's error handling (4.13 to 4.16)"
	if release == "" {
		return unknown(system, id, should, why)
	}
	var a, b int
	_, err := fmt.Sscanf(release, "%d.%d", &a, &b)
	return one(system, id, either(err == nil && (a > 4 || a == 4 && b >= 18), record.DoctorWarning), release, should, why,
		"install a newer kernel of the distribution")
}

// overcommit affects the allocator of MongoDB 8.0 and later.
func overcommit(in Input) []record.DoctorFinding {
	if in.Host.Overcommit == "" || in.Server == nil || in.Server.Kind != facts.Mongod || !in.Server.Version.AtLeast(8, 0) {
		return nil
	}
	return one(system, "overcommit", either(in.Host.Overcommit == "1", record.DoctorAdvice), "vm.overcommit_memory="+in.Host.Overcommit, "1, for MongoDB 8.0 and later",
		"the allocator of 8.0 reserves address space for each CPU in advance", "sysctl vm.overcommit_memory=1, and the same line in /etc/sysctl.d")
}

func governor(in Input) []record.DoctorFinding {
	if in.Host.Governor == "" {
		return nil // virtual machines have none
	}
	return one(system, "governor", either(in.Host.Governor == "performance", record.DoctorAdvice), in.Host.Governor, "performance",
		"a processor that sleeps between requests answers each of them later", "cpupower frequency-set -g performance")
}

func memoryMaps(in Input) []record.DoctorFinding {
	n, err := strconv.ParseInt(in.Host.MaxMaps, 10, 64)
	if err != nil || !ofMongod(in) {
		return nil
	}
	return one(system, "max-map-count", either(n >= 128000, record.DoctorAdvice), figure.Count(n), "at least 128,000, twice the number of connections",
		"each connection has a stack with two mappings, and the server ends at the limit", "sysctl vm.max_map_count=262144, and the same line in /etc/sysctl.d")
}

func keepAlive(in Input) []record.DoctorFinding {
	n, err := strconv.Atoi(in.Host.KeepAlive)
	if err != nil {
		return nil
	}
	return one(system, "tcp-keepalive", either(n <= 300, record.DoctorAdvice), fmt.Sprintf("%d s", n), "120 s",
		"firewalls and load balancers drop connections that are idle for some minutes, and the server does not notice", "sysctl net.ipv4.tcp_keepalive_time=120, and the same line in /etc/sysctl.d")
}
