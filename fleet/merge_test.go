package fleet

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

func testDims(scheduled bool) measure.Dims {
	return measure.Dims{
		Classes:   []measure.Class{{Name: "read"}, {Name: "update"}, {Name: "part", Part: true}},
		Outcomes:  []measure.Outcome{{Name: "ok", Success: true}, {Name: "not-found"}, {Name: "indeterminate"}},
		Scheduled: scheduled,
	}
}

// sample is a sample and what belongs to it.
type sample struct {
	measure.Sample
	failure *measure.Failure
	late    int64
}

// randomSamples makes the samples of a run of a second of warm-up, three measured ones and a tail. The ends of
// histograms, empty classes and failures of the same kind at several clients are all among them.
func randomSamples(rng *rand.Rand, n int) []sample {
	list := make([]sample, n)
	for i := range list {
		s := &list[i]
		s.End = rng.Int64N(int64(4500 * time.Millisecond))
		s.Class, s.Docs, s.Bytes, s.Attempts = uint8(rng.IntN(3)), rng.Int32N(3), rng.Int32N(2000), 1+rng.Int32N(2)
		s.Retries = uint16(s.Attempts - 1)
		s.Service = int64(1) << rng.IntN(40)
		s.Response = s.Service + rng.Int64N(1+s.Service)
		s.PoolWait = rng.Int64N(2) * rng.Int64N(1+s.Service)
		s.late = rng.Int64N(3_000_000)
		if rng.IntN(10) == 0 {
			s.Outcome = 1 + uint8(rng.IntN(2))
			s.failure = &measure.Failure{Class: "read", Outcome: "not-found", Reason: "server", Code: rng.Int32N(3)}
		}
	}
	slices.SortFunc(list, func(a, b sample) int { return int(a.End - b.End) })
	return list
}

// intervalsOf measures samples as a load does.
func intervalsOf(t testing.TB, d measure.Dims, list []sample, end time.Duration) []*measure.Interval {
	t.Helper()
	c, err := measure.NewCollector(measure.Options{Dims: d, Phase: load.PhaseWarmup})
	if err != nil {
		t.Fatal(err)
	}
	c.Phase(load.PhaseMeasure, time.Second)
	c.Phase(load.PhaseDrain, 4*time.Second)
	r := c.Recorder()
	for i := range list {
		s := &list[i]
		r.Record(&s.Sample)
		if s.failure != nil {
			r.Fail(*s.failure, s.End, "an example")
		}
		if d.Scheduled {
			r.Offered(s.End, 1)
			r.Late(s.End, s.late)
		}
	}
	ivs, err := c.Finish(end)
	if err != nil {
		t.Fatal(err)
	}
	return ivs
}

// collect merges the intervals of several clients that come in an order of their own, through the wire.
func collect(t *testing.T, d measure.Dims, rng *rand.Rand, clients [][]*measure.Interval) []*measure.Interval {
	t.Helper()
	var got []*measure.Interval
	m := newMerger(d, time.Second, len(clients), func(iv *measure.Interval) error { got = append(got, iv); return nil })
	next := make([]int, len(clients))
	for left := len(clients); left > 0; {
		i := rng.IntN(len(clients))
		switch {
		case next[i] > len(clients[i]):
			continue
		case next[i] == len(clients[i]):
			if err := m.end(i); err != nil {
				t.Fatal(err)
			}
			left--
		default:
			if err := m.add(i, throughWire(t, d, clients[i][next[i]])); err != nil {
				t.Fatal(err)
			}
		}
		next[i]++
	}
	return got
}

// throughWire sends an interval as a client sends it to its parent.
func throughWire(t *testing.T, d measure.Dims, iv *measure.Interval) *measure.Interval {
	t.Helper()
	b, err := json.Marshal(message{Interval: record.Pack(d, iv)})
	if err != nil {
		t.Fatal(err)
	}
	var m message
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	back, err := m.Interval.Unpack(d)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// sameHistogram compares buckets, counts and exact figures.
var sameHistogram = cmp.Comparer(func(a, b *measure.Histogram) bool {
	if a.Count() != b.Count() || a.Count() > 0 && a.Exact() != b.Exact() {
		return false
	}
	count := map[int64]int64{}
	for v, n := range a.Buckets() {
		count[v] += n
	}
	for v, n := range b.Buckets() {
		count[v] -= n
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
})

// The merge of the records of n clients is the record of one client that took all samples.
func TestMergeIsTheWhole(t *testing.T) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 1))
		d := testDims(seed%2 == 0)
		all := randomSamples(rng, 100+rng.IntN(700))
		parts := make([][]sample, 1+rng.IntN(4))
		for _, s := range all {
			i := rng.IntN(len(parts))
			parts[i] = append(parts[i], s)
		}
		var clients [][]*measure.Interval
		for _, p := range parts {
			clients = append(clients, intervalsOf(t, d, p, 4600*time.Millisecond))
		}
		whole, err := summaries(d, intervalsOf(t, d, all, 4600*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		merged, err := summaries(d, collect(t, d, rng, clients))
		if err != nil {
			t.Fatal(err)
		}
		ignore := cmp.Options{
			sameHistogram, cmpopts.EquateEmpty(),
			cmpopts.IgnoreFields(measure.Summary{}, "Client", "InFlight", "Samples", "Workers"), // of processes, not of samples
			cmpopts.IgnoreFields(measure.Point{}, "Client", "InFlight", "InFlightSamples"),
			cmpopts.IgnoreUnexported(measure.Summary{}),
			cmpopts.SortSlices(func(a, b measure.FailureCount) bool { return fmt.Sprint(a.Failure) < fmt.Sprint(b.Failure) }),
		}
		if diff := cmp.Diff(whole, merged, ignore); diff != "" {
			t.Fatalf("seed %d, %d clients (-one client +merged):\n%s", seed, len(parts), diff)
		}
	}
}

// summaries adds up intervals by phase, as a record does.
func summaries(d measure.Dims, ivs []*measure.Interval) (map[string]*measure.Summary, error) {
	sums := map[string]*measure.Summary{}
	for _, iv := range ivs {
		phase := iv.Phase
		if tail, ok := map[string]string{load.PhaseDrain: load.PhaseMeasure,
			load.PhaseWarmupDrain: load.PhaseWarmup}[phase]; ok && sums[tail] != nil {
			if err := sums[tail].AddTail(iv); err != nil {
				return nil, err
			}
			continue
		}
		if sums[phase] == nil {
			sums[phase] = measure.NewSummary(d, phase)
		}
		if err := sums[phase].Add(iv); err != nil {
			return nil, err
		}
	}
	return sums, nil
}

// span is an interval of a client, with n operations, in tests of the window.
type span struct {
	phase      string
	start, end float64 // seconds
	n          int64
}

func (s span) interval() *measure.Interval {
	iv := &measure.Interval{
		Phase: s.phase, Start: time.Duration(s.start * 1e9), End: time.Duration(s.end * 1e9), Workers: 2, InFlight: 1.5,
		Samples: 10,
		Client: measure.ClientUse{CPU: 100, SchedP99: time.Duration(s.n), GCPauseMax: 7, GCPauseSum: 10, HeapBytes: 1000,
			LatenessOver: 3},
	}
	for range testDims(false).Classes {
		iv.Classes = append(iv.Classes, measure.ClassInterval{Counts: make([]int64, 3)})
	}
	iv.Classes[0].Counts[0] = s.n
	return iv
}

// seconds makes whole intervals of a phase, one operation in the first one, two in the second, …
func seconds(phase string, from, to int) (list []span) {
	for i := from; i < to; i++ {
		list = append(list, span{phase, float64(i), float64(i + 1), int64(i - from + 1)})
	}
	return list
}

func TestWindow(t *testing.T) {
	const me, dr, out = load.PhaseMeasure, load.PhaseDrain, PhaseOutside
	for _, c := range []struct {
		name    string
		late    []time.Duration
		clients [][]span
		want    []span
	}{
		{"the same", nil,
			[][]span{append(seconds(me, 0, 3), span{dr, 3, 3.5, 9}), append(seconds(me, 0, 3), span{dr, 3, 3.1, 8})},
			[]span{{me, 0, 1, 2}, {me, 1, 2, 4}, {me, 2, 3, 6}, {dr, 3, 3.5, 9}, {dr, 3, 3.1, 8}}},
		{"one ends early", nil,
			[][]span{append(seconds(me, 0, 4), span{dr, 4, 4.5, 9}), seconds(me, 0, 2)},
			[]span{{me, 0, 1, 2}, {me, 1, 2, 4}, {out, 2, 3, 3}, {out, 3, 4, 4}, {out, 4, 4.5, 9}}},
		{"one began two seconds later", []time.Duration{0, 1900 * time.Millisecond},
			[][]span{seconds(me, 0, 4), seconds(me, 0, 4)},
			[]span{{out, 0, 1, 1}, {out, 1, 2, 2}, {me, 2, 3, 4}, {me, 3, 4, 6}, {out, 4, 5, 3}, {out, 5, 6, 4}}},
		{"a start that is a little later is the same", []time.Duration{0, 300 * time.Millisecond},
			[][]span{seconds(me, 0, 2), seconds(me, 0, 2)},
			[]span{{me, 0, 1, 2}, {me, 1, 2, 4}}},
		{"ends within the last second, far apart", nil,
			[][]span{append(seconds(me, 0, 3), span{me, 3, 3.9, 5}), append(seconds(me, 0, 3), span{me, 3, 3.2, 1})},
			[]span{{me, 0, 1, 2}, {me, 1, 2, 4}, {me, 2, 3, 6}, {out, 3, 3.9, 6}}},
		{"ends within the last second, near each other", nil,
			[][]span{append(seconds(me, 0, 3), span{me, 3, 3.9, 5}), append(seconds(me, 0, 3), span{me, 3, 3.8, 1})},
			[]span{{me, 0, 1, 2}, {me, 1, 2, 4}, {me, 2, 3, 6}, {me, 3, 3.9, 6}}},
		{"shorter than a second", nil,
			[][]span{{{me, 0, 0.2, 5}}, {{me, 0, 0.4, 7}}},
			[]span{{me, 0, 0.4, 12}}},
		{"one measured nothing", nil,
			[][]span{append(seconds(load.PhaseWarmup, 0, 1), seconds(me, 1, 3)...), seconds(load.PhaseWarmup, 0, 1)},
			[]span{{load.PhaseWarmup, 0, 1, 2}, {out, 1, 2, 1}, {out, 2, 3, 2}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []span
			m := newMerger(testDims(false), time.Second, len(c.clients), func(iv *measure.Interval) error {
				got = append(got, span{iv.Phase, iv.Start.Seconds(), iv.End.Seconds(), iv.Classes[0].Counts[0]})
				return nil
			})
			for i, late := range c.late {
				m.began(i, late)
			}
			for i, spans := range c.clients {
				for _, s := range spans {
					if err := m.add(i, s.interval()); err != nil {
						t.Fatal(err)
					}
				}
				if err := m.end(i); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(span{})); diff != "" {
				t.Errorf("merged intervals (-want +got):\n%s", diff)
			}
		})
	}
}

// A client that is waited for holds back what the others measured, and no longer than until it is gone.
func TestMergerWaits(t *testing.T) {
	n := 0
	m := newMerger(testDims(false), time.Second, 2, func(*measure.Interval) error { n++; return nil })
	for _, s := range seconds(load.PhaseMeasure, 0, 3) {
		if err := m.add(0, s.interval()); err != nil {
			t.Fatal(err)
		}
	}
	if n != 0 {
		t.Errorf("%d intervals were merged without the second client", n)
	}
	if err := m.add(1, seconds(load.PhaseMeasure, 0, 1)[0].interval()); err != nil || n != 1 {
		t.Errorf("%d intervals were merged, want the first second: %v", n, err)
	}
	if err := m.end(1); err != nil || n != 3 || m.window.to != time.Second {
		t.Errorf("%d intervals were merged, the window ends at %v: %v", n, m.window.to, err)
	}
}

func TestWhatClientsUse(t *testing.T) {
	m := newMerger(testDims(false), time.Second, 2, nil)
	a, b := span{load.PhaseMeasure, 0, 1, 5}.interval(), span{load.PhaseMeasure, 0, 1, 9}.interval()
	got, err := m.sum([]*measure.Interval{a, b})
	if err != nil {
		t.Fatal(err)
	}
	want := measure.ClientUse{CPU: 200, SchedP99: 9, GCPauseMax: 7, GCPauseSum: 10, HeapBytes: 2000, LatenessOver: 6}
	if got.Client != want || got.Workers != 4 || got.InFlight != 3 || got.Samples != 10 {
		t.Errorf("merged %+v, workers %d, %v in flight from %d samples", got.Client, got.Workers, got.InFlight, got.Samples)
	}
	b.Samples, b.InFlight = 0, 0
	if got, err = m.sum([]*measure.Interval{a, b}); err != nil || got.Samples != 0 || got.InFlight != 0 {
		t.Errorf("what is unknown of one client is %v from %d samples in the sum: %v", got.InFlight, got.Samples, err)
	}
}

func TestStrangeIntervalIsRefused(t *testing.T) {
	m := newMerger(testDims(false), time.Second, 1, nil)
	if err := m.add(0, &measure.Interval{Phase: load.PhaseMeasure}); err == nil {
		t.Error("an interval without classes was taken")
	}
	for _, text := range []string{
		`{"classes":[{"class":"read","outcomes":{},"times":{"strange":{"count":1}}}],"histograms":["eA=="]}`,
		`{"classes":[{"class":"read","outcomes":{},"times":{"service":{"count":1}}}],"histograms":["eA=="]}`,
		`{"classes":[{"class":"read","outcomes":{},"times":{"service":{"count":1}}}]}`,
		`{"classes":[{"class":"another","outcomes":{}}]}`,
		`{"classes":[{"class":"read","outcomes":{"strange":1}}]}`,
		`{"lateness":{"count":1},"histograms":[""]}`,
		`{"histograms":["eA=="]}`,
	} {
		var w record.PackedInterval
		if err := json.Unmarshal([]byte(text), &w); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Unpack(testDims(false)); err == nil {
			t.Errorf("%s was taken for an interval", text)
		}
	}
}

// A client whose intervals do not follow each other, or have other operations than its own record, makes the result
// invalid. Intervals that are complete do not.
func TestIntervalsOfEachClientAreChecked(t *testing.T) {
	list := func(from, to int) (all []*measure.Interval) {
		for _, s := range seconds(load.PhaseMeasure, from, to) {
			all = append(all, s.interval())
		}
		return all
	}
	whole := list(0, 3)
	for _, c := range []struct {
		name string
		sent []*measure.Interval
		want string
	}{
		{"complete", whole, ""},
		{"repeated", []*measure.Interval{whole[0], whole[1], whole[1], whole[2]}, "its interval from 1s to 2s followed the one that ended at 2s"},
		{"left out", []*measure.Interval{whole[0], whole[2]}, "its interval from 2s to 3s followed the one that ended at 1s"},
		{"the last left out", whole[:2], "its own record has"},
	} {
		m := newMerger(testDims(false), time.Second, 1, func(*measure.Interval) error { return nil })
		for _, iv := range c.sent {
			if err := m.add(0, iv); err != nil {
				t.Fatal(err)
			}
		}
		var own measure.Tally
		for _, iv := range whole {
			own = own.Add(iv.Tally(m.dims))
		}
		of := &record.Run{Phases: []record.PhaseResult{{Phase: load.PhaseMeasure, Counts: own}}}
		tm := &coordinator{merger: m, members: []*member{{done: &result{Run: of}}}}
		f := tm.intervalFinding()
		if (f == nil) != (c.want == "") || f != nil && (f.Severity != measure.Invalid || !strings.Contains(f.Text, c.want)) {
			t.Errorf("%s: the finding is %+v", c.name, f)
		}
	}
}
