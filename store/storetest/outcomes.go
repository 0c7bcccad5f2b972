package storetest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// The rules in this file apply to all stores, also to those that keep no documents.

func testInfo(e *env) {
	info, err := e.store.Info(e.Context())
	if err != nil {
		e.Fatalf("info: %v", err)
	}
	if info.Kind == "" || info.Topology == "" {
		e.Errorf("info has no kind or no topology: %+v", info)
	}
}

func testReset(e *env) {
	e.do(insert(e.T, d("_id", 1)))
	dirty := store.Result{Outcome: store.Corrupt, Reason: store.Network, Code: 7, CodeName: "x", Labels: []string{"x"},
		Message: "x", Docs: 99, Doc: []byte("x"), Bytes: 99, Attempts: 99, PoolWait: time.Hour}
	e.res = dirty
	res := e.do(insert(e.T, d("_id", 2)))
	if res.Outcome != store.OK || res.Docs != 1 || res.Doc != nil || res.Code != 0 || res.CodeName != "" ||
		res.Labels != nil || res.Message != "" || res.Attempts != 1 || res.PoolWait >= time.Hour ||
		res.Reason != store.NoReason {
		e.Errorf("the result has values of the last one: %s", describe(res))
	}
	if res.Bytes != len(doc(e.T, d("_id", 2))) {
		e.Errorf("insert counted %d bytes", res.Bytes)
	}
}

func testPastDeadline(e *env) {
	for what, req := range e.everyVerb() {
		write := req.Verb == workload.Insert || req.Verb == workload.Update
		for _, ago := range []time.Duration{0, time.Hour} {
			e.session.Do(time.Now().Add(-ago), req, &e.res)
			wanted := store.Failed
			if write {
				wanted = store.NotApplied
			}
			if e.res.Outcome != wanted || e.res.Reason != store.Timeout || e.res.Attempts != 0 || e.res.Message == "" {
				e.Errorf("%s after its deadline: %s, want %s with reason timeout and a message", what, describe(&e.res), wanted)
			}
		}
	}
	e.expect("insert after those that were too late", insert(e.T, d("_id", "late")), want1)
	if !e.caps.Discards {
		e.count(1)
	}
}

// testShortDeadline uses deadlines that pass during the request. The outcome must be a timeout or a success, and the
// session must stay usable.
func testShortDeadline(e *env) {
	for i := range 200 {
		left := time.Duration(rand.Int64N(int64(400 * time.Microsecond)))
		for what, req := range e.everyVerb() {
			e.session.Do(time.Now().Add(left), req, &e.res)
			switch e.res.Outcome {
			case store.OK, store.NotFound, store.Conflict:
			case store.NotApplied, store.Failed, store.Indeterminate:
				if e.res.Reason == store.NoReason {
					e.Fatalf("%s with %v left, round %d: no reason: %s", what, left, i, describe(&e.res))
				}
			default:
				e.Fatalf("%s with %v left, round %d: %s", what, left, i, describe(&e.res))
			}
		}
	}
	e.expect("insert with enough time", insert(e.T, d("_id", "in time")), want1)
}

// everyVerb returns one request of each kind to the case's collection.
func (e *env) everyVerb() map[string]*workload.Request {
	all := map[string]*workload.Request{
		"find":      read(e.T, "late"),
		"scan":      {Verb: workload.Find, Filter: doc(e.T, d()), MayBeEmpty: true},
		"insert":    insert(e.T, d("_id", "late")),
		"update":    update(e.T, statement(e.T, d("_id", "late"), d("$set", d("a", 1)))),
		"aggregate": aggregate(e.T, d("$match", d()), d("$group", d("_id", int32(1)))),
	}
	for _, req := range all {
		req.Collection = e.coll
	}
	return all
}

func testConcurrent(e *env) {
	const sessions, each = 16, 25
	var done sync.WaitGroup
	for worker := range sessions {
		session, err := e.store.Session(worker)
		if err != nil {
			e.Fatalf("session %d: %v", worker, err)
		}
		done.Go(func() {
			work(e.T, session, e.coll, worker, each)
			if err := session.Close(); err != nil {
				e.Errorf("close session %d: %v", worker, err)
			}
		})
	}
	done.Wait()
	if !e.caps.Discards {
		e.count(sessions * each)
	}
}

// work inserts documents and reads each one back. It runs concurrently, so it must not call FailNow.
func work(t *testing.T, session store.Session, coll string, worker, n int) {
	var res store.Result
	for i := range n {
		id := fmt.Sprintf("w%02d-%03d", worker, i)
		ins, get := insert(t, d("_id", id, "worker", worker)), read(t, id)
		ins.Collection, get.Collection = coll, coll
		if session.Do(time.Now().Add(patience), ins, &res); res.Outcome != store.OK {
			t.Errorf("insert %s: %s", id, describe(&res))
		}
		session.Do(time.Now().Add(patience), get, &res)
		if got, _ := bson.Raw(res.Doc).Lookup("_id").StringValueOK(); res.Outcome != store.OK || got != id {
			t.Errorf("read %s returned %q: %s", id, got, describe(&res))
		}
	}
}

func testCloseTwice(e *env) {
	session, err := e.store.Session(1)
	if err != nil {
		e.Fatal(err)
	}
	for i := range 2 {
		if err := session.Close(); err != nil {
			e.Errorf("closing the session, time %d: %v", i+1, err)
		}
	}
	if e.caps.Unacknowledged == nil && !e.caps.Discards {
		return // a target that can only be open once
	}
	other := e.open(e.T)
	for i := range 2 {
		if err := other.Close(); err != nil {
			e.Errorf("closing the store, time %d: %v", i+1, err)
		}
	}
}

func testUnused(e *env) {
	for worker := range 3 {
		session, err := e.store.Session(worker)
		if err != nil {
			e.Fatal(err)
		}
		if err := session.Close(); err != nil {
			e.Errorf("close: %v", err)
		}
	}
}

// testEmptyRequests sends requests without content, which must fail with a message.
func testEmptyRequests(e *env) {
	if e.caps.Discards {
		return
	}
	for what, req := range map[string]*workload.Request{
		"insert of no documents": {Verb: workload.Insert},
		"update of nothing":      {Verb: workload.Update},
		"unknown verb":           {Verb: workload.Aggregate + 1},
	} {
		if res := e.do(req); res.Outcome.Success() || res.Message == "" {
			e.Errorf("%s: %s, want a failure with a message", what, describe(res))
		}
	}
	e.expect("insert after those", insert(e.T, d("_id", 1)), want1)
}

func testUnacknowledged(t *testing.T, caps Caps) {
	s := caps.Unacknowledged(t)
	session, err := s.Session(0)
	if err != nil {
		t.Fatal(err)
	}
	e := &env{T: t, runner: &runner{store: s, caps: caps}, session: session, coll: collectionName("unacknowledged")}
	e.drop()
	const n = 20 // results count the sent documents, because there is no reply
	for i := range n {
		e.expect("insert", insert(t, d("_id", i, "n", 0)), want{store.Unacknowledged, 1})
		e.expect("update", update(t, statement(t, d("_id", i), d("$set", d("n", 1)))), want{store.Unacknowledged, 1})
	}
	e.expect("batch", insert(t, d("_id", "a"), d("_id", "b")), want{store.Unacknowledged, 2})
	if !caps.Discards {
		e.appears("a", n+2)
		e.holds(0, d("_id", 0, "n", 1))
	}
	e.drop()
	if err := session.Close(); err != nil {
		t.Errorf("close session: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// appears waits until the collection has want documents, because unacknowledged writes are visible only after a while.
func (e *env) appears(last any, want int64) {
	e.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		n, err := e.store.Count(e.Context(), e.coll)
		if err != nil {
			e.Fatalf("count: %v", err)
		}
		if n == want {
			return
		}
		if time.Now().After(end) {
			e.Fatalf("%d of %d unacknowledged documents have appeared (last one written: %v)", n, want, last)
		}
	}
}
