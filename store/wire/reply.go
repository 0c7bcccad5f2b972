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

	values []byte // body of the array values of a distinct
	value  []byte // document of a findAndModify, nil for none
	token  []byte // document postBatchResumeToken of a change stream
	found  int64  // documents that a findAndModify changed

	clusterTime []byte // document $clusterTime
	operation   uint64 // timestamp operationTime
	snapshot    uint64 // timestamp atClusterTime of the cursor
}

func (r *reply) parse(doc []byte) error {
	*r = reply{}
	body, rest, ok := rawbson.Split(doc)
	if !ok || len(rest) != 0 {
		return errBSON
	}
	for len(body) > 0 {
		key, v, size := rawbson.Next(body)
		if size == 0 {
			return errBSON
		}
		if err := r.take(key, v); err != nil {
			return err
		}
		body = body[size:]
	}
	if !r.hasOK {
		return errNoOK
	}
	return nil
}

// take keeps one element of the reply if it is used.
func (r *reply) take(key []byte, v rawbson.RawValue) error {
	switch string(key) {
	case "ok":
		v, ok := v.Number()
		r.ok, r.hasOK = ok && v != 0, ok
	case "n":
		r.n, _ = v.Number()
	case "cursor":
		return r.takeCursor(v)
	case "$clusterTime":
		if _, ok := v.Body(); ok {
			r.clusterTime = v.Data
		}
	case "operationTime":
		if v.Kind == rawbson.Timestamp {
			r.operation = binary.LittleEndian.Uint64(v.Data)
		}
	case "values":
		return takeBody(&r.values, v)
	case "value":
		if v.Kind == rawbson.Document {
			r.value = v.Data
		}
	case "lastErrorObject":
		body, _ := v.Body()
		for len(body) > 0 {
			key, v, size := rawbson.Next(body)
			if size == 0 {
				return errBSON
			}
			if string(key) == "n" {
				r.found, _ = v.Number()
			}
			body = body[size:]
		}
	case "code":
		v, _ := v.Number()
		r.code = int32(v)
	case "codeName":
		r.codeName, _ = v.Text()
	case "errmsg":
		r.errmsg, _ = v.Text()
	case "errorLabels":
		r.labels, _ = v.Body()
	case "writeErrors":
		return takeBody(&r.writeErrors, v)
	case "writeConcernError":
		return takeBody(&r.concernError, v)
	}
	return nil
}

// takeBody keeps the body of an error document. An invalid one must not count as no error.
func takeBody(dst *[]byte, v rawbson.RawValue) error {
	body, ok := v.Body()
	if !ok {
		return errBSON
	}
	*dst = body
	return nil
}

// takeCursor reads {firstBatch or nextBatch: […], id: …}.
func (r *reply) takeCursor(v rawbson.RawValue) error {
	body, ok := v.Body()
	if !ok {
		return errBSON
	}
	for len(body) > 0 {
		key, v, size := rawbson.Next(body)
		if size == 0 {
			return errBSON
		}
		switch string(key) {
		case "id":
			r.cursorID, _ = v.Number()
		case "ns":
			r.ns, _ = v.Text()
		case "postBatchResumeToken":
			if v.Kind == rawbson.Document {
				r.token = v.Data
			}
		case "atClusterTime":
			if v.Kind == rawbson.Timestamp {
				r.snapshot = binary.LittleEndian.Uint64(v.Data)
			}
		case "firstBatch", "nextBatch":
			if r.batch, r.hasBatch = v.Body(); !r.hasBatch {
				return errBSON
			}
		}
		body = body[size:]
	}
	return nil
}

// walkBatch counts the documents of a batch and their bytes and returns the first one.
func walkBatch(batch []byte) (first []byte, docs, size int, err error) {
	for len(batch) > 0 {
		_, v, n := rawbson.Next(batch)
		if _, ok := v.Body(); !ok || v.Kind != rawbson.Document {
			return nil, 0, 0, errBSON
		}
		if docs == 0 {
			first = v.Data
		}
		docs++
		size += len(v.Data)
		batch = batch[n:]
	}
	return first, docs, size, nil
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
		_, v, size := rawbson.Next(body)
		if size == 0 {
			break
		}
		if doc, ok := v.Body(); ok {
			one := errorDocument(doc)
			one.Labels = labels
			out = append(out, one)
		}
		body = body[size:]
	}
	return out
}

// errorDocument reads {index, code, codeName, errmsg}.
func errorDocument(body []byte) store.ServerError {
	var out store.ServerError
	for {
		key, v, size := rawbson.Next(body)
		if size == 0 {
			return out
		}
		switch string(key) {
		case "index":
			v, _ := v.Number()
			out.Index = int(v)
		case "code":
			v, _ := v.Number()
			out.Code = int32(v)
		case "codeName":
			v, _ := v.Text()
			out.CodeName = string(v)
		case "errmsg":
			v, _ := v.Text()
			out.Message = string(v)
		}
		body = body[size:]
	}
}

// stringsOf copies the strings of an array.
func stringsOf(body []byte) []string {
	var out []string
	for len(body) > 0 {
		_, v, size := rawbson.Next(body)
		if size == 0 {
			break
		}
		if s, ok := v.Text(); ok {
			out = append(out, string(s))
		}
		body = body[size:]
	}
	return out
}

// clusterTimestamp reads the clusterTime of a $clusterTime document, for comparisons.
func clusterTimestamp(doc []byte) uint64 {
	body, _, ok := rawbson.Split(doc)
	if !ok {
		return 0
	}
	_, v, size := rawbson.Next(body)
	if size == 0 || v.Kind != rawbson.Timestamp {
		return 0
	}
	return binary.LittleEndian.Uint64(v.Data)
}
