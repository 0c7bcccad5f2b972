package embedded

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// The limits of one insert are those of a MongoDB server (maxWriteBatchSize, maxMessageSizeBytes).
const (
	maxBatchDocs  = 100_000
	maxBatchBytes = 48_000_000
)

// insert stores the documents in one batch of the engine, which is one record in the log.
func (s *session) insert(req *workload.Request, res *store.Result) error {
	if err := checkInsert(req); err != nil {
		return err
	}
	s.st.gate.RLock()
	b, err := s.insertLocked(req, res)
	s.st.gate.RUnlock()
	if b == nil {
		return err
	}
	if wait := s.await(b); wait != nil {
		return wait
	}
	return err
}

func checkInsert(req *workload.Request) error {
	if len(req.Docs) == 0 || len(req.Docs) > maxBatchDocs {
		return badValue(21, "InvalidLength", "an insert takes 1 to %d documents, not %d", maxBatchDocs, len(req.Docs))
	}
	total := 0
	for _, d := range req.Docs {
		total += len(d)
	}
	if total > maxBatchBytes && len(req.Docs) > 1 {
		return badValue(10334, "BSONObjectTooLarge", "the documents of one insert have %d bytes, the limit is %d",
			total, maxBatchBytes)
	}
	return nil
}

// insertLocked inserts. The caller holds the gate.
func (s *session) insertLocked(req *workload.Request, res *store.Result) (*pebble.Batch, error) {
	c, err := s.st.create(req.Collection)
	if err != nil {
		return nil, err
	}
	if len(req.Docs) == 1 {
		return s.insertOne(c, req.Docs[0], res)
	}
	return s.insertMany(c, req, res)
}

// identify checks a new document and returns it with an _id. It appends the key of the document to key.
func (s *session) identify(c *collection, doc, key []byte) (identified, docsKey []byte, err error) {
	if err := validate(doc, 1); err != nil {
		return nil, key, badValue(22, "InvalidBSON", "%s", err)
	}
	id, ok := lookup(doc, idField)
	if !ok {
		id = value{t: rawbson.ObjectID, data: newObjectID()}
		doc = withID(doc, id)
	}
	if err := checkID(id); err != nil {
		return nil, key, err
	}
	return doc, docKey(key, c.id, id), nil
}

func checkID(id value) error {
	switch id.class() {
	case cArray:
		return badValue(2, "BadValue", "the _id of a document cannot be an array")
	case cOther:
		return unsupported(fmt.Sprintf("an _id of BSON type 0x%02X", id.t))
	}
	return nil
}

// withID returns doc with an _id as its first field.
func withID(doc []byte, id value) []byte {
	out, start := rawbson.Open(make([]byte, 0, len(doc)+20))
	out = appendElem(out, idField, id)
	out = append(out, doc[4:len(doc)-1]...)
	return rawbson.Close(out, start)
}

// newObjectID makes an ObjectId of the seconds since 1970 and random bytes.
func newObjectID() []byte {
	id := binary.BigEndian.AppendUint32(nil, uint32(time.Now().Unix()))
	id = append(id, make([]byte, 8)...)
	_, _ = rand.Read(id[4:]) // never fails (crypto/rand)
	return id
}

func (s *session) insertOne(c *collection, doc []byte, res *store.Result) (*pebble.Batch, error) {
	doc, key, err := s.identify(c, doc, s.key[:0])
	s.key = key
	if err != nil {
		return nil, err
	}
	lock := &s.st.stripes[s.st.stripe(key)]
	lock.Lock()
	defer lock.Unlock()
	found, err := s.exists(key)
	if err != nil {
		return nil, err
	}
	if found {
		return nil, duplicate(c, "_id_")
	}
	b := s.st.db.NewBatch()
	defer s.unlockValues()
	if err := s.putUnique(b, c, key, nil, doc); err != nil {
		return b, notApplied(b, err)
	}
	res.Docs, res.Bytes = 1, len(doc)
	return b, s.apply(b)
}

func notApplied(b *pebble.Batch, err error) error {
	b.Reset()
	return err
}

// duplicate is the error of values that another document has in a unique index, as a server words it.
func duplicate(c *collection, index string) error {
	return &opError{
		outcome: store.Conflict, reason: store.Server, code: 11000, name: "DuplicateKey",
		msg: "E11000 duplicate key error collection: " + c.name + " index: " + index,
	}
}

// insertMany stores the documents before the first failure, or, unordered, all but the failed ones.
func (s *session) insertMany(c *collection, req *workload.Request, res *store.Result) (*pebble.Batch, error) {
	docs := make([][]byte, len(req.Docs))
	keys := make([][]byte, len(req.Docs))
	var first error // of an invalid document
	s.stripes = s.stripes[:0]
	for i, d := range req.Docs {
		doc, key, err := s.identify(c, d, nil)
		if err != nil {
			first = keep(first, err)
			continue
		}
		docs[i], keys[i] = doc, key
		s.stripes = append(s.stripes, s.st.stripe(key))
	}
	s.stripes = lockInOrder(&s.st.stripes, s.stripes)
	defer unlock(&s.st.stripes, s.stripes)
	s.lockValues(c, docs, keys)
	defer s.unlockValues()
	b := s.st.db.NewBatch()
	failed, err := s.fill(b, c, req.Unordered, docs, keys, res)
	if err != nil {
		return b, notApplied(b, err)
	}
	if failed = keep(failed, first); failed != nil {
		failed = partial(failed, res)
	}
	if err := s.apply(b); err != nil {
		return b, err
	}
	return b, failed
}

func keep(first, err error) error {
	if first != nil {
		return first
	}
	return err
}

// fill adds the documents to the batch. failed is why the first missing one is not in it; err is a failure of the
// storage.
func (s *session) fill(b *pebble.Batch, c *collection, unordered bool, docs, keys [][]byte, res *store.Result) (
	failed, err error) {
	seen := make(map[string]struct{}, len(docs))
	for i, doc := range docs {
		why, err := s.fillOne(b, c, doc, keys[i], seen)
		if err != nil {
			return nil, err
		}
		if why == nil && doc != nil {
			res.Docs++
			res.Bytes += len(doc)
			continue
		}
		failed = keep(failed, why)
		if !unordered {
			return failed, nil
		}
	}
	return failed, nil
}

// fillOne adds one document. why says that its _id or a unique value exists, or that it cannot be indexed; err is a
// failure of the storage.
func (s *session) fillOne(b *pebble.Batch, c *collection, doc, key []byte, seen map[string]struct{}) (why, err error) {
	if doc == nil { // an invalid document
		return nil, nil
	}
	_, again := seen[string(key)]
	if !again {
		if again, err = s.exists(key); err != nil {
			return nil, err
		}
	}
	if again {
		return duplicate(c, "_id_"), nil
	}
	for _, ix := range c.indexes { // first, so that a document that cannot be indexed adds nothing to the batch
		if _, err := s.new.extract(ix, c.id, doc, key[docPrefixLen:]); err != nil {
			return err, nil
		}
	}
	if len(doc) > maxDocument {
		return s.put(b, c, key, nil, doc), nil
	}
	if err := s.unique(c, key, nil, doc, seen); err != nil {
		if _, refused := err.(*opError); refused {
			return err, nil
		}
		return nil, err
	}
	seen[string(key)] = struct{}{}
	return nil, s.put(b, c, key, nil, doc)
}

// partial is the error of a batch that was stored in part.
func partial(err error, res *store.Result) error {
	op, ok := err.(*opError)
	if !ok || res.Docs == 0 {
		return err
	}
	part := *op
	part.outcome = store.Partial
	return &part
}
