package persons

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/plimsoll-bench/plimsoll/store"
)

// answer is the body of what is no list.
type answer struct {
	Outcome string `json:"outcome"`
	ID      string `json:"id,omitempty"`
	Added   int    `json:"added,omitempty"`
	Code    int32  `json:"code,omitempty"` // MongoDB's
	Error   string `json:"error,omitempty"`
}

// read reads the body of a request into v; if it cannot, it answers that and returns false.
func read(w http.ResponseWriter, r *http.Request, v any) bool {
	text, err := io.ReadAll(r.Body)
	if err == nil {
		err = bson.UnmarshalExtJSON(text, false, v)
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		reply(w, http.StatusRequestEntityTooLarge, answer{Outcome: store.Rejected.String(), Error: oneLine(err)})
	case err != nil:
		refuse(w, errors.New("the body is not the JSON that belongs here: "+oneLine(err)))
	}
	return err == nil
}

// refuse says that a request is wrong. Nothing was done.
func refuse(w http.ResponseWriter, err error) {
	reply(w, http.StatusBadRequest, answer{Outcome: store.Rejected.String(), Error: oneLine(err)})
}

// fail answers a request that MongoDB, or the way to it, failed. persons is how many were to be added.
func fail(w http.ResponseWriter, ctx context.Context, err error, write bool, persons ...int) {
	outcome, code, added := meaning(err, write, sent(ctx), persons...)
	status := http.StatusInternalServerError
	switch {
	case outcome == store.Conflict, outcome == store.Partial:
		status = http.StatusConflict
	case outcome == store.Rejected:
		status = http.StatusBadRequest
	case outcome == store.NotApplied, outcome == store.Overloaded:
		status = http.StatusServiceUnavailable
	case mongo.IsTimeout(err):
		status = http.StatusGatewayTimeout
	}
	reply(w, status, answer{Outcome: outcome.String(), Added: added, Code: code, Error: oneLine(err)})
}

// meaning says what an error proves. tries is how many commands were sent: with none, nothing can have been changed;
// with more than one, what the last was told proves nothing about the first, which may have arrived before its
// connection broke.
func meaning(err error, write bool, tries int32, persons ...int) (o store.Outcome, code int32, added int) {
	o = store.Failed
	if write {
		o = store.Indeterminate
	}
	var command mongo.CommandError
	var one mongo.WriteException
	var many mongo.BulkWriteException
	switch {
	case write && tries == 0:
		o = store.NotApplied
	case errors.As(err, &command) && command.Code != 0:
		code = command.Code
		o, _ = store.ClassifyServerError(write, code, command.Name, command.Labels, command.Message)
	case errors.As(err, &one) && one.WriteConcernError != nil: // it is there, and not as safe as was asked for
		code = int32(one.WriteConcernError.Code)
	case errors.As(err, &one) && len(one.WriteErrors) > 0:
		code = int32(one.WriteErrors[0].Code)
		o, _ = store.ClassifyWriteError(code, one.WriteErrors[0].Message)
	case errors.As(err, &many) && many.WriteConcernError == nil && len(many.WriteErrors) > 0:
		o, code, added = ofMany(many, persons...)
	}
	if write && tries > 1 {
		return store.Indeterminate, code, 0
	}
	return o, code, added
}

// ofMany is the meaning of a batch of which MongoDB refused some: unless every refusal is proven, nobody knows.
func ofMany(e mongo.BulkWriteException, persons ...int) (o store.Outcome, code int32, added int) {
	for _, n := range persons {
		added = n - len(e.WriteErrors)
	}
	for i, w := range e.WriteErrors {
		single, _ := store.ClassifyWriteError(int32(w.Code), w.Message)
		if i == 0 || single == store.Indeterminate {
			o, code = single, int32(w.Code)
		}
	}
	if added > 0 && o != store.Indeterminate {
		o = store.Partial
	}
	return o, code, added
}

// reply writes an answer.
func reply(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil { // of our own types: it cannot
		status, text = http.StatusInternalServerError, []byte(`{"outcome":"indeterminate","error":"the answer cannot be written"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // whoever asked may be gone
}

// replyDocument writes a document as it is stored.
func replyDocument(w http.ResponseWriter, doc bson.Raw) {
	text, err := bson.MarshalExtJSON(doc, true, false)
	if err != nil {
		reply(w, http.StatusInternalServerError, answer{Outcome: store.Failed.String(), Error: oneLine(err)})
		return
	}
	reply(w, http.StatusOK, json.RawMessage(text))
}

// oneLine is an error for somebody else: one line, without credentials.
func oneLine(err error) string { return store.Redact(store.OneLine(err.Error())) }
