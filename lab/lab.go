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
	PowerOff = "power-off" // a host: everything on it is killed at once, its link is gone, its disks do not answer
	Cut      = "cut"       // a host: packets to From, or to all others, are dropped
	Slow     = "slow"      // a host: its link carries Rate bytes per second
	Pause    = "pause"     // a host or member: all processes stop where they are
	Kill     = "kill"      // a member: SIGKILL
	Stop     = "stop"      // a member: a clean end
	StepDown = "step-down" // a primary: a planned hand-over
	DiskFail = "disk-fail" // a disk: every request is answered with an error
)

// Fault is something to break.
type Fault struct {
	Action string `json:"action"`
	// Target is a host, a member or VOLUME/DISK by its name, or a role: "primary", "secondary", "router", "gateway",
	// "config", also SET/primary; "random" with Seed chooses a member with data. For host actions, a member or a role
	// means the host that it stands on.
	Target string `json:"target"`
	Seed   uint64 `json:"seed,omitempty"`
	// From is the other host of a cut; empty for all.
	From      string         `json:"from,omitempty"`
	Direction host.Direction `json:"direction,omitempty"`
	// Rate is in bytes per second.
	Rate int64 `json:"rate,omitempty"`
	// Limit is after what time the supervisor heals it by itself; 0 for never.
	Limit time.Duration `json:"limit,omitempty"`
}
