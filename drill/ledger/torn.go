package ledger

import (
	"math/bits"
	"slices"
)

// A transaction is applied as a whole or not at all. So its inserts are all present at the end, or all absent: whether
// it was acknowledged or not, and also if it was rolled back. Its updates are not known one by one: see divided.go.
//
// The final read is not a read of one moment. A transaction that commits while it runs can be present in a part of it.
// So a transaction is torn only if two final reads, one after the other, returned a part of it.

// transactions calls each for the first and the end of every sequence of inserts that belong to one transaction.
func (l *outcomes) transactions(each func(first, end int64)) {
	for i, word := range l.joined {
		for word != 0 {
			n := int64(i)*64 + int64(bits.TrailingZeros64(word))
			word &= word - 1
			if l.joined.has(n - 1) {
				continue
			}
			end := n + 1
			for l.joined.has(end) {
				end++
			}
			each(n-1, end)
		}
	}
}

// partly returns the first inserts of a writer's transactions of which the pass found a part.
func (p *pass) partly(w *writer) (torn []int64) {
	if !p.complete {
		return nil
	}
	l, found := &w.inserts, &p.writer(w.number).of[inserts]
	l.transactions(func(first, end int64) {
		present, absent := false, false
		for n := first; n < end; n++ {
			switch there := found.present.has(n) || found.odd.has(n); {
			case there:
				present = true
			case l.state(n) != notApplied: // others are of an attempt that was repeated
				absent = true
			}
		}
		if present && absent {
			torn = append(torn, first)
		}
	})
	return torn
}

// stillTorn returns the torn transactions of a writer, and whether another final read has to show if more are.
func (a *audit) stillTorn(w *writer) (torn []int64, open bool) {
	for _, first := range a.final.partly(w) {
		if a.before != nil && slices.Contains(a.before.partly(w), first) {
			torn = append(torn, first)
		} else {
			open = true
		}
	}
	return torn, open
}

// unsureOfTorn reports whether another final read has to show if transactions are torn.
func (a *audit) unsureOfTorn() bool {
	return slices.ContainsFunc(a.l.writers(), func(w *writer) bool {
		_, open := a.stillTorn(w)
		return open
	})
}

// tornWrites returns the inserts of torn transactions of a writer, and counts these.
func (a *audit) tornWrites(w *writer) (torn bitset) {
	list, _ := a.stillTorn(w)
	a.result.Torn += int64(len(list))
	w.inserts.transactions(func(first, end int64) {
		if slices.Contains(list, first) {
			for n := first; n < end; n++ {
				torn.set(n, w.inserts.next)
			}
		}
	})
	return torn
}
