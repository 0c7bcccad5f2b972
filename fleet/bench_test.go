package fleet

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// What a second of several clients costs the parent: unpacking and merging, with 20,000 operations of each client.
func BenchmarkSecond(b *testing.B) {
	for _, clients := range []int{4, 32} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			d := testDims(true)
			c, err := measure.NewCollector(measure.Options{Dims: d, Phase: load.PhaseMeasure})
			if err != nil {
				b.Fatal(err)
			}
			r, rng := c.Recorder(), rand.New(rand.NewPCG(1, 1))
			for i := range 20_000 {
				service := int64(200_000 + rng.ExpFloat64()*300_000)
				r.Record(&measure.Sample{End: int64(i) * 50_000, Service: service, Response: service + 5000, Class: uint8(i % 2)})
			}
			ivs, err := c.Finish(time.Second)
			if err != nil {
				b.Fatal(err)
			}
			w := record.Pack(d, ivs[0])
			m := newMerger(d, time.Second, clients, func(*measure.Interval) error { return nil })
			b.ReportAllocs()
			for b.Loop() {
				for i := range clients {
					iv, err := w.Unpack(d)
					if err == nil {
						err = m.add(i, iv)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
