// Package topology builds clusters from servers: replica sets with elections, sharded clusters, and PostgreSQL members
// with standbys, promotion and gateways.
//
// It decides which member runs on which host, the order of starts, and when the cluster is usable. Every wait has a
// limit. Other packages make hosts, volumes and single servers; package lab decides which faults are injected.
package topology

import (
	"context"
	"errors"
	"slices"

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
	Volume     bool    // its data are on a volume of the storage policy
	Priority   float64 // of members of a replica set
	Durability string  // of gateways
}

// Layout lists the hosts and members of a specification, before any of them exists.
type Layout struct {
	Hosts   []HostPlan
	Members []MemberPlan
	Notes   []string // differences from what a reader of the specification would expect
	// Failover says what decides which member is the primary; empty if the servers elect it by themselves.
	Failover string
}

// Site is the part of a lab that a cluster uses.
type Site struct {
	Spec    spec.Lab // with all defaults
	Layout  Layout
	Home    string // where engines are installed
	Dir     string // of the lab; secrets go to Dir/secrets, readable by the owner alone
	Journal *journal.Journal
	Hosts   map[string]host.Host
	// Volume makes, or finds, the storage of a member and returns its directory.
	Volume func(ctx context.Context, member string) (dir string, err error)
	// Clients are the address and the credentials that a person chose for a cluster of one member.
	Clients Clients
	// Event records an event; the kinds are those of [record.LabEvent]. It returns at once.
	Event func(kind, text string, data map[string]string)
}

// Clients says how clients reach a cluster of one member. What is absent, the cluster chooses.
type Clients struct {
	Port int
	// Durability is the level whose gateway has the port; "durable" if absent.
	Durability string
	// User and Password are those of a lab with authentication.
	User, Password string
}

// Depth limits the queries to servers for a description.
type Depth int

// The depths. Each includes all before it.
const (
	// Known sends no query and returns at once.
	Known Depth = iota
	// Roles queries roles, terms and lag: one command to each member, one to each set, and one more for each member
	// with replication lag. That is little enough for use during a measurement.
	Roles
	// Settings queries the settings of every server: about five commands to each.
	Settings
)

// ErrNoPrimary is returned while no member accepts writes.
var ErrNoPrimary = errors.New("there is no primary")

// Cluster is a running cluster. Its methods may be called from several goroutines.
type Cluster interface {
	// Start starts all servers and returns when clients can use the cluster: every set has a primary, a write was
	// committed by a majority, shards are added and the collection is sharded. Its error includes the last status.
	Start(ctx context.Context) error
	// Watch runs until ctx ends. It promotes standbys of an engine without elections, and records events about roles.
	// The supervisor calls it in its own goroutine after Start.
	Watch(ctx context.Context)
	// URIs returns the addresses for clients, with credentials. The default address has the key "". If each durability
	// level has its own servers, their addresses have the names of the levels as keys.
	URIs() map[string]string
	// Node returns a server by its name. Nodes returns all servers in the order of the layout.
	Node(name string) (engine.Node, bool)
	Nodes() []engine.Node
	Describe(ctx context.Context, depth Depth) []record.LabMember
	// Primary returns the name of the primary of a set. The set may be empty if the cluster has only one. The error is
	// an [ErrNoPrimary] while the set has no primary.
	Primary(ctx context.Context, set string) (string, error)
	// StepDown makes the primary hand over to another member.
	StepDown(ctx context.Context, set string) error
	// Return starts a member that was killed, stopped or moved to another host, and waits until it has joined its set
	// again. Unreplicated writes of a former primary are rolled back; they are kept in files and an event names them
	// (see docs/lab.md). Return has its own time limit, so ctx needs no deadline.
	Return(ctx context.Context, member string) error
	// Sharding returns the distribution of the collection, nil if no collection is sharded.
	Sharding(ctx context.Context) (*record.LabSharding, error)
	// Stop shuts all servers down cleanly, and kills them when ctx ends.
	Stop(ctx context.Context) error
}

// nodeNamed returns a server by its name.
func nodeNamed(all []engine.Node, name string) (engine.Node, bool) {
	if i := slices.IndexFunc(all, func(n engine.Node) bool { return n.Name() == name }); i >= 0 {
		return all[i], true
	}
	return nil, false
}

// describeNode describes a server without its role in the cluster.
func describeNode(ctx context.Context, n engine.Node, plan MemberPlan, depth Depth) record.LabMember {
	d := record.LabMember{Name: n.Name(), Kind: n.Kind(), Set: plan.Set, Host: n.Host().Name(), Address: n.Address(),
		State: nodeState(n), Logs: n.Logs()}
	if depth > Known { // the search for all children is the most expensive part of a description
		d.PIDs = n.Pids()
	}
	if depth == Settings && d.State == "running" {
		limit, cancel := context.WithTimeout(ctx, describeTimeout(depth))
		defer cancel()
		d.Settings, _ = n.Settings(limit) // none if it does not answer
	}
	return d
}

// nodeState returns a state of [record.LabMember].
func nodeState(n engine.Node) string {
	status := n.Status()
	paused, ok := n.(interface{ Paused() bool })
	switch {
	case len(status.Processes) == 0:
		return "stopped"
	case !status.Running && status.Processes[0].Exit == "ended": // with status 0
		return "stopped"
	case !status.Running:
		return "dead"
	case ok && paused.Paused() || n.Host().State() == host.Paused:
		return "paused"
	}
	return "running"
}
