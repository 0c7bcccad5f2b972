package isolation

import (
	"cmp"
	"slices"
)

// nobody is the writer of a version that no transaction of the history wrote.
const nobody int32 = -1

// write is a write of a history, and what was seen of it.
type write struct {
	transaction int32
	op          int32
	key         uint32
	place       int64 // its number, Unplaced if nobody saw it
	last        bool  // its transaction wrote the key no later
	shown       bool  // another transaction or the final read saw it
	replaced    bool  // another one has its place: a lost update
	gone        bool  // it was rolled back: the versions at the end do not follow from it
	stays       bool  // the final version follows from it
}

// version is one version of a key.
type version struct {
	n      int64
	id     ID
	prev   ID
	linked bool // prev is known
	shown  bool // not only its writer says so
	writer int32
}

// chain are the known versions of a key, in the order of their numbers.
type chain struct {
	key      uint32
	versions []version
	last     int64 // the number of the final version, Unplaced if the final read lacks the key
	lastID   ID
}

// next returns the first version after a number that a transaction of the history wrote, and whether it follows at
// once.
func (c *chain) next(n int64) (v *version, adjacent bool) {
	i, _ := slices.BinarySearchFunc(c.versions, n+1, func(v version, n int64) int { return cmp.Compare(v.n, n) })
	for ; i < len(c.versions); i++ {
		if c.versions[i].writer != nobody {
			return &c.versions[i], c.versions[i].n == n+1
		}
	}
	return nil, false
}

// at returns the version with a number.
func (c *chain) at(n int64) *version {
	i, found := slices.BinarySearchFunc(c.versions, n, func(v version, n int64) int { return cmp.Compare(v.n, n) })
	if !found {
		return nil
	}
	return &c.versions[i]
}

// complete reports whether every version up to the final one was seen, so that what is not among them is not there.
func (c *chain) complete() bool {
	if c.last == Unplaced {
		return false
	}
	wanted := int64(0)
	for i := range c.versions {
		if v := &c.versions[i]; v.shown && v.n == wanted {
			wanted++
		}
	}
	return wanted > c.last
}

// read is a version that a transaction saw of a key that it had not written itself.
type read struct {
	transaction int32
	key         uint32
	n           int64
	id          ID
}

// index finds the writes of the history.
func (c *check) index() {
	c.byID = make(map[ID]int32)
	for t := range c.h.Transactions {
		ops := c.h.Transactions[t].Ops
		for i := range ops {
			o := &ops[i]
			if !o.Write {
				continue
			}
			w := write{transaction: int32(t), op: int32(i), key: o.Key, place: Unplaced, last: true}
			for j := range ops[i+1:] {
				w.last = w.last && !(ops[i+1+j].Write && ops[i+1+j].Key == o.Key)
			}
			c.byID[o.ID] = int32(len(c.writes))
			c.writes = append(c.writes, w)
		}
	}
}

// writeOf returns the write of an ID, nil for the version before the load and for an ID that nobody wrote.
func (c *check) writeOf(id ID) *write {
	if i, ok := c.byID[id]; ok {
		return &c.writes[i]
	}
	return nil
}

// decideUnknown finds which transactions have an effect: those with an acknowledged commit, and those without an answer
// of which a write was seen. The writes of aborted ones that were seen are dirty reads.
func (c *check) decideUnknown() {
	c.live = make([]bool, len(c.h.Transactions))
	saw := func(by int32, id ID) {
		if w := c.writeOf(id); w != nil && w.transaction != by {
			w.shown = true
			c.live[w.transaction] = c.live[w.transaction] || c.h.Transactions[w.transaction].Outcome == Unknown
		}
	}
	for t := range c.h.Transactions {
		one := &c.h.Transactions[t]
		if one.Outcome != Committed {
			continue
		}
		c.live[t] = true
		for _, o := range one.Ops {
			if !o.Write {
				saw(int32(t), o.ID)
			}
			if !o.Blind {
				saw(int32(t), o.Prev)
			}
		}
	}
	for _, o := range c.h.Final {
		saw(nobody, o.ID)
		saw(nobody, o.Prev)
	}
}

// observe goes through what committed transactions and the final read saw, finds anomalies that need no cycle, and
// collects the versions of all keys and the reads between transactions.
func (c *check) observe() {
	c.chains = make(map[uint32]*chain)
	for t := range c.h.Transactions {
		one := &c.h.Transactions[t]
		if one.Outcome != Committed {
			// The commit has no answer, so what it read is not judged. Its places are those that others saw.
			continue
		}
		for i := range one.Ops {
			o := &one.Ops[i]
			if o.Write && o.Blind {
				continue
			}
			c.operation(int32(t), i, o)
		}
	}
	for i := range c.h.Final {
		o := &c.h.Final[i]
		c.valid(nobody, o.Key, o.N, o.ID)
		c.put(o, nobody)
		c.chains[o.Key].last, c.chains[o.Key].lastID = o.N, o.ID
	}
}

// operation judges an operation that saw a version: a read, or a write that returned the document before.
func (c *check) operation(t int32, at int, o *Op) {
	id, n := o.ID, o.N
	if o.Write {
		id, n = o.Prev, o.N-1
	}
	before := c.h.Transactions[t].Ops[:at]
	for i := len(before) - 1; i >= 0; i-- {
		if before[i].Key != o.Key {
			continue
		}
		if before[i].ID != id {
			class := NonRepeatable
			if before[i].Write {
				class = Internal
			}
			c.found(class, func() Anomaly { return c.pair(t, t, o.Key, n, id) })
		}
		c.put(o, t)
		return
	}
	c.put(o, t)
	if c.valid(t, o.Key, n, id) {
		c.reads = append(c.reads, read{transaction: t, key: o.Key, n: n, id: id})
	}
}

// valid judges a version that somebody saw by its writer alone, and reports whether a transaction that has an effect
// wrote it.
func (c *check) valid(t int32, key uint32, n int64, id ID) bool {
	if id == 0 {
		if n != 0 {
			c.found(Duplicate, func() Anomaly { return c.pair(t, nobody, key, n, id) })
		}
		return n == 0
	}
	w := c.writeOf(id)
	if w == nil || w.key != key {
		c.found(Garbage, func() Anomaly { return c.pair(t, nobody, key, n, id) })
		return false
	}
	by := w.transaction
	if t != nobody {
		if ended := c.h.Transactions[t].Ended; ended > 0 && ended < c.h.Transactions[by].Began {
			c.found(Future, func() Anomaly { return c.pair(t, by, key, n, id) })
		}
	}
	switch {
	case c.h.Transactions[by].Outcome == Aborted:
		c.found(DirtyRead, func() Anomaly { return c.pair(t, by, key, n, id) })
		return false
	case !w.last:
		c.found(Intermediate, func() Anomaly { return c.pair(t, by, key, n, id) })
		return false
	}
	return true
}

// put adds the versions that an operation shows to those of its key: its own and the one before.
func (c *check) put(o *Op, t int32) {
	in := c.chains[o.Key]
	if in == nil {
		in = &chain{key: o.Key, last: Unplaced}
		in.versions = append(in.versions, version{shown: true, writer: nobody})
		c.chains[o.Key] = in
	}
	c.place(in, version{n: o.N, id: o.ID, prev: o.Prev, linked: o.Prev != 0 || o.N == 1, shown: !o.Write}, t)
	if o.Prev != 0 || o.N == 1 {
		c.place(in, version{n: o.N - 1, id: o.Prev, shown: true}, t)
	}
}

// place adds a version that transaction t saw to those of a key.
func (c *check) place(in *chain, v version, t int32) {
	v.writer = nobody
	if v.id != 0 {
		w := c.writeOf(v.id)
		if w == nil || w.key != in.key {
			return // garbage
		}
		if v.writer = w.transaction; !c.live[v.writer] {
			return // an aborted write has no place
		}
		if w.place != Unplaced && w.place != v.n {
			c.found(Duplicate, func() Anomaly { return c.pair(t, v.writer, in.key, v.n, v.id) })
			return
		}
		w.place = v.n
		// What the writer itself read back inside of the transaction is not what others see.
		v.shown = v.shown && v.writer != t
	} else if v.n != 0 {
		return
	}
	in.versions = append(in.versions, v)
}

// order sorts the versions of each key, joins what was seen of each, and finds two writes in one place.
func (c *check) order() {
	c.keys = make([]uint32, 0, len(c.chains))
	for key := range c.chains {
		c.keys = append(c.keys, key)
	}
	slices.Sort(c.keys)
	for _, key := range c.keys {
		in := c.chains[key]
		slices.SortFunc(in.versions, func(a, b version) int {
			return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.id, b.id))
		})
		kept := in.versions[:0]
		for _, v := range in.versions {
			last := len(kept) - 1
			switch {
			case last < 0 || kept[last].n != v.n:
				kept = append(kept, v)
			case kept[last].id == v.id:
				kept[last].shown = kept[last].shown || v.shown
				if v.linked && !kept[last].linked {
					kept[last].prev, kept[last].linked = v.prev, true
				}
			default:
				kept = append(kept, v)
			}
		}
		in.versions = c.conflicts(key, c.rolledBack(in, kept))
		c.imply(in)
		if in.complete() {
			c.completeKeys++
		}
		c.serverOrder(in)
	}
}

// rolledBack leaves out the versions from which the final one does not follow: later ones, and those with the place of
// another one, from which it follows. A version follows from the one that its transaction read before it wrote.
func (c *check) rolledBack(in *chain, sorted []version) []version {
	if in.last == Unplaced {
		return sorted
	}
	before := c.rolled
	at, wanted, known := in.last, in.lastID, true // the version that what comes later follows from
	for end := len(sorted); end > 0; {
		first := end - 1
		for first > 0 && sorted[first-1].n == sorted[end-1].n {
			first--
		}
		here, n := sorted[first:end], sorted[first].n
		end = first
		if n > in.last {
			c.giveUp(here, nil)
			continue
		}
		known = known && n == at
		var stays *version
		for i := range here {
			if known && here[i].id == wanted || !known && len(here) == 1 {
				stays = &here[i]
			}
		}
		if known {
			c.giveUp(here, stays)
			if stays != nil && stays.id != 0 {
				c.writeOf(stays.id).stays = true
			}
		}
		at, wanted, known = n-1, 0, false
		if stays != nil {
			wanted, known = c.before(stays)
		}
	}
	if c.rolled == before {
		return sorted
	}
	return slices.DeleteFunc(sorted, func(v version) bool {
		w := c.writeOf(v.id)
		return w != nil && w.gone
	})
}

// giveUp marks versions of one place as rolled back, but for the one that stays. Two writes that returned the same
// version before are a lost update.
func (c *check) giveUp(here []version, stays *version) {
	for i := range here {
		v := &here[i]
		w := c.writeOf(v.id)
		if v == stays || w == nil || stays != nil && v.linked && stays.linked && v.prev == stays.prev {
			continue
		}
		w.gone = true
		c.rolled++
	}
}

// before returns the version that a version follows from, if its transaction knew it.
func (c *check) before(v *version) (id ID, known bool) {
	if v.linked {
		return v.prev, true
	}
	w := c.writeOf(v.id)
	if w == nil {
		return 0, false
	}
	ops := c.h.Transactions[w.transaction].Ops
	for i := int(w.op) - 1; i >= 0; i-- {
		if o := &ops[i]; o.Key == w.key {
			return o.ID, o.Write || o.N == v.n-1
		}
	}
	return 0, false
}

// rolledBackReads finds reads of versions that were rolled back, which say nothing about the order of what was not.
func (c *check) rolledBackReads() {
	if c.rolled == 0 {
		return
	}
	c.reads = slices.DeleteFunc(c.reads, func(r read) bool {
		w := c.writeOf(r.id)
		if w == nil || !w.gone {
			return false
		}
		c.found(DirtyRead, func() Anomaly { return c.pair(r.transaction, w.transaction, r.key, r.n, r.id) })
		return true
	})
}

// imply marks what was seen through a later version: whoever saw a version saw that the one before was there.
func (c *check) imply(in *chain) {
	for i := len(in.versions) - 1; i > 0; i-- {
		v, before := &in.versions[i], &in.versions[i-1]
		if v.shown && v.linked && before.n == v.n-1 && before.id == v.prev {
			before.shown = true
			if w := c.writeOf(before.id); w != nil {
				w.shown = true
			}
		}
	}
}

// conflicts finds versions with one number, and keeps one of them for the order: the one that others saw.
func (c *check) conflicts(key uint32, sorted []version) []version {
	kept := sorted[:0]
	for _, v := range sorted {
		last := len(kept) - 1
		if last < 0 || kept[last].n != v.n {
			kept = append(kept, v)
			continue
		}
		class := Conflict
		if kept[last].linked && v.linked && kept[last].prev == v.prev {
			class = LostUpdate
			for _, id := range []ID{kept[last].id, v.id} {
				if w := c.writeOf(id); w != nil {
					w.replaced = true
				}
			}
		}
		first := kept[last].writer
		c.found(class, func() Anomaly { return c.pair(first, v.writer, key, v.n, v.id) })
		if v.shown && !kept[last].shown {
			kept[last] = v
		}
	}
	return kept
}

// serverOrder compares the order of the versions of a key with the times of the server.
func (c *check) serverOrder(in *chain) {
	before := nobody
	for i := range in.versions {
		w := in.versions[i].writer
		if w == nobody || c.h.Transactions[w].CommitTime == 0 || w == before {
			continue
		}
		if before != nobody && c.h.Transactions[w].CommitTime <= c.h.Transactions[before].CommitTime {
			v, earlier := &in.versions[i], before
			c.found(ServerOrder, func() Anomaly { return c.pair(earlier, w, in.key, v.n, v.id) })
		}
		before = w
	}
}

// snapshotTimes compares what transactions read with the times of their snapshots. Without such a time, a transaction
// that writes has read what was committed before its own commit.
func (c *check) snapshotTimes() {
	for i := range c.reads {
		r := &c.reads[i]
		one := &c.h.Transactions[r.transaction]
		at, known := one.ReadTime, one.ReadTime != 0
		in := c.chains[r.key]
		if !known {
			at = one.CommitTime - 1
		}
		if !known && one.CommitTime == 0 || in == nil {
			continue
		}
		if v := in.at(r.n); v != nil && v.writer != nobody && c.h.Transactions[v.writer].CommitTime > at {
			c.found(ServerOrder, func() Anomaly { return c.pair(r.transaction, v.writer, r.key, r.n, r.id) })
			continue
		}
		next, adjacent := in.next(r.n)
		if !known || next == nil || !adjacent || next.writer == r.transaction {
			continue
		}
		if commit := c.h.Transactions[next.writer].CommitTime; commit != 0 && commit <= at {
			c.found(ServerOrder, func() Anomaly { return c.pair(r.transaction, next.writer, r.key, r.n, r.id) })
		}
	}
}

// torn finds transactions of which some writes are there and others not, and those that were acknowledged and are gone.
// A write is missing only if all versions of its key were seen, or if it was rolled back. If several transactions were,
// a version that others saw may be one that was rolled back, too, unless the final version follows from it.
func (c *check) torn() {
	complete := make(map[uint32]bool, len(c.chains))
	for key, in := range c.chains {
		complete[key] = in.complete()
	}
	several := c.severalRolledBack()
	for i := 0; i < len(c.writes); {
		t := c.writes[i].transaction
		there, missing := -1, -1
		for ; i < len(c.writes) && c.writes[i].transaction == t; i++ {
			switch w := &c.writes[i]; {
			case !w.last:
			case w.gone:
				missing = i
			case w.shown && (w.stays || !several):
				there = i
			case w.shown:
			case complete[w.key] && !w.replaced:
				missing = i
			}
		}
		if missing < 0 || !c.live[t] {
			continue
		}
		w := &c.writes[missing]
		id := c.h.Transactions[t].Ops[w.op].ID
		switch {
		case there >= 0:
			c.found(Torn, func() Anomaly { return c.pair(t, nobody, w.key, w.place, id) })
		case c.h.Transactions[t].Outcome == Committed:
			c.found(Lost, func() Anomaly { return c.pair(t, nobody, w.key, w.place, id) })
		}
	}
}

// severalRolledBack reports whether versions of more than one transaction were rolled back.
func (c *check) severalRolledBack() bool {
	first := nobody
	for i := 0; c.rolled > 0 && i < len(c.writes); i++ {
		if w := &c.writes[i]; w.gone {
			if first != nobody && first != w.transaction {
				return true
			}
			first = w.transaction
		}
	}
	return false
}
