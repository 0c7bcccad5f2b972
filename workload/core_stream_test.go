package workload

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// idsOf returns the _id values that an operation inserts.
func idsOf(op *Op) []string {
	var ids []string
	for _, req := range op.Requests {
		for _, d := range req.Docs {
			ids = append(ids, bson.Raw(d).Lookup("_id").String())
		}
		for _, u := range req.Updates {
			ids = append(ids, bson.Raw(u.Filter).Lookup("_id").String())
		}
	}
	return ids
}

func quoted(numbers ...int64) []string {
	var keys []string
	for _, n := range numbers {
		keys = append(keys, `"`+string(keyForm{padding: 1}.append(nil, n))+`"`)
	}
	return keys
}

func TestBatches(t *testing.T) {
	for _, name := range []string{"ycsb", "core"} {
		params := onlyInserts("100")
		params["batchsize"] = "3"
		w := open(t, name, params)
		s := w.Stream(0, 1)
		var op Op
		var sent []string
		for i := range 8 {
			s.Next(&op)
			if full := i%3 == 2; full != (len(op.Requests) == 1) {
				t.Fatalf("%s: insert %d has %d requests", name, i, len(op.Requests))
			}
			if len(op.Requests) > 0 && (!op.Requests[0].Unordered || op.Seq != 100+int64(i)-2) {
				t.Errorf("%s: a batch must be unordered and carry its first number: %+v", name, op)
			}
			sent = append(sent, idsOf(&op)...)
			s.Done(&op, true)
		}
		if !s.Flush(&op) {
			t.Fatalf("%s: Flush found nothing", name)
		}
		sent = append(sent, idsOf(&op)...)
		s.Done(&op, true)
		if diff := cmp.Diff(quoted(100, 101, 102, 103, 104, 105, 106, 107), sent); diff != "" {
			t.Errorf("%s: inserted (-want +got):\n%s", name, diff)
		}
		if s.Flush(&op) {
			t.Errorf("%s: a second Flush found something", name)
		}
	}
}

func onlyInserts(records string) map[string]string {
	return map[string]string{"recordcount": records, "readproportion": "0", "updateproportion": "0", "insertproportion": "1"}
}

func TestFlushWithoutBatches(t *testing.T) {
	s := open(t, "ycsb", onlyInserts("10")).Stream(0, 1)
	var op Op
	if s.Flush(&op) {
		t.Error("Flush found something before the first operation")
	}
	s.Next(&op)
	s.Done(&op, true)
	if s.Flush(&op) {
		t.Error("Flush found something although every insert was sent")
	}
}

func TestUpserts(t *testing.T) {
	for batch, want := range map[string]string{
		"1": `update {"_id": "user0"} {"_id": "user0","field0": {"$binary":{"base64":"dXNl","subType":"00"}}} upsert`,
		"2": `update {"_id": "user0"} {"$set": {"_id": "user0","field0": {"$binary":{"base64":"dXNl","subType":"00"}}}} upsert` +
			` {"_id": "user1"} {"$set": {"_id": "user1","field0": {"$binary":{"base64":"dXNl","subType":"00"}}}} upsert`,
	} {
		w := open(t, "ycsb", map[string]string{
			"recordcount": "2", "mongodb.upsert": "true", "mongodb.batchsize": batch, "insertorder": "ordered",
			"fieldcount": "1", "fieldlength": "3", "dataintegrity": "true",
		})
		var op Op
		w.Loader().Load(0, len(batch)*int(batch[0]-'0'), &op)
		if got := describeOp(w, &op); got != want {
			t.Errorf("batchsize %s:\n got %s\nwant %s", batch, got, want)
		}
	}
}

func TestInsertKeysOfYCSB(t *testing.T) {
	w := open(t, "ycsb-d", map[string]string{"insertproportion": "1", "readproportion": "0"})
	a, b := w.Stream(0, 2), w.Stream(1, 2)
	var op Op
	for want := int64(1000); want < 1006; want++ {
		s := a
		if want%2 == 1 {
			s = b
		}
		s.Next(&op)
		if diff := cmp.Diff(quoted(want), idsOf(&op)); diff != "" || op.Seq != want {
			t.Errorf("Seq %d, insert (-want +got):\n%s", op.Seq, diff)
		}
		s.Done(&op, false) // a failed insert is acknowledged too
	}
	if got := w.(*core).acked.last(); got != 1005 {
		t.Errorf("last acknowledged is %d, want 1005", got)
	}
}

// Runs with different numbers and clients of one run never insert the same key, and none that is loaded.
func TestInsertKeysOfCoreNeverCollide(t *testing.T) {
	seen := map[int64]string{}
	for run := uint64(217_000_000_000); run < 217_000_000_003; run++ {
		for client := range 3 {
			w := openSpec(t, Spec{Name: "core", Params: onlyInserts("1000"), Run: run, Client: client, Clients: 3})
			for worker := range 2 {
				s := w.Stream(worker, 2)
				var op Op
				for range 100 {
					s.Next(&op)
					who := fmt.Sprintf("run %d client %d worker %d", run, client, worker)
					if other, ok := seen[op.Seq]; ok || op.Seq < 1000 {
						t.Fatalf("%s inserts %d, as does %q", who, op.Seq, other)
					}
					seen[op.Seq] = who
				}
			}
		}
	}
}

func TestInsertStartOfCore(t *testing.T) {
	params := onlyInserts("10")
	for start, want := range map[string]int64{"0": 10, "500": 500} {
		params["insertstart"] = start
		var op Op
		open(t, "core", params).Stream(0, 1).Next(&op)
		if op.Seq != want {
			t.Errorf("insertstart=%s: first insert is %d, want %d", start, op.Seq, want)
		}
	}
	params["insertstart"] = "5"
	if _, err := Open(Spec{Name: "core", Params: params}); err == nil || !strings.Contains(err.Error(), "loaded already") {
		t.Errorf("insertstart inside the loaded keys: %v", err)
	}
}

func TestLoadRangeOfYCSB(t *testing.T) {
	for _, c := range []struct {
		params  map[string]string
		records int64
		first   int64
	}{
		{map[string]string{"recordcount": "100"}, 100, 0},
		{map[string]string{"recordcount": "100", "insertstart": "20", "insertcount": "30"}, 30, 20},
		{map[string]string{"recordcount": "100", "insertstart": "20"}, 100, 20}, // YCSB inserts recordcount here
		{map[string]string{"recordcount": "0"}, 1<<31 - 1, 0},
	} {
		w := open(t, "ycsb", c.params)
		var op Op
		w.Loader().Load(0, 2, &op)
		if w.Records() != c.records || op.Seq != c.first {
			t.Errorf("%v: %d records from %d, want %d from %d", c.params, w.Records(), op.Seq, c.records, c.first)
		}
		if diff := cmp.Diff(quoted(c.first, c.first+1), idsOf(&op)); diff != "" {
			t.Errorf("%v: loaded (-want +got):\n%s", c.params, diff)
		}
	}
}

func TestProbe(t *testing.T) {
	w := open(t, "ycsb", map[string]string{"recordcount": "100", "insertstart": "1", "insertcount": "5"})
	var op Op
	w.Loader().Probe(1, &op)
	want := `find filter={"_id": "` + goldenKeys[2] + `"} projection={"_id": 1} limit=1`
	if got := describeOp(w, &op); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Every request distribution stays among the keys that exist, in both modes and while keys are added.
func TestChosenKeysExist(t *testing.T) {
	for _, name := range []string{"ycsb", "core"} {
		for _, dist := range []string{"uniform", "zipfian", "latest", "hotspot", "sequential", "exponential"} {
			w := open(t, name, map[string]string{
				"recordcount": "500", "requestdistribution": dist, "insertproportion": "0.2", "insertorder": "ordered",
				"zeropadding": "10", "fieldcount": "1", "fieldlength": "1",
			})
			exists := map[string]bool{}
			for n := range int64(500) {
				exists[bson.Raw(loadOne(w, n)).Lookup("_id").StringValue()] = true
			}
			s := w.Stream(0, 1)
			var op Op
			read := map[string]bool{}
			for range 20_000 {
				s.Next(&op)
				if len(op.Requests[0].Docs) > 0 {
					exists[bson.Raw(op.Requests[0].Docs[0]).Lookup("_id").StringValue()] = true
				} else if req := op.Requests[0]; req.Verb == Find {
					key := bson.Raw(req.Filter).Lookup("_id").StringValue()
					read[key] = true
					if !exists[key] {
						t.Fatalf("%s %s reads %s, which does not exist", name, dist, key)
					}
				}
				s.Done(&op, true)
			}
			if len(read) < 450 {
				t.Errorf("%s %s reads only %d different keys", name, dist, len(read))
			}
		}
	}
}

// The corrected latest prefers what was inserted last, and never reads a record whose insert failed.
func TestLatestOfCore(t *testing.T) {
	w := open(t, "d", map[string]string{"recordcount": "1000", "insertproportion": "0.5", "insertorder": "ordered"})
	s := w.Stream(0, 1)
	failed := map[string]bool{}
	var op Op
	newest, hits, reads := "", 0, 0
	for i := range 50_000 {
		s.Next(&op)
		if op.Class == coreInsert {
			id := bson.Raw(op.Requests[0].Docs[0]).Lookup("_id").StringValue()
			applied := i%3 != 0
			if applied {
				newest = id
			} else {
				failed[id] = true
			}
			s.Done(&op, applied)
			continue
		}
		key := bson.Raw(op.Requests[0].Filter).Lookup("_id").StringValue()
		if failed[key] {
			t.Fatalf("reads %s, whose insert failed", key)
		}
		reads++
		if key == newest {
			hits++
		}
	}
	if share := float64(hits) / float64(reads); share < .07 || share > .14 {
		t.Errorf("the newest record gets %.3f of the reads, want about 0.1", share)
	}
}

// Workers of the corrected sequential distribution visit every key once per round.
func TestSequentialOfCore(t *testing.T) {
	w := open(t, "c", map[string]string{"recordcount": "90", "requestdistribution": "sequential"})
	seen := map[string]int{}
	for worker := range 3 {
		s := w.Stream(worker, 3)
		var op Op
		for range 30 {
			s.Next(&op)
			seen[text(op.Requests[0].Filter)]++
		}
	}
	if len(seen) != 90 {
		t.Errorf("visited %d of 90 keys", len(seen))
	}
}

// digest runs a stream and returns what it would send.
func digest(w Workload, worker, workers, n int) []byte {
	s := w.Stream(worker, workers)
	var out []byte
	var op Op
	for range n {
		s.Next(&op)
		out = append(out, describeOp(w, &op)...)
		out = append(out, '\n')
		s.Done(&op, true)
	}
	return out
}

func TestSameSeedSameOperations(t *testing.T) {
	for _, k := range registry() {
		records := Spec{Name: k.name, Records: 1000, Seed: testSeed, Run: 7}
		if k.name == "location" {
			records.Params = map[string]string{"batchsize": "3"}
		}
		first := digest(openSpec(t, records), 1, 4, 300)
		if again := digest(openSpec(t, records), 1, 4, 300); !bytes.Equal(first, again) {
			t.Errorf("%s: the same seed and worker gave other operations", k.name)
		}
		if other := digest(openSpec(t, records), 2, 4, 300); bytes.Equal(first, other) {
			t.Errorf("%s: two workers do the same", k.name)
		}
		records.Seed++
		if other := digest(openSpec(t, records), 1, 4, 300); bytes.Equal(first, other) {
			t.Errorf("%s: two seeds give the same operations", k.name)
		}
	}
}

func TestSameRecordSameDocument(t *testing.T) {
	for _, k := range registry() {
		w := openSpec(t, Spec{Name: k.name, Records: 100, Seed: testSeed})
		var op Op
		l := w.Loader()
		l.Load(0, 50, &op)
		var docs [][]byte
		for _, d := range op.Requests[0].Docs {
			docs = append(docs, slices.Clone(d))
		}
		if len(docs) != 50 {
			t.Fatalf("%s: loaded %d documents, want 50", k.name, len(docs))
		}
		for seq, want := range docs {
			if err := bson.Raw(want).Validate(); err != nil {
				t.Fatalf("%s: record %d: %v", k.name, seq, err)
			}
			if !bytes.Equal(want, loadOne(w, int64(seq))) {
				t.Errorf("%s: record %d differs when loaded alone", k.name, seq)
			}
		}
	}
}

// Streams of one workload run at once: no key is given out twice, and the limit reaches the last one.
func TestConcurrentInserts(t *testing.T) {
	for _, name := range []string{"ycsb-d", "d", "person", "catalog", "location"} {
		params := map[string]string{"insertproportion": "0.5"}
		if name == "location" {
			params["batchsize"] = "3"
		}
		w := openSpec(t, Spec{Name: name, Records: 1000, Params: params})
		const workers, each = 8, 2000
		ids := make([][]string, workers)
		var wg sync.WaitGroup
		for worker := range workers {
			wg.Go(func() {
				s := w.Stream(worker, workers)
				var op Op
				for range each {
					s.Next(&op)
					if op.Requests[0].Verb == Insert {
						ids[worker] = append(ids[worker], idsOf(&op)...)
					}
					s.Done(&op, true)
				}
			})
		}
		wg.Wait()
		all := slices.Concat(ids...)
		slices.Sort(all)
		if n := len(all); n != len(slices.Compact(all)) || n < 100 {
			t.Errorf("%s: %d inserts, some of them with the same _id", name, n)
		}
	}
}

func TestAckCounterMovesOverHoles(t *testing.T) {
	c := newAckCounter(10)
	if c.last() != 9 {
		t.Fatalf("before the first insert, last is %d", c.last())
	}
	for range 4 {
		c.next()
	}
	for _, step := range []struct{ ack, last int64 }{{12, 9}, {11, 9}, {10, 12}, {13, 13}} {
		if c.acknowledge(step.ack); c.last() != step.last {
			t.Errorf("after %d ended, last is %d, want %d", step.ack, c.last(), step.last)
		}
	}
}

func TestAckCounterConcurrently(t *testing.T) {
	c := newAckCounter(0)
	var wg sync.WaitGroup
	const workers, each = 8, 100_000 // together less than a window, however unfair the scheduler is
	for range workers {
		wg.Go(func() {
			for range each {
				c.acknowledge(c.next())
			}
		})
	}
	wg.Wait()
	c.acknowledge(c.next()) // whoever lost the race for the lock left the limit behind; this moves it on
	if want := int64(workers * each); c.last() != want {
		t.Errorf("last is %d, want %d", c.last(), want)
	}
}

func TestAckCounterGoesRoundItsWindow(t *testing.T) {
	c := newAckCounter(0)
	for range ackWindow + 1000 {
		c.acknowledge(c.next())
	}
	if want := int64(ackWindow + 999); c.last() != want {
		t.Errorf("last is %d, want %d", c.last(), want)
	}
}

func TestRecentKeysForgetTheOldest(t *testing.T) {
	k := &recentKeys{}
	if _, ok := k.newest(0); ok {
		t.Error("there is a newest key before the first")
	}
	for n := range int64(recentWindow + 10) {
		k.add(n)
	}
	if k.size() != recentWindow {
		t.Errorf("size is %d", k.size())
	}
	for rank, want := range map[int64]int64{0: recentWindow + 9, 9: recentWindow, recentWindow - 1: 10} {
		if got, ok := k.newest(rank); !ok || got != want {
			t.Errorf("rank %d is %d (%v), want %d", rank, got, ok, want)
		}
	}
}

func TestVerify(t *testing.T) {
	for _, name := range []string{"ycsb", "core"} {
		w := open(t, name, map[string]string{"recordcount": "1", "dataintegrity": "true", "readmodifywriteproportion": "1"})
		s := w.Stream(0, 1)
		doc := slices.Clone(loadOne(w, 0))
		wrong := slices.Clone(doc)
		wrong[len(wrong)-2] ^= 1
		short, err := bson.Marshal(bson.D{{Key: "_id", Value: goldenKeys[0]}})
		if err != nil {
			t.Fatal(err)
		}
		checked := 0
		var op Op
		for range 100 {
			s.Next(&op)
			for _, c := range []struct {
				doc  []byte
				want bool
			}{{doc, true}, {wrong, false}, {nil, false}, {short, false}, {doc[:50], false}, {[]byte{5, 0, 0, 0}, false}} {
				ok, is := s.Verify(&op, 0, c.doc)
				if op.Class == coreUpdate && is {
					t.Fatalf("%s: an update cannot be checked", name)
				}
				if is && ok != c.want {
					t.Errorf("%s: %s: verified %v as %v", name, describeOp(w, &op), c.doc, ok)
				}
				if is {
					checked++
				}
			}
			if _, is := s.Verify(&op, 1, doc); is {
				t.Errorf("%s: the second request of an operation cannot be checked", name)
			}
		}
		if checked < 300 {
			t.Errorf("%s: only %d checks", name, checked)
		}
	}
}

func TestVerifyNeedsDataIntegrity(t *testing.T) {
	s := open(t, "ycsb-c", nil).Stream(0, 1)
	var op Op
	s.Next(&op)
	if ok, checked := s.Verify(&op, 0, nil); !ok || checked {
		t.Errorf("without dataintegrity: ok %v, checked %v", ok, checked)
	}
}

// A document that some other program wrote may be anything.
func FuzzVerify(f *testing.F) {
	w := open(f, "core", map[string]string{"dataintegrity": "true", "updateproportion": "0"})
	s := w.Stream(0, 1)
	var op Op
	s.Next(&op)
	f.Add(loadOne(w, 0))
	f.Add([]byte{12, 0, 0, 0, 5, 'a', 0, 255, 255, 255, 255, 0})
	f.Add([]byte{7, 0, 0, 0, 5, 0, 0})
	f.Fuzz(func(t *testing.T, doc []byte) {
		s.Verify(&op, 0, doc)
	})
}
