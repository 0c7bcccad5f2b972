package wire

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

func insertRequest(tb testing.TB, n int) *workload.Request {
	req := &workload.Request{Verb: workload.Insert, Collection: "c"}
	for i := range n {
		req.Docs = append(req.Docs, marshal(tb, bson.D{{Key: "_id", Value: i}}))
	}
	return req
}

func updatesRequest(tb testing.TB, n int) *workload.Request {
	req := &workload.Request{Verb: workload.Update, Collection: "c"}
	for i := range n {
		req.Updates = append(req.Updates, workload.Statement{
			Filter: marshal(tb, bson.D{{Key: "_id", Value: i}}),
			Update: marshal(tb, bson.D{{Key: "$set", Value: bson.D{{Key: "a", Value: 1}}}})})
	}
	return req
}

func writeError(index, code int32, msg string) bson.D {
	return bson.D{{Key: "index", Value: index}, {Key: "code", Value: code}, {Key: "errmsg", Value: msg}}
}

func wrote(n int32, errs ...bson.D) bson.D {
	d := bson.D{{Key: "n", Value: n}}
	if len(errs) > 0 {
		d = append(d, bson.E{Key: "writeErrors", Value: errs})
	}
	return append(d, bson.E{Key: "ok", Value: 1.0})
}

func refusal(code int32, name string, labels ...string) bson.D {
	d := bson.D{{Key: "ok", Value: 0.0}, {Key: "errmsg", Value: "no:\nnot " + name}, {Key: "code", Value: code}, {Key: "codeName", Value: name}}
	if len(labels) > 0 {
		d = append(d, bson.E{Key: "errorLabels", Value: labels})
	}
	return d
}

// TestOutcomes is the table of what an answer means. The classes of codes have their own test in
// package store.
func TestOutcomes(t *testing.T) {
	concern := bson.E{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: 64}, {Key: "codeName", Value: "WriteConcernTimeout"}, {Key: "errmsg", Value: "waiting"}}}
	read := &workload.Request{Verb: workload.Find, Collection: "c", Limit: 1}
	maybe := &workload.Request{Verb: workload.Find, Collection: "c", Limit: 1, MayBeEmpty: true}
	unordered := insertRequest(t, 3)
	unordered.Unordered = true
	doc := bson.D{{Key: "_id", Value: 1}}
	for _, tc := range []struct {
		name    string
		req     *workload.Request
		answer  any
		outcome store.Outcome
		reason  store.Reason
		code    int32
		docs    int
		tries   int
	}{
		{"found", read, found(doc), store.OK, store.NoReason, 0, 1, 1},
		{"not found", read, found(), store.NotFound, store.NoReason, 0, 0, 1},
		{"may be empty", maybe, found(), store.OK, store.NoReason, 0, 0, 1},
		{"read from a secondary", read, refusal(13435, "NotPrimaryNoSecondaryOk"), store.Failed, store.Server, 13435, 0, 1},
		{"read unauthorised", read, refusal(13, "Unauthorized"), store.Rejected, store.Server, 13, 0, 1},
		{"read too slow", read, refusal(50, "MaxTimeMSExpired"), store.Failed, store.Timeout, 50, 0, 1},
		{"overloaded", read, refusal(462, "IngressRequestRateLimitExceeded", "SystemOverloadedError"), store.Overloaded, store.Server, 462, 0, 1},
		{"inserted", insertRequest(t, 2), wrote(2), store.OK, store.NoReason, 0, 2, 1},
		{"duplicate", insertRequest(t, 1), wrote(0, writeError(0, 11000, "E11000")), store.Conflict, store.Server, 11000, 0, 1},
		{"some duplicate", unordered, wrote(2, writeError(1, 11000, "E11000")), store.Partial, store.Server, 11000, 2, 1},
		{"not confirmed", insertRequest(t, 1), append(wrote(1), concern), store.Indeterminate, store.WriteConcern, 64, 1, 1},
		{"stepped down", insertRequest(t, 1), refusal(189, "PrimarySteppedDown"), store.Indeterminate, store.Server, 189, 0, 1},
		{"not primary", insertRequest(t, 1), refusal(10107, "NotWritablePrimary"), store.NotApplied, store.Server, 10107, 0, 1},
		{"fewer inserted, no error", insertRequest(t, 2), wrote(1), store.Indeterminate, store.Protocol, 0, 1, 1},
		{"matched", updatesRequest(t, 2), wrote(2), store.OK, store.NoReason, 0, 2, 1},
		{"some matched", updatesRequest(t, 2), wrote(1), store.Partial, store.NoReason, 0, 1, 1},
		{"none matched", updatesRequest(t, 2), wrote(0), store.NotFound, store.NoReason, 0, 0, 1},
		{"connection closed on a write", updatesRequest(t, 1), errors.New("close"), store.Indeterminate, store.Network, 0, 0, 1},
		{"connection closed on a read", read, errors.New("close"), store.Failed, store.Network, 0, 0, 1},
		{"silence on a write", updatesRequest(t, 1), nil, store.Indeterminate, store.Timeout, 0, 0, 1},
		{"silence on a read", read, nil, store.Failed, store.Timeout, 0, 0, 1},
		{"part of a header", updatesRequest(t, 1), []byte{1, 2, 3}, store.Indeterminate, store.Timeout, 0, 0, 1},
		{"no documents", insertRequest(t, 0), wrote(0), store.NotApplied, store.Client, 0, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t)
				n.add("h:27017", &fake{hello: standalone, answer: func(*call) any { return tc.answer }})
				s, stop := n.session(store.Config{Target: "mongodb://h"})
				defer stop()
				var res store.Result
				s.Do(time.Now().Add(time.Second), tc.req, &res)
				if res.Outcome != tc.outcome || res.Reason != tc.reason || res.Code != tc.code || res.Docs != tc.docs ||
					res.Attempts != tc.tries {
					t.Errorf("got %v/%v code %d docs %d attempts %d (%s)", res.Outcome, res.Reason, res.Code, res.Docs, res.Attempts, res.Message)
				}
				bad := !res.Outcome.Success() && res.Outcome != store.NotFound
				if bad != (res.Message != "") || strings.Contains(res.Message, "\n") {
					t.Errorf("message %q", res.Message)
				}
			})
		})
	}
}

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.add("h:27017", &fake{hello: standalone, answer: func(c *call) any {
			if c.name == "insert" {
				return nil
			}
			return found(bson.D{{Key: "_id", Value: 1}})
		}})
		s, stop := n.session(store.Config{Target: "mongodb://h"})
		defer stop()
		var res store.Result
		s.Do(time.Now().Add(-time.Second), insertRequest(t, 1), &res)
		if res.Outcome != store.NotApplied || res.Reason != store.Timeout || res.Attempts != 0 {
			t.Errorf("deadline in the past: %+v", res)
		}
		for _, timeout := range []time.Duration{10 * time.Second, 100 * time.Millisecond, time.Millisecond, time.Hour} {
			began := time.Now()
			s.Do(began.Add(timeout), insertRequest(t, 1), &res)
			took := time.Since(began)
			if res.Reason != store.Timeout || took < timeout || took > timeout+max(timeout/10, time.Millisecond) {
				t.Errorf("timeout %v fired after %v: %+v", timeout, took, res)
			}
			// The deadline that is still armed must not cut short what follows.
			s.Do(time.Now().Add(time.Hour), &workload.Request{Verb: workload.Find, Collection: "c", Limit: 1}, &res)
			if res.Outcome != store.OK {
				t.Errorf("after a timeout: %+v", res)
			}
		}
		s.Do(time.Time{}, &workload.Request{Verb: workload.Find, Collection: "c", Limit: 1}, &res)
		if res.Outcome != store.OK {
			t.Errorf("without a deadline: %+v", res)
		}
	})
}

func TestCursorIsReadToItsEnd(t *testing.T) {
	n := newNetwork(t)
	doc := bson.D{{Key: "_id", Value: 1}, {Key: "v", Value: strings.Repeat("x", 3000)}}
	size := len(marshal(t, doc))
	seen := 0
	n.add("h:27017", &fake{hello: standalone, answer: func(c *call) any {
		if c.name == "find" {
			return cursor(5, "firstBatch", doc, doc)
		}
		if id := c.body.Lookup("getMore").Int64(); id != int64(5+seen) {
			t.Errorf("getMore of cursor %d", id)
		}
		if seen++; seen == 3 {
			return cursor(0, "nextBatch")
		}
		return cursor(int64(5+seen), "nextBatch", bson.D{{Key: "_id", Value: 2}, {Key: "v", Value: strings.Repeat("y", 9000)}})
	}})
	s, stop := n.session(store.Config{Target: "mongodb://h"})
	defer stop()
	var res store.Result
	s.Do(time.Now().Add(time.Minute), &workload.Request{Verb: workload.Find, Collection: "c", Limit: 100}, &res)
	if res.Outcome != store.OK || res.Docs != 4 || res.Attempts != 1 || res.Bytes <= 2*size {
		t.Fatalf("%+v", res)
	}
	if bson.Raw(res.Doc).Lookup("_id").AsInt64() != 1 || len(res.Doc) != size {
		t.Errorf("the first document was overwritten by a later batch: %v", bson.Raw(res.Doc))
	}
}

func TestUnacknowledged(t *testing.T) {
	n := newNetwork(t)
	var flags, messages, pings int
	hello := func() bson.D { return append(bson.D{{Key: "maxWriteBatchSize", Value: int32(2)}}, standalone()[4:]...) }
	n.add("h:27017", &fake{hello: hello, answer: func(c *call) any {
		if c.name == "ping" {
			pings = flags
		} else {
			messages++
		}
		return bson.D{{Key: "ok", Value: 1.0}}
	}, silent: func(*call) { flags++ }})
	s, stop := n.session(store.Config{Target: "mongodb://h/?w=0"})
	var res store.Result
	s.Do(time.Now().Add(time.Minute), insertRequest(t, 5), &res)
	if res.Outcome != store.Unacknowledged || res.Docs != 5 || res.Attempts != 1 {
		t.Errorf("%+v", res)
	}
	s.Do(time.Now().Add(time.Minute), updatesRequest(t, 1), &res)
	if res.Outcome != store.Unacknowledged {
		t.Errorf("%+v", res)
	}
	stop()
	n.set(func() {
		// Of five documents in messages of two only the last message goes without an answer.
		if messages != 2 || flags != 2 {
			t.Errorf("%d answered messages, %d unanswered", messages, flags)
		}
		// The session was closed only when the server had read all of them.
		if pings != 2 {
			t.Errorf("%d of them had been read when the server was asked for an answer", pings)
		}
	})
}

func TestBatchInSeveralMessages(t *testing.T) {
	hello := func() bson.D { return append(bson.D{{Key: "maxWriteBatchSize", Value: int32(2)}}, standalone()[4:]...) }
	for _, tc := range []struct {
		name      string
		unordered bool
		answers   []any
		outcome   store.Outcome
		docs      int
	}{
		{"all", false, []any{wrote(2), wrote(2), wrote(1)}, store.OK, 5},
		{"ordered stops", false, []any{wrote(2), wrote(0, writeError(0, 11000, "dup"))}, store.Partial, 2},
		{"unordered goes on", true, []any{wrote(2), wrote(1, writeError(0, 11000, "dup")), wrote(1)}, store.Partial, 4},
		{"first refused", false, []any{refusal(13, "Unauthorized")}, store.Rejected, 0},
		{"second refused", false, []any{wrote(2), refusal(10107, "NotWritablePrimary")}, store.Partial, 2},
		{"second unknown", false, []any{wrote(2), errors.New("close")}, store.Indeterminate, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := newNetwork(t)
			next := 0
			n.add("h:27017", &fake{hello: hello, answer: func(*call) any { next++; return tc.answers[next-1] }})
			s, stop := n.session(store.Config{Target: "mongodb://h"})
			defer stop()
			req := insertRequest(t, 5)
			req.Unordered = tc.unordered
			var res store.Result
			s.Do(time.Now().Add(time.Minute), req, &res)
			if res.Outcome != tc.outcome || res.Docs != tc.docs || res.Attempts != 1 || next != len(tc.answers) {
				t.Errorf("after %d messages: %+v", next, res)
			}
		})
	}
}
