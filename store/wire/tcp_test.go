package wire

import (
	"context"
	"net"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/loop"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/null"
	"github.com/plimsoll-bench/plimsoll/store/storetest"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// bothWays runs a test with sessions that block their goroutine, and with sessions on an event loop.
func bothWays(t *testing.T, test func(t *testing.T, wrap func(*Store) store.Store)) {
	t.Run("goroutine", func(t *testing.T) { test(t, func(s *Store) store.Store { return s }) })
	if loop.Supported {
		t.Run("event loop", func(t *testing.T) { test(t, func(s *Store) store.Store { return storetest.OnLoop(t, s) }) })
	}
}

// responderSession opens a session on a responder over loopback TCP.
func responderSession(tb testing.TB, wrap func(*Store) store.Store, cfg store.Config, opts null.Options) store.Session {
	tb.Helper()
	r, err := null.Listen(opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = r.Close() })
	cfg.Target, cfg.Database = r.URI(), "db"
	opened, err := Open(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	s := wrap(opened)
	tb.Cleanup(func() { _ = s.Close() })
	session, err := s.Session(0)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = session.Close() })
	return session
}

// requests are one of each kind, among them answers and messages that do not fit into one segment.
func requests(tb testing.TB) map[string]*workload.Request {
	_, pipeline, err := bson.MarshalValue(bson.A{})
	if err != nil {
		tb.Fatal(err)
	}
	return map[string]*workload.Request{
		"find":       findRequest(tb),
		"update":     updateRequest(tb),
		"insert":     insertRequest(tb, 1),
		"insertMany": insertRequest(tb, 1000),
		"scan":       {Verb: workload.Find, Collection: "c", Limit: 350}, // 1 find, 3 getMore
		"aggregate":  {Verb: workload.Aggregate, Collection: "c", Pipeline: pipeline},
	}
}

func TestSuccessAllocatesNothing(t *testing.T) {
	wrap := func(s *Store) store.Store { return s }
	session := responderSession(t, wrap, store.Config{}, null.Options{})
	for name, req := range requests(t) {
		var res store.Result
		do := func() { session.Do(time.Now().Add(10*time.Second), req, &res) }
		do() // grows the buffers
		if res.Outcome != store.OK {
			t.Fatalf("%s: %+v", name, res)
		}
		if n := testing.AllocsPerRun(50, do); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	unacknowledged := responderSession(t, wrap, store.Config{Concern: store.Concern{W: "0"}}, null.Options{})
	req := insertRequest(t, 1)
	var res store.Result
	if n := testing.AllocsPerRun(50, func() { unacknowledged.Do(time.Now().Add(10*time.Second), req, &res) }); n != 0 ||
		res.Outcome != store.Unacknowledged {
		t.Errorf("w:0 allocates %v times (%+v)", n, res)
	}
}

func TestTCP(t *testing.T) { bothWays(t, testTCP) }

func testTCP(t *testing.T, wrap func(*Store) store.Store) {
	session := responderSession(t, wrap, store.Config{}, null.Options{})
	docs := map[string]int{"find": 1, "update": 1, "insert": 1, "insertMany": 1000, "scan": 350, "aggregate": 1}
	for name, req := range requests(t) {
		var res store.Result
		session.Do(time.Now().Add(10*time.Second), req, &res)
		if res.Outcome != store.OK || res.Docs != docs[name] || res.Attempts != 1 {
			t.Errorf("%s: %+v", name, res)
		}
	}
}

// TestMessageLargerThanTheSocketBuffer sends 40 MB in one message, which no socket takes at once.
func TestMessageLargerThanTheSocketBuffer(t *testing.T) {
	bothWays(t, testMessageLargerThanTheSocketBuffer)
}

func testMessageLargerThanTheSocketBuffer(t *testing.T, wrap func(*Store) store.Store) {
	session := responderSession(t, wrap, store.Config{}, null.Options{})
	req := &workload.Request{Verb: workload.Insert, Collection: "c"}
	for i := range 40 {
		req.Docs = append(req.Docs, marshal(t, bson.D{{Key: "_id", Value: i}, {Key: "v", Value: make([]byte, 1<<20)}}))
	}
	var res store.Result
	session.Do(time.Now().Add(30*time.Second), req, &res)
	if res.Outcome != store.OK || res.Docs != 40 {
		t.Fatalf("%+v", res)
	}
	session.Do(time.Now().Add(10*time.Second), findRequest(t), &res)
	if res.Outcome != store.OK {
		t.Errorf("afterwards: %+v", res)
	}
}

// TestBrokenTCP checks what a dropped connection and silence mean on the path that TCP takes.
func TestBrokenTCP(t *testing.T) { bothWays(t, testBrokenTCP) }

func testBrokenTCP(t *testing.T, wrap func(*Store) store.Store) {
	for _, tc := range []struct {
		form null.Form
		want store.Reason
	}{
		{null.DropConnection, store.Network},
		{null.NoAnswer, store.Timeout},
	} {
		fail := null.FailNth(null.Failure{Form: tc.form}, 1, 3)
		session := responderSession(t, wrap, store.Config{}, null.Options{Fail: fail})
		for i, req := range []*workload.Request{findRequest(t), findRequest(t), findRequest(t), updateRequest(t),
			updateRequest(t)} {
			var res store.Result
			timeout := 10 * time.Second
			if tc.want == store.Timeout && i%2 == 1 {
				timeout = 500 * time.Millisecond // enough to send a request on a busy machine
			}
			session.Do(time.Now().Add(timeout), req, &res)
			switch i {
			case 1:
				if res.Outcome != store.Failed || res.Reason != tc.want {
					t.Errorf("read: %+v", res)
				}
			case 3:
				if res.Outcome != store.Indeterminate || res.Reason != tc.want || res.Attempts != 1 {
					t.Errorf("write: %+v", res)
				}
			default:
				if res.Outcome != store.OK {
					t.Errorf("request %d: %+v", i, res)
				}
			}
		}
	}
}

// TestClosedBeforeSending: a connection that the server reset while it was idle fails at the write, so
// nothing was sent.
func TestClosedBeforeSending(t *testing.T) { bothWays(t, testClosedBeforeSending) }

func testClosedBeforeSending(t *testing.T, wrap func(*Store) store.Store) {
	r, err := null.Listen(null.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	opened, err := Open(t.Context(), store.Config{Target: r.URI(), Database: "db"})
	if err != nil {
		t.Fatal(err)
	}
	s := wrap(opened)
	defer s.Close()
	session, err := s.Session(0)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	r.KillConnections()
	var res store.Result
	session.Do(time.Now().Add(10*time.Second), updateRequest(t), &res)
	// Whether the reset has arrived is a race; both are right, and what follows must work.
	if res.Outcome != store.NotApplied && res.Outcome != store.Indeterminate || res.Reason != store.Network {
		t.Errorf("%+v", res)
	}
	session.Do(time.Now().Add(10*time.Second), updateRequest(t), &res)
	if res.Outcome != store.OK {
		t.Errorf("%+v", res)
	}
}

func TestAdministration(t *testing.T) {
	r, err := null.Listen(null.Options{Count: 42})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s, err := Open(t.Context(), store.Config{Target: r.URI() + "&maxPoolSize=7", Database: "db"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	info, err := s.Info(t.Context())
	if err != nil || info.Kind != "mongod" || info.Topology != "standalone" || info.Version != "7.0.0" || len(info.Hosts) != 1 {
		t.Errorf("info %+v, %v", info, err)
	}
	r.KillConnections() // administrative commands reconnect
	if n, err := s.Count(t.Context(), "c"); err != nil || n != 42 {
		t.Errorf("count %d, %v", n, err)
	}
	if err := s.Drop(t.Context(), "c"); err != nil {
		t.Error(err)
	}
	index := workload.Index{Collection: "c", Name: "a_1", Keys: marshal(t, bson.D{{Key: "a", Value: 1}})}
	if err := s.EnsureIndexes(t.Context(), []workload.Index{index}); err != nil {
		t.Error(err)
	}
}

// TestAnswersThatNobodyAskedFor: FerretDB answers unacknowledged writes. Thousands of such answers must
// neither be taken for others nor fill the socket until the server blocks.
func TestAnswersThatNobodyAskedFor(t *testing.T) { bothWays(t, testAnswersThatNobodyAskedFor) }

func testAnswersThatNobodyAskedFor(t *testing.T, wrap func(*Store) store.Store) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := newNetwork(t)
	padding := bson.E{Key: "padding", Value: make([]byte, 5000)}
	f := n.add("", &fake{hello: standalone, rude: true, answer: func(c *call) any {
		if c.name == "find" {
			return found(bson.D{{Key: "_id", Value: 1}})
		}
		return append(wrote(0), padding)
	}})
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go n.serve(f, conn)
		}
	}()
	defer ln.Close()
	opened, err := Open(t.Context(), store.Config{Target: "mongodb://" + ln.Addr().String(), Database: "db",
		Concern: store.Concern{W: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	s := wrap(opened)
	defer s.Close()
	session, err := s.Session(0)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	var res store.Result
	for i := range 5000 {
		session.Do(time.Now().Add(30*time.Second), insertRequest(t, 1), &res)
		if res.Outcome != store.Unacknowledged {
			t.Fatalf("write %d: %+v", i, res)
		}
		if i%1250 != 1249 {
			continue
		}
		session.Do(time.Now().Add(30*time.Second), findRequest(t), &res)
		if res.Outcome != store.OK || res.Docs != 1 {
			t.Fatalf("read after %d writes: %+v", i, res)
		}
	}
}

// Commands that go over a whole collection have no deadline but the caller's: on slow disks they take longer than any
// operation.
func TestWholeCollectionsTakeTheirTime(t *testing.T) {
	ctx, cancel := withDeadline(context.Background())
	defer cancel()
	if at, ok := ctx.Deadline(); !ok || time.Until(at) < 100*defaultTimeout {
		t.Errorf("a count has until %v", at)
	}
	mine := time.Now().Add(time.Second)
	own, done := context.WithDeadline(context.Background(), mine)
	defer done()
	ctx, cancel = withDeadline(own)
	defer cancel()
	if at, _ := ctx.Deadline(); !at.Equal(mine) {
		t.Errorf("a count has until %v, the caller said %v", at, mine)
	}
}
