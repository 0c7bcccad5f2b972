package fleettest

import (
	"context"
	"math/rand/v2"
	"os"
	"time"

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

// Whole returns the intervals of one process that has the operations of all clients.
func (s Streams) Whole(clients int) ([]*measure.Interval, error) { return s.intervals(0, clients) }

// intervals collects the operations of clients.
func (s Streams) intervals(from, to int) ([]*measure.Interval, error) {
	c, err := measure.NewCollector(measure.Options{Dims: dims(), Phase: load.PhaseMeasure})
	if err != nil {
		return nil, err
	}
	recorder := c.Recorder()
	for client := from; client < to; client++ {
		rng := rand.New(rand.NewPCG(uint64(client%different), 1))
		for i := range s.Seconds * s.Rate {
			took := int64(200_000 + rng.ExpFloat64()*300_000)
			end := int64(i)*int64(time.Second)/int64(s.Rate) + 1
			recorder.Record(&measure.Sample{End: end, Service: took, Response: took, Class: uint8(i % 2)})
		}
	}
	return c.Finish(time.Duration(s.Seconds) * time.Second)
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
		if streams[i], err = s.intervals(i, i+1); err != nil {
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
		began := time.Now()
		for i, iv := range streams[o.Client%different] {
			select {
			case <-time.After(time.Until(began.Add(time.Duration(i+1) * time.Second))):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			o.Progress.Interval(dims(), iv)
		}
		return &record.Run{Head: record.Head{Status: record.Complete}, Specification: asked}, nil
	}, nil
}
