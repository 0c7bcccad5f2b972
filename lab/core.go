package lab

import (
	"context"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// core is what the parts of a supervisor share: until when they work, what they tell, and the locks of what they
// change.
type core struct {
	ctx    context.Context // of everything that they do; ends when the lab is to stop
	events *eventLog
	locks  keyed
}

// event tells that something happened. Of the ends of logs that errors bring along it tells one line.
func (c *core) event(kind, text string, data map[string]string) {
	c.events.add(kind, process.Brief(text), data)
}

// pause waits, and says false when the lab stops.
func (c *core) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return c.ctx.Err() == nil
	case <-c.ctx.Done():
		return false
	}
}
