package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/fleet/fleettest"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// agentStreams are what agents play, and agentCount how many there are. One of them lies.
var agentStreams = fleettest.Streams{Seconds: 3, Rate: 200}

const agentCount = 3

// agentFindings are the findings that accuse an agent. Agents that a busy machine starts apart are not accused:
// clients-uneven and client-skew are true of them.
var agentFindings = []string{"client-lost", "client-intervals"}

// performer is a part of a run, as an agent performs it.
type performer func(context.Context, spec.Run, run.Options) (*record.Run, error)

func agentFamily() family {
	var play performer
	f := family{name: "agents", verdict: "`plimsoll run` with several agents: the merged record, with the findings `" +
		strings.Join(agentFindings, "`, `") + "`", parallel: 24,
		start: func(context.Context, config) (stop func() error, err error) {
			play, err = agentStreams.Player()
			return nil, err
		},
		notFound: []string{
			"An agent whose record agrees with its forged intervals.",
			"An agent that sends another load than it was ordered to send, and counts what it sent.",
		},
	}
	for _, l := range agentLies() {
		try := func(ctx context.Context, t *trial) (answer, error) { return l.try(ctx, t, play) }
		f.rows = append(f.rows, row{name: l.name, lie: l.lie, honest: l.honest, goal: l.goal, small: 4, full: l.full,
			try: try, notFound: l.notFound})
	}
	return f
}

// agentLie is what one agent does with its intervals.
type agentLie struct {
	name, lie, honest, notFound string
	goal                        goal
	full                        int
	// meddle sends what the agent tells of its interval number i, of which the lie is to begin at from. An error ends the
	// agent.
	meddle func(o agentOutput, i int, iv *measure.Interval) error
	delays bool // frames come late
}

// agentOutput is where an agent sends its intervals.
type agentOutput struct {
	dims measure.Dims
	send func(*measure.Interval)
	at   int // the interval with which the agent lies
}

var errDies = errors.New("the agent dies")

func agentLies() []agentLie {
	each := func(lie func(agentOutput, *measure.Interval) error) func(agentOutput, int, *measure.Interval) error {
		return func(o agentOutput, i int, iv *measure.Interval) error {
			if i == o.at {
				return lie(o, iv)
			}
			o.send(iv)
			return nil
		}
	}
	honest := each(func(o agentOutput, iv *measure.Interval) error { o.send(iv); return nil })
	return []agentLie{
		{name: "dies", lie: "an agent ends in the middle of the run", goal: everyOne, full: 200,
			meddle: each(func(agentOutput, *measure.Interval) error { return errDies })},
		{name: "repeats", lie: "an agent sends one interval twice", goal: everyOne, full: 200,
			meddle: each(func(o agentOutput, iv *measure.Interval) error { o.send(iv); o.send(iv); return nil })},
		{name: "omits", lie: "an agent leaves out one interval", goal: everyOne, full: 200,
			meddle: each(func(agentOutput, *measure.Interval) error { return nil })},
		{name: "moves", lie: "an agent sends the operations of one interval as those of another time", goal: everyOne, full: 200,
			meddle: each(func(o agentOutput, iv *measure.Interval) error {
				moved := *iv
				moved.Start, moved.End = moved.Start+time.Second, moved.End+time.Second
				o.send(&moved)
				return nil
			})},
		{name: "forges-counts", lie: "an agent sends an interval with twice the operations", goal: everyOne, full: 200,
			meddle: each(func(o agentOutput, iv *measure.Interval) error {
				sum, err := measure.Merge(o.dims, []*measure.Interval{iv, iv})
				if err != nil {
					return err
				}
				doubled := *iv
				doubled.Classes = sum.Classes
				o.send(&doubled)
				return nil
			})},
		{name: "forges-latencies", lie: "an agent sends an interval with the latencies of another one and the right counts",
			goal: unclaimed, full: 50, notFound: "latencies are taken from the intervals alone, and are compared with nothing",
			meddle: each(func(o agentOutput, iv *measure.Interval) error {
				forged := *iv
				forged.Classes = slices.Clone(iv.Classes)
				forged.Classes[0], forged.Classes[1] = forged.Classes[1], forged.Classes[0]
				o.send(&forged)
				return nil
			})},
		{name: "plain", honest: "agents that play", goal: none, full: 300, meddle: honest},
		{name: "slow-link", honest: "messages of one agent arrive up to 300 ms late", goal: none, full: 200, meddle: honest,
			delays: true},
	}
}

func (l agentLie) try(ctx context.Context, t *trial, play performer) (answer, error) {
	dir, err := t.dir()
	if err != nil {
		return 0, err
	}
	p := &agentPlacer{lie: l, t: t, play: play, dir: dir, liar: t.rand.IntN(agentCount),
		at: t.rand.IntN(agentStreams.Seconds)}
	defer p.all.Wait()
	out := filepath.Join(dir, "record")
	got, err := fleet.Execute(ctx, agentStreams.Spec(agentCount), run.Options{Dir: out},
		fleet.Options{Places: func(string) (fleet.Placer, error) { return p, nil }})
	if err != nil { // such as no common second on a busy machine: there is no record to believe
		t.say("%v", err)
		return notPlanted, nil
	}
	for _, f := range got.Validity {
		if slices.Contains(agentFindings, f.ID) && f.Severity != measure.Note {
			t.say("%s: %s", f.ID, f.Text)
			return accused, nil
		}
	}
	return cleared, nil
}

// agentPlacer places agents in this process.
type agentPlacer struct {
	lie  agentLie
	t    *trial
	play performer
	dir  string
	liar int // number of the agent that lies
	at   int // the interval with which it lies
	all  sync.WaitGroup
}

// agentLink is the coordinator's side of a wire in this process.
type agentLink struct {
	fleet.Wire
	name string
	end  func()
}

func (l *agentLink) Facts() fleet.Facts {
	return fleet.Facts{Protocol: fleet.Protocol, Name: l.name, Host: l.name, Machine: l.name}
}

func (l *agentLink) Break() { l.end() }

func (p *agentPlacer) Place(_ context.Context, n int, _ func(string)) (links []fleet.Link, err error) {
	for i := range n {
		toAgent, fromCoordinator := io.Pipe()
		toCoordinator, fromAgent := io.Pipe()
		end := func() { toAgent.CloseWithError(io.ErrClosedPipe); fromAgent.CloseWithError(errDies) }
		links = append(links, &agentLink{fleet.Pipe(toCoordinator, fromCoordinator), fmt.Sprintf("agent-%d", i), end})
		agent := fleet.Agent{Dir: p.dir, Run: performer(p.play)}
		wire := fleet.Pipe(toAgent, fromAgent)
		if i == p.liar {
			agent.Run = p.lying(end)
			if p.lie.delays {
				wire = &lateWire{Wire: wire, delay: time.Duration(p.t.rand.IntN(300)) * time.Millisecond}
			}
		}
		p.all.Go(func() {
			_ = agent.Serve(context.Background(), wire) // its errors are what the coordinator sees as a loss
		})
	}
	return links, nil
}

func (p *agentPlacer) End() error { return nil }

// lying performs a part of the load and gives its intervals to the lie. end breaks the wire.
func (p *agentPlacer) lying(end func()) performer {
	return func(ctx context.Context, asked spec.Run, o run.Options) (*record.Run, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		o.Progress = &lyingProgress{Progress: o.Progress, p: p, dies: func() { end(); cancel() }}
		return p.play(ctx, asked, o)
	}
}

type lyingProgress struct {
	run.Progress
	p    *agentPlacer
	n    int
	dies func()
}

func (l *lyingProgress) Interval(d measure.Dims, iv *measure.Interval) {
	i := l.n
	l.n++
	o := agentOutput{dims: d, at: l.p.at, send: func(iv *measure.Interval) { l.Progress.Interval(d, iv) }}
	if iv.Phase != load.PhaseMeasure {
		o.send(iv)
		return
	}
	if err := l.p.lie.meddle(o, i, iv); err != nil {
		l.dies()
	}
}

// lateWire delays what an agent sends.
type lateWire struct {
	fleet.Wire
	delay time.Duration
}

// The agent waits, as behind a slow network.
func (w *lateWire) Send(frame []byte) {
	time.Sleep(w.delay)
	w.Wire.Send(frame)
}
