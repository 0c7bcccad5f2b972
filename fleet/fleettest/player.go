package fleettest

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
)

// Streams are reads and updates of clients, the same in every process. An agent that plays its stream instead of
// sending a load needs little of its machine, so that one machine has a thousand.
type Streams struct {
	Seconds int
	Rate    int // operations of a client per second
}

// different is how many streams differ. Clients play them in turn.
const different = 16

// Spec is a run of clients that play.
func (s Streams) Spec(clients int) spec.Run {
	asked := spec.Run{Target: "null:", Workload: spec.Workload{Name: "a", Records: 100}}
	asked.Load.Clients, asked.Load.Workers = spec.Count(clients), spec.Count(clients)
	asked.Load.Duration = spec.Duration(time.Duration(s.Seconds) * time.Second)
	asked.Defaults()
	asked.Load.Warmup = 0
	return asked
}

// Bucket is a bucket of a histogram in one second of a run.
type Bucket struct {
	Second int
	Class  int
	Value  int64
}

// Compare compares the record of clients that played with the one of a single process that has the operations of all of
// them. A client that a busy machine started half a second late or more has its operations in later seconds, in both.
// It returns the buckets of the single process and those of the record.
func (s Streams) Compare(dir string) (whole, merged map[Bucket]int64, err error) {
	r, err := record.OpenRun(dir)
	if err != nil {
		return nil, nil, err
	}
	late := make([]int, len(r.Clients))
	for i, c := range r.Clients {
		late[i] = int(time.Duration(max(0, c.StartSkew)).Round(time.Second) / time.Second)
	}
	intervals, err := s.intervals(0, late)
	if err != nil {
		return nil, nil, err
	}
	whole, merged = map[Bucket]int64{}, map[Bucket]int64{}
	for _, iv := range intervals {
		addBuckets(whole, iv)
	}
	_, err = record.EachInterval(dir, func(iv *measure.Interval) error { addBuckets(merged, iv); return nil })
	return whole, merged, err
}

func addBuckets(to map[Bucket]int64, iv *measure.Interval) {
	for class := range iv.Classes {
		for value, n := range iv.Classes[class].Service.Buckets() {
			to[Bucket{int(iv.Start / time.Second), class, value}] += n
		}
	}
}

// intervals collects the operations of clients, of which the first one plays the given stream. Each is some seconds
// late.
func (s Streams) intervals(first int, late []int) ([]*measure.Interval, error) {
	c, err := measure.NewCollector(measure.Options{Dims: dims(), Phase: load.PhaseMeasure})
	if err != nil {
		return nil, err
	}
	recorder := c.Recorder()
	for client, seconds := range late {
		rng := rand.New(rand.NewPCG(uint64((first+client)%different), 1))
		for i := range s.Seconds * s.Rate {
			took := int64(200_000 + rng.ExpFloat64()*300_000)
			end := int64(seconds)*int64(time.Second) + int64(i)*int64(time.Second)/int64(s.Rate) + 1
			recorder.Record(&measure.Sample{End: end, Service: took, Response: took, Class: uint8(i % 2)})
		}
	}
	return c.Finish(time.Duration(s.Seconds+slices.Max(late)) * time.Second)
}

func dims() measure.Dims {
	d := measure.Dims{Classes: []measure.Class{{Name: "read"}, {Name: "update"}}}
	for i, name := range store.Outcomes() {
		d.Outcomes = append(d.Outcomes, measure.Outcome{Name: name, Success: store.Outcome(i).Success()})
	}
	return d
}

// Player returns a function for fleet.Agent.Run that plays the stream of its client, an interval each second.
func (s Streams) Player() (func(context.Context, spec.Run, run.Options) (*record.Run, error), error) {
	var streams [different][]*measure.Interval
	for i := range streams {
		var err error
		if streams[i], err = s.intervals(i, []int{0}); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, asked spec.Run, o run.Options) (*record.Run, error) {
		if err := os.Mkdir(o.Dir, 0o700); err != nil { // a record without files
			return nil, err
		}
		if err := o.Ready(ctx); err != nil {
			return nil, err
		}
		began, sum := time.Now(), measure.Tally{}
		for i, iv := range streams[o.Share.Client%different] {
			if wait.Sleep(ctx, time.Until(began.Add(time.Duration(i+1)*time.Second))) != nil {
				return nil, ctx.Err()
			}
			sum = sum.Add(iv.Tally(dims()))
			o.Progress.Interval(dims(), iv)
		}
		return &record.Run{Head: record.Head{Status: record.Complete}, Specification: asked,
			Phases: []record.PhaseResult{{Phase: load.PhaseMeasure, Counts: sum}}}, nil
	}, nil
}
