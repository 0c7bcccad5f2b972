package platform

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/plimsoll-bench/plimsoll/internal/visible"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
)

// helloEvery is the pause between two greetings to a member.
const helloEvery = 20 * time.Millisecond

// monitor is Plimsoll's own connection to a member, which notices an effect of a fault without the help of a [Backend].
type monitor struct {
	member *member
	hide   func(string) string
	stop   context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	problem string    // why it cannot notice anything
	at      time.Time // of the first effect, zero if there is none
	text    string    // what it noticed
}

// newMonitor watches a member until it notices an effect, or is closed. It returns when it knows the role of the
// member.
func newMonitor(m *member, hide func(string) string) *monitor {
	ctx, cancel := context.WithCancel(context.Background())
	e := &monitor{member: m, hide: hide, stop: cancel, done: make(chan struct{})}
	before, err := m.hello(ctx)
	if err != nil {
		e.problem = "did not answer before the fault either: " + e.clean(err)
		close(e.done)
		return e
	}
	go e.watch(ctx, roleOf(before.Hello))
	return e
}

func (e *monitor) watch(ctx context.Context, before string) {
	defer close(e.done)
	opened := time.Now()
	for ctx.Err() == nil {
		began := time.Now()
		now, err := e.member.hello(ctx)
		at := time.Now()
		if at.Sub(began) >= helloWithin { // it was so from the beginning
			at = began
		}
		switch role := roleOf(now.Hello); {
		case ctx.Err() != nil:
			return
		case err != nil && mongo.IsTimeout(err):
			e.notice(at, fmt.Sprintf("has not answered for %v", helloWithin))
			return
		case err != nil:
			e.notice(at, "broke: "+e.clean(err))
			return
		case role != before:
			e.notice(at, fmt.Sprintf("reports the role %s instead of %s", role, before))
			return
		}
		if at, err := e.member.lostSince(opened); err != nil {
			e.notice(at, "broke: "+e.clean(err))
			return
		}
		_ = wait.Sleep(ctx, helloEvery) // the loop ends with ctx
	}
}

func (e *monitor) clean(err error) string {
	return visible.Bounded(visible.Line(e.hide(err.Error())), 300)
}

func (e *monitor) notice(at time.Time, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.at, e.text = at, text
}

// seen returns the first effect. at is zero if there is none.
func (e *monitor) seen() (at time.Time, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.problem != "":
		return time.Time{}, e.problem
	case e.at.IsZero():
		return time.Time{}, "answers as before"
	}
	return e.at, e.text
}

func (e *monitor) close() {
	e.stop()
	<-e.done
}
