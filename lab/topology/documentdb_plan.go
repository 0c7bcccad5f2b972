package topology

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// maxDocumentDBMembers is the maximum of voting members in a replica set of MongoDB.
const maxDocumentDBMembers = 7

// The times without an answer after which failover starts.
const (
	electDefault = 10 * time.Second // electionTimeoutMillis of a replica set
	electFast    = 2 * time.Second  // short enough for a drill, long enough for a busy machine
)

// pgSet is the name of the only set, so that members have the same names as with mongod.
const pgSet = mongoSet

// planDocumentDB plans the PostgreSQL members, and one gateway for each durability level on a separate host.
func planDocumentDB(asked spec.Lab) (Layout, error) {
	if err := checkDocumentDB(asked); err != nil {
		return Layout{}, err
	}
	n := documentDBMembers(asked)
	hosts := int(asked.Hosts.Count)
	if hosts == 0 {
		hosts = n
	}
	var l Layout
	for i := range hosts {
		l.Hosts = append(l.Hosts, HostPlan{Name: "host" + strconv.Itoa(i+1), Role: "member",
			Limits: hostLimits(asked.Hosts, nil)})
	}
	l.Hosts = append(l.Hosts, HostPlan{Name: "gateway1", Role: "gateway", Limits: hostLimits(asked.Hosts, asked.Hosts.Router)})
	for i := range n {
		l.Members = append(l.Members, MemberPlan{Name: memberName(pgSet, i), Kind: "postgres", Set: pgSet,
			Host: l.Hosts[i%hosts].Name, Role: "member", Volume: true, Priority: 1})
	}
	for _, g := range gatewayLevels(n, acknowledgements(asked)) {
		l.Members = append(l.Members, MemberPlan{Name: "gateway-" + g.name, Kind: "gateway", Set: pgSet,
			Host: "gateway1", Role: "gateway", Durability: g.name})
	}
	l.Notes = documentDBNotes(n, acknowledgements(asked))
	return l, nil
}

// documentDBNotes lists the differences from MongoDB.
func documentDBNotes(members, waits int) []string {
	notes := []string{"gateways ignore write concerns: the address decides the durability level"}
	if members == 1 {
		return notes
	}
	if waits > 0 {
		notes = append(notes, fmt.Sprintf("a write at the level w%d waits for the primary and %d of %d standbys; "+
			"this lab has no level that waits for a majority", waits, waits-1, members-1))
	} else {
		notes = append(notes, fmt.Sprintf("a majority is the primary and %d of %d standbys; if fewer are alive, "+
			"writes at the level majority wait, and writes at other levels continue", quorum(members), members-1))
	}
	notes = append(notes, "failover needs a majority of members, as in MongoDB; the supervisor promotes a standby, "+
		"the members hold no election")
	if members == 2 {
		notes = append(notes, "with two members there is no failover, because the loss of either leaves no majority")
	}
	return notes
}

func checkDocumentDB(asked spec.Lab) error {
	t := asked.Topology
	var errs []error
	refuse := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	switch t.Kind {
	case "", spec.LabStandalone, spec.LabReplicaSet:
	case spec.LabSharded:
		refuse("topology.kind: documentdb cannot be sharded; use replica-set, or the engine mongod")
	default:
		refuse("topology.kind: unknown kind %q; use standalone or replica-set with documentdb", t.Kind)
	}
	if n := documentDBMembers(asked); n < 1 || n > maxDocumentDBMembers {
		refuse("topology.members: %d is not between 1 and %d", n, maxDocumentDBMembers)
	}
	if t.Arbiter {
		refuse("topology.arbiter: documentdb has no arbiters; use an odd number of members, or the engine mongod")
	}
	if slices.ContainsFunc(t.Priorities, func(p float64) bool { return p != 1 }) {
		refuse("topology.priorities: documentdb has no priorities and promotes the standby with the most data; " +
			"leave them out, or use the engine mongod")
	}
	if t.Collection != nil || t.Shards != 0 || t.ConfigServers != 0 || t.Routers != 0 {
		refuse("topology: documentdb has no shards, config servers, routers or sharded collection; use the engine mongod")
	}
	if _, _, err := electionTimes(asked); err != nil {
		errs = append(errs, err)
	}
	if asked.Engine.Binary != "" || len(asked.Engine.Args) > 0 {
		refuse("engine: binary and args are options of the engine mongod; documentdb has parameters")
	}
	if err := engine.CheckPostgresParameters(asked.Engine.Parameters); err != nil {
		refuse("engine.parameters: %w", err)
	}
	return errors.Join(errs...)
}

func documentDBMembers(asked spec.Lab) int {
	switch {
	case asked.Topology.Kind == spec.LabStandalone:
		return 1
	case asked.Topology.Members == 0 && asked.Topology.Kind == spec.LabReplicaSet:
		return 3
	}
	return max(1, int(asked.Topology.Members))
}

// electionTimes returns the time without an answer after which failover starts, and the interval of probes.
func electionTimes(asked spec.Lab) (timeout, heartbeat time.Duration, err error) {
	timeout = electDefault
	switch asked.Topology.Election {
	case "", "elect-default":
	case "elect-fast":
		timeout = electFast
	default:
		return 0, 0, unknownElection(asked.Topology)
	}
	for name, value := range asked.Topology.Settings {
		ms, err := strconv.Atoi(value)
		switch {
		case name != "electionTimeoutMillis" && name != "heartbeatIntervalMillis":
			return 0, 0, fmt.Errorf("topology.settings.%s: documentdb has only the settings electionTimeoutMillis "+
				"and heartbeatIntervalMillis; use the engine mongod for others", name)
		case err != nil || ms < 100 || ms > 3_600_000:
			return 0, 0, fmt.Errorf("topology.settings.%s: %q is not a number of milliseconds between 100 and 3600000", name, value)
		case name == "electionTimeoutMillis":
			timeout = time.Duration(ms) * time.Millisecond
		default:
			heartbeat = time.Duration(ms) * time.Millisecond
		}
	}
	if asked.Availability.PromoteAfter > 0 {
		timeout = time.Duration(asked.Availability.PromoteAfter)
	}
	if heartbeat == 0 { // MongoDB sends five within its timeout
		heartbeat = min(timeout/5, 2*time.Second)
	}
	return timeout, heartbeat, nil
}

func unknownElection(t spec.Topology) error {
	return fmt.Errorf("topology.election: unknown preset %q; use elect-default or elect-fast", t.Election)
}
