package conduct

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

// changing is a bench whose results are changed before the study sees them.
type changing struct {
	*bench
	change func(q study.Request, r *record.Run)
}

func (c *changing) Trial(ctx context.Context, q study.Request) (study.Result, error) {
	r, err := c.bench.Trial(ctx, q)
	if r.Run != nil {
		c.change(q, r.Run)
	}
	return r, err
}

// attemptsOf returns the attempts of a trial, in order.
func attemptsOf(s *record.Study, number int) []record.Trial {
	var list []record.Trial
	for _, t := range s.Trials {
		if t.Number == number && t.Kind != record.TrialSearch {
			list = append(list, t)
		}
	}
	return list
}

// A trial that lost a load process failed, and one that must not be believed can be repeated like it.
func TestTrialsWithoutAResultAreRepeated(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b := &changing{bench: newBench(simulatedtest.Target{Noise: 0.01}), change: func(q study.Request, r *record.Run) {
		switch q.Trial {
		case 2:
			r.Course.EndedBy = fleet.EventLost
			r.Validity = append(r.Validity, measure.Finding{ID: fleet.EventLost, Severity: measure.Invalid, Text: "client 1 of 2 was lost"})
		case 3:
			r.Validity = append(r.Validity, measure.Finding{ID: "made-up", Severity: measure.Invalid, Text: "not to be believed"})
		}
	}}
	o := b.options(dir)
	o.Runner = b
	s, err := runStudy(t.Context(), smallStudy(nil), o)
	if err != nil {
		t.Fatal(err)
	}
	if two := attemptsOf(s, 2); len(two) != 1 || two[0].Status != record.TrialFailed || two[0].Problem != "client 1 of 2 was lost" {
		t.Errorf("the trial that lost a load process: %+v", two)
	}
	if three := attemptsOf(s, 3); len(three) != 1 || three[0].Status != record.TrialDone {
		t.Errorf("the invalid trial: %+v", three)
	}
	again := newBench(simulatedtest.Target{Noise: 0.01})
	if _, err = Resume(t.Context(), dir, again.options("")); err != nil || len(again.asked) != 0 {
		t.Fatalf("without --retry-failed %v were repeated: %v", again.numbers(), err)
	}
	o = again.options("")
	o.RetryFailed = true
	if s, err = Resume(t.Context(), dir, o); err != nil || len(again.asked) != 2 {
		t.Fatalf("with --retry-failed %v were repeated: %v", again.numbers(), err)
	}
	for _, n := range []int{2, 3} {
		if list := attemptsOf(s, n); len(list) != 2 || list[1].Attempt != 2 || list[1].Status != record.TrialDone ||
			worthless(list[1]) {
			t.Errorf("trial %d: %+v", n, list)
		}
	}
	for _, c := range s.Comparisons {
		if c.Metric == "throughput" && (c.N != 3 || c.NBase != 3 || c.Pairs != 3) {
			t.Errorf("the later attempts do not count: %+v", c)
		}
	}
	last := newBench(simulatedtest.Target{})
	o = last.options("")
	o.RetryFailed = true
	if _, err := Resume(t.Context(), dir, o); err != nil || len(last.asked) != 0 {
		t.Errorf("once more %v were repeated: %v", last.numbers(), err)
	}
}

// backwards is a clock that is set back by an hour whenever it is told to.
type backwards struct {
	study.Clock
	hours atomic.Int64
}

func (c *backwards) Now() time.Time {
	return c.Clock.Now().Add(-time.Duration(c.hours.Load()) * time.Hour)
}

// A clock that is set back gives no two runs the same number, and no trial took less than no time.
func TestClockSetBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b := newBench(simulatedtest.Target{})
	clock := &backwards{Clock: b.Clock()}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b.before = func(_ context.Context, q study.Request) error {
		clock.hours.Add(1)
		if q.Trial == 3 {
			cancel()
			return context.Canceled
		}
		return nil
	}
	o := b.options(dir)
	o.Clock = clock
	if _, err := runStudy(ctx, smallStudy(nil), o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	b.before = func(context.Context, study.Request) error { clock.hours.Add(1); return nil }
	s, err := Resume(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	finished(t, dir, s, 6)
	for i, q := range b.asked {
		if q.Number == 0 || i > 0 && q.Number <= b.asked[i-1].Number {
			t.Errorf("trial %d has the number %d after %d", q.Trial, q.Number, b.asked[max(0, i-1)].Number)
		}
	}
	for _, tr := range s.Trials {
		if tr.Seconds < 0 {
			t.Errorf("trial %d took %v s", tr.Number, tr.Seconds)
		}
	}
}

func TestRelativeFileIsRefusedElsewhere(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("sizes.txt", []byte("BlockSize\t10\n0\t1\n1\t5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	here := t.TempDir()
	asked := smallStudy(func(s *spec.Study) {
		s.Run.Workload.Params = map[string]string{"fieldlengthdistribution": "histogram", "fieldlengthhistogram": "sizes.txt"}
	})
	dir := half(t, asked, 2)
	sizes, err := os.ReadFile("sizes.txt")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(here)
	if err := os.WriteFile("sizes.txt", append(sizes, "2\t9\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	b := newBench(simulatedtest.Target{})
	if _, err := Resume(t.Context(), dir, b.options("")); err == nil ||
		!strings.Contains(err.Error(), "file sizes.txt") || len(b.asked) > 0 {
		t.Errorf("from another directory: %v", err)
	}
}

// What a trial loaded that was killed needs no room a second time.
func TestRoomForDataThatAreThere(t *testing.T) {
	for held, want := range map[int64]bool{0: false, 1900 << 20: true} {
		data := filepath.Join(t.TempDir(), "data")
		if err := os.MkdirAll(data, 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(filepath.Join(data, "000001.sst"))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Truncate(held), f.Close()); err != nil { // it takes no space
			t.Fatal(err)
		}
		b := newBench(simulatedtest.Target{})
		o := b.options(filepath.Join(t.TempDir(), "study"))
		o.Free = func(string) (uint64, bool) { return 1 << 30, true }
		_, err = runStudy(t.Context(), smallStudy(func(s *spec.Study) {
			s.Run.Target, s.Run.Workload.Records = "embedded:"+data, 1_000_000
		}), o)
		var stop *campaign.Stop
		if begun := len(b.asked) > 0; begun != want || !want && (!errors.As(err, &stop) || stop.Reason != campaign.DiskFull) {
			t.Errorf("with %d bytes there: begun %v: %v", held, begun, err)
		}
	}
}

// A budget that ends within a procedure does not say that no trials are left.
func TestBudgetWithinAProcedure(t *testing.T) {
	b := newBench(searchTarget())
	asked := searching()
	asked.Budget = spec.Duration(time.Nanosecond)
	o := b.options(t.TempDir())
	o.defaults()
	c := newSession(o, nil, &record.Study{}, asked)
	c.Ended = 1
	c.Budget.Began = c.Budget.Began.Add(-time.Hour)
	if err := c.mayBegin(record.Trial{Kind: record.TrialSearch}); err == nil || !strings.Contains(err.Error(), "with its procedures left") {
		t.Errorf("got error: %v", err)
	}
}
