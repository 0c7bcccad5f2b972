package load

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// outlet passes intervals and events to the sink in order, until the sink fails.
type outlet struct {
	sink measure.Sink
	err  error // why results cannot be kept
}

func (o *outlet) events(q *eventQueue) {
	events := q.drain()
	slices.SortStableFunc(events, func(a, b measure.Event) int { return cmp.Compare(a.At, b.At) })
	for _, e := range events {
		if o.err == nil {
			o.fail(o.sink.Event(e))
		}
	}
}

func (o *outlet) intervals(closed []*measure.Interval) {
	slices.SortStableFunc(closed, func(a, b *measure.Interval) int { return cmp.Compare(a.Start, b.Start) })
	for _, iv := range closed {
		if o.err == nil {
			o.fail(o.sink.Interval(iv))
		}
	}
}

func (o *outlet) fail(err error) {
	if err != nil && o.err == nil {
		o.err = fmt.Errorf("load: ended, because the results cannot be written: %w", err)
	}
}
