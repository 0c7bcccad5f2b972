package lab

import (
	"context"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// core is what the parts of a supervisor share.
type core struct {
	ctx    context.Context // ends when the lab is to stop
	events *eventLog
	locks  keyed
}

// event writes an event. If the text has the end of a log, the event has its most important line.
func (c *core) event(kind, text string, data map[string]string) {
	c.events.add(kind, process.Brief(text), data)
}

// pause waits, and returns false if the lab stops.
func (c *core) pause(d time.Duration) bool {
	return wait.Sleep(c.ctx, d) == nil && c.ctx.Err() == nil
}
