package ledger

import (
	"bytes"
	"fmt"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// TagField is the field of an inserted document that names the write it comes from.
const TagField = tagName

// CounterField is the field in which a run counts its updates of a document.
func CounterField(run uint32) string { return counterName(run) }

// Remains are what a document has of the runs of ledgers that wrote into it.
type Remains struct {
	// Whole says that run Run made the document: its tag is proven and belongs to its _id, or it is a slot of the own
	// workload, whose counters have the weights of that run.
	Whole bool
	Run   uint32
	// Counters are the fields in which runs counted their updates, by run.
	Counters map[uint32]string
}

// RemainsIn returns what a document has of runs. own says that its collection is that of the own workload. What is not
// proven is left out: a copy of a document under another _id, a damaged tag, a slot with a field of somebody else.
func RemainsIn(doc bson.Raw, own bool) (found Remains) {
	var r reading
	if !r.read(doc, "", own) {
		return found
	}
	if r.trusted && r.tag.id == bound(r.tag.self, r.id) {
		found.Whole, found.Run = true, r.tag.run
	} else if own {
		found.Run, found.Whole = r.slotOf()
	}
	fields, _ := inside(doc)
	for len(fields) > 0 {
		var e bsoncore.Element
		e, fields, _ = bsoncore.ReadElement(fields) // reading has checked it
		if _, number := integerOf(e); !number || !isCounter(e) {
			continue
		}
		const from, end = 1 + len(tagName), 1 + len(tagName) + counterDigits
		run, err := strconv.ParseUint(string(e[from:end]), 16, 32)
		if err != nil {
			continue
		}
		if found.Counters == nil {
			found.Counters = map[uint32]string{}
		}
		found.Counters[uint32(run)] = string(e[1:end])
	}
	return found
}

// slotOf returns the run of a slot of the own workload, and whether the document is one.
func (r *reading) slotOf() (run uint32, is bool) {
	id := rawbson.Value(r.id0())
	if r.tagged || r.marked || r.strange || len(id) != 12 || bsoncore.Type(r.id[0]) != bsoncore.TypeObjectID {
		return 0, false
	}
	run, writer, k, slot := parseID(id)
	if k != updates {
		return 0, false
	}
	for i, e := range r.slot {
		if e == nil {
			continue
		}
		weight := weightOf(run, writer, updateOf(slot, i))
		v, number := integerOf(e)
		if !number || v <= 0 || v%weight != 0 || v/weight > mostTimes {
			return 0, false
		}
		is = true
	}
	return run, is
}

// IsLoaded says whether the load phase of the own workload made a document with a seed and the default parameters. All
// runs with this seed share such documents.
func IsLoaded(doc bson.Raw, seed uint64) bool {
	id, ok := doc.Lookup("_id").StringValueOK()
	var seq int64
	if !ok {
		return false
	}
	if _, err := fmt.Sscanf(id, "record-%d", &seq); err != nil || seq < 0 {
		return false
	}
	w, err := New(Options{Seed: seed}).Workload(Params{})
	if err != nil {
		return false
	}
	var op workload.Op
	w.Loader().Load(seq, 1, &op)
	return bytes.Equal(op.Requests[0].Docs[0], doc)
}
