package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// session is one virtual user: one connection, one request at a time.
type session struct {
	store  *Store
	client *http.Client
	body   bytes.Buffer
	doc    []byte
}

// call is the HTTP request for a request of the workload.
type call struct {
	method, path string
	write        bool
	read         func(s *session, text []byte, req *workload.Request, res *store.Result) error
}

func (s *session) Do(deadline time.Time, req *workload.Request, res *store.Result) {
	res.Reset()
	write := req.Verb == workload.Insert || req.Verb == workload.Update
	if !deadline.IsZero() && !time.Now().Before(deadline) {
		res.Fail(store.Unsent(write), store.Timeout, "the deadline had passed before the request was sent")
		return
	}
	c, err := s.translate(req)
	if err != nil {
		res.Fail(store.Rejected, store.Client, err.Error())
		return
	}
	status, text, err := s.send(deadline, c, res)
	if err != nil {
		s.noReply(write, err, res)
		return
	}
	if status < 200 || status > 299 {
		refused(write, status, text, res)
		return
	}
	if err := c.read(s, text, req, res); err != nil { // the status says that it was done, but the reply cannot be parsed
		outcome := store.Failed
		if write {
			outcome = store.Indeterminate
		}
		res.Fail(outcome, store.Protocol, store.OneLine("cannot parse the reply of the service: "+err.Error()))
	}
}

// send sends a call and reads the reply. res.Attempts is the number of connections that it was sent on.
func (s *session) send(deadline time.Time, c call, res *store.Result) (int, []byte, error) {
	ctx := context.Background()
	if !deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	tries := 0
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { tries++ }})
	var body io.Reader
	if c.write {
		body = bytes.NewReader(s.body.Bytes())
	}
	r, err := s.store.request(ctx, c.method, c.path, body)
	if err != nil {
		return 0, nil, err
	}
	if c.write {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := s.client.Do(r)
	res.Attempts = tries
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, largestAnswer+1))
	if err == nil && len(text) > largestAnswer {
		err = fmt.Errorf("the reply is larger than %d bytes", largestAnswer)
	}
	return answer.StatusCode, text, err
}

// noReply fills res for a request without a reply.
func (s *session) noReply(write bool, err error, res *store.Result) {
	why := store.Network
	if errors.Is(err, context.DeadlineExceeded) {
		why = store.Timeout
	}
	outcome := store.Unsent(write)
	if write && res.Attempts > 0 {
		outcome = store.Indeterminate
	}
	if inner := errors.Unwrap(err); inner != nil {
		err = inner // without the address
	}
	res.Fail(outcome, why, store.OneLine(err.Error()))
}

// refused fills res for a status other than 2xx.
func refused(write bool, status int, text []byte, res *store.Result) {
	var a struct {
		Outcome string `json:"outcome"`
		Error   string `json:"error"`
		Code    int32  `json:"code"`
		Added   int    `json:"added"`
	}
	known := json.Unmarshal(text, &a) == nil
	outcome := byStatus(write, status)
	if known {
		outcome = byName(write, status, a.Outcome, outcome)
	}
	message := store.OneLine(a.Error)
	if message == "" {
		message = "the service replied with the status " + http.StatusText(status)
	}
	why := store.Server
	if status == http.StatusGatewayTimeout {
		why = store.Timeout
	}
	res.Fail(outcome, why, message)
	if known {
		res.Code, res.CodeName = a.Code, store.CodeName(a.Code)
	}
	switch {
	case outcome == store.Partial:
		res.Docs = max(0, a.Added)
	case outcome == store.NotFound:
		res.Fail(outcome, store.NoReason, "")
	}
}

// byStatus is the outcome of a status without a name.
func byStatus(write bool, status int) store.Outcome {
	switch status {
	case http.StatusTooManyRequests:
		return store.Overloaded
	case http.StatusConflict:
		return store.Conflict
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
		http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
		http.StatusUnprocessableEntity:
		return store.Rejected
	}
	if write {
		return store.Indeterminate
	}
	return store.Failed
}

// byName is the outcome that the service names if it is possible for the request and the status, or otherwise.
func byName(write bool, status int, name string, otherwise store.Outcome) store.Outcome {
	fits := []store.Outcome{store.Failed, store.Rejected, store.Overloaded}
	switch {
	case write && status >= 500:
		fits = []store.Outcome{store.Indeterminate, store.NotApplied, store.Overloaded}
	case write:
		fits = []store.Outcome{store.Indeterminate, store.Rejected, store.Conflict, store.Partial, store.Overloaded,
			store.NotApplied}
	case status == http.StatusNotFound:
		fits = append(fits, store.NotFound)
	}
	for _, o := range fits {
		if o.String() == name {
			return o
		}
	}
	return otherwise
}

func (s *session) Close() error {
	s.client.CloseIdleConnections()
	return nil
}

// keep copies the first document, which is valid until the next call.
func (s *session) keep(doc bson.Raw, res *store.Result) {
	s.doc = append(s.doc[:0], doc...)
	res.Doc = s.doc
}
