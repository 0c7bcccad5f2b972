package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/null"
	"github.com/plimsoll-bench/plimsoll/store/wire"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// ledgerGoal is what a ledger may cost of throughput, as issue 6 has it.
const ledgerGoal = 0.05

// ledgerOperations is how many operations a run of ledgerCost has: enough to last a few tenths of a second.
const ledgerOperations = 20_000

// ledgerCost compares runs with and without a ledger against the null responder over loopback, in turns, and says how
// fast an audit takes documents in.
func ledgerCost(ctx context.Context, w io.Writer, c config) error {
	r, err := null.Listen(null.Options{})
	if err != nil {
		return err
	}
	defer r.Close()
	st, err := wire.Open(ctx, store.Config{Target: "mongodb://" + r.Addr(), Database: "bench", Sessions: c.workers})
	if err != nil {
		return err
	}
	defer st.Close()
	fmt.Fprintf(w, "\nledger    runs of %d operations against the null responder, with a ledger and without; median ratio of %d\n", ledgerOperations, c.rounds)
	for _, spec := range []workload.Spec{
		{Name: "a", Records: 100_000, Seed: 1},
		{Name: "core", Records: 1000, Seed: 1, Params: map[string]string{"insertproportion": "1", "readproportion": "0", "updateproportion": "0"}},
	} {
		if err := ledgerRatio(ctx, w, c, st, spec); err != nil {
			return err
		}
	}
	return auditSpeed(ctx, w)
}

// ledgerRatio prints what a ledger costs one workload.
func ledgerRatio(ctx context.Context, w io.Writer, c config, st store.Store, spec workload.Spec) error {
	inner, err := workload.Open(spec)
	if err != nil {
		return err
	}
	books := ledger.New(ledger.Options{Run: 1, Writers: c.workers})
	wrapped := books.Wrap(inner)
	var ratios []float64
	for round := range c.rounds {
		pair := [2]workload.Workload{inner, wrapped}
		var rates [2]float64
		for i := range pair { // the one that comes second is another each time
			at := (i + round) % 2
			if rates[at], err = ledgerRate(ctx, c.workers, st, pair[at]); err != nil {
				return err
			}
		}
		ratios = append(ratios, rates[1]/rates[0])
	}
	slices.Sort(ratios)
	ratio := ratios[len(ratios)/2]
	fmt.Fprintf(w, "  %-10s  %6.3f of the throughput (%.3f to %.3f), goal %.2f: %s\n", spec.Name, ratio, ratios[0], ratios[len(ratios)-1],
		1-ledgerGoal, verdict(ratio > 1-ledgerGoal))
	return nil
}

// ledgerRate returns the operations per second of one run.
func ledgerRate(ctx context.Context, workers int, st store.Store, wl workload.Workload) (float64, error) {
	report, err := load.Run(ctx, load.Config{Workers: workers, Operations: ledgerOperations}, wl, st, ignored{})
	if err != nil {
		return 0, err
	}
	return ledgerOperations / (report.Until - report.From).Seconds(), nil
}

// ignored is a sink that keeps nothing.
type ignored struct{}

func (ignored) Interval(*measure.Interval) error { return nil }
func (ignored) Event(measure.Event) error        { return nil }

// auditDocuments is how many documents of auditPayload bytes auditSpeed reads.
const (
	auditDocuments = 200_000
	auditPayload   = 1000
)

// auditSpeed prints how fast an audit takes in documents that are in memory, beside a pass over them that only has the
// driver look at each: what a scan can do at best.
func auditSpeed(ctx context.Context, w io.Writer) error {
	books := ledger.New(ledger.Options{Run: 1, Writers: 1})
	own, err := books.Workload(ledger.Params{Insert: 1, Payload: auditPayload})
	if err != nil {
		return err
	}
	src := &kept{}
	stream := own.Stream(0, 1)
	var op workload.Op
	for range auditDocuments {
		stream.Next(&op)
		src.docs = append(src.docs, slices.Clone(op.Requests[0].Docs[0]))
		stream.(load.Settler).Settle(&op, &load.Settlement{Confirmed: 1, Failed: -1, Attempts: 1})
	}
	plain := time.Now()
	if err := src.Scan(ctx, "", func(doc []byte) error { return bson.Raw(doc).Validate() }); err != nil {
		return err
	}
	scan := time.Since(plain)
	began := time.Now()
	result, err := books.Audit(ctx, ledger.AuditOptions{Workload: own, Final: src})
	if err != nil {
		return err
	}
	audit := time.Since(began)
	perDoc := float64(audit.Nanoseconds()) / auditDocuments
	fmt.Fprintf(w, "  audit       %6.0f ns per document of 1 kB, %.1f million per second (the driver's Validate alone: %.0f ns); %d of %d ok\n",
		perDoc, 1000/perDoc, float64(scan.Nanoseconds())/auditDocuments, result.Inserts["ok"], auditDocuments)
	return nil
}

// kept is a source of documents in memory.
type kept struct{ docs [][]byte }

func (k *kept) Name() string { return ledger.FinalRead }

// Scan implements [ledger.Source].
func (k *kept) Scan(_ context.Context, _ string, each func(doc []byte) error) error {
	for _, doc := range k.docs {
		if err := each(doc); err != nil {
			return err
		}
	}
	return nil
}
