package ledger

import (
	"bytes"
	"context"
	"encoding/binary"
	"time"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Traces is a [Source] of which no documents can be read, but the bytes among which they lie: a log that a member gave
// up. The tag of an insert proves which write it comes from, wherever it is found, and so does a counter behind the _id
// of a slot of the own workload for an update. That it is not found proves nothing: a document may have been
// compressed, or stored in pieces.
type Traces interface {
	Source
	// Stretches calls each for all bytes there are, in stretches that belong together: what begins in one of them ends
	// there.
	Stretches(ctx context.Context, each func(stretch []byte) error) error
}

// trace makes one pass over bytes.
func (a *audit) trace(ctx context.Context, src Traces) *pass {
	p := a.newPass(src.Name())
	began := time.Now()
	out := record.LedgerRead{Source: src.Name()}
	if err := src.Stretches(ctx, func(stretch []byte) error {
		out.Documents += p.stretch(stretch) + p.slots(stretch)
		return ctx.Err()
	}); err != nil {
		out.Problem = "searching it: " + err.Error()
	}
	p.complete = out.Problem == ""
	out.Seconds = time.Since(began).Seconds()
	a.result.Reads = append(a.result.Reads, out)
	return p
}

// stretch finds the tags of this run in bytes and notes the inserts that they come from. It returns how many there are.
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
		w := p.books(t.writer)
		if w == nil || !w.w.lane(inserts).attempted(t.sequence) || w.w.lane(inserts).gone {
			continue
		}
		w.of[inserts].present.set(t.sequence, w.w.lane(inserts).next)
		found++
	}
}

// slots finds slots of the own workload in bytes, and notes the updates whose counters stand in them. It returns how
// many of those it had not found before: a log has a slot once for each of its updates, and each time more of it.
//
// PostgreSQL leaves out what the new version of a row has at its end in common with the old one, so the last counter
// may lack its high bytes, which are zero.
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
		if w := p.books(number); k == updates && w != nil && !w.w.updates.gone {
			found += w.counters(run, slot, b[12:])
		}
	}
}

// counters notes the updates of a slot whose counters stand at the beginning of b, each with the weight that only it
// has.
func (w *books) counters(run uint32, slot int64, b []byte) (found int64) {
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
		if !w.w.updates.attempted(sequence) {
			return found
		}
		want := binary.LittleEndian.AppendUint64(nil, uint64(weightOf(run, w.w.number, sequence)))
		if !bytes.HasPrefix(b[3:], want[:2]) {
			return found
		}
		if seen := &w.of[updates].present; !seen.has(sequence) {
			seen.set(sequence, w.w.updates.next)
			found++
		}
		if !bytes.HasPrefix(b[3:], want[:size]) { // cut off: what follows is something else
			return found
		}
		b = b[3+size:]
	}
	return found
}
