package fleet

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/examples/failover/persons"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store/null"
)

// Each agent loads a REST service of its own. The record has what all of them used. If one service ends, the record
// says whose.
func TestServiceOfEachAgent(t *testing.T) {
	t.Parallel()
	target, err := null.Listen(null.Options{Count: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	for _, kill := range []bool{false, true} {
		var started atomic.Int64
		var last atomic.Pointer[run.Service]
		start := func(_ context.Context, b run.ServiceBrief) (*run.Service, error) {
			started.Add(1)
			ctx, stop := context.WithCancel(context.Background())
			url, ended := make(chan string, 1), make(chan struct{})
			go func() {
				defer close(ended)
				if err := persons.Serve(ctx, "127.0.0.1:0", persons.Options{URI: b.URI, Database: b.Database, Timeout: b.Timeout,
					Token: b.Token}, func(u string) { url <- u }); err != nil {
					t.Error(err)
				}
			}()
			s := &run.Service{URL: <-url, PID: os.Getpid(), Ended: ended, End: func() error { stop(); <-ended; return nil }}
			last.Store(s)
			return s, nil
		}
		asked := spec.Run{Target: target.URI(), Via: spec.ViaREST, Workload: spec.Workload{Name: "person", Records: 100},
			LoadPhase: spec.LoadPhase{Skip: true}}
		asked.Load = spec.Load{Clients: 2, Workers: 4, Pace: 20, Duration: spec.Duration(4 * time.Second)}
		if kill {
			asked.Load.Duration = spec.Duration(15 * time.Second) // a busy machine ends the service later
		}
		asked.Defaults()
		place := &memory{dir: t.TempDir(), service: start}
		dir := filepath.Join(t.TempDir(), "record")
		w := &watcher{on: func(*watcher) {
			if kill {
				_ = last.Load().End() // by the test, not by the run
			}
		}}
		if _, err := Execute(t.Context(), asked, run.Options{Dir: dir, Service: start, Progress: w},
			Options{Places: place.places()}); err != nil {
			t.Fatal(err)
		}
		r, err := record.OpenRun(dir)
		if err != nil {
			t.Fatal(err)
		}
		if n := started.Load(); n != 2 {
			t.Errorf("%d services were started, want one of each agent", n)
		}
		if f := finding(r, "service-ended"); (f != nil) != kill || kill && f.Severity != measure.Invalid {
			t.Errorf("killed %v: %+v", kill, r.Validity)
		}
		if kill {
			continue
		}
		checkParts(t, dir, r)
		sum := int64(0)
		for _, c := range r.Clients {
			own, err := record.OpenRun(filepath.Join(dir, filepath.FromSlash(c.Record)))
			if err != nil {
				t.Fatal(err)
			}
			sum += own.Phase(load.PhaseMeasure).Service.MemoryBytes
		}
		if s := r.Phase(load.PhaseMeasure).Service; s == nil || s.MemoryBytes != sum {
			t.Errorf("the services used %+v, those of the agents %d bytes", s, sum)
		}
	}
}
