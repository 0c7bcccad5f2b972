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
	b.Run("a", func(b *testing.B) { benchmarkStream(b, inner.Stream(0, 1)) })
	b.Run("a with ledger", func(b *testing.B) { benchmarkStream(b, l.Wrap(inner).Stream(0, 1)) })
	b.Run("inserts of 1 kB", func(b *testing.B) { benchmarkStream(b, kilo.Stream(0, 1)) })
	b.Run("inserts of 1 kB with ledger", func(b *testing.B) { benchmarkStream(b, l.Wrap(kilo).Stream(2, 3)) })
	b.Run("ledger", func(b *testing.B) { benchmarkStream(b, own.Stream(1, 2)) })
}

func benchmarkStream(b *testing.B, s workload.Stream) {
	var op workload.Op
	st := load.Settlement{Failed: -1, Attempts: 1}
	settler, _ := s.(load.Settler)
	b.ReportAllocs()
	for range b.N {
		s.Next(&op)
		if settler != nil {
			st.Confirmed = len(op.Requests)
			settler.Settle(&op, &st)
		}
		s.Done(&op, true)
	}
}
