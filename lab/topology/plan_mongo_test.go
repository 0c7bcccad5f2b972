package topology

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func mongoSpec(t spec.Topology) spec.Lab {
	s := spec.Lab{Name: "test", Engine: spec.Engine{Name: spec.LabMongod}, Topology: t}
	s.Defaults()
	return s
}

// planText is a layout for people: each member with its host, priority and what it keeps.
func planText(l Layout) string {
	var b strings.Builder
	for _, m := range l.Members {
		fmt.Fprintf(&b, "%s %s %s on %s", m.Name, m.Kind, m.Role, m.Host)
		if m.Priority != 1 && m.Role == "member" {
			fmt.Fprintf(&b, " priority %v", m.Priority)
		}
		if m.Volume {
			b.WriteString(" with a volume")
		}
		b.WriteString("\n")
	}
	for _, n := range l.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}

func TestPlanMongo(t *testing.T) {
	cacheNote := func(n int) string {
		return fmt.Sprintf("note: engine.cache: each of the %d members with data uses mongod's default, half of this machine's memory; set a size\n", n)
	}
	for _, c := range []struct {
		name string
		spec spec.Lab
		want string
	}{
		{"standalone", mongoSpec(spec.Topology{}), "rs0-1 mongod member on host1 priority 0 with a volume\n"},
		{"three", mongoSpec(spec.Topology{Members: 3}), "rs0-1 mongod member on host1 with a volume\nrs0-2 mongod member on host2 with a volume\nrs0-3 mongod member on host3 with a volume\n" + cacheNote(3)},
		{"arbiter", mongoSpec(spec.Topology{Members: 2, Arbiter: true, Priorities: []float64{2, 0}}),
			"rs0-1 mongod member on host1 priority 2 with a volume\nrs0-2 mongod member on host2 priority 0 with a volume\nrs0-arbiter mongod arbiter on host3\n" +
				"note: topology.arbiter: if one member with data is lost, w: majority may wait forever, because the others with data are not a majority of the votes; MongoDB's default write concern is w: 1 here\n" + cacheNote(2)},
		{"sharded", mongoSpec(spec.Topology{Kind: spec.LabSharded, Shards: 2, Members: 3, ConfigServers: 1, Routers: 1}),
			"shard1-1 mongod member on host1 with a volume\nshard1-2 mongod member on host2 with a volume\nshard1-3 mongod member on host3 with a volume\n" +
				"shard2-1 mongod member on host2 with a volume\nshard2-2 mongod member on host3 with a volume\nshard2-3 mongod member on host1 with a volume\n" +
				"config-1 mongod config on config1 with a volume\nrouter-1 mongos router on router1\n" +
				"note: the balancer is off after the collection is sharded, so that no chunk moves during a measurement; sh.startBalancer() switches it on\n" + cacheNote(6)},
	} {
		got, err := Plan(c.spec)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, planText(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// changedSet and changedCluster are a set of three and a small cluster with a change.
func changedSet(f func(*spec.Lab)) spec.Lab {
	s := mongoSpec(spec.Topology{Members: 3})
	f(&s)
	return s
}

func changedCluster(f func(*spec.Lab)) spec.Lab {
	s := mongoSpec(spec.Topology{Kind: spec.LabSharded})
	f(&s)
	return s
}

// planned is a specification and what its plan says.
type planned struct {
	spec spec.Lab
	want string
}

// The plan refuses what depends on the release of MongoDB and on its space.
func TestPlanMongoRefuses(t *testing.T) {
	refused(t, []planned{
		{changedSet(func(s *spec.Lab) { s.Engine.Cache = 1 << 20 }), "engine.cache: 1048576 bytes is not between 256MiB"},
		{changedSet(func(s *spec.Lab) { s.Engine.Version = "4.2.24" }), "engine.version: 4.2.24 is too old"},
		{changedSet(func(s *spec.Lab) { s.Engine.Version = "new" }), "engine.version: \"new\" is not a release"},
		{changedSet(func(s *spec.Lab) { s.Engine.Args = []string{"--replSet", "x"} }), "--replSet is set by the lab; use topology.kind"},
		{changedSet(func(s *spec.Lab) { s.Engine.Name = "postgres" }), "engine.name"},
	})
}

func refused(t *testing.T, cases []planned) {
	t.Helper()
	for _, c := range cases {
		if _, err := Plan(c.spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}

// What is possible and unwise is noted.
func TestPlanMongoNotes(t *testing.T) {
	for _, c := range []planned{
		{changedSet(func(s *spec.Lab) { s.Hosts.Count = 2 }), "hosts.count: 2 hosts have 3 members of a set, so the loss of host1"},
		{changedSet(func(s *spec.Lab) { s.Topology.Members = 4 }), "4 voting members tolerate only as many failures as 3"},
		{changedSet(func(s *spec.Lab) { s.Topology.Members = 9 }), "2 members of each set have neither vote nor priority"},
		{changedCluster(func(s *spec.Lab) { s.Topology.ConfigServers = 2 }), "2 config servers tolerate only as many failures as 1"},
		{changedCluster(func(s *spec.Lab) { s.Hosts.Memory = 8 << 30 }), "up to 2 members share the memory of a host"},
	} {
		l, err := Plan(c.spec)
		if err != nil || !strings.Contains(strings.Join(l.Notes, "\n"), c.want) {
			t.Errorf("error %v, notes %q, want one with %q", err, l.Notes, c.want)
		}
	}
}

// drawSpec makes a specification, often one that is not possible.
func drawSpec(t *rapid.T) spec.Lab {
	count := func(name string, low, high int) spec.Count {
		return spec.Count(rapid.IntRange(low, high).Draw(t, name))
	}
	s := spec.Lab{Engine: spec.Engine{Name: spec.LabMongod}}
	s.Hosts.Count = count("hosts", 0, 12)
	s.Hosts.Memory = spec.Size(rapid.SampledFrom([]int64{0, 1 << 30, 8 << 30}).Draw(t, "memory"))
	s.Engine.Cache = spec.Size(rapid.SampledFrom([]int64{0, 0, 1 << 20, 1 << 30}).Draw(t, "cache"))
	s.Engine.Args = rapid.SliceOfN(rapid.SampledFrom([]string{"--quiet", "--dbpath", "--nojournal", "x", "-", "--", "--=1"}), 0, 2).Draw(t, "args")
	top := &s.Topology
	top.Kind = rapid.SampledFrom([]string{spec.LabStandalone, spec.LabReplicaSet, spec.LabReplicaSet, spec.LabSharded,
		spec.LabSharded, "", "x"}).Draw(t, "kind")
	top.Members, top.Arbiter = count("members", -1, 10), rapid.Bool().Draw(t, "arbiter")
	if rapid.Bool().Draw(t, "with priorities") {
		n := max(0, int(top.Members)+rapid.IntRange(-1, 1).Draw(t, "off by"))
		top.Priorities = rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0.5, 1, 2, 1000, 1001, -1}), n, n).Draw(t, "priorities")
	}
	top.Election = rapid.SampledFrom([]string{"", "elect-fast", "elect-default", "x"}).Draw(t, "election")
	top.Settings = rapid.MapOfN(rapid.SampledFrom([]string{"chainingAllowed", "electionTimeoutMillis", "catchUpTimeoutMillis", "x"}),
		rapid.SampledFrom([]string{"1", "-1", "true", ""}), 0, 2).Draw(t, "settings")
	top.Shards, top.ConfigServers, top.Routers = count("shards", -1, 5), count("config", -1, 8), count("routers", -1, 3)
	if rapid.Bool().Draw(t, "with a collection") {
		top.Collection = &spec.Collection{Namespace: rapid.SampledFrom([]string{"", "a.b", "a", ".b", "config.x"}).Draw(t, "namespace"),
			Sharding: rapid.SampledFrom([]string{"", "hashed", "ranged", "x"}).Draw(t, "sharding"), Chunks: count("chunks", -1, 20),
			SplitAt: rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3).Draw(t, "borders")}
	}
	return s
}

// A specification is refused, or its plan is one that MongoDB accepts.
func TestPlanMongoHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		if spec.Complete() != nil {
			return
		}
		l, err := Plan(spec)
		if err != nil {
			if err.Error() == "" || len(l.Members) > 0 {
				t.Fatalf("refused without a word, or with members: %v", l)
			}
			return
		}
		checkLayout(t, spec, l)
	})
}

func checkLayout(t *rapid.T, asked spec.Lab, l Layout) {
	hosts := map[string]string{}
	for _, h := range l.Hosts {
		if hosts[h.Name] != "" {
			t.Fatalf("the host %s is there twice", h.Name)
		}
		hosts[h.Name] = h.Role
	}
	names, votes, electable := map[string]bool{}, map[string]int{}, map[string]bool{}
	perHost := map[string]map[string]int{}
	for _, m := range l.Members {
		want := map[string]string{"member": "member", "arbiter": "member", "config": "config", "router": "router"}[m.Role]
		if names[m.Name] || hosts[m.Host] != want || m.Volume == (m.Role == "arbiter" || m.Role == "router") {
			t.Fatalf("%+v: its name, its host or its volume is wrong", m)
		}
		names[m.Name] = true
		votes[m.Set]++
		electable[m.Set] = electable[m.Set] || m.Priority > 0 && m.Role != "arbiter"
		if perHost[m.Set] == nil {
			perHost[m.Set] = map[string]int{}
		}
		perHost[m.Set][m.Host]++
	}
	for set, on := range perHost {
		if set == "" {
			continue
		}
		if !electable[set] {
			t.Fatalf("nobody in %s can become primary", set)
		}
		many, few := 0, votes[set]
		for _, h := range l.Hosts {
			if h.Role == hosts[anyKey(on)] {
				many, few = max(many, on[h.Name]), min(few, on[h.Name])
			}
		}
		if many-few > 1 {
			t.Fatalf("%s has %d members on one host and %d on another", set, many, few)
		}
	}
	if asked.Topology.Kind == spec.LabSharded && int(asked.Topology.Shards+1) != len(perHost)-1 {
		t.Fatalf("there are %d sets for %d shards", len(perHost)-1, asked.Topology.Shards)
	}
}

func anyKey(m map[string]int) string {
	for k := range m {
		return k
	}
	return ""
}

// The set that is initiated for a layout has at most seven votes, and an arbiter has none of the data.
func TestMongoSetConfigVotes(t *testing.T) {
	for members := 1; members <= 50; members++ {
		for _, arbiter := range []bool{false, true} {
			asked := mongoSpec(spec.Topology{Kind: spec.LabReplicaSet, Members: spec.Count(members), Arbiter: arbiter})
			if asked.Validate() != nil {
				if arbiter && (members == 1 || members >= spec.MaxVotes) {
					continue
				}
				t.Fatal(asked.Validate())
			}
			l, err := Plan(asked)
			if err != nil {
				t.Fatal(err)
			}
			votes := 0
			for i, m := range l.Members {
				if m.Role == "arbiter" || i < asked.Topology.DataVotes() {
					votes++
				} else if m.Priority != 0 {
					t.Errorf("%d members: %s has no vote and priority %v", members, m.Name, m.Priority)
				}
			}
			if votes > spec.MaxVotes {
				t.Errorf("%d members, arbiter %v: %d votes", members, arbiter, votes)
			}
		}
	}
}

func TestHostLimits(t *testing.T) {
	got := hostLimits(spec.Hosts{Cores: 2, Memory: 1 << 30, Network: 5}, &spec.HostLimits{Cores: 1})
	if diff := cmp.Diff(host.Limits{Cores: 1, Memory: 1 << 30, Network: 5}, got); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
}

// The borders cut YCSB's keys into equal parts: they are held against keys that are drawn as YCSB's hash spreads them.
func TestYCSBBorders(t *testing.T) {
	const draws = 200_000
	r := rand.New(rand.NewPCG(1, 2))
	keys := make([]string, draws)
	for i := range keys {
		keys[i] = "user" + strconv.FormatInt(r.Int64(), 10)
	}
	for _, n := range []int{1, 2, 3, 6, 8, 16, 100} {
		borders := ycsbBorders(n)
		if len(borders) != n-1 || !slices.IsSorted(borders) {
			t.Fatalf("%d parts have the borders %v", n, borders)
		}
		counts := make([]int, n)
		for _, k := range keys {
			i, _ := slices.BinarySearch(borders, k)
			counts[i]++
		}
		want := float64(draws) / float64(n)
		for i, c := range counts {
			if d := float64(c) - want; d*d > 36*want { // six standard deviations
				t.Errorf("part %d of %d has %d of %d keys, want %.0f", i+1, n, c, draws, want)
			}
		}
	}
}
