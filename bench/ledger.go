package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/embedded"
	"github.com/plimsoll-bench/plimsoll/store/null"
	"github.com/plimsoll-bench/plimsoll/store/wire"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// ledgerGoal is the largest share of the throughput that a ledger may cost.
const ledgerGoal = 0.05

// The duration of one comparison for each round, and its fewest blocks on a slow machine. The interval of a judged
// comparison must be narrow enough to be on one side of the goal; a few blocks are enough for the others. The duration
// is fixed: stopping at the first verdict would make wrong verdicts more likely.
const (
	ledgerJudged = 14 * time.Second
	ledgerOther  = 5 * time.Second
	ledgerBlocks = 12
)

// ledgerTarget is a target on which runs with a ledger are compared with runs without.
type ledgerTarget struct {
	name       string
	records    int64 // that the load phase inserts, 0 if the target keeps nothing
	operations int64 // of one run: 0.1 to 0.2 s, so that a disturbance affects both sides alike
	workers    int
	judged     bool // the goal applies: the target waits for a server or a disk, like the targets of drills
	open       func(ctx context.Context, workers int) (store.Store, func() error, error)
}

func ledgerTargets() []ledgerTarget {
	return []ledgerTarget{
		{"null, in the process", 0, 50_000, 1, false, openNull},
		{"null, over loopback", 0, 5_000, 16, true, openResponder},
		{"embedded, no sync", 5000, 4000, 16, false, openEmbedded("1")},
		{"embedded", 5000, 300, 16, true, openEmbedded("majority")},
	}
}

// ledgerCost compares runs with and without a ledger, alternating within one process. The targets go from the worst
// case, in which an operation costs its generation only, to writes that wait for the disk. It takes less
// than two minutes for each round.
func ledgerCost(ctx context.Context, w io.Writer, c config) error {
	fmt.Fprintf(w, "\nRuns with a ledger relative to runs without: median of blocks without-with-with-without "+
		"(95 %% interval).\nGoal: throughput × %.2f. If that is open: processor time of this process × %.3f, which depends "+
		"less on other programs.\n", 1-ledgerGoal, 1/(1-ledgerGoal))
	var failed []error
	for _, t := range ledgerTargets() {
		budget := ledgerOther
		if t.judged {
			budget = ledgerJudged
		}
		if err := t.compare(ctx, w, budget*time.Duration(max(1, c.rounds))); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", t.name, err))
		}
	}
	return errors.Join(failed...)
}

// compare prints the cost of a ledger on one target. budget is the duration of each comparison.
func (t ledgerTarget) compare(ctx context.Context, w io.Writer, budget time.Duration) error {
	st, end, err := t.open(ctx, t.workers)
	if err != nil {
		return err
	}
	for _, kind := range []struct{ name, load string }{
		{"half updates, half reads", "a"}, {"inserts of 1 kB", "core"},
	} {
		spec := workload.Spec{Name: kind.load, Records: max(t.records, 1000), Seed: 1}
		if kind.load == "core" {
			spec.Params = map[string]string{"insertproportion": "1", "readproportion": "0", "updateproportion": "0"}
		}
		if err == nil {
			err = t.row(ctx, w, st, kind.name, spec, budget)
		}
	}
	return errors.Join(err, st.Close(), end())
}

func (t ledgerTarget) row(ctx context.Context, w io.Writer, st store.Store, name string, spec workload.Spec,
	budget time.Duration) error {
	inner, err := workload.Open(spec)
	if err != nil {
		return err
	}
	if t.records > 0 {
		_ = st.Drop(ctx, inner.Collections()[0]) // absent at first
		if _, err := load.Fill(ctx, load.FillConfig{Batch: 500, Parallel: 4}, inner, st, ignored{}); err != nil {
			return err
		}
	}
	books := ledger.New(ledger.Options{Run: 1, Writers: t.workers})
	open := func() (workload.Workload, error) { return inner, nil } // each run inserts the next documents of the sequence
	if spec.Params == nil {
		open = func() (workload.Workload, error) {
			spec.Seed++
			return workload.Open(spec)
		}
	}
	var c ledgerRatios
	for began := time.Now(); len(c.rate) < ledgerBlocks || time.Since(began) < budget; {
		sum, err := t.block(ctx, open, books, st, len(c.rate)%2)
		if err != nil {
			return err
		}
		c.rate = append(c.rate, sum[0].took.Seconds()/sum[1].took.Seconds())
		c.cpu = append(c.cpu, sum[1].cpu.Seconds()/sum[0].cpu.Seconds())
		c.cost = append(c.cost, float64(sum[1].cpu-sum[0].cpu)/float64(2*t.operations))
		c.base = append(c.base, float64(sum[0].cpu)/float64(2*t.operations))
	}
	return c.print(w, t, name)
}

// block does two runs of each side: without, with, with, without, or the reverse. A drift of the machine then affects
// both alike. Each run has a new workload: setting the values of the last run again would change nothing, and a
// store that notices it does less work without a ledger than with one, whose counters always change.
func (t ledgerTarget) block(ctx context.Context, open func() (workload.Workload, error), books *ledger.Ledger,
	st store.Store, first int) (sum [2]ledgerRun, err error) {
	for i := range 4 {
		at := (i + 1) / 2 % 2
		if first == 1 {
			at = 1 - at
		}
		wl, err := open()
		if err != nil {
			return sum, err
		}
		var observe func(int) load.Observer
		if at == 1 {
			wl, observe = books.Wrap(wl), books.Observe
		}
		r, err := t.run(ctx, wl, observe, st)
		if err != nil {
			return sum, err
		}
		sum[at].took += r.took
		sum[at].cpu += r.cpu
	}
	return sum, nil
}

// ledgerRatios has one value per block of a comparison.
type ledgerRatios struct {
	rate, cpu []float64 // throughput and processor time with a ledger over those without
	cost      []float64 // processor time of the ledger per operation, in ns
	base      []float64 // processor time of an operation without a ledger, in ns
}

func (c ledgerRatios) print(w io.Writer, t ledgerTarget, name string) error {
	rate, riv, _ := stats.MedianInterval(c.rate, 0.95)
	cpu, civ, _ := stats.MedianInterval(c.cpu, 0.95)
	cost, _, _ := stats.MedianInterval(c.cost, 0.95)
	base, _, _ := stats.MedianInterval(c.base, 0.95)
	text := "not judged, because operations do not wait"
	if t.judged {
		text = ledgerVerdict(riv, civ)
	}
	_, err := fmt.Fprintf(w, "  %-21s %-25s throughput × %.3f (%.3f to %.3f), processor time × %.3f (%.3f to %.3f), "+
		"%+.0f ns to %.0f ns per operation, %d blocks: %s\n",
		t.name, name, rate, riv.Low, riv.High, cpu, civ.Low, civ.High, cost, base, len(c.rate), text)
	return err
}

// ledgerVerdict words whether the goal is met. If the interval of the throughput includes the goal, the processor time
// decides: where it is the limit, throughput is its inverse, and elsewhere the ledger costs less.
func ledgerVerdict(rate, cpu stats.Interval) string {
	const least, most = 1 - ledgerGoal, 1 / (1 - ledgerGoal)
	switch {
	case rate.Low >= least:
		return "met"
	case rate.High < least:
		return "missed"
	case cpu.High <= most:
		return "met by processor time; throughput open"
	case cpu.Low > most:
		return "missed by processor time; throughput open"
	}
	return "open: the intervals include the goal; measure on a quieter machine, or with more -rounds"
}

type ledgerRun struct{ took, cpu time.Duration }

// run does one run. Opening connections is not measured.
func (t ledgerTarget) run(ctx context.Context, wl workload.Workload, observe func(int) load.Observer,
	st store.Store) (r ledgerRun, err error) {
	s := newSink(wl, false)
	cfg := load.Config{Workers: t.workers, Operations: t.operations, Observe: observe}
	cfg.Ready = func(context.Context) error {
		runtime.GC() // the garbage of the last run is not part of this one
		r.cpu = -measure.ProcessCPU()
		return nil
	}
	report, err := load.Run(ctx, cfg, wl, st, s)
	r.cpu += measure.ProcessCPU()
	r.took = report.Until - report.From
	if bad := s.sum.Tally().Bad(); err == nil && bad > 0 {
		err = fmt.Errorf("%d of %d operations failed", bad, t.operations)
	}
	return r, err
}

// ignored is a sink that keeps nothing.
type ignored struct{}

func (ignored) Interval(*measure.Interval) error { return nil }
func (ignored) Event(measure.Event) error        { return nil }

func nothingToEnd() error { return nil }

func openNull(context.Context, int) (store.Store, func() error, error) {
	st, err := null.Open(store.Config{}, null.Options{})
	return st, nothingToEnd, err
}

func openResponder(ctx context.Context, workers int) (store.Store, func() error, error) {
	r, err := null.Listen(null.Options{})
	if err != nil {
		return nil, nil, err
	}
	st, err := wire.Open(ctx, store.Config{Target: r.URI(), Database: "bench", Sessions: workers})
	if err != nil {
		return nil, nil, errors.Join(err, r.Close())
	}
	return st, r.Close, nil
}

// openEmbedded opens a store in a new directory. Writes with w:majority wait for the disk, as in a drill by
// default. Others do not wait, and take 10 µs.
func openEmbedded(w string) func(context.Context, int) (store.Store, func() error, error) {
	return func(ctx context.Context, _ int) (store.Store, func() error, error) {
		dir, err := scratchIn("")
		if err != nil {
			return nil, nil, err
		}
		st, err := embedded.Open(ctx, filepath.Join(dir, "data"), store.Config{Concern: store.Concern{W: w}})
		if err != nil {
			return nil, nil, errors.Join(err, os.RemoveAll(dir))
		}
		return st, func() error { return os.RemoveAll(dir) }, nil
	}
}
