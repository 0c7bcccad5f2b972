// Package volume makes the storage of a storage policy: virtual disks, spread over the disk groups of hosts, combined
// by a backend that this kernel supports, with a filesystem on top.
//
// Planning is pure: it computes a layout, with capacity and cost, from a policy and from what the machine supports.
// Volumes are made, repaired and removed with the real tools (mkfs.btrfs, mdadm, lvm) and real loop devices. The
// package does not know which server uses a volume. Resources are in the lab's journal before they are made.
package volume

import (
	"context"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Volume is the storage of one member. Its methods may be called from several goroutines.
type Volume interface {
	Name() string
	// Dir is the directory of the member's data.
	Dir() string
	// Devices are the block devices of the volume; none for a directory.
	Devices() []string
	// Describe returns the state of the volume. With deep, it also queries the array, which takes longer.
	Describe(ctx context.Context, deep bool) record.LabVolume
	// FailDisk makes every request to one disk fail. HealDisk reverts that; the disk may have old data then, see Repair. A
	// failed plain disk still acknowledges a flush without writes; one of the fault filesystem does not.
	FailDisk(ctx context.Context, disk string) error
	HealDisk(ctx context.Context, disk string) error
	// Repair replaces failed disks by new ones, brings the copies of all disks into agreement (scrub, resilver, re-add)
	// and returns a text with the counts of the backend. It fails if more disks have failed than the policy tolerates.
	Repair(ctx context.Context) (string, error)
	// Remount unmounts and mounts the filesystem, as after a power failure; it replays its log. No process may have files
	// of it open. Disks that do not answer are left out, if the policy tolerates that, and Repair replaces them. The names
	// of devices can change.
	Remount(ctx context.Context) error
	// Close unmounts the volume and removes its disks and data.
	Close(ctx context.Context) error
}

// Answering is a volume whose filesystem may answer slowly or never.
type Answering interface {
	// Answers reads the filesystem and says whether that was possible before ctx ended. [Volume.Describe] waits only a
	// short time, and reports a silent filesystem as failed.
	Answers(ctx context.Context) bool
}
