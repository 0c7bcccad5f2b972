// Package recordtest writes records with known content: what a run, a study or a comparison would have left, made
// of seeded random numbers. Tests and benchmarks of pages use it; nothing in them was measured.
package recordtest

import (
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Run says what a record of a run is to look like.
type Run struct {
	// Warmup and Seconds are the lengths of the phases.
	Warmup, Seconds int
	// Rate is the operations per second; with Open they are offered in an open loop.
	Rate float64
	Open bool
	// Median is that of the service time of reads; updates take twice as long.
	Median time.Duration
	Seed   uint64
	// StallAt is a second of the measured time in which nothing succeeds, 0 for none.
	StallAt int
	// Name replaces all names that users or servers choose.
	Name string
	// Templates is the number of different seconds, which are repeated, for very long runs; 0 makes every second.
	Templates int
	// Sampled runs have samples of a machine and a server.
	Sampled bool
	// OnLab runs loaded a lab, of which StallAt powers a host off.
	OnLab bool
	// Service runs went through a REST service.
	Service bool
	// Change is called with what is known before the run.
	Change func(*spec.Run)
	// Validity is stored with the result.
	Validity []measure.Finding
}

// Started is the beginning of all runs.
var Started = time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)

// Dims are those of a run with reads and updates.
func (o Run) Dims() measure.Dims {
	return measure.Dims{
		Scheduled: o.Open,
		Classes:   []measure.Class{{Name: "read"}, {Name: "update"}},
		Outcomes: []measure.Outcome{{Name: "ok", Success: true}, {Name: "unacknowledged", Success: true}, {Name: "not-found"},
			{Name: "failed"}, {Name: "indeterminate"}, {Name: "overloaded"}},
	}
}

func (o Run) Write(dir string) (*record.Run, error) {
	if o.Name == "" {
		o.Name = "db.example:27017"
	}
	spec := o.spec()
	w, err := record.CreateRun(dir, record.Tool{Name: "plimsoll", Version: "1.2.3", Commit: "0123456789abcdef", Go: "go1.26"}, spec)
	if err != nil {
		return nil, err
	}
	w.SetCommand([]string{"plimsoll", "run", spec.Target, "--workload", "a", "--slo", "p99<20ms"})
	target := record.Target{
		Address: spec.Target, Kind: "mongod", Version: "8.0.4", Topology: "replica set of 3", SetName: "rs0",
		Hosts:    []string{o.Name, "b.example:27017", "c.example:27017"},
		Settings: map[string]string{"defaultWriteConcern.w": "majority", "storage.wiredTiger.cacheSizeGB": "4", "journal": "true"},
	}
	if strings.HasPrefix(spec.Target, "embedded:") {
		target = record.Target{Address: spec.Target, Kind: "embedded"}
	}
	w.SetTarget(target)
	w.SetClientSettings(map[string]string{"client": "wire", "connections": "16"})
	if o.Service {
		w.SetClientSettings(map[string]string{"client": "rest, and the driver in the service"})
		w.AddService("warmup", 300*time.Millisecond, 40<<20)
		w.AddService("measure", 2400*time.Millisecond, 48<<20)
	}
	if o.OnLab {
		w.SetLab(Lab(o.Name))
		w.SetLabAfter(LabAfter(o.Name))
	}
	w.SetEnvironment(environment())
	w.SetFill(record.FillResult{Records: 100_000, Present: 100_000, Counted: 100_000, Skipped: true})
	if err := w.Begin(o.Dims(), Started); err != nil {
		return nil, err
	}
	if err := o.play(w); err != nil {
		return nil, err
	}
	e := o.ending()
	objectives, err := measure.ParseObjectives(strings.Join(spec.Objectives, ","))
	if err != nil {
		return nil, err
	}
	if s := w.Summary("measure"); s != nil {
		e.Objectives = measure.EvaluateAll(objectives, s)
	}
	return w.Finish(e)
}

func (o Run) spec() spec.Run {
	s := spec.Run{
		Target:   "mongodb://" + o.Name + "/?replicaSet=rs0",
		Workload: spec.Workload{Name: "a", Seed: o.Seed + 1, Records: 100_000},
		Load: spec.Load{Workers: 16, Warmup: spec.Duration(time.Duration(o.Warmup) * time.Second),
			Duration: spec.Duration(time.Duration(o.Seconds) * time.Second)},
		Durability: spec.Durability{Name: "durable"},
		Objectives: []string{"p99<20ms", "errors<0.1%"},
		Labels:     map[string]string{"purpose": o.Name},
	}
	if o.Open {
		s.Load.Rate = spec.Rate(o.Rate)
	}
	s.Defaults()
	if o.Change != nil {
		o.Change(&s)
	}
	return s
}

func environment() record.Environment {
	load := 0.42
	return record.Environment{
		Host: "client-1", OS: "linux", Arch: "amd64", Kernel: "6.1.0-28-amd64", Distro: "Debian GNU/Linux 12", CPU: "Example CPU 3.0 GHz",
		Threads: 8, Cores: 8, MemoryBytes: 32 << 30, Governor: "performance", HugePages: "madvise", Clock: "tsc", Go: "go1.26", MaxProc: 8,
		Filesystems: []record.Filesystem{{Use: "record", Type: "ext4", Device: "/dev/nvme0n1p2", Options: "rw,relatime", Bytes: 500 << 30, Free: 200 << 30}},
		Load1:       &load,
	}
}

func (o Run) play(w *record.RunWriter) error {
	total := o.Warmup + o.Seconds
	at := func(s int) time.Duration { return time.Duration(s) * time.Second }
	events := map[int]measure.Event{
		0:        {At: 0, Kind: "phase", Text: "warmup"},
		o.Warmup: {At: at(o.Warmup), Kind: "phase", Text: "measure"},
	}
	if o.StallAt > 0 {
		s := o.Warmup + o.StallAt
		events[s] = measure.Event{At: at(s), Kind: "failing", Text: "operations fail, the first with: connection refused by " + o.Name}
		events[s+1] = measure.Event{At: at(s+1) + 40*time.Millisecond, Kind: "recovered", Text: "the first success after 1.04 s"}
		events[s+2] = measure.Event{At: at(s + 2), Kind: "primary-changed", Text: o.Name + " is primary"}
	}
	var made []*measure.Interval
	for s := range total {
		for _, e := range o.labEvents(s) {
			if err := w.Event(e); err != nil {
				return err
			}
		}
		if e, ok := events[s]; ok {
			if err := w.Event(e); err != nil {
				return err
			}
		}
		var iv *measure.Interval
		if o.Templates > 0 && len(made) == o.Templates {
			copied := *made[s%o.Templates]
			iv = &copied
		} else {
			iv = o.interval(s)
			made = append(made, iv)
		}
		iv.Phase, iv.Start, iv.End = "measure", at(s), at(s+1)
		if s < o.Warmup {
			iv.Phase = "warmup"
		}
		if err := w.Interval(iv); err != nil {
			return err
		}
		if err := o.samples(w, s); err != nil {
			return err
		}
	}
	return w.Event(measure.Event{At: at(total), Kind: "end", Text: "duration"})
}

func (o Run) interval(s int) *measure.Interval {
	r := rand.New(rand.NewPCG(o.Seed, uint64(s)))
	warm := 1 - 0.5*math.Exp(-float64(s+1)/4)
	n := int(o.Rate * warm * (1 + 0.03*r.NormFloat64()))
	stalled := o.StallAt > 0 && s == o.Warmup+o.StallAt
	iv := &measure.Interval{
		Classes: []measure.ClassInterval{{Counts: make([]int64, 6)}, {Counts: make([]int64, 6)}}, Workers: 16,
		InFlight: o.Rate * o.Median.Seconds() * 1.5, Samples: 10,
		Client: measure.ClientUse{CPU: time.Duration(n) * 12 * time.Microsecond, SchedP99: 90 * time.Microsecond,
			HeapBytes: 30 << 20},
	}
	if o.Open {
		iv.Offered = int64(o.Rate)
		iv.Lateness = measure.NewHistogram()
	}
	for i := range n {
		c := i % 2
		ns := int64(float64(o.Median) * float64(c+1) * math.Exp(0.45*r.NormFloat64()))
		if r.Float64() < 0.004 {
			ns *= 12 // the tail that a checkpoint makes
		}
		o.sample(&iv.Classes[c], r, ns, stalled)
		if o.Open && i%7 == 0 {
			iv.Lateness.Record(int64(20e3 * r.Float64()))
		}
	}
	if stalled {
		iv.Failures = []measure.FailureCount{{
			Failure: measure.Failure{Class: "update", Outcome: "indeterminate", Reason: "network", CodeName: o.Name},
			Count:   iv.Classes[1].Counts[4], First: time.Duration(s) * time.Second, Last: time.Duration(s+1) * time.Second,
			Example: "connection to " + o.Name + " was closed",
		}}
	}
	return iv
}

func (o Run) sample(c *measure.ClassInterval, r *rand.Rand, ns int64, stalled bool) {
	hist := func(h **measure.Histogram, v int64) {
		if *h == nil {
			*h = measure.NewHistogram()
		}
		(*h).Record(v)
	}
	wait := int64(0)
	if o.Open {
		wait = int64(float64(o.Median) * 0.2 * r.ExpFloat64())
		hist(&c.Wait, wait)
	}
	c.Attempts++
	switch {
	case stalled:
		c.Counts[4]++
		hist(&c.Failed, ns+wait+int64(time.Second))
		return
	case r.Float64() < 0.0004:
		c.Counts[3]++
		hist(&c.Failed, ns+wait)
		return
	}
	c.Counts[0]++
	c.Docs++
	c.Bytes += 1100
	hist(&c.Service, ns)
	if o.Open {
		hist(&c.Response, ns+wait)
	}
}

func (o Run) ending() record.Ending {
	start := time.Duration(o.Warmup) * time.Second
	end := start + time.Duration(o.Seconds)*time.Second
	return record.Ending{
		Status: record.Complete, Ended: Started.Add(end),
		Validity: append([]measure.Finding{}, o.Validity...),
		Course:   record.Course{WindowStart: int64(start), WindowEnd: int64(end), EndedBy: "duration"},
	}
}
