package wire

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/null"
	"github.com/plimsoll-bench/plimsoll/workload"
)

func marshal(tb testing.TB, v any) []byte {
	tb.Helper()
	b, err := bson.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// responderSession opens a session on a loopback responder.
func responderSession(tb testing.TB, cfg store.Config, opts null.Options) store.Session {
	tb.Helper()
	r, err := null.Listen(opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = r.Close() })
	cfg.Target = r.URI()
	if cfg.Database == "" {
		cfg.Database = "ycsb"
	}
	s, err := Open(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	session, err := s.Session(0)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = session.Close() })
	return session
}

func findRequest(tb testing.TB) *workload.Request {
	return &workload.Request{Verb: workload.Find, Collection: "usertable", Limit: 1,
		Filter: marshal(tb, bson.D{{Key: "_id", Value: "user6284781860667377211"}})}
}

func updateRequest(tb testing.TB) *workload.Request {
	return &workload.Request{Verb: workload.Update, Collection: "usertable", Updates: []workload.Statement{{
		Filter: marshal(tb, bson.D{{Key: "_id", Value: "user6284781860667377211"}}),
		Update: marshal(tb, bson.D{{Key: "$set", Value: bson.D{{Key: "field3", Value: make([]byte, 100)}}}}),
	}}}
}

func benchmark(b *testing.B, req *workload.Request) {
	session := responderSession(b, store.Config{}, null.Options{})
	var res store.Result
	b.ReportAllocs()
	for b.Loop() {
		session.Do(time.Now().Add(10*time.Second), req, &res)
		if res.Outcome != store.OK {
			b.Fatalf("%+v", res)
		}
	}
}

func BenchmarkFind(b *testing.B)   { benchmark(b, findRequest(b)) }
func BenchmarkUpdate(b *testing.B) { benchmark(b, updateRequest(b)) }
