package topology

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// maxDocumentDBMembers is as many as a replica set of MongoDB has votes.
const maxDocumentDBMembers = 7

// The times after which a primary is given up, as MongoDB has them.
const (
	electDefault = 10 * time.Second // electionTimeoutMillis of a replica set
	electFast    = 2 * time.Second  // short enough for a drill, long enough for a busy machine
)

// pgSet is the name of the only set of members there is: members have the names that they have with mongod.
const pgSet = mongoSet

// planDocumentDB plans members with PostgreSQL and one gateway for each durability level on a host of their own.
func planDocumentDB(asked spec.Lab) (Layout, error) {
	if err := checkDocumentDB(asked); err != nil {
		return Layout{}, err
	}
	n := documentDBMembers(asked)
	hosts := int(asked.Hosts.Count)
	if hosts == 0 {
		hosts = n
	}
	limits := host.Limits{Cores: asked.Hosts.Cores, Memory: int64(asked.Hosts.Memory), Network: int64(asked.Hosts.Network)}
	var l Layout
	for i := range hosts {
		l.Hosts = append(l.Hosts, HostPlan{Name: "host" + strconv.Itoa(i+1), Role: "member", Limits: limits})
	}
	if r := asked.Hosts.Router; r != nil {
		limits.Cores, limits.Memory = r.Cores, int64(r.Memory)
	}
	l.Hosts = append(l.Hosts, HostPlan{Name: "gateway1", Role: "gateway", Limits: limits})
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

// documentDBNotes say where documentdb is not what a reader who knows MongoDB expects.
func documentDBNotes(members, waits int) []string {
	notes := []string{"gateways do not read write concerns: the address decides about durability"}
	if members == 1 {
		return notes
	}
	if waits > 0 {
		notes = append(notes, fmt.Sprintf("writes of the level w%d wait for the primary and %d of %d standbys, whoever is away; there is no level that waits for a majority", waits, waits-1, members-1))
	} else {
		notes = append(notes, fmt.Sprintf("a majority is the primary and %d of %d standbys; with fewer alive, writes of a majority wait, and others go on", quorum(members), members-1))
	}
	notes = append(notes,
		"a standby is promoted while a majority of members is alive, as MongoDB elects; plimsoll decides it, not the members among themselves")
	if members == 2 {
		notes = append(notes, "with two members the loss of either leaves no majority, so nothing is promoted, as in MongoDB")
	}
	return notes
}

// checkDocumentDB refuses what PostgreSQL and its gateways cannot form.
func checkDocumentDB(asked spec.Lab) error {
	t := asked.Topology
	var errs []error
	refuse := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	switch t.Kind {
	case "", spec.LabStandalone, spec.LabReplicaSet:
	case spec.LabSharded:
		refuse("topology.kind: documentdb is not offered sharded; use a replica-set, or the engine mongod")
	default:
		refuse("topology.kind: %q is not known for documentdb: say standalone or replica-set", t.Kind)
	}
	if n := documentDBMembers(asked); n < 1 || n > maxDocumentDBMembers {
		refuse("topology.members: %d is not between 1 and %d", n, maxDocumentDBMembers)
	}
	if t.Arbiter {
		refuse("topology.arbiter: documentdb has none: plimsoll counts the members itself; use an odd number of members, or the engine mongod")
	}
	for _, p := range t.Priorities {
		if p != 1 {
			refuse("topology.priorities: documentdb promotes the standby with the most data and has no priorities; leave them out, or use the engine mongod")
			break
		}
	}
	if t.Collection != nil || t.Shards != 0 || t.ConfigServers != 0 || t.Routers != 0 {
		refuse("topology: shards, config servers, routers and a sharded collection are not offered by documentdb; use the engine mongod")
	}
	if _, _, err := electionTimes(asked); err != nil {
		errs = append(errs, err)
	}
	if asked.Engine.Binary != "" || len(asked.Engine.Args) > 0 {
		refuse("engine: binary and args are for the engine mongod; documentdb takes parameters")
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

// electionTimes are after what time without an answer the primary is given up, and how often members are asked.
func electionTimes(asked spec.Lab) (timeout, heartbeat time.Duration, err error) {
	timeout = electDefault
	switch asked.Topology.Election {
	case "", "elect-default":
	case "elect-fast":
		timeout = electFast
	default:
		return 0, 0, fmt.Errorf("topology.election: %q is not known: say elect-default or elect-fast", asked.Topology.Election)
	}
	for name, value := range asked.Topology.Settings {
		ms, err := strconv.Atoi(value)
		switch {
		case name != "electionTimeoutMillis" && name != "heartbeatIntervalMillis":
			return 0, 0, fmt.Errorf("topology.settings.%s: documentdb has electionTimeoutMillis and heartbeatIntervalMillis only; for others use the engine mongod", name)
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
	if heartbeat == 0 { // MongoDB asks five times within its time-out
		heartbeat = min(timeout/5, 2*time.Second)
	}
	return timeout, heartbeat, nil
}
