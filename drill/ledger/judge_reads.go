package ledger

import (
	"fmt"

	"github.com/plimsoll-bench/plimsoll/drill/reads"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// judgeReads judges what the reads of slots returned against what the final read found.
func (a *audit) judgeReads() {
	if kept, _ := a.l.reads.Events(); a.own == nil || kept == 0 {
		return
	}
	q := a.opts.Reads
	q.Sequence = updateOf
	if a.final.complete {
		q.Final = func(writer int, sequence int64) bool {
			b := a.final.writer(writer)
			return b != nil && sequence < b.w.updates.next && b.of[updates].present.has(sequence)
		}
	}
	v := reads.Judge(a.l.reads, q)
	if v.Reads == 0 {
		return
	}
	r := &record.ReadsResult{Reads: v.Reads, Updates: v.Writes, Dropped: v.Dropped, Bytes: a.l.reads.Bytes()}
	for _, name := range reads.Names {
		g := record.ReadGuarantee{Name: name, Promised: q.Promised[name], Checked: v.Checked[name], Broken: v.Broken[name],
			RolledBack: v.RolledBack[name]}
		if g.Checked+g.Broken > 0 {
			r.Guarantees = append(r.Guarantees, g)
		}
	}
	for _, c := range v.Conflicts {
		r.Conflicts = append(r.Conflicts, a.conflict(&c))
	}
	for i, phase := range []string{record.ReadsBefore, record.ReadsDuring, record.ReadsAfter} {
		if s := v.Staleness[i]; s.Reads > 0 {
			r.Staleness = append(r.Staleness, record.ReadStaleness{Phase: phase, Reads: s.Reads, Stale: s.Stale, P50: s.P50,
				P99: s.P99, Max: s.Max})
		}
	}
	for _, s := range v.Servers {
		r.Servers = append(r.Servers, record.ReadServer{Server: s.Name, Reads: s.Reads, Stale: s.Stale, Max: s.Max})
	}
	if v.Dropped > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("the first %s are not judged, because the history of reads is limited "+
			"to %s", figure.Plural(int(v.Dropped), "operation"), figure.Bytes(reads.DefaultLimit)))
	}
	if !v.FinalKnown {
		r.Notes = append(r.Notes, "the final read failed, so rolled back reads are not detected")
	}
	a.result.Judged = r
}

func (a *audit) conflict(c *reads.Conflict) record.ReadConflict {
	out := record.ReadConflict{Guarantee: c.Guarantee, Promised: c.Promised, Writer: c.Writer, Sequence: c.Sequence,
		ID: a.idText(c.Writer, updates, c.Sequence), Second: operationOf(&c.Second)}
	if !c.Alone {
		first := operationOf(&c.First)
		out.First = &first
	}
	return out
}

func operationOf(o *reads.Operation) record.ReadOperation {
	out := record.ReadOperation{Kind: "write", Session: o.Session, Sent: o.Sent, Ended: o.Ended, Server: o.Server}
	switch {
	case o.Read:
		out.Kind, out.Seen = "read", seenText(o.Register, o.Seen)
	case o.Answer == reads.Acknowledged:
		out.Told = "acknowledged"
	case o.Answer == reads.Refused:
		out.Told = "not applied"
	default:
		out.Told = "indeterminate"
	}
	return out
}

// seenText lists the updates that a read of a slot returned.
func seenText(slot int64, seen uint16) string {
	var list []int64
	for i := range slotCounters {
		if seen>>i&1 == 1 {
			list = append(list, updateOf(slot, i))
		}
	}
	if len(list) == 0 {
		return "none"
	}
	return ranges(list)
}
