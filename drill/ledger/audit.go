package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/plimsoll-bench/plimsoll/drill/reads"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// Source is one way to read all documents back: the primary at read concern majority, one member directly, or the files
// of a rollback.
type Source interface {
	// Name is the name of the pass in the result: "final", or the name of a member.
	Name() string
	// Scan calls each for every document of a collection, in any order, and stops with the first error of its own or of
	// each. doc has all its fields and is valid until each returns. A collection that does not exist is empty.
	Scan(ctx context.Context, collection string, each func(doc []byte) error) error
}

// AuditOptions configure an audit.
type AuditOptions struct {
	// Workload is the wrapped or own workload whose collections are read.
	Workload workload.Workload
	// Final is the read that decides. Without it all writes are never-read.
	Final Source
	// Members are read after that and compared with it. They must be up to date, or implement [Late].
	Members []Source
	// Discarded are places where lost writes may be found: rollback files, the old timeline of a member.
	Discarded []Source
	// Copies are backups that were restored. They have what there was when they were made, so they decide nothing about
	// writes.
	Copies []Copy
	// Faults are the faults of the run. The age of a lost write counts to the first one that took effect after its
	// acknowledgement, or may have. Without one the write was acknowledged after the last.
	Faults []Fault
	// Reads is what the reads of the own workload are judged against. The audit sets Sequence and Final.
	Reads reads.Question
	// Shards are the names of the shards by number, after [Ledger.Place].
	Shards []string
	// MostLost and MostExamples bound the listed lost writes, and the examples per class; 0 is 1000 and 20.
	MostLost, MostExamples int
}

const (
	defaultLost     = 1000
	defaultExamples = 20
	mostRanges      = 1000 // of lost writes per writer
	readAtMost      = 3
)

// FinalRead is the name of the pass that decides.
const FinalRead = record.FinalSource

// Audit reads everything back and classifies each write. An error means that it could not begin. A source that fails is
// in the result, with what was read before. The ledger can be audited again.
//
// The load must be over. If a write of an abandoned call is applied during the audit, the audit reads everything again.
func (l *Ledger) Audit(ctx context.Context, opts AuditOptions) (*record.LedgerResult, error) {
	if opts.Workload == nil {
		return nil, errors.New("ledger: the audit needs the workload, to know the collections")
	}
	if opts.MostLost <= 0 {
		opts.MostLost = defaultLost
	}
	if opts.MostExamples <= 0 {
		opts.MostExamples = defaultExamples
	}
	a := &audit{l: l, opts: opts}
	a.newShards()
	a.own, _ = opts.Workload.(*ownWorkload)
	if p, ok := opts.Workload.(*wrapped); ok {
		a.opts.Workload = p.Workload
	}
	for range readAtMost {
		a.before = a.final
		a.readMembers(ctx)
		if !a.behindMembers() && !a.unsureOfTorn() && !a.unsureOfDivided() {
			break
		}
	}
	for _, m := range opts.Discarded {
		if traces, ok := m.(Traces); ok {
			a.discarded = append(a.discarded, a.trace(ctx, traces))
			continue
		}
		a.discarded = append(a.discarded, a.read(ctx, m, m.Name()))
	}
	a.readCopies(ctx)
	a.judge()
	a.judgeReads()
	a.byShard()
	a.note()
	return a.result, nil
}

// readMembers makes the final read and then reads each member.
func (a *audit) readMembers(ctx context.Context) {
	a.result = &record.LedgerResult{
		Inserts: map[string]int64{}, Updates: map[string]int64{}, Examples: map[string][]string{}, LossWindow: -1,
	}
	a.final = a.read(ctx, a.opts.Final, FinalRead)
	a.members, a.late = nil, nil
	for _, m := range a.opts.Members {
		a.members, a.late = append(a.members, a.read(ctx, m, m.Name())), append(a.late, behind(m))
	}
}

// behindMembers reports whether a member has writes that the final read lacks. A server may apply a write without an
// answer after the final read began, so only members that are still ahead of another final read have diverged.
func (a *audit) behindMembers() bool {
	return a.final.complete && slices.ContainsFunc(a.members, func(m *pass) bool {
		_, extra := a.difference(m)
		return m.complete && extra > 0
	})
}

type audit struct {
	l         *Ledger
	opts      AuditOptions
	own       *ownWorkload
	final     *pass
	before    *pass // the final read before, if there was one
	members   []*pass
	late      []string // how far each member is behind, see [Late]
	discarded []*pass
	shards    []record.LedgerShard // by number + 1; the first is for writes whose shard is not known
	result    *record.LedgerResult
}

// example keeps a sentence about a class that should not occur.
func (a *audit) example(class, format string, args ...any) {
	if list := a.result.Examples[class]; len(list) < a.opts.MostExamples {
		a.result.Examples[class] = append(list, fmt.Sprintf(format, args...))
	}
}

// note explains the numbers.
func (a *audit) note() {
	r := a.result
	say := func(n int64, text string) {
		if n > 0 {
			r.Notes = append(r.Notes, fmt.Sprintf(text, n))
		}
	}
	var missed, wrong int64
	for _, w := range a.l.writers() {
		missed, wrong = missed+w.missed, wrong+w.wrong
	}
	for why := range uncheckedKinds {
		text := "%d " + why.String()
		say(r.Unchecked[why.String()], text+" are not checked, because they cannot be identified afterwards")
	}
	say(a.final.unread, "the contents of %d inserted documents are not compared, because updates changed them or may have")
	say(r.Hidden, "%d further updates may be lost. As many updates without a definite answer went to the same documents, and "+
		"may have been applied in their place")
	say(missed, "%d further reads did not find an acknowledged write. They are not kept, so there may be more stale writes")
	r.WrongReads = wrong
	say(a.final.damaged, "%d documents are too damaged to identify their write. They may be among the lost writes")
	say(a.final.foreign, "%d documents of other runs were ignored")
	if a.l.groups.totals()[acknowledged] > 0 {
		r.Notes = append(r.Notes, "updates are counted by groups of documents. Each reported loss and double is real, but a loss "+
			"and a double in one group can hide each other. The updates have no names, so it is not always known which of a "+
			"transaction are present")
	}
	r.Notes = append(r.Notes, a.l.notes...)
	r.Bytes = a.l.Bytes()
}
