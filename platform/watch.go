package platform

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/record"
)

// watchDir is the directory in a journal that its watchdog holds.
const watchDir = "watch"

// watchEvery is the pause between two looks of a watchdog.
const watchEvery = 200 * time.Millisecond

// Watched reports whether a watchdog holds a journal.
func Watched(journal string) bool {
	_, held := record.Holder(filepath.Join(journal, watchDir))
	return held
}

// Watch is the watchdog of a journal. It does nothing while the process lives that injected the faults. After it, each
// fault is reverted when its time is over, or at once if it was to last until the end of the drill. Watch returns when
// nothing is left to revert, or with what could not be reverted.
func Watch(ctx context.Context, journal string, healers Healers, tell func(string)) error {
	if _, err := os.Stat(journal); err != nil {
		return nil // the process has ended in order already
	}
	own := filepath.Join(journal, watchDir)
	release, err := record.Hold(own)
	if _, gone := os.Stat(own); err != nil && errors.Is(gone, fs.ErrNotExist) {
		_ = os.Remove(journal) // the process ended in order meanwhile; a journal with faults is not empty
		return nil
	}
	if err != nil {
		return err
	}
	defer func() {
		release()
		_, _ = os.Remove(own), os.Remove(journal) // of a journal that was removed meanwhile; others are not empty
	}()
	for {
		_, lives := record.Holder(journal)
		if !lives {
			break
		}
		if err := wait.Sleep(ctx, watchEvery); err != nil {
			return err
		}
	}
	var failed error
	tried := map[int]bool{} // those that could not be reverted: the others are still to be
	for {
		left, err := faultsIn(journal)
		left = slices.DeleteFunc(left, func(e Entry) bool { return tried[e.ID] })
		if len(left) == 0 {
			return cmp.Or(failed, err)
		}
		later := func(e Entry) bool { return e.Holder != 0 || time.Now().Before(e.Until) }
		if due := slices.DeleteFunc(left, later); len(due) > 0 {
			if err := heal(ctx, due, healers, tell); err != nil {
				failed = errors.Join(failed, err)
				for _, e := range due {
					tried[e.ID] = true
				}
			}
			continue
		}
		if err := wait.Sleep(ctx, watchEvery); err != nil {
			return err
		}
	}
}
