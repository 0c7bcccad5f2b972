package faultfs

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// BenchmarkWrite compares random writes of 4 KiB to a loop device above a plain file with those to one above a
// disk: with nothing to undo, with each block's content from before to be kept, and protected, which keeps nothing.
func BenchmarkWrite(b *testing.B) {
	if !needRoot(b) {
		return
	}
	for _, writers := range []int{1, 8} {
		name := map[int]string{1: "alone", 8: "8at-once"}[writers]
		b.Run("plain/"+name, func(b *testing.B) {
			file := filepath.Join(b.TempDir(), "disk")
			must(b, os.WriteFile(file, nil, 0o600))
			must(b, os.Truncate(file, 256<<20))
			benchWrites(b, file, writers, false)
		})
		for _, kind := range []string{"fresh", "flushed", "protected"} {
			b.Run(kind+"/"+name, func(b *testing.B) {
				d := start(b)
				var device Device
				if kind == "protected" {
					device = Device{Protected: true, WriteLatency: 1}
				}
				must(b, d.Create(b.Context(), "a", 256<<20, device, nil))
				benchWrites(b, d.file("a"), writers, kind == "flushed")
			})
		}
	}
}

// benchWrites writes through a loop device above a file. With flushes the file is full before, and is flushed after
// every 64 writes, so that most writes have something to keep.
func benchWrites(b *testing.B, file string, writers int, flushes bool) {
	device := strings.TrimSpace(command(b, "losetup", "--find", "--show", "--direct-io=on", file))
	defer command(b, "losetup", "-d", device)
	f, err := os.OpenFile(device, os.O_RDWR|syscall.O_DIRECT, 0)
	must(b, err)
	defer f.Close()
	if flushes {
		for at := int64(0); at < 256<<20; at += 1 << 20 {
			_, err := f.WriteAt(buffer2[:1<<20], at)
			must(b, err)
		}
	}
	b.SetBytes(4096)
	b.ResetTimer()
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 0))
			for i := range b.N / writers {
				if _, err := f.WriteAt(buffer2[w<<12:][:4096], r.Int64N(256<<20>>12)<<12); err != nil {
					b.Error(err)
					return
				}
				if flushes && w == 0 && i%64 == 63 {
					if err := f.Sync(); err != nil {
						b.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
}

// BenchmarkSleep says how late a wait ends, as the median and the 99th percentile in microseconds.
func BenchmarkSleep(b *testing.B) {
	for _, d := range []time.Duration{50 * us, 200 * us, time.Millisecond, 12 * time.Millisecond} {
		b.Run(d.String(), func(b *testing.B) {
			var late []time.Duration
			for b.Loop() {
				due := time.Now().Add(d)
				sleepUntil(due, nil, nil)
				late = append(late, time.Since(due))
			}
			slices.Sort(late)
			b.ReportMetric(float64(late[len(late)/2].Nanoseconds())/1e3, "late-p50-µs")
			b.ReportMetric(float64(late[len(late)*99/100].Nanoseconds())/1e3, "late-p99-µs")
		})
	}
}
