package lab

import (
	"fmt"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
)

// memoryEvery is how often hosts are asked whether the kernel killed something on them.
const memoryEvery = time.Second

// blameFor is for how long after the kernel killed something on a host the end of a member there is put down to it.
const blameFor = 5 * time.Second

// shortage is what is known of a host whose memory did not suffice.
type shortage struct {
	kills int64     // that the host counts now: it begins anew with its power
	all   int64     // since the lab was made
	at    time.Time // when the last one was seen
}

// memoryWatch sees what the kernel kills on hosts.
type memoryWatch struct {
	*core
	inventory *inventory

	mu        sync.Mutex
	shortages map[string]shortage // by host
}

// watch tells when the kernel kills something on a host because there is no memory left, until the lab stops. A
// server may survive that: PostgreSQL ends all sessions and recovers when one of its processes is killed.
func (w *memoryWatch) watch() {
	for w.pause(memoryEvery) {
		for _, plan := range w.inventory.layout().Hosts {
			if h := w.inventory.host(plan.Name); h != nil {
				w.look(h)
			}
		}
	}
}

// look tells what the kernel killed on a host since the last look, and returns when that was last seen.
func (w *memoryWatch) look(h host.Host) (last time.Time) {
	m, ok := h.(host.Memory)
	if !ok {
		return last
	}
	w.mu.Lock()
	kills := m.OutOfMemory() // one look at a time, so that none is told twice
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
		w.event("problem", fmt.Sprintf("on %s %s", h.Name(), killedText(more, h)), map[string]string{"host": h.Name(), "cause": outOfMemory})
	}
	return known.at
}

// outOfMemory is the cause in the data of events.
const outOfMemory = "out-of-memory"

// killedText says that processes were killed, and which limit was too small for them.
func killedText(n int64, h host.Host) string {
	processes := "a process was"
	if n > 1 {
		processes = figure.Count(n) + " processes were"
	}
	return processes + " killed by the kernel: " + memoryText(h)
}

// memoryText says which memory was too small.
func memoryText(h host.Host) string {
	if limit := h.Limits().Memory; limit > 0 {
		return "out of memory (host limit " + figure.Bytes(limit) + ")"
	}
	return "out of memory (that of this machine, because the host has no limit)"
}

// blame says whether a member has ended because its host had no memory left, in words; empty if not.
func (w *memoryWatch) blame(n engine.Node) string {
	at := w.look(n.Host())
	if at.IsZero() || time.Since(at) > blameFor {
		return ""
	}
	for _, p := range n.Status().Processes {
		if !p.Running && p.Exit == "signal: killed" {
			return "killed by the kernel: " + memoryText(n.Host())
		}
	}
	return howEnded(n) + ", after the kernel killed a process of its host: " + memoryText(n.Host())
}

// notes say what hosts had no memory for.
func (w *memoryWatch) notes() (notes []string) {
	for _, plan := range w.inventory.layout().Hosts {
		w.mu.Lock()
		known := w.shortages[plan.Name]
		w.mu.Unlock()
		if known.all > 0 {
			notes = append(notes, fmt.Sprintf("%s: %s; the last time at %s", plan.Name,
				killedText(known.all, w.inventory.host(plan.Name)), known.at.UTC().Format(time.RFC3339)))
		}
	}
	return notes
}
