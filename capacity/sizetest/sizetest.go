// Package sizetest writes records of runs and studies whose results are made up, for tests of sizing that need known
// ones. They are written by the real writers and read like any other; nothing is loaded.
package sizetest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Run is a run with known results. Zero values are the ordinary ones.
type Run struct {
	Workload   string            // b
	File       string            // text of the workload file that Workload names
	Params     map[string]string // of the workload
	Records    int64             // 100,000
	Durability spec.Durability
	// Rate is what was offered per second; 0 is a closed loop of Workers (16). Achieved is what succeeded per second,
	// Rate if 0. Errors is the share that failed.
	Rate, Achieved, Errors float64
	Workers                int
	// P99 is where the slowest hundredth lies (10 ms); all others take a fifth of it.
	P99    time.Duration
	Target record.Target
	// Findings are its validity.
	Findings   []measure.Finding
	Series     []record.Series
	Objectives []measure.ObjectiveResult
	Status     record.Status // complete
}

// started is when all of them ran.
var started = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

const seconds = 10

func (r Run) withDefaults() Run {
	if r.Workload == "" {
		r.Workload = "b"
	}
	if r.Records == 0 {
		r.Records = 100_000
	}
	if r.Achieved == 0 {
		r.Achieved = r.Rate
	}
	if r.Workers == 0 {
		r.Workers = 16
	}
	if r.P99 == 0 {
		r.P99 = 10 * time.Millisecond
	}
	if r.Target.Address == "" {
		r.Target.Address = "mongodb://db.example:27017/"
	}
	if r.Target.Kind == "" {
		r.Target.Kind = "mongod"
	}
	if r.Status == "" {
		r.Status = record.Complete
	}
	if r.Target.Topology == "" {
		r.Target.Topology = "standalone"
	}
	return r
}

// WriteRun writes the record of a run.
func WriteRun(dir string, r Run) error {
	r = r.withDefaults()
	asked := spec.Run{
		Target: r.Target.Address, Workload: spec.Workload{Name: r.Workload, Records: spec.Count(r.Records), Params: r.Params},
		Load: spec.Load{Rate: spec.Rate(r.Rate), Workers: spec.Count(r.Workers),
			Duration: spec.Duration(seconds * time.Second)},
		Durability: r.Durability,
	}
	if r.File != "" { // which has its own counts
		asked.Workload.Records, asked.Workload.File = 0, &spec.WorkloadFile{Path: r.Workload, Text: r.File}
	}
	asked.Defaults()
	w, err := record.CreateRun(dir, record.Tool{Name: "plimsoll", Version: "1.2.3"}, asked)
	if err != nil {
		return err
	}
	w.SetTarget(r.Target)
	w.SetEnvironment(record.Environment{OS: "linux", Arch: "amd64", Cores: 4, Threads: 4, Go: "go1", MaxProc: 4})
	if err := w.Begin(r.dims(), started); err != nil {
		return err
	}
	for k := range int64(intervals) {
		if err := w.Interval(r.interval(k)); err != nil {
			return err
		}
	}
	course := record.Course{WindowEnd: int64(seconds * time.Second), Offered: int64(r.Rate * seconds), EndedBy: "duration"}
	if _, err := w.Finish(record.Ending{Status: r.Status, Ended: started.Add(seconds * time.Second), Course: course,
		Objectives: r.Objectives, Validity: r.Findings}); err != nil {
		return err
	}
	if len(r.Series) > 0 {
		return addSeries(dir, r.Series)
	}
	return nil
}

func (r Run) dims() measure.Dims {
	return measure.Dims{
		Classes:  []measure.Class{{Name: "read"}, {Name: "update"}},
		Outcomes: []measure.Outcome{{Name: "ok", Success: true}, {Name: "not-applied"}}, Scheduled: r.Rate > 0,
	}
}

// updates is the share of updates in the workloads that are made up here.
func (r Run) updates() float64 {
	switch r.Workload {
	case "a":
		return 0.5
	case "c":
		return 0
	}
	return 0.05
}

// intervals is the number of those of a run: enough episodes for percentiles.
const intervals = 5

// interval makes up one interval. All have the same counts, but for the rounding.
func (r Run) interval(k int64) *measure.Interval {
	part := func(n float64) int64 { return int64(n)*(k+1)/intervals - int64(n)*k/intervals }
	iv := &measure.Interval{Phase: "measure", Start: time.Duration(k) * seconds * time.Second / intervals,
		End: time.Duration(k+1) * seconds * time.Second / intervals, Offered: part(r.Rate * seconds), Workers: r.Workers}
	for i, share := range []float64{1 - r.updates(), r.updates()} {
		n := part(r.Achieved*seconds*share + 0.5)
		c := measure.ClassInterval{Counts: []int64{n, 0}, Attempts: n}
		if i == 0 {
			c.Counts[1] = part(r.Errors * r.Achieved * seconds)
		}
		if n > 0 {
			c.Service = measure.NewHistogram()
			slow := n * 15 / 1000
			c.Service.RecordN(int64(r.P99), slow)
			c.Service.RecordN(int64(r.P99)/5, n-slow)
			if r.Rate > 0 {
				c.Response, c.Wait = c.Service.Clone(), measure.NewHistogram()
				c.Wait.RecordN(0, n)
			}
		}
		iv.Classes = append(iv.Classes, c)
	}
	return iv
}

// addSeries puts series into a finished record and seals it again.
func addSeries(dir string, series []record.Series) error {
	path := filepath.Join(dir, record.RunFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var run record.Run
	if err := json.Unmarshal(b, &run); err != nil {
		return err
	}
	run.Series = series
	if b, err = json.Marshal(run); err != nil {
		return err
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		return err
	}
	return record.Seal(dir)
}

// WriteStudy writes a study and the records of its trials, by their directories relative to it.
func WriteStudy(dir string, s record.Study, trials map[string]Run) error {
	s.SchemaVersion, s.Kind, s.Started = record.SchemaVersion, record.KindStudy, started
	if s.Status == "" {
		s.Status = record.Complete
	}
	w, err := record.Create[*record.Study](dir, s.Specification)
	if err != nil {
		return err
	}
	for name, r := range trials {
		if err := WriteRun(filepath.Join(dir, name), r); err != nil {
			return err
		}
	}
	if err := w.Write(&s); err != nil {
		return err
	}
	return w.Close()
}
