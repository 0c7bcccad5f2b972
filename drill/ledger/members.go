package ledger

import (
	"fmt"
	"math/bits"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Late is a [Source] that may lag behind the primary. Writes that it lacks are then stale, not diverged.
type Late interface {
	// Behind says in words how far it is behind; "" if it is up to date, or if that is not known.
	Behind() string
}

func behind(s Source) string {
	if l, ok := s.(Late); ok {
		return l.Behind()
	}
	return ""
}

// memberSight is what one member, read completely, shows of the writes of one kind of a writer.
type memberSight struct {
	*sight
	name string
	late bool
}

// diverged returns which of 64 writes differ between a member and the final read. A late member may lack writes.
func (j *judge) diverged(i int64) uint64 {
	var d uint64
	for _, m := range j.members {
		final, here := j.final.present.word(i), m.present.word(i)
		if m.late {
			d |= here&^final | m.bad.word(i)&^j.final.bad.word(i) | m.again.word(i)&^j.final.again.word(i)
			continue
		}
		d |= here ^ final
		d |= m.bad.word(i) ^ j.final.bad.word(i)
		d |= m.again.word(i) ^ j.final.again.word(i)
	}
	return d
}

// late returns which of 64 writes a late member lacks.
func (j *judge) late(i int64) uint64 {
	var d uint64
	for _, m := range j.members {
		if m.late {
			d |= j.final.present.word(i) &^ m.present.word(i)
		}
	}
	return d
}

// lacking names the first late member that lacks a write.
func (j *judge) lacking(n int64) string {
	for _, m := range j.members {
		if m.late && !m.present.has(n) {
			return m.name
		}
	}
	return ""
}

// judgeMemberGroups compares the updates of a wrapped workload, which are counted by groups, with those on members.
func (a *audit) judgeMemberGroups(group int) {
	for i, m := range a.members {
		more := m.found[group] - a.final.found[group]
		switch {
		case !m.complete || !a.final.complete || more == 0:
		case more < 0 && a.late[i] != "":
			a.add(updates, record.WriteStale, -more)
			a.example(record.WriteStale, "%d updates in group %d are not on %s yet", -more, group, m.name)
		default:
			a.add(updates, record.WriteDiverged, max(more, -more))
			a.example(record.WriteDiverged, "%d updates in group %d are on only one of %s and the primary",
				max(more, -more), group, m.name)
		}
	}
}

// judgeContents compares the contents of members with the final read, to find documents whose bytes differ although
// their writes are the same. Documents without a write of this run are not judged, because other programs may write
// them between the two reads. It returns for each member whether its contents differ. Late members are left out.
func (a *audit) judgeContents() []bool {
	differ := make([]bool, len(a.members))
	known := a.result.Inserts[record.WriteDiverged]+a.result.Updates[record.WriteDiverged] > 0
	for i, m := range a.members {
		if !a.final.complete || !m.complete || a.late[i] != "" {
			continue
		}
		var n int64
		for d := range m.digest {
			if m.digest[d] != a.final.digest[d] {
				n++
			}
		}
		differ[i] = n > 0
		if m.others != a.final.others {
			a.result.Notes = append(a.result.Notes, fmt.Sprintf("%s and the primary returned different documents without "+
				"writes of this run (%d and %d documents). They are not compared, because other programs may have written them "+
				"between the two reads", m.name, m.others.documents, a.final.others.documents))
		}
		if n > 0 && !known {
			a.add(inserts, record.WriteDiverged, n)
			a.example(record.WriteDiverged, "at least %d documents differ in content between %s and the primary", n, m.name)
		}
	}
	return differ
}

// judgeMembers compares each member with the final read.
func (a *audit) judgeMembers() {
	differ := a.judgeContents()
	for i, m := range a.members {
		read := &a.result.Reads[a.memberRead(i)]
		read.Missing, read.Extra = a.difference(m)
		read.Behind = a.late[i]
		switch {
		case !m.complete || !a.final.complete:
			read.State = record.MemberNeverRead
		case read.Extra > 0 || read.Missing > 0 && read.Behind == "" || differ[i]:
			read.State = record.MemberDiverged
		case read.Missing > 0:
			read.State = record.MemberStale
		default:
			read.State = record.MemberAgrees
		}
		if read.State == record.MemberStale {
			a.result.Notes = append(a.result.Notes, fmt.Sprintf("%s is stale: it lacks %d writes of the final read (%s)",
				m.name, read.Missing, read.Behind))
		}
	}
}

// difference counts the writes that a member lacks compared with the final read, and those that only it has.
func (a *audit) difference(m *pass) (missing, extra int64) {
	for _, w := range a.l.writers() {
		for k := range kinds {
			final, here := &a.final.writer(w.number).of[k], &m.writer(w.number).of[k]
			for at := range max(len(final.present), len(here.present)) {
				f, h := final.present.word(int64(at)), here.present.word(int64(at))
				missing += int64(bits.OnesCount64(f &^ h))
				extra += int64(bits.OnesCount64(h &^ f))
			}
		}
	}
	for g := range m.found {
		missing += max(0, a.final.found[g]-m.found[g])
		extra += max(0, m.found[g]-a.final.found[g])
	}
	return missing, extra
}

// memberRead returns the index of a member's pass in the result.
func (a *audit) memberRead(i int) int {
	if a.opts.Final != nil {
		return i + 1
	}
	return i
}
