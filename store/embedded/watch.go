package embedded

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

const (
	// watchAtMost is how long a read of a change stream waits for a change.
	watchAtMost = time.Second
	// feedBytes is the most that a change stream keeps for a session that does not read it.
	feedBytes = 64 << 20
)

// event is one change of a document, as a change stream has it.
type event struct {
	collection string
	doc        []byte
}

// feeds are the open change streams of a store.
type feeds struct {
	open atomic.Int32 // spares writers the work if nobody watches
	mu   sync.Mutex
	all  []*feed
	last uint64 // number of the last event
}

// feed is one change stream of one session.
type feed struct {
	collection string
	pipeline   []byte
	filter     filter

	// Guarded by feeds.mu.
	pending [][]byte
	held    int
	lost    bool // more than feedBytes were pending

	wake chan struct{}
}

// compileWatch reads the pipeline of a change stream: $match, once or not at all.
func (s *session) compileWatch(stages []byte) error {
	if err := s.filter.compile(nil); err != nil || isEmpty(stages) {
		return err
	}
	it := walk(stages)
	_, stage, ok := it.next()
	inner := walk(stage.data)
	name, arg, one := inner.next()
	switch {
	case !ok || stage.t != rawbson.Document || !one || len(inner.rest) > 0:
		return badValue(40323, "Location40323", "a pipeline stage must be a document with one field")
	case string(name) != "$match" || len(it.rest) > 0:
		return unsupported("a change stream with more than one $match (" + string(name) + ")")
	case arg.t != rawbson.Document:
		return badValue(15959, "Location15959", "$match needs a document")
	}
	return s.filter.compile(arg.data)
}

// watch reads the next changes of a collection. The first request opens the stream and returns none.
func (s *session) watch(deadline time.Time, req *workload.Request, res *store.Result) error {
	at := slices.IndexFunc(s.watches, func(f *feed) bool {
		return f.collection == req.Collection && bytes.Equal(f.pipeline, req.Pipeline)
	})
	if at < 0 {
		f := &feed{collection: req.Collection, pipeline: bytes.Clone(req.Pipeline), wake: make(chan struct{}, 1)}
		if err := s.compileWatch(f.pipeline); err != nil {
			return err
		}
		f.filter.preds = slices.Clone(s.filter.preds)
		s.watches = append(s.watches, f)
		s.st.feeds.join(f)
		notFound(req, res)
		return nil
	}
	f := s.watches[at]
	docs, lost := s.st.feeds.take(f)
	if len(docs) == 0 && !lost {
		s.waitForChange(f, deadline)
		docs, lost = s.st.feeds.take(f)
	}
	if lost {
		s.st.feeds.leave(s.watches[at : at+1])
		s.watches = slices.Delete(s.watches, at, at+1)
		return &opError{outcome: store.Failed, reason: store.Server, code: 286, name: "ChangeStreamHistoryLost",
			msg: fmt.Sprintf("more than %d MiB of changes were not read, so the change stream dropped them", feedBytes>>20)}
	}
	s.proj.some = false
	for _, doc := range docs {
		s.emit(doc, res)
	}
	notFound(req, res)
	return nil
}

// waitForChange waits until there is a change, at most a second or half of the time until the deadline.
func (s *session) waitForChange(f *feed, deadline time.Time) {
	wait := watchAtMost
	if !deadline.IsZero() {
		wait = min(wait, time.Until(deadline)/2)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-f.wake:
	case <-timer.C:
	case <-s.st.stop:
	}
}

func (fs *feeds) join(f *feed) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.all = append(fs.all, f)
	fs.open.Add(1)
}

func (fs *feeds) leave(list []*feed) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range list {
		if at := slices.Index(fs.all, f); at >= 0 {
			fs.all = slices.Delete(fs.all, at, at+1)
			fs.open.Add(-1)
		}
	}
}

// take returns what is pending, and whether something was dropped.
func (fs *feeds) take(f *feed) (docs [][]byte, lost bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	docs, lost = f.pending, f.lost
	f.pending, f.held = nil, 0
	return docs, lost
}

// publish gives events to the streams of their collections. The caller has the locks of their documents, so that the
// changes of one document are in order.
func (fs *feeds) publish(events []event) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for i := range events {
		e := &events[i]
		fs.last++
		doc := withID(e.doc, resumeToken(fs.last))
		for _, f := range fs.all {
			if f.collection != e.collection || f.lost || !f.filter.match(doc) {
				continue
			}
			if f.held += len(doc); f.held > feedBytes {
				f.lost, f.pending = true, nil
			} else {
				f.pending = append(f.pending, doc)
			}
			select {
			case f.wake <- struct{}{}:
			default:
			}
		}
	}
}

// resumeToken is the _id of an event.
func resumeToken(n uint64) value {
	doc, start := rawbson.Open(nil)
	doc = appendElem(doc, []byte("_data"), stringValue(fmt.Sprintf("%016x", n)))
	return value{t: rawbson.Document, data: rawbson.Close(doc, start)}
}

// noteChange keeps the event of a change if somebody watches. old is nil for a new document, doc for a removed one.
func (s *session) noteChange(c *collection, old, doc []byte) {
	if s.st == nil || s.st.feeds.open.Load() == 0 {
		return
	}
	operation, has := "update", doc
	switch {
	case old == nil:
		operation = "insert"
	case doc == nil:
		operation, has = "delete", old
	case s.update.replace != nil:
		operation = "replace"
	}
	id, _ := lookup(has, idField)
	e, start := rawbson.Open(nil)
	e = appendElem(e, []byte("operationType"), stringValue(operation))
	if operation == "insert" || operation == "replace" {
		e = appendElem(e, []byte("fullDocument"), value{t: rawbson.Document, data: doc})
	}
	e, ns := rawbson.Open(appendName(e, rawbson.Document, []byte("ns")))
	e = appendElem(e, []byte("db"), stringValue("embedded"))
	e = rawbson.Close(appendElem(e, []byte("coll"), stringValue(c.name)), ns)
	e, key := rawbson.Open(appendName(e, rawbson.Document, []byte("documentKey")))
	e = rawbson.Close(appendElem(e, idField, id), key)
	if operation == "update" {
		e = appendDifference(e, old, doc)
	}
	s.events = append(s.events, event{collection: c.name, doc: rawbson.Close(e, start)})
}

// appendDifference appends what an update changed, by the fields of the document itself.
func appendDifference(dst, old, doc []byte) []byte {
	dst, start := rawbson.Open(appendName(dst, rawbson.Document, []byte("updateDescription")))
	dst, fields := rawbson.Open(appendName(dst, rawbson.Document, []byte("updatedFields")))
	it := walk(doc)
	for {
		key, v, ok := it.next()
		if !ok {
			break
		}
		if was, ok := lookup(old, key); !ok || was.t != v.t || !bytes.Equal(was.data, v.data) {
			dst = appendElem(dst, key, v)
		}
	}
	dst = rawbson.Close(dst, fields)
	dst, removed := rawbson.Open(appendName(dst, rawbson.Array, []byte("removedFields")))
	return rawbson.Close(rawbson.Close(dst, removed), start) // no operator removes a field
}
