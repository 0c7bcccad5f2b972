package null

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// The tests here talk to the responder through the official driver: it is the judge of what a legal
// reply is.

func start(t *testing.T, opts Options) *Responder {
	t.Helper()
	r, err := Listen(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func connect(t *testing.T, r *Responder, opts ...*options.ClientOptions) *mongo.Collection {
	t.Helper()
	all := append([]*options.ClientOptions{options.Client().ApplyURI(r.URI()).SetServerSelectionTimeout(5 * time.Second)},
		opts...)
	c, err := mongo.Connect(all...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Disconnect(context.Background()) })
	return c.Database("ycsb").Collection("usertable")
}

func TestResponderAnswersTheDriver(t *testing.T) {
	coll := connect(t, start(t, Options{Count: 12}))
	ctx := t.Context()

	doc, err := coll.FindOne(ctx, bson.D{{Key: "_id", Value: "user1234567890123456789"}}).Raw()
	if err != nil {
		t.Fatal(err)
	}
	if id := doc.Lookup("_id").StringValue(); id != "user1234567890123456789" || len(doc) != 1168 {
		t.Errorf("found _id %q with %d bytes, want the one asked for with 1168", id, len(doc))
	}
	elems, err := doc.Elements()
	if err != nil || len(elems) != 11 {
		t.Errorf("document has %d elements (%v), want 11", len(elems), err)
	}
	if r, err := coll.InsertMany(ctx, []any{bson.D{{Key: "_id", Value: 1}}, bson.D{{Key: "_id", Value: 2}}}); err != nil ||
		len(r.InsertedIDs) != 2 {
		t.Errorf("insert many: %v %v", r, err)
	}
	r, err := coll.UpdateOne(ctx, bson.D{{Key: "_id", Value: 1}}, bson.D{{Key: "$set", Value: bson.D{{Key: "a", Value: 1}}}})
	if err != nil || r.MatchedCount != 1 || r.ModifiedCount != 1 {
		t.Errorf("update: %+v %v", r, err)
	}
	if n, err := coll.CountDocuments(ctx, bson.D{}); err != nil || n != 12 {
		t.Errorf("count: %d %v", n, err)
	}
	if d, err := coll.DeleteOne(ctx, bson.D{}); err != nil || d.DeletedCount != 1 {
		t.Errorf("delete: %+v %v", d, err)
	}
	if err := coll.Drop(ctx); err != nil {
		t.Errorf("drop: %v", err)
	}
	if _, err := coll.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: "a", Value: 1}}}); err != nil {
		t.Errorf("create index: %v", err)
	}
	if names, err := coll.Database().ListCollectionNames(ctx, bson.D{}); err != nil || len(names) != 0 {
		t.Errorf("list collections: %v %v", names, err)
	}
	err = coll.Database().RunCommand(ctx, bson.D{{Key: "mapReduce", Value: "x"}}).Err()
	var ce mongo.CommandError
	if !errors.As(err, &ce) || ce.Code != 59 {
		t.Errorf("unknown command gave %v, want CommandNotFound", err)
	}
}

func TestResponderScansAcrossBatches(t *testing.T) {
	for _, limit := range []int64{2, 100, 101, 102, 350} {
		coll := connect(t, start(t, Options{}))
		filter := bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: "user1"}}}}
		cur, err := coll.Find(t.Context(), filter, options.Find().SetLimit(limit))
		if err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		for cur.Next(t.Context()) {
			if len(cur.Current) != 1168 {
				t.Fatalf("document %d has %d bytes", n, len(cur.Current))
			}
			n++
		}
		if err := cur.Err(); err != nil || n != limit {
			t.Errorf("limit %d gave %d documents, error %v", limit, n, err)
		}
	}
}

func TestResponderDoesNotAnswerUnacknowledged(t *testing.T) {
	var mu sync.Mutex
	var silent int
	r := start(t, Options{Capture: func(_ int, msg []byte) {
		if binary.LittleEndian.Uint32(msg[12:]) == opMsg && msg[16]&flagMoreToCome != 0 {
			mu.Lock()
			silent++
			mu.Unlock()
		}
	}})
	coll := connect(t, r, options.Client().SetWriteConcern(writeconcern.Unacknowledged()))
	for range 3 {
		if _, err := coll.InsertOne(t.Context(), bson.D{{Key: "_id", Value: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := coll.FindOne(t.Context(), bson.D{{Key: "_id", Value: 1}}).Raw(); err != nil {
		t.Fatal(err) // an answer to one of the inserts would be taken for this one
	}
	mu.Lock()
	defer mu.Unlock()
	if silent != 3 {
		t.Errorf("saw %d messages with moreToCome, want 3", silent)
	}
}

func TestResponderGreetsOldDrivers(t *testing.T) {
	r := start(t, Options{})
	c, err := net.Dial("tcp", r.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	query, _ := bson.Marshal(bson.D{{Key: "isMaster", Value: 1}})
	msg := make([]byte, 0, 100)
	msg = binary.LittleEndian.AppendUint32(msg, 0)
	msg = binary.LittleEndian.AppendUint32(msg, 77)
	msg = binary.LittleEndian.AppendUint32(msg, 0)
	msg = binary.LittleEndian.AppendUint32(msg, opQuery)
	msg = binary.LittleEndian.AppendUint32(msg, 0)
	msg = append(msg, "admin.$cmd\x00"...)
	msg = binary.LittleEndian.AppendUint32(msg, 0)
	msg = binary.LittleEndian.AppendUint32(msg, 0xffffffff)
	msg = append(msg, query...)
	binary.LittleEndian.PutUint32(msg, uint32(len(msg)))
	if _, err := c.Write(msg); err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 36)
	if _, err := io.ReadFull(c, head); err != nil {
		t.Fatal(err)
	}
	if id, op, n := binary.LittleEndian.Uint32(head[8:]), binary.LittleEndian.Uint32(head[12:]),
		binary.LittleEndian.Uint32(head[32:]); id != 77 || op != opReply || n != 1 {
		t.Fatalf("answer to %d, opcode %d, %d documents", id, op, n)
	}
	doc := make([]byte, binary.LittleEndian.Uint32(head)-36)
	if _, err := io.ReadFull(c, doc); err != nil {
		t.Fatal(err)
	}
	if !bson.Raw(doc).Lookup("ismaster").Boolean() {
		t.Errorf("greeting says %v", bson.Raw(doc))
	}
}

func TestResponderFails(t *testing.T) {
	retryOff := options.Client().SetRetryReads(false).SetRetryWrites(false)
	insert := func(coll *mongo.Collection) error {
		_, err := coll.InsertOne(t.Context(), bson.D{{Key: "_id", Value: 1}})
		return err
	}
	t.Run("command", func(t *testing.T) {
		coll := connect(t, start(t, Options{Fail: FailNth(Failure{Code: 91, Name: "ShutdownInProgress", Message: "bye",
			Labels: []string{"x"}}, 1)}), retryOff)
		if err := insert(coll); err != nil {
			t.Fatalf("operation 0: %v", err)
		}
		var ce mongo.CommandError
		if err := insert(coll); !errors.As(err, &ce) || ce.Code != 91 || ce.Name != "ShutdownInProgress" || !ce.HasErrorLabel("x") {
			t.Errorf("operation 1: %v", err)
		}
		if err := insert(coll); err != nil {
			t.Errorf("operation 2: %v", err)
		}
	})
	t.Run("write", func(t *testing.T) {
		coll := connect(t, start(t, Options{Fail: FailNth(Failure{Form: WriteFailure, Code: 11000, Message: "E11000"}, 0)}),
			retryOff)
		if err := insert(coll); !mongo.IsDuplicateKeyError(err) {
			t.Errorf("got %v, want a duplicate key", err)
		}
	})
	t.Run("concern", func(t *testing.T) {
		coll := connect(t, start(t, Options{Fail: FailNth(Failure{Form: ConcernFailure, Code: 64, Name: "WriteConcernTimeout",
			Docs: 1}, 0)}), retryOff)
		var we mongo.WriteException
		if err := insert(coll); !errors.As(err, &we) || we.WriteConcernError == nil || we.WriteConcernError.Code != 64 {
			t.Errorf("got %v, want a write concern error", err)
		}
	})
	t.Run("drop", func(t *testing.T) {
		coll := connect(t, start(t, Options{Fail: FailNth(Failure{Form: DropConnection}, 0)}), retryOff)
		if err := insert(coll); !mongo.IsNetworkError(err) {
			t.Errorf("got %v, want a network error", err)
		}
	})
	t.Run("no answer", func(t *testing.T) {
		coll := connect(t, start(t, Options{Fail: FailNth(Failure{Form: NoAnswer}, 0)}), retryOff)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := coll.InsertOne(ctx, bson.D{}); !mongo.IsTimeout(err) {
			t.Errorf("got %v, want a timeout", err)
		}
	})
}

func TestResponderPlaysReplicaSet(t *testing.T) {
	a, b := start(t, Options{}), start(t, Options{})
	hosts := []string{a.Addr(), b.Addr()}
	elect := func(primary string, term uint64) {
		for _, r := range []*Responder{a, b} {
			r.SetRole(Role{SetName: "rs", Hosts: hosts, Primary: primary, Term: term})
		}
	}
	elect(a.Addr(), 1)
	coll := connect(t, a, options.Client().SetHeartbeatInterval(time.Hour)) // no heartbeat tells of the election
	for i := range 2 {
		if _, err := coll.InsertOne(t.Context(), bson.D{}); err != nil {
			t.Fatalf("insert %d: %v", i, err)
		}
	}
	if a.Requests() != 2 || b.Requests() != 0 {
		t.Fatalf("inserts went to %d and %d", a.Requests(), b.Requests())
	}
	elect(b.Addr(), 2)
	if _, err := coll.InsertOne(t.Context(), bson.D{}); err != nil {
		t.Fatalf("insert after the election: %v", err)
	}
	if a.Requests() != 3 || b.Requests() != 1 {
		t.Errorf("%d operations reached the old primary and %d the new one, want the refused one and its retry", a.Requests(), b.Requests())
	}
}

func TestServiceTimeAndStallAreKept(t *testing.T) {
	type seen struct{ arrived, answered time.Time }
	var mu sync.Mutex
	var all []seen
	opts := Options{Service: Constant(3 * time.Millisecond),
		Stalls: []Window{{From: 10 * time.Millisecond, To: 60 * time.Millisecond}}}
	opts.Observe = func(_ uint64, arrived, answered time.Time) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, seen{arrived, answered})
	}
	r := start(t, opts)
	coll := connect(t, r)
	for range 8 {
		if _, err := coll.FindOne(t.Context(), bson.D{{Key: "_id", Value: "x"}}).Raw(); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for i, s := range all {
		if took := s.answered.Sub(s.arrived); took < 3*time.Millisecond {
			t.Errorf("operation %d was answered after %v, earlier than its service time", i, took)
		}
		due, at := s.arrived.Sub(r.Began())+3*time.Millisecond, s.answered.Sub(r.Began())
		if due >= 10*time.Millisecond && at < 60*time.Millisecond {
			t.Errorf("operation %d was due at %v, inside the stall, and answered at %v", i, due, at)
		}
	}
	if len(all) != 8 {
		t.Errorf("observed %d operations", len(all))
	}
}

func TestKillConnectionsAndOutage(t *testing.T) {
	r := start(t, Options{Outages: []Window{{From: time.Hour, To: 2 * time.Hour}}})
	c, err := net.Dial("tcp", r.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	hello(t, c)
	r.KillConnections()
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection lived on")
	}
	began := time.Now().Add(-90 * time.Minute) // as if the first operation was so long ago
	r.s.began.Store(&began)
	c2, err := net.Dial("tcp", r.Addr())
	if err != nil {
		return // the reset came before the connection was handed over
	}
	defer c2.Close()
	if _, err := c2.Read(make([]byte, 1)); err == nil {
		t.Error("a connection was served during the outage")
	}
}

// hello sends a greeting on c and reads the answer.
func hello(t *testing.T, c net.Conn) {
	t.Helper()
	if _, err := c.Write(message(t, bson.D{{Key: "hello", Value: 1}, {Key: "$db", Value: "admin"}})); err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 16)
	if _, err := io.ReadFull(c, head); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(io.Discard, c, int64(binary.LittleEndian.Uint32(head))-16); err != nil {
		t.Fatal(err)
	}
}

// message makes an OP_MSG of one body section.
func message(t testing.TB, d bson.D) []byte {
	t.Helper()
	body, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	msg := binary.LittleEndian.AppendUint32(nil, uint32(21+len(body)))
	msg = binary.LittleEndian.AppendUint32(msg, 5)
	msg = binary.LittleEndian.AppendUint32(msg, 0)
	msg = binary.LittleEndian.AppendUint32(msg, opMsg)
	msg = binary.LittleEndian.AppendUint32(msg, 0)
	return append(append(msg, 0), body...)
}

func TestServeEndsWithItsContext(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- Serve(ctx, ln, Options{Service: Constant(time.Hour)}) }()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	hello(t, c)
	// An operation that waits for its service time must not hold up the end.
	if _, err := c.Write(message(t, bson.D{{Key: "find", Value: "x"}, {Key: "$db", Value: "x"}})); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestDue(t *testing.T) {
	began := time.Now()
	s := newServer("x", Options{Service: Constant(2 * time.Second),
		Stalls: []Window{{From: 10 * time.Second, To: 20 * time.Second}}})
	s.began.Store(&began)
	got := map[int]int{}
	want := map[int]int{0: 2, 7: 9, 8: 20, 15: 20, 17: 20, 18: 20, 19: 21}
	for at := range want {
		got[at] = int(s.due(0, began.Add(time.Duration(at)*time.Second)).Sub(began) / time.Second)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("seconds of arrival → answer (-want +got):\n%s", diff)
	}
}
