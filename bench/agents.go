package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/procfs"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/fleet/fleettest"
	"github.com/plimsoll-bench/plimsoll/fleet/nats"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	runs "github.com/plimsoll-bench/plimsoll/run"
)

const (
	roleCoordinator = "coordinator"
	roleAgents      = "agents"
)

// playedStreams are what agents play: 10 s with 1,000 operations per second.
var playedStreams = fleettest.Streams{Seconds: 10, Rate: 1000}

// agentsAtMost bounds one run, with the registration of its agents.
const agentsAtMost = 5 * time.Minute

// coordination is what one run cost its coordinator.
type coordination struct {
	Cores   float64         `json:"cores"`
	PeakKiB int64           `json:"peak_kib"`
	Skews   []time.Duration `json:"skews"`
	Bytes   float64         `json:"bytes_per_second"` // received from agents
	Placed  time.Duration   `json:"placed"`           // until all agents had joined
	Equal   bool            `json:"equal"`
}

// agentsGrowth shows what agents cost the coordinator of a run, from 10 to 1,000.
func agentsGrowth(ctx context.Context, w io.Writer, _ config) error {
	fmt.Fprintf(w, "\nAgents of one run, %d operations/s and an interval per second each, over the embedded NATS server\n",
		playedStreams.Rate)
	fmt.Fprintln(w, "  (goals with 1,000: under 1 core, every start within 10 ms, the record of one process bucket by bucket)")
	fmt.Fprintln(w, "  agents   cores  peak MiB  start p50  start max    MB/s  all joined  record")
	for _, n := range []int{10, 30, 100, 300, 1000} {
		limited, cancel := context.WithTimeout(ctx, agentsAtMost)
		c, err := coordinate(limited, n)
		cancel()
		if err != nil {
			return fmt.Errorf("%d agents: %w", n, err)
		}
		same := "differs"
		if c.Equal {
			same = "equal"
		}
		fmt.Fprintf(w, "  %6d  %6.3f  %8.0f  %6.1f ms  %6.1f ms  %6.2f  %8.1f s  %s\n", n, c.Cores, float64(c.PeakKiB)/1024,
			ms(c.Skews[(len(c.Skews)-1)/2]), ms(c.Skews[len(c.Skews)-1]), c.Bytes/1e6, c.Placed.Seconds(), same)
	}
	return nil
}

func coordinate(ctx context.Context, agents int) (c coordination, err error) {
	cmd, err := child(ctx, roleCoordinator, agents)
	if err != nil {
		return c, err
	}
	return c, runJSON(cmd, &c)
}

// crowd is the placer of agents that play, in a process of their own.
type crowd struct {
	*nats.Coordinator
	began  time.Time
	placed time.Duration
}

// crowdArgs are the argument of that process.
type crowdArgs struct {
	Server nats.Server `json:"server"`
	Agents int         `json:"agents"`
	Dir    string      `json:"dir"`
}

func (c *crowd) Place(ctx context.Context, n int, tell func(string)) ([]fleet.Link, error) {
	defer func() { c.placed = time.Since(c.began) }()
	return c.Wait(ctx, n, tell)
}

func (c *crowd) End() error { return c.Dismiss() }

// playCoordinator performs one run.
func playCoordinator(agents int) error {
	ctx := context.Background()
	dir, err := scratchIn("")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c, err := nats.Open(ctx, nats.Options{Dir: filepath.Join(dir, "coordinator")})
	if err != nil {
		return err
	}
	defer c.Close()
	args := crowdArgs{Server: nats.Server{URL: c.Connect(), Token: c.Token()}, Agents: agents, Dir: dir}
	cmd, err := child(ctx, roleAgents, args)
	if err != nil {
		return err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() { in.Close(); _ = cmd.Wait() }() // its errors are shown
	place, watch := &crowd{Coordinator: c, began: time.Now()}, &secondsOf{}
	places := func(string) (fleet.Placer, error) { return place, nil }
	out := filepath.Join(dir, "record")
	r, err := fleet.Execute(ctx, playedStreams.Spec(agents), runs.Options{Dir: out, Progress: watch},
		fleet.Options{Places: places})
	if err != nil {
		return err
	}
	got := coordination{PeakKiB: peakKiB(), Placed: place.placed}
	got.Cores, got.Bytes = watch.use()
	for _, client := range r.Clients {
		if client.Status != "complete" {
			return fmt.Errorf("client %d is %s: %s", client.Number, client.Status, client.Problem)
		}
		got.Skews = append(got.Skews, time.Duration(client.StartSkew).Abs())
	}
	slices.Sort(got.Skews)
	whole, merged, err := playedStreams.Compare(out)
	if err != nil {
		return err
	}
	got.Equal = maps.Equal(whole, merged)
	return json.NewEncoder(os.Stdout).Encode(got)
}

// secondsOf notes what this process has used at the measured seconds.
type secondsOf struct {
	at   []time.Time
	cpu  []time.Duration
	read []uint64 // bytes, nearly all from agents
}

// Step, Begin, Event and Interval implement [run.Progress].
func (*secondsOf) Step(string)         {}
func (*secondsOf) Begin(runs.Plan)     {}
func (*secondsOf) Event(measure.Event) {}
func (s *secondsOf) Interval(_ measure.Dims, iv *measure.Interval) {
	if iv.Phase == load.PhaseMeasure || iv.Phase == fleet.PhaseOutside {
		s.at, s.cpu, s.read = append(s.at, time.Now()), append(s.cpu, measure.ProcessCPU()), append(s.read, readBytes())
	}
}

func readBytes() uint64 {
	self, err := procfs.Self()
	if err != nil {
		return 0
	}
	use, err := self.IO()
	if err != nil {
		return 0
	}
	return use.RChar
}

// use is the processor time and the received bytes per second, between the first second and the last but one.
func (s *secondsOf) use() (cores, bytes float64) {
	last := len(s.at) - 2
	if last < 1 {
		return 0, 0
	}
	took := s.at[last].Sub(s.at[0])
	return float64(s.cpu[last]-s.cpu[0]) / float64(took), float64(s.read[last]-s.read[0]) / took.Seconds()
}

// playAgents runs agents until standard input ends.
func playAgents(args crowdArgs) error {
	player, err := playedStreams.Player()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the parent
		cancel()
	}()
	results := make([]error, args.Agents)
	var all sync.WaitGroup
	for i := range args.Agents {
		all.Go(func() {
			o := nats.AgentOptions{Server: args.Server, Facts: fleet.Facts{Name: fmt.Sprintf("agent-%04d", i)}}
			results[i] = nats.Serve(ctx, o, fleet.Agent{Dir: args.Dir, Run: player})
			if ctx.Err() != nil {
				results[i] = nil
			}
		})
	}
	all.Wait()
	return errors.Join(results...)
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
