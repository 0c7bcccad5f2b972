package drill

import (
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/shards"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// halves is a collection whose documents are on the first of two shards if their _id is less than 100, and on the
// second otherwise.
func halves(t *testing.T) *shards.Map {
	t.Helper()
	return &shards.Map{Shards: []string{"shard1", "shard2"}, Collections: map[string]shards.Collection{
		"c": {Sharded: true, Field: "_id", Chunks: []shards.Chunk{{Shard: 0}, {Low: []byte{10, 0x80, 0, 0, 0, 0, 0, 0, 100},
			Shard: 1}}}}}
}

// Each shard has as many helping documents as were asked for, and a shard that is not known none.
func TestPlaces(t *testing.T) {
	m := halves(t)
	m.Collections[seedCollection] = shards.Collection{Sharded: true, Field: "_id", Hashed: true,
		Chunks: []shards.Chunk{{Shard: 0}, {Low: []byte{10, 0x80, 0, 0, 0, 0, 0, 0, 0}, Shard: 1}}}
	have := map[string]int{}
	for _, at := range places(m, 3) {
		have[at.shard]++
		filter, err := bson.Marshal(bson.D{{Key: "_id", Value: at.id}})
		if n := m.Of(seedCollection, filter); err != nil || m.Shards[n] != at.shard {
			t.Errorf("%v is on %s, not on %s", at.id, m.Shards[n], at.shard)
		}
	}
	if len(have) != 2 || have["shard1"] != 3 || have["shard2"] != 3 {
		t.Errorf("the places by shard: %v", have)
	}
	if list := places(nil, 2); len(list) != 2 || list[0].shard != "" {
		t.Errorf("without shards: %+v", list)
	}
}

var mixed = []workload.Class{{Name: "insert"}, {Name: "read"}}

func document(t *testing.T, id int) []byte {
	t.Helper()
	b, err := bson.Marshal(bson.D{{Key: "_id", Value: int64(id)}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// clusterRound is a round of 40 s of which shard2 had no reads for 2 s from the tenth second on and no writes for 4 s.
// What a router does not answer is nothing of shard1, to which the collection belongs altogether if unspread.
func clusterRound(t *testing.T, unspread bool) (*record.DrillRound, *operations) {
	t.Helper()
	m := halves(t)
	w := newWatcher(mixed)
	w.place = m
	s := w.worker()
	do := func(class, id int, at, out time.Duration) {
		op := &workload.Op{Class: class, Requests: []workload.Request{{Verb: workload.Insert, Collection: "c",
			Docs: [][]byte{document(t, id)}}}}
		if class == 1 {
			op.Requests = []workload.Request{{Verb: workload.Find, Collection: "c", Filter: document(t, id)}}
		}
		o := store.OK
		if id >= 100 && at >= 10*time.Second && at < 10*time.Second+out {
			o = store.NotApplied
		}
		s.add(op, &load.Settlement{Outcome: o, Ended: int64(at)}, true)
	}
	for at := time.Duration(0); at < 40*time.Second; at += 5 * time.Millisecond {
		for _, id := range []int{1, 101} {
			if unspread && id > 100 {
				continue
			}
			do(0, id, at, 4*time.Second)
			do(1, id, at+time.Millisecond, 2*time.Second)
		}
	}
	out := &record.DrillRound{WindowEnd: int64(40 * time.Second),
		Faults: []record.DrillFault{{Fault: spec.ParseAction("kill:shard2/primary"), Target: "shard2-1",
			Injected: int64(10 * time.Second), Hit: true, Shards: []string{"shard2"}}},
		Shards: []record.DrillShard{{Name: "shard1"}, {Name: "shard2"}}}
	o := &operations{observed: observations{placed: m}, parts: w.courses(true)}
	o.byClass = byClass(o.parts)
	o.markStruck(out, 0)
	o.addEffects(out, 0)
	out.Expect.Loss, out.Ledger = spec.LossNone, goodRound().Ledger
	return out, o
}

// A shard that is out is seen although the other goes on, and its reads and writes are told apart. Together they are
// hardly ever out.
func TestOutageOfAShard(t *testing.T) {
	out, _ := clusterRound(t, false)
	if e := out.Headline(); e == nil || e.Shard != "shard2" || e.Outage < int64(1900*time.Millisecond) ||
		e.Outage > int64(2100*time.Millisecond) {
		t.Errorf("the outage is that of %+v", e)
	}
	if o := out.Whole().Outage; o > int64(20*time.Millisecond) {
		t.Errorf("all together were out for %v", time.Duration(o))
	}
	for kind, want := range map[string]time.Duration{record.KindReads: 2 * time.Second,
		record.KindWrites: 4 * time.Second} {
		e := out.Of(kind, "shard2")
		if e == nil || (time.Duration(e.Outage)-want).Abs() > 20*time.Millisecond {
			t.Errorf("%s of shard2: %+v, want %v", kind, e, want)
		}
		if e := out.Of(kind, "shard1"); e == nil || e.Outage > int64(20*time.Millisecond) {
			t.Errorf("%s of shard1: %+v", kind, e)
		}
	}
	if !out.Shards[1].Struck || out.Shards[0].Struck || out.Shards[1].AcknowledgedBefore < 190 ||
		out.Shards[1].AcknowledgedBefore > 210 {
		t.Errorf("the shards are %+v", out.Shards)
	}
	if v, why := judge(evidence{round: out, acknowledged: 400, sharded: true}); v != record.Holds {
		t.Errorf("it is %s because of %q", v, why)
	}
	out.Expect.Outage = seconds(1)
	if v, why := judge(evidence{round: out, acknowledged: 400, sharded: true}); v != record.Violated ||
		!strings.Contains(why[0], "shard2: the outage was 2.00 s") {
		t.Errorf("with a second allowed it is %s because of %q", v, why)
	}
}

// A shard that had no writes when it was struck shows nothing, whatever the others show: this was "holds, outage 29.4
// ms".
func TestShardWithoutWrites(t *testing.T) {
	out, o := clusterRound(t, true)
	if v, why := judge(evidence{round: out, acknowledged: 200, sharded: true, collection: "plimsoll.plimsoll_ledger"}); v != record.Unknown ||
		!strings.Contains(why[0], "shard2, the struck shard, acknowledged only 0 checked writes") || !strings.Contains(why[0], "sh.shardCollection") {
		t.Errorf("it is %s because of %q", v, why)
	}
	out.Faults[0].Fault, out.Faults[0].Shards = externalFault, nil
	o.markStruck(out, 0)
	if v, why := judge(evidence{round: out, acknowledged: 200, sharded: true}); v != record.Unknown ||
		!strings.Contains(why[0], "possibly the struck shard") {
		t.Errorf("caused by others it is %s because of %q", v, why)
	}
	out.Shards, out.Placement = nil, "which shard an operation went to is not known: not authorized"
	if v, why := judge(evidence{round: out, acknowledged: 200, sharded: true}); v != record.Unknown ||
		!strings.Contains(why[0], "not authorized. So it is not known") {
		t.Errorf("with nothing known it is %s because of %q", v, why)
	}
}

// Where no shard was struck, such as with a router, none has to have had writes.
func TestRouterStrikesNoShard(t *testing.T) {
	out, o := clusterRound(t, true)
	out.Faults[0] = record.DrillFault{Fault: spec.ParseAction("kill:router-1"), Target: "router-1",
		Injected: int64(10 * time.Second), Hit: true}
	out.Shards = []record.DrillShard{{Name: "shard1"}, {Name: "shard2"}}
	o.markStruck(out, 0)
	if v, why := judge(evidence{round: out, acknowledged: 200, sharded: true}); v != record.Holds {
		t.Errorf("it is %s because of %q", v, why)
	}
}

// One story for each shard, in order of time: reads come back before writes, and nothing is back before it came.
func TestTimelineOfAShard(t *testing.T) {
	out, o := clusterRound(t, false)
	zero := time.Now()
	events := []record.LabEvent{{Kind: "election", Time: zero.Add(11 * time.Second), Text: "shard2-2 is primary", Data: map[string]string{"set": "shard2"}}}
	out.Moments = timelineOf(out, o.scopes(out.Shards), events, runClock{began: zero})
	newPrimaries(out)
	var got []string
	for _, m := range out.Moments {
		got = append(got, m.Kind+" "+m.Shard)
	}
	want := "fault , first-error shard2, primary-elected shard2, first-read shard2, reads-back shard2, first-write shard2, writes-back shard2"
	if strings.Join(got, ", ") != want {
		t.Errorf("the timeline is %q,\nwant %q", strings.Join(got, ", "), want)
	}
	if d := time.Duration(out.Shards[1].NewPrimary); d < 999*time.Millisecond || d > 1001*time.Millisecond {
		t.Errorf("a new primary after %v", d)
	}
}

// An operation that asks several shards, or of which that is not known, is of none.
func TestShardOfAnOperation(t *testing.T) {
	m := halves(t)
	insert := func(ids ...int) workload.Request {
		r := workload.Request{Verb: workload.Insert, Collection: "c"}
		for _, id := range ids {
			r.Docs = append(r.Docs, document(t, id))
		}
		return r
	}
	update := workload.Request{Verb: workload.Update, Collection: "c",
		Updates: []workload.Statement{{Filter: document(t, 200)}}}
	for _, c := range []struct {
		requests []workload.Request
		want     int
	}{
		{[]workload.Request{insert(1)}, 0},
		{[]workload.Request{insert(100)}, 1},
		{[]workload.Request{insert(1, 2), insert(99)}, 0},
		{[]workload.Request{insert(1, 100)}, -1},
		{[]workload.Request{insert(1), update}, -1},
		{[]workload.Request{update}, 1},
		{[]workload.Request{{Verb: workload.Find, Collection: "c", Filter: []byte{5, 0, 0, 0, 0}}}, -1},
		{[]workload.Request{{Verb: workload.Aggregate, Collection: "c"}}, -1},
		{nil, -1},
	} {
		if got := shardOf(m, &workload.Op{Requests: c.requests}); got != c.want {
			t.Errorf("%+v goes to shard %d, want %d", c.requests, got, c.want)
		}
	}
}

// Operations whose writes the ledger cannot check do not count before the fault, and neither do failed ones.
func TestOnlyCheckedWritesCountBeforeTheFault(t *testing.T) {
	for checked, want := range map[bool]int64{true: 67, false: 0} {
		w := newWatcher(mixed)
		s := w.worker()
		for i := range 2000 {
			is := store.OK
			if i%3 > 0 {
				is = store.NotFound
			}
			s.add(&workload.Op{Requests: []workload.Request{{Verb: workload.Insert}}},
				&load.Settlement{Outcome: is, Ended: int64(i) * int64(5*time.Millisecond)}, checked)
		}
		if n := checkedBefore(byClass(w.courses(true)), int64(8*time.Second)); n != want {
			t.Errorf("%d operations count where writes are checked: %t, want %d", n, checked, want)
		}
	}
}
