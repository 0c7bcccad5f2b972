package record

import (
	"cmp"
	"fmt"
)

// ReadsResult is the result of the reads of a drill, compared with the writes and the final data. A register is a
// document that one writer changes; each of its updates is a version that stays visible besides the later ones.
type ReadsResult struct {
	// Concern, Preference and Causal are how the reads were sent, and Writes the durability of the writes, in words. An
	// empty concern is the server's default.
	Concern    string `json:"concern,omitempty"`
	Preference string `json:"preference,omitempty"`
	Causal     bool   `json:"causal,omitempty"`
	Writes     string `json:"writes,omitempty"`
	// Why says why nothing, or less than usual, is promised.
	Why string `json:"why,omitempty"`
	// Reads that were judged, against so many Updates. Dropped operations were forgotten for lack of memory.
	Reads   int64 `json:"reads"`
	Updates int64 `json:"updates"`
	Dropped int64 `json:"dropped,omitempty"`
	// Guarantees are what was checked.
	Guarantees []ReadGuarantee `json:"guarantees"`
	// Conflicts are the first pairs of operations that break each guarantee.
	Conflicts []ReadConflict `json:"conflicts,omitempty"`
	// Staleness is how old the reads were, by phase.
	Staleness []ReadStaleness `json:"staleness"`
	// Servers are who answered.
	Servers []ReadServer `json:"servers,omitempty"`
	// Notes say what could not be judged, and why.
	Notes []string `json:"notes,omitempty"`
	// Bytes is the memory that the history of reads took.
	Bytes int64 `json:"bytes"`
}

// ReadGuarantee is one thing that reads may be relied on for.
type ReadGuarantee struct {
	// Name is "read-your-writes", "monotonic-reads", "monotonic-writes", "writes-follow-reads", "committed" (nothing that
	// is rolled back later), "written" (nothing that nobody had written), "linearizable" or "one-order" (of two reads of a
	// document, one has all updates of the other).
	Name string `json:"name" jsonschema:"enum=read-your-writes,enum=monotonic-reads,enum=monotonic-writes,enum=writes-follow-reads,enum=committed,enum=written,enum=linearizable,enum=one-order"`
	// Promised is whether MongoDB promises it at these concerns; only then a conflict is a violation.
	Promised bool `json:"promised"`
	// Checked operations could have broken it, and Broken did; RolledBack of those because of a write that was rolled
	// back.
	Checked    int64 `json:"checked"`
	Broken     int64 `json:"broken"`
	RolledBack int64 `json:"rolled_back,omitempty"`
}

// ReadConflict is two operations that exclude each other.
type ReadConflict struct {
	Guarantee string `json:"guarantee"`
	Promised  bool   `json:"promised"`
	// Writer and Sequence name the update that one of them has and the other lacks, and ID where it was written.
	Writer   int    `json:"writer"`
	Sequence int64  `json:"sequence"`
	ID       string `json:"id"`
	// First is absent if nobody is known to have written what the second one returned.
	First  *ReadOperation `json:"first,omitempty"`
	Second ReadOperation  `json:"second"`
}

// ReadOperation is who did what, when, in nanoseconds of run time, and which server answered.
type ReadOperation struct {
	Kind    string `json:"kind" jsonschema:"enum=read,enum=write"`
	Session int    `json:"session"`
	Sent    int64  `json:"sent_ns"`
	Ended   int64  `json:"ended_ns"`
	Server  string `json:"server,omitempty"`
	// Seen are the updates that a read returned, as ranges of their sequences.
	Seen string `json:"seen,omitempty"`
	// Told is what the client was told about a write.
	Told string `json:"told,omitempty"`
}

// The phases of a drill, in [ReadStaleness.Phase].
const (
	ReadsBefore = "before"
	ReadsDuring = "during"
	ReadsAfter  = "after"
)

// ReadStaleness is how long before each read was sent an update that it lacks had been acknowledged, in nanoseconds: a
// lower bound. Reads that lack nothing count with 0.
type ReadStaleness struct {
	Phase string `json:"phase" jsonschema:"enum=before,enum=during,enum=after"`
	Reads int64  `json:"reads"`
	Stale int64  `json:"stale"`
	P50   int64  `json:"p50_ns"`
	P99   int64  `json:"p99_ns"`
	Max   int64  `json:"max_ns"`
}

// ReadServer is what one server answered.
type ReadServer struct {
	Server string `json:"server"` // empty if that is not known
	Reads  int64  `json:"reads"`
	Stale  int64  `json:"stale,omitempty"`
	Max    int64  `json:"max_ns,omitempty"`
}

// BrokenPromises are the conflicts that MongoDB rules out.
func (r *ReadsResult) BrokenPromises() (n int64) {
	if r == nil {
		return 0
	}
	for _, g := range r.Guarantees {
		if g.Promised {
			n += g.Broken
		}
	}
	return n
}

// Text names the two operations of a conflict: who, when, which update, and which server answered.
func (c *ReadConflict) Text() string {
	update := fmt.Sprintf("update %d of writer %d", c.Sequence, c.Writer)
	if c.First == nil {
		return c.Second.read(update) + ". No known client wrote that update"
	}
	switch c.Guarantee {
	case "committed":
		return fmt.Sprintf("%s. That update %s. It was rolled back later", c.Second.read(update), c.First.written())
	case "written":
		return fmt.Sprintf("%s. That update %s", c.Second.read(update), c.First.written())
	case "writes-follow-reads":
		return fmt.Sprintf("%s. That update was rolled back later. The next write of the session %s. It survived",
			c.First.read(update), c.Second.written())
	}
	if c.Guarantee == "one-order" {
		return fmt.Sprintf("%s, and only updates %s. The read of session %d from %s at %s returned only updates %s, so neither was first",
			c.First.read(update), c.First.Seen, c.Second.Session, c.Second.server(), at(c.Second.Sent), c.Second.Seen)
	}
	first := update + " " + c.First.written()
	if c.First.Kind == "read" {
		first = c.First.read(update)
	}
	return fmt.Sprintf("%s. The read of session %d from %s at %s did not return it", first, c.Second.Session,
		c.Second.server(), at(c.Second.Sent))
}

// read is a read that returned an update.
func (o *ReadOperation) read(update string) string {
	return fmt.Sprintf("session %d read %s from %s at %s", o.Session, update, o.server(), at(o.Sent))
}

// written is what happened to a write.
func (o *ReadOperation) written() string {
	told := o.Told
	switch told {
	case "not applied":
		told = "reported as not applied"
	case "indeterminate":
		told = "not answered definitely"
	}
	return fmt.Sprintf("was sent at %s and %s by %s at %s", at(o.Sent), told, o.server(), at(o.Ended))
}

func (o *ReadOperation) server() string { return cmp.Or(o.Server, "an unknown server") }

// at has more digits than other times, because operations are often less than a millisecond apart.
func at(ns int64) string { return fmt.Sprintf("%.4f s", float64(ns)/1e9) }
