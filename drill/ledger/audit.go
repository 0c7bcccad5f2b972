package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/drill/reads"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// Source is one way to read all documents back: the primary at read concern majority, one member directly, the
// files of a rollback.
type Source interface {
	// Name is what the pass is called in the result: "final", or the name of a member.
	Name() string
	// Scan calls each for every document of a collection, in any order, and stops with the first error of its
	// own or of each. doc is whole, as damage is seen in all of its fields, and valid until each returns. A
	// collection that does not exist is empty.
	Scan(ctx context.Context, collection string, each func(doc []byte) error) error
}

// AuditOptions say what an audit reads and how it reports.
type AuditOptions struct {
	// Workload is the wrapped or own workload whose collections are read.
	Workload workload.Workload
	// Final is the read that decides; nil if there is none, and all writes are never-read.
	Final Source
	// Members are read after that and compared with it, so they must have caught up, or say that they have not: see
	// [Late].
	Members []Source
	// Elsewhere are places in which lost writes may still be: rollback files, the old timeline of a member.
	Elsewhere []Source
	// Faults are the times, in run time, at which faults were injected; the age of a lost write counts to the
	// first one after its acknowledgement, or to the last if there is none.
	Faults []int64
	// Reads is what the reads of the own workload are judged against; what it needs of the audit is filled in.
	Reads reads.Question
	// Shards are the names of the shards by their numbers, if the ledger was told of any ([Ledger.Place]).
	Shards []string
	// MostLost and MostExamples are how many lost writes, and how many examples per class, are listed; 0
	// stands for 1000 and 20.
	MostLost, MostExamples int
}

// The defaults of an audit, and how many ranges of lost writes are named per writer.
const (
	defaultLost     = 1000
	defaultExamples = 20
	mostRanges      = 1000
)

// FinalRead is the name of the pass that decides, in [record.LedgerRead].
const FinalRead = "final"

// Audit reads everything back and says what became of each write. An error means that it could not even begin;
// a source that fails is in the result, with what could be read of it. The ledger can be audited again.
//
// The load must be over. A worker that was given up may still have a write under way: close the sessions, or
// wait for the deadline of the server, before the audit.
func (l *Ledger) Audit(ctx context.Context, opts AuditOptions) (*record.LedgerResult, error) {
	if opts.Workload == nil {
		return nil, errors.New("ledger: nothing says which collections to read: give the audit the workload")
	}
	if opts.MostLost <= 0 {
		opts.MostLost = defaultLost
	}
	if opts.MostExamples <= 0 {
		opts.MostExamples = defaultExamples
	}
	a := &audit{l: l, opts: opts, result: &record.LedgerResult{
		Inserts: map[string]int64{}, Updates: map[string]int64{}, Examples: map[string][]string{}, LossWindow: -1,
	}}
	a.newShards()
	a.own, _ = opts.Workload.(*ownWorkload)
	if p, ok := opts.Workload.(*wrapped); ok {
		a.opts.Workload = p.Workload
	}
	a.final = a.read(ctx, opts.Final, FinalRead)
	for _, m := range opts.Members {
		a.members, a.late = append(a.members, a.read(ctx, m, m.Name())), append(a.late, behind(m))
	}
	for _, m := range opts.Elsewhere {
		if traces, ok := m.(Traces); ok {
			a.elsewhere = append(a.elsewhere, a.trace(ctx, traces))
			continue
		}
		a.elsewhere = append(a.elsewhere, a.read(ctx, m, m.Name()))
	}
	a.judge()
	a.judgeReads()
	a.byShard()
	a.note()
	return a.result, nil
}

// audit is one audit under way.
type audit struct {
	l         *Ledger
	opts      AuditOptions
	own       *ownWorkload
	final     *pass
	members   []*pass
	late      []string // how far each of them is behind, empty for those that are not known to be
	elsewhere []*pass
	shards    []record.LedgerShard // by number + 1, the first one being those whose shard is not known
	result    *record.LedgerResult
}

// example keeps a sentence about a class that should not be there.
func (a *audit) example(class, format string, args ...any) {
	if list := a.result.Examples[class]; len(list) < a.opts.MostExamples {
		a.result.Examples[class] = append(list, fmt.Sprintf(format, args...))
	}
}

// note says what the numbers do not.
func (a *audit) note() {
	r := a.result
	say := func(n int64, text string) {
		if n > 0 {
			r.Notes = append(r.Notes, fmt.Sprintf(text, n))
		}
	}
	var skipped, missed, wrong int64
	for _, w := range a.l.writers() {
		skipped, missed, wrong = skipped+w.skipped, missed+w.missed, wrong+w.wrong
	}
	say(skipped, "%d writes are not in the ledger: upserts, replacements, and updates of documents that are not found by their _id alone "+
		"cannot be told from each other afterwards")
	say(missed, "%d more reads did not find an acknowledged write than are remembered, so there may be more stale ones")
	say(wrong, "%d reads during the run returned other content than was written; the classes count what the audit found")
	say(a.final.damaged, "%d documents are too damaged to tell which write they come from: as many of the lost writes may be these")
	say(a.final.foreign, "%d documents of other runs were left out")
	if a.l.groups.totals()[acknowledged] > 0 {
		r.Notes = append(r.Notes, "the updates are counted by groups of documents: each loss and each double that is claimed happened, "+
			"but two of them in one group can hide each other, and which writes they were is not known")
	}
	for text := range a.l.notes {
		r.Notes = append(r.Notes, text)
	}
	r.Bytes = a.l.Bytes()
}
