package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/embedded"
	"github.com/plimsoll-bench/plimsoll/store/null"
	"github.com/plimsoll-bench/plimsoll/store/wire"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// ledgerGoal is what a ledger may cost of throughput, as issue 6 has it.
const ledgerGoal = 0.05

// ledgerTarget is a target on which runs with a ledger are compared with runs without.
type ledgerTarget struct {
	name       string
	records    int64 // that the load phase makes, 0 where nothing is kept
	operations int64 // of one run: some tenths of a second
	workers    int
	judged     bool // it has a server, or a disk: what the goal is about
	open       func(ctx context.Context, workers int) (store.Store, func() error, error)
}

func ledgerTargets() []ledgerTarget {
	return []ledgerTarget{
		{"null, in the process", 0, 100_000, 1, false, openNull},
		{"null, over loopback", 0, 10_000, 16, true, openResponder},
		{"embedded", 5000, 2000, 16, true, openEmbedded},
		{"documentdb", 2000, 400, 16, true, openDocumentDB},
	}
}

// ledgerCost compares runs with and without a ledger, in turns and within one process, on targets from the worst case, in
// which an operation costs nothing but its generation, to a real server.
func ledgerCost(ctx context.Context, w io.Writer, c config) error {
	blocks := max(6, c.rounds*8)
	fmt.Fprintf(w, "\nledger    throughput with a ledger by that without, median of %d blocks without-with-with-without (95 %% interval); goal %.2f\n", blocks, 1-ledgerGoal)
	var failed []error
	for _, t := range ledgerTargets() {
		if err := t.compare(ctx, w, blocks); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", t.name, err))
		}
	}
	return errors.Join(failed...)
}

// compare prints what a ledger costs on one target.
func (t ledgerTarget) compare(ctx context.Context, w io.Writer, blocks int) error {
	st, end, err := t.open(ctx, t.workers)
	if err != nil {
		return err
	}
	for _, kind := range []struct{ name, load string }{{"half updates, half reads", "a"}, {"inserts of 1 kB", "core"}} {
		spec := workload.Spec{Name: kind.load, Records: max(t.records, 1000), Seed: 1}
		if kind.load == "core" {
			spec.Params = map[string]string{"insertproportion": "1", "readproportion": "0", "updateproportion": "0"}
		}
		if err == nil {
			err = t.row(ctx, w, st, kind.name, spec, blocks)
		}
	}
	return errors.Join(err, st.Close(), end())
}

// row prints the comparison for one workload.
func (t ledgerTarget) row(ctx context.Context, w io.Writer, st store.Store, name string, spec workload.Spec, blocks int) error {
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
	pair := [2]workload.Workload{inner, books.Wrap(inner)}
	var ratios, costs []float64
	for block := range blocks {
		var sum [2]ledgerRun
		for i := range 4 {
			at := (i + 1) / 2 % 2 // without, with, with, without: what drifts meets both alike
			if block%2 == 1 {
				at = 1 - at
			}
			r, err := t.run(ctx, pair[at], st)
			if err != nil {
				return err
			}
			sum[at].took += r.took
			sum[at].cpu += r.cpu
		}
		ratios = append(ratios, sum[0].took.Seconds()/sum[1].took.Seconds())
		costs = append(costs, float64(sum[1].cpu-sum[0].cpu)/float64(2*t.operations))
	}
	return t.print(w, name, ratios, costs)
}

func (t ledgerTarget) print(w io.Writer, name string, ratios, costs []float64) error {
	ratio, iv, _ := stats.MedianInterval(ratios, 0.95)
	cost, _, _ := stats.MedianInterval(costs, 0.95)
	text := "not judged: nothing is behind it"
	if t.judged {
		text = verdict(ratio > 1-ledgerGoal)
	}
	_, err := fmt.Fprintf(w, "  %-21s %-25s %6.3f (%.3f to %.3f), %+6.0f ns of processor time per operation: %s\n", t.name, name, ratio, iv.Low, iv.High, cost, text)
	return err
}

// ledgerRun is what one run took.
type ledgerRun struct{ took, cpu time.Duration }

// run does one run. Opening connections is not part of what is measured.
func (t ledgerTarget) run(ctx context.Context, wl workload.Workload, st store.Store) (r ledgerRun, err error) {
	s := newSink(wl, false)
	cfg := load.Config{Workers: t.workers, Operations: t.operations}
	cfg.Ready = func(context.Context) error { r.cpu = -cpuTime(); return nil }
	report, err := load.Run(ctx, cfg, wl, st, s)
	r.cpu += cpuTime()
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

func openEmbedded(ctx context.Context, _ int) (store.Store, func() error, error) {
	dir, err := scratch("", "ledger")
	if err != nil {
		return nil, nil, err
	}
	st, err := embedded.Open(ctx, filepath.Join(dir, "data"), store.Config{Concern: store.Concern{W: "1"}}, embedded.Options{})
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	return st, func() error { return os.RemoveAll(dir) }, nil
}

// openDocumentDB brings a lab of one member up. Its level is balanced, which has the highest throughput to lose.
func openDocumentDB(ctx context.Context, workers int) (store.Store, func() error, error) {
	uri, end, err := documentDB(ctx)
	if err != nil {
		return nil, nil, err
	}
	st, err := wire.Open(ctx, store.Config{Target: uri, Database: "bench", Sessions: workers, Timeout: 30 * time.Second})
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return st, end, nil
}

// documentDB brings up a lab of one member and returns its address at the level balanced.
func documentDB(ctx context.Context) (uri string, end func() error, err error) {
	dir, err := scratch("", "ledger")
	if err != nil {
		return "", nil, err
	}
	end = func() error { return os.RemoveAll(dir) }
	b := labBench{home: filepath.Join(dir, "home"), binary: filepath.Join(dir, "plimsoll"), dir: dir}
	if err := b.prepare(ctx); err != nil {
		return "", nil, errors.Join(err, end())
	}
	spec := record.LabSpec{Name: fmt.Sprintf("bench-ledger-%d", os.Getpid()), Engine: record.EngineSpec{Name: engine.DocumentDB},
		Topology: record.TopologySpec{Kind: record.LabStandalone}}
	h, err := lab.Up(ctx, spec, lab.Options{Home: b.home, Executable: b.binary})
	if err != nil {
		return "", nil, errors.Join(err, end())
	}
	end = func() error {
		return errors.Join(h.Close(), lab.Down(context.WithoutCancel(ctx), b.home, spec.Name, nil), os.RemoveAll(dir))
	}
	all, err := h.Addresses(ctx)
	if err == nil && all["balanced"] == "" {
		err = errors.New("the lab has no gateway for the level balanced")
	}
	if err != nil {
		return "", nil, errors.Join(err, end())
	}
	return all["balanced"], end, nil
}
