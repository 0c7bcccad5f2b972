package action

import (
	"context"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/lab/volume"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Job is a fault that is done to a lab: what was asked for, and what it is done to.
type Job struct {
	Action *Action
	Fault  spec.Fault
	Target
	// Other is the other host of a fault between two; nil for all others.
	Other host.Host
	Site  Site
	// held are the disks of the fault filesystem that have the fault. The job keeps them, so that nothing that hangs
	// has to be asked when it is healed.
	held []heldDisk
}

// Target is what a fault is done to: a host, a member, or disks of a volume.
type Target struct {
	Host   host.Host
	Node   engine.Node
	Volume volume.Volume
	Disks  []string
	// Whole says that these are all disks of the volume.
	Whole bool
}

// Name is how the target is called in lists.
func (t Target) Name() string {
	switch {
	case t.Volume != nil && t.Whole:
		return t.Volume.Name()
	case t.Volume != nil:
		return t.Volume.Name() + "/" + t.Disks[0]
	case t.Node != nil:
		return t.Node.Name()
	}
	return t.Host.Name()
}

// Same says whether two jobs do the same to the same. Of a fault between two hosts it does not matter which was named
// first.
func (j *Job) Same(k *Job) bool {
	if j.Action != k.Action {
		return false
	}
	return j.Name() == k.Name() && j.Other == k.Other || j.Other != nil && j.Host == k.Other && j.Other == k.Host
}

// Site is the lab around a job.
type Site interface {
	// Cluster is what runs on it; nil where the lab is not up.
	Cluster() topology.Cluster
	// SetOf is the replica set of a member.
	SetOf(member string) string
	// Standing are the members on a host now.
	Standing(h host.Host) []string
	// Storage is the policy of its volumes.
	Storage() spec.Storage
	// Ending notes that members end on purpose, and why, so that nobody calls it a problem.
	Ending(members []string, why string)
	// Return starts a member that does not run, and returns when it has joined.
	Return(member string) error
	// DiskPowerOff takes the power of a host's disks away; what was written to them stays.
	DiskPowerOff(ctx context.Context, h host.Host) error
	// LosePower takes the power of a host and its disks away with all that was not flushed.
	LosePower(ctx context.Context, h host.Host, members []string, cut faultfs.PowerCut) error
	// PowerOn gives a host and its disks power again, and starts the members that stand on it.
	PowerOn(ctx context.Context, h host.Host) error
	// FaultDisk is the control over a disk that can have faults, and its name there.
	FaultDisk(volume, disk string) (*faultfs.Client, string, error)
	// DisksWork brings back what stands on a volume whose disks work again, if it had given up.
	DisksWork(ctx context.Context, volume string) error
}
