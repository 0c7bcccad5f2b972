package action

import (
	"context"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/lab/volume"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Job is a fault in a lab: the request, and the parts of the lab that are its target.
type Job struct {
	Action *Action
	Fault  spec.Fault
	Target
	// Other is the other host of a fault between two hosts; nil for other faults.
	Other host.Host
	Site  Site
	// faulty are the disks of the fault filesystem that have the fault. The job keeps them, so that healing does not query
	// a volume that hangs.
	faulty []faultyDisk
	// Figures are what an event measured of itself.
	Figures []record.EventFigure
}

// Target is a host, a member, or disks of a volume.
type Target struct {
	Host   host.Host
	Node   engine.Node
	Volume volume.Volume
	Disks  []string
	// AllDisks says that Disks are all disks of the volume.
	AllDisks bool
}

// Name is the name of the target in lists.
func (t Target) Name() string {
	switch {
	case t.Volume != nil && t.AllDisks:
		return t.Volume.Name()
	case t.Volume != nil:
		return t.Volume.Name() + "/" + t.Disks[0]
	case t.Node != nil:
		return t.Node.Name()
	}
	return t.Host.Name()
}

// Same says whether two jobs have the same action and target. The order of the hosts of a fault between two is ignored.
func (j *Job) Same(k *Job) bool {
	if j.Action != k.Action {
		return false
	}
	return j.Name() == k.Name() && j.Other == k.Other || j.Other != nil && j.Host == k.Other && j.Other == k.Host
}

// Site is the lab around a job.
type Site interface {
	// Cluster is nil if the lab is not up.
	Cluster() topology.Cluster
	// SetOf returns the replica set of a member.
	SetOf(member string) string
	// MembersOn returns the members that are on a host now.
	MembersOn(h host.Host) []string
	Storage() spec.Storage
	// EndOnPurpose notes that members end because of a fault, so that their end is not reported as a problem.
	EndOnPurpose(members []string, why string)
	// Rejoin restarts a member, and returns when it has joined its cluster.
	Rejoin(member string) error
	// DiskPowerOff takes the power of a host's disks away. All writes that they have acknowledged stay.
	DiskPowerOff(ctx context.Context, h host.Host) error
	// LosePower takes the power of a host and its disks away and discards all writes that were not flushed.
	LosePower(ctx context.Context, h host.Host, members []string, cut faultfs.PowerCut) error
	// PowerOn gives a host and its disks power and restarts the members on it.
	PowerOn(ctx context.Context, h host.Host) error
	// FaultDisk returns a client of the fault filesystem that serves a disk, and the disk's name there.
	FaultDisk(volume, disk string) (*faultfs.Client, string, error)
	// DisksWork is called when the disks of a volume work again. It remounts a failed filesystem and restarts its member.
	DisksWork(ctx context.Context, volume string) error
}
