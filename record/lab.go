package record

import (
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// Lab is the specification, the parts and the state of a lab.
type Lab struct {
	// SchemaVersion is the version of this format.
	SchemaVersion string `json:"schema_version"`
	Name          string `json:"name"`
	// State is "starting", "up", "stopping", "failed" or "gone"; "planned" for a plan.
	State string `json:"state" jsonschema:"enum=planned,enum=starting,enum=up,enum=stopping,enum=failed,enum=gone"`
	// Problem is why it failed.
	Problem string    `json:"problem,omitempty"`
	Started time.Time `json:"started,omitzero"`
	// UsableAfter is the time until it was usable, in nanoseconds.
	UsableAfter int64 `json:"usable_after_ns,omitempty"`
	// Specification is the specification, with all defaults.
	Specification spec.Lab `json:"specification"`
	// URI is the address without credentials, with the default durability level of the engine.
	URI string `json:"uri,omitempty"`
	// URIs are the addresses by durability if each has its own servers (documentdb): "throughput", "balanced", "durable",
	// "majority", …
	URIs map[string]string `json:"uris,omitempty"`
	// Engine is the software as it was started.
	Engine  string      `json:"engine"`
	Version string      `json:"version,omitempty"`
	Hosts   []LabHost   `json:"hosts"`
	Members []LabMember `json:"members"`
	Volumes []LabVolume `json:"volumes,omitempty"`
	// Sharding is the distribution of the collection of a sharded cluster.
	Sharding *LabSharding `json:"sharding,omitempty"`
	// Notes say what a reader would not expect.
	Notes []string `json:"notes,omitempty"`
	// Failover says what decides which member is the primary; absent if the servers elect it by themselves.
	Failover string `json:"failover,omitempty"`
	// Faults are the current faults.
	Faults []LabFault `json:"faults,omitempty"`
}

// LabHost is one failure domain.
type LabHost struct {
	Name string `json:"name"`
	// Role is "member", "router", "gateway", "config" or "witness".
	Role    string `json:"role"`
	Mode    string `json:"mode"`
	Address string `json:"address"`
	// State is "on", "off" or "paused"; a host without network is on.
	State string `json:"state" jsonschema:"enum=on,enum=off,enum=paused"`
	// CutFrom are the hosts that it cannot reach, "*" for all, with the direction if it is only one.
	CutFrom []string `json:"cut_from,omitempty"`
	// Cores, Memory in bytes and Network in bytes per second are its limits; absent without.
	Cores   float64 `json:"cores,omitempty"`
	Memory  int64   `json:"memory_bytes,omitempty"`
	Network int64   `json:"network_bytes_per_second,omitempty"`
	// Members are the names of its current members.
	Members []string `json:"members,omitempty"`
}

// LabMember is one server of a lab.
type LabMember struct {
	Name string `json:"name"`
	// Kind is "mongod", "mongos", "postgres", "etcd" or "gateway"; "volume" for storage without a server (engine none).
	Kind string `json:"kind"`
	// Set is the replica set or shard it belongs to.
	Set  string `json:"set,omitempty"`
	Host string `json:"host"`
	// Address is host:port.
	Address string `json:"address"`
	// State is "running", "stopped", "paused", "dead" or "starting".
	State string `json:"state" jsonschema:"enum=running,enum=stopped,enum=paused,enum=dead,enum=starting"`
	// Role is "primary", "secondary", "arbiter", "router", "gateway", "config", "etcd", "standalone", "volume" or
	// "unknown".
	Role string `json:"role,omitempty"`
	// LagSeconds and LagBytes are its replication lag, absent if it is unknown.
	LagSeconds *float64 `json:"lag_seconds,omitempty"`
	LagBytes   *int64   `json:"lag_bytes,omitempty"`
	// Idle says that the primary has written nothing for a second or more, and that the member has all writes.
	Idle bool `json:"idle,omitempty"`
	// Term is the election term or timeline it is on.
	Term int64 `json:"term,omitempty"`
	// Durability is the level of a gateway.
	Durability string `json:"durability,omitempty"`
	Volume     string `json:"volume,omitempty"`
	PIDs       []int  `json:"pids,omitempty"`
	// Logs are its log files, absolute paths on the machine of the lab.
	Logs []string `json:"logs,omitempty"`
	// Problem is what is wrong with it.
	Problem string `json:"problem,omitempty"`
	// Settings are the effective settings, if they were read.
	Settings map[string]string `json:"settings,omitempty"`
}

// LabVolume is the storage of a member: its policy and layout.
type LabVolume struct {
	Name   string `json:"name"`
	Member string `json:"member"`
	// Policy is the policy in one line, and Layout its implementation.
	Policy string    `json:"policy"`
	Layout LabLayout `json:"layout"`
	Disks  []LabDisk `json:"disks,omitempty"`
	// Mount is the directory the member sees.
	Mount string `json:"mount"`
	// Capacity and Used are in bytes, without the space of the empty filesystem. A directory has no capacity, and Used is
	// the size of its files; absent if it was not read.
	Capacity int64 `json:"capacity_bytes,omitempty"`
	Used     int64 `json:"used_bytes,omitempty"`
	// Health is "healthy", "degraded", "repairing", "failed" or "unknown", and Detail the backend's state.
	Health string `json:"health" jsonschema:"enum=healthy,enum=degraded,enum=repairing,enum=failed,enum=unknown"`
	Detail string `json:"detail,omitempty"`
}

// LabLayout is the implementation of a policy.
type LabLayout struct {
	// Backend is "directory", "disk", "btrfs", "md" or "lvm".
	Backend string `json:"backend"`
	// Profile is the backend's word: "raid10", "raid1c3", "RAID 5, 64 KiB chunks", …
	Profile    string `json:"profile,omitempty"`
	Filesystem string `json:"filesystem,omitempty"`
	// Checksum is the algorithm, "none", or "" if it is unknown.
	Checksum string `json:"checksum,omitempty"`
	// Disks is the number of disks, each of DiskSize bytes.
	Disks    int   `json:"disks,omitempty"`
	DiskSize int64 `json:"disk_size_bytes,omitempty"`
	// Reserve is the bytes of each disk that only a repair uses.
	Reserve int64 `json:"reserve_bytes,omitempty"`
	// Tolerates is how many disks may fail.
	Tolerates int `json:"tolerates"`
	// WriteAmplification is the bytes on disks per byte of the volume for full stripes: 2 for two copies, 4/3 for parity
	// over four disks. RawShare is usable over raw capacity.
	WriteAmplification float64 `json:"write_amplification"`
	RawShare           float64 `json:"raw_share"`
	// Device is the class of its disks, Cache that of the tier in front of them.
	Device string `json:"device,omitempty"`
	Cache  string `json:"cache,omitempty"`
	// Notes say what the layout cannot do.
	Notes []string `json:"notes,omitempty"`
}

// LabDisk is one virtual disk of a volume.
type LabDisk struct {
	Name string `json:"name"`
	// Host is the host of its disk group.
	Host string `json:"host"`
	// File has its data; Device is its name in the kernel.
	File   string `json:"file"`
	Device string `json:"device,omitempty"`
	// State is "ok", "failed", "missing" or "rebuilding".
	State string `json:"state" jsonschema:"enum=ok,enum=failed,enum=missing,enum=rebuilding"`
	// Errors is the volume's count of its errors.
	Errors int64 `json:"errors,omitempty"`
}

// LabSharding is the distribution of a collection over shards.
type LabSharding struct {
	Namespace string `json:"namespace"`
	// Key is the shard key; empty for an unsharded collection.
	Key    string `json:"key"`
	Unique bool   `json:"unique,omitempty"`
	// Zones is the number of key ranges with a zone.
	Zones int `json:"zones,omitempty"`
	// Chunks are counted per shard.
	Chunks map[string]int64 `json:"chunks"`
}

// LabFault is a current fault.
type LabFault struct {
	ID     int       `json:"id"`
	Action string    `json:"action"`
	Target string    `json:"target"`
	From   string    `json:"from,omitempty"`
	Since  time.Time `json:"since"`
	// Until is when the supervisor reverts it, absent if it does not.
	Until *time.Time `json:"until,omitempty"`
	// Figures are what a planned event measured of itself.
	Figures []EventFigure `json:"figures,omitempty"`
}

// LabEvent is an event of a lab.
type LabEvent struct {
	// Seq counts from 1 without gaps.
	Seq  int64     `json:"seq"`
	Time time.Time `json:"time"`
	// Kind is "fault", "heal", "member", "election", "promotion", "restart", "etcd", "volume", "host", "progress" or
	// "problem".
	Kind string            `json:"kind"`
	Text string            `json:"text"`
	Data map[string]string `json:"data,omitempty"`
}

// LabUsage is the use of one host.
type LabUsage struct {
	Host string `json:"host"`
	// CPUSeconds is the use of all its processes since power-on, and ThrottledSeconds the time that it waited at its
	// limit.
	CPUSeconds       float64 `json:"cpu_seconds"`
	ThrottledSeconds float64 `json:"throttled_seconds,omitempty"`
	// Memory is resident memory in bytes.
	Memory int64 `json:"memory_bytes"`
	// Bytes and operations since power-on, 0 if unknown. Hosts without control groups have reads only, because the kernel
	// counts dirtied pages of a process, not writes to a disk.
	ReadBytes  int64 `json:"read_bytes"`
	WriteBytes int64 `json:"write_bytes"`
	Reads      int64 `json:"reads,omitempty"`
	Writes     int64 `json:"writes,omitempty"`
	Received   int64 `json:"received_bytes,omitempty"`
	Sent       int64 `json:"sent_bytes,omitempty"`
}

// CauseOutOfMemory is the cause in the data of an event of a lab: the kernel killed a process of a host that had
// no memory left.
const CauseOutOfMemory = "out-of-memory"

// EngineText is the engine of a lab with its version: "mongod 8.0.12".
func (l *Lab) EngineText() string { return strings.TrimSpace(l.Engine + " " + l.Version) }
