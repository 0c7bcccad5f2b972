package predict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/capacity/simulate"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

const (
	us = time.Microsecond
	ms = time.Millisecond
)

// evidence is an engine that computes 50 µs, on a disk that syncs in 5 ms. Two runs on the disk are as the group commit
// says.
func evidence(t *testing.T) Evidence {
	t.Helper()
	e := Evidence{Probes: []*record.Probe{probed(t, 5*ms, 1, 2, 4, 8, 16, 32)}, Runs: []Calibration{
		ran(t, "one", 1, 50*us, 50*us, "update"), ran(t, "many", 32, 800*us, 50*us, "update"),
		ran(t, "r-4", 4, 10*ms, 50*us, "update"), ran(t, "r-16", 16, 10*ms, 50*us, "update"),
	}}
	for i := range 2 {
		e.Runs[i].Run.Target.Settings = map[string]string{"file_system": "tmpfs"}
	}
	return e
}

func deployment(t *testing.T, text string) spec.Deployment {
	t.Helper()
	d, err := spec.ReadDeployment(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func refusal(s *record.Simulation) string { return strings.Join(s.Refused, "\n") }

// What the records show is multiplied by the shards.
func TestSimulation(t *testing.T) {
	s := Simulate(deployment(t, "{shards: 100, load: {workers: 800}}"), evidence(t), record.Tool{})
	if s.Load == nil || len(s.Checks) != 4 || len(s.Refused) > 0 || len(s.LeftOut) > 0 {
		t.Fatalf("%q, checks %+v, left out %q", refusal(s), s.Checks, s.LeftOut)
	}
	if math.Abs(s.Load.Rate/80_000-1) > 0.03 || math.Abs(float64(s.Load.P99)/1e7-1) > 0.03 || s.Load.Journal < 0.99 {
		t.Errorf("%+v", s.Load)
	}
}

// With records that it does not reproduce, or that do not show the deployment, the simulation refuses in words.
func TestSimulationRefused(t *testing.T) {
	for want, c := range map[string]struct {
		ask    string
		change func(e *Evidence)
	}{
		"does not reproduce these records: 1 of": {"{load: {workers: 8}}", func(e *Evidence) {
			e.Runs = append(e.Runs, ran(t, "slow", 2, 12*ms, 50*us, "update"))
		}},
		"1 of the records that do not calibrate": {"{load: {workers: 8}}", func(e *Evidence) { e.Runs = e.Runs[:3] }},
		"0 of the records that do not":           {"{load: {workers: 8, rate: 100}}", func(*Evidence) {}},
		"more than a factor of 2 beyond":         {"{load: {workers: 40}}", func(*Evidence) {}},
		"2 of the records are probes":            {"{load: {workers: 8}}", func(e *Evidence) { e.Probes = append(e.Probes, e.Probes[0]) }},
		"no calibration has one worker":          {"{load: {workers: 8}}", func(e *Evidence) { e.Runs = e.Runs[1:] }},
		"(8 workers, 3 members, 2 of them":       {"{members: 3, load: {workers: 8}}", func(*Evidence) {}},
		"(8 workers, through a router)":          {"{routers: true, load: {workers: 8}}", func(*Evidence) {}},
		"pages read for each operation)":         {"{load: {workers: 8}, cache: 1MB, records: 10M}", func(*Evidence) {}},
		"no record has enough values for a p99": {"{load: {workers: 8}}", func(e *Evidence) {
			for _, c := range e.Runs[2:] {
				c.Summary.Classes[0].Service.Reset()
				c.Summary.Classes[0].Service.RecordN(int64(10*ms), 100)
			}
		}},
	} {
		e := evidence(t)
		c.change(&e)
		s := Simulate(deployment(t, c.ask), e, record.Tool{})
		if !strings.Contains(refusal(s), want) || s.Load != nil {
			t.Errorf("refused with %q, want %q", refusal(s), want)
		}
	}
}

// openEvidence is [evidence] with two open loads, whose operations took these times from when they were due.
func openEvidence(t *testing.T, times *measure.Histogram) Evidence {
	t.Helper()
	e := evidence(t)
	for _, rate := range []float64{200, 800} {
		c := ran(t, fmt.Sprintf("open-%g", rate), 32, 7500*us, 50*us, "update")
		c.Run.Scheduled, c.Run.Specification.Load.Rate, c.Run.Phases[0].Rates.Achieved = true, spec.Rate(rate), rate
		c.Summary.Classes[0].Response = times
		e.Runs = append(e.Runs, c)
	}
	return e
}

// An open load is judged by the times from when operations were due.
func TestSimulationOfOpenLoad(t *testing.T) {
	h := measure.NewHistogram()
	for i := range 1000 {
		h.Record(int64(5*ms + 5*ms*time.Duration(i)/1000))
	}
	e := openEvidence(t, h)
	s := Simulate(deployment(t, "{shards: 10, load: {workers: 320, rate: 4000}}"), e, record.Tool{})
	if s.Load == nil || math.Abs(s.Load.Rate/4000-1) > 0.03 || math.Abs(s.Load.Mean/7.5e6-1) > 0.1 {
		t.Errorf("%q, %+v, %+v", refusal(s), s.Load, s.Checks)
	}
	if s := Simulate(deployment(t, "{shards: 10, load: {workers: 320, rate: 40k}}"), e, record.Tool{}); s.Load != nil {
		t.Errorf("5 times the measured rate: %+v", s.Load)
	}
	e.Runs[5].Run.Specification.Load.Rate = 1e300
	s = Simulate(deployment(t, "{shards: 10, load: {workers: 320, rate: 4000}}"), e, record.Tool{})
	if len(s.LeftOut) != 1 || !strings.Contains(s.LeftOut[0], "less than half of what it was offered") || s.Load != nil {
		t.Errorf("left out %q, %q", s.LeftOut, refusal(s))
	}
}

// Members and routers add what they add on a filesystem in memory, and the members sync too.
func TestSimulationOfMembers(t *testing.T) {
	e := evidence(t)
	three := func(dir string, workers int, took time.Duration) Calibration {
		c := ran(t, dir, workers, took, 50*us, "update")
		c.Run.Specification.Durability.W = "majority"
		c.Run.Lab = &record.Lab{Specification: spec.Lab{Topology: spec.Topology{Members: 3}}}
		return c
	}
	hop := three("hop", 1, 50*us+2*ms)
	hop.Run.Target.Settings = map[string]string{"file_system": "tmpfs"}
	e.Runs = append(e.Runs, hop, three("s-1", 1, 7050*us), three("s-2", 2, 10*ms))
	s := Simulate(deployment(t, "{members: 3, load: {workers: 1}}"), e, record.Tool{})
	if s.Load == nil || math.Abs(s.Load.Mean/7.05e6-1) > 0.02 || s.Load.Lag == 0 {
		t.Errorf("%q, %+v, %+v, left out %q", refusal(s), s.Load, s.Checks, s.LeftOut)
	}
	router := ran(t, "router", 1, 50*us+ms, 50*us, "update")
	router.Run.Target = record.Target{Kind: "mongos", Settings: hop.Run.Target.Settings}
	through := func(dir string, workers int, took time.Duration) Calibration {
		c := ran(t, dir, workers, took, 50*us, "update")
		c.Run.Target.Kind = "mongos"
		return c
	}
	e = evidence(t)
	e.Runs = append(e.Runs, router, through("m-1", 1, 6050*us), through("m-2", 2, 10*ms))
	s = Simulate(deployment(t, "{routers: true, load: {workers: 1}}"), e, record.Tool{})
	if s.Load == nil || math.Abs(s.Load.Mean/6.05e6-1) > 0.02 {
		t.Errorf("%q, %+v, %+v, left out %q", refusal(s), s.Load, s.Checks, s.LeftOut)
	}
}

// Members on the storage of a second probe fall behind by the difference of the rates.
func TestSimulationOfSlowerMembers(t *testing.T) {
	e := evidence(t)
	e.Probes = []*record.Probe{probed(t, 5*ms, 1, 8), probed(t, 40*ms, 1, 16)} // 8 writes in 40 ms
	three := func(dir string, workers int, took time.Duration) Calibration {
		c := ran(t, dir, workers, took, 50*us, "update")
		c.Run.Lab = &record.Lab{Specification: spec.Lab{Topology: spec.Topology{Members: 3}}}
		return c
	}
	hop := three("hop", 1, 50*us+2*ms)
	hop.Run.Target.Settings = map[string]string{"file_system": "tmpfs"}
	e.Runs = append(e.Runs[:2], hop, three("s-4", 4, 10*ms), three("s-8", 8, 10*ms))
	ask := deployment(t, "{members: 3, acknowledge: 1, slower: 1, load: {workers: 4}}")
	s := Simulate(ask, e, record.Tool{})
	if s.Load == nil || s.Load.Slower == nil || math.Abs(s.Load.Slower.Grows-0.5) > 0.02 || s.Load.Slower.Target != 0 {
		t.Fatalf("%q, %+v, %+v, left out %q", refusal(s), s.Load, s.Checks, s.LeftOut)
	}
	if len(s.Validity) == 0 || s.Validity[0].ID != "slower-unmeasured" {
		t.Errorf("findings %+v", s.Validity)
	}
	e.Probes = e.Probes[:1]
	if s := Simulate(ask, e, record.Tool{}); !strings.Contains(refusal(s), "1 of the records are probes: give that") {
		t.Errorf("without a second probe: %q", refusal(s))
	}
	if _, err := spec.ReadDeployment(strings.NewReader("{members: 3, slower: 3, load: {workers: 1}}")); err == nil {
		t.Error("three of three members are slower than their primary")
	}
	m := deploymentModel{engineModel: &engineModel{out: &record.ProbePrediction{Engine: "mongod"}}}
	slow := probed(t, 40*ms, 1, 16)
	slow.Specification.Log = spec.LogReserved
	for version, want := range map[string]time.Duration{"8.0.4": 10 * time.Second, "4.0.2": 0, "4.4.6": 3 * time.Second} {
		m.base.Run = &record.Run{Target: record.Target{Version: version}}
		if want == 3*time.Second {
			m.base.Run.Target.Settings = map[string]string{"flowControlTargetLagSeconds": "3", "replWriterThreadCount": "8"}
		}
		x, err := m.slowerOf(slow)
		if err != nil || x.lag != want {
			t.Errorf("%s: target %v, want %v, %v", version, x.lag, want, err)
		}
		m.slower, m.reads = x, x.syncs
		x.reads = x.syncs
		var shard simulate.Shard
		err = m.slow(&shard, setup{slower: 1, misses: 1.5})
		if err != nil || (shard.Flow != nil) != (want > 0) || shard.Batch != 8 {
			t.Errorf("%s: %+v, %v", version, shard, err)
		}
		took := shard.SlowSync(rand.New(rand.NewPCG(1, 1)), 8) // 8 to 16 pages: one round of 16 threads, or two of 8
		if rounds := math.Round(float64(took) / float64(40*ms)); rounds != 2 && rounds != 3 {
			t.Errorf("%s: a batch of 8 writes takes %v", version, took)
		}
	}
}

// drilled is a drill whose primary was killed, with these outages in seconds. Members are back after 30 s.
func drilled(dir, election string, outages ...float64) Drilled {
	d := &record.Drill{Engine: "mongod 8.0"}
	for i, s := range outages {
		topology := &spec.Topology{Members: 3, Election: election}
		d.Rounds = append(d.Rounds, record.DrillRound{Number: i + 1, Status: record.Complete, Members: 3, Topology: topology,
			Faults:  []record.DrillFault{{Fault: spec.Strike{Action: "kill", Target: "primary"}, Hit: true, Injected: 8e9}},
			Moments: []record.DrillMoment{{Kind: record.MomentRedundant, At: 38e9}},
			Effects: []record.DrillEffect{{Kind: record.KindWrites, Client: -1, Outage: int64(s * 1e9)}}})
	}
	return Drilled{dir, d}
}

// A third of the failures hits a primary, and each of them is an outage as in the drills.
func TestSimulationOfFailures(t *testing.T) {
	e := Evidence{Drills: []Drilled{drilled("a", "elect-fast", 1.9, 2, 2.1), drilled("b", "elect-fast", 1.95, 2.05)}}
	s := Simulate(deployment(t, "{shards: 333, members: 3, failures: {kill: 300}}"), e, record.Tool{})
	f := s.Failures
	if f == nil || len(s.Checks) != 2 || f.Failures != 300 || math.Abs(float64(f.Outages)-100) > 25 || f.Longest > 2.2 {
		t.Fatalf("%q, %+v, checks %+v", refusal(s), f, s.Checks)
	}
	if math.Abs(f.Down/float64(f.Outages)-2) > 0.05 || math.Abs(1-f.Available-f.Down/333/86400) > 1e-9 {
		t.Errorf("%+v", f)
	}
	if math.Abs(f.Away/(300*30)-1) > 0.05 {
		t.Errorf("members are away for %g s", f.Away)
	}
}

// Outages follow the election time if drills with two such times show that they do.
func TestSimulationOfElections(t *testing.T) {
	fast, slow := drilled("a", "elect-fast", 1.9, 2, 2.1), drilled("b", "elect-default", 10.9, 11.1)
	ask := deployment(t, "{shards: 100, members: 3, failures: {kill: 100}, election: 5s}")
	s := Simulate(ask, Evidence{Drills: []Drilled{fast, slow}}, record.Tool{})
	if f := s.Failures; f == nil || math.Abs(f.Down/float64(f.Outages)-6) > 0.5 {
		t.Errorf("%q, %+v", refusal(s), f)
	}
	// Outages that were measured on a mongod 4.4.6 with w: 1, elections after 1 s and after 10 s.
	s = Simulate(deployment(t, "{members: 3, failures: {kill: 10}, election: 10s}"), Evidence{Drills: []Drilled{
		drilled("fast-1", "elect-fast", 1.07), drilled("fast-2", "elect-fast", 1.13), drilled("default", "elect-default", 10.64),
	}}, record.Tool{})
	for _, c := range s.Checks {
		t.Logf("%s: %.3g s simulated, %.3g s measured, %+.1f %%", c.Setup, c.Simulated/1e9, c.Measured/1e9, 100*c.Error)
	}
	if s.Failures == nil || len(s.Checks) != 3 {
		t.Errorf("%q, %+v", refusal(s), s.Checks)
	}
	majority := drilled("b", "elect-fast", 2)
	majority.Specification.Run.Durability.W = "majority"
	for want, drills := range map[string][]Drilled{
		"differ in engine, members, durability": {fast, majority},
		"the outages of 2 drills are off":       {fast, drilled("b", "elect-fast", 3, 3)},
		"and the records have 1":                {fast},
		"elect after one time":                  {fast, drilled("b", "elect-fast", 2)},
		"the outages of 2 drills are off by":    {fast, drilled("b", "elect-default", 14)},
		"and the records have 0":                nil,
	} {
		s := Simulate(ask, Evidence{Drills: drills}, record.Tool{})
		if !strings.Contains(refusal(s), want) || s.Failures != nil {
			t.Errorf("refused with %q, want %q", refusal(s), want)
		}
	}
}

// A write of an open load that is due in an outage waits for its end. If more than a hundredth of the time is outages,
// that is the p99.
func TestSimulationOfWaitingWrites(t *testing.T) {
	h := measure.NewHistogram()
	h.RecordN(int64(9500*us), 1000)
	e := openEvidence(t, h)
	alone := func(dir string) Drilled {
		d := drilled(dir, "", 20, 20)
		for i := range d.Rounds {
			d.Rounds[i].Members = 1
		}
		return d
	}
	e.Drills = []Drilled{alone("a"), alone("b")}
	few := Simulate(deployment(t, "{load: {workers: 32, rate: 400}, failures: {kill: 1}, time: 1h}"), e, record.Tool{})
	many := Simulate(deployment(t, "{load: {workers: 32, rate: 400}, failures: {kill: 10}, time: 1h}"), e, record.Tool{})
	if few.Failures == nil || many.Failures == nil {
		t.Fatalf("%q, %q", refusal(few), refusal(many))
	}
	if a, b := *few.Failures.P99, *many.Failures.P99; a > int64(10500*us) || b < int64(10*time.Second) {
		t.Errorf("p99 %d with one outage, %d with ten", a, b)
	}
}

// measured are runs of the embedded store that were measured beside other programs, on virtual disks of the classes
// hdd-7200 (closed loads) and hdd-15k (open loads), and the probes of these disks, which were made before them.
func measured(t *testing.T, probe string, runs ...string) Evidence {
	t.Helper()
	const dir = "testdata/simulated/"
	dirs := []string{dir + "cal-1", dir + "cal-64", dir + probe + "/probe"}
	for _, r := range runs {
		dirs = append(dirs, dir+r)
	}
	e, err := OpenEvidence(dirs)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Measured runs are reproduced from the probe of their disk, and not from that of another one.
func TestSimulationOfMeasuredRuns(t *testing.T) {
	for _, c := range []struct {
		ask, probe string
		runs       []string
	}{
		{"{shards: 333, load: {workers: 10656}}", "closed", []string{"closed/r-4", "closed/r-16", "closed/r-64"}},
		{"{shards: 333, load: {workers: 21312, rate: 333k}}", "open", []string{"open/r-500", "open/r-1500"}},
	} {
		s := Simulate(deployment(t, c.ask), measured(t, c.probe, c.runs...), record.Tool{})
		for _, x := range s.Checks {
			t.Logf("%s, %s: %.4g simulated, %.4g measured, %+.1f %%", x.Setup, x.Metric, x.Simulated, x.Measured, 100*x.Error)
		}
		if s.Load == nil || len(s.Checks) != 2*len(c.runs) || len(s.LeftOut) > 0 {
			t.Errorf("%s: %q, left out %q, checks %+v", c.ask, refusal(s), s.LeftOut, s.Checks)
		}
	}
	s := Simulate(deployment(t, "{load: {workers: 32}}"), measured(t, "open", "closed/r-4", "closed/r-16"), record.Tool{})
	if !strings.Contains(refusal(s), "does not reproduce these records") || s.Load != nil {
		t.Errorf("with the probe of another disk: %q", refusal(s))
	}
}

// The deployment that the documentation shows can be read, and it names the findings of simulations.
func TestDocumentedDeployment(t *testing.T) {
	page, err := os.ReadFile("../../docs/size.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## Simulation\n")
	_, rest, _ := strings.Cut(section, "```yaml\n")
	text, _, found := strings.Cut(rest, "```")
	if d, err := spec.ReadDeployment(strings.NewReader(text)); err != nil || !found || d.Failures["kill"] != 200 {
		t.Errorf("%+v, %v", d, err)
	}
	all := spec.Deployment{Shards: 2, Members: 3, Slower: 1, Failures: map[string]spec.Count{"kill": 1}}
	for _, f := range assumptions(all) {
		if !strings.Contains(section, "`"+f.ID+"`") {
			t.Errorf("the finding %q is not in docs/size.md", f.ID)
		}
	}
}

// A study stands for its trials. Its record names no others.
func TestEvidenceOfStudy(t *testing.T) {
	dir := t.TempDir()
	trial := filepath.Join(dir, "trials", "0001-1")
	if err := os.CopyFS(trial, os.DirFS("testdata/simulated/closed/r-16")); err != nil {
		t.Fatal(err)
	}
	for name, runs := range map[string]int{"trials/0001-1": 1, "../elsewhere": -1} {
		text := fmt.Sprintf(`{"schema_version": %q, "kind": "study", "status": "complete", "trials": [
			{"number": 1, "attempt": 1, "kind": "trial", "status": "done", "record": %q},
			{"number": 2, "attempt": 1, "kind": "canary", "status": "done", "record": "trials/0002-1"}]}`, record.SchemaVersion, name)
		if err := os.WriteFile(filepath.Join(dir, "study.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if e, err := OpenEvidence([]string{dir}); (err != nil) != (runs < 0) || err == nil && len(e.Runs) != runs {
			t.Errorf("%s: %d runs, %v", name, len(e.Runs), err)
		}
	}
	if _, err := OpenEvidence([]string{t.TempDir()}); err == nil || !strings.Contains(err.Error(), "is not a record") {
		t.Errorf("an empty directory: %v", err)
	}
}
