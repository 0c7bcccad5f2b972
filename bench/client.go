package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/mongo"
	"github.com/plimsoll-bench/plimsoll/store/wire"
	"github.com/plimsoll-bench/plimsoll/workload"
	"github.com/plimsoll-bench/plimsoll/workload/own"
)

// job describes the run of a client process of Plimsoll: key choice, messages, classification of the replies and
// histograms.
type job struct {
	Addr       string        `json:"addr"`
	Client     string        `json:"client"` // wire or driver
	Operation  string        `json:"operation"`
	File       string        `json:"file,omitempty"` // text of a workload file, in place of the operation
	Workers    int           `json:"workers"`
	Operations int64         `json:"operations,omitempty"`
	Rate       float64       `json:"rate,omitempty"`
	Duration   time.Duration `json:"duration,omitempty"`
	Memory     bool          `json:"memory,omitempty"` // measure the live heap
}

// outcome is the result of a client process.
type outcome struct {
	Operations int64   `json:"operations"`
	CPUMicros  float64 `json:"cpu_us_per_op"`
	Seconds    float64 `json:"seconds"`
	Failed     int64   `json:"failed"`

	PeakKiB  int64         `json:"peak_kib"` // VmHWM
	HalfKiB  int64         `json:"half_kib"` // live heap in the middle of the run, with job.Memory
	EndKiB   int64         `json:"end_kib"`  // live heap in its last second
	Lateness time.Duration `json:"lateness_p99,omitempty"`
	Service  []int64       `json:"service,omitempty"`  // quantiles in ns, by quantiles
	Response []int64       `json:"response,omitempty"` // of scheduled loads
	Noticed  []int64       `json:"noticed,omitempty"`  // service time until the worker continued

	Busy     float64  `json:"busy,omitempty"`     // share of the busiest event loop
	Findings []string `json:"findings,omitempty"` // about the client, with severities
}

// quantiles are reported and compared; 1 is the maximum.
func quantiles() []float64 { return []float64{0.5, 0.9, 0.99, 0.999, 1} }

// warmUp is the number of operations of a client before the measurement. Buffers grow and connections open in them.
const warmUp = 5000

func playClient(arg string) error {
	var j job
	if err := json.Unmarshal([]byte(arg), &j); err != nil {
		return err
	}
	out, err := j.run(context.Background())
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// play runs the job in a process, against a responder of its own.
func (j job) play(ctx context.Context, t timing) (o outcome, err error) {
	addr, stop, err := startResponder(ctx, t)
	if err != nil {
		return o, err
	}
	defer stop()
	j.Addr = addr
	cmd, err := child(ctx, roleClient, j)
	if err != nil {
		return o, err
	}
	return o, runJSON(cmd, &o)
}

func (j job) run(ctx context.Context) (outcome, error) {
	st, err := j.open(ctx)
	if err != nil {
		return outcome{}, err
	}
	defer st.Close()
	w, err := j.workload()
	if err != nil {
		return outcome{}, err
	}
	cfg := load.Config{Workers: j.Workers, Operations: j.Operations, Rate: j.Rate, Duration: j.Duration}
	if cfg.Operations > 0 {
		warm := load.Config{Workers: j.Workers, Operations: warmUp}
		if _, err := load.Run(ctx, warm, w, st, newSink(w, false)); err != nil {
			return outcome{}, err
		}
	}
	s := newSink(w, cfg.Scheduled())
	if j.Memory {
		s.heapAt = [2]time.Duration{j.Duration / 2, j.Duration - time.Second}
	}
	var before time.Duration
	var start time.Time
	// All sessions are open then, as are the connections of the C loop when its clock starts.
	cfg.Ready = func(context.Context) error {
		before, start = measure.ProcessCPU(), time.Now()
		return nil
	}
	_, err = load.Run(ctx, cfg, w, st, s)
	used, took := measure.ProcessCPU()-before, time.Since(start)
	if err != nil {
		return outcome{}, err
	}
	return s.outcome(used, took)
}

// mixed is half reads and half updates: YCSB's workload A.
const mixed = "mixed"

func (j job) workload() (workload.Workload, error) {
	if j.File != "" {
		return own.Open(workload.Spec{Text: j.File, Seed: 1})
	}
	params := map[string]string{
		"readproportion": "0", "updateproportion": "0", "insertproportion": "0",
		"scanproportion": "0", "readmodifywriteproportion": "0", "requestdistribution": "zipfian",
	}
	if j.Operation == mixed {
		params["readproportion"], params["updateproportion"] = "0.5", "0.5"
	} else {
		params[j.Operation+"proportion"] = "1"
	}
	return workload.Open(workload.Spec{Name: "core", Records: 100_000, Operations: j.Operations, Seed: 1, Params: params})
}

func (j job) open(ctx context.Context) (store.Store, error) {
	cfg := store.Config{
		Target: "mongodb://" + j.Addr + "/?directConnection=true", Database: "ycsb",
		Concern: store.Concern{W: "1"}, Sessions: j.Workers, Timeout: 10 * time.Second,
	}
	switch j.Client {
	case clientWire:
		return wire.Open(ctx, cfg)
	case clientDriver:
		return mongo.Open(ctx, cfg, mongo.Options{})
	}
	return nil, fmt.Errorf("unknown client %q", j.Client)
}

// sink adds up a run and keeps no interval.
type sink struct {
	sum    *measure.Summary
	heapAt [2]time.Duration // when to measure the live heap, 0 for never
	live   [2]int64         // KiB
}

func newSink(w workload.Workload, scheduled bool) *sink {
	return &sink{sum: measure.NewSummary(load.Dims(w, scheduled), load.PhaseMeasure)}
}

func (s *sink) Interval(iv *measure.Interval) error {
	for i, at := range s.heapAt {
		if at > 0 && s.live[i] == 0 && iv.End >= at {
			s.live[i] = liveKiB()
		}
	}
	if iv.Phase == load.PhaseDrain {
		return s.sum.AddTail(iv)
	}
	return s.sum.Add(iv)
}

func (s *sink) Event(measure.Event) error { return nil }

func (s *sink) outcome(used, took time.Duration) (outcome, error) {
	all, err := s.sum.All()
	if err != nil {
		return outcome{}, err
	}
	tally := s.sum.Tally() // includes the operations that ended after the window
	out := outcome{
		Operations: tally.Succeeded, Failed: tally.Bad(), Seconds: took.Seconds(),
		PeakKiB: peakKiB(), HalfKiB: s.live[0], EndKiB: s.live[1], Lateness: s.sum.Client.LatenessP99,
		Service: read(all.Service), Response: read(all.Response), Noticed: read(s.sum.Noticed), Busy: s.sum.Client.LoopBusy,
	}
	for _, f := range measure.Judge(s.sum, measure.Circumstances{Cores: record.NewEnvironment(nil).Cores}) {
		if strings.HasPrefix(f.ID, "client-") {
			out.Findings = append(out.Findings, fmt.Sprintf("%s %s", f.Severity, f.ID))
		}
	}
	if tally.Attempted > 0 {
		out.CPUMicros = float64(used.Nanoseconds()) / 1e3 / float64(tally.Attempted)
	}
	return out, nil
}

// peakKiB is the largest resident set of this process until now, 0 if it is not known.
func peakKiB() int64 {
	self, err := procfs.Self()
	if err != nil {
		return 0
	}
	status, err := self.NewStatus()
	if err != nil {
		return 0
	}
	return int64(status.VmHWM / 1024)
}

// liveKiB is the size of the heap that is in use, after a collection.
func liveKiB() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc / 1024)
}

func read(h *measure.Histogram) []int64 {
	if h == nil || h.Count() == 0 {
		return nil
	}
	var out []int64
	for _, q := range quantiles() {
		if q == 1 {
			out = append(out, h.Max())
		} else {
			out = append(out, h.Quantile(q))
		}
	}
	return out
}
