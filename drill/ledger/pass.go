package ledger

import (
	"context"
	"hash/crc32"
	"time"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/record"
)

// bitset has one bit per write of a kind. It is allocated with the first bit.
type bitset []uint64

func (b *bitset) set(i, of int64) {
	if *b == nil {
		*b = make(bitset, (of+63)/64)
	}
	(*b)[i/64] |= 1 << (i % 64)
}

func (b bitset) has(i int64) bool { return b.word(i/64)>>(i%64)&1 == 1 }

// word returns 64 bits, none beyond the end.
func (b bitset) word(i int64) uint64 {
	if i >= int64(len(b)) {
		return 0
	}
	return b[i]
}

// sight is what one pass found of the writes of one kind of a writer.
type sight struct {
	present bitset
	again   bitset // more than once, or applied more than once
	odd     bitset // in a document with another _id than was inserted
	bad     bitset // with other content
}

// digests is the number of digests per pass, which compare contents between members.
const digests = 1 << 10

// pass is one reading of all documents.
type pass struct {
	a          *audit
	name       string
	count      string
	strict     bool   // contents must be as they were inserted
	complete   bool   // everything was read
	collection string // being read
	r          reading
	byNumber   []*passWriter
	byMap      map[int]*passWriter
	found      []int64         // updates by group
	digest     [digests]uint64 // of the documents with a write of this run
	others     others

	documents, foreign int64
	unexpected         [kinds]int64
	damaged            int64
	unread             int64 // inserts whose content was not compared
}

// others are the documents without a write of this run, which other programs may change while they are read.
type others struct {
	documents int64
	digest    uint64
}

// passWriter is a writer and what this pass found of it.
type passWriter struct {
	w  *writer
	of [kinds]sight
}

// mostDense is the bound of writer numbers that are found by index; others are in a map.
const mostDense = 1 << 16

func (a *audit) newPass(name string) *pass {
	p := &pass{a: a, name: name, count: counterName(a.l.opts.Run), strict: true, byMap: map[int]*passWriter{}}
	for _, w := range a.l.writers() {
		p.strict = p.strict && !w.changes() && !w.inserts.cut
		b := &passWriter{w: w}
		if w.number >= mostDense {
			p.byMap[w.number] = b
			continue
		}
		for len(p.byNumber) <= w.number {
			p.byNumber = append(p.byNumber, nil)
		}
		p.byNumber[w.number] = b
	}
	if a.l.groups != nil {
		p.found = make([]int64, groupCount)
	}
	return p
}

// writer returns nil if there is no writer of that number.
func (p *pass) writer(writer int) *passWriter {
	if writer >= 0 && writer < len(p.byNumber) {
		return p.byNumber[writer]
	}
	if len(p.byMap) == 0 {
		return nil
	}
	return p.byMap[writer]
}

// read makes one pass over all collections. A nil source gives a pass that found nothing.
func (a *audit) read(ctx context.Context, src Source, name string) *pass {
	p := a.newPass(name)
	if src == nil {
		return p
	}
	began := time.Now()
	out := record.LedgerRead{Source: name}
	p.complete = true
	for _, collection := range a.opts.Workload.Collections() {
		p.collection = collection
		if err := ahead(ctx, src, collection, p.document); err != nil {
			p.complete = false
			out.Problem = "reading " + collection + ": " + err.Error()
			break
		}
	}
	out.Documents, out.Seconds = p.documents, time.Since(began).Seconds()
	a.result.Reads = append(a.result.Reads, out)
	return p
}

// document identifies one document. It never fails.
func (p *pass) document(doc []byte) error {
	p.documents++
	r := &p.r
	if !r.read(doc, p.count, p.a.own != nil) {
		p.damage("a document of %d bytes is not BSON", len(doc))
		return nil
	}
	if p.a.own != nil {
		if id := rawbson.Value(r.id0()); len(id) == 12 && bsoncore.Type(r.id[0]) == bsoncore.TypeObjectID {
			if run, w, k, n := parseID(id); run == p.a.l.opts.Run {
				p.sum(true)
				p.ownDocument(w, k, n)
				return nil
			}
			if !r.tagged {
				p.foreign++ // a slot of another run
			}
		}
	}
	p.sum(r.tagged && (!r.trusted || r.tag.run == p.a.l.opts.Run) || r.counted)
	p.taggedDocument()
	return nil
}

// sum adds the document to the digest of those of this run, or of others. The digest covers the whole document; the
// checksums of everything but _id exist already.
func (p *pass) sum(ours bool) {
	at := crc32.Update(0, castagnoli, p.r.id)
	one := mix(mix(uint64(at)<<32|uint64(p.r.body)) ^ uint64(p.r.marks))
	if ours {
		p.digest[at%digests] += one
		return
	}
	p.others.documents++
	p.others.digest += one
}

// id0 returns the element _id, also if there is none.
func (r *reading) id0() []byte {
	if len(r.id) == 0 {
		return []byte{0, 0}
	}
	return r.id
}

// ownDocument handles a document whose _id names its write in the own workload.
func (p *pass) ownDocument(writer int, k kind, n int64) {
	r := &p.r
	if k == updates {
		p.slot(writer, n)
		return
	}
	if r.trusted && r.tag.run == p.a.l.opts.Run && r.tag.writer == writer && r.tag.sequence == n {
		p.insert(writer, n, r.tag.id == bound(r.tag.self, r.id) && r.body == r.tag.body)
		return
	}
	p.insert(writer, n, false)
}

// taggedDocument handles a document by its tag.
func (p *pass) taggedDocument() {
	r := &p.r
	switch {
	case r.tagged && !r.trusted:
		p.damage("the tag of the document with _id %x is damaged", rawbson.Value(r.id0()))
		return
	case r.tagged && r.tag.run == p.a.l.opts.Run:
		if r.tag.id != bound(r.tag.self, r.id) {
			p.copied(r.tag.writer, r.tag.sequence)
			return // its counter is a copy, too
		}
		sound := r.body == r.tag.body
		if !p.strict || r.counted {
			sound = true
			p.unread++
		}
		p.insert(r.tag.writer, r.tag.sequence, sound)
	case r.tagged:
		p.foreign++
	}
	if r.counted && p.found != nil && len(r.id) > 0 {
		p.found[p.a.l.group(p.collection, r.id)] += r.updates
	}
}

func (p *pass) insert(writer int, n int64, sound bool) {
	if s, of := p.sight(writer, inserts, n); s != nil {
		s.add(n, of, sound, 1)
	}
}

// copied records that the content of an insert is present under another _id.
func (p *pass) copied(writer int, n int64) {
	if s, of := p.sight(writer, inserts, n); s != nil {
		s.odd.set(n, of)
	}
}

// add records that a write is present, applied a number of times.
func (s *sight) add(n, of int64, sound bool, times int64) {
	if s.present.has(n) || times > 1 {
		s.again.set(n, of)
	}
	s.present.set(n, of)
	if !sound {
		s.bad.set(n, of)
	}
}

// sight returns where to record a write, and the number of writes of its kind. It returns nil if the write was never
// attempted, which it counts, or if that is not known.
func (p *pass) sight(writer int, k kind, n int64) (*sight, int64) {
	b := p.writer(writer)
	if b == nil || !b.w.outcomes(k).attempted(n) {
		p.unexpected[k]++
		if p == p.a.final || p.a.final == nil {
			p.a.example(record.WriteUnexpected, "%s %d of writer %d (%s)", k, n, writer, p.name)
		}
		return nil, 0
	}
	l := b.w.outcomes(k)
	if !l.known(n) {
		return nil, 0
	}
	return &b.of[k], l.next
}

// mostTimes is how often an update may have been applied; more is damage.
const mostTimes = 1000

// slot handles the counters of a slot of the own workload.
func (p *pass) slot(writer int, slot int64) {
	if p.r.strange {
		p.damage("slot %d of writer %d has fields that no update made", slot, writer)
	}
	for i, e := range p.r.slot {
		if e == nil {
			continue
		}
		n := updateOf(slot, i)
		s, of := p.sight(writer, updates, n)
		if s == nil {
			continue
		}
		v, ok := integerOf(e)
		weight := weightOf(p.a.l.opts.Run, writer, n)
		ok = ok && v > 0 && v%weight == 0 && v/weight <= mostTimes
		times := int64(1)
		if ok {
			times = v / weight
		}
		s.add(n, of, ok, times)
	}
}

// damage counts a document that cannot be identified.
func (p *pass) damage(format string, args ...any) {
	p.damaged++
	if p == p.a.final || p.a.final == nil {
		p.a.example(record.WriteCorrupt, format, args...)
	}
}
