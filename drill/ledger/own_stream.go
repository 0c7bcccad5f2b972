package ledger

import (
	"encoding/binary"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/drill/reads"
	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// ownStream is one writer of the own workload.
type ownStream struct {
	w      *ownWorkload
	run    uint32
	writer *writer
	rand   uint64

	insertBelow, updateBelow, slotBelow uint64

	session *reads.Session
	event   reads.Event // of the read of a slot under way
	peers   []*writer   // other writers whose slots are read
	looked  int         // reads of slots until peers are refreshed

	sequence  int64 // of the current operation
	under     bool  // an operation is under way
	plain     []byte
	doc       []byte
	filter    []byte
	change    []byte
	docs      [1][]byte
	statement [1]workload.Statement
	insert    [1]workload.Request
	update    [1]workload.Request
	find      [1]workload.Request
}

// random returns the next random number.
func (s *ownStream) random() uint64 {
	s.rand += 0x9e3779b97f4a7c15
	return mix(s.rand)
}

func (s *ownStream) Next(op *workload.Op) {
	op.Seq, s.under = -1, true
	r := s.random() >> 32
	s.event.Read = false
	switch {
	case r >= s.updateBelow && s.random()>>32 < s.slotBelow && s.chooseSlot():
		s.filter = appendFilter(s.filter[:0], ownID(s.run, s.event.Writer, updates, s.event.Register))
		s.find[0].Filter, s.find[0].MayBeEmpty = s.filter, true
		op.Class, op.Requests = ownRead, s.find[:]
	case r >= s.updateBelow && s.chooseAcknowledged():
		s.filter = appendFilter(s.filter[:0], ownID(s.run, s.writer.number, inserts, s.sequence))
		s.find[0].Filter, s.find[0].MayBeEmpty = s.filter, false
		op.Class, op.Requests = ownRead, s.find[:]
	case r >= s.insertBelow && r < s.updateBelow:
		s.fillUpdate()
		op.Class, op.Requests = ownUpdate, s.update[:]
	default: // also in place of a read as long as there is nothing to read
		s.fillInsert()
		op.Class, op.Seq, op.Requests = ownInsert, s.sequence, s.insert[:]
	}
}

// recentReads bounds how far back every other read goes, because recent writes are lost most easily.
const recentReads = 64

// chooseAcknowledged makes an acknowledged insert the current one, if it finds one.
func (s *ownStream) chooseAcknowledged() bool {
	l := &s.writer.inserts
	for range 8 {
		if l.next == 0 {
			return false
		}
		r, span := s.random(), l.next
		if r&1 == 0 {
			span = min(span, recentReads)
		}
		s.sequence = l.next - 1 - int64(r>>1%uint64(span))
		if l.state(s.sequence) == acknowledged {
			return true
		}
	}
	return false
}

func (s *ownStream) fillInsert() {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	s.sequence = s.writer.inserts.begin(1)
	s.plain = s.w.appendOwn(s.plain[:0], s.run, s.writer.number, s.sequence)
	s.doc, _ = appendTagged(s.doc[:0], s.plain, s.run, s.writer.number, s.sequence)
	s.docs[0] = s.doc
	if s.w.l.placer != nil {
		s.writer.inserts.place(s.sequence, s.w.l.shardOf(s.w.p.Collection, idOf(s.plain)))
	}
}

// fillUpdate makes {$inc: {counter: weight}} of a slot.
func (s *ownStream) fillUpdate() {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	s.sequence = s.writer.updates.begin(1)
	slot, counter := slotOf(s.sequence)
	s.filter = appendFilter(s.filter[:0], ownID(s.run, s.writer.number, updates, slot))
	if s.w.l.placer != nil {
		s.writer.updates.place(s.sequence, s.w.l.shardOf(s.w.p.Collection, idOf(s.filter)))
	}
	s.change = append(s.change[:0], 0, 0, 0, 0, byte(bsoncore.TypeEmbeddedDocument), '$', 'i', 'n', 'c', 0)
	at := len(s.change)
	s.change = append(s.change, 0, 0, 0, 0, byte(bsoncore.TypeInt32), 'a'+byte(counter), 0)
	s.change = binary.LittleEndian.AppendUint32(s.change, uint32(weightOf(s.run, s.writer.number, s.sequence)))
	s.change = rawbson.Close(rawbson.Close(s.change, at), 0)
	s.statement[0] = workload.Statement{Filter: s.filter, Update: s.change, Upsert: true}
}

// appendFilter appends {_id: id}.
func appendFilter(dst []byte, id [12]byte) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	return rawbson.Close(bsoncore.AppendObjectIDElement(dst, "_id", id), start)
}

// settle is the function of [Ledger.Settle].
func (s *ownStream) settle(op *workload.Op, st *load.Settlement) (confirmed bool) {
	if !s.under {
		return false
	}
	s.under = false
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	switch op.Class {
	case ownInsert:
		now := stateOf(st, 0, 1)
		s.writer.inserts.resolve(s.sequence, now, st.Sent, st.Ended)
		return confirms(now, st)
	case ownUpdate:
		return s.settleUpdate(st)
	case ownRead:
		if s.event.Read {
			s.settleSlot(st)
			return false
		}
		switch st.Outcome {
		case store.NotFound:
			s.writer.miss(inserts, s.sequence, st.Sent)
		case store.Corrupt:
			s.writer.wrong++
		}
	}
	return false
}

// Verify checks that the document is the requested insert, undamaged.
func (s *ownStream) Verify(op *workload.Op, _ int, doc []byte) (ok, checked bool) {
	if op.Class != ownRead {
		return true, false
	}
	if s.event.Read {
		return s.verifySlot(doc), doc != nil
	}
	if doc == nil {
		return true, true
	}
	var r reading
	return r.read(doc, "", false) && r.trusted && r.tag.run == s.run && r.tag.writer == s.writer.number &&
		r.tag.sequence == s.sequence && r.body == r.tag.body && r.tag.id == bound(r.tag.self, r.id), true
}
