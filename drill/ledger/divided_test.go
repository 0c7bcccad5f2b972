package ledger

import (
	"fmt"
	"testing"

	"github.com/plimsoll-bench/plimsoll/drill/ledger/ledgertest"
)

// moves are transactions of two updates, and of an update and an insert, beside updates of the same documents.
const moves = `
name: moves
collections:
  - {name: accounts, count: %d, document: {_id: {$sequence: {prefix: account-}}, sum: 100}}
  - {name: log, document: {amount: {$int: 9}}}
operations:
  - name: move
    weight: 2
    transaction:
      - {name: give, update: accounts, filter: {_id: {$uniform: accounts}}, with: {$inc: {sum: -1}}}
      - {name: take, update: accounts, filter: {_id: {$uniform: accounts}}, with: {$inc: {sum: 1}}}
  - name: pay
    weight: 1
    transaction:
      - {name: paid, update: accounts, filter: {_id: {$uniform: accounts}}, with: {$inc: {sum: 1}}}
      - {name: note, insert: log}
  - {name: touch, weight: 1, update: accounts, filter: {_id: {$uniform: accounts}}, with: {$inc: {sum: 1}}}
`

// TestDividedTransactions finds transactions without an answer of which one write is absent and another present, where
// no other update without an answer explains it, and accuses none that was applied as a whole or not at all. So do the
// ledgers of other load processes that are handed over.
func TestDividedTransactions(t *testing.T) {
	divided, found := map[bool]int64{}, map[bool]int64{}
	first := firstSeed(t)
	for seed := first; seed < first+20/fewer && !t.Failed(); seed++ {
		for _, documents := range []int{30, 3000} {
			chances := map[ledgertest.Ending]float64{ledgertest.Unknown: 0.05, ledgertest.UnknownGone: 0.05,
				ledgertest.Undecided: 0.1, ledgertest.UndecidedGone: 0.1}
			text := fmt.Sprintf(moves, documents)
			honest := bankOf(t, text, seed, chances)
			if r := honest.audit(t, &ledgertest.Reader{Source: FinalRead, W: honest.World}); r.Divided > 0 {
				t.Errorf("seed %d, %d documents: %d whole transactions are called divided", seed, documents, r.Divided)
			}
			chances[ledgertest.HalfUpdated] = 0.03
			b := bankOf(t, text, seed, chances)
			r := b.audit(t, &ledgertest.Reader{Source: FinalRead, W: b.World})
			if r.Divided > int64(b.Halves) {
				t.Errorf("seed %d, %d documents: %d transactions are called divided, and %d were", seed, documents, r.Divided, b.Halves)
			}
			if documents == 3000 {
				by := b.ledger.writers()[0].remote != nil // it was handed over by another process
				divided[by], found[by] = divided[by]+int64(b.Halves), found[by]+r.Divided
			}
		}
	}
	for _, by := range []bool{false, true} {
		if divided[by] == 0 && fewer == 1 || found[by]*10 < divided[by]*8 {
			t.Errorf("%d of %d divided transactions were found (handed over: %v)", found[by], divided[by], by)
		}
	}
}
