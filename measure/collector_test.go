package measure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// testDims are two classes and a part, a success, a failure and two outcomes with a meaning of their own.
func testDims(scheduled bool) Dims {
	return Dims{
		Classes: []Class{{Name: "read"}, {Name: "update"}, {Name: "count", Part: true}},
		Outcomes: []Outcome{
			{Name: "ok", Success: true}, {Name: "not-found"}, {Name: "indeterminate"}, {Name: "unacknowledged", Success: true},
		},
		Scheduled: scheduled,
	}
}

func newTestCollector(t testing.TB, o Options) *Collector {
	t.Helper()
	c, err := NewCollector(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func tick(t testing.TB, c *Collector, now time.Duration) []*Interval {
	t.Helper()
	ivs, err := c.Tick(now)
	if err != nil {
		t.Fatal(err)
	}
	return ivs
}

func finish(t testing.TB, c *Collector, now time.Duration) []*Interval {
	t.Helper()
	ivs, err := c.Finish(now)
	if err != nil {
		t.Fatal(err)
	}
	return ivs
}

// total is the number of samples of the first class with the first outcome.
func firstCounts(ivs []*Interval) []int64 {
	var n []int64
	for _, iv := range ivs {
		n = append(n, iv.Classes[0].Counts[0])
	}
	return n
}

func TestSamplesAreBinnedByTheirEnd(t *testing.T) {
	c := newTestCollector(t, Options{Dims: testDims(false)})
	r := c.Recorder()
	for _, end := range []time.Duration{0, 999_999_999, time.Second, 2500 * time.Millisecond, 2600 * time.Millisecond} {
		r.Record(&Sample{End: int64(end), Service: 1000})
	}
	if got := tick(t, c, 1900*time.Millisecond); got != nil {
		t.Fatalf("an interval was closed within its second of grace: %v", got)
	}
	ivs := tick(t, c, 2*time.Second)
	ivs = append(ivs, tick(t, c, 3*time.Second)...)
	ivs = append(ivs, finish(t, c, 3100*time.Millisecond)...)
	if diff := cmp.Diff([]int64{2, 1, 2, 0}, firstCounts(ivs)); diff != "" {
		t.Errorf("counts by second (-want +got):\n%s", diff)
	}
	if last := ivs[3]; last.Start != 3*time.Second || last.End != 3100*time.Millisecond {
		t.Errorf("the last interval goes from %v to %v", last.Start, last.End)
	}
}

func TestASampleThatComesTooLateIsNotLost(t *testing.T) {
	c := newTestCollector(t, Options{Dims: testDims(false)})
	r := c.Recorder()
	ivs := tick(t, c, 3*time.Second)
	r.Record(&Sample{End: int64(500 * time.Millisecond), Service: 7})
	ivs = append(ivs, finish(t, c, 4*time.Second)...)
	if diff := cmp.Diff([]int64{0, 0, 1, 0}, firstCounts(ivs)); diff != "" {
		t.Errorf("counts by second (-want +got):\n%s", diff)
	}
	if c.Displaced() != 1 {
		t.Errorf("displaced = %d, want 1", c.Displaced())
	}
}

func TestKindsOfHistograms(t *testing.T) {
	for _, scheduled := range []bool{true, false} {
		c := newTestCollector(t, Options{Dims: testDims(scheduled)})
		r := c.Recorder()
		r.Record(&Sample{Response: 50, Service: 20, PoolWait: 3, Docs: 2, Bytes: 10, Attempts: 1})
		r.Record(&Sample{Response: 90, Service: 30, Outcome: 1, Docs: 1, Attempts: 2})
		ci := finish(t, c, time.Second)[0].Classes[0]
		type figures struct{ Service, Response, Wait, Failed, Pool, Docs, Attempts int64 }
		want := figures{Service: 20, Failed: 30, Pool: 3, Docs: 3, Attempts: 3}
		if scheduled {
			want = figures{Service: 20, Response: 50, Wait: 90, Failed: 90, Pool: 3, Docs: 3, Attempts: 3}
		}
		got := figures{
			ci.Service.Sum(), ci.Response.Sum(), ci.Wait.Sum(), ci.Failed.Sum(), ci.PoolWait.Sum(), ci.Docs, ci.Attempts,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("scheduled=%v (-want +got):\n%s", scheduled, diff)
		}
	}
}

func TestPhasesBeginWhenAnnounced(t *testing.T) {
	c := newTestCollector(t, Options{Dims: testDims(false), Phase: "warmup"})
	r := c.Recorder()
	if at := c.Phase("measure", 1500*time.Millisecond); at != 1500*time.Millisecond {
		t.Fatalf("announced phase begins at %v", at)
	}
	r.Record(&Sample{End: 1_499_999_999})
	r.Record(&Sample{End: 1_500_000_000})
	r.Record(&Sample{End: 2_499_999_999})
	type row struct {
		Phase      string
		Start, End time.Duration
		N          int64
	}
	var got []row
	for _, iv := range finish(t, c, 2600*time.Millisecond) {
		got = append(got, row{iv.Phase, iv.Start, iv.End, iv.Classes[0].Counts[0]})
	}
	want := []row{
		{"warmup", 0, time.Second, 0},
		{"warmup", time.Second, 1500 * time.Millisecond, 1},
		{"measure", 1500 * time.Millisecond, 2500 * time.Millisecond, 2},
		{"measure", 2500 * time.Millisecond, 2600 * time.Millisecond, 0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("intervals (-want +got):\n%s", diff)
	}
}

func TestAPhaseDoesNotBeginBeforeCountedSamples(t *testing.T) {
	c := newTestCollector(t, Options{Dims: testDims(false)})
	r := c.Recorder()
	c.Phase("drain", 10*time.Second) // falls away: the run is interrupted
	r.Record(&Sample{End: int64(1200 * time.Millisecond)})
	tick(t, c, 1300*time.Millisecond)
	at := c.Phase("drain", 1100*time.Millisecond)
	if want := 1200*time.Millisecond + 1; at != want {
		t.Fatalf("the phase begins at %v, want %v", at, want)
	}
	r.Record(&Sample{End: int64(1200 * time.Millisecond)}) // ended before the border, recorded after it
	r.Record(&Sample{End: int64(1300 * time.Millisecond)})
	ivs := finish(t, c, 2*time.Second)
	if diff := cmp.Diff([]int64{0, 2, 1}, firstCounts(ivs)); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

func TestCountersAndFailures(t *testing.T) {
	c := newTestCollector(t, Options{Dims: testDims(true)})
	r := c.Recorder()
	r.Offered(100, 3)
	r.Offered(int64(time.Second), 2)
	r.Dropped(200, 1)
	r.Late(300, 500)
	r.Late(300, int64(2*time.Millisecond))
	key := Failure{Class: "read", Outcome: "indeterminate", Reason: "timeout"}
	r.Fail(key, 50, "second")
	r.Fail(key, 40, "first")
	for i := range maxFailureKeys + 5 {
		r.Fail(Failure{Class: "read", Outcome: "indeterminate", Reason: "server", Code: int32(i)}, 60, "many")
	}
	ivs := finish(t, c, 1500*time.Millisecond)
	iv := ivs[0]
	if iv.Offered != 3 || iv.Dropped != 1 || iv.Client.LatenessOver != 1 || iv.Lateness.Count() != 2 ||
		ivs[1].Offered != 2 {
		t.Errorf("offered %d and %d, dropped %d, over 1 ms %d, lateness %d", iv.Offered, ivs[1].Offered, iv.Dropped,
			iv.Client.LatenessOver, iv.Lateness.Count())
	}
	want := []FailureCount{
		{Failure: Failure{Class: Other, Outcome: "indeterminate", Reason: Other}, Count: 6, First: 60, Last: 60, Example: "many"},
		{Failure: key, Count: 2, First: 40, Last: 50, Example: "first"},
	}
	if diff := cmp.Diff(want, iv.Failures[:2]); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	if len(iv.Failures) != maxFailureKeys+1 {
		t.Errorf("%d kinds of failures are kept, want %d", len(iv.Failures), maxFailureKeys+1)
	}
}

func TestUnknownClassIsRejected(t *testing.T) {
	c := newTestCollector(t, Options{Dims: testDims(false)})
	r := c.Recorder()
	for _, s := range []Sample{{Class: 3}, {Class: 255}, {Outcome: 9}} {
		r.Record(&s)
	}
	finish(t, c, time.Second)
	if c.Rejected() != 3 {
		t.Errorf("rejected = %d, want 3", c.Rejected())
	}
}

func TestCollectorRefusesSenselessDimensions(t *testing.T) {
	for _, d := range []Dims{
		{},
		{Classes: make([]Class, MaxClasses+1), Outcomes: []Outcome{{Success: true}}},
		{Classes: []Class{{Name: "a"}}},
		{Classes: []Class{{Name: "a"}}, Outcomes: []Outcome{{Name: "bad"}}},
	} {
		if _, err := NewCollector(Options{Dims: d}); err == nil {
			t.Errorf("no error for %d classes and %d outcomes", len(d.Classes), len(d.Outcomes))
		}
	}
}

// Whatever workers record, in whatever order ticks and phases come, each sample is counted once, and in
// the interval in which it ended unless that was closed.
func TestEverySampleIsCountedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, err := NewCollector(Options{Dims: testDims(false), Width: 100,
			Grace: time.Duration(rapid.IntRange(1, 300).Draw(t, "grace"))})
		if err != nil {
			t.Fatal(err)
		}
		var ivs []*Interval
		var now, recorded int64
		ends := map[int64]int{}
		recorders := []*Recorder{c.Recorder(), c.Recorder(), c.Recorder()}
		steps := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 300).Draw(t, "steps")
		for _, step := range steps {
			switch {
			case step < 7:
				now += rapid.Int64Range(0, 30).Draw(t, "pause")
				recorders[step%3].Record(&Sample{End: now, Service: 1})
				ends[now]++
				recorded++
			case step == 7:
				c.Phase("p", time.Duration(max(0, now+rapid.Int64Range(-50, 200).Draw(t, "border"))))
			default:
				got, err := c.Tick(time.Duration(now))
				if err != nil {
					t.Fatal(err)
				}
				ivs = append(ivs, got...)
			}
		}
		got, err := c.Finish(time.Duration(now))
		if err != nil {
			t.Fatal(err)
		}
		checkBins(t, append(ivs, got...), ends, recorded, c.Displaced())
	})
}

func checkBins(t *rapid.T, ivs []*Interval, ends map[int64]int, recorded, displaced int64) {
	var counted int64
	at := time.Duration(0)
	for _, iv := range ivs {
		if iv.Start != at || iv.End <= iv.Start {
			t.Fatalf("the interval from %v to %v does not continue at %v", iv.Start, iv.End, at)
		}
		at = iv.End
		n := iv.Classes[0].Counts[0]
		if n != iv.Classes[0].Service.Count() {
			t.Fatalf("%d counted, %d in the histogram", n, iv.Classes[0].Service.Count())
		}
		want := 0
		for end, k := range ends {
			if end >= int64(iv.Start) && end < int64(iv.End) {
				want += k
			}
		}
		if displaced == 0 && n != int64(want) {
			t.Fatalf("%d counted from %v to %v, %d ended there", n, iv.Start, iv.End, want)
		}
		counted += n
	}
	if counted != recorded {
		t.Fatalf("%d recorded, %d counted", recorded, counted)
	}
	if displaced != 0 {
		t.Fatalf("%d samples displaced, although all were recorded before the tick", displaced)
	}
}

func TestWorkersAndTicksAtTheSameTime(t *testing.T) {
	const workers, each = 8, 10_000
	c := newTestCollector(t, Options{Dims: testDims(true), Width: 20 * time.Millisecond, Grace: time.Millisecond})
	start := time.Now()
	var wg sync.WaitGroup
	for range workers {
		r := c.Recorder()
		wg.Go(func() {
			defer r.Close()
			for i := range each {
				r.Begin(int64(i))
				r.End(int64(i), int64(i)+1)
				r.Record(&Sample{End: int64(time.Since(start)), Service: int64(i), Response: int64(i), Class: uint8(i % 2)})
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	var ivs []*Interval
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
			ivs = append(ivs, tick(t, c, time.Since(start))...)
			c.Gauge(time.Since(start))
		}
	}
	ivs = append(ivs, finish(t, c, time.Since(start))...)
	var n int64
	for _, iv := range ivs {
		n += iv.Classes[0].Counts[0] + iv.Classes[1].Counts[0]
	}
	if n != workers*each {
		t.Errorf("%d samples counted, %d recorded", n, workers*each)
	}
}

// TestRecordersCloseInAnyOrder: those that stay are still drained and counted, and closing one twice takes out no
// other.
func TestRecordersCloseInAnyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	c := newTestCollector(t, Options{Dims: testDims(false)})
	var open []*Recorder
	for range 50 {
		open = append(open, c.Recorder())
	}
	recorded := int64(0)
	for len(open) > 0 {
		i := rng.IntN(len(open))
		open[i].Close()
		open[i].Close()
		open = slices.Delete(open, i, i+1)
		for _, r := range open {
			r.Begin(recorded)
			r.Record(&Sample{End: recorded, Service: 1})
			recorded++
		}
		if busy := c.Gauge(time.Duration(recorded)); busy != int(recorded) {
			t.Fatalf("%d operations are under way with %d recorders open, want %d", busy, len(open), recorded)
		}
	}
	var n int64
	for _, iv := range finish(t, c, time.Duration(recorded)) {
		n += iv.Classes[0].Counts[0]
	}
	if n != recorded {
		t.Errorf("%d samples counted, %d recorded", n, recorded)
	}
}

// The mean number of operations in flight is exact for readings at any moments: also for those that depend on the
// operations, as the wake-ups of a client do, and with marks of several workers in any order.
func TestOperationsInFlightDoNotDependOnTheReadings(t *testing.T) {
	const seed = 3
	for name, read := range map[string]func(c *Collector, start, end int64){
		"at begins":       func(c *Collector, start, _ int64) { c.Gauge(time.Duration(start)) },
		"at ends":         func(c *Collector, _, end int64) { c.Gauge(time.Duration(end)) },
		"just before end": func(c *Collector, _, end int64) { c.Gauge(time.Duration(end - 1)) },
	} {
		rng := rand.New(rand.NewPCG(seed, 0))
		c := newTestCollector(t, Options{Dims: testDims(false)})
		a, b := c.Recorder(), c.Recorder()
		want := [3]float64{}
		for at := int64(0); at < 3e9; {
			r := []*Recorder{a, b}[rng.IntN(2)]
			start, end := at, at+rng.Int64N(2e6)
			want[start/1e9] += float64(end - start)
			r.Begin(start)
			if end-start > 1e6 {
				read(c, start, end)
			}
			r.End(start, end)
			at = end + rng.Int64N(3e6)
		}
		a.Close()
		c.Gauge(3 * time.Second)
		for i, iv := range finish(t, c, 3*time.Second)[:3] {
			if got := iv.InFlight * 1e9; math.Abs(got/want[i]-1) > 0.01 || iv.Samples < 100 {
				t.Errorf("seed %d, %s: %g in flight in second %d from %d readings, want %g", seed, name, iv.InFlight, i, iv.Samples, want[i]/1e9)
			}
		}
	}
}

// A reader or a worker that did not run for a while marks late. No interval has less than nothing in flight, and a
// later one settles what was counted too early.
func TestOperationsInFlightOfLateMarks(t *testing.T) {
	const ms = int64(time.Millisecond)
	for name, marks := range map[string]func(c *Collector, r *Recorder) (until, busy int64){
		"the reader's clock is older than a begin": func(c *Collector, r *Recorder) (int64, int64) {
			for at := int64(0); at < 4000*ms; at += 100 * ms {
				r.Begin(at + 50*ms)
				c.Gauge(time.Duration(at))
				r.End(at+50*ms, at+100*ms)
			}
			return 4000 * ms, 2000 * ms
		},
		"an end is marked a second after it": func(c *Collector, r *Recorder) (int64, int64) {
			r.Begin(0)
			c.Gauge(time.Duration(500 * ms))
			c.Gauge(time.Duration(1500 * ms))
			r.End(0, 500*ms)
			for at := 1600 * ms; at <= 2000*ms; at += 100 * ms {
				c.Gauge(time.Duration(at))
			}
			r.Begin(2000 * ms)
			c.Gauge(time.Duration(3000 * ms))
			return 4000 * ms, 2500 * ms
		},
	} {
		c := newTestCollector(t, Options{Dims: testDims(false)})
		until, busy := marks(c, c.Recorder())
		c.Gauge(time.Duration(until))
		total := 0.0
		for _, iv := range finish(t, c, time.Duration(until)) {
			if iv.InFlight < 0 {
				t.Errorf("%s: %g operations in flight from %v", name, iv.InFlight, iv.Start)
			}
			total += iv.InFlight * float64(iv.End-iv.Start)
		}
		if math.Abs(total/float64(busy)-1) > 0.001 {
			t.Errorf("%s: operations were in flight for %v, want %v", name, time.Duration(total), time.Duration(busy))
		}
	}
}

// An operation that never ends, or whose recorder is closed, stays in flight.
func TestOperationsInFlightThatDoNotEnd(t *testing.T) {
	c := newTestCollector(t, Options{Dims: testDims(false)})
	a, b := c.Recorder(), c.Recorder()
	a.Begin(0)
	a.Close()
	for at := time.Duration(0); at <= 2*time.Second; at += 100 * time.Millisecond {
		c.Gauge(at)
		if at == time.Second {
			b.Begin(int64(at))
		}
	}
	ivs := finish(t, c, 2*time.Second)
	if ivs[0].InFlight != 1 || ivs[1].InFlight != 2 {
		t.Errorf("in flight: %g and %g, want 1 and 2", ivs[0].InFlight, ivs[1].InFlight)
	}
}

func TestClientUseIsMeasured(t *testing.T) {
	c := newTestCollector(t, Options{Dims: testDims(false)})
	sum := 0.0
	for i := range 20_000_000 {
		sum += float64(i)
	}
	iv := finish(t, c, time.Second)[0]
	if iv.Client.CPU <= 0 || iv.Client.HeapBytes == 0 {
		t.Errorf("client use %+v (%g)", iv.Client, sum)
	}
}

func TestRecordAllocatesNothing(t *testing.T) {
	c := newTestCollector(t, Options{Dims: testDims(true)})
	r := c.Recorder()
	s := Sample{Response: 2000, Service: 1000, PoolWait: 5}
	op := func() {
		s.End++
		r.Begin(s.End)
		r.Offered(s.End, 1)
		r.Late(s.End, 10)
		r.Record(&s)
		r.End(s.End, s.End+1)
	}
	for range 1000 {
		op()
	}
	if n := testing.AllocsPerRun(10_000, op); n != 0 {
		t.Errorf("%g allocations per operation", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	for _, scheduled := range []bool{false, true} {
		b.Run(fmt.Sprintf("scheduled=%v", scheduled), func(b *testing.B) {
			c := newTestCollector(b, Options{Dims: testDims(scheduled)})
			r := c.Recorder()
			s := Sample{Attempts: 1, Docs: 1}
			x := uint64(1)
			b.ReportAllocs()
			for b.Loop() {
				x = x*6364136223846793005 + 1442695040888963407
				s.End += 1000
				s.Service = 200_000 + int64(x>>46)
				s.Response = s.Service + int64(x>>50)
				r.Record(&s)
			}
		})
	}
}
