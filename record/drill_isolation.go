package record

import "strings"

// NoIsolation is the promise of settings that promise nothing.
const NoIsolation = "nothing"

// IsolationResult is what the transactions of a drill show about the isolation that their settings promise.
type IsolationResult struct {
	// Promise is what the settings promise, in the words of the literature, such as "snapshot isolation"; "nothing" if
	// they promise nothing. Why says which settings.
	Promise string `json:"promise"`
	Why     string `json:"why"`
	// Transactions are all; Committed had an effect, Unknown have no answer and nobody saw them, Aborted had no effect.
	Transactions int64 `json:"transactions"`
	Committed    int64 `json:"committed"`
	Unknown      int64 `json:"unknown,omitempty"`
	Aborted      int64 `json:"aborted,omitempty"`
	// Several is how many were acknowledged and have several operations. After is how many of these began after
	// the first fault took effect.
	Several int64 `json:"several"`
	After   int64 `json:"after,omitempty"`
	// Reads are versions that committed transactions read, Edges the dependencies between transactions.
	Reads int64 `json:"reads"`
	Edges int64 `json:"edges"`
	// Timed are transactions whose commit or snapshot has a time of the server, which was compared with the data.
	Timed int64 `json:"timed,omitempty"`
	// Registers are documents that were used, and Complete those of which every version was seen. Only there a missing
	// write is noticed by the transactions alone.
	Registers int64 `json:"registers"`
	Complete  int64 `json:"complete"`
	// Anomalies are those that were found, the worst first. Counts of cycles are lower bounds.
	Anomalies []IsolationAnomaly `json:"anomalies,omitempty"`
	// Exported are files of the record with transactions of one epoch for other checkers: EDN and JSON for Elle, and lines
	// for Plume.
	Exported []string `json:"exported,omitempty"`
	// Seconds is how long judging took.
	Seconds float64 `json:"seconds"`
}

// IsolationAnomaly is a class of anomalies.
type IsolationAnomaly struct {
	Class     string `json:"class"`
	Count     int64  `json:"count"`
	Forbidden bool   `json:"forbidden,omitempty"`
	// Examples are at most five.
	Examples []IsolationExample `json:"examples,omitempty"`
}

// IsolationExample is one anomaly: the shortest cycle of transactions, or the one or two that exclude each other.
type IsolationExample struct {
	Text         string                 `json:"text"`
	Transactions []IsolationTransaction `json:"transactions,omitempty"`
	// Edges lead from each transaction to the next one, the last to the first. Anomalies without a cycle have none.
	Edges []IsolationEdge `json:"edges,omitempty"`
}

// IsolationTransaction is who did what, when, in nanoseconds of run time, and which server answered.
type IsolationTransaction struct {
	Name    string `json:"name"` // A, B, C, as in the texts
	Session int    `json:"session"`
	Server  string `json:"server,omitempty"`
	Began   int64  `json:"began_ns"`
	Ended   int64  `json:"ended_ns,omitempty"`
	Outcome string `json:"outcome" jsonschema:"enum=committed,enum=aborted,enum=unknown"`
	// Operations are in words, such as "read key 4 version 17".
	Operations []string `json:"operations"`
	// Commit and Snapshot are the times that the server gave: seconds and counter of a timestamp.
	Commit   string `json:"commit,omitempty"`
	Snapshot string `json:"snapshot,omitempty"`
}

// IsolationEdge is why a transaction comes before the next one.
type IsolationEdge struct {
	// Kind is "ww" (the next one replaced its version), "wr" (read its version), "rw" (replaced what it read), "session"
	// or "real time". Key and Version are what both used; they are of the first three.
	Kind    string `json:"kind" jsonschema:"enum=ww,enum=wr,enum=rw,enum=session,enum=real time"`
	Key     int64  `json:"key,omitempty"`
	Version int64  `json:"version,omitempty"`
	Text    string `json:"text"`
}

// Forbidden returns how many anomalies the promise excludes, and their classes in words.
func (r *IsolationResult) Forbidden() (n int64, classes string) {
	if r == nil {
		return 0, ""
	}
	var names []string
	for _, a := range r.Anomalies {
		if a.Forbidden {
			n += a.Count
			names = append(names, a.Class)
		}
	}
	return n, strings.Join(names, ", ")
}
