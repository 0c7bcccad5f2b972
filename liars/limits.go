package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/childproc"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/measure/limit"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// limits are the planted limits of a real mongod on this machine. A trial plants one, finds the throughput of a closed
// loop, measures a ladder of rates around it, and asks what limits. The rules are those of measure/limit; they were
// frozen before the results that are stored.
type limits struct {
	m     *mongod
	free  float64 // throughput of readers without a plant
	cores float64 // that the server uses then
}

// limitFamily is what limits: each row is a planted limit. A trial with another label than the planted one did not find
// it; the matrix has that label.
func limitFamily() family {
	l := &limits{}
	f := family{name: "limit", verdict: "`plimsoll capacity`: what limits", parallel: 1, matrix: true, start: l.start,
		about: func() string { return l.m.about }, notFound: []string{
			"slow disks and flushes, caches that are too small, secondaries and flow control, routers: these plants need virtual " +
				"disks or several hosts, and are not in this family",
			"two limits at the same time: the one that is nearer to its end is named",
		}}
	f.rows = append(f.rows,
		row{name: "nothing", honest: "30 % of what the server can do", goal: none, small: 0, full: 20, try: l.nothing})
	for _, p := range l.plants() {
		for i, strength := range p.strengths {
			f.rows = append(f.rows, row{name: fmt.Sprintf("%s-%d", p.name, i+1), lie: fmt.Sprintf(p.lie, strength),
				goal: atLeast(0.8),
				full: 20, try: l.trialOf(p, strength)})
		}
	}
	return f
}

// plant is one limit.
type plant struct {
	name, lie string
	strengths []float64
	label     limit.Label
	latency   bool // it is the answer for the latency
	// set plants it and returns how to remove it. asked may be changed.
	set func(ctx context.Context, t *trial, strength float64, asked *spec.Run) (remove func(), err error)
}

// Workloads of the plants: reads of small documents, reads of large ones, writers of one document, and reads that hold
// their ticket for 10 ms without using a core.
const (
	smallReads = `name: small
collections: [{name: small, count: 5k, document: {text: {$string: {size: 200}}}}]
operations: [{name: read, findOne: small, filter: {_id: {$uniform: small}}}]
`
	largeReads = `name: large
collections: [{name: large, count: 200, document: {text: {$string: {size: 50000}}}}]
operations: [{name: read, findOne: large, filter: {_id: {$uniform: large}}}]
`
	oneDocument = `name: one
collections: [{name: one, count: 1, document: {n: {$long: {max: 2}}}}]
operations: [{name: increment, update: one, filter: {_id: {$uniform: one}}, with: {$inc: {n: 1}}}]
`
	holding = `name: holding
collections: [{name: holding, count: 1, document: {n: {$long: {max: 2}}}}]
operations: [{name: hold, findOne: holding, filter: {$where: "sleep(10) || true"}}]
`
)

func (l *limits) plants() []plant {
	return []plant{
		{name: "quota", lie: "a control group gives the server %.0f %% of the cores that it uses without",
			strengths: []float64{80, 40},
			label:     limit.CPU, set: l.quota},
		{name: "neighbours", lie: "%.0f busy programs share the cores of the server", strengths: []float64{2, 6},
			label: limit.CPU,
			set:   l.neighbours},
		{name: "delay", lie: "a network that takes %.0f ms in each direction (latency)", strengths: []float64{5, 20},
			label:   limit.Network,
			latency: true, set: l.delay},
		{name: "tickets", lie: "%.0f read tickets, and reads that hold one for 10 ms", strengths: []float64{10, 5},
			label: limit.Tickets,
			set:   l.tickets},
		{name: "conflicts", lie: "%.0f workers increment one document", strengths: []float64{32, 64},
			label: limit.Conflicts,
			set:   l.conflicts},
		{name: "lock", lie: "validate holds the lock of the collection for most of the time, with pauses of %.0f ms",
			strengths: []float64{20, 5},
			label:     limit.Locks, set: l.lock},
		{name: "pool", lie: "a pool of %.0f connections for 64 workers, over a network of 2 ms",
			strengths: []float64{8, 4},
			label:     limit.Connections, set: l.pool},
	}
}

// start starts the server and measures what it can do without a plant.
func (l *limits) start(ctx context.Context, c config) (stop func() error, err error) {
	if l.m, err = startMongod(ctx, c); err != nil {
		return nil, err
	}
	if !l.m.real {
		return l.m.stop, notHere("a real mongod is needed")
	}
	t := newTrial(limitFamily(), row{name: "free"}, c, c.seed)
	defer t.remove()
	r, err := l.execute(ctx, t, l.asked(smallReads), 0)
	if err != nil {
		return l.m.stop, err
	}
	l.free = r.Phase("measure").Rates.Achieved
	cores, _ := record.SeriesValues(r.Series)("server:"+l.m.address, "cpu.used")
	l.cores = cmp.Or(cores, 0.5)
	return l.m.stop, nil
}

// asked is a run of one of the workloads with 64 workers.
func (l *limits) asked(workload string) spec.Run {
	name, _, _ := strings.Cut(strings.TrimPrefix(workload, "name: "), "\n")
	return spec.Run{Target: "mongodb://" + l.m.address + "/?directConnection=true", Database: "limit_" + name,
		Workload: spec.Workload{Name: name + ".yaml", File: &spec.WorkloadFile{Path: name + ".yaml", Text: workload},
			Seed: 1},
		Load: spec.Load{Workers: 64}}
}

// The times of a step.
const (
	stepWarmup  = time.Second
	stepMeasure = 4 * time.Second
)

// execute performs one step of a ladder, at a rate or as a closed loop.
func (l *limits) execute(ctx context.Context, t *trial, asked spec.Run, rate float64) (*record.Run, error) {
	dir, err := t.dir()
	if err != nil {
		return nil, err
	}
	asked.Load.Warmup, asked.Load.Duration = spec.Duration(stepWarmup), spec.Duration(stepMeasure)
	if rate > 0 {
		asked.Load.Rate, asked.Load.Arrivals, asked.Load.Late = spec.Rate(rate), "poisson", "queue"
	}
	if err := asked.Complete(); err != nil {
		return nil, err
	}
	return run.Execute(ctx, asked, run.Options{Dir: filepath.Join(dir, "run"), Tool: record.Tool{Name: "liars"},
		Now: time.Now})
}

// ladder measures the steps: rates around the throughput of a closed loop.
func (l *limits) ladder(ctx context.Context, t *trial, asked spec.Run) ([]limit.Step, error) {
	probe, err := l.execute(ctx, t, asked, 0)
	if err != nil {
		return nil, err
	}
	most := probe.Phase("measure").Rates.Achieved
	if most <= 0 {
		return nil, errors.New("nothing succeeded")
	}
	t.say("closed loop: %.0f/s", most)
	var steps []limit.Step
	for _, share := range []float64{0.3, 0.6, 0.85, 1.6} {
		r, err := l.execute(ctx, t, asked, share*most)
		if err != nil {
			return nil, err
		}
		steps = append(steps, r.LimitStep())
	}
	return steps, nil
}

// nothing offers little: no limit may be named.
func (l *limits) nothing(ctx context.Context, t *trial) (answer, error) {
	var steps []limit.Step
	for _, share := range []float64{0.1, 0.2, 0.3} {
		r, err := l.execute(ctx, t, l.asked(smallReads), share*l.free)
		if err != nil {
			return undecided, err
		}
		steps = append(steps, r.LimitStep())
	}
	got := limit.Decide(steps)
	t.explain(got)
	switch t.named = string(got.Throughput.Label); got.Throughput.Label {
	case limit.None:
		return cleared, nil
	case limit.Unknown:
		return undecided, nil
	}
	return accused, nil
}

func (t *trial) explain(got limit.Limit) {
	t.say("throughput: %s %q, latency: %s %q, %s", got.Throughput, got.Throughput.Evidence, got.Latency,
		got.Latency.Evidence, got.Shape)
}

func (l *limits) trialOf(p plant, strength float64) func(context.Context, *trial) (answer, error) {
	return func(ctx context.Context, t *trial) (answer, error) {
		asked := l.asked(smallReads)
		remove, err := p.set(ctx, t, strength, &asked)
		if remove != nil {
			defer remove()
		}
		if err != nil {
			return undecided, err
		}
		steps, err := l.ladder(ctx, t, asked)
		if err != nil {
			return undecided, err
		}
		got := limit.Decide(steps)
		t.explain(got)
		answer := got.Throughput
		if p.latency {
			answer = got.Latency
		}
		switch t.named = string(answer.Label); answer.Label {
		case p.label:
			return accused, nil
		case limit.Unknown:
			return undecided, nil
		}
		return cleared, nil
	}
}

func (l *limits) quota(_ context.Context, _ *trial, strength float64, _ *spec.Run) (func(), error) {
	share := time.Duration(l.cores * strength / 100 * float64(100*time.Millisecond))
	lift, err := limitServer(l.m.process.Process.Pid, share)
	if err != nil {
		return nil, err
	}
	return lift, nil
}

func (l *limits) neighbours(_ context.Context, _ *trial, strength float64, _ *spec.Run) (func(), error) {
	var all []*exec.Cmd
	remove := func() {
		for _, cmd := range all {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // killed
		}
	}
	for range int(strength) {
		cmd := exec.Command("/bin/sh", "-c", "while :; do :; done")
		if err := childproc.Start(cmd); err != nil {
			return remove, err
		}
		all = append(all, cmd)
	}
	return remove, nil
}

func (l *limits) delay(ctx context.Context, _ *trial, strength float64, asked *spec.Run) (func(), error) {
	ln, err := delayed(ctx, l.m.address, time.Duration(strength*float64(time.Millisecond)))
	if err != nil {
		return nil, err
	}
	asked.Target = "mongodb://" + ln.Addr().String() + "/?directConnection=true"
	return func() { _ = ln.Close() }, nil
}

func (l *limits) pool(ctx context.Context, t *trial, strength float64, asked *spec.Run) (func(), error) {
	remove, err := l.delay(ctx, t, 1, asked)
	asked.Client = "driver"
	asked.Target += fmt.Sprintf("&maxPoolSize=%.0f", strength)
	return remove, err
}

// parameter sets a parameter of the server and returns how to set it back.
func (l *limits) parameter(ctx context.Context, name string, value, back any) (func(), error) {
	set := func(ctx context.Context, v any) error {
		return l.m.client.Database("admin").RunCommand(ctx, bson.D{{Key: "setParameter", Value: 1}, {Key: name,
			Value: v}}).Err()
	}
	return func() { _ = set(context.WithoutCancel(ctx), back) }, set(ctx, value)
}

func (l *limits) tickets(ctx context.Context, _ *trial, strength float64, asked *spec.Run) (func(), error) {
	*asked = l.asked(holding)
	return l.parameter(ctx, "wiredTigerConcurrentReadTransactions", int32(strength), int32(128))
}

func (l *limits) conflicts(_ context.Context, _ *trial, strength float64, asked *spec.Run) (func(), error) {
	*asked = l.asked(oneDocument)
	asked.Load.Workers = spec.Count(strength)
	return nil, nil
}

// lock validates the collection again and again, which holds its exclusive lock.
func (l *limits) lock(ctx context.Context, _ *trial, strength float64, asked *spec.Run) (func(), error) {
	*asked = l.asked(largeReads)
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		db := l.m.client.Database(asked.Database)
		for ctx.Err() == nil {
			_ = db.RunCommand(ctx, bson.D{{Key: "validate", Value: "large"}, {Key: "full",
				Value: true}}).Err() // it may not exist yet
			_ = wait.Sleep(ctx, time.Duration(strength*float64(time.Millisecond)))
		}
	})
	return func() { cancel(); done.Wait() }, nil
}

// limitServer is [limitProcessor] for a process that runs on: lifting the limit moves it back.
func limitServer(pid int, quota time.Duration) (lift func(), err error) {
	remove, err := limitProcessor(pid, quota)
	if err != nil {
		return nil, err
	}
	return func() {
		for _, root := range []string{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup"} {
			_ = os.WriteFile(filepath.Join(root, "cgroup.procs"), []byte(fmt.Sprint(pid)), 0o644) // one of them exists
		}
		remove()
	}, nil
}
