package ledger

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/record"
)

// keepLost adds the lost writes of one lane to the result.
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
		age := a.age(at)
		a.loseOn(j.l.shardOf(n), 1, knownAge(at, age, len(a.opts.Faults)))
		if at >= 0 && len(a.opts.Faults) > 0 {
			r.LossWindow = max(r.LossWindow, age, 0)
		}
		if len(r.Lost) >= a.opts.MostLost {
			continue
		}
		shard := ""
		if a.shards != nil {
			shard = a.shard(j.l.shardOf(n)).Shard
		}
		r.Lost = append(r.Lost, record.LostWrite{Writer: j.w.number, Sequence: n, ID: a.idText(j.w.number, j.k, n),
			Shard:        shard,
			Acknowledged: at, Within: within, Age: age, Found: a.where(j.w.number, j.k, n)})
	}
}

// knownAge is an age for the loss window. A write that was acknowledged after the fault counts as right before it.
func knownAge(at, age int64, faults int) int64 {
	if at < 0 || faults == 0 {
		return -1
	}
	return max(age, 0)
}

// age returns how long before the next fault a write was acknowledged. After the last fault it is negative. It is -1
// without a fault, or if the time is not known.
func (a *audit) age(at int64) int64 {
	if at < 0 || len(a.opts.Faults) == 0 {
		return -1
	}
	var after, last int64 = -1, a.opts.Faults[0]
	for _, f := range a.opts.Faults {
		last = max(last, f)
		if f >= at && (after < 0 || f < after) {
			after = f
		}
	}
	if after < 0 {
		after = last
	}
	return after - at
}

// where names the other place where a lost write was found, "" if none.
func (a *audit) where(writer int, k kind, n int64) string {
	for _, list := range [][]*pass{a.elsewhere, a.members} {
		for _, p := range list {
			if p.books(writer).of[k].present.has(n) {
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
