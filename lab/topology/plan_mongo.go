package topology

import (
	"errors"
	"fmt"
	"maps"
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

// memberName is the name of a member with data, for every engine and topology, so that a name in a specification means
// the same server in all of them.
func memberName(set string, index int) string { return set + "-" + strconv.Itoa(index+1) }

// mongoPlanner places members on hosts.
type mongoPlanner struct {
	layout Layout
	data   []string                  // names of the hosts for members
	load   map[string]int            // number of members by host
	sets   map[string]map[string]int // the same by set
}

// planMongo plans a standalone mongod, a replica set or a sharded cluster.
func planMongo(asked spec.Lab) (Layout, error) {
	if err := checkMongo(asked); err != nil {
		return Layout{}, err
	}
	t := asked.Topology
	p := &mongoPlanner{load: map[string]int{}, sets: map[string]map[string]int{}}
	for i := range int(asked.Hosts.Count) {
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

// checkMongo checks what depends on MongoDB's releases and space; [spec.Lab.Validate] has checked the rest.
func checkMongo(asked spec.Lab) error {
	return errors.Join(engine.CheckMongoCache(int64(asked.Engine.Cache)), checkMongoVersion(asked), checkMongoArgs(asked),
		mongoRoom(asked).Check())
}

func checkMongoVersion(asked spec.Lab) error {
	if asked.Engine.Version == "" {
		return nil
	}
	v, err := engine.ParseMongoVersion(asked.Engine.Version)
	if err != nil {
		return fmt.Errorf("engine.version: %w", err)
	}
	if !v.AtLeast(4, 4) {
		return fmt.Errorf("engine.version: %s is too old: labs need 4.4 or later", asked.Engine.Version)
	}
	return checkRenamed(asked, v)
}

// checkMongoArgs refuses arguments of any role that the lab sets itself.
func checkMongoArgs(asked spec.Lab) error {
	var errs []error
	roles := asked.Engine.Roles()
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		errs = append(errs, engine.CheckMongodArgs(spec.EngineKey(role, "args"), roles[role].Args))
	}
	return errors.Join(errs...)
}

func (p *mongoPlanner) addHost(name, role string, asked spec.Lab, own *spec.HostLimits) {
	p.layout.Hosts = append(p.layout.Hosts, HostPlan{Name: name, Role: role, Limits: hostLimits(asked.Hosts, own)})
}

// placeSet places the members of a replica set, the arbiter last. turn shifts the first choice among equal hosts, so
// that the first members of all sets are not on the first host.
func (p *mongoPlanner) placeSet(set string, t spec.Topology, turn int) {
	for m := range int(t.Members) {
		priority := 1.0
		switch {
		case len(t.Priorities) > 0:
			priority = t.Priorities[m]
		case m >= t.DataVotes():
			priority = 0 // a member without a vote cannot become primary
		}
		p.place(MemberPlan{Name: memberName(set, m), Kind: "mongod", Set: set, Role: "member",
			Volume: true, Priority: priority}, turn+m)
	}
	if t.Arbiter {
		p.place(MemberPlan{Name: set + "-arbiter", Kind: "mongod", Set: set, Role: "arbiter"}, turn+int(t.Members))
	}
}

// place puts a member on the host with the fewest members of its set, then the fewest members.
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

// placeHelpers gives each config server and each router its own host.
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

// notes returns the notes of [Layout].
func (p *mongoPlanner) notes(asked spec.Lab) []string {
	t := asked.Topology
	var notes []string
	say := func(format string, a ...any) { notes = append(notes, fmt.Sprintf(format, a...)) }
	if room := mongoRoom(asked); room.Volume > 0 {
		say("storage.size: mongod itself uses %s of each volume of %s: %s. The journal grows until the next checkpoint, every %s",
			figure.Bytes(room.Own()), figure.Bytes(room.Volume), room, figure.Duration(room.Checkpoint))
	}
	if crowded := p.crowded(); len(crowded) > 0 {
		perSet := int(t.Members)
		if t.Arbiter {
			perSet++
		}
		say("hosts.count: %d hosts have %d members of a set, so the loss of %s takes several members of one set, "+
			"possibly the majority", len(p.data), perSet, crowded[0])
	}
	if t.Kind == spec.LabStandalone {
		return append(notes, p.cacheNotes(asked)...)
	}
	if t.Acknowledge > 0 {
		say("topology.acknowledge: %d has no effect with mongod, because each write has its own write concern (w)", t.Acknowledge)
	}
	voting := t.DataVotes()
	if t.Arbiter {
		voting++
		if t.DataVotes() <= voting/2+1 && t.Members > 1 {
			say("topology.arbiter: if one member with data is lost, w: majority may wait forever, because the others with data " +
				"are not a majority of the votes; MongoDB's default write concern is w: 1 here")
		}
	}
	if voting%2 == 0 {
		say("topology.members: %d voting members tolerate only as many failures as %d: the majority of both is lost after %d failures",
			voting, voting-1, voting/2)
	}
	if int(t.Members) > t.DataVotes() {
		say("topology.members: %d members of each set have neither vote nor priority, because only %d may vote",
			int(t.Members)-t.DataVotes(), spec.MaxVotes)
	}
	if t.Kind == spec.LabSharded {
		if t.ConfigServers%2 == 0 {
			say("topology.config_servers: %d config servers tolerate only as many failures as %d", t.ConfigServers, t.ConfigServers-1)
		}
		if len(asked.Engine.Parameters) > 0 || len(asked.Engine.Args) > 0 {
			say("engine.parameters and engine.args apply to the members of the shards; config servers and routers have " +
				"engine.config and engine.router")
		}
		say("the balancer is off after the collection is sharded, so that no chunk moves during a measurement; " +
			"sh.startBalancer() switches it on")
	}
	return append(notes, p.cacheNotes(asked)...)
}

// mongoRoom returns the space that the members of a lab themselves use on their volumes.
func mongoRoom(asked spec.Lab) engine.MongoRoom {
	return engine.RoomOfMongo(int64(asked.Storage.Size), asked.Topology.Kind != spec.LabStandalone, asked.Engine.Args,
		asked.Engine.Parameters)
}

// CheckData returns an error if the volumes of a specification are known to be too small for the given bytes of user
// data, distributed evenly over the shards.
func CheckData(asked spec.Lab, data int64) error {
	if asked.Engine.Name != engine.Mongod {
		return nil
	}
	if asked.Topology.Kind == spec.LabSharded {
		data /= max(1, int64(asked.Topology.Shards))
	}
	return mongoRoom(asked).CheckData(data)
}

// cacheNotes explains the cache sizes of a specification without engine.cache.
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
		return []string{fmt.Sprintf("engine.cache: each of the %d members with data uses mongod's default, half of this machine's "+
			"memory; set a size", data)}
	}
	most := 0
	for _, h := range p.layout.Hosts {
		most = max(most, sharing(p.layout, h.Name))
	}
	if most > 1 {
		return []string{fmt.Sprintf("engine.cache: up to %d members share the memory of a host, so each gets the cache for its share", most)}
	}
	return nil
}

// sharing returns the number of members with data on a host.
func sharing(l Layout, host string) int {
	n := 0
	for _, m := range l.Members {
		if m.Host == host && m.Role == "member" {
			n++
		}
	}
	return n
}

// crowded returns the hosts with several members of one set.
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
