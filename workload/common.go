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

// commonOf returns the settings of the common parameters of T.
func commonOf[T any](at func(*T) *common) []setting[T] {
	return []setting[T]{
		{"recordcount", defaultRecords, "documents in the data set", setLong(func(t *T) *int64 { return &at(t).records })},
	}
}

// from takes over what the specification says for all workloads.
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

// objectLoader is the load phase of collections whose _id is an ObjectId.
type objectLoader struct {
	class  int
	ids    idSource
	append func(dst []byte, id objectID) []byte
	docs   docBuffer
	filter []byte
	insert [1]Request
	find   [1]Request
}

func newObjectLoader(collection string, class int, ids idSource,
	appendDoc func([]byte, objectID) []byte) *objectLoader {
	l := &objectLoader{class: class, ids: ids, append: appendDoc}
	l.insert[0] = Request{Verb: Insert, Class: NoClass, Collection: collection}
	l.find[0] = Request{Verb: Find, Class: NoClass, Collection: collection, Projection: keys("_id"), Limit: 1}
	return l
}

// Load implements [Loader].
func (l *objectLoader) Load(seq int64, n int, op *Op) {
	l.docs.reset()
	for i := range int64(n) {
		l.docs.buf = l.append(l.docs.buf, l.ids.loaded(seq+i))
		l.docs.mark()
	}
	l.insert[0].Docs = l.docs.all()
	l.insert[0].Unordered = n > 1
	op.Class, op.Seq, op.Requests = l.class, seq, l.insert[:]
}

// Probe implements [Loader].
func (l *objectLoader) Probe(seq int64, op *Op) {
	dst, at := rawbson.Open(l.filter[:0])
	dst = bsoncore.AppendObjectIDElement(dst, "_id", l.ids.loaded(seq))
	l.filter = rawbson.Close(dst, at)
	l.find[0].Filter = l.filter
	op.Class, op.Seq, op.Requests = l.class, -1, l.find[:]
}
