package platform

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// watchDir is the directory in a journal that its watchdog holds.
const watchDir = "watch"

// watchEvery is the pause between two looks of a watchdog.
const watchEvery = 200 * time.Millisecond

// Watch is the watchdog of a journal. It does nothing while the process lives that injected the faults. After it, each
// fault is reverted when its time is over, or at once if it was to last until the end of the drill. Watch returns when
// nothing is left to revert, or with what could not be reverted.
func Watch(ctx context.Context, journal string, healers Healers, tell func(string)) error {
	if _, err := os.Stat(journal); err != nil {
		return nil // the process has ended in order already
	}
	own := filepath.Join(journal, watchDir)
	release, err := record.Hold(own)
	if err != nil {
		return err
	}
	defer func() {
		release()
		_, _ = os.Remove(own), os.Remove(journal) // of a journal that was removed meanwhile; others are not empty
	}()
	journals := filepath.Dir(journal)
	for {
		left, _ := Left(journals) // an error may be that of another journal
		left = slices.DeleteFunc(left, func(e Entry) bool { return e.Dir != journal })
		_, lives := record.Holder(journal)
		if !lives && len(left) == 0 {
			return nil
		}
		due := func(e Entry) bool { return e.Dir == journal && e.Holder == 0 && !time.Now().Before(e.Until) }
		if slices.ContainsFunc(left, due) {
			healErr := healSome(ctx, journals, healers, tell, due)
			left, err := Left(journals)
			if slices.ContainsFunc(left, due) {
				return errors.Join(healErr, err)
			}
			continue
		}
		if err := Pause(ctx, watchEvery); err != nil {
			return err
		}
	}
}
