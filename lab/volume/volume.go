// Package volume turns a storage policy into real storage: virtual disks, spread over the disk groups of hosts and
// combined by a backend that this kernel has, with a filesystem on top.
//
// Planning is pure: a policy and what the machine can do give a layout with its capacity and cost. Making, failing,
// repairing and removing is done with the real tools (mkfs.btrfs, mdadm, lvm, losetup). Which server uses a volume is
// not known here. Everything is written into the lab's journal before it is made.
package volume

import (
	"context"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Volume is the storage of one member. Its methods may be called from several goroutines.
type Volume interface {
	Name() string
	// Dir is the directory that the member sees: the mount point, or a directory.
	Dir() string
	// Devices are the block devices of the volume, for I/O limits and accounting; none for a directory.
	Devices() []string
	// Describe says what the volume is and how it is. deep asks the backend, which takes longer.
	Describe(ctx context.Context, deep bool) record.LabVolume
	// FailDisk makes one disk answer every request with an error, HealDisk makes it answer again. The data on it
	// may be old then: see Repair. A plain disk that failed still acknowledges a flush with nothing to write; one
	// of the fault filesystem does not.
	FailDisk(ctx context.Context, disk string) error
	HealDisk(ctx context.Context, disk string) error
	// Repair brings the copies of all disks that answer into agreement (scrub, resilver, re-add), or replaces a disk
	// that does not by a new one; it returns when that is done, with what the backend counted. A disk that is beyond
	// what the redundancy carries is an error that says so.
	Repair(ctx context.Context) (string, error)
	// Remount unmounts and mounts again, as after a power failure; the filesystem replays its log. Nothing may have
	// files of it open. Disks that do not answer are left out as far as the redundancy carries it, and Repair replaces
	// them. Names of devices can change.
	Remount(ctx context.Context) error
	// Close unmounts the volume and removes its disks and data.
	Close(ctx context.Context) error
}

// Answering is a volume whose filesystem may be slow to answer, or never answer.
type Answering interface {
	// Answers waits until the filesystem was read, for as long as ctx allows, and says whether it could be. A look at
	// the volume ([Volume.Describe]) does not wait for long, and calls one that is silent failed.
	Answers(ctx context.Context) bool
}
