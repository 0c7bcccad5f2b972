package measure

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// gauge counts the operations under way at random moments. It knows nothing of latencies, so Little's
// law can hold the two against each other.
type gauge struct {
	mu   sync.Mutex
	bins map[int64]*gaugeBin // by the moment in milliseconds, so that a later phase border still cuts them
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

// take removes the samples from start to end and returns their mean and number.
func (g *gauge) take(start, end int64) (mean float64, n int) {
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

// Gauge counts the operations that are between [Recorder.Begin] and [Recorder.End] as a sample of the
// operations under way at the time now. Call it at random moments that have nothing to do with the
// operations, or let [Collector.Watch] do so.
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

// Watch calls [Collector.Gauge] every 5 to 15 ms, at random so that it cannot fall in step with the
// load, until ctx ends. now returns the time since the start of the run.
func (c *Collector) Watch(ctx context.Context, now func() time.Duration) {
	t := time.NewTimer(gaugePause())
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			c.Gauge(now())
			t.Reset(gaugePause())
		}
	}
}

func gaugePause() time.Duration {
	return 5*time.Millisecond + rand.N(10*time.Millisecond)
}
