package wait

import (
	"context"
	"time"
)

// Part is how far something is whose end is known, or at least bounded.
type Part struct {
	// Name is what is done, in a few words, such as "download". It is the same in all reports of one thing.
	Name string
	// Done of Total are things called Of, or bytes if Bytes is set. Total is 0 if it is not known. Without Of, only their
	// ratio means something.
	Done, Total int64
	Of          string
	Bytes       bool
	// Status is what is missing, or what is done at the moment; it may be empty.
	Status string
	// Limit is the time after which it ends without a result; 0 if it has none.
	Limit time.Duration
}

// Advance tells the listener of ctx how far something is. It may be called for each byte.
func Advance(ctx context.Context, p Part) {
	if l, _ := ctx.Value(listenerKey{}).(Listener); l.Part != nil {
		l.Part(p)
	}
}
