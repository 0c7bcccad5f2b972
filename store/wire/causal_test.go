package wire

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// TestCausalSession writes to the primary and reads from a secondary: the read must wait for the write's operation
// time, and the secondary must get the cluster time, which only the primary has sent.
func TestCausalSession(t *testing.T) {
	for name, concern := range map[string]string{"majority": "majority", "the server's default": ""} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			var reads []bson.Raw
			hosts := []string{"a:1", "b:2"}
			clock := func(at uint32) []bson.E {
				return []bson.E{{Key: "operationTime", Value: bson.Timestamp{T: at, I: 1}},
					{Key: "$clusterTime", Value: bson.D{{Key: "clusterTime", Value: bson.Timestamp{T: at, I: 2}}}}}
			}
			n.add("a:1", &fake{hello: func() bson.D { return setMember("a:1", true, 1, hosts...) }, answer: func(*call) any {
				return append(bson.D{{Key: "n", Value: 1}, {Key: "ok", Value: 1.0}}, clock(70)...)
			}})
			n.add("b:2", &fake{hello: func() bson.D { return setMember("b:2", false, 1, hosts...) }, answer: func(c *call) any {
				reads = append(reads, c.body)
				return append(found(bson.D{{Key: "_id", Value: 1}}), clock(60)...)
			}})
			s, end := n.session(store.Config{Target: "mongodb://a:1,b:2/?replicaSet=rs",
				Concern: store.Concern{W: "majority", Read: concern, Preference: "secondary", Causal: true}})
			defer end()
			var res store.Result
			for _, req := range []*workload.Request{
				{Verb: workload.Find, Collection: "c", Filter: emptyDocument},
				{Verb: workload.Insert, Collection: "c", Docs: [][]byte{emptyDocument}},
				{Verb: workload.Find, Collection: "c", Filter: emptyDocument},
			} {
				if s.Do(time.Now().Add(10*time.Second), req, &res); res.Outcome != store.OK {
					t.Fatalf("%v: %v", req.Verb, res)
				}
			}
			if res.Server != "b:2" {
				t.Errorf("the read was answered by %q", res.Server)
			}
			n.mu.Lock()
			defer n.mu.Unlock()
			if len(reads) != 2 {
				t.Fatalf("%d reads", len(reads))
			}
			if v, err := reads[0].LookupErr("readConcern", "afterClusterTime"); err == nil {
				t.Errorf("the first read waits for %v", v)
			}
			at, i, ok := reads[1].Lookup("readConcern", "afterClusterTime").TimestampOK()
			if !ok || at != 70 || i != 1 {
				t.Errorf("the second read waits for %d.%d: %v", at, i, reads[1])
			}
			if at, _, _ := reads[1].Lookup("$clusterTime", "clusterTime").TimestampOK(); at != 70 {
				t.Errorf("it says that the cluster time is %d: %v", at, reads[1])
			}
			if level, _ := reads[1].Lookup("readConcern", "level").StringValueOK(); level != concern {
				t.Errorf("level %q", level)
			}
			if _, err := reads[1].LookupErr("lsid", "id"); err != nil {
				t.Errorf("no session: %v", reads[1])
			}
		})
	}
}

var emptyDocument = []byte{5, 0, 0, 0, 0}

// TestCausalNeedsAnswers refuses causal sessions whose writes have no replies.
func TestCausalNeedsAnswers(t *testing.T) {
	n := newNetwork(t)
	n.add("a:1", &fake{hello: standalone})
	if _, err := n.open(store.Config{Target: "mongodb://a:1", Concern: store.Concern{W: "0", Causal: true}}); err == nil {
		t.Error("it is accepted")
	}
}

// TestReadsFollowTheirPreference has the secondary that a session reads from become the primary: reads move to the
// other one.
func TestReadsFollowTheirPreference(t *testing.T) {
	n := newNetwork(t)
	hosts := []string{"a:1", "b:2"}
	first := "a:1"
	for _, me := range hosts {
		n.add(me, &fake{hello: func() bson.D {
			term := byte(1)
			if first != "a:1" {
				term = 2
			}
			return setMember(me, me == first, term, hosts...)
		}, answer: func(*call) any { return found(bson.D{{Key: "_id", Value: 1}}) }})
	}
	s, end := n.session(store.Config{Target: "mongodb://a:1,b:2/?replicaSet=rs", Concern: store.Concern{Preference: "secondary"}})
	defer end()
	read := func() string {
		var res store.Result
		s.Do(time.Now().Add(10*time.Second), &workload.Request{Verb: workload.Find, Collection: "c", Filter: emptyDocument},
			&res)
		if res.Outcome != store.OK {
			t.Fatal(res)
		}
		return res.Server
	}
	if got := read(); got != "b:2" {
		t.Fatalf("%s answered", got)
	}
	n.set(func() { first = "b:2" })
	for read() != "a:1" { // until the next greeting of the servers
		time.Sleep(10 * time.Millisecond)
	}
}
