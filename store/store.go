// Package store says WHERE operations go: the Session interface that every target implements, the
// typed outcomes of an operation, and the settings that all targets share.
//
// The implementations are rooms below it: store/wire (our own fast client), store/mongo (the official
// driver), store/embedded (documents on Pebble), store/rest (a REST service over MongoDB), store/null (a
// responder for calibration and tests).
// store/storetest holds the conformance suite that each of them passes. Timing, scheduling and
// counting are not done here.
package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/workload"
)

// Session is one worker's way to a target. A session is used by one goroutine at a time.
type Session interface {
	// Do sends one request, waits for its answer at most until deadline, and fills res. It never
	// panics on what a server sends and never returns without an outcome. After a lost connection
	// or a change of primary the session reconnects by itself on the next call.
	//
	// Do makes one attempt unless the implementation says otherwise (the official driver retries;
	// [Result.Attempts] tells).
	Do(deadline time.Time, req *workload.Request, res *Result)
	// Close gives back what the session holds.
	Close() error
}

// Store is an opened target.
type Store interface {
	// Session opens the session of worker number worker. It may connect at once or on first use.
	Session(worker int) (Session, error)
	// Info says what the target is: software, version, topology, effective settings.
	Info(ctx context.Context) (Info, error)
	// EnsureIndexes creates the indexes that do not exist yet.
	EnsureIndexes(ctx context.Context, indexes []workload.Index) error
	// Count returns the exact number of documents in a collection (0 if there is none).
	Count(ctx context.Context, collection string) (int64, error)
	// Drop removes a collection. Dropping one that does not exist is not an error.
	Drop(ctx context.Context, collection string) error
	// Close ends all that the store holds. Sessions must be closed before.
	Close() error
}

// Result is what became of one request. The caller owns it and hands it in again and again; Do
// resets it.
type Result struct {
	Outcome Outcome
	Reason  Reason // why the outcome is not ok

	Code     int32    // the server's error code, 0 if there was none
	CodeName string   // the server's name for it
	Labels   []string // the server's and driver's error labels
	Message  string   // one line for a person, without credentials; empty when ok

	Docs     int           // documents returned, inserted or matched
	Doc      []byte        // the first document returned, valid until the next Do; nil if none
	Bytes    int           // bytes of BSON documents read or written
	Attempts int           // commands actually sent for this request (2 and more: a hidden retry; 0: nothing was sent)
	PoolWait time.Duration // time spent waiting for a connection, included in the service time
	Server   string        // host:port of the server that the last command was sent to; "" if none, or not known
}

// Reset makes r ready for the next request.
func (r *Result) Reset() { *r = Result{} }

// Fail fills r with a failure.
func (r *Result) Fail(o Outcome, why Reason, msg string) {
	r.Outcome, r.Reason, r.Message = o, why, msg
}

// Info describes a target as it is, not as it was asked for.
type Info struct {
	Kind     string            // "mongod", "mongos", "ferretdb", "embedded", "null", …
	Version  string            // of the server software
	Topology string            // "standalone", "replica set", "sharded", "embedded", "null"
	SetName  string            // replica set name, if any
	Hosts    []string          // members or routers, host:port
	Settings map[string]string // effective settings by name: default concerns, cache size, journal, …
	Notes    []string          // what could not be read, and why
}

// Concern is the durability and consistency asked for in every request.
type Concern struct {
	W          string // "" (server default), "0", "1", "2", …, "majority" or a tag
	Journal    *bool  // j; nil leaves it to the server
	Read       string // read concern level, "" for the server's default
	Preference string // read preference mode, "" for primary
	Causal     bool   // each session is causally consistent: its reads wait for what it has written and read before
}

// ErrCausalUnacknowledged says that a session cannot be causally consistent if its writes are not answered: the time of
// a write is in its answer.
var ErrCausalUnacknowledged = errors.New("causally consistent sessions need acknowledged writes: use w:1 or more, or leave causal out")

// Unacknowledged reports whether writes are sent without waiting for an answer.
func (c Concern) Unacknowledged() bool { return c.W == "0" }

// AddressError says that an address is written wrongly. Nothing was contacted.
type AddressError struct {
	Address string // without credentials
	Problem string // what is wrong, and what to do
}

// WrongAddress returns an [*AddressError] about target, or, if its name could not be looked up, an error
// that says so: that is no mistake in writing, as far as anybody can tell.
func WrongAddress(target, problem string) error {
	if strings.Contains(problem, "lookup ") {
		return fmt.Errorf("the address %s cannot be looked up: %s; check the name and the DNS server", Redact(target), problem)
	}
	return &AddressError{Address: Redact(target), Problem: problem}
}

// Error is one line.
func (e *AddressError) Error() string {
	return "cannot use the address " + e.Address + ": " + e.Problem
}

// Config is what every implementation needs to open a target.
type Config struct {
	Target   string        // URI or name of the target as the user gave it
	Database string        // database that holds the collections
	Concern  Concern       //
	Sessions int           // how many sessions will be open at once (sizes pools)
	Timeout  time.Duration // for connecting, selecting a server and administrative commands
}
