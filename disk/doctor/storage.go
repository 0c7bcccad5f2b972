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
		return one(storage, id, record.DoctorWarning, s.Filesystem, should, "the server itself warns of ext4 at its start: it stalls on checkpoints with WiredTiger", "make a new filesystem (mkfs.xfs) and let the member sync again")
	case "tmpfs", "ramfs", "overlay", "nfs", "nfs4", "cifs", "9p":
		return one(storage, id, record.DoctorCritical, s.Filesystem, should, "data on it is gone with the machine or the container, or depends on a network's idea of a sync", "put dbPath on a volume with XFS")
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
	return one(storage, "noatime", severity, is, "noatime", "reading a file must not write to its metadata", "add noatime to the options in /etc/fstab and remount (mount -o remount,noatime)")
}

// barriers looks for mount options that give up durability.
func barriers(in Input) []record.DoctorFinding {
	for _, o := range options(in) {
		switch o {
		case "nobarrier", "barrier=0", "volatile", "fsync_mode=nobarrier":
			return one(storage, "barriers", record.DoctorCritical, o, "barriers on (the default)", "with it a power cut loses writes that were acknowledged with j:true, and can break the filesystem", "remove "+o+" from /etc/fstab and remount")
		}
	}
	return one(storage, "barriers", record.DoctorGood, "on", "on", "a sync must reach the medium", "")
}

// leaves are the devices that hold the data; zram, loop and the like are none that could be tuned.
func leaves(in Input) (list []record.ProbeBlock) {
	for _, b := range in.Host.Storage.Devices {
		if b.Leaf {
			list = append(list, b)
		}
	}
	return list
}

// readAhead counts on the device right below the filesystem, which is where the kernel reads ahead.
func readAhead(in Input) []record.DoctorFinding {
	const id, should = "read-ahead", "8 to 32 sectors (4 to 16 KiB)"
	const why = "a cache miss of WiredTiger reads 4 to 32 KiB at a random place; what is read ahead of it is thrown away and pushes useful pages out"
	if !ofMongod(in) {
		return nil // PostgreSQL asks the kernel itself for what it will need
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
		b.ReadAheadKiB, b.Name), should, why, fmt.Sprintf("blockdev --setra 16 /dev/%s, and a rule of udev for the next start", b.Name))
}

func scheduler(in Input) (list []record.DoctorFinding) {
	for _, b := range leaves(in) {
		if b.Scheduler == "" {
			continue
		}
		should := "none or mq-deadline"
		if b.Bus == "nvme" || b.Bus == "virtio" {
			should = "none (mq-deadline does no harm)"
		}
		good := slices.Contains([]string{"none", "noop", "mq-deadline", "deadline", "kyber"}, b.Scheduler)
		list = append(list, one(storage, "scheduler", either(good, record.DoctorWarning), b.Scheduler+" on "+b.Name, should,
			"schedulers that share fairly between processes (bfq, cfq) hold requests of the one process that counts back", fmt.Sprintf("echo none > /sys/block/%s/queue/scheduler, and a rule of udev for the next start", b.Name))...)
	}
	return list
}

// writeCache says what the kernel believes. Nothing is wrong with either; it is what durability stands on.
func writeCache(in Input) (list []record.DoctorFinding) {
	for _, b := range leaves(in) {
		switch b.WriteCache {
		case "write back":
			list = append(list, one(storage, "write-cache", record.DoctorGood, "write back on "+b.Name, "flushed on each sync", "the kernel flushes the cache of the device on each sync", "")...)
		case "write through":
			severity, how := record.DoctorGood, ""
			if b.Bus == "scsi" && b.Rotational {
				severity, how = record.DoctorAdvice, "hdparm -W "+"/dev/"+b.Name+" shows what the drive says itself"
			}
			list = append(list, one(storage, "write-cache", severity, "write through on "+b.Name, "a cache that survives a power cut, or none",
				"the kernel sends no flushes, so the device must keep what it acknowledged", how)...)
		}
	}
	return list
}

// layout looks at arrays, mappings and btrfs.
func layout(in Input) (list []record.DoctorFinding) {
	s := in.Host.Storage
	for _, b := range s.Devices {
		switch {
		case b.Kind == "md" && (b.RAID == "raid5" || b.RAID == "raid6" || b.RAID == "raid4"):
			list = append(list, one(storage, "raid", record.DoctorWarning, b.RAID+" on "+b.Name, "RAID 10", "parity turns each small write into reads and two writes", "build the array as RAID 10")...)
		case b.Kind == "md" && b.RAID == "raid0":
			list = append(list, one(storage, "raid", record.DoctorAdvice, "raid0 on "+b.Name, "RAID 10, or RAID 0 where a replica set stands in for a lost member", "any failed disk loses the member's data", "")...)
		case b.Kind == "md":
			list = append(list, one(storage, "raid", record.DoctorGood, b.RAID+" on "+b.Name, "RAID 10 or RAID 1", "mirrors keep small writes small", "")...)
		}
		if b.Chunk > 256<<10 && (b.RAID == "raid0" || b.RAID == "raid10" || b.Kind == "dm" && b.Members > 1) {
			list = append(list, one(storage, "stripe-size", record.DoctorAdvice, figure.Bytes(b.Chunk)+" on "+b.Name, "256 KiB or less",
				"the default of mdadm (512 KiB) is larger than what XFS uses for its log and than most requests", "mdadm --create … --chunk 256, or lvcreate --stripesize 256k")...)
		}
	}
	if s.Filesystem == "btrfs" && len(s.Devices) > 1 {
		list = append(list, one(storage, "btrfs-members", record.DoctorAdvice, figure.Plural(len(leaves(in)), "device"), "XFS on mdadm RAID 10 or LVM", "each commit of a copy-on-write filesystem takes two flushes on all members (measured)", "")...)
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
		figure.Percent(free)), "20 % at least",
		"a full disk ends the server, and SSDs and filesystems become slow before", "move data, or add storage")
}

func directIO(in Input) []record.DoctorFinding {
	var zram []string
	for _, b := range in.Host.Storage.Devices {
		if b.Bus == "zram" || b.Bus == "ram" {
			zram = append(zram, b.Name)
		}
	}
	if len(zram) == 0 {
		return nil
	}
	return one(storage, "memory-device", record.DoctorCritical, strings.Join(zram, ", "), "a device that keeps its data", "the data is in memory and gone with the power", "put dbPath on a disk")
}

// probed turns a probe into findings with what was measured.
func probed(in Input) (list []record.DoctorFinding) {
	p := in.Probe
	verdict, honest := string(p.Verdict), string(record.Honest)
	switch p.Verdict {
	case record.Lying:
		list = append(list, one(storage, "durability", record.DoctorCritical, verdict, honest, "acknowledged writes are lost in a power cut", "see plimsoll show of the probe for the layer that lies")...)
	case record.Suspicious:
		list = append(list, one(storage, "durability", record.DoctorWarning, verdict, honest, "the storage is faster than its class can be", "prove it with a power cut: plimsoll disk witness --help")...)
	case record.Honest, record.NotProvable:
		list = append(list, one(storage, "durability", either(p.Verdict == record.Honest, record.DoctorAdvice), verdict,
			honest, "what is acknowledged must be there after a power cut", "prove it with a power cut: plimsoll disk witness --help")...)
	}
	if j := p.Journal; j != nil && j.Flush != nil && j.Flush.P99 != nil {
		flush := time.Duration(*j.Flush.P99)
		f := one(storage, "journal-flush", either(flush <= 10*time.Millisecond, record.DoctorWarning), "p99 "+figure.Duration(flush), "less than 10 ms at p99",
			"each commit with j:true waits for one to two flushes (the limit is the one that etcd asks of its log)", "faster storage, or power-loss protection")
		f[0].Effect = fmt.Sprintf("j:true takes %s alone and %s among others; %s commits/s were reached",
			figure.Duration(time.Duration(j.One)), figure.Duration(time.Duration(j.Many)), figure.Rate(j.Ceiling))
		list = append(list, f...)
	}
	if c := p.Checkpoint; c != nil && c.Inside != nil && c.Inside.P99 != nil && c.Outside != nil && c.Outside.P99 != nil {
		during, between := *c.Inside.P99, max(1, *c.Outside.P99)
		ratio := float64(during) / float64(between) // how much worse: no percentile of anything
		f := one(storage, "checkpoint-stall", either(ratio < 5 && c.Stalled == 0, record.DoctorWarning),
			fmt.Sprintf("commits stalled for %s", figure.Duration(time.Duration(c.Stalled))), "no stall",
			"a checkpoint writes and syncs all dirty pages while commits go on", "faster storage, less dirty data (a smaller cache), or XFS instead of ext4")
		f[0].Effect = fmt.Sprintf("commit p99 %s during checkpoints, %s between them",
			figure.Duration(time.Duration(*c.Inside.P99)), figure.Duration(time.Duration(*c.Outside.P99)))
		list = append(list, f...)
	}
	return list
}
