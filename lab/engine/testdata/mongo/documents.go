package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// onDocuments are the commands on documents; those that write are true.
var onDocuments = map[string]bool{"insert": true, "update": true, "delete": true, "drop": true, "dropDatabase": true, "createIndexes": true,
	"find": false, "getMore": false, "aggregate": false, "count": false}

// collectionUUID names a collection in the directory of rollback files.
func collectionUUID(ns string) string {
	h := sha256.Sum256([]byte(ns))
	return fmt.Sprintf("%x-%x-4%x-a%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])[:36]
}

// notPrimary refuses a write. Since 4.4 servers label what drivers may retry (manual: "Retryable Writes").
func notPrimary() bson.D {
	return append(failed(10107, "NotWritablePrimary", "not primary"), bson.E{Key: "errorLabels", Value: bson.A{"RetryableWriteError"}})
}

// writable says whether the server takes writes.
func (r *replica) writable() bool { return r.state == stPrimary && !r.stepping }

// write does a command that changes documents, and waits for its write concern.
func (r *replica) write(db, name string, command bson.D) bson.D {
	c, refusal := r.concern(command)
	if refusal != nil {
		return refusal
	}
	if name == "insert" && r.s.is("slow-inserts") {
		time.Sleep(5 * time.Millisecond)
	}
	r.mu.Lock()
	if !r.writable() {
		r.mu.Unlock()
		return notPrimary()
	}
	r.counted[name]++
	of, _ := command[0].Value.(string)
	w := &writing{r: r, ns: db + "." + of, txn: int64(number(command, "txnNumber"))}
	if w.txn > 0 {
		id, err := bson.Marshal(sub(command, "lsid"))
		check(err)
		w.session = id
	}
	var reply bson.D
	switch name {
	case "insert":
		reply = w.insert(command)
	case "update":
		reply = w.update(command)
	case "delete":
		reply = w.remove(command)
	case "drop":
		if reply = w.drop(w.ns); reply == nil {
			reply = failed(26, "NamespaceNotFound", "ns not found")
		}
	case "dropDatabase":
		for ns := range r.docs {
			if strings.HasPrefix(ns, db+".") {
				w.drop(ns)
			}
		}
	}
	if reply == nil {
		reply = good()
	}
	at, term := r.last(), r.term
	r.mu.Unlock()
	return r.confirm(c, at, term, w.txn > 0, reply)
}

// writing is one command that writes.
type writing struct {
	r       *replica
	ns      string
	session []byte
	txn     int64
	errs    bson.A
}

// before is the entry of a statement that was done already, for who tries it again.
func (w *writing) before(stmt int) *entry {
	if s := w.r.sessions[string(w.session)]; w.session != nil && s != nil && s.txn == w.txn {
		return s.done[int32(stmt)]
	}
	return nil
}

// keep writes a document; nil removes it.
func (w *writing) keep(op string, stmt int, key string, after bson.Raw, e entry) {
	e.Op, e.NS, e.Key, e.After, e.Session, e.Txn, e.Stmt = op, w.ns, []byte(key), after, w.session, w.txn, int32(stmt)
	w.r.append(&e)
}

func (w *writing) fail(index, code int, message string) {
	w.errs = append(w.errs, bson.D{{Key: "index", Value: int32(index)}, {Key: "code", Value: int32(code)},
		{Key: "errmsg", Value: message}})
}

// done is the answer to the three commands that write documents.
func (w *writing) done(n int32, more ...bson.E) bson.D {
	d := append(bson.D{{Key: "n", Value: n}}, more...)
	if len(w.errs) > 0 {
		d = append(d, bson.E{Key: "writeErrors", Value: w.errs})
	}
	return good(d...)
}

func keyOf(doc bson.Raw) string {
	id := doc.Lookup("_id")
	return string(rune(id.Type)) + string(id.Value)
}

func raw(v any) bson.Raw {
	if already, ok := v.(bson.Raw); ok {
		return already
	}
	if d, ok := v.(bson.D); ok && d == nil {
		v = bson.D{}
	}
	b, err := bson.Marshal(v)
	check(err)
	return b
}

// statements are the documents or statements of a command, and whether the first that fails is the last.
func statements(command bson.D, name string) (list bson.A, ordered bool) {
	list, _ = get(command, name).(bson.A)
	return list, get(command, "ordered") != false
}

func (w *writing) insert(command bson.D) bson.D {
	docs, ordered := statements(command, "documents")
	n := int32(0)
	for i, v := range docs {
		doc := raw(v)
		if doc.Lookup("_id").Type == 0 {
			var d bson.D
			check(bson.Unmarshal(doc, &d))
			doc = raw(append(bson.D{{Key: "_id", Value: bson.NewObjectID()}}, d...))
		}
		key := keyOf(doc)
		switch {
		case w.before(i) != nil:
			n++
		case w.r.docs[w.ns][key] != nil:
			w.fail(i, 11000, "E11000 duplicate key error collection: "+w.ns+" index: _id_ dup key: { _id: "+doc.Lookup("_id").String()+" }")
			if ordered {
				return w.done(n)
			}
		default:
			w.keep("i", i, key, doc, entry{N: 1})
			n++
		}
	}
	return w.done(n)
}

func (w *writing) update(command bson.D) bson.D {
	list, ordered := statements(command, "updates")
	n, modified := int32(0), int32(0)
	upserted := bson.A{}
	for i, v := range list {
		st := asD(v)
		did := w.before(i)
		if did == nil {
			var err error
			if did, err = w.updateOne(i, st); err != nil {
				w.fail(i, 9, err.Error())
				if ordered {
					break
				}
				continue
			}
		}
		n, modified = n+did.N, modified+did.Modified
		if did.Upserted {
			upserted = append(upserted, bson.D{{Key: "index", Value: int32(i)}, {Key: "_id", Value: did.After.Lookup("_id")}})
		}
	}
	more := []bson.E{{Key: "nModified", Value: modified}}
	if len(upserted) > 0 {
		more = append(more, bson.E{Key: "upserted", Value: upserted})
	}
	return w.done(n, more...)
}

// updateOne does one statement and returns what it comes to.
func (w *writing) updateOne(i int, st bson.D) (*entry, error) {
	filter := raw(sub(st, "q"))
	total := &entry{}
	keys, err := w.r.matching(w.r.docs[w.ns], filter)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		after, err := changed(w.r.docs[w.ns][key], get(st, "u"))
		if err != nil {
			return nil, err
		}
		w.keep("u", i, key, after, entry{N: 1, Modified: 1})
		total.N, total.Modified = total.N+1, total.Modified+1
		if get(st, "multi") != true {
			break
		}
	}
	if total.N > 0 || get(st, "upsert") != true {
		return total, nil
	}
	var base bson.D
	check(bson.Unmarshal(filter, &base))
	after, err := changed(raw(base), get(st, "u"))
	if err != nil {
		return nil, err
	}
	if after.Lookup("_id").Type == 0 {
		return nil, errors.New("the stand-in makes no _id for an upsert")
	}
	w.keep("i", i, keyOf(after), after, entry{N: 1, Upserted: true})
	return w.r.log[len(w.r.log)-1], nil
}

func (w *writing) remove(command bson.D) bson.D {
	list, ordered := statements(command, "deletes")
	n := int32(0)
	for i, v := range list {
		if did := w.before(i); did != nil {
			n += did.N
			continue
		}
		st := asD(v)
		keys, err := w.r.matching(w.r.docs[w.ns], raw(sub(st, "q")))
		if err != nil {
			w.fail(i, 9, err.Error())
			if ordered {
				break
			}
		}
		for _, key := range keys {
			w.keep("d", i, key, nil, entry{N: 1})
			n++
			if number(st, "limit") == 1 {
				break
			}
		}
	}
	return w.done(n)
}

// drop removes all documents of a collection; nil if there is none.
func (w *writing) drop(ns string) bson.D {
	docs := w.r.docs[ns]
	if docs == nil {
		return nil
	}
	w.ns = ns
	for key := range docs {
		w.keep("d", 0, key, nil, entry{})
	}
	delete(w.r.docs, ns)
	return good(bson.E{Key: "ns", Value: ns})
}

// asD is a statement as a document, whether it came in an array or in a sequence of the message.
func asD(v any) bson.D {
	d, ok := v.(bson.D)
	if b, isRaw := v.(bson.Raw); !ok && isRaw {
		check(bson.Unmarshal(b, &d))
	}
	return d
}

// cursor is what is left of an answer that did not fit into one batch.
type cursor struct {
	ns   string
	rest []bson.Raw
}

// read does a command that only reads.
func (r *replica) read(db, name string, command bson.D) bson.D {
	r.mu.Lock()
	defer r.mu.Unlock()
	mode := text(sub(command, "$readPreference"), "mode")
	switch {
	case r.state == stSecondary && (mode == "" || mode == "primary") && name != "getMore":
		return failed(13435, "NotPrimaryNoSecondaryOk", "not primary and secondaryOk=false")
	case r.state != stPrimary && r.state != stSecondary:
		return failed(13436, "NotPrimaryOrSecondary", "node is not in primary or recovering state: "+stateWords[r.state])
	}
	r.counted[name]++
	of, _ := command[0].Value.(string)
	if name == "getMore" {
		return r.more(command)
	}
	if name == "find" && db == "local" && of == "oplog.rs" {
		return r.readLog(command)
	}
	docs := r.docs[db+"."+of]
	if text(sub(command, "readConcern"), "level") == "majority" && !r.alone() {
		docs = r.committed(db + "." + of)
	}
	if name == "aggregate" {
		return r.countAll(db+"."+of, docs, command)
	}
	filter := raw(sub(command, "filter"))
	if name == "count" {
		filter = raw(sub(command, "query"))
	}
	keys, err := r.matching(docs, filter)
	if err != nil {
		return failed(2, "BadValue", err.Error())
	}
	if name == "count" {
		return good(bson.E{Key: "n", Value: int32(len(keys))})
	}
	if n := int(number(command, "limit")); n > 0 {
		keys = keys[:min(n, len(keys))]
	}
	found := make([]bson.Raw, len(keys))
	for i, key := range keys {
		found[i] = docs[key]
	}
	size := 101 // manual: "find", batchSize
	if get(command, "batchSize") != nil {
		size = int(number(command, "batchSize"))
	}
	return r.batch("firstBatch", db+"."+of, found, size, get(command, "singleBatch") == true)
}

// committed is a collection as a majority of the members has it (manual: "Read Concern majority").
func (r *replica) committed(ns string) map[string]bson.Raw {
	docs := map[string]bson.Raw{}
	for key, doc := range r.docs[ns] {
		docs[key] = doc
	}
	for n := len(r.log); n > 0 && r.log[n-1].at().compare(r.commit) > 0; n-- {
		if e := r.log[n-1]; e.NS == ns && e.before != nil {
			docs[string(e.Key)] = e.before
		} else if e.NS == ns {
			delete(docs, string(e.Key))
		}
	}
	return docs
}

// mostOfBatch is how many bytes of documents an answer has at most (manual: "MongoDB Limits", 16 MiB and what is
// around).
const mostOfBatch = 16<<20 - 1<<12

// batch answers with the first documents, and keeps the rest for getMore.
func (r *replica) batch(name, ns string, found []bson.Raw, size int, single bool) bson.D {
	batch, bytes := bson.A{}, 0
	for len(found) > 0 && (size < 0 || len(batch) < size) && bytes+len(found[0]) < mostOfBatch {
		bytes += len(found[0])
		batch, found = append(batch, found[0]), found[1:]
	}
	id := int64(0)
	if len(found) > 0 && !single {
		id = time.Now().UnixNano()
		for r.cursors[id] != nil {
			id++
		}
		r.cursors[id] = &cursor{ns, found}
	}
	return good(bson.E{Key: "cursor", Value: bson.D{{Key: "id", Value: id}, {Key: "ns", Value: ns}, {Key: name, Value: batch}}})
}

func (r *replica) more(command bson.D) bson.D {
	id, _ := command[0].Value.(int64)
	c := r.cursors[id]
	if c == nil {
		return failed(43, "CursorNotFound", fmt.Sprintf("cursor id %d not found", id))
	}
	delete(r.cursors, id)
	size := -1
	if n := int(number(command, "batchSize")); n > 0 {
		size = n
	}
	reply := r.batch("nextBatch", c.ns, c.rest, size, false)
	cur := sub(reply, "cursor")
	if now := get(cur, "id").(int64); now != 0 { // a cursor keeps its name
		r.cursors[id] = r.cursors[now]
		delete(r.cursors, now)
		cur[0].Value = id
	}
	return reply
}

// countAll is the one aggregation that is known: {$match: {}} and {$group: {_id: 1, n: {$sum: 1}}}.
func (r *replica) countAll(ns string, docs map[string]bson.Raw, command bson.D) bson.D {
	pipeline, _ := get(command, "pipeline").(bson.A)
	if len(pipeline) != 2 || len(asD(pipeline[0])) != 1 || len(sub(asD(pipeline[0]), "$match")) > 0 ||
		get(sub(asD(pipeline[1]), "$group"), "n") == nil {
		return failed(2, "BadValue", "of aggregations the stand-in knows the count of all documents alone")
	}
	batch := bson.A{}
	if len(docs) > 0 {
		batch = bson.A{bson.D{{Key: "_id", Value: int32(1)}, {Key: "n", Value: int32(len(docs))}}}
	}
	return cursorOf(ns, batch)
}
