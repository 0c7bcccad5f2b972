// Package lab starts clusters of real servers on this machine, breaks them when asked, and removes them without a trace.
//
// A lab is kept by a supervisor: a process of its own, the parent of everything in the lab, that answers on a unix
// socket in the lab's directory. [Up] starts one, [Open] finds it, and a [Handle] speaks with it. If the supervisor is
// killed the kernel ends what it started, and [Down] removes the rest from the journal. Hosts, volumes, servers and
// topologies are made by the rooms below; load and judgement live elsewhere.
package lab

import (
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/host"
)

// The actions of [Fault].
const (
	PowerOff  = "power-off"  // a host: everything on it is killed at once, its link is gone, its disks do not answer
	PowerLoss = "power-loss" // as power-off, and what was not flushed to its disks is gone, except for a share of Keep
	Cut       = "cut"        // a host: packets to From, or to all others, are dropped
	Slow      = "slow"       // a host: its link carries Rate bytes per second
	Pause     = "pause"      // a host or member: all processes stop where they are
	Kill      = "kill"       // a member: SIGKILL
	Stop      = "stop"       // a member: a clean end
	StepDown  = "step-down"  // a primary: a planned hand-over
	DiskFail  = "disk-fail"  // disks: every request is answered with an error
)

// The actions that need disks of the fault filesystem, as [PowerLoss] does.
const (
	DiskError   = "disk-error"   // requests fail with Errno
	DiskFull    = "disk-full"    // writes fail, because there is no space
	DiskSlow    = "disk-slow"    // requests take Delay longer
	DiskHang    = "disk-hang"    // requests wait until it is healed
	DiskCorrupt = "disk-corrupt" // blocks have other bytes than were written
	DiskTorn    = "disk-torn"    // only a part of a write reaches the disk, and it is reported as done
	DiskLie     = "disk-lie"     // flushes are acknowledged and do nothing
)

// Fault is something to break.
type Fault struct {
	Action string `json:"action"`
	// Target is a host, a member, or a disk as MEMBER/DISK by its name, or a role: "primary", "secondary", "router", "gateway",
	// "config", also SET/primary; "random" with Seed chooses a member with data. For host actions, a member or a role
	// means the host that it stands on; for those of disks, all disks of its volume.
	Target string `json:"target"`
	Seed   uint64 `json:"seed,omitempty"`
	// From is the other host of a cut; empty for all.
	From      string         `json:"from,omitempty"`
	Direction host.Direction `json:"direction,omitempty"`
	// Rate is in bytes per second.
	Rate int64 `json:"rate,omitempty"`
	// Ops are the requests that a fault of disks is about: "read", "write", "flush"; none for all that it can be about.
	Ops []string `json:"ops,omitempty"`
	// Errno is the error of disk-error, EIO if absent; Delay that of disk-slow.
	Errno string        `json:"errno,omitempty"`
	Delay time.Duration `json:"delay,omitempty"`
	// Probability is how many of the requests, or of the blocks, a fault of disks hits, 1 if absent.
	Probability float64 `json:"probability,omitempty"`
	// Keep is the share of what was not flushed that survives a power loss, chosen with Seed.
	Keep float64 `json:"keep,omitempty"`
	// For is how long it shall last for who asks, which is told and not kept to: that is what Limit is for. 0 for nothing said.
	For time.Duration `json:"for,omitempty"`
	// Limit is after what time the supervisor heals it by itself; 0 for never.
	Limit time.Duration `json:"limit,omitempty"`
}
