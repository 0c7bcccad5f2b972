package drill

import (
	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store/shards"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// books are what one load process keeps: what its writers were told, and when its operations ended.
type books struct {
	name    string  // of the workload
	share   float64 // of reads; 0 is the workload's default
	ledger  *ledger.Ledger
	wrapped workload.Workload // with the ledger; nil until the load is made
	watch   *watcher
	placed  *shards.Map // nil where there are no shards, or nobody knows how collections are spread
}

// place tells the ledger, and the clock of outages, how the collections are spread, before the load begins.
func (b *books) place(m *shards.Map) {
	if b.placed = m; m == nil {
		return
	}
	b.ledger.Place(m, len(m.Shards))
	if b.watch != nil {
		b.watch.place = m
	}
}

// workload puts the ledger, and the clock of outages, around the workload that open makes.
func (b *books) workload(open func() (workload.Workload, error)) (w workload.Workload, err error) {
	if b.name == spec.WorkloadLedger {
		w, err = b.ledger.Workload(ownParams(b.share))
	} else if w, err = open(); err == nil {
		w = b.ledger.Wrap(w)
	}
	if err != nil {
		return nil, err
	}
	b.wrapped, b.watch = w, newWatcher(w)
	if b.placed != nil {
		b.watch.place = b.placed
	}
	return b.watch, nil
}
