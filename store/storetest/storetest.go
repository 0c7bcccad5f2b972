// Package storetest has the conformance suite of all implementations of store.Store, so that a workload has the same
// documents and the same outcomes on all of them.
//
// The tests of an implementation call [Run] with a function that opens it, or [RunURI] for a server at an address.
// Speed, schedules and faults are not tested here.
package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
)

// Caps are the capabilities of a store.
type Caps struct {
	// Discards is true for a store that keeps no documents: only outcomes, deadlines and resources are tested.
	Discards bool
	// Unacknowledged opens the target with write concern 0; nil if it does not support that. RunURI sets it.
	Unacknowledged func(t *testing.T) store.Store
	// NoUnacknowledged keeps RunURI from testing write concern 0.
	NoUnacknowledged bool
	// MaxDocument is the size of the largest document, 0 for 5 MB.
	MaxDocument int
	// CommonTypes omits BSON types that some engines do not keep (regular expressions, code, min and max key,
	// timestamps, user-defined binaries).
	CommonTypes bool
}

// patience is the deadline of a request. It is generous, so that only a hang fails on a busy machine.
const patience = 60 * time.Second

// Run runs the suite, and again on an event loop if the store's sessions can wait on one. The suite closes the stores
// that open returns. It drops collections whose names begin with "conformance_".
func Run(t *testing.T, open func(t *testing.T) store.Store, caps Caps) {
	s := open(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	r := runner{store: s, open: open, caps: caps}
	for _, c := range cases() {
		if caps.Discards && !c.anyStore {
			continue
		}
		t.Run(c.name, func(t *testing.T) { r.run(t, c) })
	}
	if caps.Unacknowledged != nil {
		t.Run("unacknowledged", func(t *testing.T) { testUnacknowledged(t, caps) })
	}
	if onLoops(s) {
		t.Run("on an event loop", func(t *testing.T) {
			if unacknowledged := caps.Unacknowledged; unacknowledged != nil {
				caps.Unacknowledged = func(t *testing.T) store.Store { return OnLoop(t, unacknowledged(t)) }
			}
			Run(t, func(t *testing.T) store.Store { return OnLoop(t, open(t)) }, caps)
		})
	}
}

// RunURI runs the suite against the server at uri in the database "plimsoll_conformance".
func RunURI(t *testing.T, uri string, caps Caps, open func(context.Context, store.Config) (store.Store, error)) {
	with := func(c store.Concern) func(*testing.T) store.Store {
		return func(t *testing.T) store.Store {
			t.Helper()
			s, err := open(t.Context(), store.Config{
				Target: uri, Database: "plimsoll_conformance", Concern: c, Sessions: 32, Timeout: patience})
			if err != nil {
				t.Fatalf("open: %v", err)
			}
			return s
		}
	}
	if !caps.NoUnacknowledged {
		caps.Unacknowledged = with(store.Concern{W: "0"})
	}
	Run(t, with(store.Concern{W: "1"}), caps)
}

// testCase is one rule of the suite.
type testCase struct {
	name     string
	anyStore bool // also for a store with Caps.Discards
	run      func(e *env)
}

func cases() []testCase {
	return []testCase{
		{"info", true, testInfo},
		{"result is reset", true, testReset},
		{"deadline in the past", true, testPastDeadline},
		{"shortest deadline", true, testShortDeadline},
		{"many sessions", true, testConcurrent},
		{"close twice", true, testCloseTwice},
		{"session without requests", true, testUnused},
		{"requests without content", true, testEmptyRequests},
		{"insert and read", false, testInsertRead},
		{"types", false, testTypes},
		{"unusual documents", false, testUnusual},
		{"large document", false, testLarge},
		{"missing document", false, testMissing},
		{"set", false, testSet},
		{"inc", false, testInc},
		{"update of nothing", false, testUpdateMissing},
		{"replacement", false, testReplace},
		{"upsert", false, testUpsert},
		{"update batch", false, testUpdateBatch},
		{"insert batch", false, testInsertBatch},
		{"duplicates in order", false, testOrderedDuplicates},
		{"duplicates out of order", false, testUnorderedDuplicates},
		{"conflict", false, testConflict},
		{"rejected update", false, testRejected},
		{"scan", false, testScan},
		{"projection", false, testProjection},
		{"secondary index", false, testSecondaryIndex},
		{"sort, skip, limit", false, testSort},
		{"aggregation", false, testAggregate},
		{"count and drop", false, testCountDrop},
		{"indexes twice", false, testIndexesTwice},
		{"random operations", false, testRandom},
	}
}

type runner struct {
	store store.Store
	open  func(t *testing.T) store.Store
	caps  Caps
}

// run runs one case with a new session and an empty collection.
func (r *runner) run(t *testing.T, c testCase) {
	session, err := r.store.Session(0)
	if err != nil {
		t.Fatalf("session: %v", err)
	}
	e := &env{T: t, runner: r, session: session, coll: collectionName(c.name)}
	e.drop()
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("close session: %v", err)
		}
	})
	c.run(e)
	e.drop()
}
