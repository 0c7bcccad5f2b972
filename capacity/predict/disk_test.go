package predict

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

const (
	us = time.Microsecond
	ms = time.Millisecond
)

// ran is a run of updates in a closed loop: so many workers, and for each operation its time and its processor time.
func ran(t *testing.T, dir string, workers int, took, cpu time.Duration, class string) Calibration {
	t.Helper()
	journal := true
	r := &record.Run{Target: record.Target{Kind: "embedded"}, Classes: []measure.Class{{Name: class}},
		Specification: spec.Run{Workload: spec.Workload{Name: "f", Records: 1000, Params: map[string]string{
			"readproportion": "0", "readmodifywriteproportion": "0", class + "proportion": "1"}},
			Durability: spec.Durability{W: "1", Journal: &journal}}}
	r.Environment.Cores, r.Environment.MemoryBytes = 2, 8<<30
	s := measure.NewSummary(measure.Dims{Classes: r.Classes}, "measure")
	s.Classes[0].Service = measure.NewHistogram()
	s.Classes[0].Service.RecordN(int64(took), 10_000)
	rate := float64(workers) / took.Seconds()
	seconds := 10_000 / rate
	latency := record.NewLatency(s.Classes[0].Service)
	r.Phases = []record.PhaseResult{{Phase: "measure", Workers: workers, Seconds: seconds,
		Ended: measure.Tally{Attempted: 10_000},
		Rates: record.Rates{Achieved: rate}, All: record.ClassResult{Service: latency},
		Client: record.ClientResult{CPUSeconds: 10_000 * cpu.Seconds()}}}
	return Calibration{Dir: dir, Run: r, Summary: s}
}

// probed is a probe whose syncs always take the same time.
func probed(t *testing.T, took time.Duration, clients ...int) *record.Probe {
	t.Helper()
	p := &record.Probe{Specification: record.ProbeSpec{Log: spec.LogGrowing}}
	h := measure.NewHistogram()
	h.RecordN(int64(took), 1000)
	text, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range clients {
		p.Steps = append(p.Steps, record.ProbeStep{Profile: spec.ProbeJournal, Clients: c, Flushes: 1000,
			Operations: 1000 * int64(max(1, c/2)),
			Histograms: map[string]string{"flush": text}})
	}
	return p
}

// The probe appends what the server's own count says for a durable write; without a count, the size of a document.
func TestRecordBytes(t *testing.T) {
	c := ran(t, "one", 1, 50*us, 50*us, "update")
	c.Run.Specification.Workload = spec.Workload{Name: "a", Records: 1000}
	document, err := c.RecordBytes()
	if err != nil || document < 1000 {
		t.Errorf("%d bytes of a document, %v", document, err)
	}
	each := 156.8 // half of the operations of workload a are updates
	c.Run.Series = []record.Series{{Source: "server:a", Name: "log.syncs", PerOperation: &each},
		{Source: "server:a", Name: "log.written_bytes", PerOperation: &each}}
	if got, err := c.RecordBytes(); got != 314 || err != nil {
		t.Errorf("%d bytes of a journal record, %v", got, err)
	}
}

// With constant syncs and little software, the prediction is the one of the group commit: 1/S alone and C/(2S) among
// others. With fast syncs, the cores are the limit.
func TestPredictionOfDisk(t *testing.T) {
	cal := []Calibration{ran(t, "many", 32, 640*us, 40*us, "update"), ran(t, "one", 1, 50*us, 50*us, "update")}
	for _, c := range []struct {
		sync    time.Duration
		workers int
		rate    float64
	}{
		{5 * time.Millisecond, 1, 1 / 0.00505}, {5 * time.Millisecond, 2, 1 / 0.005},
		{5 * time.Millisecond, 16, 8 / 0.005},
		{10 * us, 64, 2 / 0.00004},
	} {
		got := Disk(probed(t, c.sync, 1, 2, 4, 8, 16, 32), cal, []int{c.workers})
		if got.Refused != "" || len(got.Points) != 1 {
			t.Fatalf("%v, %d workers: %q", c.sync, c.workers, got.Refused)
		}
		if p := got.Points[0]; math.Abs(p.Rate/c.rate-1) > 0.03 {
			t.Errorf("%v, %d workers: %.0f/s, want %.0f/s", c.sync, c.workers, p.Rate, c.rate)
		}
	}
}

// Disks to which other programs write do not matter to an engine whose files are in memory.
func TestCalibrationBesideOtherWriters(t *testing.T) {
	c := ran(t, "one", 1, time.Millisecond, time.Millisecond, "update")
	c.Run.Series = []record.Series{{Source: "host:a", Name: "disk.sda.writes", Mean: 1500}}
	c.Run.Target.Settings = map[string]string{"file_system": "tmpfs"}
	got := Disk(probed(t, time.Millisecond, 1, 2), []Calibration{c}, []int{1})
	if got.Refused != "" || len(got.Points) != 1 {
		t.Errorf("%+v", got)
	}
}

// A calibration or a probe that does not say what the model needs is refused in words.
func TestPredictionRefused(t *testing.T) {
	probe := probed(t, time.Millisecond, 1, 2)
	none := &record.Probe{Specification: record.ProbeSpec{Log: spec.LogGrowing}}
	change := func(f func(c *Calibration)) []Calibration {
		c := ran(t, "one", 1, time.Millisecond, time.Millisecond, "update")
		f(&c)
		return []Calibration{c}
	}
	run := func(f func(r *record.Run)) []Calibration { return change(func(c *Calibration) { f(c.Run) }) }
	fine := change(func(*Calibration) {})
	smaller := change(func(c *Calibration) { c.Run.Specification.Workload.Records = 7 })
	disk := []record.Series{{Source: "host:a", Name: "disk.sda.writes", Mean: 1500}}
	for want, c := range map[string]struct {
		p    *record.Probe
		list []Calibration
	}{
		"no calibration has one worker":            {probe, run(func(r *record.Run) { r.Phases[0].Workers = 2 })},
		"its writes do not wait for the journal":   {probe, run(func(r *record.Run) { r.Specification.Durability.Journal = nil })},
		"the run has an offered rate":              {probe, run(func(r *record.Run) { r.Scheduled = true })},
		"calibrate on a filesystem in memory":      {probe, run(func(r *record.Run) { r.Series = disk })},
		"do not fit into half of":                  {probe, run(func(r *record.Run) { r.Environment.MemoryBytes = 1 << 20 })},
		"it is not known how mongos writes":        {probe, run(func(r *record.Run) { r.Target.Kind = "mongos" })},
		"writes wait for other members too":        {probe, run(func(r *record.Run) { r.Target.Hosts = []string{"a:1", "b:1"} })},
		"the processor time of the server is not":  {probe, run(func(r *record.Run) { r.Target.Kind = "mongod" })},
		"keeps the lock of a document until":       {probe, run(func(r *record.Run) { r.Target.Kind = "ferretdb" })},
		"the probe has no step of the profile":     {none, fine},
		"probe with --log growing":                 {&record.Probe{}, fine},
		"the calibrations are of different things": {probe, append(fine, smaller...)},
		"more than twice as many are not":          {probe, fine},
	} {
		if got := Disk(c.p, c.list, []int{64}); !strings.Contains(got.Refused, want) || len(got.Points) > 0 {
			t.Errorf("refused with %q, want %q", got.Refused, want)
		}
	}
}

// Runs with the same workers are compared; the others are listed with a reason.
func TestPredictionHeld(t *testing.T) {
	cal := []Calibration{ran(t, "one", 1, time.Millisecond/10, time.Millisecond/10, "update")}
	p := Disk(probed(t, 4*time.Millisecond, 1, 2), cal, []int{1, 2})
	slower := ran(t, "slower", 1, 5*time.Millisecond, time.Millisecond/10, "update")
	other := ran(t, "other", 1, time.Millisecond, time.Millisecond, "update")
	other.Run.Target.Kind = "mongod"
	held := Hold(p, []Calibration{slower, other, ran(t, "more", 7, time.Millisecond, time.Millisecond, "update")})
	m := held.Points[0].Measured
	if m == nil || !slices.Equal(m.Records, []string{"slower"}) || math.Abs(m.RateError-0.22) > 0.02 ||
		math.Abs(m.P99Error+0.18) > 0.02 {
		t.Errorf("measured %+v", m)
	}
	if held.Points[1].Measured != nil || p.Points[0].Measured != nil || len(held.LeftOut) != 2 ||
		*held.RateError != math.Abs(m.RateError) {
		t.Errorf("held %+v", held)
	}
}
