package topology

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// maxDocumentDBMembers is the maximum of voting members in a replica set of MongoDB.
const maxDocumentDBMembers = 7

// pgSet is the name of the only set, so that members have the same names as with mongod.
const pgSet = mongoSet

// etcdMembers is the number of members of etcd: the lease survives the loss of one.
const etcdMembers = 3

// planDocumentDB plans the PostgreSQL members, the members of etcd, and one gateway for each durability level on a
// separate host.
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
	for i := range n {
		l.Members = append(l.Members, MemberPlan{Name: memberName(pgSet, i), Kind: "postgres", Set: pgSet,
			Host: l.Hosts[i%hosts].Name, Role: "member", Volume: true, Priority: 1})
	}
	if n > 1 {
		if hosts == 2 { // a third failure domain, for a majority of etcd
			l.Hosts = append(l.Hosts, HostPlan{Name: "witness1", Role: "witness"})
		}
		for i := range etcdMembers {
			l.Members = append(l.Members, MemberPlan{Name: "etcd-" + strconv.Itoa(i+1), Kind: KindEtcd, Role: "etcd",
				Host: l.Hosts[i%len(l.Hosts)].Name})
		}
	}
	l.Hosts = append(l.Hosts, HostPlan{Name: "gateway1", Role: "gateway", Limits: hostLimits(asked.Hosts, asked.Hosts.Router)})
	for _, g := range gatewayLevels(n, acknowledgements(asked)) {
		l.Members = append(l.Members, MemberPlan{Name: "gateway-" + g.name, Kind: "gateway", Set: pgSet,
			Host: "gateway1", Role: "gateway", Durability: g.name})
	}
	l.Notes = documentDBNotes(asked, n, hosts)
	if n > 1 {
		settings, err := patroniSettings(asked)
		l.Failover = electionText(settings)
		return l, err
	}
	return l, nil
}

// documentDBNotes lists the differences from MongoDB.
func documentDBNotes(asked spec.Lab, members, hosts int) []string {
	notes := []string{"gateways ignore write concerns: the address decides the durability level"}
	if members == 1 {
		return notes
	}
	level, k := levelMajority, syncStandbys(asked)
	if n := acknowledgements(asked); n > 0 {
		level = countLevel(n)
	}
	notes = append(notes, fmt.Sprintf("a write at the level %s waits for the primary and %d of %d standbys (Patroni's "+
		"synchronous_mode quorum); when standbys are away, Patroni lowers that number down to 1, and promotes only a "+
		"standby that has all these writes", level, k, members-1),
		fmt.Sprintf("FerretDB has no time limit for answers of PostgreSQL, so the lab restarts a gateway that does not answer "+
			"within %v after a promotion; the outage includes this time", gatewayLimit))
	if asked.Hosts.Mode == host.Isolated {
		notes = append(notes, fmt.Sprintf("a connection between hosts ends after %d retransmissions (net.ipv4.tcp_retries2), "+
			"about 13 s", engine.Retransmissions))
	}
	switch hosts {
	case 1:
		notes = append(notes, "all members of etcd are on one host")
	case 2:
		notes = append(notes, "a third host, witness1, has only a member of etcd: two hosts have no majority without the other")
	}
	return notes
}

// checkDocumentDB checks what [spec.Lab.Validate] does not know.
func checkDocumentDB(asked spec.Lab) error {
	_, err := patroniSettings(asked)
	if n := documentDBMembers(asked); n > maxDocumentDBMembers {
		err = errors.Join(err, fmt.Errorf("topology.members: %d is not between 1 and %d", n, maxDocumentDBMembers))
	}
	if refused := engine.CheckPostgresParameters(asked.Engine.Parameters); refused != nil {
		err = errors.Join(err, fmt.Errorf("engine.parameters: %w", refused))
	}
	return err
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
