package main

import (
	"bytes"
	"encoding/binary"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/spec"
)

var (
	causalReads       = &spec.Reads{Concern: "majority", Causal: true}
	linearizableReads = &spec.Reads{Concern: "linearizable"}
)

// meddler makes the proxy of a trial do something to its requests.
type meddler func(*drillTrial) func(*exchange) error

func drillLies() []deceit {
	return []deceit{
		{name: "drop-insert", what: "an acknowledged insert is not stored", make: drops("insert")},
		{name: "drop-update", what: "an acknowledged update is not stored", make: drops("update")},
		{name: "roll-back", what: "an acknowledged insert is stored and removed later", make: rollsBack},
		{name: "lose-old", what: "a document from before the load is removed", make: afterwards("", losesSeed)},
		{name: "isolated", what: "from the fault on, all writes are acknowledged and none is stored", make: isolated},
		{name: "isolated-window", what: "the same, where a loss of the last 500 ms before a fault that is marked by hand is allowed: " +
			"the verdict is not *holds*", make: isolated, setup: allowWindow, doubt: true},
		{name: "insert-twice", what: "an insert is stored twice, the second time under another `_id`", make: afterwards("insert", insertsTwice)},
		{name: "update-twice", what: "an update is applied twice", make: afterwards("update", updatesTwice)},
		{name: "retry-twice", what: "the retry of an update by the official driver is applied again", make: appliesRetry,
			setup: useDriver},
		{name: "refuse-and-store", what: "a write is refused with an error that excludes it, and stored", make: afterwards("", refusesAndStores)},
		{name: "byte-insert", what: "one byte of an inserted document is changed before it is stored", make: alters("insert", changesInsert)},
		{name: "byte-update", what: "one byte of the number that an update adds is changed", make: alters("update", changesUpdate)},
		{name: "wrong-document", what: "an update is applied to another document", make: alters("update", updatesAnother)},
		{name: "byte-final-read", what: "the final read returns a document with a changed byte", make: changesFinalRead},
		{name: "byte-read", what: "a read of the load returns a document with a changed byte", make: changesRead, reads: causalReads},
		{name: "other-document", what: "a read of the load is answered with another document", make: answersOther,
			reads: causalReads},
		{name: "stale-own", what: "a causally consistent read lacks an acknowledged write of the same session", make: stale(staleOwn),
			reads: causalReads},
		{name: "stale-monotonic", what: "a causally consistent read lacks a write that its session has read before",
			make: stale(staleSeen), reads: causalReads},
		{name: "stale-linearizable", what: "a linearizable read lacks an acknowledged write", make: stale(staleAcknowledged),
			reads: linearizableReads},
		{name: "rolled-back-read", what: "a majority read returns an indeterminate write that is rolled back later",
			make: rollsBackRead, setup: func(asked *spec.Drill) { asked.Run.Load.Operations = 6 * drillOperations },
			reads: &spec.Reads{Concern: "majority", Causal: true, Share: 0.7}},
		{name: "drop-shared", what: "an acknowledged update of a document that many writers update is not applied",
			make: drops("update"), setup: setUpdates, collections: []string{"usertable"}},
		{name: "twice-shared", what: "the same update is applied twice", make: afterwards("update", updatesTwice), setup: setUpdates,
			collections: []string{"usertable"}},
		{name: "torn", what: "one of two inserts of an acknowledged transaction is not stored", make: tears(false), setup: setPairs,
			collections: pairs, needsReal: transactions},
		{name: "torn-indeterminate", what: "the same of a transaction whose commit got no answer", make: tears(true), setup: setPairs,
			collections: pairs, needsReal: transactions},
		{name: "torn-update", what: "one of two updates of an acknowledged transaction is not applied", make: tearsUpdate(false),
			setup: setPairs, collections: pairs, needsReal: transactions},
		{name: "torn-update-indeterminate", what: "the same of a transaction whose commit got no answer, while no other update of the " +
			"documents is without an answer", make: tearsUpdate(true), setup: setPairs, collections: pairs, needsReal: transactions},
	}
}

// allowWindow allows the loss of the last writes before the fault.
func allowWindow(asked *spec.Drill) {
	asked.Expect = &spec.Expect{Loss: spec.LossWindow, LossWindow: spec.Duration(500e6)}
	asked.Run.Durability.W = "1"
}

// accept acknowledges a write that was not forwarded, with the times of the last real acknowledgement.
func (d *drillTrial) accept(x *exchange) error {
	doc := bson.D{{Key: "n", Value: int32(1)}}
	if x.command.updates() {
		doc = append(doc, bson.E{Key: "nModified", Value: int32(1)})
	}
	for _, e := range d.last {
		switch e.Key {
		case "electionId", "opTime", "$clusterTime", "operationTime":
			doc = append(doc, e)
		}
	}
	return x.answerWith(append(doc, bson.E{Key: "ok", Value: 1.0}))
}

func (x *exchange) answerWith(doc bson.D) error {
	raw, err := bson.Marshal(doc)
	if err == nil {
		x.answer(raw)
	}
	return err
}

// honestly forwards a request and keeps the acknowledgement of a write.
func (d *drillTrial) honestly(x *exchange) error {
	if err := x.forward(); err != nil || !x.command.writes() {
		return err
	}
	d.last = nil
	return bson.Unmarshal(x.replied(), &d.last)
}

// replied is the document of the reply.
func (x *exchange) replied() bsoncore.Document { return x.reply[headerSize+5:] }

// accepted says whether the server acknowledged one write.
func (x *exchange) accepted() bool {
	doc := x.replied()
	n, _ := doc.Lookup("n").AsInt64OK()
	ok, _ := doc.Lookup("ok").AsFloat64OK()
	_, errs := doc.LookupErr("writeErrors")
	return n == 1 && ok == 1 && errs != nil
}

// drops acknowledges one command without forwarding it.
func drops(name string) meddler {
	return func(d *drillTrial) func(*exchange) error {
		return func(x *exchange) error {
			if !x.command.is(name) || !d.due() || d.last == nil {
				return d.honestly(x)
			}
			d.planted = true
			return d.accept(x)
		}
	}
}

// isolated acknowledges all writes after the mark of the fault.
func isolated(d *drillTrial) func(*exchange) error {
	return func(x *exchange) error {
		if !x.command.writes() || d.writes <= d.begin || d.last == nil {
			return d.honestly(x)
		}
		d.planted = true
		return d.accept(x)
	}
}

// rollsBack removes a stored document eight writes later.
func rollsBack(d *drillTrial) func(*exchange) error {
	var victim bsoncore.Value
	var at int
	return func(x *exchange) error {
		if err := d.honestly(x); err != nil {
			return err
		}
		switch {
		case victim.Data == nil && x.command.is("insert") && d.due() && x.accepted():
			docs, err := x.command.written()
			if err != nil {
				return err
			}
			victim, at = docs[0].Lookup("_id"), d.writes
		case victim.Data != nil && !d.planted && d.writes >= at+8 && x.command.writes():
			d.planted = true
			return x.beside(bson.D{{Key: "delete", Value: x.command.collection()}, {Key: "deletes", Value: bson.A{
				bson.D{{Key: "q", Value: bson.D{{Key: "_id", Value: rawOf(victim)}}}, {Key: "limit", Value: 1}}}}})
		}
		return nil
	}
}

func rawOf(v bsoncore.Value) bson.RawValue {
	return bson.RawValue{Type: bson.Type(v.Type), Value: slices.Clone(v.Data)}
}

// afterwards forwards all requests, and once a command was acknowledged and the lie is due, lies with its documents. ""
// is any write.
func afterwards(name string, lie func(*drillTrial, *exchange, []bsoncore.Document) error) meddler {
	return func(d *drillTrial) func(*exchange) error {
		return func(x *exchange) error {
			if err := d.honestly(x); err != nil || !x.command.is(name) || !d.due() || !x.accepted() {
				return err
			}
			docs, err := x.command.written()
			if err != nil {
				return err
			}
			d.planted = true
			return lie(d, x, docs)
		}
	}
}

// alters has the server do a command with a changed document once the lie is due. No document leaves it for the next.
func alters(name string, change func(*drillTrial) func(bsoncore.Document) bsoncore.Document) meddler {
	return func(d *drillTrial) func(*exchange) error {
		changed := change(d)
		return func(x *exchange) error {
			if !x.command.is(name) || !d.due() {
				return d.honestly(x)
			}
			docs, err := x.command.written()
			if err != nil {
				return err
			}
			out := changed(docs[0])
			if out == nil {
				return d.honestly(x)
			}
			d.planted = true
			return x.instead(func(fields bson.D) {
				for i := range fields {
					if fields[i].Key == arrayOf(name) {
						fields[i].Value = bson.A{bson.Raw(out)}
					}
				}
			})
		}
	}
}

// losesSeed removes the documents from before the load.
func losesSeed(_ *drillTrial, x *exchange, _ []bsoncore.Document) error {
	return x.beside(bson.D{{Key: "delete", Value: drillSeeds}, {Key: "deletes", Value: bson.A{
		bson.D{{Key: "q", Value: bson.D{{Key: "seed", Value: true}}}, {Key: "limit", Value: 1}}}}})
}

// beside has the server do a command of the proxy, in the database of the request.
func (x *exchange) beside(command bson.D) error {
	database, _ := x.command.doc.Lookup("$db").StringValueOK()
	raw, err := bson.Marshal(append(command, bson.E{Key: "$db", Value: database}))
	if err != nil {
		return err
	}
	reply, err := x.ask(message(1<<30, raw))
	if err != nil {
		return err
	}
	doc := bsoncore.Document(reply[headerSize+5:])
	if ok, _ := doc.Lookup("ok").AsFloat64OK(); ok != 1 {
		return &deniedError{doc.String()}
	}
	return nil
}

// deniedError ends a connection, so the trial has not planted its lie and shows it.
type deniedError struct{ reply string }

func (e *deniedError) Error() string { return "the server refused a command of the proxy: " + e.reply }

// again has the server do the write with other documents, without session and transaction number.
func (x *exchange) again(docs ...bsoncore.Document) error {
	list := bson.A{}
	for _, doc := range docs {
		list = append(list, bson.Raw(doc))
	}
	name := x.command.name
	return x.beside(bson.D{{Key: name, Value: x.command.collection()}, {Key: arrayOf(name), Value: list}})
}

// insertsTwice stores a document once more under another _id.
func insertsTwice(d *drillTrial, x *exchange, docs []bsoncore.Document) error {
	second := slices.Clone(docs[0])
	at := bytes.Index(second, docs[0].Lookup("_id").Data)
	second[at+11] ^= 1 << d.rand.IntN(8)
	second[at] ^= 0x80 // an _id that no writer uses
	return x.again(second)
}

// updatesTwice applies an update once more.
func updatesTwice(_ *drillTrial, x *exchange, docs []bsoncore.Document) error {
	return x.again(docs...)
}

// useDriver makes the load with the official driver, which retries a write once.
func useDriver(asked *spec.Drill) { asked.Run.Client = "driver" }

// appliesRetry cuts the answer of an update, and applies its retry as if it were another update.
func appliesRetry(d *drillTrial) func(*exchange) error {
	victim := ""
	return func(x *exchange) error {
		if !x.command.updates() {
			return d.honestly(x)
		}
		retry := string(x.command.doc.Lookup("lsid").Data) + string(x.command.doc.Lookup("txnNumber").Data)
		docs, err := x.command.written()
		if err != nil {
			return err
		}
		switch {
		case victim == "" && d.due():
			victim = retry
			return storedAndCut(d, x)
		case victim == retry && !d.planted:
			d.planted = true
			if err := x.again(docs...); err != nil {
				return err
			}
		}
		return d.honestly(x)
	}
}

// refusesAndStores answers a stored write with an error that says that nothing was changed.
func refusesAndStores(d *drillTrial, x *exchange, _ []bsoncore.Document) error {
	return x.answerWith(refusals[d.rand.IntN(len(refusals))])
}

// refusals are errors that exclude that a write was applied.
var refusals = []bson.D{
	{{Key: "ok", Value: 0.0}, {Key: "code", Value: int32(112)}, {Key: "codeName", Value: "WriteConflict"},
		{Key: "errmsg", Value: "WriteConflict error"}},
	{{Key: "ok", Value: 0.0}, {Key: "code", Value: int32(10107)}, {Key: "codeName", Value: "NotWritablePrimary"},
		{Key: "errmsg", Value: "not primary"}},
	{{Key: "ok", Value: 0.0}, {Key: "code", Value: int32(13)}, {Key: "codeName", Value: "Unauthorized"},
		{Key: "errmsg", Value: "not authorized"}},
}

// instead has the server do the request with other fields, and gives its reply to the client.
func (x *exchange) instead(change func(fields bson.D)) error {
	var fields bson.D
	if err := bson.Unmarshal(x.command.doc, &fields); err != nil {
		return err
	}
	change(fields)
	raw, err := bson.Marshal(fields)
	if err != nil {
		return err
	}
	x.reply, err = x.ask(message(binary.LittleEndian.Uint32(x.request[4:]), raw))
	return err
}

// changesInsert changes a random byte of a random value: of _id, of the payload or of the tag.
func changesInsert(d *drillTrial) func(bsoncore.Document) bsoncore.Document { return d.damaged }

// damaged is a document with a changed byte in one of its values. Lengths and types stay the same.
func (d *drillTrial) damaged(doc bsoncore.Document) bsoncore.Document {
	values, _ := doc.Values() // of a document that was stored
	v := values[d.rand.IntN(len(values))]
	data := v.Data
	if v.Type == bsoncore.TypeBinary {
		data = data[5:]
	}
	out := slices.Clone(doc)
	at := bytes.Index(doc, v.Data) + len(v.Data) - len(data) + d.rand.IntN(len(data))
	out[at] ^= byte(1 + d.rand.IntN(255))
	return out
}

// changesUpdate changes a random byte of the number in {$inc: {counter: number}}.
func changesUpdate(d *drillTrial) func(bsoncore.Document) bsoncore.Document {
	return func(doc bsoncore.Document) bsoncore.Document {
		number := doc.Lookup("u", "$inc").Document().Index(0).Value().Data
		out := slices.Clone(doc)
		out[bytes.Index(out, number)+d.rand.IntN(len(number))] ^= byte(1 + d.rand.IntN(255))
		return out
	}
}

// updatesAnother sends an update to the document of an earlier one.
func updatesAnother(*drillTrial) func(bsoncore.Document) bsoncore.Document {
	var earlier []byte
	return func(doc bsoncore.Document) bsoncore.Document {
		id := slices.Clone(doc.Lookup("q", "_id").Data)
		if earlier == nil || bytes.Equal(id, earlier) {
			earlier = id
			return nil
		}
		out := slices.Clone(doc)
		copy(out[bytes.Index(out, id):], earlier)
		return out
	}
}
