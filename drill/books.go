package drill

import (
	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// books are what one load process keeps: what its writers were told, and when its operations ended.
type books struct {
	name    string // of the workload
	ledger  *ledger.Ledger
	wrapped workload.Workload // with the ledger; nil until the load is made
	watch   *watcher
}

// workload puts the ledger, and the clock of outages, around the workload that open makes.
func (b *books) workload(open func() (workload.Workload, error)) (w workload.Workload, err error) {
	if b.name == record.WorkloadLedger {
		w, err = b.ledger.Workload(ledger.Params{})
	} else if w, err = open(); err == nil {
		w = b.ledger.Wrap(w)
	}
	if err != nil {
		return nil, err
	}
	b.wrapped, b.watch = w, newWatcher(w)
	return b.watch, nil
}
