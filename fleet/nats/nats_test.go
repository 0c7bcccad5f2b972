package nats

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/fleet/fleettest"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	runs "github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// patience bounds what a test waits for.
const patience = 5 * time.Minute

// roleVariable makes the test binary an agent.
const roleVariable = "NATS_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(m.Run())
	case "agent":
		o := AgentOptions{Server: Server{URL: os.Args[1], Token: os.Getenv("NATS_TEST_TOKEN")}, Gone: 10 * time.Second, Leave: true}
		if err := Serve(context.Background(), o, fleet.Agent{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// open starts a coordinator that is closed after the test.
func open(t testing.TB, o Options) *Coordinator {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "coordinator")
	}
	c, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// serverOf is what an agent needs to connect.
func (c *Coordinator) serverOf() Server {
	s := c.opts.Server
	s.URL, s.Token = c.Connect(), c.Token()
	return s
}

// start runs an agent in this process until the test ends. Its error arrives in the channel.
func start(t testing.TB, o AgentOptions, part func(context.Context, fleet.Wire) error) <-chan error {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		err := serve(ctx, o, part)
		if err != nil && ctx.Err() == nil {
			t.Logf("the agent %s ended: %v", o.Facts.Name, err)
		}
		ended <- err
	}()
	t.Cleanup(func() { cancel(); <-gone })
	return ended
}

// startAgents runs n agents that perform loads.
func startAgents(t testing.TB, server Server, n int) {
	dir := t.TempDir()
	for i := range n {
		start(t, AgentOptions{Server: server, Facts: fleet.Facts{Name: fmt.Sprintf("agent-%03d", i)}}, fleet.Agent{Dir: dir}.Serve)
	}
}

// wait returns n links.
func (c *Coordinator) wait(t testing.TB, n int) []fleet.Link {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	links, err := c.Wait(ctx, n, nil)
	if err != nil {
		t.Fatal(err)
	}
	return links
}

// placer is a place for agents that are already there.
type placer struct{ *Coordinator }

func (p placer) Place(ctx context.Context, n int, tell func(string)) ([]fleet.Link, error) {
	return p.Wait(ctx, n, tell)
}

func (p placer) End() error { return p.Dismiss() }

func (c *Coordinator) places() fleet.Placers {
	return func(string) (fleet.Placer, error) { return placer{c}, nil }
}

func testSpec(clients int, duration time.Duration) spec.Run {
	s := spec.Run{Target: "null:", Workload: spec.Workload{Name: "a", Records: 100}}
	s.Load.Clients = spec.Count(clients)
	s.Load.Workers, s.Load.Pace, s.Load.Duration = spec.Count(2*clients), 50, spec.Duration(duration)
	s.Defaults()
	s.Load.Warmup = 0
	return s
}

// execute performs a run and returns its record.
func execute(t testing.TB, c *Coordinator, asked spec.Run, p runs.Progress) *record.Run {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dir := filepath.Join(t.TempDir(), "record")
	_, err := fleet.Execute(ctx, asked, runs.Options{Dir: dir, Progress: p}, fleet.Options{Places: c.places()})
	if err != nil {
		t.Fatal(err)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Fatalf("the run did not end within %v", patience)
	}
	return checkParts(t, dir)
}

// checkParts expects that the record has what the agents counted.
func checkParts(t testing.TB, dir string) *record.Run {
	t.Helper()
	r, err := record.OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	var sum measure.Tally
	all, parts := map[bucket]int64{}, map[bucket]int64{}
	addBuckets(t, dir, all)
	for i, c := range r.Clients {
		if c.Status != "complete" {
			t.Fatalf("client %d is %+v", i, c)
		}
		below := filepath.Join(dir, filepath.FromSlash(c.Record))
		own, err := record.OpenRun(below)
		if err != nil {
			t.Fatal(err)
		}
		sum = sum.Add(counted(own, load.PhaseMeasure))
		addBuckets(t, below, parts)
	}
	if diff := cmp.Diff(parts, all); diff != "" {
		t.Errorf("the histograms of the record are not the sum of the agents' (-agents +record):\n%s", diff)
	}
	if got := counted(r, load.PhaseMeasure, fleet.PhaseOutside); got != sum || got.Succeeded == 0 {
		t.Errorf("the record counts %+v, its agents %+v", got, sum)
	}
	return r
}

// bucket is one of the buckets of a histogram of a record.
type bucket struct {
	class, histogram int
	value            int64
}

// addBuckets adds the histograms of a record.
func addBuckets(t testing.TB, dir string, sum map[bucket]int64) {
	t.Helper()
	_, err := record.EachInterval(dir, func(iv *measure.Interval) error { addInterval(iv, sum); return nil })
	if err != nil {
		t.Fatal(err)
	}
}

func addInterval(iv *measure.Interval, sum map[bucket]int64) {
	for class, c := range iv.Classes {
		for i, h := range []*measure.Histogram{c.Service, c.Response, c.Wait, c.Failed} {
			for value, n := range h.Buckets() {
				sum[bucket{class, i, value}] += n
			}
		}
	}
}

func counted(r *record.Run, phases ...string) (sum measure.Tally) {
	for _, name := range phases {
		if p := r.Phase(name); p != nil {
			sum = sum.Add(p.Counts)
		}
	}
	return sum
}

// watcher calls on at measured seconds.
type watcher struct {
	on   map[int]func()
	seen int
}

func (w *watcher) Step(string)         {}
func (w *watcher) Begin(runs.Plan)     {}
func (w *watcher) Event(measure.Event) {}
func (w *watcher) Interval(_ measure.Dims, iv *measure.Interval) {
	if iv.Phase != load.PhaseMeasure {
		return
	}
	w.seen++
	if on := w.on[w.seen]; on != nil {
		on()
	}
}

// hand gives the wire of a part to a test. The part lasts until the wire ends on both sides.
func hand(wires chan<- fleet.Wire) func(context.Context, fleet.Wire) error {
	return func(ctx context.Context, w fleet.Wire) error {
		wires <- w
		select {
		case <-w.Closed():
		case <-ctx.Done():
		}
		for !w.(*wire).ended() && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		return nil
	}
}

func TestLink(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	wires := make(chan fleet.Wire, 1)
	start(t, AgentOptions{Server: c.serverOf()}, hand(wires))
	fleettest.Run(t, func(t *testing.T) fleettest.Pair {
		links := c.wait(t, 1)
		return fleettest.Pair{Link: links[0], Agent: <-wires}
	})
}

// stumbling is a server that cannot make the directory of a stream at some tries.
type stumbling struct {
	jetstream.JetStream
	streams        string // the directory of all streams
	stumbles, done int
}

func (s *stumbling) CreateStream(ctx context.Context, config jetstream.StreamConfig) (jetstream.Stream, error) {
	if s.done++; s.done > s.stumbles {
		return s.JetStream.CreateStream(ctx, config)
	}
	err := errors.Join(os.MkdirAll(filepath.Dir(s.streams), 0o700), os.WriteFile(s.streams, nil, 0o600))
	if err != nil {
		return nil, err
	}
	stream, err := s.JetStream.CreateStream(ctx, config)
	return stream, errors.Join(err, os.Remove(s.streams))
}

// The directory that the server removes after its last stream does not fail the next run. A server that makes no
// stream at all does.
func TestStreamIsCreatedAgain(t *testing.T) {
	t.Parallel()
	for stumbles, want := range map[int]string{creations - 1: "", creations: "makes no stream for the run"} {
		c := open(t, Options{})
		server := &stumbling{c.js, filepath.Join(c.server.opts.StoreDir, "jetstream", "$G", "streams"), stumbles, 0}
		c.js = server
		_, err := c.begin(t.Context(), nil)
		if server.done != min(stumbles+1, creations) || (err == nil) != (want == "") ||
			err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d of %d tries: %v", server.done, stumbles, err)
		}
	}
}

// Agents perform one run after another.
func TestRuns(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	startAgents(t, c.serverOf(), 3)
	for range 2 {
		r := execute(t, c, testSpec(3, 2*time.Second), nil)
		if len(r.Clients) != 3 || r.Clients[2].Agent != "agent-002" {
			t.Errorf("clients %+v", r.Clients)
		}
	}
}
