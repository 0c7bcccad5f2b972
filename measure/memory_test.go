//go:build !race

package measure

import (
	"runtime"
	"testing"
	"time"
)

// A thousand workers, eight classes, all kinds of histograms in use, for a minute: what the collector
// holds must be a small part of the 512 MiB that a process may take.
func TestMemoryOfAThousandWorkers(t *testing.T) {
	d := testDims(true)
	for len(d.Classes) < 8 {
		d.Classes = append(d.Classes, Class{Name: "more"})
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	c := newTestCollector(t, Options{Dims: d})
	recorders := make([]*Recorder, 1024)
	for i := range recorders {
		recorders[i] = c.Recorder()
	}
	sum := NewSummary(d, "measure")
	for second := range 60 {
		for i, r := range recorders {
			for k := range 20 {
				r.Record(&Sample{End: int64(second)*int64(time.Second) + int64(i), Service: int64(i*k*1000 + 1),
					Response: int64(i*k*1100 + 2),
					PoolWait: 10, Class: uint8(k % 8), Outcome: uint8(k / 19)})
			}
		}
		for _, iv := range tick(t, c, time.Duration(second+1)*time.Second) {
			if err := sum.Add(iv); err != nil {
				t.Fatal(err)
			}
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 96<<20 {
		t.Errorf("the collector holds %d MiB", grown>>20)
	} else {
		t.Logf("the collector holds %d MiB", grown>>20)
	}
	runtime.KeepAlive(recorders)
	runtime.KeepAlive(sum)
}
