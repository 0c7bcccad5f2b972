package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/mongo"
	"github.com/plimsoll-bench/plimsoll/store/wire"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// job describes the run of a client process of Plimsoll: key choice, messages, classification of the replies and
// histograms.
type job struct {
	Addr       string        `json:"addr"`
	Client     string        `json:"client"` // wire or driver
	Operation  string        `json:"operation"`
	Workers    int           `json:"workers"`
	Operations int64         `json:"operations,omitempty"`
	Rate       float64       `json:"rate,omitempty"`
	Duration   time.Duration `json:"duration,omitempty"`
}

// outcome is the result of a client process.
type outcome struct {
	Operations int64   `json:"operations"`
	CPUMicros  float64 `json:"cpu_us_per_op"`
	Seconds    float64 `json:"seconds"`
	Failed     int64   `json:"failed"`
}

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
	return s.outcome(used, took), nil
}

func (j job) workload() (workload.Workload, error) {
	params := map[string]string{
		"readproportion": "0", "updateproportion": "0", "insertproportion": "0",
		"scanproportion": "0", "readmodifywriteproportion": "0", "requestdistribution": "zipfian",
	}
	params[j.Operation+"proportion"] = "1"
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
type sink struct{ sum *measure.Summary }

func newSink(w workload.Workload, scheduled bool) *sink {
	return &sink{sum: measure.NewSummary(load.Dims(w, scheduled), load.PhaseMeasure)}
}

func (s *sink) Interval(iv *measure.Interval) error {
	if iv.Phase == load.PhaseDrain {
		return s.sum.AddTail(iv)
	}
	return s.sum.Add(iv)
}

func (s *sink) Event(measure.Event) error { return nil }

func (s *sink) outcome(used, took time.Duration) outcome {
	tally := s.sum.Tally() // includes the operations that ended after the window
	out := outcome{Operations: tally.Succeeded, Failed: tally.Bad(), Seconds: took.Seconds()}
	if tally.Attempted > 0 {
		out.CPUMicros = float64(used.Nanoseconds()) / 1e3 / float64(tally.Attempted)
	}
	return out
}
