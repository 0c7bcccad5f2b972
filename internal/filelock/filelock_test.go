package filelock

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

func TestLock(t *testing.T) {
	name := filepath.Join(t.TempDir(), ".lock")
	unlock, err := Hold(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Hold(name); !errors.Is(err, ErrBusy) {
		t.Errorf("a second lock: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		waits := 0
		if _, err := Await(ctx, name, func() { waits++ }); !errors.Is(err, context.DeadlineExceeded) || waits != 1 {
			t.Errorf("error %v after %d notices", err, waits)
		}
	})
	unlock()
	if unlock, err = Hold(name); err != nil {
		t.Fatal(err)
	}
	unlock()
}
