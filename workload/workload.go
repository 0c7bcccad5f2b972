// Package workload says WHAT to do: it turns a seed and a few parameters into an endless stream of
// operations (YCSB core in its original and its corrected form, person, location, catalog).
//
// It does no I/O, reads no clock and imports no other room. Documents, filters and updates are built
// as raw BSON in buffers that belong to the stream, so producing an operation allocates nothing.
// Sending an operation is the work of package store; deciding when, of package load.
package workload

// Class is one kind of operation as it is counted and reported ("read", "insert", "list", …).
type Class struct {
	// Name is the lower-case name used in every record and report.
	Name string
	// Part is true for a step of a larger operation (the read inside a read-modify-write, the count
	// inside a list). Parts are timed but do not count as operations of their own.
	Part bool
}

// NoClass marks a [Request] that is not timed apart from its operation.
const NoClass = -1

// Verb is what one request asks of the server.
type Verb uint8

const (
	// Find reads the documents matching Filter, with Projection, Sort, Skip and Limit. Limit 1 means
	// that at most one document is wanted and no cursor may stay open; Limit 0 means all.
	Find Verb = iota
	// Insert stores Docs (one or many; Unordered lets the server go on after a failed one).
	Insert
	// Update applies Updates in order.
	Update
	// Aggregate runs Pipeline and reads its whole result.
	Aggregate
)

// String returns the MongoDB command name of the verb.
func (v Verb) String() string {
	switch v {
	case Find:
		return "find"
	case Insert:
		return "insert"
	case Update:
		return "update"
	case Aggregate:
		return "aggregate"
	}
	return "unknown"
}

// Statement is one statement of an update request.
type Statement struct {
	// Filter is the BSON document that selects the one document to change.
	Filter []byte
	// Update is a BSON document: update operators ({$set: …}) or, if its first key does not begin
	// with '$', the replacement.
	Update []byte
	// Upsert inserts the document if none matches.
	Upsert bool
}

// Request is one command to one collection. All byte slices are raw BSON, belong to the stream that
// made them and are valid until its next call.
type Request struct {
	Verb       Verb
	Class      int    // index into [Workload.Classes] under which it is timed, or NoClass
	Collection string //

	Filter     []byte // Find: document
	Projection []byte // Find: document or nil
	Sort       []byte // Find: document or nil
	Skip       int64  // Find: documents to skip
	Limit      int64  // Find: most documents to return, 0 for all

	Docs      [][]byte    // Insert: one or more documents
	Unordered bool        // Insert and Update: go on after a failed one
	Updates   []Statement // Update: one or more statements

	Pipeline []byte // Aggregate: BSON array of stages

	// MayBeEmpty is true where a result without documents is a proper answer (a scan past the last
	// key, a search). Where it is false, finding nothing is the outcome not-found.
	MayBeEmpty bool
}

// Op is one operation of the workload: the unit that is scheduled, timed and counted. It consists of
// one or more requests, sent one after the other by the same worker. An operation without requests
// was only buffered (YCSB's client-side insert batches) and is done at once.
type Op struct {
	Class    int       // index into [Workload.Classes]
	Requests []Request // in order; owned by the stream
	Seq      int64     // first key number of an insert, otherwise -1
}

// Index is a secondary index that a workload needs.
type Index struct {
	Collection string
	Name       string
	Keys       []byte // BSON document, for example {"address.city": 1}
}

// Workload describes one data set and the operations on it. It is immutable and shared by all
// workers, but for what its documentation says is shared on purpose (insert sequences).
type Workload interface {
	// Name is the name by which a user asks for it.
	Name() string
	// Classes lists all operation classes; [Op.Class] and [Request.Class] index it. Never changes.
	Classes() []Class
	// Collections lists the collections that hold its data; the first one is the one that the load
	// phase fills.
	Collections() []string
	// Indexes lists the secondary indexes that must exist before the run.
	Indexes() []Index
	// Records is how many documents the load phase inserts.
	Records() int64
	// Loader returns a source of documents for the load phase. Each worker has its own.
	Loader() Loader
	// Stream returns the operations of one worker. The same workload, seed, worker and number of
	// workers give the same operations, except where key choice follows the progress of concurrent
	// inserts. worker is in [0, workers).
	Stream(worker, workers int) Stream
}

// Loader makes the documents of the load phase. Not safe for concurrent use.
type Loader interface {
	// Load fills op with one insert of the records [seq, seq+n), 0 ≤ seq < Records. The same record
	// number always gives the same document.
	Load(seq int64, n int, op *Op)
	// Probe fills op with a read of record seq by its _id, to find out whether it is already there.
	Probe(seq int64, op *Op)
}

// Stream is the endless sequence of one worker's operations. Not safe for concurrent use.
type Stream interface {
	// Next fills op with the next operation. The slices in op are valid until the next call.
	Next(op *Op)
	// Done tells the stream that the operation last returned by Next has ended. applied is true if
	// its writes are known to be in the database; insert sequences use it.
	Done(op *Op, applied bool)
	// Flush fills op with what the stream still holds back at the end of a run (a last, short batch)
	// and reports whether there was anything.
	Flush(op *Op) bool
}

// Verifier is implemented by streams that can check what a read returned.
type Verifier interface {
	// Verify checks the first document returned for request i of op, nil if there was none. It
	// returns false if the document is not what the workload wrote. checked is false if this
	// request is not one that can be checked.
	Verify(op *Op, i int, doc []byte) (ok, checked bool)
}

// Ender is implemented by streams that come to an end by themselves: a part of the operations for each
// worker, a load phase that stops at an error. A worker whose stream has ended sends nothing more.
type Ender interface {
	// Ended reports whether there is no further operation. It is asked before each call of Next.
	Ended() bool
}
