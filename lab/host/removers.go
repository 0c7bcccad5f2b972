package host

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// Removers remove the resources of hosts in a later process, by kind: processes, reservations and, on Linux, groups,
// namespaces and links.
func Removers() map[string]journal.Remover {
	all := map[string]journal.Remover{kindProcess: removeProcess, kindReservation: removeReservation}
	maps.Copy(all, systemRemovers())
	return all
}

// removeTime is how long a remover waits for killed processes to end. They may wait for a busy disk.
const removeTime = time.Minute

// removeProcess kills a process of a host, its descendants, its group, and all processes with its mark. The id is not
// in the journal if the lab was killed during the start.
func removeProcess(ctx context.Context, r journal.Resource) error {
	if r.Details["boot"] != procid.Self().Boot {
		return nil
	}
	var pid int
	var born uint64
	if text := r.Details["pid"]; text != "" {
		if _, err := fmt.Sscan(text, &pid); err != nil || pid <= 1 {
			return fmt.Errorf("the process id %q in the journal is not valid", text)
		}
		if _, err := fmt.Sscan(r.Details["born"], &born); err != nil {
			return fmt.Errorf("the start time %q in the journal is not valid", r.Details["born"])
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
		if wait.Sleep(ctx, 10*time.Millisecond) != nil {
			return fmt.Errorf("it was killed but has not ended: %w", context.Cause(ctx))
		}
	}
}

// endTree kills a process with its descendants, or the rest of its group, and says whether there was any.
func endTree(pid int, born uint64) bool {
	switch {
	case process.Alive(pid, born):
		process.KillTree(pid)
	case syscall.Kill(pid, 0) == nil && procid.Of(pid).Ticks != born:
		return false // another process has the id by now, so the group was empty once
	case !groupRuns(pid):
		return false
	}
	_ = syscall.Kill(-pid, syscall.SIGKILL) // it may have ended
	return true
}
