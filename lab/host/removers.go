package host

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// Removers are how what hosts make is removed by a later process, by kind: processes, promises and, on Linux, groups,
// namespaces and links.
func Removers() map[string]journal.Remover {
	all := map[string]journal.Remover{kindProcess: removeProcess, kindPromise: removePromise}
	maps.Copy(all, systemRemovers())
	return all
}

// removeTime is how long a remover waits for what was killed to end.
const removeTime = 20 * time.Second

// removeProcess ends what is left of a process of a host: itself, its descendants, its group, and whatever has its
// mark. Its id is not known if the lab was killed at that moment.
func removeProcess(ctx context.Context, r journal.Resource) error {
	if r.Details["boot"] != bootID() {
		return nil
	}
	var pid int
	var born uint64
	if text := r.Details["pid"]; text != "" {
		if _, err := fmt.Sscan(text, &pid); err != nil || pid <= 1 {
			return fmt.Errorf("its id %q is not understood", text)
		}
		if _, err := fmt.Sscan(r.Details["born"], &born); err != nil {
			return fmt.Errorf("its start time %q is not understood", r.Details["born"])
		}
	}
	ctx, cancel := context.WithTimeout(ctx, removeTime)
	defer cancel()
	for {
		left := pid != 0 && endTree(pid, born)
		if mark := r.Details["mark"]; mark != "" {
			for _, p := range marked(mark) {
				_ = syscall.Kill(p, syscall.SIGKILL) // it may have ended
				left = true
			}
		}
		if !left {
			return nil
		}
		if dir := r.Details["freezer"]; strings.HasPrefix(filepath.Base(dir), groupPrefix) {
			thaw(dir)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it was killed but has not ended: %w", context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// endTree kills a process with its descendants, or the group that it left, and says whether there was something.
func endTree(pid int, born uint64) bool {
	switch {
	case process.Alive(pid, born):
		process.KillTree(pid)
	case syscall.Kill(pid, 0) == nil && !sameStart(pid, born):
		return false // the id is another's by now, so the group was empty once and is not ours
	case !groupHolds(pid):
		return false
	}
	_ = syscall.Kill(-pid, syscall.SIGKILL) // it may have ended
	return true
}

// sameStart says whether a process, dead or not, is the one that was started at the given time.
func sameStart(pid int, born uint64) bool {
	at, err := process.StartTime(pid)
	return err == nil && at == born
}
