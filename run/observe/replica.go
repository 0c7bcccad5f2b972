package observe

import (
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/server"
)

// The kinds of events that servers tell of.
const (
	// EventCheckpoint: a checkpoint ended. Data: "server", "duration_ns".
	EventCheckpoint = "checkpoint"
	// EventElection: another primary was elected, or the same one anew. Data: "primary", "term".
	EventElection = "election"
)

func nanoseconds(d time.Duration) string { return strconv.FormatInt(int64(d), 10) }

// replicaReader turns replSetGetStatus documents into values.
type replicaReader struct {
	term    float64
	primary string
	known   bool
}

// read adds how far the slowest healthy secondary is behind, and an event for an election since the last look.
func (r *replicaReader) read(doc bson.Raw, values map[string]float64, now time.Time) []Event {
	set := server.ReadSet(doc)
	if lag, known := set.Lag(); known {
		values["replication.lag"] = float64(lag)
	}
	term, primary := set.Term, set.Primary()
	if !set.HasTerm || primary == "" {
		return nil // nobody was elected yet
	}
	changed := r.known && (term > r.term || primary != r.primary)
	r.term, r.primary, r.known = term, primary, true
	if !changed {
		return nil
	}
	return []Event{{Time: now, Kind: EventElection, Text: primary + " is the primary of term " + strconv.FormatFloat(term, 'f', 0, 64),
		Data: map[string]string{"primary": primary, "term": strconv.FormatFloat(term, 'f', 0, 64)}}}
}
