package ledger

import (
	"hash/crc32"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// reading is the ledger's view of one document.
type reading struct {
	id      bsoncore.Element
	tagged  bool // there is a tag of an insert
	trusted bool // the tag's identity is proven
	tag     tag
	body    uint32 // checksum of all fields except _id, tag and counters
	marks   uint32 // checksum of the tag and of all counters
	marked  bool   // there is a tag or counter
	updates int64  // counter of updates of this run
	counted bool
	slot    [slotCounters]bsoncore.Element // counters of the own workload's slots
	strange bool                           // a slot has another field
}

// read parses a document without allocating. It returns false if that is not BSON. count is the name of the run's
// counter; slots allows slots of the own workload.
func (r *reading) read(doc []byte, count string, slots bool) bool {
	*r = reading{}
	all, ok := inside(doc)
	if !ok {
		return false
	}
	piece := all // neighbouring fields are summed as one piece
	for rest := all; len(rest) > 0; {
		at := rest
		var e bsoncore.Element
		if e, rest, ok = bsoncore.ReadElement(rest); !ok {
			return false
		}
		switch {
		case e[1] != '_': // avoids the comparisons below
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

// sum adds what comes before rest to the checksum of the body.
func (r *reading) sum(piece, rest []byte) {
	r.body = crc32.Update(r.body, ieee, piece[:len(piece)-len(rest)])
}

func (r *reading) mark(e []byte) {
	r.marks, r.marked = crc32.Update(r.marks, castagnoli, e), true
}

// readTag reads a tag. A field of that name that is not a tag is a damaged one.
func (r *reading) readTag(e, before []byte) {
	if r.marked { // what looks like a field of the ledger before the tag was in the inserted document
		_, r.body, _ = idAndBody(before)
		r.updates, r.counted = 0, false
	}
	r.mark(e)
	r.tagged = true
	r.trusted = len(e) > tagAt && string(e[:tagAt]) == string(tagStart) && r.tag.parse(e[tagAt:])
}

func (r *reading) readCounter(e []byte, count string) {
	r.mark(e)
	if isKey(e, count) {
		r.updates, r.counted = integerOf(e)
	}
}

func (r *reading) readSlot(e bsoncore.Element) {
	if len(e) > 2 && e[2] == 0 && e[1] >= 'a' && e[1] < 'a'+slotCounters {
		r.slot[e[1]-'a'] = e
		return
	}
	r.strange = true
}
