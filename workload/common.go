package workload

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// common are the parameters that person, location and catalog share.
type common struct {
	records         int64
	seed            uint64
	run             uint64
	client, clients int
}

func (c *common) settings() []setting {
	return []setting{{"recordcount", defaultRecords, "documents in the data set", &c.records}}
}

// from sets the values that a specification has for all workloads.
func (c *common) from(spec *Spec) error {
	c.seed, c.run, c.client, c.clients = spec.Seed, spec.Run, spec.Client, max(spec.Clients, 1)
	switch {
	case c.records < 0:
		return fmt.Errorf("recordcount is %d: it must not be negative", c.records)
	case c.client < 0 || c.client >= c.clients || c.clients > 1<<16:
		return fmt.Errorf("client %d of %d: clients are numbered from 0 to one below their number, at most 65536", c.client, c.clients)
	}
	return nil
}

func (c *common) ids() idSource { return idSource{run: c.run, client: uint16(c.client)} }

// docLoader is the load phase of person, location and catalog.
type docLoader struct {
	inserts, reads  int                              // classes
	document, newID func(dst []byte, n int64) []byte // append the document, or the element of the _id, of a record
	docs            rawbson.Documents
	filter          []byte
	insert          [1]Request
	find            [1]Request
}

func newDocLoader(collection string, inserts, reads int, document, newID func([]byte, int64) []byte) *docLoader {
	l := &docLoader{inserts: inserts, reads: reads, document: document, newID: newID}
	l.insert[0] = Request{Verb: Insert, Class: NoClass, Collection: collection}
	l.find[0] = Request{Verb: Find, Class: NoClass, Collection: collection, Projection: keys("_id"), Limit: 1}
	return l
}

// objectLoader is a [docLoader] of documents whose _id is an ObjectId.
func (s idSource) objectLoader(collection string, class int, document func([]byte, objectID) []byte) *docLoader {
	return newDocLoader(collection, class, class,
		func(dst []byte, n int64) []byte { return document(dst, s.loaded(n)) },
		func(dst []byte, n int64) []byte { return bsoncore.AppendObjectIDElement(dst, "_id", s.loaded(n)) })
}

func (l *docLoader) Load(seq int64, n int, op *Op) {
	l.docs.Reset()
	for i := range int64(n) {
		l.docs.Buf = l.document(l.docs.Buf, seq+i)
		l.docs.Mark()
	}
	l.insert[0].Docs = l.docs.All()
	l.insert[0].Unordered = n > 1
	op.Class, op.Seq, op.Requests = l.inserts, seq, l.insert[:]
}

func (l *docLoader) Probe(seq int64, op *Op) {
	dst, at := rawbson.Open(l.filter[:0])
	l.filter = rawbson.Close(l.newID(dst, seq), at)
	l.find[0].Filter = l.filter
	op.Class, op.Seq, op.Requests = l.reads, -1, l.find[:]
}
