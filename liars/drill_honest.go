package main

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// The drills of honest servers read in all ways that are judged.
func drillTroubles() []deceit {
	return []deceit{
		{name: "plain", what: "a proxy that forwards everything", full: 100, make: often(0, nil), reads: causalReads},
		{name: "plain-linearizable", what: "the same, with linearizable reads", full: 100, make: often(0, nil),
			reads: linearizableReads},
		{name: "cut-before", what: "connections are cut before a write is forwarded", full: 100, reads: causalReads,
			make: often(0.05, func(*drillTrial, *exchange) error { return errCut })},
		{name: "cut-after", what: "connections are cut after a write was stored and before its answer", full: 100,
			reads: causalReads, make: often(0.05, storedAndCut)},
		{name: "cut-linearizable", what: "the same, with linearizable reads", full: 100, reads: linearizableReads,
			make: often(0.05, storedAndCut)},
		{name: "retries", what: "connections are cut, and the official driver retries the writes", full: 50,
			make: often(0.05, storedAndCut), setup: useDriver},
		{name: "stored-late", what: "a write is stored after the client has given it up", full: 50,
			make:  often(0.02, storedLate),
			setup: func(asked *spec.Drill) { asked.Run.Load.Timeout = spec.Duration(time.Second) }},
		{name: "refused", what: "writes are refused and not stored", full: 100, make: often(0.05,
			func(d *drillTrial, x *exchange) error { return x.answerWith(refusals[d.rand.IntN(len(refusals))]) })},
		{name: "not-confirmed", what: "writes are stored, and the write concern is not reached", full: 100, reads: causalReads,
			make: often(0.05, notConfirmed)},
		{name: "window", what: "the last writes before the fault are lost, within the allowed window", full: 100,
			make: losesWindow, setup: allowWindow},
		{name: "shared", what: "connections are cut while many writers update the same documents", full: 50,
			make: often(0.05, storedAndCut), setup: setUpdates, collections: []string{"usertable"}},
		{name: "lost-commits", what: "connections are cut before and after commits of transactions", full: 50,
			make: losesCommits, setup: setPairs, collections: pairs, needsReal: transactions},
	}
}

// often does something to a share of the writes.
func often(share float64, trouble func(*drillTrial, *exchange) error) meddler {
	return func(d *drillTrial) func(*exchange) error {
		return func(x *exchange) error {
			if x.command.writes() && d.rand.Float64() < share {
				return trouble(d, x)
			}
			return d.honestly(x)
		}
	}
}

func storedAndCut(_ *drillTrial, x *exchange) error {
	if err := x.forward(); err != nil {
		return err
	}
	return errCut
}

// storedLate forwards the request when the client has closed its connection.
func storedLate(d *drillTrial, x *exchange) error {
	d.mu.Unlock()                         // other connections go on
	_, _ = x.client.Read(make([]byte, 1)) // ends with the connection: the client sends nothing before the answer
	d.mu.Lock()
	if err := x.forward(); err != nil {
		return err
	}
	return errCut
}

// notConfirmed adds a write concern error to an answer.
func notConfirmed(_ *drillTrial, x *exchange) error {
	if err := x.forward(); err != nil {
		return err
	}
	var fields bson.D
	if err := bson.Unmarshal(x.replied(), &fields); err != nil {
		return err
	}
	return x.answerWith(append(fields, bson.E{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: int32(64)},
		{Key: "codeName", Value: "WriteConcernTimeout"}, {Key: "errmsg", Value: "waiting for replication timed out"}}}))
}

// losesWindow drops the five writes before the mark of the fault, as if the primary failed before it replicated them.
func losesWindow(d *drillTrial) func(*exchange) error {
	return func(x *exchange) error {
		if x.command.writes() && d.writes < d.begin && d.writes >= d.begin-5 && d.last != nil {
			return d.accept(x)
		}
		return d.honestly(x)
	}
}
