package store

import "slices"

// Outcome of an operation. Unless a write is proven not applied, its outcome is indeterminate: otherwise a ledger would
// report losses or phantoms that never happened.
type Outcome uint8

const (
	// OK: done and, for a write, acknowledged at the requested level.
	OK Outcome = iota
	// Unacknowledged: a w:0 write was sent, without a reply.
	Unacknowledged
	// Batched: buffered in the client, not sent yet (YCSB's client-side batches).
	Batched
	// NotFound: the read or update matched no document where one was expected.
	NotFound
	// Conflict: a unique key already existed; the document was not inserted.
	Conflict
	// Partial: some documents of a batch were applied, others were not.
	Partial
	// NotApplied: proven not to have changed anything, because it was not sent or a server refused it that is not the
	// primary.
	NotApplied
	// Rejected: the server refused the command (bad value, not authorised, …); nothing was changed.
	Rejected
	// Overloaded: the server refused the operation to protect itself; nothing was changed.
	Overloaded
	// Indeterminate: a write that may or may not have been applied.
	Indeterminate
	// Failed: a read without a result.
	Failed
	// Corrupt: a read returned other data than the workload wrote.
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
func Outcomes() []string { return slices.Clone(outcomeNames[:]) }

// Success reports whether the outcome counts towards throughput: the operation was done at the requested level.
func (o Outcome) Success() bool { return o == OK || o == Unacknowledged || o == Batched }

// Reason is the source of a failure.
type Reason uint8

const (
	// NoReason: there was no failure.
	NoReason Reason = iota
	// Server: the server replied with an error.
	Server
	// WriteConcern: applied on a primary, but not confirmed at the requested level.
	WriteConcern
	// Network: the connection failed or could not be made.
	Network
	// Timeout: the deadline passed while waiting for the reply.
	Timeout
	// PoolTimeout: the deadline passed while waiting for a connection; nothing was sent.
	PoolTimeout
	// Selection: no suitable server was found; nothing was sent.
	Selection
	// Protocol: the reply could not be parsed.
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

// Unsent is the outcome of a request that was not sent.
func Unsent(write bool) Outcome {
	if write {
		return NotApplied
	}
	return Failed
}
