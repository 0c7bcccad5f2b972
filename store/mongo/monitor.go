package mongo

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	xdriver "go.mongodb.org/mongo-driver/v2/x/mongo/driver"

	"github.com/plimsoll-bench/plimsoll/store"
)

// tracker follows the commands that the driver sends for one request. It travels in the context of
// the session, and the driver calls its monitor on the goroutine of the operation, so it needs no lock.
//
// Waiting: the driver reports how long a checkout from its pool took, but not for which operation.
// What can be attributed is the time in which the operation had no command under way: from its start
// to the first command, and from a failed attempt to the next one. That is server selection, the wait
// for a connection (with its handshake, if it is new) and the building of the message; on an idle
// client it is the last alone, a few microseconds.
type tracker struct {
	write     bool
	started   int           // commands handed over for sending, without getMore and killCursors
	unsent    int           // of those, given up before they were written
	ambiguous bool          // an attempt that has ended may have changed documents
	open      bool          // the last attempt has not been reported as failed
	idleSince time.Time     // since when no command is under way
	wait      time.Duration // see above
	server    string        // that the last command was handed over for
}

// trackerKey finds the tracker in a context.
type trackerKey struct{}

// begin makes t ready for a request.
func (t *tracker) begin(write bool) { *t = tracker{write: write, idleSince: time.Now()} }

// end closes the account: if the last thing that happened was a failure, the time since was a wait.
func (t *tracker) end() {
	if !t.open {
		t.wait += time.Since(t.idleSince)
	}
}

// sent is the number of commands that were written to a connection.
func (t *tracker) sent() int { return t.started - t.unsent }

// start notes a command that is handed over for a connection, which the driver calls "HOST:PORT[-NUMBER]".
func (t *tracker) start(name, connection string) {
	t.server, _, _ = strings.Cut(connection, "[")
	if name == "getMore" || name == "killCursors" {
		return
	}
	if t.open {
		// The command before this one is not known to have failed as a whole: it was a batch of a
		// request too large for one message, or ended in a write concern error that is retried.
		t.ambiguous = t.ambiguous || t.write
	} else {
		t.wait += time.Since(t.idleSince)
	}
	t.started++
	t.open = true
}

func (t *tracker) fail(name string, err error) {
	if name == "getMore" || name == "killCursors" {
		return
	}
	t.open, t.idleSince = false, time.Now()
	var de xdriver.Error
	switch {
	case !errors.As(err, &de):
		t.unsent++ // the deadline had passed, or would have, before the message was written
	case de.Code != 0:
		outcome, _ := store.ClassifyServerError(t.write, de.Code, de.Name, de.Labels, de.Message)
		t.ambiguous = t.ambiguous || outcome == store.Indeterminate
	default:
		t.ambiguous = t.ambiguous || t.write
	}
}

// commandMonitor feeds the tracker in the context. Success is not watched, because the driver would
// copy every reply for it.
func commandMonitor() *event.CommandMonitor {
	return &event.CommandMonitor{
		Started: func(ctx context.Context, e *event.CommandStartedEvent) {
			if t, ok := ctx.Value(trackerKey{}).(*tracker); ok {
				t.start(e.CommandName, e.ConnectionID)
			}
		},
		Failed: func(ctx context.Context, e *event.CommandFailedEvent) {
			if t, ok := ctx.Value(trackerKey{}).(*tracker); ok {
				t.fail(e.CommandName, e.Failure)
			}
		},
	}
}
