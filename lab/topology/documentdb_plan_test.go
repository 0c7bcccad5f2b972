package topology

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/spec"
)

func documentDBSpec(change func(*spec.Lab)) spec.Lab {
	s := spec.Lab{Name: "test", Engine: spec.Engine{Name: spec.LabDocumentDB},
		Topology: spec.Topology{Kind: spec.LabReplicaSet, Members: 3}}
	if change != nil {
		change(&s)
	}
	return s
}

func TestPlanDocumentDB(t *testing.T) {
	l, err := planDocumentDB(documentDBSpec(func(s *spec.Lab) {
		s.Hosts = spec.Hosts{Count: 2, Cores: 1, Memory: 1 << 30, Router: &spec.HostLimits{Cores: 2}}
	}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range l.Hosts {
		got = append(got, h.Name+" "+h.Role)
	}
	for _, m := range l.Members {
		got = append(got, strings.Join([]string{m.Name, m.Kind, m.Host, m.Role, m.Durability}, " "))
	}
	want := []string{"host1 member", "host2 member", "witness1 witness", "gateway1 gateway",
		"rs0-1 postgres host1 member ", "rs0-2 postgres host2 member ", "rs0-3 postgres host1 member ",
		"etcd-1 etcd host1 etcd ", "etcd-2 etcd host2 etcd ", "etcd-3 etcd witness1 etcd ",
		"gateway-majority gateway gateway1 gateway majority", "gateway-durable gateway gateway1 gateway durable",
		"gateway-balanced gateway gateway1 gateway balanced", "gateway-majority-unjournaled gateway gateway1 gateway majority-unjournaled"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if l.Hosts[0].Limits.Cores != 1 || l.Hosts[3].Limits.Cores != 2 || l.Hosts[0].Limits.Memory != 1<<30 {
		t.Errorf("limits %+v", l.Hosts)
	}
}

// What documentdb cannot form, beyond what the specification refuses, is refused before anything is made.
func TestPlanDocumentDBRefuses(t *testing.T) {
	for _, c := range []struct {
		name, say string
		change    func(*spec.Lab)
	}{
		{"settings", "catchUpTimeoutMillis", func(s *spec.Lab) { s.Topology.Settings = map[string]string{"catchUpTimeoutMillis": "1"} }},
		{"bad time", "loop_wait", func(s *spec.Lab) { s.Topology.Settings = map[string]string{"loop_wait": "soon"} }},
		{"short lease", "at least 20", func(s *spec.Lab) { s.Topology.Settings = map[string]string{"ttl": "5"} }},
		{"switch", "true nor false", func(s *spec.Lab) { s.Topology.Settings = map[string]string{"failsafe_mode": "1"} }},
		{"times that do not fit", "exceed ttl", func(s *spec.Lab) { s.Topology.Settings = map[string]string{"ttl": "20"} }},
		{"election", "elect-fast", func(s *spec.Lab) { s.Topology.Election = "elect-never" }},
		{"members", "between 1 and 7", func(s *spec.Lab) { s.Topology.Members = 8 }},
		{"own setting", "synchronous_standby_names", func(s *spec.Lab) {
			s.Engine.Parameters = map[string]string{"synchronous_standby_names": ""}
		}},
		{"no setting", "not the name", func(s *spec.Lab) { s.Engine.Parameters = map[string]string{"a b": ""} }},
		{"two lines", "line feed", func(s *spec.Lab) { s.Engine.Parameters = map[string]string{"work_mem": "1\n2"} }},
	} {
		if _, err := planDocumentDB(documentDBSpec(c.change)); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: error %v does not say %q", c.name, err, c.say)
		}
	}
}

func TestPatroniSettings(t *testing.T) {
	for _, c := range []struct {
		change func(*spec.Lab)
		want   map[string]any
	}{
		{nil, map[string]any{"ttl": 30, "loop_wait": 10, "retry_timeout": 10, "synchronous_node_count": 1}},
		{func(s *spec.Lab) { s.Topology.Election = "elect-fast" }, map[string]any{"ttl": 20, "loop_wait": 1, "retry_timeout": 3,
			"primary_start_timeout": 0, "synchronous_node_count": 1}},
		{func(s *spec.Lab) {
			s.Topology.Members = 5
			s.Topology.Settings = map[string]string{"ttl": "60", "failsafe_mode": "true"}
		}, map[string]any{"ttl": 60, "loop_wait": 10, "retry_timeout": 10, "failsafe_mode": true, "synchronous_node_count": 2}},
	} {
		c.want["synchronous_mode"], c.want["synchronous_mode_strict"] = "quorum", true
		got, err := patroniSettings(documentDBSpec(c.change))
		if d := cmp.Diff(c.want, got); err != nil || d != "" {
			t.Errorf("error %v, %s", err, d)
		}
	}
}

// uris are those of a cluster whose gateways are called by their levels.
func uris(members int) map[string]string {
	all := map[string]string{}
	for _, g := range gatewayLevels(members, 0) {
		for _, name := range levelNames(g.name, members) {
			all[name] = g.name
		}
	}
	return all
}

func TestAddressFor(t *testing.T) {
	yes, no := true, false
	d := func(name, w string, j *bool) spec.Durability {
		return spec.Durability{Name: name, W: w, Journal: j}
	}
	for _, c := range []struct {
		members int
		d       spec.Durability
		gateway string // or a part of the error after "!"
	}{
		{3, d("", "", nil), "majority"},
		{3, d("throughput", "", nil), "balanced"},
		{3, d("", "0", nil), "balanced"},
		{3, d("balanced", "", nil), "balanced"},
		{3, d("durable", "", nil), "durable"},
		{3, d("durable", "majority", nil), "majority"},
		{3, d("balanced", "majority", nil), "majority-unjournaled"},
		{3, d("", "majority", nil), "majority"},
		{3, d("", "majority", &no), "majority-unjournaled"},
		{3, d("", "1", nil), "balanced"},
		{3, d("", "1", &yes), "durable"},
		{3, d("", "2", &yes), "majority"},
		{3, d("", "2", nil), "majority-unjournaled"},
		{3, d("", "3", &yes), "!no gateway waits for 3 of 3 members"},
		{3, d("", "4", nil), "!has 3 members"},
		{3, d("", "-1", nil), "!has 3 members"},
		{3, d("", "dc-east", nil), "!no member tags"},
		{3, d("fastest", "", nil), "!unknown durability level"},
		{5, d("", "3", &yes), "majority"},
		{5, d("", "2", &yes), "!no gateway waits for 2 of 5"},
		{1, d("", "", nil), "durable"},
		{1, d("durable", "", nil), "durable"},
		{1, d("", "majority", nil), "durable"},
		{1, d("", "majority", &no), "balanced"},
		{1, d("balanced", "", nil), "balanced"},
		{1, d("", "2", nil), "!has 1 members"},
		{3, spec.Durability{Name: "durable", ReadPreference: "secondary"}, "!only from the primary"},
		{3, spec.Durability{Name: "durable", ReadConcern: "linearizable"}, "!linearizable"},
		{3, spec.Durability{ReadConcern: "majority"}, "majority"},
	} {
		got, level, err := AddressFor(uris(c.members), c.d, c.members)
		if part, wrong := strings.CutPrefix(c.gateway, "!"); wrong {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%d members, %+v: %q at level %q, error %v; want one with %q", c.members, c.d, got, level, err, part)
			}
			continue
		}
		if err != nil || got != c.gateway || level == "" {
			t.Errorf("%d members, %+v: %q at level %q, error %v; want %q", c.members, c.d, got, level, err, c.gateway)
		}
	}
	testLevelsByNumber(t)
	if _, _, err := AddressFor(map[string]string{"": "x"}, d("durable", "", nil), 3); err == nil {
		t.Error("a level without a gateway was found")
	}
}

// testLevelsByNumber asks a lab that was made for three of three members: its majority would be another number.
func testLevelsByNumber(t *testing.T) {
	t.Helper()
	yes, no := true, false
	all := map[string]string{}
	for _, g := range gatewayLevels(3, 3) {
		for _, name := range levelNames(g.name, 3) {
			all[name] = g.name
		}
	}
	for _, c := range []struct {
		d       spec.Durability
		gateway string
	}{
		{spec.Durability{}, "w3"},
		{spec.Durability{W: "3", Journal: &yes}, "w3"},
		{spec.Durability{Name: "durable", W: "3"}, "w3"},
		{spec.Durability{W: "3", Journal: &no}, "w3-unjournaled"},
		{spec.Durability{Name: "durable"}, "durable"},
		{spec.Durability{W: "1"}, "balanced"},
		{spec.Durability{W: "0"}, "balanced"},
		{spec.Durability{W: "2"}, ""},
		{spec.Durability{W: "majority"}, ""},
	} {
		got, level, err := AddressFor(all, c.d, 3)
		if c.gateway == "" {
			if err == nil || !strings.Contains(err.Error(), "topology.acknowledge: 3") {
				t.Errorf("%+v: %q, %v; want a refusal that names the key", c.d, got, err)
			}
			continue
		}
		if err != nil || got != c.gateway || LevelMeaning(level, 3) == "" {
			t.Errorf("%+v: %q at level %q (%s), %v; want %q", c.d, got, level, LevelMeaning(level, 3), err, c.gateway)
		}
	}
}

// Every set has the default address and the three levels that a run can ask for by name.
func TestLevelsOfEverySize(t *testing.T) {
	for members := 1; members <= maxDocumentDBMembers; members++ {
		have := slices.Sorted(maps.Keys(uris(members)))
		for _, want := range []string{"", "throughput", "balanced", "durable", "majority"} {
			if !slices.Contains(have, want) {
				t.Errorf("%d members: no %q among %q", members, want, have)
			}
		}
		// Any two majorities share a member: what one acknowledged is known to the other, which promotes.
		if n, k := members, quorum(members); (k+1)+(n-k) <= n || 2*(k+1) <= n {
			t.Errorf("%d members: %d standbys and the primary are no majority", n, k)
		}
	}
}

func TestContainsVersion(t *testing.T) {
	have := "PostgreSQL 18.6-3, DocumentDB 1.0-0-1, FerretDB v2.7.0"
	for want, ok := range map[string]bool{"18": true, "18.6": true, "18.6-3": true, "2.7.0": true, "1.0": true,
		"17": false, "8": false, "18.60": false} {
		if containsVersion(have, want) != ok {
			t.Errorf("%s in %q: want %v", want, have, ok)
		}
	}
}
