package mongo_test

import (
	"bytes"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/mongo"
	"github.com/plimsoll-bench/plimsoll/store/null"
	"github.com/plimsoll-bench/plimsoll/workload"
)

func TestOpenSaysWhatToCheck(t *testing.T) {
	unauthorised := func(code int32) *null.Responder {
		return listen(t, null.Options{Fail: func(uint64, string) *null.Failure {
			return &null.Failure{Code: code, Name: "x", Message: "not authorized on ycsb to execute command"}
		}})
	}
	for _, c := range []struct {
		name    string
		cfg     store.Config
		mention string
	}{
		{"nobody listens", store.Config{Target: "mongodb://127.0.0.1:1"}, "127.0.0.1:1"},
		{"no right to read", store.Config{Target: unauthorised(13).URI()}, "grant"},
		{"another error", store.Config{Target: unauthorised(1).URI()}, "healthy"},
		{"unknown preference", store.Config{Target: "mongodb://x", Concern: store.Concern{Preference: "second"}}, "secondaryPreferred"},
		{"journal without answer", store.Config{Target: "mongodb://x", Concern: store.Concern{W: "0", Journal: new(true)}}, "w:1"},
		{"negative w", store.Config{Target: "mongodb://x", Concern: store.Concern{W: "-1"}}, "w:-1"},
		{"no address", store.Config{Target: "localhost"}, "mongodb://"},
	} {
		c.cfg.Database, c.cfg.Timeout = "ycsb", 500*time.Millisecond
		if _, err := mongo.Open(t.Context(), c.cfg, mongo.Options{}); err == nil ||
			!strings.Contains(err.Error(), c.mention) {
			t.Errorf("%s: %v, want a text with %q", c.name, err, c.mention)
		}
	}
	if _, err := mongo.Open(t.Context(), store.Config{Target: "mongodb://x"}, mongo.Options{}); err == nil {
		t.Error("no database: no error")
	}
}

// captured keeps the commands of one kind that a responder got.
type captured struct {
	mu   sync.Mutex
	docs map[string]bson.Raw
}

func (c *captured) see(_ int, msg []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(msg) < 26 || msg[20] != 0 {
		return
	}
	body := bson.Raw(append([]byte(nil), msg[21:]...))
	size := int(body[0]) | int(body[1])<<8 | int(body[2])<<16
	if size > len(body) {
		return
	}
	if first, err := body[:size].IndexErr(0); err == nil {
		c.docs[first.Key()] = body[:size]
	}
}

func TestConcernsAreSent(t *testing.T) {
	seen := captured{docs: map[string]bson.Raw{}}
	r := replicaSet(t, null.Options{Capture: seen.see}) // to a standalone server no preference is sent
	// The concern overrides the address.
	uri := r.URI() + "&w=1&readConcernLevel=local&readPreference=primary"
	concern := store.Concern{W: "majority", Journal: new(true), Read: "majority", Preference: "nearest"}
	s, session := connect(t, uri, concern, mongo.Options{})
	var res store.Result
	for _, req := range []*workload.Request{insertOf(t, 1), updateOf(t, 1), readOf(t)} {
		if session.Do(time.Now().Add(10*time.Second), req, &res); res.Outcome != store.OK {
			t.Fatalf("%s: %+v", req.Verb, res)
		}
	}
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.Settings["client write concern"] != "w:majority j:true" || info.Settings["client read concern"] != "majority" {
		t.Errorf("info says %v", info.Settings)
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	got := map[string]string{
		"insert":     seen.docs["insert"].Lookup("writeConcern").String(),
		"update":     seen.docs["update"].Lookup("writeConcern").String(),
		"find":       seen.docs["find"].Lookup("readConcern").String(),
		"preference": seen.docs["find"].Lookup("$readPreference", "mode").StringValue(),
	}
	wc := `{"w": "majority","j": true}`
	want := map[string]string{"insert": wc, "update": wc, "find": `{"level": "majority"}`, "preference": "nearest"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWorkersShareClients(t *testing.T) {
	r := listen(t, null.Options{})
	for _, c := range []struct {
		uri           string
		opts          mongo.Options
		sessions      int
		clients, pool string
	}{
		{"", mongo.Options{}, 1, "1", "2"},
		{"", mongo.Options{WorkersPerClient: 10}, 25, "3", "18"},
		{"&maxPoolSize=4", mongo.Options{WorkersPerClient: 10}, 10, "1", "4"},
	} {
		s, err := mongo.Open(t.Context(), store.Config{Target: r.URI() + c.uri, Database: "x", Sessions: c.sessions,
			Timeout: 10 * time.Second}, c.opts)
		if err != nil {
			t.Fatal(err)
		}
		info, err := s.Info(t.Context())
		if err != nil {
			t.Error(err)
		}
		if info.Settings["client count"] != c.clients || info.Settings["client maxPoolSize"] != c.pool {
			t.Errorf("%d sessions, %+v%s: %s clients with pools of %s", c.sessions, c.opts, c.uri, info.Settings["client count"], info.Settings["client maxPoolSize"])
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestDatabaseOfTheAddressIsUsed(t *testing.T) {
	seen := captured{docs: map[string]bson.Raw{}}
	r := listen(t, null.Options{Capture: seen.see})
	s, err := mongo.Open(t.Context(), store.Config{Target: "mongodb://" + r.Addr() + "/my%20db?directConnection=true", Timeout: 10 * time.Second}, mongo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if db := seen.docs["find"].Lookup("$db").StringValue(); db != "my db" {
		t.Errorf("the probe went to %q", db)
	}
}

func TestEventsTellOfAnElection(t *testing.T) {
	a, b := listen(t, null.Options{}), listen(t, null.Options{})
	elect := func(primary *null.Responder, term uint64) {
		for _, r := range []*null.Responder{a, b} {
			r.SetRole(null.Role{SetName: "rs", Hosts: []string{a.Addr(), b.Addr()}, Primary: primary.Addr(), Term: term})
		}
	}
	elect(a, 1)
	var mu sync.Mutex
	primaries := []string{}
	kinds := map[string]bool{}
	_, session := connect(t, a.URI()+"&heartbeatFrequencyMS=500", store.Concern{},
		mongo.Options{OnEvent: func(kind, text string, data map[string]string) {
			mu.Lock()
			defer mu.Unlock()
			kinds[kind] = true
			if kind == mongo.EventPrimary && data["to"] != "" {
				primaries = append(primaries, data["to"])
			}
			if text == "" {
				t.Errorf("%s without text", kind)
			}
		}})
	var res store.Result
	session.Do(time.Now().Add(10*time.Second), insertOf(t, 1), &res)
	elect(b, 2)
	session.Do(time.Now().Add(20*time.Second), insertOf(t, 1), &res)
	if res.Outcome != store.OK || res.Attempts != 2 {
		t.Errorf("insert during the election: %+v", res)
	}
	b.KillConnections()
	session.Do(time.Now().Add(20*time.Second), insertOf(t, 1), &res)
	if res.Outcome != store.OK {
		t.Errorf("insert after lost connections: %+v", res)
	}
	mu.Lock()
	defer mu.Unlock()
	// Between the two there may be moments without a primary, and the last one may be found again.
	if len(primaries) < 2 || primaries[0] != a.Addr() || primaries[len(primaries)-1] != b.Addr() {
		t.Errorf("primaries %v, want %s, then %s", primaries, a.Addr(), b.Addr())
	}
	for _, kind := range []string{mongo.EventKnown, mongo.EventUnknown, mongo.EventPoolCleared} {
		if !kinds[kind] {
			t.Errorf("no event %s, only %v", kind, kinds)
		}
	}
}

// TestCloseEndsOperations closes a store while an operation waits for a server. Without the end of its context, the
// driver would poll a closed channel until the deadline.
func TestCloseEndsOperations(t *testing.T) {
	r := listen(t, null.Options{})
	s, err := mongo.Open(t.Context(), store.Config{Target: r.URI(), Database: "ycsb", Timeout: time.Hour}, mongo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	session, err := s.Session(0)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	ended := make(chan store.Outcome)
	go func() {
		var res store.Result
		find := workload.Request{Verb: workload.Find, Collection: "usertable", Filter: []byte{5, 0, 0, 0, 0}, Limit: 1}
		session.Do(time.Now().Add(time.Hour), &find, &res)
		ended <- res.Outcome
	}()
	stacks := make([]byte, 1<<20)
	for !bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("selectServerFromSubscription")) {
		time.Sleep(time.Millisecond)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if got := <-ended; got.Success() {
		t.Errorf("an operation without a server ended as %v", got)
	}
}
