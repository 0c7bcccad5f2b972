// Package store defines where operations go: the Session interface of all targets, the typed outcomes of an operation,
// and the settings that all targets share.
//
// The implementations are store/wire (our own fast client), store/mongo (the official driver), store/embedded
// (documents on Pebble), store/rest (a REST service over MongoDB) and store/null (a responder for calibration and
// tests). They pass the conformance suite of store/storetest. Timing, scheduling and counting belong to other packages.
package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/workload"
)

// Session is the connection of one worker to a target. One goroutine at a time uses it.
type Session interface {
	// Do sends one request, waits for the reply until deadline, and fills res with an outcome. It never panics because
	// of a reply. After a lost connection or a change of primary the next call reconnects.
	//
	// Do makes one attempt. The official driver may retry; [Result.Attempts] has the number of attempts.
	Do(deadline time.Time, req *workload.Request, res *Result)
	// Close releases the connection and the buffers.
	Close() error
}

// Store is an opened target.
type Store interface {
	// Session opens the session of a worker. It may connect at once or on first use.
	Session(worker int) (Session, error)
	// Info describes the target: software, version, topology, effective settings.
	Info(ctx context.Context) (Info, error)
	// EnsureIndexes creates the indexes that do not exist yet.
	EnsureIndexes(ctx context.Context, indexes []workload.Index) error
	// Count returns the exact number of documents in a collection (0 if there is none).
	Count(ctx context.Context, collection string) (int64, error)
	// Drop removes a collection. A collection that does not exist is not an error.
	Drop(ctx context.Context, collection string) error
	// Close closes the target. Sessions must be closed before.
	Close() error
}

// Result of one request. The caller owns it and reuses it; Do resets it.
type Result struct {
	Outcome Outcome
	Reason  Reason // why the outcome is not ok

	Code     int32    // the server's error code, 0 if there was none
	CodeName string   // the server's name for it
	Labels   []string // the server's and driver's error labels
	Message  string   // one line without credentials; empty when ok

	Docs     int           // documents returned, inserted or matched
	Doc      []byte        // the first document returned, valid until the next Do; nil if none
	Bytes    int           // bytes of BSON documents read or written
	Attempts int           // commands sent for this request (2 and more: a hidden retry; 0: nothing was sent)
	PoolWait time.Duration // time spent waiting for a connection, included in the service time
	Server   string        // host:port of the server that got the last command; "" if none or unknown

	// Arrived is when the last byte of the last reply reached this machine, before the session read it; zero if that is
	// unknown. Delayed is the time by which the session read earlier parts of the replies after their arrival.
	Arrived time.Time
	Delayed time.Duration

	// OperationTime is the operationTime of the last reply, and SnapshotTime the atClusterTime of a snapshot read outside
	// of a transaction, as BSON timestamps. They are 0 if the server gave none, or if [Config.Times] is not set.
	OperationTime, SnapshotTime uint64
}

func (r *Result) Reset() { *r = Result{} }

// Fail fills r with a failure.
func (r *Result) Fail(o Outcome, why Reason, msg string) {
	r.Outcome, r.Reason, r.Message = o, why, msg
}

// Info describes a target as it is, which may differ from the specification.
type Info struct {
	Kind     string            // "mongod", "mongos", "ferretdb", "embedded", "null", …
	Version  string            // of the server software
	Topology string            // "standalone", "replica set", "sharded", "embedded", "null"
	SetName  string            // replica set name, if any
	Hosts    []string          // members or routers, host:port
	Settings map[string]string // effective settings by name: default concerns, cache size, journal, …
	Notes    []string          // settings that could not be read, and why
}

// Concern is the requested durability and consistency of every request.
type Concern struct {
	W          string // "" (server default), "0", "1", "2", …, "majority" or a tag
	Journal    *bool  // j; nil leaves it to the server
	Read       string // read concern level, "" for the server's default
	Preference string // read preference mode, "" for primary
	Causal     bool   // causally consistent sessions: reads of a session see its earlier writes and reads
}

// ErrCausalUnacknowledged refuses causally consistent sessions with w:0, because the cluster time of a write is in its
// reply.
var ErrCausalUnacknowledged = errors.New("causally consistent sessions need acknowledged writes: " +
	"use w:1 or more, or leave causal out")

// Unacknowledged reports whether writes are sent without waiting for a reply.
func (c Concern) Unacknowledged() bool { return c.W == "0" }

// AddressError reports an invalid address. Nothing was contacted.
type AddressError struct {
	Address string // without credentials
	Problem string // what is wrong, and what to do
}

// WrongAddress returns an [*AddressError], or another error if the lookup of the name failed: then the address may be
// valid.
func WrongAddress(target, problem string) error {
	if strings.Contains(problem, "lookup ") {
		return fmt.Errorf("cannot look up the address %s: %s; check the name and the DNS server", Redact(target), problem)
	}
	return &AddressError{Address: Redact(target), Problem: problem}
}

func (e *AddressError) Error() string {
	return "cannot use the address " + e.Address + ": " + e.Problem
}

// Config of a target.
type Config struct {
	Target   string // URI or name
	Database string // of the collections
	Concern  Concern
	Sessions int           // number of concurrent sessions, which sizes pools
	Timeout  time.Duration // for connecting, selecting a server and administrative commands
	Times    bool          // results have the times of the server, for which the driver copies each reply
}
