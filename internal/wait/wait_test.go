package wait_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
)

// heard collects what a listener hears.
type heard struct {
	mu     sync.Mutex
	said   []string
	gaveUp []*wait.Error
}

func (h *heard) listen(ctx context.Context) context.Context {
	return wait.Listen(ctx, wait.Listener{
		Say: func(text string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.said = append(h.said, text)
		},
		GaveUp: func(e *wait.Error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.gaveUp = append(h.gaveUp, e)
		}})
}

// forever does not end before its context.
func forever(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

// A wait says how long nothing came, and when it ends, and its error says what the other side was doing before that.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h heard
		asked, living := 0, true
		began := time.Now()
		err := wait.Wait{Name: "final read of usertable through router-2", Limit: 2 * time.Minute}.Do(h.listen(t.Context()),
			func(ctx context.Context) error {
				wait.Ask(ctx, func(asking context.Context) string {
					asked++
					living = living && ctx.Err() == nil
					if asked == 1 {
						<-asking.Done() // it hangs too
						return ""
					}
					return "It performs find"
				})
				return forever(ctx)
			})
		if took := time.Since(began); took != 2*time.Minute {
			t.Errorf("it ended after %v", took)
		}
		want := []string{
			"final read of usertable through router-2: no answer for 10 s, times out after 120 s",
			"final read of usertable through router-2: no answer for 20 s, times out after 120 s. It performs find",
			"final read of usertable through router-2: no answer for 40 s, times out after 120 s. It performs find",
			"final read of usertable through router-2: no answer for 80 s, times out after 120 s. It performs find",
		}
		if diff := cmp.Diff(want, h.said); diff != "" {
			t.Error(diff)
		}
		text := "final read of usertable through router-2: no answer for 120 s, the limit. It performs find"
		if err == nil || err.Error() != text || !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %q", err)
		}
		if len(h.gaveUp) != 1 || h.gaveUp[0].Limit != 2*time.Minute || !living {
			t.Errorf("it was asked after its end, or given up %v", h.gaveUp)
		}
	})
}

// A wait is said at least once, also if the other side is asked what it does until the limit is over.
func TestIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h heard
		err := wait.Wait{Name: "short", Limit: 2 * time.Second}.Do(h.listen(t.Context()), func(ctx context.Context) error {
			wait.Ask(ctx, func(ctx context.Context) string { _ = sleep(ctx, 3*time.Second); return "" })
			return forever(ctx)
		})
		if err == nil || len(h.said) != 1 || !strings.Contains(h.said[0], "times out after 2 s") {
			t.Errorf("it said %q and ended with %v", h.said, err)
		}
	})
}

// Answers begin the limit again, so a wait for many slow answers is not given up.
func TestAnswersBeginTheLimitAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h heard
		err := wait.Wait{Name: "outer", Limit: time.Minute}.Do(h.listen(t.Context()), func(ctx context.Context) error {
			return wait.Wait{Name: "inner", Limit: time.Minute}.Do(ctx, func(ctx context.Context) error {
				for range 100 {
					if err := sleep(ctx, 59*time.Second); err != nil {
						return err
					}
					wait.Answered(ctx)
				}
				return nil
			})
		})
		if err != nil || len(h.gaveUp) > 0 {
			t.Errorf("it ended with %v", err)
		}
		if !slices.Contains(h.said, "inner: no answer for 40 s, times out after 60 s") {
			t.Errorf("it said %q", h.said[:4])
		}
		// The answer that comes while the other side is asked what it does counts.
		err = wait.Wait{Name: "late", Limit: time.Minute}.Do(t.Context(), func(ctx context.Context) error {
			wait.Ask(ctx, func(ctx context.Context) string { _ = sleep(ctx, 3*time.Second); return "" })
			if err := sleep(ctx, time.Minute+time.Second); err != nil {
				return err
			}
			wait.Answered(ctx)
			return sleep(ctx, 50*time.Second)
		})
		if err != nil {
			t.Errorf("after a late answer it ended with %v", err)
		}
	})
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// The end of the context ends a wait at once. A wait that has not begun says so and is not given up. Errors of what was
// waited for are its own.
func TestInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h heard
		ctx, cancel := context.WithCancel(h.listen(t.Context()))
		time.AfterFunc(12*time.Second, cancel)
		began := time.Now()
		err := wait.Wait{Name: "redundancy", Limit: time.Hour}.Do(ctx, func(ctx context.Context) error {
			wait.Report(ctx, "rs0-2 is down")
			return forever(ctx)
		})
		if took := time.Since(began); took != 12*time.Second || err == nil ||
			err.Error() != "redundancy: interrupted; rs0-2 is down after 12 s" {
			t.Errorf("after %v: %v", took, err)
		}
		err = wait.Wait{Name: "seeds", Limit: time.Hour}.Do(ctx, func(context.Context) error { t.Error("it began"); return nil })
		if err == nil || err.Error() != "seeds: not begun, because it was interrupted" {
			t.Errorf("after the interrupt: %v", err)
		}
		if len(h.gaveUp) != 1 {
			t.Errorf("given up: %v", h.gaveUp)
		}
		own := errors.New("refused")
		refused := wait.Wait{Name: "x", Limit: time.Hour}
		if err := refused.Do(t.Context(), func(context.Context) error { return own }); err != own {
			t.Errorf("an error of its own is %v", err)
		}
	})
}

// Only the innermost wait is given up, because it says most.
func TestInnermost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h heard
		err := wait.Wait{Name: "outer", Limit: time.Hour}.Do(h.listen(t.Context()), func(ctx context.Context) error {
			return wait.Wait{Name: "inner", Limit: time.Minute}.Do(ctx, forever)
		})
		if err == nil || !strings.HasPrefix(err.Error(), "inner:") || len(h.gaveUp) != 1 {
			t.Errorf("%v, given up %v", err, h.gaveUp)
		}
	})
}

// What does not heed a context is left alone when it ends.
func TestDetached(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	read := func() (int, error) { cancel(); return r.Read(make([]byte, 1)) }
	if _, err := wait.Detached(ctx, read); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if n, err := wait.Detached(t.Context(), func() (int, error) { return 7, nil }); n != 7 || err != nil {
		t.Errorf("it is %d, %v", n, err)
	}
}
