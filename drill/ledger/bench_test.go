package ledger

import (
	"testing"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// BenchmarkStream shows what an operation of a workload costs by itself and with a ledger.
func BenchmarkStream(b *testing.B) {
	inner, err := workload.Open(workload.Spec{Name: "a", Records: 10_000, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	kilo, err := workload.Open(workload.Spec{Name: "core", Records: 10_000, Seed: 1,
		Params: map[string]string{"insertproportion": "1", "readproportion": "0", "updateproportion": "0"}})
	if err != nil {
		b.Fatal(err)
	}
	l := New(Options{Writers: 3})
	own, err := l.Workload(Params{})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("a", func(b *testing.B) { benchmarkStream(b, nil, inner) })
	b.Run("a with ledger", func(b *testing.B) { benchmarkStream(b, l, l.Wrap(inner)) })
	b.Run("inserts of 1 kB", func(b *testing.B) { benchmarkStream(b, nil, kilo) })
	b.Run("inserts of 1 kB with ledger", func(b *testing.B) { benchmarkStream(b, l, l.Wrap(kilo)) })
	b.Run("ledger", func(b *testing.B) { benchmarkStream(b, l, own) })
}

// BenchmarkNews shows what it costs to hand over one write of the own workload, at both sides.
func BenchmarkNews(b *testing.B) {
	l, into := New(Options{Writers: 1}), New(Options{})
	own, err := l.Workload(Params{})
	if err != nil {
		b.Fatal(err)
	}
	s, remote := own.Stream(0, 1), into.Remote(0)
	observe := l.Observe(0)
	const operations = 20_000 // between two hand-overs
	var op workload.Op
	var bytes, writes int64
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		before := l.by[0].inserts.next + l.by[0].updates.next
		for i := range operations {
			s.Next(&op)
			at := l.by[0].inserts.next*50_000 + int64(i%7)*1000
			observe(&op, &load.Settlement{Failed: -1, Attempts: 1, Confirmed: 1, Sent: at - 300_000, Ended: at})
		}
		writes += l.by[0].inserts.next + l.by[0].updates.next - before
		b.StartTimer()
		delta := l.Delta()
		if err := remote.Take(delta); err != nil {
			b.Fatal(err)
		}
		bytes += int64(len(delta))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(writes), "ns/write")
	b.ReportMetric(float64(bytes)/float64(writes), "B/write")
	b.ReportMetric(0, "ns/op")
}

func benchmarkStream(b *testing.B, l *Ledger, w workload.Workload) {
	var op workload.Op
	var observe load.Observer
	s, st := w.Stream(0, 1), load.Settlement{Failed: -1, Attempts: 1}
	if l != nil {
		observe = l.Observe(0)
	}
	b.ReportAllocs()
	for range b.N {
		s.Next(&op)
		if observe != nil {
			st.Confirmed = len(op.Requests)
			observe(&op, &st)
		}
		s.Done(&op, true)
	}
}
