package main

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/drill/ledger/ledgertest"
	"github.com/plimsoll-bench/plimsoll/drill/reads"
	"github.com/plimsoll-bench/plimsoll/drill/reads/readstest"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	target "github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
	"github.com/plimsoll-bench/plimsoll/workload/own"
)

// judgesFamily gives histories with known truth to the judges of writes and reads, without a server.
func judgesFamily() family {
	f := family{name: "judges", verdict: "`plimsoll drill`, the judges alone: what became of each write and each read",
		parallel: 2, notFound: []string{
			"a server that shows a write before an update in another document that the session of the write had read",
			"lies about reads of other workloads than `ledger`, and across load processes",
			"updates of a transaction that are present while others of it are absent, if updates without an answer explain it",
		}}
	for _, r := range []struct {
		guarantee, name, lie string
	}{
		{reads.ReadYourWrites, "read-own-write", "a read lacks an acknowledged update of its session"},
		{reads.MonotonicReads, "read-goes-back", "a read lacks an update that its session had read"},
		{reads.MonotonicWrites, "read-with-hole", "a read lacks an update before one that it returns"},
		{reads.WritesFollowReads, "write-follows-lost-read", "a write survives an update that its session had read"},
		{reads.Committed, "read-rolled-back", "a majority read returns an update that is rolled back later"},
		{reads.Written, "read-not-written", "a read returns an update that no client had sent"},
		{reads.Linearizable, "read-stale", "a linearizable read lacks an acknowledged update"},
		{reads.OneOrder, "reads-contradict", "two majority reads each lack an update that the other returned"},
	} {
		f.rows = append(f.rows, row{name: r.name, lie: r.lie, goal: everyOne, small: 20, full: 200,
			try: func(_ context.Context, t *trial) (answer, error) { return plantedRead(t, r.guarantee) }})
	}
	for _, r := range []struct {
		mishap           ledgertest.Mishap
		class, name, lie string
	}{
		{ledgertest.Lose, record.WriteLost, "lost", "an acknowledged write is absent at the end"},
		{ledgertest.Roll, record.WriteLost, "rolled-back", "an acknowledged write is rolled back"},
		{ledgertest.Double, record.WriteDuplicated, "applied-twice", "a write is applied twice"},
		{ledgertest.Resurrect, record.WritePhantom, "phantom", "a write that was refused is present"},
		{ledgertest.Spoil, record.WriteCorrupt, "changed", "a byte or a counter of a write is changed"},
	} {
		f.rows = append(f.rows, row{name: r.name, lie: r.lie, goal: everyOne, small: 20, full: 250, // not all are planted
			try: func(ctx context.Context, t *trial) (answer, error) { return plantedWrite(ctx, t, r.mishap, r.class) }})
	}
	return family{name: f.name, verdict: f.verdict, parallel: f.parallel, notFound: f.notFound, rows: append(f.rows,
		row{name: "torn", lie: "a transaction is applied in part, acknowledged or not", goal: everyOne, small: 10, full: 250,
			try: func(ctx context.Context, t *trial) (answer, error) { return tornOrNot(ctx, t, true) }},
		row{name: "split-brain", lie: "lost writes were acknowledged after the fault took effect", goal: everyOne, small: 20,
			full: 200, try: func(ctx context.Context, t *trial) (answer, error) { return ages(ctx, t, true) }},
		row{name: "honest-reads", honest: "lag, failovers and rollbacks that MongoDB allows", goal: none, small: 50,
			full: 1000, try: honestReads},
		row{name: "honest-writes", honest: "writes without an answer, refused or repeated, and late reads", goal: none,
			small: 20, full: 1000, try: honestWrites},
		row{name: "honest-transactions", honest: "transactions that are repeated, aborted or of unknown result", goal: none,
			small: 10, full: 1000, try: func(ctx context.Context, t *trial) (answer, error) {
				return tornOrNot(ctx, t, false)
			}},
		row{name: "honest-loss", honest: "lost writes up to the fault, with answers that arrive after it", goal: none, small: 20,
			full: 1000, try: func(ctx context.Context, t *trial) (answer, error) { return ages(ctx, t, false) }})}
}

func plantedRead(t *trial, guarantee string) (answer, error) {
	cfg := readstest.Config{Concern: "majority", Majority: true, Causal: true, Steps: 700, Sessions: 4}
	if guarantee == reads.Linearizable {
		cfg.Concern, cfg.Causal = "linearizable", false
	}
	for range 100 {
		w := readstest.New(t.rand.Uint64(), cfg)
		p, ok := w.Plant(guarantee)
		if !ok {
			continue
		}
		q := w.Question()
		q.Final, q.MostConflicts = p.Final(), math.MaxInt
		if v := reads.Judge(readstest.HistoryOf(w.Events, 0), q); slices.ContainsFunc(v.Conflicts, p.Is) {
			return accused, nil
		}
		return cleared, nil
	}
	return notPlanted, nil
}

func honestReads(_ context.Context, t *trial) (answer, error) {
	cfg := readstest.Kinds()[t.rand.IntN(len(readstest.Kinds()))]
	w := readstest.New(t.rand.Uint64(), cfg)
	q := w.Question()
	for name, n := range reads.Judge(readstest.HistoryOf(w.Events, 0), q).Broken {
		if n > 0 && q.Promised[name] {
			t.say("%+v: %s", cfg, name)
			return accused, nil
		}
	}
	return cleared, nil
}

// discard is a sink for what a load measures.
type discard struct{}

func (discard) Interval(*measure.Interval) error { return nil }
func (discard) Event(measure.Event) error        { return nil }

func drive(ctx context.Context, l *ledger.Ledger, w workload.Workload, st target.Store, operations int64) error {
	cfg := load.Config{Workers: 3, Operations: operations, Timeout: 30 * time.Second, Observe: l.Observe}
	_, err := load.Run(ctx, cfg, w, st, discard{})
	return err
}

// written audits a load of the workload ledger on a world with mishaps.
func written(ctx context.Context, t *trial, chances map[ledgertest.Mishap]float64) (*ledgertest.World,
	*record.LedgerResult, error) {
	w := ledgertest.New(rand.New(rand.NewPCG(t.rand.Uint64(), 1)), chances)
	w.Loaded = true
	l := ledger.New(ledger.Options{Run: t.rand.Uint32(), Seed: t.rand.Uint64(), Writers: 3})
	wl, err := l.Workload(ledger.Params{Payload: 30})
	if err != nil {
		return nil, nil, err
	}
	if err := drive(ctx, l, wl, w, 200); err != nil {
		return nil, nil, err
	}
	for _, undo := range w.Rolling {
		undo()
	}
	result, err := l.Audit(ctx, ledger.AuditOptions{Workload: wl,
		Final: &ledgertest.Reader{Source: ledger.FinalRead, W: w}})
	return w, result, err
}

func plantedWrite(ctx context.Context, t *trial, m ledgertest.Mishap, class string) (answer, error) {
	w, r, err := written(ctx, t, map[ledgertest.Mishap]float64{m: 0.02})
	if err != nil {
		return notPlanted, err
	}
	truth := w.Expected(ledgertest.Inserts)[class] + w.Expected(ledgertest.Updates)[class]
	switch found := r.Inserts[class] + r.Updates[class]; {
	case truth == 0:
		return notPlanted, nil
	case found != truth:
		t.say("%d are %s, in truth %d", found, class, truth)
		return cleared, nil
	}
	return accused, nil
}

// accuses reports whether a result has writes that make a drill violated.
func accuses(t *trial, r *record.LedgerResult) bool {
	for _, class := range []string{record.WriteLost, record.WriteDuplicated, record.WritePhantom, record.WriteCorrupt,
		record.WriteUnexpected, record.WriteDiverged, record.WriteTorn} {
		if n := r.Inserts[class] + r.Updates[class]; n > 0 {
			t.say("%d are %s: %v", n, class, r.Examples)
			return true
		}
	}
	if r.Divided > 0 {
		t.say("%d transactions were applied in part", r.Divided)
	}
	return r.Divided > 0
}

func honestWrites(ctx context.Context, t *trial) (answer, error) {
	_, r, err := written(ctx, t, map[ledgertest.Mishap]float64{ledgertest.Recovers: 0.05, ledgertest.Drop: 0.05,
		ledgertest.Refuse: 0.05, ledgertest.Delay: 0.02, ledgertest.Retried: 0.05, ledgertest.Overload: 0.05})
	if err == nil && accuses(t, r) {
		return accused, nil
	}
	return cleared, err
}

// tornOrNot audits transactions of a workload file, some of them torn if so.
func tornOrNot(ctx context.Context, t *trial, torn bool) (answer, error) {
	inner, err := own.Open(workload.Spec{Text: ledgertest.Transfers, Seed: t.rand.Uint64(), Run: 1})
	if err != nil {
		return notPlanted, err
	}
	chances := map[ledgertest.Ending]float64{ledgertest.Unknown: 0.1, ledgertest.UnknownGone: 0.1,
		ledgertest.Undecided: 0.1, ledgertest.UndecidedGone: 0.1}
	if torn {
		chances[ledgertest.Torn], chances[ledgertest.TornUndecided] = 0.02, 0.02
	}
	b := &ledgertest.Bank{World: ledgertest.New(rand.New(rand.NewPCG(t.rand.Uint64(), 6)), nil), Chances: chances}
	for _, part := range workload.Parts(inner) {
		if _, err := load.Fill(ctx, load.FillConfig{SkipCount: true}, part, b, discard{}); err != nil {
			return notPlanted, err
		}
	}
	b.Loaded = true
	l := ledger.New(ledger.Options{Run: t.rand.Uint32(), Writers: 3})
	w := l.Wrap(inner)
	if err := drive(ctx, l, w, b, 100); err != nil {
		return notPlanted, err
	}
	r, err := l.Audit(ctx, ledger.AuditOptions{Workload: oneCollection{w},
		Final: &ledgertest.Reader{Source: ledger.FinalRead, W: b.World}})
	switch {
	case err != nil || torn && b.Tears == 0:
		return notPlanted, err
	case torn && r.Torn != int64(b.Tears):
		t.say("%d transactions are torn, in truth %d", r.Torn, b.Tears)
		return cleared, nil
	case torn || accuses(t, r):
		return accused, nil
	}
	return cleared, nil
}

// oneCollection has one collection, because the documents of a world are in one.
type oneCollection struct{ workload.Workload }

func (o oneCollection) Collections() []string { return o.Workload.Collections()[:1] }

// ages audits inserts of one writer, of which those around a fault are lost: up to the moment when the fault took
// effect, whose limits the audit knows, and after it if so. An answer may arrive after the fault although the write was
// sent before it.
func ages(ctx context.Context, t *trial, after bool) (answer, error) {
	l := ledger.New(ledger.Options{Run: t.rand.Uint32(), Writers: 1})
	wl, err := l.Workload(ledger.Params{Insert: 1})
	if err != nil {
		return notPlanted, err
	}
	w, s := ledgertest.New(rand.New(rand.NewPCG(1, 1)), nil), wl.Stream(0, 1)
	settle := l.Settle(0)
	effect, unsure := int64(5e9)+t.rand.Int64N(1e9), t.rand.Int64N(50e6)
	window, until := t.rand.Int64N(500e6), effect
	if after {
		until += int64(100e6) + t.rand.Int64N(4e9)
	}
	var op workload.Op
	for now := int64(0); now < 12e9; {
		s.Next(&op)
		sent := now + t.rand.Int64N(2e6)
		now = sent + 1 + t.rand.Int64N(20e6)
		if sent < effect-window || sent > until {
			w.Insert(ledgertest.Unmarshal(op.Requests[0].Docs[0]), ledgertest.Fine)
		}
		settle(&op, &load.Settlement{Outcome: target.OK, Confirmed: 1, Failed: -1, Attempts: 1, Sent: sent, Ended: now})
	}
	early := t.rand.Int64N(unsure + 1)
	r, err := l.Audit(ctx, ledger.AuditOptions{Workload: wl, Final: &ledgertest.Reader{Source: ledger.FinalRead, W: w},
		Faults: []ledger.Fault{{Earliest: effect - early, At: effect, Latest: effect - early + unsure}}})
	if err != nil {
		return notPlanted, err
	}
	if r.LostAfter > 0 || r.LossLeast > window {
		t.say("%d after the fault, at least %d ns old, allowed %d", r.LostAfter, r.LossLeast, window)
		return accused, nil
	}
	return cleared, nil
}
