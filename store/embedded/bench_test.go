package embedded

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

func benchStore(b *testing.B, n int) *embeddedStore {
	st := open(b, b.TempDir(), store.Concern{}, options{})
	x := testerOn(b, st)
	for i := 0; i < n; i += 1000 {
		req := workload.Request{Verb: workload.Insert, Collection: "c"}
		for j := i; j < i+1000; j++ {
			req.Docs = append(req.Docs, benchDoc(b, j))
		}
		x.expect(store.OK, req)
	}
	return st
}

func benchDoc(b *testing.B, i int) []byte {
	doc := d("_id", fmt.Sprintf("user%012d", i))
	for f := range 10 {
		doc = append(doc, d(fmt.Sprintf("field%d", f), make([]byte, 100))...)
	}
	return raw(b, doc)
}

func BenchmarkPointRead(b *testing.B) { benchmark(b, 1, nil) }

func BenchmarkScan50(b *testing.B) { benchmark(b, 50, nil) }

func BenchmarkUpdate(b *testing.B) {
	benchmark(b, 0, raw(b, d("$set", d("field5", make([]byte, 100)))))
}

// An update that a ledger counts.
func BenchmarkUpdateCounted(b *testing.B) {
	benchmark(b, 0, raw(b, d("$set", d("field5", make([]byte, 100)), "$inc", d("_plimsoll0000002a", int32(1)))))
}

func benchmark(b *testing.B, limit int64, update []byte) {
	const n = 100_000
	st := benchStore(b, n)
	s, _ := st.Session(0)
	reqs := make([]workload.Request, 1000)
	for i := range reqs {
		id := any(fmt.Sprintf("user%012d", rand.IntN(n-100)))
		if limit > 1 {
			id = d("$gte", id)
		}
		filter := raw(b, d("_id", id))
		reqs[i] = workload.Request{Verb: workload.Find, Collection: "c", Filter: filter, Limit: limit}
		if update != nil {
			reqs[i] = workload.Request{
				Verb: workload.Update, Collection: "c",
				Updates: []workload.Statement{{Filter: filter, Update: update}},
			}
		}
	}
	value := bytes.Index(update, []byte("field5")) + len("field5") + 1 + 5
	b.ReportAllocs()
	var res store.Result
	i := 0
	for b.Loop() {
		if update != nil { // other bytes each time, or there is nothing to change
			binary.LittleEndian.PutUint64(update[value:], uint64(i))
		}
		s.Do(time.Time{}, &reqs[i%len(reqs)], &res)
		if res.Outcome != store.OK {
			b.Fatal(res.Message)
		}
		i++
	}
}

// BenchmarkApply is what an update takes apart from the engine below: to read it, and to build the new document.
func BenchmarkApply(b *testing.B) {
	doc := benchDoc(b, 1)
	set, count := d("$set", d("field5", make([]byte, 100))), d("$inc", d("_plimsoll0000002a", int32(1)))
	for _, c := range []struct {
		name   string
		doc    []byte
		update []byte
	}{{"set", doc, raw(b, set)}, {"counted", withCounter(doc), raw(b, append(set, count...))}} {
		b.Run(c.name, func(b *testing.B) {
			var u update
			var out []byte
			for b.Loop() {
				if err := u.compile(c.update); err != nil {
					b.Fatal(err)
				}
				var err error
				if out, err = u.apply(out[:0], c.doc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// withCounter is doc with the counter of a ledger at its end.
func withCounter(doc []byte) []byte {
	out := append(append(bytes.Clone(doc[:len(doc)-1]), "\x10_plimsoll0000002a\x00\x07\x00\x00\x00"...), 0)
	binary.LittleEndian.PutUint32(out, uint32(len(out)))
	return out
}
