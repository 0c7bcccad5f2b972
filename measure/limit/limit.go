// Package limit decides what keeps the load of a deployment from growing, from the steps of a ladder of loads. It is a
// pure function: it does not know how the steps were made.
//
// A label needs two independent signals, otherwise the answer is [Unknown]: a wrong label costs days, an unknown one
// minutes. Throughput and latency have separate answers, because a slow flush dominates the latency and limits nothing
// while more clients batch more.
package limit

import (
	"fmt"

	"github.com/plimsoll-bench/plimsoll/measure/anatomy"
)

// Label is what limits.
type Label string

// The labels.
const (
	None        Label = "none reached"
	Client      Label = "client"
	Network     Label = "network"
	CPU         Label = "CPU"
	DiskReads   Label = "disk reads"
	DiskWrites  Label = "disk writes"
	Flushes     Label = "flushes"
	Cache       Label = "cache too small"
	Tickets     Label = "tickets"
	Locks       Label = "locks"
	Conflicts   Label = "conflicts"
	FlowControl Label = "flow control"
	Replication Label = "replication"
	Router      Label = "router"
	Connections Label = "connections"
	Unknown     Label = "unknown"
)

// Strength is how sure a label is.
type Strength string

// The strengths.
const (
	// Confirmed: one capacity was changed and the answer moved as predicted.
	Confirmed Strength = "confirmed"
	// Supported: two independent signals.
	Supported Strength = "supported"
	// Weak is the strength of [Unknown].
	Weak Strength = "unknown"
)

// Resource is the use of something with a capacity during a step.
type Resource struct {
	// Label is that of a load that it limits, and Where names it: a host, a disk of a host.
	Label Label  `json:"label"`
	Where string `json:"where"`
	// Used and Capacity are in the same unit: cores, or shares of the time.
	Used     float64 `json:"used"`
	Capacity float64 `json:"capacity"`
	// Throttled is the time per second in which a quota stopped it, Waiting the mean number of threads or requests that
	// waited for it; 0 if unknown.
	Throttled float64 `json:"throttled,omitempty"`
	Waiting   float64 `json:"waiting,omitempty"`
	// Time is the mean time of a request in seconds, 0 if unknown.
	Time float64 `json:"time,omitempty"`
	// Behind says that it is of a member that only replicates.
	Behind bool `json:"behind,omitempty"`
}

// Secondary is what a member that only replicates did during a step.
type Secondary struct {
	Name string
	Sync float64 // mean time of a sync in seconds, 0 if unknown
	Lag  float64 // replication lag in seconds
	CPU  float64 // share of the cores of its host, 0 if unknown
}

// Step is what one load did.
type Step struct {
	// Offered is the rate in operations per second; 0 of a closed loop. Achieved is the throughput.
	Offered  float64
	Achieved float64
	Workers  int
	// Sustained says that the offered rate was achieved, and Missed that an objective was missed.
	Sustained, Missed bool
	// BlindRouter says that a router or service between the client and the servers does not count the time of its
	// operations, or was not sampled, so that it is part of the network.
	BlindRouter bool
	// QuotasSeen says that the kernel showed whether a quota stopped each of the servers that served the operations.
	QuotasSeen bool
	// Client is why the load generator was busy, "" if it was not.
	Client []string
	// Latency is the mean response time in seconds.
	Latency float64
	Anatomy *anatomy.Anatomy
	// Resources are those that were sampled.
	Resources []Resource
	// Secondaries are the members that only replicate.
	Secondaries []Secondary
	// Signals are other figures of the step, by the names below; absent if unknown.
	Signals map[string]float64
}

// The names of signals.
const (
	SignalConflicts = "conflicts per write"
	SignalLagged    = "share of the time under flow control"
	SignalNoTicket  = "share of samples without a free ticket"
	SignalDirty     = "dirty share of the cache"
	SignalUsed      = "used share of the cache"
	SignalPages     = "pages read per operation"
	SignalRejected  = "rejected connections per second"
	SignalFree      = "free connections"
	SignalPool      = "share of the service time in the pool of connections"
	SignalRoundTrip = "round trip in seconds"
	SignalWaits     = "lock waits per operation"
	SignalSyncing   = "share of the time in which a sync ran"
	SignalCPUEach   = "CPU seconds per operation"
	SignalRunQueue  = "threads of the servers that wait for a core"
)

// Answer is what limits the throughput, or what most of the latency is.
type Answer struct {
	Label Label `json:"label" jsonschema:"enum=none reached,enum=client,enum=network,enum=CPU,enum=disk reads,enum=disk writes,enum=flushes,enum=cache too small,enum=tickets,enum=locks,enum=conflicts,enum=flow control,enum=replication,enum=router,enum=connections,enum=unknown"`
	// Where names the host, disk or member; "" if the label has none.
	Where    string   `json:"where,omitempty"`
	Strength Strength `json:"strength" jsonschema:"enum=confirmed,enum=supported,enum=unknown"`
	// Evidence are at most two lines.
	Evidence []string `json:"evidence"`
}

// Limit is the result of a ladder.
type Limit struct {
	Throughput Answer `json:"throughput"`
	Latency    Answer `json:"latency"`
	// Bound says that an objective was missed while the offered rate was achieved: then the latency is what limits.
	Bound bool `json:"latency_bound,omitempty"`
	// Shape is that of throughput over load: linear, flat, or retrograde; "" with one step.
	Shape string `json:"shape,omitempty"`
	// Unexplained is the share of the service time without a place, at the highest step.
	Unexplained float64 `json:"unexplained"`
	// NotChecked are what could not be checked, with what would allow it.
	NotChecked []string `json:"not_checked,omitempty"`
	// Elasticity is by how much the throughput grows with the capacity, as Δln X/Δln C; absent if it was not measured.
	Elasticity *float64 `json:"elasticity,omitempty"`
	// More is what to do to carry more.
	More string `json:"more,omitempty"`
}

// The shapes.
const (
	Linear     = "linear"
	Flat       = "flat"
	Retrograde = "retrograde"
)

// String is an answer in a few words: "CPU of host a (supported)".
func (a Answer) String() string {
	text := string(a.Label)
	if a.Where != "" {
		text += " of " + a.Where
	}
	if a.Label == Unknown || a.Label == None {
		return text
	}
	return fmt.Sprintf("%s (%s)", text, a.Strength)
}

// Main is the answer that limits: that for the latency if an objective was missed while the rate was achieved.
func (l *Limit) Main() Answer {
	if l.Bound {
		return l.Latency
	}
	return l.Throughput
}

// more are what carries more load, by label.
var more = map[Label]string{
	Client:      "use more load generators or a larger machine for them; the deployment was not the limit",
	Network:     "shorten the way between client and server, or send fewer and larger requests",
	CPU:         "more cores, or shards, or queries that use less CPU (indexes)",
	DiskReads:   "more memory for the cache, or disks with more reads per second",
	DiskWrites:  "disks that write more per second",
	Flushes:     "more concurrent writers, or a disk with a shorter flush",
	Cache:       "more memory for the cache, or disks that write more per second",
	Tickets:     "shorten what holds the tickets; raise their number only if cores and disks are not busy",
	Locks:       "end or move the operation that holds the lock, or divide the collection",
	Conflicts:   "let fewer writers change the same documents at a time",
	FlowControl: "faster disks or more cores for the secondaries that lag",
	Replication: "faster disks or more cores for the secondaries, or a shorter network to them",
	Router:      "more routers, or more cores for them",
	Connections: "a larger connection pool, or a higher limit of connections of the server",
}
