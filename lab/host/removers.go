package host

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
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

// removeProcess ends a process of a host that is left, its descendants and its group. A process that was started after
// the last entry in the journal was made has died with its parent.
func removeProcess(ctx context.Context, r journal.Resource) error {
	pid, err := strconv.Atoi(r.Details["pid"])
	if r.Details["pid"] == "" || r.Details["boot"] != bootID() {
		return nil
	}
	born, err2 := strconv.ParseUint(r.Details["born"], 10, 64)
	if err != nil || err2 != nil || pid <= 1 {
		return fmt.Errorf("its id %q and start time %q are not understood", r.Details["pid"], r.Details["born"])
	}
	ctx, cancel := context.WithTimeout(ctx, removeTime)
	defer cancel()
	for {
		switch {
		case process.Alive(pid, born):
			process.KillTree(pid)
			_ = syscall.Kill(-pid, syscall.SIGKILL) // it may have ended
			if dir := r.Details["freezer"]; strings.HasPrefix(filepath.Base(dir), groupPrefix) {
				thaw(dir)
			}
		case syscall.Kill(pid, 0) == nil && !sameStart(pid, born):
			return nil // the id is another's by now, so the group was empty once and is not ours
		case groupHolds(pid):
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		default:
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d was killed but has not ended: %w", pid, context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// sameStart says whether a process, dead or not, is the one that was started at the given time.
func sameStart(pid int, born uint64) bool {
	at, err := process.StartTime(pid)
	return err == nil && at == born
}
