package wire

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// replicaSet is a set of fakes of which one is primary. Its fields are changed under the network's
// lock.
type replicaSet struct {
	n       *network
	hosts   []string
	members map[string]*fake
	primary string
	term    byte
	writes  map[string]int
	reads   map[string]int
}

func newReplicaSet(n *network, hosts ...string) *replicaSet {
	rs := &replicaSet{n: n, hosts: hosts, members: map[string]*fake{}, primary: hosts[0], term: 1,
		writes: map[string]int{}, reads: map[string]int{}}
	for _, h := range hosts {
		rs.members[h] = n.add(h, &fake{
			hello:  func() bson.D { return setMember(h, rs.primary == h, rs.term, hosts...) },
			answer: func(c *call) any { return rs.answer(h, c) },
		})
	}
	return rs
}

func (rs *replicaSet) answer(h string, c *call) any {
	if c.name == "find" {
		rs.reads[h]++
		return found(bson.D{{Key: "_id", Value: 1}})
	}
	if rs.primary != h {
		return refusal(10107, "NotWritablePrimary")
	}
	rs.writes[h]++
	return wrote(1)
}

func (rs *replicaSet) elect(host string) {
	rs.n.set(func() { rs.primary = host; rs.term++ })
}

func insertWithin(t *testing.T, s store.Session, timeout time.Duration) store.Result {
	t.Helper()
	var res store.Result
	s.Do(time.Now().Add(timeout), insertRequest(t, 1), &res)
	return res
}

func TestStepDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		rs := newReplicaSet(n, "a:1", "b:2", "c:3")
		s, stop := n.session(store.Config{Target: "mongodb://a:1,b:2/?replicaSet=rs"})
		defer stop()
		if res := insertWithin(t, s, time.Second); res.Outcome != store.OK {
			t.Fatalf("before: %+v", res)
		}
		rs.elect("c:3") // not in the address: it is known from the set's own list
		if res := insertWithin(t, s, time.Second); res.Outcome != store.NotApplied || res.Code != 10107 || res.Attempts != 1 {
			t.Errorf("first write after the election: %+v", res)
		}
		if res := insertWithin(t, s, time.Second); res.Outcome != store.OK {
			t.Errorf("second write after the election: %+v", res)
		}
		if rs.writes["c:3"] != 1 {
			t.Errorf("writes: %v", rs.writes)
		}
	})
}

func TestPrimaryDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		rs := newReplicaSet(n, "a:1", "b:2")
		s, stop := n.session(store.Config{Target: "mongodb://a:1,b:2/?replicaSet=rs"})
		defer stop()
		n.kill(rs.members["a:1"])
		rs.elect("")
		if res := insertWithin(t, s, time.Second); res.Outcome == store.OK {
			t.Fatalf("write to a dead primary: %+v", res)
		}
		began := time.Now()
		res := insertWithin(t, s, 2*time.Second)
		if res.Outcome != store.NotApplied || res.Reason != store.Selection || res.Attempts != 0 ||
			time.Since(began) > 2300*time.Millisecond {
			t.Errorf("without a primary, after %v: %+v", time.Since(began), res)
		}
		for _, part := range []string{"a:1: cannot connect", "b:2: is a secondary"} {
			if !strings.Contains(res.Message, part) {
				t.Errorf("message %q does not say %q", res.Message, part)
			}
		}
		time.AfterFunc(3*time.Second, func() { rs.elect("b:2") })
		began = time.Now()
		res = insertWithin(t, s, 10*time.Second)
		if took := time.Since(began); res.Outcome != store.OK || took > 3*time.Second+2*probePauseMax {
			t.Errorf("new primary after 3 s used after %v: %+v", took, res)
		}
		if res.PoolWait < 3*time.Second || res.PoolWait > 4*time.Second {
			t.Errorf("waited %v for a connection", res.PoolWait)
		}
	})
}

// TestServerBehindAHole: connections that were opened while a server could not be reached hang for ever. The server is
// found soon after it can be reached all the same.
func TestServerBehindAHole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		f := n.add("h:27017", &fake{hello: standalone, answer: document(wrote(1))})
		s, stop := n.session(store.Config{Target: "mongodb://h"})
		defer stop()
		n.set(func() { f.hangs = true })
		const after = 3100 * time.Millisecond
		time.AfterFunc(after, func() { n.set(func() { f.hangs = false }) })
		began := time.Now()
		if res := insertWithin(t, s, time.Second); res.Outcome != store.Indeterminate || res.Reason != store.Timeout {
			t.Fatalf("write to a server that does not answer: %+v", res)
		}
		res := insertWithin(t, s, 20*time.Second)
		if took := time.Since(began); res.Outcome != store.OK || took > after+2*greetAgain {
			t.Errorf("the server answers again after %v and is used after %v: %+v", after, took, res)
		}
	})
}

// TestOldPrimaryIsNotBelieved: after a partition the old primary may think for a while that it still is
// one.
func TestOldPrimaryIsNotBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		rs := newReplicaSet(n, "a:1", "b:2")
		s, stop := n.session(store.Config{Target: "mongodb://a:1,b:2/?replicaSet=rs"})
		defer stop()
		rs.elect("b:2")
		insertWithin(t, s, time.Second)
		if res := insertWithin(t, s, time.Second); res.Outcome != store.OK {
			t.Fatalf("%+v", res)
		}
		n.set(func() { rs.members["a:1"].hello = func() bson.D { return setMember("a:1", true, 1, rs.hosts...) } })
		n.kill(rs.members["b:2"])
		insertWithin(t, s, time.Second)
		if res := insertWithin(t, s, time.Second); res.Outcome != store.NotApplied || !strings.Contains(res.Message, "newer one was elected") {
			t.Errorf("%+v", res)
		}
	})
}

// TestManySessionsDoNotHammer has many sessions lose their server at once and counts greetings.
func TestManySessionsDoNotHammer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sessions = 200
		n := newNetwork(t)
		f := n.add("h:27017", &fake{hello: standalone, answer: document(wrote(1))})
		s, err := n.open(store.Config{Target: "mongodb://h"})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		list := make([]store.Session, sessions)
		for i := range list {
			if list[i], err = s.Session(i); err != nil {
				t.Fatal(err)
			}
			defer list[i].Close()
		}
		n.kill(f)
		n.set(func() { n.dials = map[string]int{} })
		var done sync.WaitGroup
		for _, c := range list {
			done.Go(func() {
				insertWithin(t, c, 10*time.Second)
				if res := insertWithin(t, c, 10*time.Second); res.Outcome != store.NotApplied {
					t.Errorf("%+v", res)
				}
			})
		}
		done.Wait()
		if dials := n.dials["h:27017"]; dials < 1600 || dials > 3400 {
			t.Errorf("%d connections tried in 10 s by %d sessions, want one each %v or so", dials, sessions, probePause)
		}
		n.set(func() { n.dials = map[string]int{} })
		insertWithin(t, list[0], 20*time.Minute)
		if dials := n.dials["h:27017"]; dials > 14_000 {
			t.Errorf("%d connections tried in the 20 minutes after that, want fewer and fewer, to one each %v", dials, probePauseMax)
		}
		n.set(func() { f.down = false })
		if res := insertWithin(t, list[0], time.Second); res.Outcome != store.OK {
			t.Errorf("after the server came back: %+v", res)
		}
	})
}

// TestFrozenServer: a server that accepts connections and sends nothing.
func TestFrozenServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		f := n.add("h:27017", &fake{hello: standalone, answer: document(wrote(1))})
		s, stop := n.session(store.Config{Target: "mongodb://h"})
		defer stop()
		n.set(func() { f.hangs = true })
		if res := insertWithin(t, s, time.Second); res.Outcome != store.Indeterminate || res.Reason != store.Timeout {
			t.Errorf("%+v", res)
		}
		if res := insertWithin(t, s, time.Second); res.Outcome != store.NotApplied || res.Reason != store.Selection {
			t.Errorf("%+v", res)
		}
		time.AfterFunc(10*time.Second, func() { n.set(func() { f.hangs = false }) })
		began := time.Now()
		res := insertWithin(t, s, 30*time.Second)
		if took := time.Since(began); res.Outcome != store.OK || took > 19*time.Second {
			t.Errorf("used %v after it froze for 10 s: %+v", took, res)
		}
	})
}

func TestReadPreference(t *testing.T) {
	read := &workload.Request{Verb: workload.Find, Collection: "c", Limit: 1}
	for _, tc := range []struct {
		preference string
		readers    string // members that serve the reads of 6 workers
	}{
		{"primary", "a:1"}, {"primaryPreferred", "a:1"}, {"secondary", "b:2 c:3"},
		{"secondaryPreferred", "b:2 c:3"}, {"nearest", "a:1 b:2 c:3"},
	} {
		t.Run(tc.preference, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t)
				rs := newReplicaSet(n, "a:1", "b:2", "c:3")
				s, err := n.open(store.Config{Target: "mongodb://a:1/?readPreference=" + tc.preference})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				for i := range 6 {
					session, err := s.Session(i)
					if err != nil {
						t.Fatal(err)
					}
					var res store.Result
					if session.Do(time.Now().Add(time.Second), read, &res); res.Outcome != store.OK {
						t.Errorf("read: %+v", res)
					}
					if res := insertWithin(t, session, time.Second); res.Outcome != store.OK {
						t.Errorf("write: %+v", res)
					}
					_ = session.Close()
				}
				var readers []string
				for _, h := range rs.hosts {
					if rs.reads[h] > 0 {
						readers = append(readers, h)
					}
				}
				if got := strings.Join(readers, " "); got != tc.readers || rs.writes["a:1"] != 6 {
					t.Errorf("reads %v, writes %v", rs.reads, rs.writes)
				}
			})
		})
	}
}

func TestRouters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		router := func() bson.D { return append(bson.D{{Key: "msg", Value: "isdbgrid"}}, standalone()...) }
		served := map[string]int{}
		servers := map[string]*fake{}
		for _, h := range []string{"a:1", "b:2", "c:3"} {
			servers[h] = n.add(h, &fake{hello: router, answer: func(*call) any { served[h]++; return wrote(1) }})
		}
		s, err := n.open(store.Config{Target: "mongodb://a:1,b:2,c:3/"})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		list := make([]store.Session, 6)
		for i := range list {
			if list[i], err = s.Session(i); err != nil {
				t.Fatal(err)
			}
			defer list[i].Close()
			insertWithin(t, list[i], time.Second)
		}
		if fmt.Sprint(served) != "map[a:1:2 b:2:2 c:3:2]" {
			t.Errorf("served %v", served)
		}
		n.kill(servers["b:2"])
		for i, c := range list {
			insertWithin(t, c, time.Second)
			if res := insertWithin(t, c, time.Second); res.Outcome != store.OK {
				t.Errorf("worker %d after one router died: %+v", i, res)
			}
		}
	})
}

func TestNamesThatLeadNowhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.add("localhost:27017", &fake{hello: func() bson.D { return setMember("inside:27017", true, 1, "inside:27017") }})
		_, err := n.open(store.Config{Target: "mongodb://localhost", Timeout: time.Second})
		if err == nil {
			t.Fatal("no error")
		}
		requireMessage(t, err, "directConnection=true", "secret")
		s, err := n.open(store.Config{Target: "mongodb://localhost/?directConnection=true", Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Close()
	})
}

func TestOpenEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		_, err := Open(ctx, store.Config{Target: "mongodb://nowhere", Database: "db", Timeout: time.Hour}, WithDialer(n.dial))
		if err == nil || time.Since(began) > time.Second+time.Millisecond {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
