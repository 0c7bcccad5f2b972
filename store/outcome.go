package store

// Outcome is what became of an operation. Unless a write is proven not applied, its outcome is
// indeterminate: a ledger that guessed would report losses or phantoms that never happened.
type Outcome uint8

const (
	// OK: done and, for a write, acknowledged at the level asked for.
	OK Outcome = iota
	// Unacknowledged: a w:0 write was handed to the network; nobody confirmed it.
	Unacknowledged
	// Batched: buffered in the client, not sent yet (YCSB's client-side batches).
	Batched
	// NotFound: the read or update matched no document where one was expected.
	NotFound
	// Conflict: a unique key already existed; the document was not inserted.
	Conflict
	// Partial: some documents of a batch were applied, others were not.
	Partial
	// NotApplied: proven not to have changed anything, because it was never sent or was refused by
	// a server that is not (or no longer) the primary.
	NotApplied
	// Rejected: the server refused the command (bad value, not authorised, …); nothing was changed.
	Rejected
	// Overloaded: the server shed the operation to protect itself; nothing was changed.
	Overloaded
	// Indeterminate: a write that may or may not have been applied.
	Indeterminate
	// Failed: a read that got no answer.
	Failed
	// Corrupt: a read returned something else than what the workload wrote.
	Corrupt

	numOutcomes
)

var outcomeNames = [numOutcomes]string{
	"ok", "unacknowledged", "batched", "not-found", "conflict", "partial", "not-applied", "rejected",
	"overloaded", "indeterminate", "failed", "corrupt",
}

// String returns the name used in records and reports.
func (o Outcome) String() string {
	if o < numOutcomes {
		return outcomeNames[o]
	}
	return "unknown"
}

// Outcomes lists the names of all outcomes in the order of their values.
func Outcomes() []string { return append([]string(nil), outcomeNames[:]...) }

// Success reports whether the outcome counts towards throughput: the operation did what was asked at
// the level that was asked for.
func (o Outcome) Success() bool { return o == OK || o == Unacknowledged || o == Batched }

// Acknowledged reports whether a server confirmed the operation.
func (o Outcome) Acknowledged() bool { return o == OK }

// Reason is where a failure came from.
type Reason uint8

const (
	// NoReason: there was no failure.
	NoReason Reason = iota
	// Server: the server answered with an error.
	Server
	// WriteConcern: applied on a primary, but not confirmed at the level asked for.
	WriteConcern
	// Network: the connection broke or could not be made.
	Network
	// Timeout: the deadline passed while waiting for the answer.
	Timeout
	// PoolTimeout: the deadline passed while waiting for a connection; nothing was sent.
	PoolTimeout
	// Selection: no suitable server was found; nothing was sent.
	Selection
	// Protocol: the answer could not be understood.
	Protocol
	// Client: the request could not be built or is not supported by this target.
	Client
	// Storage: the embedded engine reported an I/O error.
	Storage
	// Verification: the data read differ from the data written.
	Verification

	numReasons
)

var reasonNames = [numReasons]string{
	"", "server", "write-concern", "network", "timeout", "pool-timeout", "selection", "protocol", "client",
	"storage", "verification",
}

// String returns the name used in records and reports, empty for NoReason.
func (r Reason) String() string {
	if r < numReasons {
		return reasonNames[r]
	}
	return "unknown"
}

// Reasons lists the names of all reasons in the order of their values.
func Reasons() []string { return append([]string(nil), reasonNames[:]...) }

// Unsent is the outcome of a request of which nothing was sent.
func Unsent(write bool) Outcome {
	if write {
		return NotApplied
	}
	return Failed
}
