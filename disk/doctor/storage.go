package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

const storage = "storage"

func filesystem(in Input) []record.DoctorFinding {
	s := in.Host.Storage
	const id, should = "filesystem", "XFS"
	switch s.Filesystem {
	case "":
		return unknown(storage, id, should, "MongoDB tests and recommends XFS for WiredTiger")
	case "xfs":
		return one(storage, id, record.DoctorGood, s.Filesystem, should, "MongoDB tests and recommends XFS for WiredTiger", "")
	case "ext4":
		if !ofMongod(in) {
			return one(storage, id, record.DoctorGood, s.Filesystem, "", "PostgreSQL runs on it as well as on XFS", "")
		}
		return one(storage, id, record.DoctorWarning, s.Filesystem, should, "mongod warns about ext4 at its start, because WiredTiger's checkpoints stall on it", "make a new filesystem (mkfs.xfs) and let the member sync again")
	case "tmpfs", "ramfs", "overlay", "nfs", "nfs4", "cifs", "9p":
		return one(storage, id, record.DoctorCritical, s.Filesystem, should, "its data are lost with the machine or the container, or a sync depends on a network filesystem", "put dbPath on a volume with XFS")
	}
	return one(storage, id, record.DoctorWarning, s.Filesystem, should, "copy-on-write and FUSE filesystems add writes and flushes to each commit, and MongoDB does not test them", "make a new filesystem (mkfs.xfs) and let the member sync again")
}

func options(in Input) []string { return strings.Split(in.Host.Storage.Options, ",") }

func accessTimes(in Input) []record.DoctorFinding {
	is := "atime"
	for _, o := range []string{"relatime", "noatime"} {
		if slices.Contains(options(in), o) {
			is = o
		}
	}
	severity := record.DoctorWarning
	switch is {
	case "noatime":
		severity = record.DoctorGood
	case "relatime":
		severity = record.DoctorAdvice
	}
	return one(storage, "noatime", severity, is, "noatime", "reads must not write metadata", "add noatime to the options in /etc/fstab and remount (mount -o remount,noatime)")
}

// barriers checks for mount options that disable durability.
func barriers(in Input) []record.DoctorFinding {
	all := options(in)
	for _, f := range in.Host.Storage.Below {
		all = append(all, strings.Split(f.Options, ",")...)
	}
	for _, o := range all {
		switch o {
		case "nobarrier", "barrier=0", "volatile", "fsync_mode=nobarrier":
			return one(storage, "barriers", record.DoctorCritical, o, "barriers on (the default)", "with it a power cut loses writes acknowledged with j:true, and can damage the filesystem", "remove "+o+" from /etc/fstab and remount")
		}
	}
	return one(storage, "barriers", record.DoctorGood, "on", "on", "a sync must reach the device", "")
}

// leaves returns the devices that store the data.
func leaves(in Input) (list []record.ProbeBlock) {
	for _, b := range in.Host.Storage.Devices {
		if b.Leaf {
			list = append(list, b)
		}
	}
	return list
}

// readAhead checks the device directly below the filesystem, because the kernel uses its read-ahead.
func readAhead(in Input) []record.DoctorFinding {
	const id, should = "read-ahead", "8 to 32 sectors (4 to 16 KiB)"
	const why = "a cache miss of WiredTiger reads 4 to 32 KiB at a random offset; the data read ahead are useless and evict useful pages"
	if !ofMongod(in) {
		return nil // PostgreSQL requests its own read-ahead
	}
	if len(in.Host.Storage.Devices) == 0 {
		return unknown(storage, id, should, why)
	}
	b := in.Host.Storage.Devices[0]
	good := b.ReadAheadKiB >= 4 && b.ReadAheadKiB <= 16
	severity := record.DoctorAdvice
	if b.ReadAheadKiB > 128 {
		severity = record.DoctorWarning
	}
	return one(storage, id, either(good, severity), fmt.Sprintf("%d sectors (%d KiB) on %s", b.ReadAheadKiB*2,
		b.ReadAheadKiB, b.Name), should, why, fmt.Sprintf("blockdev --setra 16 /dev/%s, and a udev rule for the next boot", b.Name))
}

func scheduler(in Input) (list []record.DoctorFinding) {
	for _, b := range leaves(in) {
		if b.Scheduler == "" {
			continue
		}
		should := "none or mq-deadline"
		if b.Bus == "nvme" || b.Bus == "virtio" {
			should = "none (mq-deadline is harmless)"
		}
		good := slices.Contains([]string{"none", "noop", "mq-deadline", "deadline", "kyber"}, b.Scheduler)
		list = append(list, one(storage, "scheduler", either(good, record.DoctorWarning), b.Scheduler+" on "+b.Name, should,
			"schedulers that are fair between processes (bfq, cfq) delay the requests of the server", fmt.Sprintf("echo none > /sys/block/%s/queue/scheduler, and a udev rule for the next boot", b.Name))...)
	}
	return list
}

// writeCache reports the kernel's assumption about the device's cache, on which durability depends. Both are right.
func writeCache(in Input) (list []record.DoctorFinding) {
	for _, b := range leaves(in) {
		switch b.WriteCache {
		case "write back":
			list = append(list, one(storage, "write-cache", record.DoctorGood, "write back on "+b.Name, "flushed on each sync", "the kernel flushes the cache of the device on each sync", "")...)
		case "write through":
			severity, how := record.DoctorGood, ""
			if b.Bus == "scsi" && b.Rotational {
				severity, how = record.DoctorAdvice, "check the drive's own setting with hdparm -W /dev/"+b.Name
			}
			list = append(list, one(storage, "write-cache", severity, "write through on "+b.Name, "no cache, or one that survives a power cut",
				"the kernel sends no flushes, so the device must not lose acknowledged writes", how)...)
		}
	}
	return list
}

// layout checks arrays, mappings and btrfs.
func layout(in Input) (list []record.DoctorFinding) {
	s := in.Host.Storage
	for _, b := range s.Devices {
		switch {
		case b.Kind == "md" && (b.RAID == "raid5" || b.RAID == "raid6" || b.RAID == "raid4"):
			list = append(list, one(storage, "raid", record.DoctorWarning, b.RAID+" on "+b.Name, "RAID 10", "with parity each small write needs reads and two writes", "build the array as RAID 10")...)
		case b.Kind == "md" && b.RAID == "raid0":
			list = append(list, one(storage, "raid", record.DoctorAdvice, "raid0 on "+b.Name, "RAID 10, or RAID 0 if a replica set can replace a lost member", "any failed disk loses the member's data", "")...)
		case b.Kind == "md":
			list = append(list, one(storage, "raid", record.DoctorGood, b.RAID+" on "+b.Name, "RAID 10 or RAID 1", "mirrors keep small writes small", "")...)
		}
		if b.Chunk > 256<<10 && (b.RAID == "raid0" || b.RAID == "raid10" || b.Kind == "dm" && b.Members > 1) {
			list = append(list, one(storage, "stripe-size", record.DoctorAdvice, figure.Bytes(b.Chunk)+" on "+b.Name, "256 KiB or less",
				"mdadm's default (512 KiB) is larger than the stripe unit of XFS's log and than most requests", "mdadm --create … --chunk 256, or lvcreate --stripesize 256k")...)
		}
	}
	if s.Filesystem == "btrfs" && len(s.Devices) > 1 {
		list = append(list, one(storage, "btrfs-members", record.DoctorAdvice, figure.Plural(len(leaves(in)), "device"), "XFS on mdadm RAID 10 or LVM", "each commit of a copy-on-write filesystem needs two flushes on all members (measured)", "")...)
	}
	return list
}

func space(in Input) []record.DoctorFinding {
	s := in.Host.Storage
	if s.Bytes == 0 {
		return nil
	}
	free := float64(s.Free) / float64(s.Bytes)
	severity := either(free >= 0.2, record.DoctorWarning)
	if free < 0.05 {
		severity = record.DoctorCritical
	}
	return one(storage, "free-space", severity, fmt.Sprintf("%s of %s (%s)", figure.Bytes(s.Free), figure.Bytes(s.Bytes),
		figure.Percent(free)), "at least 20 %",
		"the server ends when the disk is full, and SSDs and filesystems become slow before that", "move data, or add storage")
}

// inMemory reports what keeps data in memory, at any depth below the directory.
func inMemory(in Input) []record.DoctorFinding {
	memory := in.Host.Storage.Memory
	if len(memory) == 0 {
		return nil
	}
	return one(storage, "memory-device", record.DoctorCritical, strings.Join(memory, ", "), "a persistent device", "the data is in memory and lost in a power cut", "put dbPath on a disk")
}

// probed returns findings from the results of a probe.
func probed(in Input) (list []record.DoctorFinding) {
	p := in.Probe
	verdict, honest := string(p.Verdict), string(record.Honest)
	switch p.Verdict {
	case record.Lying:
		list = append(list, one(storage, "durability", record.DoctorCritical, verdict, honest, "acknowledged writes are lost in a power cut", "find the layer that ignores flushes with plimsoll show PROBE")...)
	case record.Suspicious:
		list = append(list, one(storage, "durability", record.DoctorWarning, verdict, honest, "the storage is faster than its kind can be", "test it with a power cut: plimsoll disk witness --help")...)
	case record.Honest, record.NotProvable:
		list = append(list, one(storage, "durability", either(p.Verdict == record.Honest, record.DoctorAdvice), verdict,
			honest, "acknowledged writes must survive a power cut", "test it with a power cut: plimsoll disk witness --help")...)
	}
	if j := p.Journal; j != nil && j.Flush != nil && j.Flush.P99 != nil {
		flush := time.Duration(*j.Flush.P99)
		f := one(storage, "journal-flush", either(flush <= 10*time.Millisecond, record.DoctorWarning), "p99 "+figure.Duration(flush), "less than 10 ms at p99",
			"each commit with j:true waits for one to two flushes (10 ms is etcd's limit for its log)", "use faster storage, or power-loss protection")
		f[0].Effect = fmt.Sprintf("a commit with j:true takes %s with one client and %s with many; the maximum is %s commits/s",
			figure.Duration(time.Duration(j.One)), figure.Duration(time.Duration(j.Many)), figure.Rate(j.Ceiling))
		list = append(list, f...)
	}
	if c := p.Checkpoint; c != nil && c.Inside != nil && c.Inside.P99 != nil && c.Outside != nil && c.Outside.P99 != nil {
		during, between := *c.Inside.P99, max(1, *c.Outside.P99)
		ratio := float64(during) / float64(between)
		f := one(storage, "checkpoint-stall", either(ratio < 5 && c.Stalled == 0, record.DoctorWarning),
			fmt.Sprintf("commits stalled for %s", figure.Duration(time.Duration(c.Stalled))), "no stall",
			"a checkpoint writes and syncs all dirty pages during commits", "use faster storage, less dirty data (a smaller cache), or XFS instead of ext4")
		f[0].Effect = fmt.Sprintf("commit p99 %s during checkpoints, %s between them",
			figure.Duration(time.Duration(*c.Inside.P99)), figure.Duration(time.Duration(*c.Outside.P99)))
		list = append(list, f...)
	}
	return list
}
