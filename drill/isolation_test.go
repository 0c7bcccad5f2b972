package drill

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Transactions hold without a fault only if none was asked for: a drill whose fault never came shows nothing about it.
func TestTransactionsAtRest(t *testing.T) {
	round := func() *record.DrillRound {
		return &record.DrillRound{Isolation: &record.IsolationResult{Promise: "snapshot isolation", Committed: 100, Several: 100},
			Ledger: &record.LedgerResult{Attempted: 100, Acknowledged: 100, LossWindow: -1,
				Inserts: map[string]int64{record.WriteOK: 100}, Reads: []record.LedgerRead{{Source: finalRead}}}}
	}
	if verdict, reasons := judge(evidence{round: round(), acknowledged: -1, faultless: true}); verdict != record.Holds ||
		!strings.Contains(reasons[0], "snapshot isolation held for 100 transactions") {
		t.Errorf("at rest: %s, %q", verdict, reasons)
	}
	if verdict, reasons := judge(evidence{round: round(), acknowledged: -1}); verdict != record.Unknown ||
		!strings.Contains(reasons[0], "no fault was injected") {
		t.Errorf("an external fault that was never marked: %s, %q", verdict, reasons)
	}
	for promise, want := range map[string]string{"snapshot isolation": "snapshot isolation was violated at least 2 times",
		record.NoIsolation: "what no setting allows"} {
		r := round()
		r.Isolation.Promise = promise
		r.Isolation.Anomalies = []record.IsolationAnomaly{{Class: "garbage read", Count: 2, Forbidden: true}, {Class: "write skew", Count: 9}}
		if verdict, reasons := judge(evidence{round: r, acknowledged: -1, faultless: true}); verdict != record.Violated ||
			!strings.Contains(reasons[0], want) {
			t.Errorf("%s: %s, %q", promise, verdict, reasons)
		}
	}
}

// Single writes that succeed say nothing about isolation, nor do transactions before a fault about it.
func TestTransactionsThatDoNotCommit(t *testing.T) {
	for _, c := range []struct {
		several, after int64
		faults         []record.DrillFault
		want           string
	}{
		{0, 0, nil, "only 0 transactions of several operations committed"},
		{500, 0, []record.DrillFault{{Injected: 1, Done: 1, Hit: true}}, "only 0 transactions of several operations committed after the fault"},
		{500, 400, []record.DrillFault{{Injected: 1, Done: 1, Hit: true}}, ""},
	} {
		r := &record.DrillRound{Faults: c.faults, Isolation: &record.IsolationResult{Promise: "strong snapshot isolation",
			Committed: 500, Several: c.several, After: c.after}, Ledger: &record.LedgerResult{Attempted: 100, Acknowledged: 100,
			LossWindow: -1, Inserts: map[string]int64{record.WriteOK: 100}, Reads: []record.LedgerRead{{Source: finalRead}}}}
		verdict, reasons := judge(evidence{round: r, acknowledged: 100, faultless: c.faults == nil, planned: len(c.faults)})
		if text := strings.Join(reasons, "\n"); (verdict == record.Holds) != (c.want == "") || !strings.Contains(text, c.want) {
			t.Errorf("%+v: %s, %q", c, verdict, reasons)
		}
	}
}

// An agent has no keeper of the transactions: it refuses the load, and does not panic.
func TestTransactionsNeedTheProcessOfTheDrill(t *testing.T) {
	b := &observations{name: spec.WorkloadTransactions}
	if _, err := b.workload(nil); err == nil || !strings.Contains(err.Error(), "the process of the drill") {
		t.Errorf("%v", err)
	}
	asked, err := spec.ReadDrill(strings.NewReader("run: {target: 'mongodb://h/', workload: {name: transactions}, load: {clients: 2}}"))
	if err != nil {
		t.Fatal(err)
	}
	if err := asked.Complete(); err != nil {
		t.Fatal(err)
	}
	if err := Check(asked); err == nil || !strings.Contains(err.Error(), "one process has to see all transactions") {
		t.Errorf("%v", err)
	}
}
