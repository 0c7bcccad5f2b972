package simulatedtest

import (
	"context"
	"sync"
	"time"
)

// Clock is a virtual clock. It advances with every sleep and trial, without waiting.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Epoch is when the time of every simulation begins.
var Epoch = time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC)

// NewClock returns a clock at [Epoch].
func NewClock() *Clock { return &Clock{now: Epoch} }

// Now returns the virtual time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Sleep passes the time at once.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	c.advance(d)
	return ctx.Err()
}

func (c *Clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(max(0, d))
}
