// Package faultfs is a filesystem of virtual disks that can fail. A real filesystem on a loop device uses such a disk,
// which can return errors, be full, be as slow as a class of devices, hang, corrupt or tear blocks, lose power with all
// writes that were not flushed, and lie about flushes.
//
// It is a program (plimsoll faultfs), because a FUSE server must not share a process with the users of its files.
// [Serve] is that program, and [Client] controls it over a unix socket. A command is acknowledged when it is in effect.
// The package does not know what uses the disks.
package faultfs

import "time"

// Device is the speed of a disk. Zero values are unlimited.
type Device struct {
	Class string `json:"class,omitempty"`
	// The latencies are the times of one request without its transfer.
	ReadLatency  time.Duration `json:"read_latency,omitempty"`
	WriteLatency time.Duration `json:"write_latency,omitempty"`
	FlushLatency time.Duration `json:"flush_latency,omitempty"`
	// SequentialLatency is the latency of a read or write that begins where the last one ended; 0 is the normal latency.
	SequentialLatency time.Duration `json:"sequential_latency,omitempty"`
	// Bytes per second.
	ReadRate  int64 `json:"read_rate,omitempty"`
	WriteRate int64 `json:"write_rate,omitempty"`
	// Parallel is how many requests the device serves at the same time: 1 for a hard disk. 0 is unlimited.
	Parallel int `json:"parallel,omitempty"`
	// Volatile is the size of the device's write cache in bytes. Writes wait for the medium when it is full.
	Volatile int64 `json:"volatile,omitempty"`
	// Protected devices keep acknowledged writes at a power cut, even without a flush, because they have a protected cache
	// or none. They discard writes only if the disk lies.
	Protected bool `json:"protected,omitempty"`
}

// modelled says whether the device has a model of its speed. Without a model, a disk is as fast as the machine's disk,
// and its flushes are flushes of that. With a model, a flush happens in the model only.
func (d Device) modelled() bool { return d != Device{} }

// Cache is a faster device in front of a disk. Writes go to the cache first and are destaged. Reads of cached data have
// the speed of the cache.
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
	Corrupt = "corrupt" // reads return wrong bytes
	Torn    = "torn"    // only a part of a write reaches the disk, but the write is acknowledged
	Lie     = "lie"     // flushes are acknowledged but do nothing
	Dead    = "dead"    // the disk has no power: all requests fail
)

// Fault is a fault of a disk.
type Fault struct {
	Kind string `json:"kind"`
	// Ops are the affected requests: "read", "write", "flush"; none for all that the kind can affect.
	Ops []string `json:"ops,omitempty"`
	// Errno is the name of the error, EIO if absent.
	Errno string        `json:"errno,omitempty"`
	Delay time.Duration `json:"delay,omitempty"`
	// Probability is the share of affected requests, 1 if absent. Seed makes the choice repeatable.
	Probability float64 `json:"probability,omitempty"`
	Seed        uint64  `json:"seed,omitempty"`
	// From and To are the affected range of bytes; 0, 0 is the whole disk.
	From int64 `json:"from,omitempty"`
	To   int64 `json:"to,omitempty"`
	// Limit is the time after which the fault is cleared; 0 is never.
	Limit time.Duration `json:"limit,omitempty"`
}

// PowerCut says what happens to writes that were not flushed when a disk loses power.
type PowerCut struct {
	// Keep is the share of them that survives, 0 to 1, chosen block by block with Seed.
	Keep float64 `json:"keep,omitempty"`
	Seed uint64  `json:"seed,omitempty"`
	// Block is the size in bytes of the pieces that survive or not, 4096 if absent. 512 tears pages.
	Block int64 `json:"block,omitempty"`
}

// Stats are the counters of a disk.
type Stats struct {
	Name       string `json:"name"`
	Size       int64  `json:"size"`
	Reads      int64  `json:"reads"`
	Writes     int64  `json:"writes"`
	Flushes    int64  `json:"flushes"`
	ReadBytes  int64  `json:"read_bytes"`
	WriteBytes int64  `json:"write_bytes"`
	// Unflushed is how many bytes a power cut would discard now.
	Unflushed int64 `json:"unflushed"`
	// Hits is how many requests each kind of fault has affected.
	Hits   map[string]int64 `json:"hits,omitempty"`
	Faults []Fault          `json:"faults,omitempty"`
	// Undone is how many writes the last power cut discarded, UndoneBytes their bytes, and KeptBytes the bytes that
	// survived although they were not flushed.
	Undone      int64 `json:"undone,omitempty"`
	UndoneBytes int64 `json:"undone_bytes,omitempty"`
	KeptBytes   int64 `json:"kept_bytes,omitempty"`
	// Waiting is how many requests wait now: for the device, or because the disk hangs.
	Waiting int64  `json:"waiting"`
	Device  Device `json:"device"`
	Cache   *Cache `json:"cache,omitempty"`
}
