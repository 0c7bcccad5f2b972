package load

import (
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
)

// programmed is a target whose n-th operation takes times[n], and that answers nothing during a stall.
type programmed struct {
	times []time.Duration
	stall [2]time.Duration
}

// end returns when operation n, sent at the given time, is answered.
func (p *programmed) end(n int64, sent time.Duration) time.Duration {
	if end := sent + p.times[n]; end < p.stall[0] || sent >= p.stall[1] {
		return end
	}
	return max(sent+p.times[n], p.stall[1])
}

func (p *programmed) do(c call, res *store.Result) {
	time.Sleep(p.end(c.n, c.at) - c.at)
	res.Docs = 1
}

// truth computes what a first-come-first-served queue before so many workers makes of the program: the
// service and response times of n operations of which the i-th is due at i·gap. It shares no code with
// what is tested.
func (p *programmed) truth(n, workers int, gap time.Duration) (service, response []int64) {
	free := make([]time.Duration, workers)
	for i := range n {
		w := slices.Index(free, slices.Min(free))
		due := time.Duration(i) * gap
		sent := max(due, free[w])
		free[w] = p.end(int64(i), sent)
		service = append(service, int64(free[w]-sent))
		response = append(response, int64(free[w]-due))
	}
	slices.Sort(service)
	slices.Sort(response)
	return service, response
}

// rank returns the value at or below which the share q of sorted values lies.
func rank(sorted []int64, q float64) int64 {
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))-1e-9))-1)]
}

func programs(n int) map[string]*programmed {
	rng := rand.New(rand.NewPCG(3, 4))
	exponential, bimodal, steady := &programmed{}, &programmed{},
		&programmed{stall: [2]time.Duration{7 * time.Second, 8 * time.Second}}
	for range n {
		exponential.times = append(exponential.times, time.Duration(rng.ExpFloat64()*2e6))
		bimodal.times = append(bimodal.times, 300*time.Microsecond+time.Duration(rng.Int64N(1000)))
		if rng.Float64() < 0.02 {
			bimodal.times[len(bimodal.times)-1] = 40*time.Millisecond + time.Duration(rng.Int64N(1e6))
		}
		steady.times = append(steady.times, 700*time.Microsecond+time.Duration(rng.Int64N(1e5)))
	}
	return map[string]*programmed{"exponential": exponential, "two speeds": bimodal, "a stall of 1 s": steady}
}

// TestPercentilesAreTheTruth: all percentiles of service and response time, in the record as in the
// histogram log, are those of the sequence that the target was programmed with, within 0.2 %.
func TestPercentilesAreTheTruth(t *testing.T) {
	const n, workers, rate = 20_000, 16, 1000
	for name, p := range programs(n) {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "record")
			cfg := Config{Workers: workers, Rate: rate, Operations: n, PlainTimers: true}
			var result *record.Run
			synctest.Test(t, func(t *testing.T) { result = recorded(t, dir, cfg, p) })
			service, response := p.truth(n, workers, time.Second/rate)
			read := result.Phase(PhaseMeasure).Class("read")
			for kind, truth := range map[string][]int64{"service": service, "response": response} {
				log := logged(t, dir, "read."+kind)
				if log.Count() != n {
					t.Errorf("the log has %d %s times, want %d", log.Count(), kind, n)
				}
				latency := read.Service
				if kind == "response" {
					latency = read.Response
				}
				for q, stated := range map[float64]*int64{0.5: latency.P50, 0.9: latency.P90, 0.95: latency.P95, 0.99: latency.P99,
					0.999: latency.P999} {
					if stated == nil {
						t.Errorf("%s quantile %g is not in run.json", kind, q)
						continue
					}
					want := rank(truth, q)
					// The log does not hold the exact maximum, which bounds what run.json states.
					if got := log.Quantile(q); min(got, latency.Max) != *stated {
						t.Errorf("%s quantile %g is %d in the log and %d in run.json", kind, q, got, *stated)
					}
					if math.Abs(float64(*stated-want)) > 0.002*float64(want) {
						t.Errorf("%s quantile %g is %v, but in truth %v", kind, q, time.Duration(*stated), time.Duration(want))
					}
				}
				if last := truth[n-1]; latency.Max != last || latency.Count != n {
					t.Errorf("longest %s time %d of %d, in truth %d of %d", kind, latency.Max, latency.Count, last, n)
				}
			}
		})
	}
}

// recorded runs against a programmed target and returns the record.
func recorded(t *testing.T, dir string, cfg Config, p *programmed) *record.Run {
	t.Helper()
	w, err := record.CreateRun(dir, record.Tool{}, spec.Run{})
	if err != nil {
		t.Fatal(err)
	}
	load := &fakeWorkload{}
	if err := w.Begin(Dims(load, cfg.Scheduled()), time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), cfg, load, newFakeStore(p.do), w); err != nil {
		t.Fatal(err)
	}
	r, err := w.Finish(record.Ending{Status: record.Complete})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// logged merges the intervals of a tag of the histogram log as another program would.
func logged(t *testing.T, dir, tag string) *measure.Histogram {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, record.LatencyFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := hdr.New(measure.LowestValue, measure.HighestValue, measure.SignificantDigits)
	for log := hdr.NewHistogramLogReader(f); ; {
		h, err := log.NextIntervalHistogram()
		if err != nil && err != io.EOF {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		if h.Tag() == tag {
			all.Merge(h)
		}
	}
	merged := measure.NewHistogram()
	for _, b := range all.Distribution() {
		merged.RecordN(b.To, b.Count)
	}
	return merged
}

// TestServiceTimeEndsWithTheArrival: the time between the arrival of an answer and the moment when the worker continues
// is no service time, except before the next request of the same operation.
func TestServiceTimeEndsWithTheArrival(t *testing.T) {
	const served, late = 2 * time.Millisecond, 5 * time.Millisecond
	for parts := 1; parts <= 2; parts++ {
		synctest.Test(t, func(t *testing.T) {
			st := newFakeStore(func(_ call, res *store.Result) {
				time.Sleep(served)
				res.Docs, res.Arrived = 1, time.Now()
				time.Sleep(late)
			})
			w, s := &fakeWorkload{parts: parts}, &memorySink{}
			if _, err := Run(t.Context(), Config{Workers: 1, Operations: 10, PlainTimers: true}, w, st, s); err != nil {
				t.Fatal(err)
			}
			sum, err := measure.Merge(Dims(w, false), s.in(PhaseMeasure))
			if err != nil {
				t.Fatal(err)
			}
			n := time.Duration(parts)
			for name, c := range map[string]struct {
				got  *measure.Histogram
				want time.Duration
			}{
				"stated":  {sum.Classes[classRead].Service, n*served + (n-1)*late},
				"noticed": {sum.Noticed, n * (served + late)},
				"bare":    {sum.Bare, n * served},
			} {
				if c.got.Count() != 10 || c.got.Min() != int64(c.want) || c.got.Max() != int64(c.want) {
					t.Errorf("%d parts, %s: %d values from %v to %v, want 10 of %v", parts, name, c.got.Count(),
						time.Duration(c.got.Min()), time.Duration(c.got.Max()), c.want)
				}
			}
			if got := sum.Client.NoticeSum; got != 10*late {
				t.Errorf("%d parts: workers continued %v after answers in total, want %v", parts, got, 10*late)
			}
		})
	}
}

// TestInFlightUntilTheWorkerContinues: the operations in flight by their begins and ends are those of Little's law also
// if the client continues late.
func TestInFlightUntilTheWorkerContinues(t *testing.T) {
	for parts := 1; parts <= 2; parts++ {
		synctest.Test(t, func(t *testing.T) {
			st := newFakeStore(func(_ call, res *store.Result) {
				time.Sleep(2 * time.Millisecond)
				res.Docs, res.Arrived = 1, time.Now()
				time.Sleep(3 * time.Millisecond)
			})
			w, s := &fakeWorkload{parts: parts}, &memorySink{}
			cfg := Config{Workers: 2, Duration: 10 * time.Second, Pace: 50, PlainTimers: true}
			if _, err := Run(t.Context(), cfg, w, st, s); err != nil {
				t.Fatal(err)
			}
			sum, err := measure.Merge(Dims(w, true), s.in(PhaseMeasure))
			if err != nil {
				t.Fatal(err)
			}
			want := 2 * 50 * 0.005 * float64(parts)
			if math.Abs(sum.InFlight-want) > want/100 || math.Abs(sum.LittleInFlight()-want) > want/100 {
				t.Errorf("%d parts: %v operations in flight, %v by Little's law, want %v", parts, sum.InFlight, sum.LittleInFlight(), want)
			}
		})
	}
}
