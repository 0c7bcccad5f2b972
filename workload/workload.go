// Package workload says WHAT to do: it turns a seed and a few parameters into an endless stream of
// operations (YCSB core in its original and its corrected form, person, location, catalog).
//
// It does no I/O and imports nothing of Plimsoll but internal packages. It reads no clock; of the packages below it,
// workload/own does, for $date: now, and workload/capture queries a deployment. Documents, filters and updates are
// built as raw BSON in buffers that belong to the stream, so producing an operation allocates nothing. Sending an
// operation is the work of package store; deciding when, of package load.
package workload

import (
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

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
	// Delete removes what the filters of Updates match, in order.
	Delete
	// FindAndModify changes the first document that matches the one statement in Updates, by Sort, or removes it, and
	// returns it as it was or, with New, as it is.
	FindAndModify
	// Distinct reads the values of Key in the documents that match Filter.
	Distinct
	// Watch reads the next changes of the stream that Pipeline filters. The session keeps the cursor. No change until the
	// deadline, or a second if that is earlier, is a proper answer.
	Watch
	// Commit ends the transaction of the session. Only the first request of a transaction has Starts.
	Commit
	// Abort gives the transaction of the session up.
	Abort
)

var verbNames = [...]string{"find", "insert", "update", "aggregate", "delete", "findAndModify", "distinct", "watch",
	"commitTransaction", "abortTransaction"}

// String returns the MongoDB command name of the verb.
func (v Verb) String() string {
	if int(v) < len(verbNames) {
		return verbNames[v]
	}
	return "unknown"
}

// Writes reports whether requests of the verb change documents.
func (v Verb) Writes() bool {
	switch v {
	case Insert, Update, Delete, FindAndModify, Commit, Abort:
		return true
	}
	return false
}

// Statement is one statement of an update, delete or findAndModify.
type Statement struct {
	// Filter is the BSON document that selects the one document to change.
	Filter []byte
	// Update is a BSON document: update operators ({$set: …}) or, if its first key does not begin
	// with '$', the replacement. With Stages it is an array of pipeline stages.
	Update []byte
	// Upsert inserts the document if none matches.
	Upsert bool
	// Many changes or removes all documents that match.
	Many bool
	// Stages says that Update is a pipeline.
	Stages bool
	// ArrayFilters is a BSON array, nil for none.
	ArrayFilters []byte
}

// Value is a BSON value with its type; the zero value is none.
type Value struct {
	Kind byte
	Data []byte
}

// Concern replaces the concerns of the run for a request. Empty fields leave those of the run.
type Concern struct {
	W          string
	Journal    *bool
	Read       string
	Preference string
}

// Request is one command to one collection. All byte slices are raw BSON, belong to the stream that
// made them and are valid until its next call.
type Request struct {
	Verb       Verb
	Class      int    // index into [Workload.Classes] under which it is timed, or NoClass
	Collection string //

	Filter     []byte // Find, Distinct: document
	Projection []byte // Find, FindAndModify: document or nil
	Sort       []byte // Find, FindAndModify: document or nil
	Skip       int64  // Find: documents to skip
	Limit      int64  // Find: most documents to return, 0 for all
	Key        string // Distinct: path of the field

	Docs      [][]byte    // Insert: one or more documents
	Unordered bool        // Insert, Update and Delete: go on after a failed one
	Updates   []Statement // Update and Delete: one or more statements; FindAndModify: one
	Remove    bool        // FindAndModify: remove the document
	New       bool        // FindAndModify: return the changed document

	Pipeline []byte // Aggregate, Watch: BSON array of stages
	// FullDocument is which events of a Watch have the whole document, "" for inserts and replacements only.
	FullDocument string
	Out          bool // Aggregate: Pipeline writes its result into a collection, see [Outputs]

	Hint      Value    // index to use, by keys or name
	Collation []byte   // document or nil
	Concern   *Concern // nil for those of the run; the same pointer in all requests of an operation kind

	// Starts says that the request begins a transaction, Within that it belongs to the one of the session. Commit and
	// Abort have neither.
	Starts, Within bool

	// MayBeEmpty is true where a result without documents is a proper answer (a scan past the last
	// key, a search). Where it is false, finding nothing is the outcome not-found.
	MayBeEmpty bool
}

// Writes reports whether the request changes documents.
func (r *Request) Writes() bool { return r.Verb.Writes() || r.Out }

// Outputs reports whether a pipeline ends with $out or $merge. Such an aggregate writes, and goes to the primary.
func Outputs(pipeline []byte) bool {
	body, _, ok := rawbson.Split(pipeline)
	var last rawbson.RawValue
	for ok && len(body) > 0 {
		_, v, size := rawbson.Next(body)
		if size == 0 {
			return false
		}
		last, body = v, body[size:]
	}
	stage, ok := last.Body()
	if !ok || last.Kind != rawbson.Document {
		return false
	}
	name, _, _ := rawbson.Next(stage)
	return string(name) == "$out" || string(name) == "$merge"
}

// Op is one operation of the workload: the unit that is scheduled, timed and counted. It consists of
// one or more requests, sent one after the other by the same worker. An operation without requests
// was only buffered (YCSB's client-side insert batches) and is done at once.
type Op struct {
	Class    int           // index into [Workload.Classes]
	Requests []Request     // in order; owned by the stream
	Seq      int64         // first key number of an insert, otherwise -1
	Think    time.Duration // pause of the virtual user before it, in a closed loop

	// Transaction says that the requests are applied together or not at all. The last one is a Commit.
	Transaction bool
}

// Index is a secondary index that a workload needs.
type Index struct {
	Collection string
	Name       string
	Keys       []byte // BSON document, for example {"address.city": 1}
	Options    []byte // further elements of its specification, such as unique and expireAfterSeconds
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

// Stream is the endless sequence of one worker's operations. It has Next and Done, and those of the other functions
// that the workload needs. A stream that changes another one is a copy with other functions. Not safe for concurrent
// use.
type Stream struct {
	// Next fills op with the next operation. The slices in op are valid until the next call.
	Next func(op *Op)
	// Done tells the stream that the operation last returned by Next has ended. applied is true if its writes are known to
	// be in the database; insert sequences use it.
	Done func(op *Op, applied bool)
	// Flush fills op with what the stream still holds back at the end of a run (a last, short batch) and reports whether
	// there was anything.
	Flush func(op *Op) bool
	// Verify checks the first document returned for request i of op, nil if there was none. It returns false if the
	// document is not what the workload wrote. checked is false if this request is not one that can be checked.
	Verify func(op *Op, i int, doc []byte) (ok, checked bool)
	// Listens reports whether the stream needs the answer to request i of op. Answer tells it the first document returned,
	// nil if there was none, and completes the later requests of op that depend on it. A stream has both or none.
	Listens func(op *Op, i int) bool
	Answer  func(op *Op, i int, doc []byte)
	// Turn says which operation of the schedule, counted from 0, the next call of Next returns.
	Turn func(n int64)
	// Ended reports whether there is no further operation, for streams that come to an end by themselves: a part of the
	// operations for each worker, a load phase that stops at an error. It is asked before each call of Next. A worker
	// whose stream has ended sends nothing more.
	Ended func() bool
	// Free says that no schedule drives the worker, a reader of a change stream beside the load: it sends its next
	// operation when the last one is answered, in every kind of load.
	Free bool
}

// Compound is implemented by workloads whose data are in several collections.
type Compound interface {
	// Parts returns one workload for each collection that the load phase fills. Each has that collection first, and the
	// number and the documents of its records.
	Parts() []Workload
}

// Creator is implemented by workloads with views, and with collections that a server does not make by itself.
type Creator interface {
	// Creations returns what must be made before the load phase, in this order.
	Creations() []Creation
}

// Creation is a view or a collection.
type Creation struct {
	Collection string
	Options    []byte // elements of the command create, such as capped, timeseries, viewOn and collation
}

// Sharder is implemented by workloads that say how their collections are distributed over shards.
type Sharder interface {
	Shardings() []Sharding
}

// Sharding is the distribution of a collection.
type Sharding struct {
	Collection string
	Key        []byte // BSON document, for example {_id: "hashed"}
	Unique     bool
	Hashed     bool     // Key has a hashed field
	Chunks     int      // of a hashed key before the load phase, 0 for one on each shard
	Points     [][]byte // where a ranged key is split, in ascending order
	Zones      []Zone
}

// Zone keeps the range [From, To) of the shard key on shards, which are names or numbers in their order.
type Zone struct {
	Name     string
	Shards   []string
	From, To []byte
}

// Exemplar is implemented by workloads that were not made for all stores.
type Exemplar interface {
	// Examples returns one operation of each kind, to find out whether a store can do it.
	Examples() []Example
}

// Example is the requests of one operation.
type Example struct {
	Class    string
	Requests []Request
}

// Remover is implemented by workloads that remove or replace documents.
type Remover interface {
	// Removes reports whether documents of a collection may disappear or lose fields: by an operation, or by an index that
	// expires them.
	Removes(collection string) bool
}

// Naming is implemented by workloads whose pipelines may name databases.
type Naming interface {
	// Databases returns the databases that pipelines name. A name may be that of the target.
	Databases() []Named
}

// Named is a database that a pipeline names.
type Named struct {
	Class    string // name of the operation
	Stage    string // such as $merge
	Database string
}

// Thinker is implemented by workloads whose virtual users pause before operations.
type Thinker interface {
	// Thinks returns the names of the operations with a pause.
	Thinks() []string
}

// As returns w, or the workload that w wraps, as one with an optional part. Wrappers have a method Unwrap.
func As[T any](w Workload) (T, bool) {
	for {
		if t, ok := w.(T); ok {
			return t, true
		}
		wrapper, ok := w.(interface{ Unwrap() Workload })
		if !ok {
			var none T
			return none, false
		}
		w = wrapper.Unwrap()
	}
}

// Parts returns the workloads that the load phase fills one after the other.
func Parts(w Workload) []Workload {
	if c, ok := As[Compound](w); ok {
		return c.Parts()
	}
	return []Workload{w}
}

// Timed is implemented by workloads whose operations have times of their own, as recordings have. Their streams have
// a Turn.
type Timed interface {
	// Rate is the mean rate at which the operations were recorded, per second.
	Rate() float64
	// Length is how long all operations take at a mean rate.
	Length(rate float64) time.Duration
	// Times returns the times of all operations from the begin of the run, made shorter or longer for a mean rate. Each
	// call begins with the first operation.
	Times(rate float64) Times
}

// Times are due times in ascending order.
type Times interface {
	// Next returns the next one; false if there is none.
	Next() (time.Duration, bool)
}
