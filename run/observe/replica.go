package observe

import (
	"strconv"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/server"
)

// The kinds of events of servers.
const (
	// EventCheckpoint: a checkpoint ended. Data: "server", "duration_ns".
	EventCheckpoint = "checkpoint"
	// EventElection: a primary was elected. Data: "primary", "term".
	EventElection = "election"
)

func nanoseconds(d time.Duration) string { return strconv.FormatInt(int64(d), 10) }

// replicaReader turns the state of a replica set into values. Its members share it.
type replicaReader struct {
	mu      sync.Mutex
	term    int64
	primary string
	known   bool
}

// own adds the replication lag of a secondary, from its own view of the set.
func own(set server.Set, values map[string]float64) {
	primary := set.Member(set.Primary())
	for _, m := range set.Members {
		if m.Self && primary != nil && m.State == server.Secondary && !m.Date.IsZero() && !primary.Date.IsZero() {
			values["replication.lag"] = float64(max(0, primary.Date.Sub(m.Date)))
		}
	}
}

// read adds the largest replication lag of the healthy secondaries, and an event for an election since the last sample.
func (r *replicaReader) read(set server.Set, values map[string]float64, now time.Time) []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	if lag, known := set.Lag(); known {
		values["replication.lag"] = float64(lag)
	}
	term, primary := set.Term, set.Primary()
	if !set.HasTerm || primary == "" {
		return nil // no primary yet
	}
	changed := r.known && (term > r.term || primary != r.primary)
	r.term, r.primary, r.known = term, primary, true
	if !changed {
		return nil
	}
	return []Event{{Time: now, Kind: EventElection, Text: primary + " is the primary of term " + strconv.FormatInt(term, 10),
		Data: map[string]string{"primary": primary, "term": strconv.FormatInt(term, 10)}}}
}
