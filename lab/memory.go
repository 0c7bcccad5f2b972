package lab

import (
	"fmt"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/record"
)

// The hosts' counters of processes that the kernel killed are read every memoryEvery. If a member ends within oomWindow
// after such a kill on its host, lack of memory counts as the cause.
const (
	memoryEvery = time.Second
	oomWindow   = 5 * time.Second
)

// shortage has the kills on a host that ran out of memory.
type shortage struct {
	kills int64     // the host's counter, which starts at 0 when the host is powered on
	all   int64     // since the lab was created
	at    time.Time // of the last one
}

// memoryWatch finds processes of hosts that the kernel killed because no memory was left.
type memoryWatch struct {
	*core
	inventory *inventory

	mu        sync.Mutex
	shortages map[string]shortage // by host
}

// watch writes an event about each kill, until the lab stops. A server may survive a kill: PostgreSQL ends all sessions
// and recovers when one of its processes is killed.
func (w *memoryWatch) watch() {
	for w.pause(memoryEvery) {
		for _, plan := range w.inventory.layout().Hosts {
			if h := w.inventory.host(plan.Name); h != nil {
				w.check(h)
			}
		}
	}
}

// check writes an event about the kills on a host since the last check, and returns the time of the last kill.
func (w *memoryWatch) check(h host.Host) (last time.Time) {
	m, ok := h.(host.Memory)
	if !ok {
		return last
	}
	w.mu.Lock()
	kills := m.OutOfMemory() // under the lock, so that no kill is reported twice
	known := w.shortages[h.Name()]
	more := kills - known.kills
	if kills < known.kills { // it had no power meanwhile
		more = kills
	}
	if more > 0 {
		known.at, known.all = time.Now(), known.all+more
	}
	known.kills = kills
	w.shortages[h.Name()] = known
	w.mu.Unlock()
	if more > 0 {
		w.event("problem", fmt.Sprintf("on %s, %s", h.Name(), killedText(more, h)),
			map[string]string{"host": h.Name(), "cause": record.CauseOutOfMemory})
	}
	return known.at
}

func killedText(n int64, h host.Host) string {
	processes := "a process"
	if n > 1 {
		processes = figure.Count(n) + " processes"
	}
	return "the kernel killed " + processes + ": " + memoryText(h)
}

func memoryText(h host.Host) string {
	if limit := h.Limits().Memory; limit > 0 {
		return "out of memory (host limit " + figure.Bytes(limit) + ")"
	}
	return "out of memory (this machine; the host has no limit)"
}

// causeOf is the text of the cause if a member ended because its host had no memory left; empty if not.
func (w *memoryWatch) causeOf(n engine.Node) string {
	at := w.check(n.Host())
	if at.IsZero() || time.Since(at) > oomWindow {
		return ""
	}
	for _, p := range n.Status().Processes {
		if !p.Running && p.Exit == "signal: killed" {
			return "killed by the kernel: " + memoryText(n.Host())
		}
	}
	return howEnded(n) + ", after the kernel killed a process of its host: " + memoryText(n.Host())
}

func (w *memoryWatch) notes() (notes []string) {
	for _, plan := range w.inventory.layout().Hosts {
		w.mu.Lock()
		known := w.shortages[plan.Name]
		w.mu.Unlock()
		if known.all > 0 {
			notes = append(notes, fmt.Sprintf("%s: %s, last at %s", plan.Name,
				killedText(known.all, w.inventory.host(plan.Name)), known.at.UTC().Format(time.RFC3339)))
		}
	}
	return notes
}
