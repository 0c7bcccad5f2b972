package null

import (
	"encoding/binary"
	"io"
	"math"
	"net"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

func find(t testing.TB, key string) *workload.Request {
	t.Helper()
	filter, err := bson.Marshal(bson.D{{Key: "_id", Value: key}})
	if err != nil {
		t.Fatal(err)
	}
	return &workload.Request{Verb: workload.Find, Collection: "usertable", Filter: filter, Limit: 1}
}

func open(t testing.TB, opts Options) store.Session {
	t.Helper()
	s, err := Open(store.Config{}, opts)
	if err != nil {
		t.Fatal(err)
	}
	session, err := s.Session(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func TestSessionAnswersEveryVerb(t *testing.T) {
	session := open(t, Options{Count: 9})
	var res store.Result
	session.Do(time.Time{}, find(t, "user7"), &res)
	if id := bson.Raw(res.Doc).Lookup("_id").StringValue(); res.Outcome != store.OK || id != "user7" || res.Docs != 1 {
		t.Errorf("find: %+v, _id %q", res, id)
	}
	if err := bson.Raw(res.Doc).Validate(); err != nil {
		t.Error(err)
	}
	doc := []byte{5, 0, 0, 0, 0}
	session.Do(time.Time{}, &workload.Request{Verb: workload.Insert, Docs: [][]byte{doc, doc}}, &res)
	if res.Outcome != store.OK || res.Docs != 2 || res.Bytes != 10 || res.Doc != nil {
		t.Errorf("insert: %+v", res)
	}
	session.Do(time.Time{}, &workload.Request{Verb: workload.Update,
		Updates: []workload.Statement{{Filter: doc, Update: doc}}}, &res)
	if res.Outcome != store.OK || res.Docs != 1 {
		t.Errorf("update: %+v", res)
	}
	session.Do(time.Time{}, &workload.Request{Verb: workload.Aggregate}, &res)
	if n := bson.Raw(res.Doc).Lookup("n").Int64(); res.Outcome != store.OK || n != 9 {
		t.Errorf("aggregate: %+v, n %d", res, n)
	}
	session.Do(time.Time{}, &workload.Request{Verb: workload.Find, Limit: 50}, &res)
	if res.Docs != 50 || res.Bytes != 50*1168 {
		t.Errorf("scan: %+v", res)
	}
}

func TestSessionKeepsTheDeadline(t *testing.T) {
	session := open(t, Options{Service: Constant(time.Hour)})
	var res store.Result
	session.Do(time.Now().Add(5*time.Millisecond), find(t, "x"), &res)
	if res.Outcome != store.Failed || res.Reason != store.Timeout {
		t.Errorf("read: %+v", res)
	}
	session.Do(time.Now().Add(-time.Second), &workload.Request{Verb: workload.Insert}, &res)
	if res.Outcome != store.NotApplied || res.Reason != store.Timeout || res.Attempts != 0 {
		t.Errorf("insert: %+v", res)
	}
}

func TestSessionAllocatesNothing(t *testing.T) {
	session := open(t, Options{})
	req, res, deadline := find(t, "user1234567890123456789"), store.Result{}, time.Now().Add(time.Hour)
	if n := testing.AllocsPerRun(1000, func() { session.Do(deadline, req, &res) }); n != 0 {
		t.Errorf("%v allocations per read", n)
	}
}

// sink is a connection that takes everything.
type sink struct {
	net.Conn
	n int
}

func (s *sink) Write(b []byte) (int, error) { s.n += len(b); return len(b), nil }

func TestResponderAllocatesNothing(t *testing.T) {
	s := newServer("x", Options{})
	doc := bson.D{{Key: "_id", Value: "user1234567890123456789"}}
	for _, d := range []bson.D{
		{{Key: "find", Value: "usertable"}, {Key: "filter", Value: doc}, {Key: "limit", Value: 1}, {Key: "singleBatch", Value: true}, {Key: "$db", Value: "ycsb"}},
		{{Key: "insert", Value: "usertable"}, {Key: "documents", Value: bson.A{doc}}, {Key: "$db", Value: "ycsb"}},
		{{Key: "update", Value: "usertable"}, {Key: "updates", Value: bson.A{doc}}, {Key: "$db", Value: "ycsb"}},
		{{Key: "find", Value: "usertable"}, {Key: "limit", Value: 1000}, {Key: "$db", Value: "ycsb"}},
		{{Key: "hello", Value: 1}},
	} {
		c := &conn{s: s, nc: &sink{}}
		msg := message(t, d)
		if n := testing.AllocsPerRun(100, func() {
			if !c.req.parse(msg) || !c.handle() {
				t.Fatal("not answered")
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", d[0].Key, n)
		}
	}
}

func TestServiceTimes(t *testing.T) {
	const n, seed = 100_000, 42
	mean := func(f ServiceTime) float64 {
		sum := 0.0
		for i := range uint64(n) {
			sum += float64(f(i))
		}
		return sum / n
	}
	// The standard error of an exponential's mean over n draws is mean/√n, 0.3 % here; the seed is
	// fixed, so this either always passes or never does.
	if m := mean(Exponential(seed, time.Millisecond)); math.Abs(m-1e6) > 1e4 {
		t.Errorf("exponential, seed %d: mean %.0f ns, want about 1e6", seed, m)
	}
	if a, b := Exponential(1, time.Second)(7), Exponential(1, time.Second)(7); a != b {
		t.Errorf("the same number gave %v and %v", a, b)
	}
}

func TestSleeperIsNeverEarly(t *testing.T) {
	var s sleeper
	defer s.close()
	for _, d := range []time.Duration{-time.Second, 0, 20 * time.Microsecond, 700 * time.Microsecond,
		3 * time.Millisecond} {
		at := time.Now().Add(d)
		s.until(at)
		if now := time.Now(); now.Before(at) {
			t.Errorf("woke %v early from a sleep of %v", at.Sub(now), d)
		}
	}
}

func TestMessagesInPieces(t *testing.T) {
	seen := make(chan int, 3)
	s := newServer("x", Options{Capture: func(_ int, msg []byte) { seen <- len(msg) }})
	client, served := net.Pipe()
	s.admit(served)
	// One message that outgrows the buffer, then two small ones, in pieces of 1,000 bytes.
	big := message(t, bson.D{{Key: "insert", Value: "x"},
		{Key: "documents", Value: bson.A{bson.D{{Key: "b", Value: make([]byte, 3*readBuffer)}}}}})
	ping := message(t, bson.D{{Key: "ping", Value: 1}})
	all := slices.Concat(big, ping, ping)
	go func() {
		for piece := range slices.Chunk(all, 1000) {
			if _, err := client.Write(piece); err != nil {
				return // the reader below tells
			}
		}
	}()
	var replies [3][]byte
	for i := range replies {
		head := make([]byte, headerSize)
		if _, err := io.ReadFull(client, head); err != nil {
			t.Fatal(err)
		}
		replies[i] = make([]byte, binary.LittleEndian.Uint32(head)-headerSize)
		if _, err := io.ReadFull(client, replies[i]); err != nil {
			t.Fatal(err)
		}
	}
	if n := bson.Raw(replies[0][5:]).Lookup("n").Int32(); n != 1 {
		t.Errorf("insert of 1 document answered with n = %d", n)
	}
	for i, want := range []int{len(big), len(ping), len(ping)} {
		if got := <-seen; got != want {
			t.Errorf("message %d: captured %d bytes, want %d", i, got, want)
		}
	}
	client.Close()
	s.working.Wait()
}

func FuzzParse(f *testing.F) {
	f.Add(message(f, bson.D{{Key: "find", Value: "x"}, {Key: "filter", Value: bson.D{{Key: "_id", Value: 1}}},
		{Key: "limit", Value: -3.5}, {Key: "batchSize", Value: -1}}))
	f.Add(message(f, bson.D{{Key: "getMore", Value: int64(7)}, {Key: "batchSize", Value: int64(1) << 60}}))
	f.Add(message(f, bson.D{{Key: "aggregate", Value: "x"}, {Key: "cursor", Value: bson.D{{Key: "batchSize", Value: 3}}}}))
	f.Add(append(message(f, bson.D{{Key: "insert", Value: "x"}}), "\x01\x13\x00\x00\x00documents\x00\x05\x00\x00\x00\x00"...))
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xd4\x07\x00\x00\x00\x00\x00\x00a.$cmd\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00"))
	s := newServer("x", Options{})
	f.Fuzz(func(t *testing.T, msg []byte) {
		var r request
		if len(msg) < headerSize || !r.parse(msg) {
			return
		}
		reply := s.answer(nil, &r)
		at := 21
		if r.query {
			at = 36
		}
		if err := bson.Raw(reply[at:]).Validate(); err != nil {
			t.Errorf("the reply to %q is no BSON: %v", msg, err)
		}
	})
}
