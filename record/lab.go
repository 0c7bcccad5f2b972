package record

import (
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// Lab is a lab as it is: what was asked for, what was made of it, and how it stands.
type Lab struct {
	// SchemaVersion is the version of this format.
	SchemaVersion string `json:"schema_version"`
	Name          string `json:"name"`
	// State is "starting", "up", "stopping", "failed" or "gone"; "planned" of a plan, of which nothing was made.
	State string `json:"state" jsonschema:"enum=planned,enum=starting,enum=up,enum=stopping,enum=failed,enum=gone"`
	// Problem is why it failed.
	Problem string    `json:"problem,omitempty"`
	Started time.Time `json:"started,omitzero"`
	// UsableAfter is how long it took until it was usable, in nanoseconds.
	UsableAfter int64 `json:"usable_after_ns,omitempty"`
	// Specification is the specification, with all defaults.
	Specification spec.Lab `json:"specification"`
	// URI is where clients connect, without credentials, with the durability level that the engine itself has.
	URI string `json:"uri,omitempty"`
	// URIs are the addresses by durability, where each has servers of its own (documentdb): "throughput", "balanced",
	// "durable", "majority", …
	URIs map[string]string `json:"uris,omitempty"`
	// Engine is the software as it was started.
	Engine  string      `json:"engine"`
	Version string      `json:"version,omitempty"`
	Hosts   []LabHost   `json:"hosts"`
	Members []LabMember `json:"members"`
	Volumes []LabVolume `json:"volumes,omitempty"`
	// Sharding is how the collection is spread, for sharded clusters.
	Sharding *LabSharding `json:"sharding,omitempty"`
	// Notes say what differs from what a reader would expect.
	Notes []string `json:"notes,omitempty"`
	// Faults are those that are not healed yet.
	Faults []LabFault `json:"faults,omitempty"`
}

// LabHost is one failure domain.
type LabHost struct {
	Name string `json:"name"`
	// Role is "member", "router", "gateway" or "config".
	Role    string `json:"role"`
	Mode    string `json:"mode"`
	Address string `json:"address"`
	// State is "on", "off" or "paused"; a host that is cut off is on.
	State string `json:"state" jsonschema:"enum=on,enum=off,enum=paused"`
	// CutFrom are the hosts it does not reach, "*" for all, with the direction if it is one only.
	CutFrom []string `json:"cut_from,omitempty"`
	// Cores, Memory in bytes and Network in bytes per second are its limits, absent where it has none.
	Cores   float64 `json:"cores,omitempty"`
	Memory  int64   `json:"memory_bytes,omitempty"`
	Network int64   `json:"network_bytes_per_second,omitempty"`
	// Members are the names of the members that stand on it now.
	Members []string `json:"members,omitempty"`
}

// LabMember is one server of a lab.
type LabMember struct {
	Name string `json:"name"`
	// Kind is "mongod", "mongos", "postgres" or "gateway"; "volume" where there is storage and no server (engine none).
	Kind string `json:"kind"`
	// Set is the replica set or shard it belongs to.
	Set  string `json:"set,omitempty"`
	Host string `json:"host"`
	// Address is host:port.
	Address string `json:"address"`
	// State is "running", "stopped", "paused", "dead" or "starting".
	State string `json:"state" jsonschema:"enum=running,enum=stopped,enum=paused,enum=dead,enum=starting"`
	// Role is "primary", "secondary", "arbiter", "router", "gateway", "config", "standalone", "volume" or "unknown".
	Role string `json:"role,omitempty"`
	// LagSeconds and LagBytes are how far it is behind the primary, absent if that is not known.
	LagSeconds *float64 `json:"lag_seconds,omitempty"`
	LagBytes   *int64   `json:"lag_bytes,omitempty"`
	// Idle says that the primary has written nothing for a second or more, and that the member has all that it wrote.
	Idle bool `json:"idle,omitempty"`
	// Term is the election term or timeline it is on.
	Term int64 `json:"term,omitempty"`
	// Durability is the level a gateway stands for.
	Durability string `json:"durability,omitempty"`
	Volume     string `json:"volume,omitempty"`
	PIDs       []int  `json:"pids,omitempty"`
	// Logs are its log files, absolute paths on the machine of the lab.
	Logs []string `json:"logs,omitempty"`
	// Problem is why it does not run as it should.
	Problem string `json:"problem,omitempty"`
	// Settings are the effective settings, when they were asked for.
	Settings map[string]string `json:"settings,omitempty"`
}

// LabVolume is the storage of a member: the policy, and what was made of it.
type LabVolume struct {
	Name   string `json:"name"`
	Member string `json:"member"`
	// Policy is the policy in one line, and Layout what was made of it.
	Policy string    `json:"policy"`
	Layout LabLayout `json:"layout"`
	Disks  []LabDisk `json:"disks,omitempty"`
	// Mount is the directory the member sees.
	Mount string `json:"mount"`
	// Capacity is what can be written in all, Used what of it is, in bytes. What the empty filesystem took is in neither.
	// A directory has no capacity of its own, and what it uses are its files; it is absent where nobody asked for it.
	Capacity int64 `json:"capacity_bytes,omitempty"`
	Used     int64 `json:"used_bytes,omitempty"`
	// Health is "healthy", "degraded", "repairing", "failed" or "unknown", Detail what the backend says.
	Health string `json:"health" jsonschema:"enum=healthy,enum=degraded,enum=repairing,enum=failed,enum=unknown"`
	Detail string `json:"detail,omitempty"`
}

// LabLayout is how a policy becomes real storage.
type LabLayout struct {
	// Backend is "directory", "disk", "btrfs", "md" or "lvm".
	Backend string `json:"backend"`
	// Profile is the backend's word: "raid10", "raid1c3", "RAID 5, 64 KiB chunks", …
	Profile    string `json:"profile,omitempty"`
	Filesystem string `json:"filesystem,omitempty"`
	// Checksum is the algorithm, "none", or "" where it is not known.
	Checksum string `json:"checksum,omitempty"`
	// Disks is how many there are, each of DiskSize bytes.
	Disks    int   `json:"disks,omitempty"`
	DiskSize int64 `json:"disk_size_bytes,omitempty"`
	// Reserve is how many bytes of each disk only a repair uses.
	Reserve int64 `json:"reserve_bytes,omitempty"`
	// Tolerates is how many disks may fail.
	Tolerates int `json:"tolerates"`
	// WriteAmplification is how many bytes reach disks for each byte of the volume, as the policy implies for whole
	// stripes: 2 for two copies, 4/3 for parity over four disks. RawShare is usable over raw capacity.
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
	// Host has it in its disk group.
	Host string `json:"host"`
	// File holds its data, Device is what the kernel calls it.
	File   string `json:"file"`
	Device string `json:"device,omitempty"`
	// State is "ok", "failed", "missing" or "rebuilding".
	State string `json:"state" jsonschema:"enum=ok,enum=failed,enum=missing,enum=rebuilding"`
	// Errors are those that the volume counted on it.
	Errors int64 `json:"errors,omitempty"`
}

// LabSharding is how a collection is spread.
type LabSharding struct {
	Namespace string `json:"namespace"`
	// Key is the shard key; empty for a collection of a sharded cluster that is not sharded itself.
	Key    string `json:"key"`
	Unique bool   `json:"unique,omitempty"`
	// Zones is how many ranges of the key are bound to a zone.
	Zones int `json:"zones,omitempty"`
	// Chunks are counted per shard.
	Chunks map[string]int64 `json:"chunks"`
}

// LabFault is something that was broken on purpose and is not healed yet.
type LabFault struct {
	ID     int       `json:"id"`
	Action string    `json:"action"`
	Target string    `json:"target"`
	From   string    `json:"from,omitempty"`
	Since  time.Time `json:"since"`
	// Until is when the supervisor heals it by itself, absent if it does not.
	Until *time.Time `json:"until,omitempty"`
}

// LabEvent is something that happened in a lab.
type LabEvent struct {
	// Seq counts from 1 without gaps.
	Seq  int64     `json:"seq"`
	Time time.Time `json:"time"`
	// Kind is "fault", "heal", "member", "election", "promotion", "restart", "volume", "host", "progress" or "problem".
	Kind string            `json:"kind"`
	Text string            `json:"text"`
	Data map[string]string `json:"data,omitempty"`
}

// LabUsage is what one host used up to now, or uses.
type LabUsage struct {
	Host string `json:"host"`
	// CPUSeconds of all its processes since it was powered on; ThrottledSeconds it had to wait at its limit.
	CPUSeconds       float64 `json:"cpu_seconds"`
	ThrottledSeconds float64 `json:"throttled_seconds,omitempty"`
	// Memory is resident now, in bytes.
	Memory int64 `json:"memory_bytes"`
	// Bytes and operations since it was powered on, 0 where they are not known. On hosts without control groups only what
	// was read is: the kernel tells of a process what it made dirty, in units of up to megabytes, and not what reached a
	// disk.
	ReadBytes  int64 `json:"read_bytes"`
	WriteBytes int64 `json:"write_bytes"`
	Reads      int64 `json:"reads,omitempty"`
	Writes     int64 `json:"writes,omitempty"`
	Received   int64 `json:"received_bytes,omitempty"`
	Sent       int64 `json:"sent_bytes,omitempty"`
}

// EngineText is the engine of a lab with its version: "mongod 8.0.12".
func (l *Lab) EngineText() string { return strings.TrimSpace(l.Engine + " " + l.Version) }
