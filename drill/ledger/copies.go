package ledger

import (
	"context"
	"fmt"
	"math/bits"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Copy is a backup that was restored.
type Copy struct {
	Source
	// Begun is the run time at which the backup began.
	Begun int64
}

// readCopies reads each backup and compares it with the final read and with what the writers were answered.
func (a *audit) readCopies(ctx context.Context) {
	for _, c := range a.opts.Copies {
		p := a.read(ctx, c.Source, c.Name())
		read := &a.result.Reads[len(a.result.Reads)-1]
		read.Missing, read.Extra = a.difference(p)
		found := &record.LedgerCopy{}
		for _, w := range a.l.writers() {
			for k := range kinds {
				a.judgeCopy(found, w.outcomes(k), &a.final.writer(w.number).of[k], &p.writer(w.number).of[k], c.Begun)
			}
		}
		read.Copy = found
		switch {
		case !p.complete || !a.final.complete:
			read.State = record.MemberNeverRead
			continue
		case found.Torn > 0 || read.Extra > 0:
			read.State = record.MemberDiverged
		case read.Missing > 0:
			read.State = record.MemberStale
		default:
			read.State = record.MemberAgrees
		}
		read.Behind = copyText(found)
	}
}

// judgeCopy compares the writes of one kind of a writer. A writer sends a write after the answer to the one before. So
// a copy of one moment has all acknowledged writes before its last one.
func (a *audit) judgeCopy(found *record.LedgerCopy, l *outcomes, final, here *sight, begun int64) {
	last := int64(-1)
	for at, word := range here.present {
		if word != 0 {
			last = int64(at)*64 + int64(63-bits.LeadingZeros64(word))
		}
		wrong := here.bad.word(int64(at))&^final.bad.word(int64(at)) | here.again.word(int64(at))&^final.again.word(int64(at))
		found.Torn += int64(bits.OnesCount64(wrong))
	}
	for at, word := range final.present {
		for lacks := word &^ here.present.word(int64(at)); lacks != 0; lacks &= lacks - 1 {
			n := int64(at)*64 + int64(bits.TrailingZeros64(lacks))
			if l.state(n) != acknowledged {
				continue
			}
			if n < last {
				found.Torn++
			}
			if when, within := l.acknowledgedAt(n); when >= 0 && when+within < begun {
				found.Earlier++
				found.Age = max(found.Age, begun-when-within)
			}
		}
	}
}

// copyText says what a backup has.
func copyText(c *record.LedgerCopy) string {
	text := "restored; it has all writes that were acknowledged before the backup began"
	if c.Earlier > 0 {
		text = fmt.Sprintf("restored; it lacks %s that were acknowledged up to %s before the backup began, because the member was behind",
			figure.Plural(int(c.Earlier), "write"), figure.Duration(time.Duration(c.Age)))
	}
	if c.Torn > 0 {
		text += fmt.Sprintf("; it is inconsistent: %s missing before later ones of the same writer, or changed",
			figure.Plural(int(c.Torn), "write"))
	}
	return text
}
