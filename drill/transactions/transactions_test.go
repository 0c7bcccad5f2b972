package transactions

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/drill/isolation"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// serial is a store that does one transaction after the other. Its documents are those of a keeper.
type serial struct {
	t    *testing.T
	docs map[int64][2]int64 // n and v
	now  int64
	// commits are the times of the server, and before the versions of each document with theirs.
	commits uint64
	before  map[int64][]committed
	twist   func(st *load.Settlement) // of the times
}

// committed is a version with the time of its commit.
type committed struct {
	at  uint64
	doc [2]int64
}

func newSerial(t *testing.T, k *Keeper) *serial {
	s := &serial{t: t, docs: map[int64][2]int64{}, before: map[int64][]committed{}, commits: 1}
	for _, doc := range k.Registers() {
		if mark, ok := Mark(doc); !ok || mark != k.o.Mark {
			t.Fatalf("the register %s has the mark %d, %t", bsoncore.Document(doc), mark, ok)
		}
		s.docs[id(t, doc)] = [2]int64{}
	}
	return s
}

func id(t *testing.T, doc []byte) int64 {
	v, ok := bsoncore.Document(doc).Lookup("_id").AsInt64OK()
	if !ok {
		t.Fatalf("%s has no _id", bsoncore.Document(doc))
	}
	return v
}

// do sends one transaction of a worker. see may change what a read returns.
func (s *serial) do(w workload.Stream, settle func(*workload.Op, *load.Settlement), outcome store.Outcome,
	see func(id int64, doc [2]int64) [2]int64) {
	var op workload.Op
	w.Next(&op)
	st := load.Settlement{Outcome: outcome, Failed: -1, Attempts: 1, Sent: s.now + 1, Ended: s.now + 10, Server: "a:1"}
	s.now += 20
	past := len(op.Requests) == 1 && op.Requests[0].Concern != nil
	if past {
		st.SnapshotTime = s.commits - min(s.commits-1, uint64(s.now/20)%7)
	} else {
		s.commits++
		st.OperationTime = s.commits
	}
	for i, r := range op.Requests {
		switch r.Verb {
		case workload.Find:
			key := id(s.t, r.Filter)
			doc, ok := s.docs[key]
			if !ok {
				s.t.Fatalf("a read of %d, which is no register", key)
			}
			if past {
				doc = [2]int64{}
				for _, v := range s.before[key] {
					if v.at <= st.SnapshotTime {
						doc = v.doc
					}
				}
			}
			if see != nil {
				doc = see(key, doc)
			}
			raw := bsoncore.NewDocumentBuilder().AppendInt64("_id", key).AppendInt64("n", doc[0]).AppendInt64("v", doc[1]).Build()
			if ok, checked := w.Verify(&op, i, raw); !ok || !checked {
				s.t.Fatal("a register was refused")
			}
		case workload.Update:
			key, change := id(s.t, r.Updates[0].Filter), bsoncore.Document(r.Updates[0].Update)
			v, _ := change.Lookup("$set", "v").AsInt64OK()
			n, _ := change.Lookup("$inc", "n").AsInt64OK()
			s.docs[key] = [2]int64{s.docs[key][0] + n, v}
			s.before[key] = append(s.before[key], committed{s.commits, s.docs[key]})
		}
	}
	if s.twist != nil {
		s.twist(&st)
	}
	settle(&op, &st)
	w.Done(&op, true)
}

// check judges all epochs with what the store has in the end.
func (s *serial) check(k *Keeper, promise isolation.Promise) (v isolation.Verdict) {
	final := make([][]isolation.Op, k.Epochs())
	for key, doc := range s.docs {
		raw := bsoncore.NewDocumentBuilder().AppendInt64("_id", key).Build()
		number, epoch, ok := k.Key(raw)
		if !ok {
			s.t.Fatalf("%d is no register", key)
		}
		final[epoch] = append(final[epoch], isolation.Op{Key: number, N: doc[0], ID: isolation.ID(doc[1])})
	}
	for _, e := range k.Take(k.Epochs()) {
		e.Final = final[e.Number]
		v.Add(isolation.Check(&e.History, promise))
	}
	return v
}

func TestSerialStore(t *testing.T) {
	k := New(Options{Mark: 0xfedcba98, Seed: 7, Length: 20 * time.Second, Writers: 8})
	s := newSerial(t, k)
	w := k.Workload()
	var streams []workload.Stream
	for i := range 8 {
		streams = append(streams, w.Stream(i, 8))
	}
	for epoch := range 3 {
		k.Begin(time.Now().Add(-time.Duration(epoch) * k.epoch))
		for i := range 400 {
			s.do(streams[i%8], k.Settle(i%8), store.OK, nil)
		}
	}
	v := s.check(k, isolation.Serializable)
	if v.Forbidden() > 0 || v.Committed != 1200 || v.Reads < 2000 {
		t.Errorf("a serial store: %+v", v)
	}
	if strong := s.check(k, isolation.StrongSnapshot); strong.Transactions != 0 {
		t.Errorf("%d transactions were kept after they were taken", strong.Transactions)
	}
}

// A store that answers one read in a hundred from an earlier time violates the promise.
func TestStaleStore(t *testing.T) {
	k := New(Options{Mark: 5, Seed: 9, Length: 10 * time.Second, Writers: 4})
	s := newSerial(t, k)
	w := k.Workload()
	var streams []workload.Stream
	for i := range 4 {
		streams = append(streams, w.Stream(i, 4))
	}
	before, reads := map[int64][2]int64{}, 0
	for i := range 2000 {
		s.do(streams[i%4], k.Settle(i%4), store.OK, func(id int64, doc [2]int64) [2]int64 {
			if reads++; reads%100 == 0 {
				return before[id]
			}
			if i%10 == 0 {
				before[id] = doc
			}
			return doc
		})
	}
	if v := s.check(k, isolation.StrongSnapshot); v.Forbidden() == 0 {
		t.Errorf("a stale store: %+v", v)
	}
}

// The times of a server that keeps its own order contradict nothing. A server that gives one snapshot, or one commit, a
// wrong time is found.
func TestServerTimes(t *testing.T) {
	snapshots, commits := 0, 0
	for name, twist := range map[string]func(*load.Settlement){
		"honest": nil,
		"snapshots": func(st *load.Settlement) {
			if snapshots++; st.SnapshotTime > 0 && snapshots > 1500 {
				st.SnapshotTime += 60
			}
		},
		"commits": func(st *load.Settlement) {
			if commits++; st.OperationTime > 0 && commits%100 == 0 {
				st.OperationTime -= 60
			}
		},
	} {
		k := New(Options{Mark: 5, Seed: 11, Length: 10 * time.Second, Writers: 4, Times: true})
		s := newSerial(t, k)
		s.twist = twist
		var streams []workload.Stream
		for i := range 4 {
			streams = append(streams, k.Workload().Stream(i, 4))
		}
		for i := range 2000 {
			s.do(streams[i%4], k.Settle(i%4), store.OK, nil)
		}
		v := s.check(k, isolation.StrongSnapshot)
		found := v.Counts[isolation.ServerOrder]
		if v.Timed < 1200 || (found > 0) != (twist != nil) || v.Forbidden() != found {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		name string
		st   load.Settlement
		want isolation.Outcome
	}{
		{"acknowledged", load.Settlement{Outcome: store.OK, Attempts: 1}, isolation.Committed},
		{"given up", load.Settlement{Outcome: store.NotApplied, Undone: true, Attempts: 3}, isolation.Aborted},
		{"no answer", load.Settlement{Outcome: store.Indeterminate, Attempts: 1, Ended: 9}, isolation.Unknown},
		{"abandoned", load.Settlement{Outcome: store.Indeterminate, Abandoned: true}, isolation.Unknown},
	} {
		k := New(Options{Mark: 1, Length: time.Second, Writers: 1})
		w := k.Workload().Stream(0, 1)
		var op workload.Op
		w.Next(&op)
		k.Settle(0)(&op, &c.st)
		got := k.Take(k.Epochs())[0].Transactions
		if len(got) != 1 || got[0].Outcome != c.want || c.want == isolation.Unknown && got[0].Ended != 0 {
			t.Errorf("%s: %+v, want %d", c.name, got, c.want)
		}
	}
}
