// Package wait bounds what waits for an answer from outside this process: a server, a lab, a command. Each wait has a
// name and a limit. It says both while nothing comes, ends at the limit or with its context, and then says what did
// not answer. Who listens to the waits below a context is in the context, so nothing between them passes it on. [Sleep]
// waits for a time and nothing else, [Each] for several
// calls.
package wait

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

// Wait is one wait.
type Wait struct {
	// Name is what is waited for, such as "final read of usertable through router-2".
	Name string
	// Limit is the longest time without an answer. It begins again with each [Answered].
	Limit time.Duration
}

// Listener hears of all waits below a context. Its functions are called by several goroutines.
type Listener struct {
	Say    func(text string)       // a wait lasts
	GaveUp func(unanswered *Error) // a wait that had begun ended without its result
	Part   func(Part)              // what [Advance] tells; nil for the function of the listener around this one
	// Must is what [Must] returns; nil for a context that does not end.
	Must func(ctx context.Context) (context.Context, context.CancelFunc)
}

// Error says that a wait ended without its result: at its limit, or with its context.
type Error struct {
	Name string
	// Silent is the time without an answer.
	Silent time.Duration
	// Limit is the limit that ended the wait; 0 if the context did.
	Limit time.Duration
	// Status is what the last [Report] said, and Doing what the other side was doing; "" if that is not known.
	Status, Doing string
	Err           error // of what was waited for; nil if the wait did not begin
}

func (e *Error) Error() string {
	state := stateText(e.Status, e.Silent)
	text := fmt.Sprintf("%s: %s, the limit", e.Name, state)
	switch {
	case e.Err == nil:
		text = e.Name + ": not begun, because it was interrupted"
	case e.Limit == 0:
		text = fmt.Sprintf("%s: interrupted; %s", e.Name, state)
	}
	if e.Doing != "" {
		text += ". " + e.Doing
	}
	return text
}

// stateText says how long nothing came, and what is missing.
func stateText(missing string, silent time.Duration) string {
	if missing != "" {
		return fmt.Sprintf("%s after %s", missing, length(silent))
	}
	return "no answer for " + length(silent)
}

// length is a time in whole seconds, if it has some.
func length(d time.Duration) string {
	if d < time.Second || d > 10*time.Minute {
		return figure.Duration(d)
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}

func (e *Error) Unwrap() error { return e.Err }

type listenerKey struct{}
type stateKey struct{}

// Listen returns a context whose waits l hears of.
func Listen(ctx context.Context, l Listener) context.Context {
	if around, _ := ctx.Value(listenerKey{}).(Listener); l.Part == nil {
		l.Part = around.Part
	}
	return context.WithValue(ctx, listenerKey{}, l)
}

// Answered tells the waits that ctx is of that the other side answered.
func Answered(ctx context.Context) { report(ctx, func(s *state) { s.heard = time.Now() }) }

// Report tells the waits that ctx is of what is missing, such as "rs0-2 is 3 s behind". It replaces the words "no
// answer".
func Report(ctx context.Context, missing string) { report(ctx, func(s *state) { s.status = missing }) }

// Extend tells the waits that ctx is of that what begins now has a limit of its own, d, after which it ends by itself.
func Extend(ctx context.Context, d time.Duration) {
	report(ctx, func(s *state) { s.Limit = max(s.Limit, time.Since(s.heard)+d+time.Second) })
}

// Must returns a context for what has to be done although ctx may end, such as starting a server that was stopped. It
// ends as the listener says.
func Must(ctx context.Context) (context.Context, context.CancelFunc) {
	if l, _ := ctx.Value(listenerKey{}).(Listener); l.Must != nil {
		return l.Must(ctx)
	}
	return context.WithCancel(context.WithoutCancel(ctx))
}

// Ask tells the waits that ctx is of how to find out what the other side does instead of answering: doing returns "" if
// that is not known. It is called while a wait lasts, with a time limit.
func Ask(ctx context.Context, doing func(ctx context.Context) string) {
	report(ctx, func(s *state) { s.ask = doing })
}

func report(ctx context.Context, change func(*state)) {
	for s, _ := ctx.Value(stateKey{}).(*state); s != nil; s = s.outer {
		s.mu.Lock()
		change(s)
		s.mu.Unlock()
	}
}

// state is a wait under way.
type state struct {
	Wait
	outer    *state
	listener Listener

	mu            sync.Mutex
	heard         time.Time // the last answer, or the begin
	status, doing string
	ask           func(context.Context) string
}

var errLimit = errors.New("the limit of the wait is over")

// The pauses between what a wait says double: the first is this part of its limit.
const firstPart = 12

// askAtMost is how long the other side is asked what it does, at most.
const askAtMost = 5 * time.Second

// Do calls do with a context that ends at the limit, and waits for it to return. If do fails then, or because ctx
// ended, the error is an [Error], which the listener gets too. Other errors are those of do.
func (w Wait) Do(ctx context.Context, do func(ctx context.Context) error) error {
	if ctx.Err() != nil {
		return &Error{Name: w.Name}
	}
	s := &state{Wait: w, heard: time.Now()}
	s.outer, _ = ctx.Value(stateKey{}).(*state)
	s.listener, _ = ctx.Value(listenerKey{}).(Listener)
	limited, cancel := context.WithCancelCause(context.WithValue(ctx, stateKey{}, s))
	var watching sync.WaitGroup
	done := make(chan struct{})
	watching.Go(func() {
		if s.watch(limited, done) {
			cancel(errLimit)
		}
	})
	err := do(limited)
	over := limited.Err() != nil && context.Cause(limited) == errLimit
	close(done)
	cancel(nil)
	watching.Wait()
	var inner *Error
	if err == nil || ctx.Err() == nil && !over || errors.As(err, &inner) {
		return err
	}
	given := s.gaveUp(err, over)
	if s.listener.GaveUp != nil {
		s.listener.GaveUp(given)
	}
	return given
}

// gaveUp is the error of a wait that ended at its limit, or with its context.
func (s *state) gaveUp(err error, limit bool) *Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := &Error{Name: s.Name, Silent: time.Since(s.heard), Status: s.status, Doing: s.doing, Err: err}
	if limit {
		e.Limit = s.Limit
	}
	return e
}

// watch says how long nothing was answered, at least once. It returns true at the limit, false if the wait ended.
func (s *state) watch(ctx context.Context, done <-chan struct{}) bool {
	said := false
	silent, limit := s.silence()
	for next := limit / firstPart; ; {
		if silent < next/2 { // it was answered
			next = limit / firstPart
		}
		t := time.NewTimer(min(next, limit) - silent)
		select {
		case <-t.C:
		case <-done:
			t.Stop()
			return false
		case <-ctx.Done():
			t.Stop()
			return false
		}
		if silent, limit = s.silence(); silent >= min(next, limit) {
			s.learn(ctx)
			before := silent
			if silent, limit = s.silence(); silent < before { // it was answered meanwhile
				continue
			}
			if silent < limit || !said {
				s.say(before, limit)
				said = true
			}
			if silent >= limit {
				return true
			}
			next *= 2
		}
	}
}

// silence returns for how long nothing was answered, and the limit now.
func (s *state) silence() (silent, limit time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.heard), s.Limit
}

// learn asks what the other side does, before the limit ends that.
func (s *state) learn(ctx context.Context) {
	s.mu.Lock()
	ask := s.ask
	s.mu.Unlock()
	if ask == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askAtMost)
	defer cancel()
	text := ask(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doing = text
}

func (s *state) say(silent, limit time.Duration) {
	if s.listener.Say == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	text := fmt.Sprintf("%s: %s, times out after %s", s.Name, stateText(s.status, silent), length(limit))
	if s.doing != "" {
		text += ". " + s.doing
	}
	s.listener.Say(text)
}

// Detached calls do, which does not end with a context, such as a read of a file on a disk that hangs. It returns the
// result, or why ctx ended; do goes on then, and its result is dropped.
func Detached[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	got := make(chan result, 1)
	go func() {
		value, err := do()
		got <- result{value, err}
	}()
	select {
	case r := <-got:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
