package predict

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// checkpointEvidence is of a mongod whose cache writes 60 MB in each minute, on a disk that writes 4 MB/s during a
// checkpoint. So a checkpoint takes 15 s of 60 s. A sync takes 5 ms, and 5 ms more during it: each worker does an
// operation in 10 ms, and in 20 ms during it.
func checkpointEvidence(t *testing.T) Evidence {
	t.Helper()
	mongod := func(c Calibration) Calibration {
		ph := &c.Run.Phases[0]
		c.Run.Target.Kind, c.Run.Target.Hosts, ph.Seconds = "mongod", []string{"127.0.0.1:27017"}, 120
		c.Run.Series = append(c.Run.Series, record.Series{Source: "host:this", Name: "cpu.used", Mean: ph.Client.CPUSeconds / 120})
		c.Run.Specification.Workload.Params["requestdistribution"] = "uniform"
		return c
	}
	p := probed(t, 5*ms, 1, 8)
	p.Specification.Log = spec.LogReserved
	texts := map[string]string{}
	for name, took := range map[string]time.Duration{"inside": 10 * ms, "outside": 5 * ms} {
		h := measure.NewHistogram()
		h.RecordN(int64(took), 1000)
		text, err := h.Encode()
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = text
	}
	p.Steps = append(p.Steps, record.ProbeStep{Profile: spec.ProbeCheckpoint, Histograms: texts})
	p.Checkpoint = &record.ProbeCheckpointResult{Checkpoints: 3, Reached: 4e6}
	e := Evidence{Probes: []*record.Probe{p}}
	for _, c := range []Calibration{ran(t, "one", 1, 50*us, 50*us, "update"), ran(t, "many", 8, 200*us, 50*us, "update")} {
		c = mongod(c)
		c.Run.Target.Settings = map[string]string{"file_system": "tmpfs"}
		c.Run.Series = append(c.Run.Series, record.Series{Source: "server:a", Name: "cache.written_bytes", Mean: 1e6})
		e.Runs = append(e.Runs, c)
	}
	for _, workers := range []int{4, 8} {
		c := mongod(ran(t, "r", workers, time.Second/350*4, 50*us, "update"))
		h := measure.NewHistogram()
		h.RecordN(int64(10*ms), 6000)
		h.RecordN(int64(20*ms), 1000)
		c.Summary.Classes[0].Service = h
		e.Runs = append(e.Runs, c)
	}
	return e
}

// A shard does what it does in both states, by their shares of the time: 400/s for 45 s and 200/s for 15 s.
func TestSimulationOfCheckpoints(t *testing.T) {
	ask := deployment(t, "{load: {workers: 4}}")
	s := Simulate(ask, checkpointEvidence(t), record.Tool{})
	if s.Load == nil {
		t.Fatalf("%q, checks %+v, left out %q", refusal(s), s.Checks, s.LeftOut)
	}
	if l := s.Load; math.Abs(l.Rate/350-1) > 0.02 || math.Abs(l.Checkpoints-0.25) > 0.005 ||
		math.Abs(float64(l.P99)/20e6-1) > 0.03 || math.Abs(float64(l.P50)/10e6-1) > 0.03 {
		t.Errorf("%+v", l)
	}
	if len(s.Checks) != 4 || !strings.Contains(s.Checks[0].Setup, "with checkpoints") || len(s.LeftOut) > 0 {
		t.Errorf("checks %+v, left out %q", s.Checks, s.LeftOut)
	}
	for want, change := range map[string]func(e *Evidence){
		"checkpoints: the probe has no complete step": func(e *Evidence) { e.Probes[0].Checkpoint = nil },
		"checkpoints: no calibration of at least 1m0s": func(e *Evidence) {
			e.Runs[0].Run.Series, e.Runs[1].Run.Phases[0].Seconds = e.Runs[0].Run.Series[:1], 30
		},
		"checkpoints: 1 of the runs that do not calibrate are at least": func(e *Evidence) { e.Runs[2].Run.Phases[0].Seconds = 30 },
	} {
		e := checkpointEvidence(t)
		change(&e)
		s := Simulate(ask, e, record.Tool{})
		if !strings.Contains(strings.Join(s.LeftOut, "\n"), want) || s.Load != nil {
			t.Errorf("left out %q without %q, %+v", s.LeftOut, want, s.Load)
		}
	}
	// An open load that is not carried while a checkpoint runs depends on how long it runs.
	m, err := newDeploymentModel(func() *Evidence { e := checkpointEvidence(t); return &e }(), false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.simulate(setup{workers: 4, rate: 300, members: 1, checkpoints: true}); err == nil ||
		!strings.Contains(err.Error(), "while a checkpoint runs") {
		t.Errorf("300/s of 200/s: %v", err)
	}
}
