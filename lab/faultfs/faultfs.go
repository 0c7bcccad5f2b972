// Package faultfs is a filesystem of virtual disks that can fail: below a real filesystem on a loop device they return
// errors, are full, are slow like a class of device, hang, corrupt or tear blocks, lose power with everything that was
// not flushed, and lie about flushes.
//
// It is a program of its own (plimsoll faultfs), because a FUSE server must not share a process with those who use it.
// [Serve] is that program, [Client] its control over a unix socket. Every command is acknowledged after it took
// effect. What stands on the disks is not known here.
package faultfs

import "time"

// Device says how fast a disk is. Zero values are unlimited, and cost nothing.
type Device struct {
	Class string `json:"class,omitempty"` // its name, for people
	// ReadLatency and WriteLatency are how long one request takes besides its transfer; Flush one flush.
	ReadLatency  time.Duration `json:"read_latency,omitempty"`
	WriteLatency time.Duration `json:"write_latency,omitempty"`
	FlushLatency time.Duration `json:"flush_latency,omitempty"`
	// SequentialLatency is ReadLatency and WriteLatency of a request that begins where the last one ended; 0 is the same.
	SequentialLatency time.Duration `json:"sequential_latency,omitempty"`
	// Bytes per second.
	ReadRate  int64 `json:"read_rate,omitempty"`
	WriteRate int64 `json:"write_rate,omitempty"`
	// Parallel is how many requests are served at once: 1 for a disk with one arm. 0 is unlimited.
	Parallel int `json:"parallel,omitempty"`
	// Volatile is how much the device's own cache takes before writes wait for the medium.
	Volatile int64 `json:"volatile,omitempty"`
	// Protected devices keep what they acknowledged when power fails, also without a flush, because their cache is
	// safe or they use none: a power cut undoes nothing, unless the disk lies.
	Protected bool `json:"protected,omitempty"`
}

// modelled says whether the device has a time of its own. A disk without one is as fast as the machine's disk, and
// its flushes are flushes of that; a disk with one is flushed in the model only.
func (d Device) modelled() bool { return d != Device{} }

// Cache is a faster device in front of a disk. Writes go to it first and are destaged; reads of what it holds are as
// fast as it is.
type Cache struct {
	Device Device `json:"device"`
	Size   int64  `json:"size"` // bytes
}

// The kinds of faults of a disk.
const (
	Error   = "error"   // requests fail with Errno
	Full    = "full"    // writes fail with ENOSPC
	Slow    = "slow"    // requests take Delay longer
	Hang    = "hang"    // requests wait until the fault is cleared
	Corrupt = "corrupt" // reads return other bytes than were written
	Torn    = "torn"    // only a part of a write reaches the disk, and it is reported as done
	Lie     = "lie"     // flushes are acknowledged and do nothing
	Dead    = "dead"    // the disk has no power: everything fails
)

// Fault is one thing that is wrong with a disk.
type Fault struct {
	Kind string `json:"kind"`
	// Ops are the requests it hits: "read", "write", "flush"; none for all that the kind is about.
	Ops []string `json:"ops,omitempty"`
	// Errno is the name of the error, EIO if absent.
	Errno string        `json:"errno,omitempty"`
	Delay time.Duration `json:"delay,omitempty"`
	// Probability is how many of the requests it hits, 1 if absent; Seed makes the choice repeatable.
	Probability float64 `json:"probability,omitempty"`
	Seed        uint64  `json:"seed,omitempty"`
	// From and To bound the bytes of the disk it hits; 0, 0 for all.
	From int64 `json:"from,omitempty"`
	To   int64 `json:"to,omitempty"`
	// Limit is after what time it clears itself; 0 for never.
	Limit time.Duration `json:"limit,omitempty"`
}

// PowerCut says what becomes of writes that were not flushed when a disk loses power.
type PowerCut struct {
	// Keep is the share of them that survives all the same, 0 to 1, chosen block by block with Seed.
	Keep float64 `json:"keep,omitempty"`
	Seed uint64  `json:"seed,omitempty"`
	// Block is the size of the pieces that survive or not, 4096 if absent; 512 tears pages.
	Block int64 `json:"block,omitempty"`
}

// Stats are what a disk did.
type Stats struct {
	Name       string `json:"name"`
	Size       int64  `json:"size"`
	Reads      int64  `json:"reads"`
	Writes     int64  `json:"writes"`
	Flushes    int64  `json:"flushes"`
	ReadBytes  int64  `json:"read_bytes"`
	WriteBytes int64  `json:"write_bytes"`
	// Unflushed is how many bytes a power cut would undo now.
	Unflushed int64 `json:"unflushed"`
	// Hits is how often each fault hit a request.
	Hits   map[string]int64 `json:"hits,omitempty"`
	Faults []Fault          `json:"faults,omitempty"`
	Undone int64            `json:"undone,omitempty"` // writes that the last power cut undid
	// UndoneBytes are the bytes that it put back, KeptBytes those that survived though they were not flushed.
	UndoneBytes int64 `json:"undone_bytes,omitempty"`
	KeptBytes   int64 `json:"kept_bytes,omitempty"`
	// Waiting is how many requests wait now: for the device, or because the disk hangs.
	Waiting int64 `json:"waiting"`
	// Device and Cache are what the disk was made with.
	Device Device `json:"device"`
	Cache  *Cache `json:"cache,omitempty"`
}
