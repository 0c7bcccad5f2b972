package ledger

import (
	"bytes"
	"context"
	"encoding/binary"
	"time"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Traces is a [Source] of bytes instead of documents, such as the log that a member gave up. The tag of an insert
// proves its write wherever it is found. So does, for an update, a counter after the _id of a slot of the own workload.
// A write that is not found may still be there, because a document may have been compressed or stored in pieces.
type Traces interface {
	Source
	// Stretches calls each for all bytes, in stretches. What begins in a stretch ends in it.
	Stretches(ctx context.Context, each func(stretch []byte) error) error
}

func (a *audit) trace(ctx context.Context, src Traces) *pass {
	p := a.newPass(src.Name())
	began := time.Now()
	out := record.LedgerRead{Source: src.Name()}
	if err := src.Stretches(ctx, func(stretch []byte) error {
		out.Documents += p.stretch(stretch) + p.slots(stretch)
		return ctx.Err()
	}); err != nil {
		out.Problem = "searching: " + err.Error()
	}
	p.complete = out.Problem == ""
	out.Seconds = time.Since(began).Seconds()
	a.result.Reads = append(a.result.Reads, out)
	return p
}

// stretch finds the inserts of this run by their tags, and returns their number.
func (p *pass) stretch(b []byte) (found int64) {
	for {
		i := bytes.Index(b, tagStart)
		if i < 0 {
			return found
		}
		b = b[i+len(tagStart):]
		var t tag
		if !t.parse(b[:min(tagValue, len(b))]) || t.run != p.a.l.opts.Run {
			continue
		}
		w := p.writer(t.writer)
		if w == nil || !w.w.outcomes(inserts).known(t.sequence) {
			continue
		}
		w.of[inserts].present.set(t.sequence, w.w.outcomes(inserts).next)
		found++
	}
}

// slots finds updates of the own workload by the counters of their slots. It returns the number of updates that it had
// not found before, because a log has a slot once for each of its updates.
//
// PostgreSQL leaves out the end of a row that is the same as in the old version. So the last counter may lack its high
// bytes: those that are zero, and those that the counter before it, which ended the old row, has too.
func (p *pass) slots(b []byte) (found int64) {
	if p.a.own == nil {
		return 0
	}
	start := binary.BigEndian.AppendUint32([]byte("\x07_id\x00"), p.a.l.opts.Run)
	for {
		i := bytes.Index(b, start)
		if i < 0 || len(b) < i+len(start)+8 {
			return found
		}
		b = b[i+len(start)-4:]
		run, number, k, slot := parseID(b[:12])
		if w := p.writer(number); k == updates && w != nil {
			found += w.counters(run, slot, b[12:])
		}
	}
}

// counters finds the updates of a slot by the counters at the beginning of b. Each has its own weight.
func (w *passWriter) counters(run uint32, slot int64, b []byte) (found int64) {
	for len(b) >= 5 && b[1] >= 'a' && b[1] < 'a'+slotCounters && b[2] == 0 {
		size := 0
		switch bsoncore.Type(b[0]) {
		case bsoncore.TypeInt32:
			size = 4
		case bsoncore.TypeInt64:
			size = 8
		default:
			return found
		}
		sequence := updateOf(slot, int(b[1]-'a'))
		if !w.w.updates.known(sequence) {
			return found
		}
		weight := weightOf(run, w.w.number, sequence)
		want := binary.LittleEndian.AppendUint64(nil, uint64(weight))
		least := 2
		if c := int(b[1] - 'a'); c > 0 && weightOf(run, w.w.number, updateOf(slot, c-1))>>8 == weight>>8 {
			least = 1 // in 1 of 3840 updates
		}
		if !bytes.HasPrefix(b[3:], want[:least]) {
			return found
		}
		if seen := &w.of[updates].present; !seen.has(sequence) {
			seen.set(sequence, w.w.updates.next)
			found++
		}
		if !bytes.HasPrefix(b[3:], want[:size]) { // truncated, so something else follows
			return found
		}
		b = b[3+size:]
	}
	return found
}
