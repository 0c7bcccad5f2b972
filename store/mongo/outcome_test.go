package mongo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/mongo"
	"github.com/plimsoll-bench/plimsoll/store/null"
	"github.com/plimsoll-bench/plimsoll/workload"
)

func doc(t testing.TB, pairs ...any) []byte {
	t.Helper()
	d := bson.D{}
	for i := 0; i+1 < len(pairs); i += 2 {
		d = append(d, bson.E{Key: fmt.Sprint(pairs[i]), Value: pairs[i+1]})
	}
	b, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func insertOf(t testing.TB, n int) *workload.Request {
	t.Helper()
	req := &workload.Request{Verb: workload.Insert, Collection: "usertable"}
	for i := range n {
		req.Docs = append(req.Docs, doc(t, "_id", i))
	}
	return req
}

func updateOf(t testing.TB, n int) *workload.Request {
	t.Helper()
	req := &workload.Request{Verb: workload.Update, Collection: "usertable"}
	for i := range n {
		req.Updates = append(req.Updates, workload.Statement{Filter: doc(t, "_id", i),
			Update: doc(t, "$set", bson.D{{Key: "a", Value: 1}})})
	}
	return req
}

func readOf(t testing.TB) *workload.Request {
	t.Helper()
	return &workload.Request{Verb: workload.Find, Collection: "usertable", Filter: doc(t, "_id", "k"), Limit: 1}
}

// replicaSet starts a responder that plays the primary of a set with one member, so that the driver
// retries writes.
func replicaSet(t testing.TB, opts null.Options) *null.Responder {
	t.Helper()
	r := listen(t, opts)
	r.SetRole(null.Role{SetName: "rs", Primary: r.Addr(), Term: 1})
	return r
}

// script answers the operations of one session in order: the first find is the probe of Open.
func script(failures ...*null.Failure) func(uint64, string) *null.Failure {
	return func(n uint64, _ string) *null.Failure {
		if n == 0 || int(n) > len(failures) {
			return nil
		}
		return failures[n-1]
	}
}

type expected struct {
	outcome  store.Outcome
	reason   store.Reason
	code     int32
	attempts int
	docs     int
}

func TestOutcomes(t *testing.T) {
	retryable := []string{"RetryableWriteError"}
	drop := &null.Failure{Form: null.DropConnection}
	shutdown := &null.Failure{Code: 91, Name: "ShutdownInProgress", Message: "bye", Labels: retryable}
	notPrimary := &null.Failure{Code: 10107, Name: "NotWritablePrimary", Message: "not primary"}
	duplicate := &null.Failure{Form: null.WriteFailure, Code: 11000, Message: "E11000 duplicate key"}
	concern := &null.Failure{Form: null.ConcernFailure, Code: 64, Name: "WriteConcernTimeout", Message: "waited", Docs: 1}
	const off = "&retryWrites=false&retryReads=false"
	insert, update, read := insertOf(t, 1), updateOf(t, 1), readOf(t)

	for _, c := range []struct {
		name    string
		uri     string
		req     *workload.Request
		answers []*null.Failure
		want    expected
	}{
		{"insert", "", insert, nil, expected{attempts: 1, docs: 1}},
		{"a retry is seen", "", insert, []*null.Failure{shutdown}, expected{attempts: 2, docs: 1}},
		{"a retry after a lost connection is seen", "", insert, []*null.Failure{drop}, expected{attempts: 2, docs: 1}},
		{"a retried read is seen", "", read, []*null.Failure{drop}, expected{attempts: 2, docs: 1}},
		{"insert, shutdown", off, insert, []*null.Failure{shutdown}, expected{store.Indeterminate, store.Server, 91, 1, 0}},
		{"insert, lost connection", off, insert, []*null.Failure{drop}, expected{store.Indeterminate, store.Network, 0, 1, 0}},
		{"read, lost connection", off, read, []*null.Failure{drop}, expected{store.Failed, store.Network, 0, 1, 0}},
		{"read, shutdown", off, read, []*null.Failure{shutdown}, expected{store.Failed, store.Server, 91, 1, 0}},
		{"insert, not primary", off, insert, []*null.Failure{notPrimary}, expected{store.NotApplied, store.Server, 10107, 1, 0}},
		{"insert, lost connection, then not primary", "", insert, []*null.Failure{drop, notPrimary}, expected{store.Indeterminate, store.Server, 10107, 2, 0}},
		{"insert, not primary with a retry, then not primary", "", insert,
			[]*null.Failure{{Code: 10107, Labels: retryable}, notPrimary}, expected{store.NotApplied, store.Server, 10107, 2,
				0}},
		{"insert, duplicate", "", insert, []*null.Failure{duplicate}, expected{store.Conflict, store.Server, 11000, 1, 0}},
		{"insert, lost connection, then duplicate", "", insert, []*null.Failure{drop, duplicate}, expected{store.Indeterminate, store.Server, 11000, 2, 0}},
		{"insert, not confirmed", "", insert, []*null.Failure{concern}, expected{store.Indeterminate, store.WriteConcern, 64, 1, 1}},
		{"update, not confirmed", "", update, []*null.Failure{concern}, expected{store.Indeterminate, store.WriteConcern, 64, 1, 1}},
		{"update, refused", "", update, []*null.Failure{{Code: 9, Name: "FailedToParse"}}, expected{store.Rejected, store.Server, 9, 1, 0}},
		{"insert, shed", off, insert, []*null.Failure{{Code: 462, Labels: []string{"SystemOverloadedError"}}},
			expected{store.Overloaded, store.Server, 462, 1, 0}},
		{"nothing matched", "", update, []*null.Failure{{Form: null.ConcernFailure, Docs: 0, Code: 64, Message: "waited"}},
			expected{store.Indeterminate, store.WriteConcern, 64, 1, 0}},
		{"batch, third refused", "", insertOf(t, 5), []*null.Failure{{Form: null.WriteFailure, Code: 11000, Docs: 2,
			Message: "E11000"}}, expected{store.Partial, store.Server, 11000, 1, 2}},
		{"update batch, second refused", "", updateOf(t, 3),
			[]*null.Failure{{Form: null.WriteFailure, Code: 11000, Docs: 1, Message: "E11000"}},
			expected{store.Partial, store.Server, 11000, 1, 1}},
		{"an answer that makes the driver panic", "", updateOf(t, 3),
			[]*null.Failure{{Form: null.WriteFailure, Code: 11000, Docs: 999}}, expected{store.Indeterminate, store.Protocol, 0,
				1, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := replicaSet(t, null.Options{Fail: script(c.answers...)})
			_, session := connect(t, r.URI()+c.uri, store.Concern{W: "1"}, mongo.Options{})
			var res store.Result
			session.Do(time.Now().Add(20*time.Second), c.req, &res)
			got := expected{res.Outcome, res.Reason, res.Code, res.Attempts, res.Docs}
			if got != c.want {
				t.Errorf("got  %+v (%s)\nwant %+v", got, res.Message, c.want)
			}
			if res.Outcome != store.OK && res.Message == "" {
				t.Error("no message")
			}
		})
	}
}

func TestNoAnswerEndsAtTheDeadline(t *testing.T) {
	t.Parallel()
	const enough = 5 * time.Second // to send a request on a busy machine
	silence := &null.Failure{Form: null.NoAnswer}
	r := replicaSet(t, null.Options{Fail: script(silence, silence)})
	_, session := connect(t, r.URI(), store.Concern{}, mongo.Options{})
	var res store.Result
	session.Do(time.Now().Add(enough), insertOf(t, 1), &res)
	if res.Outcome != store.Indeterminate || res.Reason != store.Timeout || res.Attempts != 1 {
		t.Errorf("insert: %+v", res)
	}
	session.Do(time.Now().Add(enough), readOf(t), &res)
	if res.Outcome != store.Failed || res.Reason != store.Timeout {
		t.Errorf("read: %+v", res)
	}
}

func TestWaitForConnectionIsMeasured(t *testing.T) {
	t.Parallel()
	silence := &null.Failure{Form: null.NoAnswer}
	r := listen(t, null.Options{Fail: script(silence)})
	s, holder := connect(t, r.URI()+"&maxPoolSize=1&retryWrites=false", store.Concern{}, mongo.Options{})
	before := r.Requests()
	held := make(chan struct{})
	go func() {
		defer close(held)
		var res store.Result
		holder.Do(time.Now().Add(time.Hour), insertOf(t, 1), &res)
	}()
	for r.Requests() == before {
		time.Sleep(time.Millisecond)
	}
	other, err := s.Session(1)
	if err != nil {
		t.Fatal(err)
	}
	const patience = 2 * time.Second // half of it for the beginning on a busy machine
	var res store.Result
	other.Do(time.Now().Add(patience), insertOf(t, 1), &res)
	if res.Outcome != store.NotApplied || res.Reason != store.PoolTimeout || res.Attempts != 0 ||
		res.PoolWait < patience/2 {
		t.Errorf("the only connection was in use: %+v", res)
	}
	r.Close()
	<-held
}

func TestNoPrimary(t *testing.T) {
	t.Parallel()
	r := replicaSet(t, null.Options{})
	_, session := connect(t, r.URI()+"&heartbeatFrequencyMS=500&retryWrites=false", store.Concern{}, mongo.Options{})
	r.SetRole(null.Role{SetName: "rs", Term: 2})
	var res store.Result
	// The first write fails on the server; for the second one there is no server to select.
	for _, limit := range []time.Duration{time.Hour, time.Second} {
		session.Do(time.Now().Add(limit), insertOf(t, 1), &res)
		if res.Outcome != store.NotApplied {
			t.Errorf("insert: %+v", res)
		}
	}
	if res.Reason != store.Selection || res.Attempts != 0 || res.PoolWait == 0 {
		t.Errorf("second insert: %+v", res)
	}
}

func TestUnacknowledged(t *testing.T) {
	for _, uri := range []string{"", "&w=0"} { // w:0 by the concern and by the address
		r := listen(t, null.Options{})
		var concern store.Concern
		if uri == "" {
			concern.W = "0"
		}
		_, session := connect(t, r.URI()+uri, concern, mongo.Options{})
		for _, req := range []*workload.Request{insertOf(t, 1), insertOf(t, 3), updateOf(t, 1), updateOf(t, 2)} {
			var res store.Result
			session.Do(time.Now().Add(10*time.Second), req, &res)
			if res.Outcome != store.Unacknowledged || res.Docs != len(req.Docs)+len(req.Updates) || res.Attempts != 1 {
				t.Errorf("%s: %+v", req.Verb, res)
			}
		}
	}
}

func TestMessagesHoldNoCredentials(t *testing.T) {
	const secret = "s3cret"
	for _, uri := range []string{
		"mongodb://user:" + secret + "@127.0.0.1:1/db?serverSelectionTimeoutMS=200",
		"mongodb://user:" + secret + "@127.0.0.1:1/db?nonsense=%zz",
		"mongodb://user:" + secret + "@/",
		"mongodb://user:" + secret + "/@127.0.0.1:1",
		"mongodb://user:" + secret + "@127.0.0.1:1/?authMechanism=NONSENSE",
		"mongodb://user:" + secret + "@127.0.0.1:1/?w=-3",
		"mongodb://127.0.0.1:1/?tls=true&tlsCertificateKeyFile=/nowhere&tlsCertificateKeyFilePassword=" + secret,
		"http://user:" + secret + "@127.0.0.1:1/",
		"user:" + secret + "@127.0.0.1",
	} {
		_, err := mongo.Open(t.Context(), store.Config{Target: uri, Database: "db", Timeout: 300 * time.Millisecond},
			mongo.Options{})
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s gave %v", uri, err)
		}
	}
}
