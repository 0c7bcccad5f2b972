// Package topology makes clusters out of servers: replica sets with elections, sharded clusters, and PostgreSQL members
// with standbys, promotion and gateways.
//
// It decides which member stands on which host, what is started in which order, and when the whole is usable; nothing
// here waits for ever. Hosts, volumes and single servers are made by other rooms; when something fails on purpose is
// decided by package lab.
package topology

import (
	"context"
	"errors"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// HostPlan is a host that a topology needs.
type HostPlan struct {
	Name   string // "host1", "router1", "config1", "gateway1"
	Role   string // "member", "router", "config" or "gateway"
	Limits host.Limits
}

// MemberPlan is a server that a topology needs.
type MemberPlan struct {
	Name       string // "rs0-1", "shard1-2", "config-1", "router-1", "gateway-durable"
	Kind       string // as in [engine.Node]
	Set        string // the replica set or shard
	Host       string
	Role       string  // "member", "arbiter", "config", "router" or "gateway"
	Volume     bool    // it keeps data under the storage policy
	Priority   float64 // of members of a replica set
	Durability string  // of gateways
}

// Layout is what a specification needs, decided before anything is made.
type Layout struct {
	Hosts   []HostPlan
	Members []MemberPlan
	Notes   []string // what differs from what a reader of the specification would expect
}

// Site is what a cluster is built on.
type Site struct {
	Spec    spec.Lab // with all defaults
	Layout  Layout
	Home    string // where engines are installed
	Dir     string // of the lab; secrets go to Dir/secrets, readable by the owner alone
	Journal *journal.Journal
	Hosts   map[string]host.Host
	// Volume makes, or finds, the storage of a member and returns its directory.
	Volume func(ctx context.Context, member string) (dir string, err error)
	// Event tells what happens; the kinds are those of [record.LabEvent]. It returns at once.
	Event func(kind, text string, data map[string]string)
}

// Depth is how much servers are asked for a description.
type Depth int

// The depths, each with all that the one before it has.
const (
	// Known asks nobody: what is known is told at once.
	Known Depth = iota
	// Standing asks for roles, terms and lag: one command to each member and one to each set, and another one for each
	// member that is behind. It may be asked while something is measured.
	Roles
	// Settings asks every server for its settings too: about five commands to each.
	Settings
)

// ErrNoPrimary says that no member takes writes at the moment.
var ErrNoPrimary = errors.New("there is no primary")

// Cluster is a running cluster. Its methods may be called from several goroutines.
type Cluster interface {
	// Start starts everything and returns when clients can use it: primaries are elected or promoted, a majority
	// commit has been proven, shards are added and the collection is sharded. Its error has the last status.
	Start(ctx context.Context) error
	// Watch does what the cluster needs while it runs, until ctx ends: it promotes standbys where the engine does not
	// elect, and tells events about roles. The supervisor calls it in a goroutine of its own after Start.
	Watch(ctx context.Context)
	// URIs are the addresses for clients with credentials: the one to use by default under "", and others by
	// durability where each has servers of its own.
	URIs() map[string]string
	// Node returns a server by its name. Nodes are all, in the order of the layout.
	Node(name string) (engine.Node, bool)
	Nodes() []engine.Node
	// Describe says how the members are.
	Describe(ctx context.Context, depth Depth) []record.LabMember
	// Primary is the name of the member that takes writes now, of the set that is named, or of the only one. The error is
	// an [ErrNoPrimary] while there is none, which an election may change.
	Primary(ctx context.Context, set string) (string, error)
	// StepDown makes the primary hand over to another member in a planned way.
	StepDown(ctx context.Context, set string) error
	// Return starts a member that was killed, stopped or moved to another host and lets it join again as what it can
	// be; a former primary gives up what was not replicated, and that is told as an event and kept (see docs/lab.md). It
	// gives up by itself when nothing comes of it, so ctx needs no deadline.
	Return(ctx context.Context, member string) error
	// Sharding is how the collection is spread, nil if nothing is sharded.
	Sharding(ctx context.Context) (*record.LabSharding, error)
	// Stop ends all servers: cleanly if there is time, and at once when ctx ends.
	Stop(ctx context.Context) error
}
