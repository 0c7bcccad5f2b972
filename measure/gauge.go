package measure

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// gauge counts the operations in flight at random moments, independently of latencies, for the check with Little's law.
type gauge struct {
	mu   sync.Mutex
	bins map[int64]*gaugeBin // by the time in milliseconds, because a phase border may be set later
}

type gaugeBin struct{ sum, n int64 }

func (g *gauge) add(at, busy int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.bins[at/int64(time.Millisecond)]
	if b == nil {
		b = &gaugeBin{}
		g.bins[at/int64(time.Millisecond)] = b
	}
	b.sum += busy
	b.n++
}

// take removes the samples before end and returns their mean and number.
func (g *gauge) take(end int64) (mean float64, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all gaugeBin
	for ms, b := range g.bins {
		if at := ms * int64(time.Millisecond); at < end {
			delete(g.bins, ms)
			all.sum += b.sum
			all.n += b.n
		}
	}
	if all.n == 0 {
		return 0, 0
	}
	return float64(all.sum) / float64(all.n), int(all.n)
}

// Gauge adds the number of operations between [Recorder.Begin] and [Recorder.End] as a sample of the operations in
// flight at the time now. Call it at random times that are independent of the operations, or use [Collector.Watch].
func (c *Collector) Gauge(now time.Duration) int {
	c.mu.Lock()
	var busy int64
	for _, r := range c.recorders {
		busy += r.busy.Load()
	}
	c.mu.Unlock()
	c.gauge.add(int64(now), busy)
	return int(busy)
}

// Watch calls [Collector.Gauge] at random intervals of 5 to 15 ms, which cannot correlate with the load, until ctx
// ends. now returns the time since the start of the run.
func (c *Collector) Watch(ctx context.Context, now func() time.Duration) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(5*time.Millisecond + rand.N(10*time.Millisecond)):
			c.Gauge(now())
		}
	}
}
