package store

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/workload"
)

// commands replies by command name and keeps the commands.
type commands struct {
	answers map[string]any // bson.D or error
	asked   []bson.Raw
}

func (c *commands) RunCommand(_ context.Context, db string, cmd []byte) ([]byte, error) {
	c.asked = append(c.asked, cmd)
	elements, err := bson.Raw(cmd).Elements()
	if err != nil {
		return nil, err
	}
	switch a := c.answers[elements[0].Key()].(type) {
	case error:
		return nil, a
	case bson.D:
		reply, err := bson.Marshal(a)
		if err == nil {
			err = CheckReply(reply)
		}
		return reply, err
	case []byte:
		return a, nil
	}
	return nil, &ServerError{Code: 59, Message: "no such command"}
}

var ok = bson.E{Key: "ok", Value: 1.0}

func TestServerInfo(t *testing.T) {
	c := &commands{answers: map[string]any{
		"hello": bson.D{{Key: "setName", Value: "rs"}, {Key: "hosts", Value: bson.A{"b:1", "a:1"}}, {Key: "passives", Value: bson.A{"c:1"}},
			{Key: "maxWireVersion", Value: 21}, ok},
		"buildInfo": bson.D{{Key: "version", Value: "7.0.1"}, {Key: "psmdbVersion", Value: "7.0.1-1"}, ok},
		"getCmdLineOpts": bson.D{{Key: "parsed", Value: bson.D{
			{Key: "storage", Value: bson.D{{Key: "dbPath", Value: "/d"},
				{Key: "wiredTiger", Value: bson.D{{Key: "engineConfig", Value: bson.D{{Key: "cacheSizeGB", Value: 2.5}}}}}}},
			{Key: "security", Value: bson.D{{Key: "keyFile", Value: "/secret"}}}}}, ok},
		"getParameter": bson.D{{Key: "journalCommitInterval", Value: 100}, {Key: "featureCompatibilityVersion", Value: bson.D{{Key: "version", Value: "7.0"}}}, ok},
		"replSetGetConfig": bson.D{{Key: "config", Value: bson.D{{Key: "_id", Value: "rs"}, {Key: "term", Value: 7}, {Key: "writeConcernMajorityJournalDefault", Value: true},
			{Key: "members", Value: bson.A{bson.D{{Key: "host", Value: "a:1"}, {Key: "priority", Value: 2}, {Key: "votes", Value: 1}}}}}}, ok},
		"getDefaultRWConcern": bson.D{{Key: "defaultWriteConcern", Value: bson.D{{Key: "w", Value: "majority"}, {Key: "wtimeout", Value: 0}}}, ok},
		"serverStatus": bson.D{{Key: "storageEngine", Value: bson.D{{Key: "name", Value: "wiredTiger"}, {Key: "persistent", Value: true}}},
			{Key: "wiredTiger", Value: bson.D{{Key: "cache", Value: bson.D{{Key: "maximum bytes configured", Value: int64(1 << 30)}}}}}, ok},
	}}
	want := Info{Kind: "mongod", Version: "7.0.1", Topology: "replica set", SetName: "rs", Hosts: []string{"a:1", "b:1", "c:1"},
		Settings: map[string]string{
			"maxWireVersion": "21", "distribution": "Percona Server for MongoDB 7.0.1-1", "storage.dbPath": "/d",
			"storage.wiredTiger.engineConfig.cacheSizeGB": "2.5", "parameter journalCommitInterval": "100",
			"parameter featureCompatibilityVersion.version": "7.0", "defaultWriteConcern.w": "majority", "defaultWriteConcernSource": "global",
			"replica-set.writeConcernMajorityJournalDefault": "true", "replica-set.members.0.priority": "2", "replica-set.members.0.votes": "1",
			"defaultWriteConcern.wtimeout": "0", "storage engine": "wiredTiger", "storage engine persistent": "true",
			"wiredTiger cache bytes": "1073741824",
		}}
	if d := cmp.Diff(want, ServerInfo(t.Context(), c, "d")); d != "" {
		t.Error(d)
	}
}

func TestServerInfoOfOthers(t *testing.T) {
	c := &commands{answers: map[string]any{
		"hello":        bson.D{{Key: "isWritablePrimary", Value: true}, ok},
		"buildInfo":    bson.D{{Key: "version", Value: "7.0.77"}, {Key: "ferretdb", Value: bson.D{{Key: "version", Value: "v2.7.0"}}}, ok},
		"serverStatus": errors.New("mongodb://joe:secret@h broke"),
	}}
	info := ServerInfo(t.Context(), c, "d")
	if info.Kind != "ferretdb" || info.Version != "v2.7.0" || info.Topology != "standalone" || info.Settings["imitated version"] != "7.0.77" {
		t.Errorf("%+v", info)
	}
	if notes := strings.Join(info.Notes, "\n"); len(info.Notes) != 2 || strings.Contains(notes, "secret") ||
		!strings.Contains(notes, "getCmdLineOpts") {
		t.Errorf("notes %q", info.Notes)
	}
	c.answers = map[string]any{"hello": bson.D{{Key: "msg", Value: "isdbgrid"}, ok}}
	if info := ServerInfo(t.Context(), c, "d"); info.Kind != "mongos" || info.Topology != "sharded" {
		t.Errorf("%+v", info)
	}
}

// The profiler and the parameters that differ from a server's defaults are settings, because they cost time.
func TestServerInfoHasTheProfiler(t *testing.T) {
	for want, reply := range map[string]bson.D{
		"":                                    {{Key: "was", Value: 0}, {Key: "slowms", Value: 100}, {Key: "sampleRate", Value: 1.0}, ok},
		"level 2, slowms 100, sampleRate 1":   {{Key: "was", Value: 2}, {Key: "slowms", Value: 100}, {Key: "sampleRate", Value: 1.0}, ok},
		"level 0, slowms -1, sampleRate 0.25": {{Key: "was", Value: 0}, {Key: "slowms", Value: -1}, {Key: "sampleRate", Value: 0.25}, ok},
	} {
		c := &commands{answers: map[string]any{
			"hello": bson.D{{Key: "isWritablePrimary", Value: true}, ok}, "buildInfo": bson.D{{Key: "version", Value: "7.0.1"}, ok}, "profile": reply,
			"getCmdLineOpts": bson.D{{Key: "parsed", Value: bson.D{{Key: "setParameter", Value: bson.D{{Key: "cursorTimeoutMillis", Value: 5}}}}}, ok}}}
		info := ServerInfo(t.Context(), c, "d")
		if info.Settings["profiler"] != want || info.Settings["setParameter.cursorTimeoutMillis"] != "5" {
			t.Errorf("%q: %q", want, info.Settings)
		}
	}
}

func TestCountDocuments(t *testing.T) {
	batch := func(docs ...bson.D) bson.D {
		return bson.D{{Key: "cursor", Value: bson.D{{Key: "firstBatch", Value: docs}}}, ok}
	}
	for _, tc := range []struct {
		answer any
		want   int64
		fails  bool
	}{
		{batch(bson.D{{Key: "n", Value: int32(7)}}), 7, false},
		{batch(bson.D{{Key: "n", Value: int64(1 << 40)}}), 1 << 40, false},
		{batch(bson.D{{Key: "n", Value: 3.0}}), 3, false},
		{batch([]bson.D{}...), 0, false},
		{bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: 26}, {Key: "errmsg", Value: "ns does not exist"}}, 0, false},
		{bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: 13}, {Key: "errmsg", Value: "no"}}, 0, true},
		{batch(bson.D{{Key: "n", Value: "many"}}), 0, true},
		{bson.D{ok}, 0, true},
		{[]byte{1, 2, 3}, 0, true},
		{errors.New("broken"), 0, true},
	} {
		n, err := CountDocuments(t.Context(), &commands{answers: map[string]any{"aggregate": tc.answer}}, "db", "c")
		if n != tc.want || (err != nil) != tc.fails {
			t.Errorf("%v: %d, %v", tc.answer, n, err)
		}
	}
}

func TestDropCollection(t *testing.T) {
	for _, tc := range []struct {
		answer any
		fails  bool
	}{
		{bson.D{ok}, false},
		{bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: 26}, {Key: "errmsg", Value: "ns not found"}}, false},
		{bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: 13}}, true},
		{bson.D{ok, {Key: "writeConcernError", Value: bson.D{{Key: "code", Value: 64}}}}, true},
	} {
		if err := DropCollection(t.Context(), &commands{answers: map[string]any{"drop": tc.answer}}, "db",
			"c"); (err != nil) != tc.fails {
			t.Errorf("%v: %v", tc.answer, err)
		}
	}
}

func TestEnsureIndexes(t *testing.T) {
	keys, err := bson.Marshal(bson.D{{Key: "a", Value: 1}})
	if err != nil {
		t.Fatal(err)
	}
	c := &commands{answers: map[string]any{"createIndexes": bson.D{ok}}}
	if err := EnsureIndexes(t.Context(), c, "db", []workload.Index{{Collection: "c", Name: "a_1", Keys: keys}}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(`{"createIndexes": "c","indexes": [{"key": {"a": {"$numberInt":"1"}},"name": "a_1"}]}`, c.asked[0].String()); d != "" {
		t.Error(d)
	}
	c.answers["createIndexes"] = &ServerError{Code: 85, Message: "other options"}
	if err := EnsureIndexes(t.Context(), c, "db", []workload.Index{{Collection: "c", Name: "a_1",
		Keys: keys}}); err == nil || !strings.Contains(err.Error(), "a_1 on db.c") {
		t.Errorf("%v", err)
	}
}

func FuzzCheckReply(f *testing.F) {
	for _, d := range []bson.D{{ok}, {{Key: "ok", Value: 0}, {Key: "code", Value: 1}, {Key: "errorLabels", Value: bson.A{"x"}}}} {
		b, err := bson.Marshal(d)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(_ *testing.T, reply []byte) {
		_ = CheckReply(reply)
		c := &commands{answers: map[string]any{}}
		for _, name := range []string{"hello", "buildInfo", "getCmdLineOpts", "getParameter", "getDefaultRWConcern", "serverStatus"} {
			c.answers[name] = reply
		}
		_ = ServerInfo(context.Background(), c, "d")
	})
}
