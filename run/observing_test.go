package run

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run/observe"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// endsAfter ends a run when enough intervals were measured.
type endsAfter struct {
	silent
	intervals int
	end       func()
}

func (e *endsAfter) Interval(_ measure.Dims, iv *measure.Interval) {
	if iv.Phase == load.PhaseMeasure {
		if e.intervals--; e.intervals == 0 {
			e.end()
		}
	}
}

// The credentials of a Prometheus are in a variable or in a file that nobody else can read, and never in the record.
func TestLoginOfPrometheus(t *testing.T) {
	file := filepath.Join(t.TempDir(), "login")
	if err := os.WriteFile(file, []byte("u:secret\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(t.TempDir(), "open")
	if err := os.WriteFile(open, []byte("u:secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := &runner{opts: Options{Getenv: func(name string) string { return map[string]string{"PROM": "token"}[name] }}}
	for from, want := range map[string]string{"": "", "env:PROM": "token", file: "u:secret", "env:NONE": "does not have one line",
		open: "chmod 600", "/no/such": "no such file"} {
		got, err := r.prometheusLogin(from)
		if err == nil && got != want || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %q, %v, want %q", from, got, err, want)
		}
	}
}

// A run says what the machine and its own process did beside the load, on the clock of the record.
func TestWhatHappensBesideTheLoad(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		notrun.Here(t, "only Linux tells what a machine does")
		return
	}
	asked := small("", func(s *spec.Run) {
		s.Target, s.Load = "null:", spec.Load{Workers: 1, Rate: 50, Warmup: spec.Duration(time.Second),
			Duration: spec.Duration(5 * time.Minute)}
	})
	dir := filepath.Join(t.TempDir(), "record")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := Execute(ctx, asked, Options{Dir: dir, Progress: &endsAfter{intervals: 4, end: cancel}}); !interrupted(
		err) {
		t.Fatal(err)
	}
	r, err := record.OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]int64{}
	if _, err := record.EachSample(dir, func(s record.Sample) error {
		if s.At < 0 || s.At > int64(r.Ended.Sub(r.Started)) || s.At <= last[s.Source] && last[s.Source] > 0 {
			t.Errorf("a sample of %s at %v comes after one at %v, of a run of %v", s.Source, time.Duration(s.At), time.Duration(last[s.Source]), r.Ended.Sub(r.Started))
		}
		last[s.Source] = s.At
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	host, _ := os.Hostname()
	for _, want := range []struct{ source, name string }{
		{"client", "cpu.used"}, {"client", "memory.resident"}, {"host:" + host, "cpu.busy"}, {"host:" + host, "memory.used"},
	} {
		if !slices.ContainsFunc(r.Series, func(s record.Series) bool {
			return s.Source == want.source && s.Name == want.name
		}) {
			t.Errorf("%s has no series %s: %+v", want.source, want.name, r.Series)
		}
	}
}

// One of several load processes looks at itself alone: the machine is looked at once.
func TestMembersLookAtThemselves(t *testing.T) {
	t.Parallel()
	asked := small("", func(s *spec.Run) {
		s.Target, s.LoadPhase.Skip, s.Load = "null:", true,
			spec.Load{Workers: 1, Rate: 50, Duration: spec.Duration(5 * time.Minute)}
	})
	dir := filepath.Join(t.TempDir(), "record")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opts := Options{Dir: dir, Share: &Share{Client: 1, Clients: 2, Whole: asked.Load},
		Progress: &endsAfter{intervals: 2, end: cancel}}
	if _, err := Execute(ctx, asked, opts); !interrupted(err) {
		t.Fatal(err)
	}
	if _, err := record.EachSample(dir, func(s record.Sample) error {
		if s.Source != "client" {
			t.Errorf("there are samples of %s", s.Source)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// What a driver notices reaches the record, on its clock; what it noticed before the run does not.
func TestWhatADriverTells(t *testing.T) {
	t.Parallel()
	asked := small("", func(s *spec.Run) {
		s.Target, s.Client, s.Load = "null:tcp", ClientDriver,
			spec.Load{Workers: 1, Rate: 50, Duration: spec.Duration(5 * time.Minute)}
	})
	dir := filepath.Join(t.TempDir(), "record")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := prepare(ctx, asked, Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	r.opts.Progress = &endsAfter{intervals: 2, end: func() {
		r.watch.Tell("pool-cleared", "connections given up", map[string]string{"server": "db:1"})
		cancel()
	}}
	if err := r.openTarget(ctx); err != nil { // which tells of servers that were found
		t.Fatal(err)
	}
	defer r.closeTarget()
	if err := r.openRecord(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.finish(r.perform(ctx)); !interrupted(err) {
		t.Fatal(err)
	}
	events, err := record.Events(dir)
	if err != nil {
		t.Fatal(err)
	}
	told := slices.DeleteFunc(slices.Clone(events), func(e measure.Event) bool { return e.Kind != "pool-cleared" })
	if len(told) != 1 || told[0].Data["server"] != "db:1" || told[0].At < time.Second {
		t.Errorf("events %+v", events)
	}
	if slices.ContainsFunc(events, func(e measure.Event) bool { return e.At < 0 }) {
		t.Errorf("there are events from before the run: %+v", events)
	}
}

// What is told before the first load, however much, is no event that the record lost; what comes later counts.
func TestEventsBeforeTheLoadAreNotLost(t *testing.T) {
	t.Parallel()
	r := &runner{watch: observe.New(t.Context())}
	defer r.watch.Stop()
	flood := func() {
		for range 5000 {
			r.watch.Tell("server", "found", nil)
		}
	}
	flood()
	r.discardSamples()
	if _, events, lost := r.watch.Take(); len(events) != 0 || lost != 0 {
		t.Errorf("%d events and %d lost ones are left from before the load", len(events), lost)
	}
	r.begun = time.Now()
	flood()
	r.discardSamples()
	if _, events, lost := r.watch.Take(); len(events) == 0 || lost == 0 {
		t.Errorf("%d events and %d lost ones during the load", len(events), lost)
	}
}
