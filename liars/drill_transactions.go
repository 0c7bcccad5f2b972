package main

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// transactionFile is a workload file: transactions of two inserts and of two updates, and counted updates.
const transactionFile = `name: pairs
about: Transactions insert one document into each of two collections, or update one of each.
collections:
  - {name: left, count: 20, document: {_id: {$sequence: {prefix: l-}}, n: {$int: 100}}}
  - {name: right, count: 20, document: {_id: {$sequence: {prefix: r-}}, n: {$int: 100}}}
operations:
  - name: pair
    weight: 40
    transaction:
      - {name: one, insert: left}
      - {name: two, insert: right}
    write_concern: {w: majority}
  - name: move
    weight: 20
    transaction:
      - {name: give, update: left, filter: {_id: {$uniform: left}}, with: {$inc: {n: -1}}}
      - {name: take, update: right, filter: {_id: {$uniform: right}}, with: {$inc: {n: 1}}}
    write_concern: {w: majority}
  - {name: touch, weight: 40, update: left, filter: {_id: {$zipf: left}}, with: {$set: {n: 1}}}
`

// pairs are the collections of [transactionFile], and transactions what the stand-in lacks for it.
var pairs = []string{"left", "right"}

const transactions = "a transaction"

// setPairs makes the load of transactions.
func setPairs(asked *spec.Drill) {
	const name = "pairs.yaml"
	asked.Run.Workload = spec.Workload{Name: name, Seed: asked.Run.Workload.Seed,
		File: &spec.WorkloadFile{Path: name, Text: transactionFile}}
	asked.Run.Load.Timeout = spec.Duration(2 * time.Second)
}

// setUpdates makes the load of workload a, whose writers update the same documents.
func setUpdates(asked *spec.Drill) {
	asked.Run.Workload = spec.Workload{Name: "a", Records: 100, Seed: asked.Run.Workload.Seed}
}

// transactionOf names the transaction that a command belongs to, "" if there is none.
func transactionOf(c command) string {
	auto, err := c.doc.LookupErr("autocommit")
	if err != nil || auto.Type != bsoncore.TypeBoolean {
		return ""
	}
	return string(c.doc.Lookup("lsid").Data) + string(c.doc.Lookup("txnNumber").Data)
}

// tears drops one of the two inserts of a transaction. With cut, its commit gets no answer.
func tears(cut bool) meddler {
	return tearsOf("insert", cut, (*exchange).elsewhere)
}

// tearsUpdate drops one of the two updates of a transaction, which is answered as if it had been applied.
func tearsUpdate(cut bool) meddler {
	return tearsOf("update", cut, func(x *exchange) error {
		if err := x.elsewhere(); err != nil {
			return err
		}
		return x.answerWith(bson.D{{Key: "n", Value: int32(1)}, {Key: "nModified", Value: int32(1)}, {Key: "ok", Value: 1.0}})
	})
}

func tearsOf(name string, cut bool, drop func(*exchange) error) meddler {
	return func(d *drillTrial) func(*exchange) error {
		torn, victim := "", []string{"left", "right"}[d.rand.IntN(2)]
		return func(x *exchange) error {
			of := transactionOf(x.command)
			if of != "" && torn == "" && x.command.name == name && x.command.collection() == victim && d.due() {
				torn = of
				return drop(x)
			}
			if err := d.honestly(x); err != nil || of == "" || of != torn || x.command.name != "commitTransaction" {
				return err
			}
			if ok, _ := x.replied().Lookup("ok").AsFloat64OK(); ok != 1 {
				return nil // it was aborted
			}
			d.planted = true
			if cut {
				return errCut
			}
			return nil
		}
	}
}

// elsewhere sends a write to a collection that nobody reads. So the statement takes part in its transaction.
func (x *exchange) elsewhere() error {
	return x.instead(func(fields bson.D) { fields[0].Value = "nobody_reads_this" })
}

// losesCommits cuts connections at commits: before they are forwarded, or before their answers.
func losesCommits(d *drillTrial) func(*exchange) error {
	return func(x *exchange) error {
		if x.command.name != "commitTransaction" || d.rand.IntN(10) > 0 {
			return d.honestly(x)
		}
		if d.rand.IntN(2) == 0 {
			return errCut
		}
		return storedAndCut(d, x)
	}
}
