package workload

import (
	"fmt"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// Classes of the person workload.
const (
	personInsert = iota
	personList
	personListFind
	personListCount
)

type personParams struct {
	common
	insert, list float64
	pageSize     int
	pages        int64
}

func (p *personParams) settings() []setting {
	return append(p.common.settings(),
		setting{"insertproportion", "25", "weight of inserts", &p.insert},
		setting{"listproportion", "1", "weight of list operations", &p.list},
		setting{"pagesize", "20", "people per page", &p.pageSize},
		setting{"pages", "1", "list reads a random one of this many first pages", &p.pages},
	)
}

// person is a REST store of people, like a paging repository of Spring Data: it inserts people and lists pages of them.
// A list is a find with skip and limit and, for the number of pages, a count of the whole collection, so it becomes
// slower as people are added. Its streams share the insert sequence.
type person struct {
	p        personParams
	mix      mix
	ids      idSource
	inserted atomic.Int64
	all      []byte // {}
	count    []byte // pipeline
}

func (p *personParams) open() (Workload, error) {
	m, ok := newMix(p.insert, p.list)
	switch {
	case !ok:
		return nil, fmt.Errorf("all proportions are 0: set insertproportion or listproportion above 0")
	case p.pageSize < 1:
		return nil, fmt.Errorf("pagesize is %d: it must be at least 1", p.pageSize)
	case p.pages < 1:
		return nil, fmt.Errorf("pages is %d: it must be at least 1", p.pages)
	}
	// The count of all documents: [{$match: {}}, {$group: {_id: 1, n: {$sum: 1}}}].
	count := stages(
		stage("$match", func(dst []byte) []byte { return dst }),
		stage("$group", func(dst []byte) []byte {
			dst = bsoncore.AppendInt32Element(dst, "_id", 1)
			return appendOperator(dst, "n", "$sum", func(dst []byte, key string) []byte {
				return bsoncore.AppendInt32Element(dst, key, 1)
			})
		}),
	)
	return &person{p: *p, mix: m, ids: p.ids(), all: keys(), count: count}, nil
}

func (w *person) Name() string { return "person" }

func (w *person) Classes() []Class {
	return []Class{{Name: "insert"}, {Name: "list"}, {Name: "list-find", Part: true}, {Name: "list-count", Part: true}}
}

func (w *person) Collections() []string { return []string{"person"} }
func (w *person) Indexes() []Index      { return nil }
func (w *person) Records() int64        { return w.p.records }

// appendPerson appends the document of id, whose names depend on id and the seed.
func (w *person) appendPerson(dst []byte, id objectID) []byte {
	var r random
	r.seed(w.p.seed, forRecord, recordNumber(id))
	dst, at := rawbson.Open(dst)
	dst = bsoncore.AppendObjectIDElement(dst, "_id", id)
	dst = bsoncore.AppendStringElement(dst, "firstName", firstNames[r.below(int64(len(firstNames)))])
	dst = bsoncore.AppendStringElement(dst, "lastName", lastNames[r.below(int64(len(lastNames)))])
	dst = bsoncore.AppendStringElement(dst, "_class", "hello.Person")
	return rawbson.Close(dst, at)
}

func (w *person) Loader() Loader {
	return w.ids.objectLoader("person", personInsert, w.appendPerson)
}

type personStream struct {
	w      *person
	r      random
	docs   rawbson.Documents
	insert [1]Request
	list   [2]Request
}

func (w *person) Stream(worker, _ int) Stream {
	s := &personStream{w: w}
	s.r.seed(w.p.seed, forStream, uint64(worker))
	s.insert[0] = Request{Verb: Insert, Class: NoClass, Collection: "person"}
	s.list[0] = Request{Verb: Find, Class: personListFind, Collection: "person", Filter: w.all, Limit: int64(w.p.pageSize),
		MayBeEmpty: true}
	s.list[1] = Request{Verb: Aggregate, Class: personListCount, Collection: "person", Pipeline: w.count, MayBeEmpty: true}
	return Stream{Next: s.Next, Done: func(*Op, bool) {}}
}

func (s *personStream) Next(op *Op) {
	op.Class, op.Seq = s.w.mix.next(&s.r), -1
	if op.Class == personList {
		s.list[0].Skip = s.r.below(s.w.p.pages) * int64(s.w.p.pageSize)
		op.Requests = s.list[:]
		return
	}
	op.Seq = s.w.inserted.Add(1) - 1
	s.docs.Reset()
	s.docs.Buf = s.w.appendPerson(s.docs.Buf, s.w.ids.inserted(op.Seq))
	s.docs.Mark()
	s.insert[0].Docs = s.docs.All()
	op.Requests = s.insert[:]
}
