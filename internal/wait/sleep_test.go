package wait

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if err := Sleep(t.Context(), time.Minute); err != nil || time.Since(begun) != time.Minute {
			t.Errorf("slept for %v, %v", time.Since(begun), err)
		}
		why := errors.New("the lab is down")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		begun = time.Now()
		if err := Sleep(ctx, time.Minute); !errors.Is(err, why) || time.Since(begun) != time.Second {
			t.Errorf("slept for %v, %v", time.Since(begun), err)
		}
	})
}

// All calls are made at the same time, and all errors are returned.
func TestEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := Each([]string{"a", "", "b"}, func(name string) error {
			time.Sleep(time.Second)
			if name == "" {
				return nil
			}
			return errors.New(name + " failed")
		})
		if err == nil || err.Error() != "a failed\nb failed" || time.Since(began) != time.Second {
			t.Errorf("error %v after %v", err, time.Since(began))
		}
	})
	if err := Each([]int(nil), func(int) error { return errors.New("called") }); err != nil {
		t.Errorf("of no elements: %v", err)
	}
}

// Only a context without a deadline gets one.
func TestBounded(t *testing.T) {
	ctx, cancel := Bounded(t.Context(), time.Hour)
	defer cancel()
	until, ok := ctx.Deadline()
	if left := time.Until(until); !ok || left > time.Hour || left < time.Minute {
		t.Errorf("a limit of an hour ends in %v", left)
	}
	inner, end := Bounded(ctx, time.Second)
	defer end()
	if at, _ := inner.Deadline(); !at.Equal(until) {
		t.Errorf("the deadline %v became %v", until, at)
	}
}
