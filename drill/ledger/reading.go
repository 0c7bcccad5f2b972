package ledger

import (
	"hash/crc32"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// reading is what the ledger sees in one document.
type reading struct {
	id      bsoncore.Element
	tagged  bool // there is a tag of an insert
	trusted bool // its identity is proven
	tag     tag
	body    uint32 // checksum of what is there: all that stands before the tag, and what follows it but for counters
	marks   uint32 // checksum of the tag and of all counters
	marked  bool   // there is one of them
	updates int64  // counter of updates of this run
	counted bool
	slot    [slotCounters]bsoncore.Element // counters of the own workload's slots
	strange bool                           // a slot holds something else
}

// read takes a document apart. It allocates nothing and returns false if that is no document. count is the counter of
// the run; slots says whether the document may be a slot of the own workload.
func (r *reading) read(doc []byte, count string, slots bool) bool {
	*r = reading{}
	all, ok := inside(doc)
	if !ok {
		return false
	}
	piece := all // neighbours are summed up as one piece
	for rest := all; len(rest) > 0; {
		at := rest
		var e bsoncore.Element
		if e, rest, ok = bsoncore.ReadElement(rest); !ok {
			return false
		}
		switch {
		case e[1] != '_': // spares the others the comparisons
		case r.id == nil && isKey(e, "_id"):
			r.id = e
			r.sum(piece, at)
			piece = rest
			continue
		case isKey(e, tagName):
			r.sum(piece, at)
			r.readTag(e, all[:len(all)-len(at)])
			piece = rest
			continue
		case isCounter(e):
			r.sum(piece, at)
			r.readCounter(e, count)
			piece = rest
			continue
		}
		if slots {
			r.readSlot(e)
		}
	}
	r.sum(piece, nil)
	return true
}

// sum adds what stands before rest to the checksum of the body.
func (r *reading) sum(piece, rest []byte) {
	r.body = crc32.Update(r.body, ieee, piece[:len(piece)-len(rest)])
}

// mark adds a field of the ledger to their checksum.
func (r *reading) mark(e []byte) {
	r.marks, r.marked = crc32.Update(r.marks, castagnoli, e), true
}

// readTag reads a tag. A field with its name that is none is the tag of a write whose identity is damaged.
func (r *reading) readTag(e, before []byte) {
	if r.marked { // what looks like the ledger's and stands before a tag was in the document that was inserted
		_, r.body, _ = idAndBody(before)
		r.updates, r.counted = 0, false
	}
	r.mark(e)
	r.tagged = true
	r.trusted = len(e) > tagAt && string(e[:tagAt]) == string(tagStart) && r.tag.parse(e[tagAt:])
}

// readCounter reads the counter of a run, and keeps that of this one.
func (r *reading) readCounter(e []byte, count string) {
	r.mark(e)
	if isKey(e, count) {
		r.updates, r.counted = whole(e)
	}
}

// readSlot keeps a counter of a slot.
func (r *reading) readSlot(e bsoncore.Element) {
	if len(e) > 2 && e[2] == 0 && e[1] >= 'a' && e[1] < 'a'+slotCounters {
		r.slot[e[1]-'a'] = e
		return
	}
	r.strange = true
}
