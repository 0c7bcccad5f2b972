package lab

import (
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/record"
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

// watchMemory tells when the kernel kills something on a host because there is no memory left, until the lab stops. A
// server may survive that: PostgreSQL ends all sessions and recovers when one of its processes is killed.
func (s *supervisor) watchMemory() {
	for s.pause(memoryEvery) {
		for _, name := range s.hostNames() {
			if h := s.hostNamed(name); h != nil {
				s.lookAtMemory(h)
			}
		}
	}
}

// lookAtMemory tells what the kernel killed on a host since the last look, and returns when that was last seen.
func (s *supervisor) lookAtMemory(h host.Host) (last time.Time) {
	m, ok := h.(host.Memory)
	if !ok {
		return last
	}
	s.mu.Lock()
	kills := m.OutOfMemory() // one look at a time, so that none is told twice
	known := s.shortages[h.Name()]
	more := kills - known.kills
	if kills < known.kills { // it had no power meanwhile
		more = kills
	}
	if more > 0 {
		known.at, known.all = time.Now(), known.all+more
	}
	known.kills = kills
	s.shortages[h.Name()] = known
	s.mu.Unlock()
	if more > 0 {
		s.event("problem", fmt.Sprintf("on %s %s", h.Name(), killedText(more, h)), map[string]string{"host": h.Name(), "cause": outOfMemory})
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
func (s *supervisor) blame(n engine.Node) string {
	at := s.lookAtMemory(n.Host())
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

// setCause notes why a member ended by itself, empty when it runs again.
func (s *supervisor) setCause(member, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.causes[member] = why
}

// addCauses completes what members say of themselves with why they ended, and the notes with what hosts had no memory
// for.
func (s *supervisor) addCauses(l *record.Lab) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, m := range l.Members {
		if why := s.causes[m.Name]; why != "" && m.State == "dead" {
			l.Members[i].Problem = why
		}
	}
	for _, plan := range s.planned.Layout.Hosts {
		if known := s.shortages[plan.Name]; known.all > 0 {
			l.Notes = append(l.Notes[:len(l.Notes):len(l.Notes)], fmt.Sprintf("%s: %s; the last time at %s", plan.Name,
				killedText(known.all, s.hosts[plan.Name]), known.at.UTC().Format(time.RFC3339)))
		}
	}
}
