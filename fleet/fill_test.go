package fleet

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/wire"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// database is the address of a server for documents: a real mongod if there is one, otherwise the stand-in.
func database(t *testing.T) string {
	t.Helper()
	binary, ok := enginetest.RealMongo(t)
	if !ok {
		binary = enginetest.StandinMongo(t, "8.0.12")
	}
	return enginetest.StartSet(t, binary, 1).URI
}

// slowDatabase is the address of a server that loads a thousand documents per second with the five inserts under way of
// [loading], so that few documents take some seconds.
func slowDatabase(t *testing.T) string {
	t.Helper()
	return enginetest.StartSet(t, enginetest.StandinMongo(t, "8.0.12", "slow-inserts"), 1).URI
}

// loading is a load phase of three agents.
func loading(uri, database string, records spec.Count) spec.Run {
	s := spec.Run{Target: uri, Database: database, Workload: spec.Workload{Name: "a", Records: records,
		Params: map[string]string{"fieldcount": "1", "fieldlength": "10"}}}
	s.Load.Clients, s.Load.Workers, s.Load.Pace, s.Load.Duration = 3, 6, 50, spec.Duration(2*time.Second)
	s.LoadPhase.Batch, s.LoadPhase.Parallel = 10, 5
	s.Defaults()
	return s
}

func fill(t *testing.T, ctx context.Context, asked spec.Run, place *memory,
	p run.Progress) (*record.Run, string, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "record")
	_, err := Execute(ctx, asked, run.Options{Dir: dir, Progress: p}, Options{Places: place.places()})
	r, openErr := record.OpenRun(dir)
	if openErr != nil {
		t.Fatal(openErr, err)
	}
	return r, dir, err
}

// Agents load the records, each its range, and then run the load. The record has the sum.
func TestFillByAgents(t *testing.T) {
	t.Parallel()
	uri := database(t)
	for _, level := range []string{"balanced", "throughput"} { // w:1 and w:0
		t.Run(level, func(t *testing.T) { fillByAgents(t, uri, level) })
	}
}

func fillByAgents(t *testing.T, uri, level string) {
	asked := loading(uri, level, 2003)
	asked.Durability.Name = level
	r, dir, err := fill(t, t.Context(), asked, &memory{dir: t.TempDir()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if f := r.Fill; f == nil || f.Records != 2003 || f.Inserted != 2003 || f.Present != 0 || f.Counted != 2003 ||
		f.Seconds <= 0 {
		t.Errorf("load phase %+v", f)
	}
	if p := r.Phase(load.PhaseLoad); p == nil || p.Counts.Succeeded != 67+67+67 { // batches of 668, 668 and 667 records
		t.Errorf("phase load %+v", p)
	}
	checkParts(t, dir, r)
	for i, c := range r.Clients {
		if c.Share < 0.33 || c.Share > 0.34 {
			t.Errorf("client %d has the share %v", i, c.Share)
		}
	}
	// A run after it finds the documents.
	asked.LoadPhase.Only = true
	if r, _, err = fill(t, t.Context(), asked, &memory{dir: t.TempDir()}, nil); err != nil || r.Fill.Present != 2003 ||
		r.Fill.Inserted != 0 {
		t.Errorf("load phase of a complete collection: %v, %+v", err, r.Fill)
	}
}

// Documents are missing in the ranges of several agents, at random. Only they are inserted.
func TestFillByAgentsResumes(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	uri := database(t)
	for name, exists := range map[string]func(seq int64) bool{
		"the beginning of each range":            func(seq int64) bool { return seq%500 < 100 },
		"the beginning, by one process":          func(seq int64) bool { return seq < 700 },
		"at random, in the middle of ranges too": func(seq int64) bool { return seq == 0 || random.IntN(3) > 0 },
	} {
		asked := loading(uri, strings.ReplaceAll(strings.SplitN(name, ",", 2)[0], " ", "_"), 1500)
		asked.LoadPhase.Only = true
		before := insertSome(t, asked, exists)
		r, _, err := fill(t, t.Context(), asked, &memory{dir: t.TempDir()}, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if f := r.Fill; f.Inserted != 1500-before || f.Present != before || f.Counted != 1500 {
			t.Errorf("%s: %d documents existed, load phase %+v", name, before, f)
		}
	}
}

// insertSome inserts the records of a workload that are to exist, and returns their number.
func insertSome(t *testing.T, asked spec.Run, exists func(seq int64) bool) (n int64) {
	t.Helper()
	w, err := workload.Open(workload.Spec{Name: asked.Workload.Name, Mode: asked.Workload.Mode,
		Records: int64(asked.Workload.Records), Seed: asked.Workload.Seed, Params: asked.Workload.Params})
	if err != nil {
		t.Fatal(err)
	}
	st, err := wire.Open(t.Context(), store.Config{Target: asked.Target, Database: asked.Database, Sessions: 1,
		Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	session, err := st.Session(0)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	var op workload.Op
	var res store.Result
	for seq := range int64(asked.Workload.Records) {
		if !exists(seq) {
			continue
		}
		n++
		w.Loader().Load(seq, 1, &op)
		if session.Do(time.Now().Add(patience), &op.Requests[0], &res); res.Outcome != store.OK {
			t.Fatalf("record %d: %v %s", seq, res.Outcome, res.Message)
		}
	}
	return n
}

// loadWatcher calls on once, at the first attempts of the load phase.
type loadWatcher struct {
	watcher
	once sync.Once
}

func (w *loadWatcher) Interval(_ measure.Dims, iv *measure.Interval) {
	if iv.Phase == load.PhaseLoad {
		w.once.Do(func() { w.on(nil) })
	}
}

// A load phase of agents that is interrupted, or that loses an agent and is strict, keeps what was loaded, and the next
// one goes on.
func TestFillByAgentsEndsEarly(t *testing.T) {
	t.Parallel()
	uri := slowDatabase(t)
	const records = 4000
	for name, end := range map[string]func(*memory, context.CancelFunc){
		"interrupted": func(_ *memory, cancel context.CancelFunc) { cancel() },
		"lost":        func(m *memory, _ context.CancelFunc) { m.links[1].Break() },
	} {
		asked := loading(uri, name, records)
		asked.Load.Strict = true
		asked.LoadPhase.Batch = 1 // so that it takes more than a second
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		place := &memory{dir: t.TempDir()}
		w := &loadWatcher{watcher: watcher{on: func(*watcher) { end(place, cancel) }}}
		r, _, err := fill(t, ctx, asked, place, w)
		if err == nil {
			t.Errorf("%s: the load phase ended within a second, %+v", name, r.Fill)
			continue
		}
		if name == "lost" && !strings.Contains(err.Error(), "client 1 of 3 ended before the load began") {
			t.Errorf("%s: %v", name, err)
		}
		inserted := r.Fill.Inserted
		asked.LoadPhase.Batch, asked.LoadPhase.Only = 1000, true
		r, _, err = fill(t, t.Context(), asked, &memory{dir: t.TempDir()}, nil)
		if err != nil || r.Fill.Counted != records || r.Fill.Present == 0 || name == "interrupted" && r.Fill.Present != inserted {
			t.Errorf("%s: %d documents were inserted, and then: %v, %+v", name, inserted, err, r.Fill)
		}
	}
}

// The others load the rest of the range of an agent that is lost in the load phase, and the load is divided among them.
func TestFillByAgentsTakesOver(t *testing.T) {
	t.Parallel()
	const records = 4000
	asked := loading(slowDatabase(t), "lost", records)
	asked.LoadPhase.Batch = 1 // so that it takes more than a second
	place := &memory{dir: t.TempDir()}
	w := &loadWatcher{watcher: watcher{on: func(*watcher) { place.links[1].Break() }}}
	r, dir, err := fill(t, t.Context(), asked, place, w)
	if err != nil {
		t.Fatal(err)
	}
	if f := r.Fill; f.Counted != records || f.Inserted != records || f.Present != 0 {
		t.Errorf("load phase %+v", f)
	}
	checkParts(t, dir, r)
	if len(r.Clients) != 2 || r.Clients[0].Agent != "agent-0" || r.Clients[1].Agent != "agent-2" || r.Clients[1].Share != 0.5 {
		t.Errorf("clients %+v", r.Clients)
	}
	f := finding(r, "client-lost-loading")
	if f == nil || f.Severity != measure.Note || !strings.Contains(f.Text, "agent-1 on elsewhere was lost in the load phase (broken)") {
		t.Errorf("validity %+v", r.Validity)
	}
	events, err := record.Events(dir)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, e := range events {
		kinds[e.Kind]++
	}
	if kinds[EventLost] != 1 || kinds[load.EventResume] == 0 {
		t.Errorf("events %v", events)
	}
}

// Ranges follow each other, and each has its share of the records.
func TestRanges(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for range 300 {
		parts := make([]int, 1+random.IntN(20))
		for i := range parts {
			parts[i] = 1 + random.IntN(1000)
		}
		turns := workload.TakeTurns(parts)
		from := random.Int64N(1e6)
		to := from + random.Int64N(1<<random.IntN(40))
		next := from
		for i, r := range ranges(from, to, turns) {
			share := float64(to-from) * turns[i].Share()
			if n := float64(r[1] - r[0]); r[0] != next || n < share-1 || n > share+1 {
				t.Fatalf("range %d of [%d, %d) by %v is %v, its share is %v", i, from, to, parts, r, share)
			}
			next = r[1]
		}
		if next != to {
			t.Fatalf("ranges of [%d, %d) by %v end at %d", from, to, parts, next)
		}
	}
}
