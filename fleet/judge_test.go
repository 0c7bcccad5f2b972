package fleet

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store/null"
)

// worker is an agent on a machine of 2 cores of its own.
func worker(number int, host string, used, rate float64) performance {
	p50 := int64(time.Millisecond)
	return performance{
		ClientShare: record.ClientShare{Number: number, Agent: host, Host: host, Machine: host, Cores: 2, CPUCores: used,
			Ceiling: 10_000, RoundTrip: int64(100 * time.Microsecond)},
		own: &record.Run{Head: record.Head{Environment: record.Environment{Threads: 2, Cores: 2}}},
		phase: &record.PhaseResult{Seconds: 10, Rates: record.Rates{Attempted: rate},
			All: record.ClassResult{Service: &record.Latency{P50: &p50}}},
	}
}

// texts are the findings by ID.
func texts(list []measure.Finding) map[string]string {
	m := map[string]string{}
	for _, f := range list {
		m[f.ID] = string(f.Severity) + ": " + f.Text
	}
	return m
}

// Each agent is judged by its own machine, and the worst one is named.
func TestWorstAgentIsNamed(t *testing.T) {
	if found := judgeMachines([]performance{worker(0, "host-a", 1.3, 5000), worker(1, "host-b", 1.2, 6000)}); len(found) > 0 {
		t.Errorf("agents at 60 %% of their cores: %+v", found)
	}
	busy, limited := worker(3, "host-b", 1.92, 5000), worker(4, "host-c", 1.5, 8000)
	busy.own.Validity = []measure.Finding{{ID: "client-scheduler", Severity: measure.Warning, Text: "slow"},
		{ID: "outage", Severity: measure.Invalid, Text: "which is that of all"}}
	far := worker(5, "host-d", 1, 100)
	far.RoundTrip = int64(800 * time.Microsecond)
	got := texts(judgeMachines([]performance{worker(0, "host-a", 1.3, 5000), busy, limited, far}))
	for id, want := range map[string]string{
		"client-cpu":       "invalid: client 3 on host-b used 96.0 % of its 2.00 cores.",
		"client-limited":   "warning: client 4 on host-c sent 80.0 % of the rate that it reaches without a real target (10,000/s).",
		"client-scheduler": "warning: client 3 on host-b: slow",
		"client-network":   "note: the shortest round trip from client 5 on host-d to the target was 800 µs, 80.0 % of its median latency (the nearest client: 100 µs)",
	} {
		if !strings.HasPrefix(got[id], want) {
			t.Errorf("%s is %q, want %q", id, got[id], want)
		}
	}
	if !strings.Contains(got["client-cpu"], "the worst of 2") || len(got) != 4 {
		t.Errorf("findings: %q", got)
	}
}

// Agents on one machine share its cores: together they may be the limit although none is by itself.
func TestAgentsOfOneMachine(t *testing.T) {
	list := []performance{worker(0, "host-a", 1, 100), worker(1, "host-b", 0.9, 4000), worker(2, "host-b", 0.95, 5000)}
	got := texts(judgeMachines(list))
	if want := "invalid: clients 1 and 2 on host-b used 92.5 % of its 2.00 cores."; !strings.HasPrefix(got["client-cpu"], want) {
		t.Errorf("client-cpu is %q, want %q", got["client-cpu"], want)
	}
	if want := "warning: clients 1 and 2 on host-b sent 90.0 %"; !strings.HasPrefix(got["client-limited"], want) {
		t.Errorf("client-limited is %q, want %q", got["client-limited"], want)
	}
	if want := "note: clients 1 and 2 on host-b share its 2.00 cores."; !strings.HasPrefix(got["clients-share-machine"], want) {
		t.Errorf("clients-share-machine is %q, want %q", got["clients-share-machine"], want)
	}
	for i := range list { // each has a limit of its own on a larger machine, and was calibrated with it
		list[i].own.Environment.Threads = 8
	}
	got = texts(judgeMachines(list))
	if got["client-cpu"] != "" || got["client-limited"] != "" {
		t.Errorf("on 8 cores: %q", got)
	}
}

// The record has what each agent is and used, its own record has its machine, and the coordinator does not judge agents
// by its own cores.
func TestAgentsInTheRecord(t *testing.T) {
	t.Parallel()
	asked := testSpec(2)
	asked.Load.Duration, asked.Load.Warmup, asked.Load.Pace = spec.Duration(3*time.Second), 0, 40
	server, err := null.Listen(null.Options{Count: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	asked.Target = server.URI()
	place := &memory{dir: t.TempDir(), machine: "one"}
	dir := filepath.Join(t.TempDir(), "record")
	if _, err := Execute(t.Context(), asked, run.Options{Dir: dir, Ceiling: tinyCeiling()},
		Options{Places: place.places()}); err != nil {
		t.Fatal(err)
	}
	r, err := record.OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	here := record.NewEnvironment(nil)
	for i, c := range r.Clients {
		own, err := record.OpenRun(filepath.Join(dir, filepath.FromSlash(recordOf(i))))
		if err != nil {
			t.Fatal(err)
		}
		if own.Environment.Kernel != here.Kernel || own.Environment.CPU != here.CPU || own.Tool != r.Tool {
			t.Errorf("the machine of client %d is %+v", i, own.Environment)
		}
		if c.Cores != own.Environment.Cores || c.CPUCores <= 0 || c.Machine != "one" || c.Ceiling != 1e9 ||
			c.RoundTrip != own.Target.RoundTrip || c.RoundTrip <= 0 || c.CPU != here.CPU || c.Kernel != here.Kernel ||
			c.MemoryBytes != here.MemoryBytes {
			t.Errorf("client %d is %+v", i, c)
		}
		if host := series(own, "host:"+own.Environment.Host); host == 0 && here.OS == "linux" {
			t.Errorf("client %d did not sample its machine", i)
		}
	}
	if finding(r, "clients-share-machine") == nil || finding(r, "client-limited") != nil {
		t.Errorf("validity %+v", r.Validity)
	}
	p := r.Phase(load.PhaseMeasure)
	if p == nil || p.Client.CPUShare <= 0 {
		t.Errorf("measured %+v", p)
	}
}

// tinyCeiling is that of a coordinator that could make next to no load itself.
func tinyCeiling() *run.Ceiling {
	return &run.Ceiling{Clients: map[string]run.ClientCeiling{run.ClientWire: {Rate: 0.1}}}
}

// series counts the series of a source.
func series(r *record.Run, source string) (n int) {
	for _, s := range r.Series {
		if s.Source == source {
			n++
		}
	}
	return n
}
