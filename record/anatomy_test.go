package record

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/anatomy"
	"github.com/plimsoll-bench/plimsoll/measure/limit"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func seriesOfServer(source string, values map[string]float64) (list []Series) {
	for name, mean := range values {
		list = append(list, Series{Source: source, Name: name, Mean: mean})
	}
	return list
}

// observedRun is a run of 1,000 operations per second and 10 ms with the series of a set of three members.
func observedRun(durability spec.Durability, version string) *Run {
	r := &Run{Target: Target{Kind: "mongod", Version: version}, Specification: spec.Run{Target: "mongodb://a:1/",
		Durability: durability}}
	r.Phases = []PhaseResult{{Phase: "measure", LittleInFlight: 10, Rates: Rates{Achieved: 1000, Attempted: 1000,
		Offered: 1000},
		All: ClassResult{Service: &Latency{Mean: 10e6, Count: 1000}, Response: &Latency{Mean: 11e6}}}}
	r.Series = slices.Concat(
		seriesOfServer("server:a:1", map[string]float64{"cache.max": 1e9, "load.reads": 1, "load.writes": 7,
			"ended.writes": 900, "ended.reads": 100,
			"cpu.used": 0.5, "waiting.collection_locks": 0.5, "waiting.cache": 1, "waiting.evicting": 2, "waiting.write_concern": 1,
			"log.sync_time": 2e6, "log.syncs": 300, "queue.writers": 1, "write_conflicts": 1800, "connections.available": 7,
			"tickets.write.exhausted": 0.6}),
		seriesOfServer("server:b:1", map[string]float64{"cache.max": 1e9, "load.commands": 0.01,
			"replication.lag": 3e9, "log.sync_time": 9e6, "cpu.used": 2}),
		seriesOfServer("host:m", map[string]float64{"cpu.busy": 0.95, "cpu.used": 1.9, "disk.sda.utilisation": 0.97,
			"disk.sda.writes":      100,
			"disk.sda.write_await": 50e6, "disk.sda.write_bytes": 1e6}))
	r.Anatomy = r.findAnatomy()
	return r
}

func TestAnatomyOfRun(t *testing.T) {
	yes := true
	journaled := spec.Durability{W: "1", Journal: &yes}
	a := observedRun(journaled, "5.0.9").Anatomy
	if a == nil || a.Operations != 10 || math.Abs(a.In(anatomy.Network)-2) > 1e-9 || a.In(anatomy.Eviction) != 2 ||
		a.In(anatomy.Replication) != 1 ||
		a.In(anatomy.Journal) == 0 || !slices.Equal(a.Servers, []string{"a:1"}) {
		t.Fatalf("%+v", a)
	}
	if text := strings.Join(a.NotCounted, "; "); !strings.Contains(text, "tickets (counted since MongoDB 7.0)") {
		t.Errorf("not counted: %s", text)
	}
	for name, tc := range map[string]struct {
		d       spec.Durability
		version string
		journal bool
	}{
		"w:1, j:false":                   {spec.Durability{Name: "balanced"}, "8.0.1", false},
		"durable":                        {spec.Durability{Name: "durable"}, "8.0.1", true},
		"a majority of 5.0 waits before": {spec.Durability{W: "majority"}, "5.0.9", true},
		"a majority of 8.0 waits with replication": {spec.Durability{W: "majority"}, "8.0.1", false},
	} {
		if got := observedRun(tc.d, tc.version).Anatomy.In(anatomy.Journal) > 0; got != tc.journal {
			t.Errorf("%s: journal %v", name, got)
		}
	}
	none := observedRun(journaled, "5.0.9")
	none.Series = nil
	if a := none.findAnatomy(); a != nil {
		t.Errorf("without rights: %+v", a)
	}
	none.Target.Kind = "ferretdb"
	if none.findAnatomy() != nil {
		t.Error("another engine has an anatomy")
	}
}

func TestLimitStep(t *testing.T) {
	r := observedRun(spec.Durability{Name: "balanced"}, "5.0.9")
	r.Validity = []measure.Finding{{ID: "client-cpu", Severity: measure.Warning}, {ID: "client-gc",
		Severity: measure.Note}, {ID: "outage", Severity: measure.Warning}}
	s := r.LimitStep()
	if !s.Sustained || s.Offered != 1000 || !slices.Equal(s.Client, []string{"client-cpu"}) {
		t.Errorf("%+v", s)
	}
	if s.Signals[limit.SignalConflicts] != 2 || s.Signals[limit.SignalFree] != 7 ||
		s.Signals[limit.SignalNoTicket] != 0.6 ||
		math.Abs(s.Signals[limit.SignalSyncing]-0.6) > 1e-9 {
		t.Errorf("%v", s.Signals)
	}
	if len(s.Secondaries) != 1 || s.Secondaries[0].Name != "b:1" || s.Secondaries[0].Lag != 3 ||
		s.Secondaries[0].Sync != 0.009 {
		t.Errorf("%+v", s.Secondaries)
	}
	var cpu, disk *limit.Resource
	for i := range s.Resources {
		switch x := &s.Resources[i]; x.Label {
		case limit.CPU:
			cpu = x
		case limit.DiskWrites:
			disk = x
		}
	}
	if cpu == nil || math.Abs(cpu.Capacity-2) > 1e-9 || disk == nil || disk.Where != "sda of m" ||
		math.Abs(disk.Waiting-4) > 1e-9 {
		t.Errorf("%+v", s.Resources)
	}
	if got := (&Run{}).LimitStep(); got.Achieved != 0 {
		t.Errorf("a run that measured nothing: %+v", got)
	}
}

// Members of a lab are on its hosts, and have its names.
func TestLimitStepOfALab(t *testing.T) {
	r := observedRun(spec.Durability{Name: "balanced"}, "5.0.9")
	r.Lab = &Lab{Name: "l", Hosts: []LabHost{{Name: "h1", Cores: 0.5}, {Name: "h2", Cores: 2}},
		Members: []LabMember{{Name: "rs0-1", Host: "h1", Address: "a:1"}, {Name: "rs0-2", Host: "h2", Address: "b:1"}}}
	r.Series = append(r.Series, Series{Source: "host:l/h1", Name: "cpu.used", Mean: 0.49},
		Series{Source: "host:l/h1", Name: "cpu.throttled", Mean: 0.8}, Series{Source: "host:l/h2", Name: "cpu.used", Mean: 1.9})
	s := r.LimitStep()
	if len(s.Secondaries) != 1 || s.Secondaries[0].Name != "rs0-2" || s.Secondaries[0].CPU != 0.95 {
		t.Errorf("%+v", s.Secondaries)
	}
	for host, behind := range map[string]bool{"host h1": false, "host h2": true} {
		if i := slices.IndexFunc(s.Resources, func(x limit.Resource) bool { return x.Where == host }); i < 0 ||
			s.Resources[i].Behind != behind {
			t.Errorf("%s: %+v", host, s.Resources)
		}
	}
}

// A quota that a fault sets is the capacity of a host of a lab.
func TestLimitStepOfAThrottledHost(t *testing.T) {
	r := observedRun(spec.Durability{Name: "balanced"}, "5.0.9")
	r.Lab = &Lab{Name: "l", Hosts: []LabHost{{Name: "h1"}}, Members: []LabMember{{Name: "rs0-1", Host: "h1", Address: "a:1"}}}
	r.Series = append(r.Series, Series{Source: "host:l/h1", Name: "cpu.used", Mean: 0.3},
		Series{Source: "server:a:1", Name: "cpu.limit", Mean: 0.3})
	if s := r.LimitStep(); !slices.ContainsFunc(s.Resources, func(x limit.Resource) bool {
		return x.Where == "host h1" && x.Capacity == 0.3 && !x.Behind
	}) {
		t.Errorf("%+v", s.Resources)
	}
}

// The machine of the load generator is no resource of servers elsewhere, and that of a member that only replicates is
// behind.
func TestLimitStepOfMachines(t *testing.T) {
	of := func(change func(*Run)) []limit.Resource {
		r := observedRun(spec.Durability{Name: "balanced"}, "5.0.9")
		r.Environment.Host = "m"
		if change != nil {
			change(r)
		}
		return r.LimitStep().Resources
	}
	if list := of(nil); len(list) != 0 {
		t.Errorf("no server is on m: %+v", list)
	}
	if list := of(func(r *Run) {
		r.Series = append(r.Series, Series{Source: "server:a:1", Name: "cpu.waiting", Mean: 0.1})
	}); len(list) != 2 || list[0].Behind {
		t.Errorf("a server is on m: %+v", list)
	}
	for machine, behind := range map[string]bool{"a": false, "a.example.net": false, "b": true, "b.example.net": true, "c": false, "bc": false} {
		list := of(func(r *Run) {
			for i := range r.Series {
				r.Series[i].Source = strings.Replace(r.Series[i].Source, "host:m", "host:"+machine, 1)
			}
		})
		if len(list) != 2 || list[0].Behind != behind || list[1].Behind != behind {
			t.Errorf("%s: %+v", machine, list)
		}
	}
}

// Quotas are seen if the kernel shows those of each server that serves operations.
func TestLimitStepSeesQuotas(t *testing.T) {
	for want, source := range map[bool]string{true: "server:a:1", false: "server:b:1"} {
		r := observedRun(spec.Durability{Name: "balanced"}, "5.0.9")
		if r.Series = append(r.Series, Series{Source: source, Name: "cpu.waiting"}); r.LimitStep().QuotasSeen != want {
			t.Errorf("%s: %v", source, !want)
		}
	}
}

// Agents have round trips of their own. What is between them and the servers without being sampled is no network.
func TestLimitStepOfWhatIsBetween(t *testing.T) {
	r := observedRun(spec.Durability{Name: "balanced"}, "5.0.9")
	r.Target.RoundTrip = 30e6
	if got := r.LimitStep().Signals[limit.SignalRoundTrip]; got != 0.03 {
		t.Errorf("the round trip is %v", got)
	}
	r.Clients = []ClientShare{{Agent: "x", RoundTrip: 3e5}, {Agent: "y", RoundTrip: 2e5}, {Agent: "z"}}
	if got := r.LimitStep().Signals[limit.SignalRoundTrip]; got != 0.0002 {
		t.Errorf("the round trip of agents is %v", got)
	}
	if r.LimitStep().BlindRouter {
		t.Error("nothing is between them")
	}
	r.Specification.Via = spec.ViaREST
	if !r.LimitStep().BlindRouter {
		t.Error("a service is between them")
	}
}

// A router that does not count the time of its operations serves them nevertheless, and its quota is its own limit.
func TestLimitStepOfRouter(t *testing.T) {
	r := observedRun(spec.Durability{Name: "balanced"}, "5.0.9")
	r.Target.Kind = "mongos"
	r.Series = append(r.Series, seriesOfServer("server:router:1", map[string]float64{"cpu.limit": 0.2, "cpu.used": 0.2,
		"cpu.throttled": 0.9})...)
	s := r.LimitStep()
	if !s.BlindRouter || !slices.ContainsFunc(s.Resources, func(x limit.Resource) bool {
		return x.Label == limit.Router && !x.Behind && x.Capacity == 0.2
	}) {
		t.Errorf("%v, %+v", s.BlindRouter, s.Resources)
	}
	r.Series = append(r.Series, seriesOfServer("server:router:1", map[string]float64{"load.reads": 0.2})...)
	if s := r.LimitStep(); s.BlindRouter || len(s.Secondaries) != 0 { // which may be of several sets
		t.Errorf("it counts them, and %+v", s.Secondaries)
	}
	if r.Target.Hosts = []string{"router:1", "router:2"}; !r.LimitStep().BlindRouter {
		t.Error("only one of two routers was sampled")
	}
}
