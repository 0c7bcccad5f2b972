package ledger

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/drill/ledger/ledgertest"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

const ms = int64(time.Millisecond)

// TestAges finds out how old lost writes were. Write number n was sent after n-0.5 ms, and acknowledged after n ms.
func TestAges(t *testing.T) {
	at := func(earliest, at, latest int64) Fault {
		return Fault{Earliest: earliest * ms, At: at * ms, Latest: latest * ms}
	}
	other := at(800, 800, 800)
	other.Shards = []int{1}
	for name, c := range map[string]struct {
		faults []Fault
		lost   func(i int) bool
		want   record.LedgerResult
	}{
		"before": {[]Fault{at(500, 500, 500)}, func(i int) bool { return i >= 470 && i < 500 },
			record.LedgerResult{LossWindow: 30 * ms, LossLeast: 30 * ms, LossMost: 30 * ms}},
		"a split brain": {[]Fault{at(500, 500, 500)}, func(i int) bool { return i > 500 && i < 900 },
			record.LedgerResult{LostAfter: 399, LossAfter: 399 * ms}},
		"before and after": {[]Fault{at(500, 500, 500)}, func(i int) bool { return i >= 480 && i < 600 },
			record.LedgerResult{LossWindow: 20 * ms, LossLeast: 20 * ms, LossMost: 20 * ms, LostAfter: 99, LossAfter: 99 * ms}},
		"while it took effect": {[]Fault{at(500, 510, 540)}, func(i int) bool { return i >= 505 && i <= 540 },
			record.LedgerResult{LossWindow: 5 * ms, LossMost: 35 * ms}},
		"sent before, acknowledged after": {[]Fault{{500 * ms, 500 * ms, 500*ms + ms/4, nil}},
			func(i int) bool { return i == 500 || i == 501 }, record.LedgerResult{LossMost: ms / 4, LostAfter: 1,
				LossAfter: ms * 3 / 4}},
		"the second fault took them": {[]Fault{at(100, 100, 100), at(500, 500, 500)},
			func(i int) bool { return i >= 490 && i < 500 },
			record.LedgerResult{LossWindow: 10 * ms, LossLeast: 10 * ms, LossMost: 10 * ms}},
		"the second fault came long after": {[]Fault{at(100, 100, 100), at(900, 900, 900)}, func(i int) bool { return i == 150 },
			record.LedgerResult{LossWindow: 750 * ms, LossLeast: 750 * ms, LossMost: 750 * ms}},
		"no fault": {nil, func(i int) bool { return i == 150 }, record.LedgerResult{LossWindow: -1, LostUntimed: 1}},
	} {
		l, own, w := script(t, 1000, c.lost)
		got := audited(t, l, AuditOptions{Workload: own, Final: &ledgertest.Reader{Source: FinalRead, W: w},
			Faults: c.faults})
		ages := record.LedgerResult{LossWindow: got.LossWindow, LossLeast: got.LossLeast, LossMost: got.LossMost,
			LostAfter: got.LostAfter, LossAfter: got.LossAfter, LostUntimed: got.LostUntimed}
		if diff := cmp.Diff(c.want, ages); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if f := at(1, 1, 1); !f.mayStrike(0) || !other.mayStrike(1) || other.mayStrike(0) || !other.mayStrike(-1) {
		t.Error("a fault strikes the shards that it names, and a write of an unknown shard")
	}
}

// Times that are known only to within 64 writes accuse no write: neither of an age that it may not have, nor of an
// acknowledgement after the fault.
func TestAgesOfOldWrites(t *testing.T) {
	l, own, w := script(t, 5000, func(i int) bool { return i >= 480 && i < 600 })
	writes := &l.by[0].inserts
	writes.ring, writes.took = writes.ring[:64], writes.took[:64] // as if there were too many writes
	got := audited(t, l, AuditOptions{Workload: own, Final: &ledgertest.Reader{Source: FinalRead, W: w},
		Faults: []Fault{{500 * ms, 500 * ms, 500 * ms, nil}}})
	if got.LossLeast > 20*ms || got.LossMost < 20*ms || got.LossMost > 90*ms {
		t.Errorf("the oldest write is between %v and %v old, in truth 20ms", time.Duration(got.LossLeast),
			time.Duration(got.LossMost))
	}
	if got.LostAfter == 0 || got.LostAfter > 99 || got.LossAfter > 99*ms {
		t.Errorf("%d writes were acknowledged up to %v after the fault, in truth 99 up to 99ms", got.LostAfter,
			time.Duration(got.LossAfter))
	}
}

// A lost update can be hidden by one without an answer that was applied to a document of the same group. The result
// says how many can.
func TestHiddenLosses(t *testing.T) {
	for _, c := range []struct {
		acked, unknown, found int64
		lost, hidden          int64
	}{
		{acked: 3, unknown: 1, found: 3, hidden: 1},
		{acked: 3, unknown: 1, found: 4},
		{acked: 3, unknown: 1, found: 2, lost: 1, hidden: 1},
		{acked: 3, found: 2, lost: 1},
		{acked: 2, unknown: 5, found: 3, hidden: 2},
		{unknown: 2, found: 1},
		{acked: 4, unknown: 3, found: 0, lost: 4},
	} {
		a := &audit{final: &pass{complete: true}, result: &record.LedgerResult{Updates: map[string]int64{}}}
		a.judgeGroup(c.acked, c.unknown, 0, c.found, true)
		if r := a.result; r.Updates[record.WriteLost] != c.lost || r.Hidden != c.hidden || r.LostUntimed != c.lost {
			t.Errorf("%+v: %d lost, %d hidden, %d without a time", c, r.Updates[record.WriteLost], r.Hidden, r.LostUntimed)
		}
	}
}

// upserts writes almost nothing that can be checked.
const upserts = `
name: upserts
collections:
  - {name: accounts, count: 30, document: {_id: {$sequence: {prefix: account-}}, sum: 100}}
operations:
  - {name: put, weight: 70, update: accounts, upsert: true, filter: {_id: {$uniform: accounts}}, with: {$inc: {sum: 1}}}
  - {name: all, weight: 29, update: accounts, filter: {sum: {$gt: 100}}, with: {$inc: {sum: 1}}}
  - {name: add, weight: 1, insert: accounts}
`

// Writes that cannot be checked are counted by their kind, and do not count as attempted, acknowledged or refused.
func TestUncheckedWrites(t *testing.T) {
	b := bankOf(t, upserts, 3, nil)
	got := b.audit(t, &ledgertest.Reader{Source: FinalRead, W: b.World})
	put, all := got.Unchecked["upserts"], got.Unchecked["updates by a filter other than _id"]
	if put+all+got.Attempted != 400 || put <= all || all <= got.Attempted || got.NotApplied > got.Attempted ||
		!got.LostAtLeast {
		t.Errorf("%v are unchecked, %d of 400 were attempted, %d not applied", got.Unchecked, got.Attempted, got.NotApplied)
	}
	if c := got.Coverage(); c != float64(got.Attempted)/400 || c > 0.05 {
		t.Errorf("coverage %v of %d attempted writes", c, got.Attempted)
	}
}

// Only operations with a checked write that was acknowledged, or asked for no acknowledgement, are confirmed.
func TestConfirmed(t *testing.T) {
	b := bankOf(t, upserts, 5, nil)
	s := b.workload.Stream(0, 1)
	settle := b.workload.(*wrapped).l.Settle(0)
	var op workload.Op
	checked := 0
	for range 2000 {
		s.Next(&op)
		is := op.Requests[0].Verb == workload.Insert
		if settle(&op, &load.Settlement{Outcome: store.OK, Confirmed: 1, Failed: -1, Attempts: 1}) != is {
			t.Fatalf("an operation of class %d is confirmed: %t", op.Class, !is)
		}
		if is {
			checked++
		}
	}
	if checked == 0 || checked > 100 {
		t.Errorf("%d of 2000 operations insert", checked)
	}
}
