package ledger

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plimsoll-bench/plimsoll/drill/ledger/ledgertest"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/workload"
	"github.com/plimsoll-bench/plimsoll/workload/own"
)

// banked is an audit of transactions of a workload file, in a bank that ends them with the given chances.
type banked struct {
	*ledgertest.Bank
	ledger   *Ledger
	workload workload.Workload
	report   load.Report
}

// once has one collection, because the documents of a world are in one.
type once struct{ workload.Workload }

func (o once) Collections() []string { return o.Workload.Collections()[:1] }

// bank runs 400 transactions by three writers.
func bank(t *testing.T, seed uint64, chances map[ledgertest.Ending]float64) *banked {
	t.Helper()
	return bankOf(t, ledgertest.Transfers, seed, chances)
}

// bankOf runs 400 operations of a workload file by three writers.
func bankOf(t *testing.T, text string, seed uint64, chances map[ledgertest.Ending]float64) *banked {
	t.Helper()
	inner, err := own.Open(workload.Spec{Text: text, Seed: seed, Run: 1})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 6))
	b := &banked{Bank: &ledgertest.Bank{World: ledgertest.New(rng, nil), Chances: chances}}
	if seed%2 == 0 {
		b.World.Chances = map[ledgertest.Mishap]float64{ledgertest.Recovers: 0.05, ledgertest.Drop: 0.05,
			ledgertest.Refuse: 0.05}
	}
	for _, part := range workload.Parts(inner) {
		if _, err := load.Fill(context.Background(), load.FillConfig{SkipCount: true}, part, b, nowhere{}); err != nil {
			t.Fatal(err)
		}
	}
	b.Loaded = true
	l := New(Options{Run: uint32(seed), Seed: seed, Writers: 3})
	b.workload = l.Wrap(inner)
	b.ledger = travelled(t, l, rng, func() { b.report = drive(t, l, b.workload, b, 3, 400) })
	return b
}

func (b *banked) audit(t *testing.T, final Source) *record.LedgerResult {
	t.Helper()
	return audited(t, b.ledger, AuditOptions{Workload: once{b.workload}, MostLost: 1 << 20, Final: final})
}

// even gives all endings from one on the same chance, a third together.
func even(least ledgertest.Ending) map[ledgertest.Ending]float64 {
	chances := map[ledgertest.Ending]float64{}
	for e := least; e < ledgertest.Endings; e++ {
		chances[e] = 1 / 3. / float64(ledgertest.Endings-least)
	}
	return chances
}

// TestTransactions audits transactions that are repeated, aborted, lost, torn and of unknown result. Each of their
// inserts is found in its class, each torn transaction is counted, and each update that is called lost was lost.
func TestTransactions(t *testing.T) {
	first := firstSeed(t)
	for seed := first; seed < first+20/fewer && !t.Failed(); seed++ {
		b := bank(t, seed, even(ledgertest.Forgotten))
		result := b.audit(t, &ledgertest.Reader{Source: FinalRead, W: b.World})
		if diff := cmp.Diff(b.Expected(ledgertest.Inserts), result.Inserts, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("seed %d: inserts (-want +got):\n%s%v %v", seed, diff, result.Examples, result.Notes)
		}
		if result.Torn != int64(b.Tears) || b.Tears == 0 {
			t.Errorf("seed %d: %d transactions are called torn, and %d were", seed, result.Torn, b.Tears)
		}
		lost, most := result.Updates[record.WriteLost], result.Updates[record.WriteLost]+result.Hidden
		if lost > b.Updates.Lost || most < b.Updates.Lost {
			t.Errorf("seed %d: %d to %d updates are called lost, and %d were", seed, lost, most, b.Updates.Lost)
		}
		if n := result.Updates[record.WriteDuplicated] + result.Updates[record.WritePhantom]; n > 0 {
			t.Errorf("seed %d: %d updates are called doubles or phantoms: %v", seed, n, result.Updates)
		}
		if b.report.Abandoned > 0 || b.Updates.Acknowledged == 0 || b.Updates.Lost == 0 {
			t.Errorf("seed %d: %+v, %+v", seed, b.report, b.Bank.Updates)
		}
	}
}

// committing is a final read during which transactions commit: some scans miss documents.
type committing struct {
	*ledgertest.Reader
	without []map[string]bool // of each scan
	scans   int
}

func (c *committing) Scan(ctx context.Context, collection string, each func(doc []byte) error) error {
	c.Without = nil
	if c.scans < len(c.without) {
		c.Without = c.without[c.scans]
	}
	c.scans++
	return c.Reader.Scan(ctx, collection, each)
}

// A transaction that commits while the final read runs is not torn, also if others do so during the next read.
func TestTransactionsDuringTheAudit(t *testing.T) {
	b := bank(t, 1, map[ledgertest.Ending]float64{ledgertest.Undecided: 0.2})
	var half []map[string]bool // each lacks one insert of a transaction
	for _, w := range b.ledger.writers() {
		w.inserts.transactions(func(first, _ int64) {
			if f := b.Fates[string(appendName(nil, 1, w.number, inserts, first))]; f != nil && f.Applied > 0 {
				half = append(half, map[string]bool{f.Document: true})
			}
		})
	}
	if len(half) < 2 {
		t.Fatalf("%d transactions", len(half))
	}
	for scans, without := range [][]map[string]bool{2: half[:1], 3: half[:2]} {
		if without == nil {
			continue
		}
		final := &committing{Reader: &ledgertest.Reader{Source: FinalRead, W: b.World}, without: without}
		result := b.audit(t, final)
		if result.Torn > 0 || final.scans != scans {
			t.Errorf("%d transactions are called torn after %d scans, want none after %d", result.Torn, final.scans, scans)
		}
	}
	torn := &committing{Reader: &ledgertest.Reader{Source: FinalRead, W: b.World}, without: []map[string]bool{half[0],
		half[0]}}
	result := b.audit(t, torn)
	if result.Torn != 1 || torn.scans != 2 || result.Inserts[record.WriteTorn]+result.Inserts[record.WriteLost] < 2 {
		t.Errorf("%d transactions are called torn after %d scans: %v", result.Torn, torn.scans, result.Inserts)
	}
	if text := strings.Join(result.Examples[record.WriteTorn], "\n"); !strings.Contains(text, "others of the same transaction") {
		t.Errorf("examples: %q", text)
	}
}
