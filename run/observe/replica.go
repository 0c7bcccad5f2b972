package observe

import (
	"math"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
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
	primary, lag, known := members(doc)
	if known {
		values["replication.lag"] = float64(lag)
	}
	term, ok := at("term").number(doc)
	if !ok || primary == "" {
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

// members returns the primary and how far the slowest healthy secondary is behind it: the difference between
// the times of their last operations, in whole seconds on most servers. known is false without secondaries.
func members(doc bson.Raw) (primary string, lag time.Duration, known bool) {
	list, ok := doc.Lookup("members").ArrayOK()
	if !ok {
		return "", 0, false
	}
	values, err := list.Values()
	if err != nil {
		return "", 0, false
	}
	newest, oldest := math.Inf(-1), math.Inf(1)
	for _, v := range values {
		m, ok := v.DocumentOK()
		if !ok {
			continue
		}
		state, _ := m.Lookup("stateStr").StringValueOK()
		done, dated := at("optimeDate").number(m)
		healthy, told := at("health").number(m)
		switch {
		case state == "PRIMARY":
			primary, _ = m.Lookup("name").StringValueOK()
			if dated {
				newest = done
			}
		case state == "SECONDARY" && dated && (!told || healthy > 0):
			oldest = min(oldest, done)
		}
	}
	if math.IsInf(newest, 0) || math.IsInf(oldest, 0) {
		return primary, 0, false
	}
	return primary, time.Duration(max(0, newest-oldest) * float64(time.Millisecond)), true
}
