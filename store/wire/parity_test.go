package wire_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/mongo"
	"github.com/plimsoll-bench/plimsoll/store/null"
	"github.com/plimsoll-bench/plimsoll/store/storetest"
	"github.com/plimsoll-bench/plimsoll/store/wire"
	"github.com/plimsoll-bench/plimsoll/workload"
)

func openWire(ctx context.Context, cfg store.Config) (store.Store, error) { return wire.Open(ctx, cfg) }

// openDriver opens the official driver without retries: txnNumber, which retryable writes add, is the
// one difference between the two clients.
func openDriver(ctx context.Context, cfg store.Config) (store.Store, error) {
	cfg.Target += "&retryWrites=false"
	return mongo.Open(ctx, cfg, mongo.Options{})
}

func TestConformance(t *testing.T) {
	r, err := null.Listen(null.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	storetest.RunURI(t, r.URI(), storetest.Caps{Discards: true}, openWire)
}

// TestSameBytesAsTheDriver sends the same requests through both clients and compares every message of
// theirs byte by byte, but for what is random or depends on the clock.
func TestSameBytesAsTheDriver(t *testing.T) {
	yes, no := true, false
	member := null.Role{SetName: "rs"}
	for name, tc := range map[string]struct {
		role    null.Role
		options string
		concern store.Concern
	}{
		"standalone":              {},
		"w:1":                     {concern: store.Concern{W: "1"}},
		"w:0":                     {concern: store.Concern{W: "0"}},
		"w:0 j:false":             {concern: store.Concern{W: "0", Journal: &no}},
		"majority, journaled":     {role: member, concern: store.Concern{W: "majority", Journal: &yes, Read: "majority"}},
		"tag, preference nearest": {role: member, concern: store.Concern{W: "dc", Preference: "nearest"}},
		"from the address":        {role: member, options: "&w=2&journal=false&readConcernLevel=local&readPreference=secondaryPreferred"},
		"direct to a member":      {role: member, options: "&directConnection=true"},
		"preference, standalone":  {concern: store.Concern{Preference: "secondary"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := store.Config{Database: "db", Concern: tc.concern, Sessions: 1, Timeout: 10 * time.Second}
			driver := record(t, tc.role, tc.options, cfg, openDriver)
			ours := record(t, tc.role, tc.options, cfg, openWire)
			if len(driver) != len(ours) {
				t.Errorf("the driver sends %d messages, wire %d", len(driver), len(ours))
			}
			for i := range min(len(driver), len(ours)) {
				if !bytes.Equal(driver[i].bytes, ours[i].bytes) {
					t.Errorf("message %d (%s), driver − wire +:\n%s", i, driver[i].name, cmp.Diff(hex.Dump(driver[i].bytes), hex.Dump(ours[i].bytes)))
				}
			}
		})
	}
}

// message is one message as it arrived, with what cannot be the same zeroed.
type message struct {
	name  string
	bytes []byte
}

// record runs all requests through a client and returns the messages that a responder got.
func record(t *testing.T, role null.Role, options string, cfg store.Config,
	open func(context.Context, store.Config) (store.Store, error)) []message {
	t.Helper()
	var mu sync.Mutex
	var seen []message
	r, err := null.Listen(null.Options{Role: role, Capture: func(_ int, msg []byte) {
		mu.Lock()
		defer mu.Unlock()
		if m, ok := mask(msg); ok {
			seen = append(seen, m)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if role.SetName != "" {
		role.Primary = r.Addr()
		r.SetRole(role)
	}
	cfg.Target = r.URI() + options
	s, err := open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	session, err := s.Session(0)
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	seen = nil // a client may try the target when it opens it
	mu.Unlock()
	requests := parityRequests(t)
	if cfg.Concern.W != "0" { // with which hints and transactions are refused
		requests = append(requests, ownRequests(t, role.SetName != "")...)
	}
	for _, req := range requests {
		var res store.Result
		session.Do(time.Now().Add(30*time.Second), req, &res)
		if !res.Outcome.Success() {
			t.Errorf("%v: %+v", req.Verb, res)
		}
	}
	_ = session.Close()
	_ = s.Close()
	_ = r.Close() // ends the recording
	mu.Lock()
	defer mu.Unlock()
	return seen
}

// mask copies a message of the load and zeroes the request id, the session's id and maxTimeMS. ok is
// false for greetings and other messages that are not part of the load.
func mask(msg []byte) (m message, ok bool) {
	const body = 16 + 4 + 1
	if len(msg) < body+5 || binary.LittleEndian.Uint32(msg[12:]) != 2013 {
		return m, false
	}
	m.bytes = bytes.Clone(msg)
	clear(m.bytes[4:8])
	doc := bson.Raw(m.bytes[body:][:binary.LittleEndian.Uint32(m.bytes[body:])])
	elements, err := doc.Elements()
	if err != nil {
		return m, false
	}
	m.name = elements[0].Key()
	for _, e := range elements {
		switch v := e.Value(); e.Key() {
		case "lsid":
			_, id := v.Document().Lookup("id").Binary()
			clear(id)
		case "maxTimeMS":
			clear(v.Value)
		}
	}
	switch m.name {
	case "find", "getMore", "insert", "update", "aggregate", "delete", "findAndModify", "distinct", "commitTransaction",
		"abortTransaction":
		return m, true
	}
	return m, false
}

// parityRequests are requests of all kinds that workloads make.
func parityRequests(t *testing.T) []*workload.Request {
	doc := func(v any) []byte {
		b, err := bson.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	id := doc(bson.D{{Key: "_id", Value: "user1"}})
	set := doc(bson.D{{Key: "$set", Value: bson.D{{Key: "a", Value: 1}}}})
	replacement := doc(bson.D{{Key: "_id", Value: "user1"}, {Key: "b", Value: 2}})
	from := doc(bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: "user1"}}}})
	up := doc(bson.D{{Key: "_id", Value: 1}})
	_, pipeline, err := bson.MarshalValue(bson.A{bson.D{{Key: "$match", Value: bson.D{{Key: "a", Value: 1}}}}})
	if err != nil {
		t.Fatal(err)
	}
	var many [][]byte
	for i := range 250 {
		many = append(many, doc(bson.D{{Key: "_id", Value: fmt.Sprint("user", i)}, {Key: "v", Value: make([]byte, 100)}}))
	}
	statements := []workload.Statement{{Filter: id, Update: set}, {Filter: id, Update: replacement, Upsert: true},
		{Filter: id, Update: set, Upsert: true}}
	const c = "usertable"
	return []*workload.Request{
		{Verb: workload.Find, Collection: c, Filter: id, Limit: 1},
		{Verb: workload.Find, Collection: c, Filter: id, Limit: 1, Projection: up, Sort: up, Skip: 2},
		{Verb: workload.Find, Collection: c, Filter: from, Sort: up, Limit: 50},
		{Verb: workload.Find, Collection: c, Filter: from, Sort: up, Projection: up, Skip: 7, Limit: 250},
		{Verb: workload.Find, Collection: c, Filter: from},
		{Verb: workload.Insert, Collection: c, Docs: many[:1]},
		{Verb: workload.Insert, Collection: c, Docs: many},
		{Verb: workload.Insert, Collection: c, Docs: many[:2], Unordered: true},
		{Verb: workload.Update, Collection: c, Updates: statements[:1]},
		{Verb: workload.Update, Collection: c, Updates: statements[1:2]},
		{Verb: workload.Update, Collection: c, Updates: statements[2:]},
		{Verb: workload.Update, Collection: c, Updates: statements},
		{Verb: workload.Update, Collection: c, Updates: statements[:2], Unordered: true},
		{Verb: workload.Aggregate, Collection: c, Pipeline: pipeline},
	}
}

// ownRequests are requests of all kinds that workload files make.
func ownRequests(t *testing.T, transactions bool) []*workload.Request {
	doc := func(v any) []byte {
		b, err := bson.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	array := func(v ...any) []byte {
		_, b, err := bson.MarshalValue(bson.A(v))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	const c = "things"
	yes := true
	id, up := doc(bson.D{{Key: "_id", Value: 1}}), doc(bson.D{{Key: "a", Value: -1}})
	set := doc(bson.D{{Key: "$set", Value: bson.D{{Key: "a.$[x]", Value: 1}}}})
	output := array(bson.D{{Key: "$match", Value: bson.D{}}}, bson.D{{Key: "$merge", Value: bson.D{{Key: "into", Value: "sums"}}}})
	fromPrimary := &workload.Concern{Preference: "primary"}
	writing := &workload.Concern{W: "majority", Read: "majority", Preference: "primary"}
	stages := array(bson.D{{Key: "$set", Value: bson.D{{Key: "a", Value: 1}}}})
	filters := array(bson.D{{Key: "x", Value: 1}})
	index := workload.Value{Kind: 0x03, Data: up}
	named := workload.Value{Kind: 0x02, Data: []byte("\x04\x00\x00\x00a_1\x00")}
	collation := doc(bson.D{{Key: "locale", Value: "de"}, {Key: "strength", Value: int32(2)}})
	one := []workload.Statement{{Filter: id, Update: set, ArrayFilters: filters}}
	removal := []workload.Statement{{Filter: id}}
	all := []workload.Statement{{Filter: id, Many: true}, {Filter: up, Many: true}}
	many := []workload.Statement{{Filter: id, Update: stages, Stages: true, Many: true}}
	mixed := []workload.Statement{{Filter: id, Update: stages, Stages: true}, {Filter: id, Update: up, Upsert: true}}
	concern := &workload.Concern{W: "majority", Journal: &yes, Read: "majority", Preference: "primaryPreferred"}
	list := []*workload.Request{
		{Verb: workload.Find, Collection: c, Filter: id, Limit: 1, Hint: index, Collation: collation},
		{Verb: workload.Find, Collection: c, Filter: id, Limit: 5, Hint: named, Concern: concern},
		{Verb: workload.Find, Collection: c, Filter: id, Limit: 1, Concern: concern},
		{Verb: workload.Aggregate, Collection: c, Pipeline: stages, Hint: named, Collation: collation, Concern: concern},
		{Verb: workload.Aggregate, Collection: c, Pipeline: output, Out: true, Concern: fromPrimary},
		{Verb: workload.Aggregate, Collection: c, Pipeline: output, Out: true, Concern: writing},
		{Verb: workload.Distinct, Collection: c, Key: "a", Filter: id, Collation: collation},
		{Verb: workload.Delete, Collection: c, Updates: removal, Collation: collation},
		{Verb: workload.Delete, Collection: c, Updates: all},
		{Verb: workload.Delete, Collection: c, Updates: all[:1], Concern: concern},
		{Verb: workload.Update, Collection: c, Updates: one, Collation: collation},
		{Verb: workload.Update, Collection: c, Updates: many, Concern: concern},
		{Verb: workload.Update, Collection: c, Updates: mixed, Unordered: true},
		{Verb: workload.FindAndModify, Collection: c, Updates: one, Sort: up, Projection: up, New: true},
		{Verb: workload.FindAndModify, Collection: c, Updates: mixed[1:], Concern: concern},
		{Verb: workload.FindAndModify, Collection: c, Updates: removal, Remove: true, Sort: up},
		{Verb: workload.FindAndModify, Collection: c, Updates: mixed[:1], Collation: collation},
	}
	if !transactions {
		return list
	}
	for _, concern := range []*workload.Concern{nil, concern} {
		for _, end := range []workload.Verb{workload.Commit, workload.Abort} {
			list = append(list,
				&workload.Request{Verb: workload.Find, Collection: c, Filter: id, Limit: 1, Starts: true, Within: true,
					Concern: concern},
				&workload.Request{Verb: workload.Update, Collection: c, Updates: one, Within: true, Concern: concern},
				&workload.Request{Verb: workload.Insert, Collection: c, Docs: [][]byte{id}, Within: true, Concern: concern},
				&workload.Request{Verb: workload.Aggregate, Collection: c, Pipeline: stages, Within: true, Concern: concern},
				&workload.Request{Verb: workload.FindAndModify, Collection: c, Updates: one, Within: true, Concern: concern},
				&workload.Request{Verb: end, Concern: concern})
		}
	}
	return list
}
