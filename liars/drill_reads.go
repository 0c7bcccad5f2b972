package main

import (
	"bytes"
	"net"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/drill/ledger"
)

// batch returns the documents of a reply to find.
func (x *exchange) batch() []bsoncore.Document {
	v, err := x.replied().LookupErr("cursor", "firstBatch")
	if err != nil {
		return nil // an error
	}
	values, _ := v.Array().Values()
	var docs []bsoncore.Document
	for _, v := range values {
		docs = append(docs, v.Document())
	}
	return docs
}

// show replaces the documents in a reply to find.
func (x *exchange) show(docs ...bsoncore.Document) error {
	var fields bson.D
	if err := bson.Unmarshal(x.replied(), &fields); err != nil {
		return err
	}
	list := bson.A{}
	for _, doc := range docs {
		list = append(list, bson.Raw(doc))
	}
	for i := range fields {
		if cursor, ok := fields[i].Value.(bson.D); ok && fields[i].Key == "cursor" {
			for k := range cursor {
				if cursor[k].Key == "firstBatch" {
					cursor[k].Value = list
				}
			}
		}
	}
	return x.answerWith(fields)
}

// changesFinalRead changes a byte of a document of the final read.
func changesFinalRead(d *drillTrial) func(*exchange) error {
	return func(x *exchange) error {
		if err := d.honestly(x); err != nil || x.command.name != "find" || x.command.collection() != ledger.DefaultCollection {
			return err
		}
		docs := x.batch()
		if _, one := x.command.find(); one || len(docs) == 0 || d.planted {
			return nil
		}
		i := d.rand.IntN(len(docs))
		docs[i] = d.damaged(docs[i])
		d.planted = true
		return x.show(docs...)
	}
}

// changesRead changes a byte of a document that the load reads.
func changesRead(d *drillTrial) func(*exchange) error {
	return func(x *exchange) error {
		if err := d.honestly(x); err != nil {
			return err
		}
		if _, one := x.command.find(); !one || !d.due() || len(x.batch()) != 1 {
			return nil
		}
		d.planted = true
		return x.show(d.damaged(x.batch()[0]))
	}
}

// answersOther answers a read with the document of an earlier read of another _id.
func answersOther(d *drillTrial) func(*exchange) error {
	var earlier bsoncore.Document
	return func(x *exchange) error {
		if err := d.honestly(x); err != nil {
			return err
		}
		if _, one := x.command.find(); !one || len(x.batch()) != 1 {
			return nil
		}
		doc := slices.Clone(x.batch()[0])
		if d.due() && earlier != nil && !bytes.Equal(earlier.Lookup("_id").Data, doc.Lookup("_id").Data) {
			d.planted = true
			return x.show(earlier)
		}
		earlier = doc
		return nil
	}
}

// history is what the proxy knows of one document of counters.
type history struct {
	states    []bsoncore.Document // as reads returned them, the oldest first
	seen, own map[net.Conn]map[string]bool
	// known are the acknowledged counters, each with the time at which its session had received the acknowledgement.
	known map[string]int
}

// Which counters a stale read must lack.
type staleness int

const (
	staleOwn          staleness = iota // that the session wrote, and was acknowledged
	staleSeen                          // that the session has read
	staleAcknowledged                  // that any session wrote, and was acknowledged before the read was sent
)

// staleLiar answers a read with an earlier state of its document that lacks a counter of the given kind. Each
// connection is a session. Times are numbers of requests.
type staleLiar struct {
	d         *drillTrial
	kind      staleness
	all       map[bson.ObjectID]*history
	now       int
	answered  map[net.Conn]int    // when the last answer of a session was sent
	confirmed map[net.Conn]func() // notes that a session has received its acknowledgement
}

func stale(kind staleness) meddler {
	return func(d *drillTrial) func(*exchange) error {
		l := &staleLiar{d: d, kind: kind, all: map[bson.ObjectID]*history{}, answered: map[net.Conn]int{},
			confirmed: map[net.Conn]func(){}}
		return l.meddle
	}
}

func (l *staleLiar) of(id bson.ObjectID) *history {
	if l.all[id] == nil {
		l.all[id] = &history{seen: map[net.Conn]map[string]bool{}, own: map[net.Conn]map[string]bool{},
			known: map[string]int{}}
	}
	return l.all[id]
}

func (l *staleLiar) meddle(x *exchange) error {
	l.now++
	if confirm := l.confirmed[x.server]; confirm != nil {
		confirm()
		delete(l.confirmed, x.server)
	}
	// The session sent this request after that time. What others had received by then was acknowledged before.
	since := l.answered[x.server]
	defer func() { l.now++; l.answered[x.server] = l.now }()
	if err := l.d.honestly(x); err != nil {
		return err
	}
	if x.command.updates() && x.accepted() {
		docs, err := x.command.written()
		if err != nil {
			return err
		}
		id, _ := docs[0].Lookup("q", "_id").ObjectIDOK()
		counter := docs[0].Lookup("u", "$inc").Document().Index(0).Key()
		note(l.of(id).own, x.server, counter)
		l.confirmed[x.server] = func() { l.of(id).known[counter] = l.now }
		return nil
	}
	id, one := x.command.find()
	if !one || len(x.batch()) > 1 || len(x.batch()) == 1 && x.batch()[0].Lookup("p").Type == bsoncore.TypeBinary {
		return nil
	}
	h := l.of(id)
	if old, ok := h.lacking(h.owed(l.kind, x.server, since)); ok && l.d.due() {
		l.d.planted = true
		return x.show(old...)
	}
	h.read(x.server, x.batch())
	return nil
}

// owed are the counters that a read must not lack.
func (h *history) owed(kind staleness, session net.Conn, since int) map[string]bool {
	switch kind {
	case staleOwn:
		return h.own[session]
	case staleSeen:
		return h.seen[session]
	}
	owed := map[string]bool{}
	for counter, at := range h.known {
		owed[counter] = at < since
	}
	return owed
}

func note(by map[net.Conn]map[string]bool, session net.Conn, counter string) {
	if by[session] == nil {
		by[session] = map[string]bool{}
	}
	by[session][counter] = true
}

func (h *history) read(session net.Conn, docs []bsoncore.Document) {
	for _, doc := range docs {
		h.states = append(h.states, slices.Clone(doc))
		elements, _ := doc.Elements() // of a document that was stored
		for _, e := range elements[1:] {
			note(h.seen, session, e.Key())
		}
	}
}

// lacking returns the newest state that lacks one of some counters. At first the document was absent.
func (h *history) lacking(counters map[string]bool) (state []bsoncore.Document, ok bool) {
	for _, state := range slices.Backward(h.states) {
		for c, must := range counters {
			if _, err := state.LookupErr(c); must && err != nil {
				return []bsoncore.Document{state}, true
			}
		}
	}
	for _, must := range counters {
		ok = ok || must
	}
	return nil, ok
}

// rollsBackRead cuts off the answers of updates, waits until a read returns one of these updates, and removes it.
func rollsBackRead(d *drillTrial) func(*exchange) error {
	cut := map[bson.ObjectID]string{} // the counter that was updated, by document
	return func(x *exchange) error {
		if err := d.honestly(x); err != nil || !d.due() {
			return err
		}
		if x.command.updates() && d.rand.IntN(3) == 0 && x.accepted() {
			docs, err := x.command.written()
			if err != nil {
				return err
			}
			id, _ := docs[0].Lookup("q", "_id").ObjectIDOK()
			cut[id] = docs[0].Lookup("u", "$inc").Document().Index(0).Key()
			return errCut
		}
		id, one := x.command.find()
		if !one || cut[id] == "" || len(x.batch()) != 1 {
			return nil
		}
		var before bson.D
		if err := bson.Unmarshal(x.batch()[0], &before); err != nil {
			return err
		}
		with := len(before)
		before = slices.DeleteFunc(before, func(e bson.E) bool { return e.Key == cut[id] })
		if len(before) == with {
			return nil
		}
		d.planted = true
		return x.beside(bson.D{{Key: "update", Value: x.command.collection()}, {Key: "updates", Value: bson.A{
			bson.D{{Key: "q", Value: bson.D{{Key: "_id", Value: id}}}, {Key: "u", Value: before}}}}})
	}
}
