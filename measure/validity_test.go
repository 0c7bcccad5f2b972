package measure

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// A healthy phase: n seconds of r operations each, of which the change may make anything else.
func phase(t testing.TB, n int, change func(i int, iv *Interval)) *Summary {
	t.Helper()
	d := testDims(true)
	d.Outcomes = append(d.Outcomes, Outcome{Name: "corrupt"})
	s, rng := NewSummary(d, "measure"), rand.New(rand.NewPCG(5, 5))
	for i := range n {
		iv := newInterval(d, span{start: int64(i) * int64(time.Second), end: int64(i+1) * int64(time.Second), phase: "measure"})
		iv.Offered, iv.Workers, iv.Samples, iv.InFlight = 10_000, 16, 100, 10
		iv.Client = ClientUse{CPU: time.Second, SchedP99: 100 * time.Microsecond, GCPauseMax: 100 * time.Microsecond}
		succeed(iv, 10_000+int64(rng.IntN(41)-20), int64(time.Millisecond))
		iv.Lateness = NewHistogram()
		iv.Lateness.RecordN(50_000, 10_000)
		if change != nil {
			change(i, iv)
		}
		if err := s.Add(iv); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// succeed makes n reads the only operations of an interval.
func succeed(iv *Interval, n, service int64) {
	c := &iv.Classes[0]
	clear(c.Counts)
	c.Counts[0], c.Docs = n, n
	c.Service, c.Response, c.Wait = NewHistogram(), NewHistogram(), NewHistogram()
	c.Service.RecordN(service, n)
	c.Response.RecordN(service+1000, n)
	c.Wait.RecordN(1000, n)
}

// fail adds n operations with an outcome.
func fail(iv *Interval, outcome int, n int64) {
	c := &iv.Classes[0]
	c.Counts[outcome] += n
	c.Failed = NewHistogram()
	c.Failed.RecordN(2_000, n)
	c.Wait.RecordN(1000, n)
}

// noticed makes workers continue so long after they sent, in nanoseconds, without and with the delays of the client.
func noticed(bare, noticed int64) func(i int, iv *Interval) {
	return func(_ int, iv *Interval) {
		iv.Noticed, iv.Bare = NewHistogram(), NewHistogram()
		iv.Noticed.RecordN(noticed, 10_000)
		iv.Bare.RecordN(bare, 10_000)
	}
}

// throttled lets a quota stop the client for a part of each second.
func throttled(d time.Duration) func(i int, iv *Interval) {
	return func(_ int, iv *Interval) { iv.Client.Throttled, iv.Client.ThrottledTimes = d, 1 }
}

// outage lets nothing succeed from one second to another: workers wait for a connection, and few of them fail.
func outage(from, to int) func(i int, iv *Interval) {
	return func(i int, iv *Interval) {
		if i < from || i >= to {
			return
		}
		succeed(iv, 0, 1e6)
		fail(iv, 2, 4)
		iv.Offered, iv.InFlight = 4, 0.4
		iv.Classes[0].Service.RecordN(1e8, 4)
		iv.Classes[0].PoolWait = NewHistogram()
		iv.Classes[0].PoolWait.RecordN(1e8, 4)
	}
}

// slow makes so many operations succeed in each second from one to another.
func slow(from, to int, rate int64) func(i int, iv *Interval) {
	return func(i int, iv *Interval) {
		if i >= from && i < to {
			succeed(iv, rate, int64(time.Millisecond))
			iv.Offered, iv.InFlight = rate, float64(rate)/1000
		}
	}
}

// pausing makes the client stand still in every second, for so long at most and in total.
func pausing(longest, total time.Duration) func(i int, iv *Interval) {
	return func(_ int, iv *Interval) { iv.Client.GCPauseMax, iv.Client.GCPauseSum = longest, total }
}

func ids(findings []Finding) []string {
	list := []string{}
	for _, f := range findings {
		list = append(list, f.ID+":"+string(f.Severity))
	}
	return list
}

func TestAHealthyRunHasNoFinding(t *testing.T) {
	s := phase(t, 600, nil)
	if got := Judge(s, Circumstances{Cores: 4, Ceiling: 100_000}); len(got) != 0 {
		t.Errorf("findings: %v %+v", ids(got), got)
	}
}

func TestFindings(t *testing.T) {
	for _, c := range []struct {
		name    string
		seconds int
		change  func(i int, iv *Interval)
		with    Circumstances
		want    []string
	}{
		{"processor", 300, func(_ int, iv *Interval) { iv.Client.CPU = 3 * time.Second }, Circumstances{Cores: 4}, []string{"client-cpu:warning"}},
		{"processor all", 300, func(_ int, iv *Interval) { iv.Client.CPU = 4 * time.Second }, Circumstances{Cores: 4}, []string{"client-cpu:invalid"}},
		{"processor shared with the target", 300, func(_ int, iv *Interval) { iv.Client.CPU = 4 * time.Second },
			Circumstances{Cores: 4, InProcess: true}, nil},
		{"noticed a little later", 300, noticed(1e6, 1_090_000), Circumstances{}, nil},
		{"noticed late", 300, noticed(1e6, 1_200_000), Circumstances{}, []string{"client-delay:warning"}},
		{"noticed much later", 300, noticed(400_000, 13e6), Circumstances{Cores: 4}, []string{"client-delay:invalid"}},
		{"noticed within the time of a wake-up", 300, noticed(100_000, 190_000), Circumstances{}, nil},
		{"one in 50 noticed late", 300, func(i int, iv *Interval) {
			noticed(1e6, 1e6)(i, iv)
			iv.Noticed = NewHistogram()
			iv.Noticed.RecordN(1e6, 9_800)
			iv.Noticed.RecordN(3e6, 200)
		}, Circumstances{}, []string{"client-delay:invalid"}},
		{"judged elsewhere", 300, noticed(400_000, 13e6), Circumstances{Remote: true}, nil},
		{"one busy loop of four cores", 300, func(_ int, iv *Interval) { iv.Client.Loops, iv.Client.LoopBusy = 2, 0.9 },
			Circumstances{Cores: 4}, []string{"client-loop:warning"}},
		{"a loop with reserves", 300, func(_ int, iv *Interval) { iv.Client.Loops, iv.Client.LoopBusy = 2, 0.75 }, Circumstances{}, nil},
		{"throttled", 300, throttled(20 * time.Millisecond), Circumstances{}, []string{"client-throttled:warning"}},
		{"throttled most of the time", 300, throttled(600 * time.Millisecond), Circumstances{}, []string{"client-throttled:invalid"}},
		{"hardly throttled", 300, throttled(5 * time.Millisecond), Circumstances{}, nil},
		{"waited for cores", 300, func(_ int, iv *Interval) { iv.Client.RunDelay = 2 * time.Second }, Circumstances{}, []string{"client-run-queue:warning"}},
		{"waited for cores most of the time", 300, func(_ int, iv *Interval) { iv.Client.RunDelay = 8 * time.Second }, Circumstances{},
			[]string{"client-run-queue:invalid"}},
		{"waited for cores, and answers have times", 300, func(i int, iv *Interval) {
			noticed(1e6, 1e6)(i, iv)
			iv.Client.RunDelay = 8 * time.Second
		}, Circumstances{}, nil},
		{"ceiling", 300, nil, Circumstances{Ceiling: 12_000}, []string{"client-limited:warning"}},
		{"ceiling reached", 300, nil, Circumstances{Ceiling: 10_500}, []string{"client-limited:invalid"}},
		{"scheduler", 300, func(i int, iv *Interval) {
			if i%10 == 0 {
				iv.Client.SchedP99 = 5 * time.Millisecond
			}
		}, Circumstances{}, []string{"client-scheduler:warning"}},
		{"scheduler and pauses, and answers have times", 300, func(i int, iv *Interval) {
			noticed(1e6, 1e6)(i, iv)
			pausing(3*time.Millisecond, 3*time.Millisecond)(i, iv)
			iv.Client.SchedP99 = 5 * time.Millisecond
		}, Circumstances{}, nil},
		{"scheduler, once", 300, func(i int, iv *Interval) {
			if i == 7 {
				iv.Client.SchedP99 = 5 * time.Millisecond
			}
		}, Circumstances{}, nil},
		{"scheduler, of the target too", 300, func(_ int, iv *Interval) { iv.Client.SchedP99 = 5 * time.Millisecond },
			Circumstances{InProcess: true}, []string{"client-scheduler:note"}},
		{"scheduler, small beside the target", 300, func(_ int, iv *Interval) {
			succeed(iv, 10_000, 50e6)
			iv.InFlight, iv.Client.SchedP99 = 500, 4*time.Millisecond
		}, Circumstances{}, nil},
		{"pauses", 300, pausing(3*time.Millisecond, 3*time.Millisecond), Circumstances{}, []string{"client-gc:warning"}},
		{"pauses, of the target too", 300, pausing(3*time.Millisecond, 3*time.Millisecond), Circumstances{InProcess: true}, []string{"client-gc:note"}},
		{"rare pauses", 300, pausing(3*time.Millisecond, 300*time.Microsecond), Circumstances{}, []string{"client-gc:note"}},
		{"short pauses", 300, pausing(900*time.Microsecond, 3*time.Millisecond), Circumstances{}, nil},
		{"pool", 300, func(_ int, iv *Interval) {
			iv.Classes[0].PoolWait = NewHistogram()
			iv.Classes[0].PoolWait.RecordN(100_000, 10_000)
		}, Circumstances{}, []string{"pool-wait:warning"}},
		{"lateness", 300, func(_ int, iv *Interval) { iv.Lateness.RecordN(200_000, 1_000) }, Circumstances{}, []string{"schedule-lateness:note"}},
		{"great lateness", 300, func(_ int, iv *Interval) { iv.Lateness.RecordN(2_000_000, 1_000) }, Circumstances{}, []string{"schedule-lateness:warning"}},
		{"lost operations", 300, func(_ int, iv *Interval) { iv.InFlight = 11 }, Circumstances{}, []string{"littles-law:warning"}},
		{"many lost operations", 300, func(_ int, iv *Interval) { iv.InFlight = 20 }, Circumstances{}, []string{"littles-law:invalid"}},
		{"scattered but right", 300, func(i int, iv *Interval) { iv.InFlight = float64(10 + 9*(i%2*2-1)) }, Circumstances{}, nil},
		{"overload", 300, func(_ int, iv *Interval) { iv.Offered = 11_000 }, Circumstances{}, []string{"schedule-not-sustained:invalid"}},
		{"slightly too much", 300, func(_ int, iv *Interval) { iv.Offered = 10_300 }, Circumstances{}, []string{"schedule-not-sustained:warning"}},
		{"short", 30, nil, Circumstances{}, []string{"too-short:warning"}},
		{"shorter than four checkpoint cycles", 239, nil, Circumstances{}, []string{"too-short:warning"}},
		{"without checkpoints", 40, nil, Circumstances{InProcess: true}, nil},
		{"without checkpoints, short", 39, nil, Circumstances{InProcess: true}, []string{"too-short:warning"}},
		{"a seventh for five of fifteen seconds", 15, slow(8, 13, 1429), Circumstances{InProcess: true},
			[]string{"throughput-variation:warning", "too-short:warning"}},
		{"a seventh for five seconds", 300, slow(100, 105, 1429), Circumstances{}, nil},
		{"a seventh for ten seconds", 300, slow(100, 110, 1429), Circumstances{}, []string{"throughput-variation:warning"}},
		{"checkpoints", 300, func(i int, iv *Interval) {
			if i%60 < 6 {
				slow(0, 300, 8500)(i, iv)
			}
		}, Circumstances{}, nil},
		{"seconds that scatter", 300, func(i int, iv *Interval) {
			slow(0, 300, 10_000+3500*int64(i%2*2-1))(i, iv)
		}, Circumstances{}, []string{"throughput-variation:warning"}},
		{"a slow target's chance", 300, func(i int, iv *Interval) { slow(0, 300, int64(4+i%3*2-i%2))(i, iv) }, Circumstances{},
			[]string{"few-samples:note"}},
		{"short and rising", 60, func(i int, iv *Interval) { succeed(iv, 9_900+int64(i)*20, 1e6) }, Circumstances{}, []string{"not-steady:warning", "too-short:warning"}},
		{"rising on purpose", 60, func(i int, iv *Interval) { succeed(iv, 9_900+int64(i)*20, 1e6) }, Circumstances{Varying: true}, nil},
		{"rising", 300, func(i int, iv *Interval) { succeed(iv, 9_900+int64(i), 1e6) }, Circumstances{}, []string{"not-steady:warning"}},
		{"warming up", 900, func(i int, iv *Interval) {
			if i < 120 {
				succeed(iv, 7_000, 1e6)
				iv.Offered, iv.InFlight = 7_000, 7
			}
		}, Circumstances{}, []string{"not-steady:warning"}},
		{"slower and slower", 600, func(i int, iv *Interval) {
			service := 1e6 + int64(i)*1000
			succeed(iv, 10_000, service)
			iv.InFlight = float64(service) / 1e5
		}, Circumstances{}, []string{"latency-drift:warning", "few-moments:note"}},
		{"failures", 300, func(_ int, iv *Interval) { fail(iv, 2, 500) }, Circumstances{}, []string{"failures:warning", "indeterminate:note"}},
		{"mostly failures", 300, func(_ int, iv *Interval) { fail(iv, 2, 12_000) }, Circumstances{}, []string{"failures:invalid", "indeterminate:note"}},
		{"outage", 300, outage(250, 259), Circumstances{}, []string{"outage:warning", "indeterminate:note"}},
		{"outage in a rising run", 300, func(i int, iv *Interval) {
			succeed(iv, 9_900+int64(i), 1e6)
			outage(250, 259)(i, iv)
		}, Circumstances{}, []string{"outage:warning", "indeterminate:note"}},
		{"dead in the end", 300, outage(200, 300), Circumstances{}, []string{"outage:invalid", "indeterminate:note"}},
		{"nothing to do for a while", 300, func(i int, iv *Interval) {
			if i == 250 {
				succeed(iv, 0, 1e6)
				iv.Offered, iv.InFlight = 0, 0
			}
		}, Circumstances{Varying: true}, nil},
		{"not found", 300, func(_ int, iv *Interval) { fail(iv, 1, 200) }, Circumstances{MaxFailed: 0.5}, []string{"not-found:warning"}},
		{"unacknowledged", 300, func(_ int, iv *Interval) { iv.Classes[0].Counts[3] = 1 }, Circumstances{}, []string{"unacknowledged:note"}},
		{"corrupt", 300, func(i int, iv *Interval) {
			if i == 3 {
				fail(iv, 4, 1)
			}
		}, Circumstances{}, []string{"corrupt:invalid"}},
		{"few", 300, func(i int, iv *Interval) {
			if i > 0 {
				*iv = *newInterval(testDims(true), span{start: int64(iv.Start), end: int64(iv.End), phase: "measure"})
				iv.Classes[0].Counts = append(iv.Classes[0].Counts, 0)
				iv.Classes[1].Counts, iv.Classes[2].Counts = iv.Classes[0].Counts, iv.Classes[0].Counts
			} else {
				succeed(iv, 400, 1e6)
			}
			iv.Offered = iv.Classes[0].Counts[0]
		}, Circumstances{Varying: true}, []string{"few-moments:note", "few-samples:note"}},
		{"counting", 300, nil, Circumstances{Displaced: 2, Rejected: 1, EventsLost: 4}, []string{"not-counted:invalid", "displaced:note", "events-lost:note"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Judge(phase(t, c.seconds, c.change), c.with)
			if want := append([]string{}, c.want...); !slices.Equal(ids(got), want) {
				t.Errorf("findings %v, want %v", ids(got), want)
			}
			for _, f := range got {
				checkText(t, f)
			}
		})
	}
}

// Every text has three short sentences (what was measured, what it means, what to do) and no figure that failed to
// print.
func checkText(t *testing.T, f Finding) {
	t.Helper()
	if bad := regexp.MustCompile(`%!|NaN|Inf|\n|[^.]$|^[A-Z]`).FindString(f.Text); bad != "" || len(f.Text) < 60 {
		t.Errorf("%s: text %q has %q", f.ID, f.Text, bad)
	}
	if n := len(regexp.MustCompile(`\. [A-Z0-9]|\.$`).FindAllString(f.Text, -1)); n < 3 || n > 4 {
		t.Errorf("%s: %q has %d sentences", f.ID, f.Text, n)
	}
}

// What was due and never sent is an error and lies above every percentile.
func TestUnsentOperations(t *testing.T) {
	s := phase(t, 300, nil)
	s.Unsent = 3
	if got := ids(Judge(s, Circumstances{})); !slices.Equal(got, []string{"unsent:warning"}) {
		t.Errorf("findings: %v", got)
	}
	s.Unsent = s.Tally().Attempted / 50
	list, err := ParseObjectives("errors<1%,p90<1s,p99<1s,read.p99<1s")
	if err != nil {
		t.Fatal(err)
	}
	got := EvaluateAll(list, s)
	if x := *got[0].Measured; got[0].Met || x < 0.0195 || x > 0.0197 {
		t.Errorf("one of 51 was never sent: errors = %v", x)
	}
	if !got[1].Met || !got[2].NoAnswer || !got[3].Unknown {
		t.Errorf("p90 has an answer, p99 has none, and that of a class is unknown: %+v", got[1:])
	}
}

func TestNothingMeasuredIsInvalid(t *testing.T) {
	d := testDims(false)
	if got := Judge(NewSummary(d, "measure"), Circumstances{}); Worst(got) != Invalid || got[0].ID != "nothing" {
		t.Errorf("findings %v", ids(got))
	}
	s := phase(t, 5, func(_ int, iv *Interval) { succeed(iv, 0, 1); fail(iv, 2, 10) })
	if got := Judge(s, Circumstances{}); !slices.Contains(ids(got), "nothing-succeeded:invalid") {
		t.Errorf("findings %v", ids(got))
	}
}

func TestWorst(t *testing.T) {
	if Worst(nil) != "" || Worst([]Finding{{Severity: Note}, {Severity: Warning}}) != Warning {
		t.Error("the worst of findings is wrong")
	}
}

func TestMergeOfSummaries(t *testing.T) {
	s := phase(t, 10, nil)
	tail := newInterval(s.Dims, span{start: 10e9, end: 11e9, phase: "drain"})
	succeed(tail, 5, 30e6)
	ended := s.Ended()
	if err := s.AddTail(tail); err != nil {
		t.Fatal(err)
	}
	if s.Ended() != ended || s.Tally().Succeeded != ended.Succeeded+5 || s.Duration() != 10*time.Second ||
		s.Tail.Succeeded != 5 {
		t.Errorf("tail: %+v of %+v in %v", s.Tail, s.Tally(), s.Duration())
	}
	if got := s.EndedClass(0); got != ended.Succeeded {
		t.Errorf("%d operations of the class succeeded within the phase, want %d: its rate must not count the tail", got,
			ended.Succeeded)
	}
	if docs, _ := s.Moved(); docs != ended.Succeeded {
		t.Errorf("%d documents moved within the phase, want %d", docs, ended.Succeeded)
	}
	rate, err := ParseObjectives("read.rate>0,rate>0")
	if err != nil {
		t.Fatal(err)
	}
	if of := EvaluateAll(rate, s); *of[0].Measured != *of[1].Measured || *of[1].Measured != s.Rate(ended.Succeeded) {
		t.Errorf("the rate of the only class is %v, that of all operations %v", *of[0].Measured, *of[1].Measured)
	}
	if got := s.Class("read").Response.Max(); got != 30e6+1000 {
		t.Errorf("the longest response of the tail is missing: %d", got)
	}
	if err := s.Add(tail); err == nil {
		t.Error("an interval of another phase was added")
	}
	other := newInterval(Dims{Classes: s.Dims.Classes[:1], Outcomes: s.Dims.Outcomes}, span{phase: "measure"})
	if err := s.Add(other); err == nil {
		t.Error("an interval with other classes was added")
	}
	if s.Class("nothing") != nil || s.Class("read").Histogram("odd") != nil {
		t.Error("an unknown class or kind was found")
	}
	if got := fmt.Sprintf("%.1f", s.LittleInFlight()); got != "10.0" {
		t.Errorf("Little's law gives %s operations under way, want 10.0", got)
	}
}

// A latency far below the lateness of the load generator does not contain it.
func TestSchedulerFindingOfATargetFasterThanTheScheduler(t *testing.T) {
	for service, want := range map[int64]string{200: "Latencies below 1.00 ms do not describe the target.",
		5e6: "This is included in the measured latency and exceeds 10 % of its p99."} {
		s := phase(t, 20, func(_ int, iv *Interval) {
			succeed(iv, 10_000, service)
			iv.Client.SchedP99 = 5 * time.Millisecond
		})
		if got := checkScheduler(s, Circumstances{}); len(got) != 1 || !strings.Contains(got[0].Text, want) {
			t.Errorf("at %d ns: %v", service, got)
		}
	}
}

// A number reads the same in a finding as in a table.
func TestFindingsWriteNumbersAsTablesDo(t *testing.T) {
	s := &Summary{Start: 0, End: 15 * time.Second, Offered: 100_000, Dropped: 15_903}
	if got := checkSchedule(s, Circumstances{}); !strings.Contains(got[0].Text, "15,903 operations were dropped") {
		t.Error(got)
	}
	text := finding("x", Note, 0, 0, "", "%s, %s, %s and %s;", 10641*time.Microsecond, 3694, int64(15903),
		time.Duration(0))[0].Text + chance(0.0004) + chance(0.004)
	for _, want := range []string{"10.6 ms, 3,694, 15,903 and 0", "p < 0.001", "p = 0.004"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
}
