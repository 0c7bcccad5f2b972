package rest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/examples/failover/persons"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/mongo"
	"github.com/plimsoll-bench/plimsoll/store/null"
	"github.com/plimsoll-bench/plimsoll/store/rest"
	"github.com/plimsoll-bench/plimsoll/workload"
)

const (
	patience = 10 * time.Minute
	token    = "the-token-of-the-service"
)

// service starts the example's service over a responder and returns its address.
func service(t testing.TB, o null.Options) string {
	t.Helper()
	r, err := null.Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	ctx, stop := context.WithCancel(context.Background())
	url, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- persons.Serve(ctx, "127.0.0.1:0", persons.Options{URI: r.URI(), Database: "people", Timeout: patience,
			Token: token}, func(u string) { url <- u })
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the service ended with: %v", err)
		}
	})
	select {
	case u := <-url:
		return u
	case err := <-ended:
		ended <- err
		t.Fatal(err)
		return ""
	}
}

func open(t testing.TB, url string) *rest.Store {
	t.Helper()
	s, err := rest.Open(t.Context(), store.Config{Target: url, Timeout: patience}, rest.Options{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func sessionOf(t testing.TB, s store.Store) store.Session {
	t.Helper()
	session, err := s.Session(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func encode(t testing.TB, d bson.D) []byte {
	t.Helper()
	b, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// person is an insert of n persons, with a tag as the ledger of a drill adds it.
func person(t testing.TB, n int) *workload.Request {
	t.Helper()
	req := &workload.Request{Verb: workload.Insert, Collection: "person", Unordered: n > 1}
	for i := range n {
		req.Docs = append(req.Docs, encode(t, bson.D{{Key: "_id", Value: bson.NewObjectID()},
			{Key: "firstName", Value: "Ada"}, {Key: "lastName", Value: "Byron"},
			{Key: "_plimsoll", Value: bson.Binary{Data: append(make([]byte, 23), byte(i))}}}))
	}
	return req
}

func do(s store.Session, req *workload.Request) store.Result {
	var res store.Result
	s.Do(time.Now().Add(patience), req, &res)
	return res
}

func describe(r store.Result) string {
	return fmt.Sprintf("%s, reason %q, code %d, %d documents of %d bytes, %d attempts: %s", r.Outcome, r.Reason, r.Code, r.Docs, r.Bytes, r.Attempts, r.Message)
}

// Every request that the workload makes has an answer, and the bytes that MongoDB is sent are those that the workload
// made.
func TestPersonWorkload(t *testing.T) {
	var mu sync.Mutex
	var seen []byte
	s := open(t, service(t, null.Options{Count: 7, Capture: func(_ int, msg []byte) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, msg...)
	}}))
	session := sessionOf(t, s)
	w, err := workload.Open(workload.Spec{Name: "person", Records: 100, Seed: 1, Run: 7, Clients: 1,
		Params: map[string]string{"listproportion": "25", "pages": "3"}})
	if err != nil {
		t.Fatal(err)
	}
	stream := w.Stream(0, 1)
	var op workload.Op
	for range 60 {
		stream.Next(&op)
		for i := range op.Requests {
			req := &op.Requests[i]
			if res := do(session, req); res.Outcome != store.OK || res.Attempts != 1 || res.Docs == 0 || res.Bytes == 0 {
				t.Errorf("%s: %s", req.Verb, describe(res))
			}
		}
		stream.Done(&op, true)
	}
	w.Loader().Load(0, 20, &op)
	if res := do(session, &op.Requests[0]); res.Outcome != store.OK || res.Docs != 20 {
		t.Errorf("load: %s", describe(res))
	}
	mu.Lock()
	defer mu.Unlock()
	for _, doc := range op.Requests[0].Docs {
		if !strings.Contains(string(seen), string(doc)) {
			t.Fatalf("MongoDB was not sent the document %s", bson.Raw(doc))
		}
	}
}

func TestTagsKeepTheirTypes(t *testing.T) {
	var mu sync.Mutex
	var seen []byte
	session := sessionOf(t, open(t, service(t, null.Options{Capture: func(_ int, msg []byte) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, msg...)
	}})))
	req := person(t, 1)
	if res := do(session, req); res.Outcome != store.OK || res.Bytes != len(req.Docs[0]) {
		t.Fatal(describe(res))
	}
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(string(seen), string(req.Docs[0])) {
		t.Error("numbers changed their type on the way")
	}
}

// What MongoDB answers means the same through the service as through the driver alone.
func TestOutcomesAreThoseOfTheDriver(t *testing.T) {
	list := &workload.Request{Verb: workload.Find, Collection: "person", Filter: encode(t, bson.D{}), Limit: 20,
		MayBeEmpty: true}
	for _, c := range []struct {
		name string
		f    null.Failure
	}{
		{"duplicate", null.Failure{Form: null.WriteFailure, Code: 11000, Message: "E11000 duplicate key"}},
		{"invalid", null.Failure{Form: null.WriteFailure, Code: 121, Message: "Document failed validation"}},
		{"unproven", null.Failure{Form: null.WriteFailure, Code: 14031, Message: "no space"}},
		{"not primary", null.Failure{Code: 10107, Name: "NotWritablePrimary", Message: "not primary"}},
		{"interrupted", null.Failure{Code: 11600, Name: "InterruptedAtShutdown", Message: "ends"}},
		{"refused", null.Failure{Code: 2, Name: "BadValue", Message: "bad"}},
		{"unknown", null.Failure{Code: 4711, Name: "What", Message: "nobody knows"}},
		{"write concern", null.Failure{Form: null.ConcernFailure, Code: 64, Name: "WriteConcernTimeout", Message: "waiting for replication timed out", Docs: 1}},
		{"overloaded", null.Failure{Code: 462, Name: "IngressRequestRateLimitExceeded", Message: "too much"}},
		{"dropped", null.Failure{Form: null.DropConnection}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var broken atomic.Bool // set after Open, because the driver's store reads the database first
			fail := func(_ uint64, command string) *null.Failure {
				if broken.Load() && (command == "insert" || command == "find") {
					return &c.f
				}
				return nil
			}
			session := sessionOf(t, open(t, service(t, null.Options{Fail: fail})))
			driver := driverSession(t, null.Options{Fail: fail})
			broken.Store(true)
			asked := map[string]*workload.Request{"insert": person(t, 1)}
			if c.name == "refused" || c.name == "unknown" { // the driver tries others again until it has no time left
				asked["list"] = list
			}
			for what, req := range asked {
				direct := do(driver, req)
				if got := do(session, req); got.Outcome != direct.Outcome || got.Code != direct.Code {
					t.Errorf("%s: the service says %s\nthe driver %s", what, describe(got), describe(direct))
				}
			}
		})
	}
}

func driverSession(t *testing.T, o null.Options) store.Session {
	t.Helper()
	r, err := null.Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	s, err := mongo.Open(t.Context(), store.Config{Target: r.URI(), Database: "people", Sessions: 1, Timeout: patience},
		mongo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return sessionOf(t, s)
}

// After the death of a service only unsent requests are proven not applied.
func TestServiceGone(t *testing.T) {
	taken := make(chan struct{})
	hold := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"service":"persons","status":"up"}`) })
	mux.HandleFunc("POST /persons", func(http.ResponseWriter, *http.Request) { close(taken); <-hold })
	server := httptest.NewServer(mux)
	session := sessionOf(t, open(t, server.URL))
	var res store.Result
	done := make(chan struct{})
	go func() { res = do(session, person(t, 1)); close(done) }()
	<-taken
	server.CloseClientConnections()
	<-done
	if res.Outcome != store.Indeterminate || res.Reason != store.Network {
		t.Errorf("sent, and the connection broke: %s", describe(res))
	}
	close(hold)
	server.Close()
	if res := do(session, person(t, 1)); res.Outcome != store.NotApplied || res.Attempts != 0 {
		t.Errorf("nobody listens: %s", describe(res))
	}
	if res := do(session, &workload.Request{Verb: workload.Find, Collection: "person", Filter: encode(t, bson.D{}),
		Limit: 20}); res.Outcome != store.Failed {
		t.Errorf("a read, and nobody listens: %s", describe(res))
	}
}

// Deadlines: what had passed before it was sent is proven not applied; a short one ends with a proper outcome, and the
// session stays usable.
func TestDeadlines(t *testing.T) {
	session := sessionOf(t, open(t, service(t, null.Options{})))
	var res store.Result
	session.Do(time.Now().Add(-time.Second), person(t, 1), &res)
	if res.Outcome != store.NotApplied || res.Reason != store.Timeout || res.Attempts != 0 || res.Message == "" {
		t.Errorf("late: %s", describe(res))
	}
	for range 100 {
		session.Do(time.Now().Add(time.Duration(rand.Int64N(int64(time.Millisecond)))), person(t, 1), &res)
		switch res.Outcome {
		case store.OK:
		case store.NotApplied, store.Indeterminate:
			if res.Reason == store.NoReason || res.Message == "" {
				t.Fatal(describe(res))
			}
		default:
			t.Fatal(describe(res))
		}
	}
	if res := do(session, person(t, 1)); res.Outcome != store.OK {
		t.Error(describe(res))
	}
}

// If a service hangs, the request ends at the deadline, and the write is indeterminate.
func TestHang(t *testing.T) {
	session := sessionOf(t, open(t, service(t, null.Options{Fail: func(_ uint64, command string) *null.Failure {
		if command == "insert" {
			return &null.Failure{Form: null.NoAnswer}
		}
		return nil
	}})))
	var res store.Result
	session.Do(time.Now().Add(time.Second), person(t, 1), &res) // enough to send it on a busy machine
	if res.Outcome != store.Indeterminate || res.Reason != store.Timeout {
		t.Error(describe(res))
	}
}

func TestManySessions(t *testing.T) {
	s := open(t, service(t, null.Options{}))
	var all sync.WaitGroup
	for worker := range 16 {
		session, err := s.Session(worker)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for range 25 {
				if res := do(session, person(t, 1)); res.Outcome != store.OK {
					t.Error(describe(res))
				}
			}
			for range 2 {
				if err := session.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// Unsupported requests are refused with a reason, and nothing is sent.
func TestRefused(t *testing.T) {
	s := open(t, service(t, null.Options{}))
	session := sessionOf(t, s)
	empty := encode(t, bson.D{})
	for what, req := range map[string]*workload.Request{
		"update":        {Verb: workload.Update, Collection: "person", Updates: []workload.Statement{{Filter: empty, Update: empty}}},
		"collection":    {Verb: workload.Find, Collection: "usertable", Filter: empty, Limit: 1},
		"filter":        {Verb: workload.Find, Collection: "person", Filter: encode(t, bson.D{{Key: "age", Value: 1}}), Limit: 1},
		"whole":         {Verb: workload.Find, Collection: "person", Filter: empty},
		"half a page":   {Verb: workload.Find, Collection: "person", Filter: empty, Limit: 20, Skip: 10},
		"sort":          {Verb: workload.Find, Collection: "person", Filter: empty, Limit: 20, Sort: empty},
		"aggregate":     {Verb: workload.Aggregate, Collection: "person", Pipeline: []byte{5, 0, 0, 0, 0}},
		"no documents":  {Verb: workload.Insert, Collection: "person"},
		"ordered":       {Verb: workload.Insert, Collection: "person", Docs: person(t, 2).Docs},
		"unknown":       {Verb: workload.Aggregate + 1, Collection: "person"},
		"broken filter": {Verb: workload.Find, Collection: "person", Filter: []byte{1}, Limit: 1},
	} {
		if res := do(session, req); res.Outcome != store.Rejected || res.Reason != store.Client || res.Message == "" ||
			res.Attempts != 0 {
			t.Errorf("%s: %s", what, describe(res))
		}
	}
	if err := s.Drop(t.Context(), "person"); err == nil || !strings.Contains(err.Error(), "--load drop") {
		t.Errorf("drop: %v", err)
	}
	if err := s.EnsureIndexes(t.Context(), []workload.Index{{Name: "x"}}); err == nil {
		t.Error("an index was made")
	}
	if _, err := s.Count(t.Context(), "usertable"); err == nil {
		t.Error("another collection was counted")
	}
}

func TestOpen(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }))
	defer page.Close()
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"service":"persons","status":"down","error":"server selection timeout"}`)
	}))
	defer down.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + l.Addr().String() + "/"
	l.Close()
	for target, want := range map[string]string{
		"http://":                 "http://HOST:PORT/",
		"http://u:secret@host/":   "without a user",
		"http://host/?a=b":        "without a user",
		page.URL:                  "not JSON",
		down.URL:                  "does not reach its MongoDB",
		nobody:                    "no service answers",
		"http://127.0.0.1:x/":     "cannot be parsed",
		"ftp://127.0.0.1/persons": "http://HOST:PORT/",
	} {
		_, err := rest.Open(t.Context(), store.Config{Target: target, Timeout: patience}, rest.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want a mention of %q", target, err, want)
		}
	}
	if err := rest.Check("a", store.Concern{}); err == nil || !strings.Contains(err.Error(), "person") {
		t.Errorf("another workload: %v", err)
	}
	if err := rest.Check("person", store.Concern{W: "majority"}); err == nil {
		t.Error("a write concern was taken")
	}
}

func TestInfoAndCount(t *testing.T) {
	s := open(t, service(t, null.Options{Count: 42}))
	info, err := s.Info(t.Context())
	if err != nil || info.Kind == "" || info.Topology == "" || info.Settings["service database"] != "people" {
		t.Errorf("%+v, %v", info, err)
	}
	if n, err := s.Count(t.Context(), "person"); err != nil || n != 42 {
		t.Errorf("%d persons, %v", n, err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
