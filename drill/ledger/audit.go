package ledger

import (
	"context"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// Source is one way to read all documents back: the primary at read concern majority, one member directly, the
// files of a rollback.
type Source interface {
	// Name is what the pass is called in the result: "final", or the name of a member.
	Name() string
	// Scan calls each for every document of a collection, in any order, and stops with the first error of its
	// own or of each. projection names the fields that are needed ({_id: 1, …}), nil is all of them; more
	// fields do no harm. doc is valid until each returns. A collection that does not exist is empty.
	Scan(ctx context.Context, collection string, projection []byte, each func(doc []byte) error) error
}

// AuditOptions say what an audit reads and how it reports.
type AuditOptions struct {
	// Workload is the wrapped or own workload whose collections are read.
	Workload workload.Workload
	// Final is the read that decides; nil if there is none, and all writes are never-read.
	Final Source
	// Members are read after that and compared with it.
	Members []Source
	// Elsewhere are places in which lost writes may still be: rollback files, the old timeline of a member.
	Elsewhere []Source
	// Faults are the times, in run time, at which faults were injected; the age of a lost write counts from
	// the first one after its acknowledgement.
	Faults []int64
	// IDsOnly reads nothing but ids, tags and counters: faster for large documents over a network, but damage
	// in their contents is not seen.
	IDsOnly bool
	// Most is how many lost writes and how many examples per class are listed; 0 stands for 1000 and 20.
	MostLost, MostExamples int
}

// Audit reads everything back and says what became of each write. An error means that it could not even begin;
// a source that fails is in the result, with what could be read of it. The ledger can be audited again.
func (l *Ledger) Audit(ctx context.Context, opts AuditOptions) (*record.LedgerResult, error) {
	return nil, nil
}
