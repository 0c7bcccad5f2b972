package ledger

import (
	"encoding/hex"
	"fmt"
	"math/bits"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

func (a *audit) judge() {
	r := a.result
	r.Unchecked = a.l.uncheckedWrites()
	for _, w := range a.l.writers() {
		if w.inserts.cut && w.inserts.next+w.updates.next == 0 {
			continue // nothing of it was handed over
		}
		r.Writers++
		for k := range kinds {
			l := w.outcomes(k)
			r.Attempted += l.next
			r.Acknowledged += l.count[acknowledged]
			r.NotApplied += l.count[notApplied]
			r.Indeterminate += l.next - l.count[acknowledged] - l.count[notApplied]
			a.countShards(l)
			j := a.newJudge(w, k)
			if k == inserts {
				j.torn = a.tornWrites(w)
			}
			j.all()
			a.keepLost(j)
		}
	}
	n := a.l.groups.totals()
	r.Attempted += n[acknowledged] + n[notApplied] + n[indeterminate]
	r.Acknowledged += n[acknowledged]
	r.NotApplied += n[notApplied]
	r.Indeterminate += n[indeterminate]
	a.judgeGroups()
	a.judgeDivided()
	for k := range kinds {
		a.add(k, record.WriteUnexpected, a.final.unexpected[k])
	}
	a.add(inserts, record.WriteCorrupt, a.final.damaged)
	a.judgeMembers()
	r.LostAtLeast = r.Hidden > 0 || len(r.Unchecked) > 0 || len(a.l.notes) > 0
}

// add counts writes of a class. Classes that do not occur are left out.
func (a *audit) add(k kind, class string, n int64) {
	if n == 0 {
		return
	}
	if k == updates {
		a.result.Updates[class] += n
		return
	}
	a.result.Inserts[class] += n
}

// judge judges the writes of one kind of a writer.
type judge struct {
	a       *audit
	w       *writer
	k       kind
	l       *outcomes
	final   *sight
	members []memberSight
	stale   map[int64]int64 // when the read began that did not find the write, by sequence
	lost    []int64
	torn    bitset
	// Counts of the frequent classes, which are added to the result at once.
	ok, recovered, dropped int64
}

func (a *audit) newJudge(w *writer, k kind) *judge {
	j := &judge{a: a, w: w, k: k, l: w.outcomes(k), final: &a.final.writer(w.number).of[k]}
	for i, m := range a.members {
		if m.complete {
			j.members = append(j.members, memberSight{&m.writer(w.number).of[k], m.name, a.late[i] != ""})
		}
	}
	for _, absent := range w.absent {
		if absent.kind == k {
			if j.stale == nil {
				j.stale = map[int64]int64{}
			}
			j.stale[absent.sequence] = absent.begun
		}
	}
	return j
}

// all judges all of these writes, 64 at a time where they are ordinary.
func (j *judge) all() {
	for n := int64(0); n < j.l.next; n += 64 {
		width := min(64, j.l.next-n)
		if !j.ordinary(n, width) {
			for i := n; i < n+width; i++ {
				j.one(i)
			}
		}
	}
	j.a.add(j.k, record.WriteOK, j.ok)
	j.a.add(j.k, record.WriteRecovered, j.recovered)
	j.a.add(j.k, record.WriteDropped, j.dropped)
	j.a.add(j.k, record.WriteLost, int64(len(j.lost)))
}

// ordinary counts a block in which all writes have the same state and nothing is wrong. It returns false, and counts
// nothing, if they have to be judged one by one.
func (j *judge) ordinary(n, width int64) bool {
	p := &j.l.pages[n/pageWrites]
	if p.bits != nil || len(j.stale) > 0 || !j.a.final.complete {
		return false
	}
	i := n / 64
	if j.final.again.word(i)|j.final.odd.word(i)|j.final.bad.word(i)|j.torn.word(i)|j.diverged(i)|j.late(i) != 0 {
		return false
	}
	there := int64(bits.OnesCount64(j.final.present.word(i)))
	switch {
	case p.same == acknowledged && there == width:
		j.ok += there
	case p.same == indeterminate || p.same == open:
		j.recovered += there
		j.dropped += width - there
	default:
		return p.same == notApplied && there == 0
	}
	return true
}

// one gives one write its class.
func (j *judge) one(n int64) {
	s, there, odd := j.l.state(n), j.final.present.has(n), j.final.odd.has(n)
	known := there || j.a.final.complete // otherwise it may be in what was not read
	differs := known && j.diverged(n/64)>>(n%64)&1 == 1
	begun, stale := j.stale[n]
	switch {
	case j.final.bad.has(n), odd && !there && known:
		j.wrong(record.WriteCorrupt, n, "is present with other content than was written")
	case odd && there, j.final.again.has(n):
		j.wrong(record.WriteDuplicated, n, "was applied more than once")
	case there && s == notApplied:
		j.wrong(record.WritePhantom, n, "was declared not applied, but is present")
	case !there && s == acknowledged && known:
		j.lost = append(j.lost, n)
	case !known && s != notApplied:
		j.a.add(j.k, record.WriteNeverRead, 1)
	case j.torn.has(n) && s != notApplied:
		j.wrong(record.WriteTorn, n, map[bool]string{true: "is present", false: "is absent"}[there]+
			", and others of the same transaction are not")
	case stale && there:
		at, _ := j.l.acknowledgedAt(n)
		j.wrong(record.WriteStale, n, fmt.Sprintf("was acknowledged at %v and not found by a read begun at %v",
			time.Duration(at), time.Duration(begun)))
	case differs:
		j.wrong(record.WriteDiverged, n, "differs between members")
	case there && s == acknowledged && j.late(n/64)>>(n%64)&1 == 1:
		j.wrong(record.WriteStale, n, "was acknowledged but is not on "+j.lacking(n)+" yet")
	case there && s == acknowledged:
		j.ok++
	case there:
		j.recovered++
	case s != notApplied:
		j.dropped++
	}
}

// wrong counts a write of a class that should not be there, with an example.
func (j *judge) wrong(class string, n int64, what string) {
	j.a.add(j.k, class, 1)
	j.a.example(class, "%s %d of writer %d (%s) %s", j.k, n, j.w.number, j.a.idText(j.w.number, j.k, n), what)
}

func (a *audit) idText(writer int, k kind, n int64) string {
	switch {
	case a.own == nil:
		return tagText(a.l.opts.Run, writer, n)
	case k == updates:
		slot, counter := slotOf(n)
		id := ownID(a.l.opts.Run, writer, updates, slot)
		return hex.EncodeToString(id[:]) + "." + string(rune('a'+counter))
	}
	id := ownID(a.l.opts.Run, writer, inserts, n)
	return hex.EncodeToString(id[:])
}

// judgeGroups judges the updates of a wrapped workload, which are counted by groups of documents.
func (a *audit) judgeGroups() {
	if a.l.groups == nil {
		return
	}
	known := len(a.l.notes) == 0 // otherwise updates that no process reported may be among them
	for i := range groupCount {
		counts := a.l.groups.of(i)
		if a.shards != nil && counts[acknowledged] > 0 {
			shard := a.l.shardOfGroup(i)
			a.shard(shard).Acknowledged += int64(counts[acknowledged])
			if a.final.complete {
				a.loseOn(shard, max(0, int64(counts[acknowledged])-a.final.found[i]), age{})
			}
		}
		a.judgeGroup(int64(counts[acknowledged]), int64(counts[indeterminate]), int64(counts[notApplied]),
			a.final.found[i], known)
		a.judgeMemberGroups(i)
	}
}

func (a *audit) judgeGroup(acked, unknown, refused, found int64, known bool) {
	there := min(found, acked)
	a.add(updates, record.WriteOK, there)
	back := min(max(found-acked, 0), unknown)
	a.add(updates, record.WriteRecovered, back)
	if !a.final.complete {
		a.add(updates, record.WriteNeverRead, acked-there+unknown-back)
		return
	}
	a.add(updates, record.WriteLost, acked-there)
	a.result.LostUntimed += acked - there
	// Of what was found, as much as possible may be of the updates without an answer.
	a.result.Hidden += max(0, there-max(0, found-unknown))
	a.add(updates, record.WriteDropped, unknown-back)
	if more := found - acked - unknown; more > 0 && known {
		phantom := min(more, refused)
		a.add(updates, record.WritePhantom, phantom)
		a.add(updates, record.WriteDuplicated, more-phantom)
	}
}
