package topology

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The names of replica sets.
const (
	mongoSet    = "rs0"
	mongoConfig = "config"
)

// memberName is the name of a member with data, for every engine and topology: that of a standalone as well, so that a
// specification means the same server whatever it is started as.
func memberName(set string, index int) string { return set + "-" + strconv.Itoa(index+1) }

// maxVotes is how many members of a replica set may vote (manual: "Replica Set Members").
const maxVotes = 7

// mongoPlanner places members on hosts.
type mongoPlanner struct {
	layout Layout
	data   []string                  // the hosts that carry members
	load   map[string]int            // how many members stand on a host
	sets   map[string]map[string]int // … of one set
}

// planMongo plans a standalone mongod, a replica set or a sharded cluster.
func planMongo(asked spec.Lab) (Layout, error) {
	if err := checkMongo(asked); err != nil {
		return Layout{}, err
	}
	t := asked.Topology
	p := &mongoPlanner{load: map[string]int{}, sets: map[string]map[string]int{}}
	hosts := int(asked.Hosts.Count)
	if hosts == 0 {
		hosts = int(t.Members)
		if t.Arbiter {
			hosts++
		}
		hosts = max(1, hosts) // a standalone needs no number of members
	}
	for i := range hosts {
		p.data = append(p.data, "host"+strconv.Itoa(i+1))
		p.addHost(p.data[i], "member", asked, nil)
	}
	switch t.Kind {
	case spec.LabStandalone:
		p.place(MemberPlan{Name: memberName(mongoSet, 0), Kind: "mongod", Role: "member", Volume: true}, 0)
	case spec.LabReplicaSet:
		p.placeSet(mongoSet, t, 0)
	case spec.LabSharded:
		for s := range int(t.Shards) {
			p.placeSet("shard"+strconv.Itoa(s+1), t, s)
		}
		p.placeHelpers(asked)
	}
	p.layout.Notes = append(p.layout.Notes, p.notes(asked)...)
	return p.layout, nil
}

func (p *mongoPlanner) addHost(name, role string, asked spec.Lab, own *spec.HostLimits) {
	p.layout.Hosts = append(p.layout.Hosts, HostPlan{Name: name, Role: role, Limits: hostLimits(asked.Hosts, own)})
}

// placeSet places the members of a replica set, the arbiter last. turn shifts the first choice among equal hosts, so
// that the members that were named first do not all stand on the first host.
func (p *mongoPlanner) placeSet(set string, t spec.Topology, turn int) {
	for m := range int(t.Members) {
		priority := 1.0
		switch {
		case len(t.Priorities) > 0:
			priority = t.Priorities[m]
		case m >= dataVotes(t):
			priority = 0 // who has no vote cannot become primary
		}
		p.place(MemberPlan{Name: memberName(set, m), Kind: "mongod", Set: set, Role: "member",
			Volume: true, Priority: priority}, turn+m)
	}
	if t.Arbiter {
		p.place(MemberPlan{Name: set + "-arbiter", Kind: "mongod", Set: set, Role: "arbiter"}, turn+int(t.Members))
	}
}

// dataVotes is how many of the members with data have a vote.
func dataVotes(t spec.Topology) int {
	votes := maxVotes
	if t.Arbiter {
		votes--
	}
	return min(votes, int(t.Members))
}

// place puts a member where the fewest of its own set stand, then the fewest of all.
func (p *mongoPlanner) place(m MemberPlan, turn int) {
	of := p.sets[m.Set]
	if of == nil {
		of = map[string]int{}
		p.sets[m.Set] = of
	}
	best := p.data[turn%len(p.data)]
	for i := range p.data {
		h := p.data[(turn+i)%len(p.data)]
		if of[h] < of[best] || of[h] == of[best] && p.load[h] < p.load[best] {
			best = h
		}
	}
	of[best]++
	p.load[best]++
	m.Host = best
	p.layout.Members = append(p.layout.Members, m)
}

// placeHelpers gives each config server and each router a host of its own.
func (p *mongoPlanner) placeHelpers(asked spec.Lab) {
	for i := range int(asked.Topology.ConfigServers) {
		n := strconv.Itoa(i + 1)
		p.addHost("config"+n, "config", asked, asked.Hosts.Config)
		p.layout.Members = append(p.layout.Members, MemberPlan{Name: "config-" + n, Kind: "mongod", Set: mongoConfig,
			Host: "config" + n, Role: "config", Volume: true, Priority: 1})
	}
	for i := range int(asked.Topology.Routers) {
		n := strconv.Itoa(i + 1)
		p.addHost("router"+n, "router", asked, asked.Hosts.Router)
		p.layout.Members = append(p.layout.Members, MemberPlan{Name: "router-" + n, Kind: "mongos",
			Host: "router" + n, Role: "router"})
	}
}

// notes say what a reader of the specification would not expect.
func (p *mongoPlanner) notes(asked spec.Lab) []string {
	t := asked.Topology
	var notes []string
	say := func(format string, a ...any) { notes = append(notes, fmt.Sprintf(format, a...)) }
	if room := mongoRoom(asked); room.Volume > 0 {
		say("storage.size: of each volume of %s mongod itself takes %s: %s. The journal grows until the next checkpoint; there is one every %s",
			figure.Bytes(room.Volume), figure.Bytes(room.Own()), room, figure.Duration(room.Checkpoint))
	}
	if crowded := p.crowded(); len(crowded) > 0 {
		say("hosts.count: %d hosts carry %d members of a set, so the loss of %s takes several members of one set; a majority may be gone with it",
			len(p.data), p.membersPerSet(t), crowded[0])
	}
	if t.Kind == spec.LabStandalone {
		return append(notes, p.cacheNotes(asked)...)
	}
	if t.Acknowledge > 0 {
		say("topology.acknowledge: %d: mongod waits for as many members as each write says (w), so the lab has nothing to set", t.Acknowledge)
	}
	voting := dataVotes(t)
	if t.Arbiter {
		voting++
		if dataVotes(t) <= voting/2+1 && t.Members > 1 {
			say("topology.arbiter: the members with data are not more than a majority of the votes: without one of them, w: majority may wait for ever; MongoDB's default write concern is w: 1 here")
		}
	}
	if voting%2 == 0 {
		say("topology.members: %d voting members survive no more failures than %d: a majority of both is missing after %d", voting, voting-1, voting/2)
	}
	if int(t.Members) > dataVotes(t) {
		say("topology.members: %d members of each set have neither vote nor priority, because only %d may vote", int(t.Members)-dataVotes(t), maxVotes)
	}
	if t.Kind == spec.LabSharded {
		if t.ConfigServers%2 == 0 {
			say("topology.config_servers: %d config servers survive no more failures than %d", t.ConfigServers, t.ConfigServers-1)
		}
		if len(asked.Engine.Parameters) > 0 || len(asked.Engine.Args) > 0 {
			say("engine.parameters and engine.args are for the members of the shards; config servers and routers have their own (engine.config, engine.router)")
		}
		say("the balancer is off once the collection is spread, so that no chunk moves while something is measured; sh.startBalancer() switches it on")
	}
	return append(notes, p.cacheNotes(asked)...)
}

// mongoRoom is what the members of a lab themselves keep on their volumes.
func mongoRoom(asked spec.Lab) engine.MongoRoom {
	return engine.RoomOfMongo(int64(asked.Storage.Size), asked.Topology.Kind != spec.LabStandalone, asked.Engine.Args, asked.Engine.Parameters)
}

// CheckData refuses data of clients, in bytes, for which the volumes of a specification are too small, as far as that is known:
// shards share them evenly.
func CheckData(asked spec.Lab, data int64) error {
	if asked.Engine.Name != engine.Mongod {
		return nil
	}
	if asked.Topology.Kind == spec.LabSharded {
		data /= max(1, int64(asked.Topology.Shards))
	}
	return mongoRoom(asked).CheckData(data)
}

// cacheNotes say how the memory is shared where nobody said so.
func (p *mongoPlanner) cacheNotes(asked spec.Lab) []string {
	data := 0
	for _, m := range p.layout.Members {
		if m.Role == "member" {
			data++
		}
	}
	if asked.Engine.Cache > 0 || data < 2 {
		return nil
	}
	if asked.Hosts.Memory == 0 {
		return []string{fmt.Sprintf("engine.cache: each of the %d members with data takes half of this machine's memory for its cache, as mongod does alone; say a size", data)}
	}
	if sharing := slices.Max(sharedBy(p.layout)); sharing > 1 {
		return []string{fmt.Sprintf("engine.cache: up to %d members share the memory of a host, and each has the cache of its share", sharing)}
	}
	return nil
}

// sharedBy counts the members with data of each host that has any; 0 is among them.
func sharedBy(l Layout) []int {
	counts := []int{0}
	for _, h := range l.Hosts {
		counts = append(counts, sharing(l, h.Name))
	}
	return counts
}

// sharing is how many members with data stand on a host.
func sharing(l Layout, host string) int {
	n := 0
	for _, m := range l.Members {
		if m.Host == host && m.Role == "member" {
			n++
		}
	}
	return n
}

// crowded are the hosts on which several members of one set stand, in order.
func (p *mongoPlanner) crowded() []string {
	var names []string
	for _, h := range p.data {
		for _, of := range p.sets {
			if of[h] > 1 && !slices.Contains(names, h) {
				names = append(names, h)
			}
		}
	}
	return names
}

func (p *mongoPlanner) membersPerSet(t spec.Topology) int {
	if t.Arbiter {
		return int(t.Members) + 1
	}
	return int(t.Members)
}
