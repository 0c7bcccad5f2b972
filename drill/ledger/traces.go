package ledger

import (
	"bytes"
	"context"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Traces is a [Source] of which no documents can be read, but the bytes among which they lie: a log that a member gave
// up. The tag of an insert proves which write it comes from, wherever it is found. That it is not found proves nothing:
// a document may have been compressed, or stored in pieces.
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
		out.Documents += p.stretch(stretch)
		return ctx.Err()
	}); err != nil {
		out.Problem = "searching it: " + err.Error()
	}
	p.complete = out.Problem == ""
	out.Seconds = time.Since(began).Seconds()
	a.result.Reads = append(a.result.Reads, out)
	return p
}

// tagStart is how the element of a tag begins: its type, its name and the length of its value up to 255 bytes.
var tagStart = append(append([]byte{0x03}, tagName...), 0)

// stretch finds the tags of this run in bytes and notes the inserts that they come from. It returns how many there are.
func (p *pass) stretch(b []byte) (found int64) {
	for {
		i := bytes.Index(b, tagStart)
		if i < 0 {
			return found
		}
		b = b[i+len(tagStart):]
		var r reading
		if !r.readTag(leading(b), p.count) || !r.trusted || r.tag.run != p.a.l.opts.Run {
			continue
		}
		w := p.books(int(r.tag.writer))
		if w == nil || !w.w.lane(inserts).attempted(r.tag.sequence) || w.w.lane(inserts).gone {
			continue
		}
		w.of[inserts].present.set(r.tag.sequence, w.w.lane(inserts).next)
		found++
	}
}

// mostTag is the longest value of a tag: four numbers and the counter of a run.
const mostTag = 128

// leading is the BSON document with which bytes begin, empty if they do not begin with one that could be a tag.
func leading(b []byte) []byte {
	if len(b) < 4 {
		return nil
	}
	n := int(b[0]) | int(b[1])<<8 | int(b[2])<<16 | int(b[3])<<24
	if n < 5 || n > mostTag || n > len(b) {
		return nil
	}
	return b[:n]
}
