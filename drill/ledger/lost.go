package ledger

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Fault is a fault of the run, as the age of lost writes needs it.
type Fault struct {
	// At is the run time at which it took effect, as far as known, and Earliest and Latest are the limits of that time.
	Earliest, At, Latest int64
	// Shards are the numbers of the shards that it struck; nil if it may have struck any.
	Shards []int
}

// mayStrike reports whether a fault may have struck a shard; -1 is an unknown one.
func (f *Fault) mayStrike(shard int) bool {
	return f.Shards == nil || shard < 0 || slices.Contains(f.Shards, shard)
}

// keepLost adds the lost writes of one kind of a writer to the result.
func (a *audit) keepLost(j *judge) {
	if len(j.lost) == 0 {
		return
	}
	r := a.result
	name := strconv.Itoa(j.w.number)
	if j.k == updates {
		name += " updates"
	}
	r.LostRanges = append(r.LostRanges, name+": "+ranges(j.lost))
	for _, n := range j.lost {
		at, within := j.l.acknowledgedAt(n)
		shard := j.l.shardOf(n)
		age := a.age(j.l, n, shard)
		age.add(r)
		a.loseOn(shard, 1, age)
		if len(r.Lost) >= a.opts.MostLost {
			continue
		}
		name := ""
		if a.shards != nil {
			name = a.shard(shard).Shard
		}
		r.Lost = append(r.Lost, record.LostWrite{Writer: j.w.number, Sequence: n, ID: a.idText(j.w.number, j.k, n),
			Shard: name, Acknowledged: at, Within: within, Age: age.of, Found: a.where(j.w.number, j.k, n)})
	}
}

// age is how long before a fault took effect a lost write was acknowledged.
type age struct {
	known bool
	// of is below 0 if the write was acknowledged after the last fault had taken effect, or -1 if nothing is known.
	of          int64
	least, most int64 // limits of that time, not below 0
	// after says that the write was sent after the effect. The server may have acknowledged a write before it that was
	// sent before it.
	after bool
}

// age returns the age of a lost write.
func (a *audit) age(l *outcomes, n int64, shard int) age {
	at, within := l.acknowledgedAt(n)
	var next, last *Fault
	for i := range a.opts.Faults {
		f := &a.opts.Faults[i]
		switch {
		case !f.mayStrike(shard):
		case f.Latest >= at && (next == nil || f.Latest < next.Latest):
			next = f
		case f.Latest < at && (last == nil || f.Latest > last.Latest):
			last = f
		}
	}
	switch {
	case at < 0 || next == nil && last == nil:
		return age{of: -1}
	case next == nil:
		return age{known: true, of: last.Latest - at, after: l.sentAt(n) > last.Latest}
	}
	return age{known: true, of: max(0, next.At-at), least: max(0, next.Earliest-at-within), most: next.Latest - at}
}

// add adds the age of a lost write to what is known of all.
func (g age) add(r *record.LedgerResult) {
	if !g.known {
		r.LostUntimed++
		return
	}
	r.LossWindow = max(r.LossWindow, g.of, 0)
	r.LossLeast, r.LossMost = max(r.LossLeast, g.least), max(r.LossMost, g.most)
	if g.after {
		r.LostAfter++
		r.LossAfter = max(r.LossAfter, -g.of)
	}
}

// where names the other place where a lost write was found, "" if none.
func (a *audit) where(writer int, k kind, n int64) string {
	for _, list := range [][]*pass{a.discarded, a.members} {
		for _, p := range list {
			if p.writer(writer).of[k].present.has(n) {
				return p.name
			}
		}
	}
	return ""
}

// ranges writes ascending numbers as "17-19 42".
func ranges(numbers []int64) string {
	var b strings.Builder
	count := 0
	for i := 0; i < len(numbers); {
		end := i
		for end+1 < len(numbers) && numbers[end+1] == numbers[end]+1 {
			end++
		}
		if count++; count > mostRanges {
			fmt.Fprintf(&b, " and %d more", len(numbers)-i)
			break
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.FormatInt(numbers[i], 10))
		if end > i {
			b.WriteByte('-')
			b.WriteString(strconv.FormatInt(numbers[end], 10))
		}
		i = end + 1
	}
	return b.String()
}
