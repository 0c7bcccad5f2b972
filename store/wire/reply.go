package wire

import (
	"encoding/binary"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/store"
)

// reply has the fields of a reply as slices into it. Missing fields are unset.
type reply struct {
	ok       bool
	hasOK    bool
	n        int64
	code     int32
	codeName []byte
	errmsg   []byte
	labels   []byte // body of the array errorLabels

	writeErrors  []byte // body of the array writeErrors
	concernError []byte // body of the document writeConcernError

	cursorID int64
	ns       []byte // the cursor's "DATABASE.COLLECTION"
	batch    []byte // body of the array firstBatch or nextBatch
	hasBatch bool

	clusterTime []byte // document $clusterTime
	operation   uint64 // timestamp operationTime
}

func (r *reply) parse(doc []byte) error {
	*r = reply{}
	body, rest, ok := rawbson.Split(doc)
	if !ok || len(rest) != 0 {
		return errBSON
	}
	for {
		e, next, more, err := nextElement(body)
		if err != nil {
			return err
		}
		if !more {
			return r.complete()
		}
		if err := r.take(e); err != nil {
			return err
		}
		body = next
	}
}

// take keeps one element of the reply if it is used.
func (r *reply) take(e element) error {
	switch string(e.key) {
	case "ok":
		v, ok := e.number()
		r.ok, r.hasOK = ok && v != 0, ok
	case "n":
		r.n, _ = e.number()
	case "cursor":
		return r.takeCursor(e)
	case "$clusterTime":
		if _, ok := e.body(); ok {
			r.clusterTime = e.value
		}
	case "operationTime":
		if e.kind == rawbson.Timestamp {
			r.operation = binary.LittleEndian.Uint64(e.value)
		}
	case "code":
		v, _ := e.number()
		r.code = int32(v)
	case "codeName":
		r.codeName, _ = e.text()
	case "errmsg":
		r.errmsg, _ = e.text()
	case "errorLabels":
		r.labels, _ = e.body()
	case "writeErrors":
		return takeBody(&r.writeErrors, e)
	case "writeConcernError":
		return takeBody(&r.concernError, e)
	}
	return nil
}

// takeBody keeps the body of an error document. An invalid one must not count as no error.
func takeBody(dst *[]byte, e element) error {
	body, ok := e.body()
	if !ok {
		return errBSON
	}
	*dst = body
	return nil
}

// complete checks the fields that every reply must have.
func (r *reply) complete() error {
	if !r.hasOK {
		return errNoOK
	}
	return nil
}

// takeCursor reads {firstBatch or nextBatch: […], id: …}.
func (r *reply) takeCursor(e element) error {
	body, ok := e.body()
	if !ok {
		return errBSON
	}
	for {
		e, next, more, err := nextElement(body)
		if err != nil || !more {
			return err
		}
		switch string(e.key) {
		case "id":
			r.cursorID, _ = e.number()
		case "ns":
			r.ns, _ = e.text()
		case "firstBatch", "nextBatch":
			if r.batch, r.hasBatch = e.body(); !r.hasBatch {
				return errBSON
			}
		}
		body = next
	}
}

// walkBatch counts the documents of a batch and their bytes and returns the first one.
func walkBatch(batch []byte) (first []byte, docs, size int, err error) {
	for {
		e, next, more, err := nextElement(batch)
		if err != nil || !more {
			return first, docs, size, err
		}
		if _, ok := e.body(); !ok || e.kind != rawbson.Document {
			return nil, 0, 0, errBSON
		}
		if docs == 0 {
			first = e.value
		}
		docs++
		size += len(e.value)
		batch = next
	}
}

// serverError makes the error of a refused command. It copies, because the buffer is reused.
func (r *reply) serverError() *store.ServerError {
	return &store.ServerError{
		Code: r.code, CodeName: string(r.codeName), Message: string(r.errmsg), Labels: stringsOf(r.labels),
	}
}

// concern makes the error of writeConcernError, nil if there was none.
func (r *reply) concern() *store.ServerError {
	if r.concernError == nil {
		return nil
	}
	e := errorDocument(r.concernError)
	e.Labels = stringsOf(r.labels)
	return &e
}

// maxKeptErrors bounds the entries of writeErrors that are read after the first indeterminate one, which decides the
// outcome. A batch has at most 100,000.
const maxKeptErrors = defaultMaxBatch

// statementErrors makes the errors of writeErrors, with the labels of the reply.
func (r *reply) statementErrors() []store.ServerError {
	var out []store.ServerError
	labels := stringsOf(r.labels)
	for body := r.writeErrors; len(out) < maxKeptErrors; {
		e, next, more, err := nextElement(body)
		if err != nil || !more {
			break
		}
		if doc, ok := e.body(); ok {
			one := errorDocument(doc)
			one.Labels = labels
			out = append(out, one)
		}
		body = next
	}
	return out
}

// errorDocument reads {index, code, codeName, errmsg}.
func errorDocument(body []byte) store.ServerError {
	var out store.ServerError
	for {
		e, next, more, err := nextElement(body)
		if err != nil || !more {
			return out
		}
		switch string(e.key) {
		case "index":
			v, _ := e.number()
			out.Index = int(v)
		case "code":
			v, _ := e.number()
			out.Code = int32(v)
		case "codeName":
			v, _ := e.text()
			out.CodeName = string(v)
		case "errmsg":
			v, _ := e.text()
			out.Message = string(v)
		}
		body = next
	}
}

// stringsOf copies the strings of an array.
func stringsOf(body []byte) []string {
	var out []string
	for len(body) > 0 {
		e, next, more, err := nextElement(body)
		if err != nil || !more {
			break
		}
		if s, ok := e.text(); ok {
			out = append(out, string(s))
		}
		body = next
	}
	return out
}

// clusterTimestamp reads the clusterTime of a $clusterTime document, for comparisons.
func clusterTimestamp(doc []byte) uint64 {
	body, _, ok := rawbson.Split(doc)
	if !ok {
		return 0
	}
	e, _, more, err := nextElement(body)
	if err != nil || !more || e.kind != rawbson.Timestamp {
		return 0
	}
	return binary.LittleEndian.Uint64(e.value)
}
