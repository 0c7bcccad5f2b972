package mongo

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	xdriver "go.mongodb.org/mongo-driver/v2/x/mongo/driver"

	"github.com/plimsoll-bench/plimsoll/internal/arrival"
	"github.com/plimsoll-bench/plimsoll/store"
)

// tracker follows the commands that the driver sends for one request. It is in the context of the session, and the
// driver calls its monitor on the goroutine of the operation, so it needs no lock.
//
// Waiting: the driver reports the duration of a checkout from its pool, but not for which operation. So the wait is the
// time without a running command: from the start to the first command, and from a failed attempt to the next one. It
// includes server selection, the wait for a connection (with the handshake of a new one) and the building of the
// message, which takes a few microseconds.
type tracker struct {
	write     bool
	started   int           // commands passed on for sending, without getMore and killCursors
	unsent    int           // commands of those that failed before they were written
	ambiguous bool          // an earlier attempt may have changed documents
	open      bool          // the last attempt is not reported as failed
	idleSince time.Time     // start of the time without a running command
	wait      time.Duration // see above
	server    string        // of the last command
	request   int64         // number of the message of the last command

	operation, snapshot uint64 // times of the server, see [store.Result]
}

type trackerKey struct{}

func (t *tracker) begin(write bool) { *t = tracker{write: write, idleSince: time.Now()} }

// end adds the time since the last attempt to the wait, if that attempt failed.
func (t *tracker) end() {
	if !t.open {
		t.wait += time.Since(t.idleSince)
	}
}

// arrived returns when the last reply arrived, zero if that is unknown. The driver has just read it.
func (t *tracker) arrived() time.Time {
	if delay, ok := arrival.Delay(t.request); ok {
		return time.Now().Add(-delay)
	}
	return time.Time{}
}

// sent is the number of commands that were written to a connection.
func (t *tracker) sent() int { return t.started - t.unsent }

// start notes a command. The driver calls a connection "HOST:PORT[-NUMBER]".
func (t *tracker) start(name, connection string) {
	t.server, _, _ = strings.Cut(connection, "[")
	if name == "getMore" || name == "killCursors" {
		return
	}
	if t.open {
		// The last command did not fail as a whole: it was a batch of a request too large for one message, or it ended in a
		// write concern error that is retried.
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
		t.unsent++ // the deadline ended the attempt before the message was written
	case de.Code != 0:
		outcome, _ := store.ClassifyServerError(t.write, de.Code, de.Name, de.Labels, de.Message)
		t.ambiguous = t.ambiguous || outcome == store.Indeterminate
	default:
		t.ambiguous = t.ambiguous || t.write
	}
}

// reply notes the times of the server.
func (t *tracker) reply(doc bsoncore.Document) {
	t.operation = timestampOf(doc.Lookup("operationTime"))
	t.snapshot = max(t.snapshot, timestampOf(doc.Lookup("cursor", "atClusterTime")))
}

// timestampOf returns a timestamp whose order is that of the numbers, 0 if the value is none.
func timestampOf(v bsoncore.Value) uint64 {
	seconds, counter, ok := v.TimestampOK()
	if !ok {
		return 0
	}
	return uint64(seconds)<<32 | uint64(counter)
}

// commandMonitor feeds the tracker of the context. It watches successes only for the times of the server, because the
// driver copies every reply for that.
func commandMonitor(times bool) *event.CommandMonitor {
	m := &event.CommandMonitor{
		Started: func(ctx context.Context, e *event.CommandStartedEvent) {
			if t, ok := ctx.Value(trackerKey{}).(*tracker); ok {
				t.request = e.RequestID
				t.start(e.CommandName, e.ConnectionID)
			}
		},
		Failed: func(ctx context.Context, e *event.CommandFailedEvent) {
			if t, ok := ctx.Value(trackerKey{}).(*tracker); ok {
				t.fail(e.CommandName, e.Failure)
			}
		},
	}
	if times {
		m.Succeeded = func(ctx context.Context, e *event.CommandSucceededEvent) {
			if t, ok := ctx.Value(trackerKey{}).(*tracker); ok {
				t.reply(bsoncore.Document(e.Reply))
			}
		}
	}
	return m
}
