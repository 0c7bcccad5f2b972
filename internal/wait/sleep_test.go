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
