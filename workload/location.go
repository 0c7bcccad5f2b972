package workload

import (
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// Classes of the location workload.
const (
	locationInsert = iota
	locationFind
)

type locationParams struct {
	common
	insert, find float64
	batch        int
	limit        int64
}

func (p *locationParams) settings() []setting {
	return append(p.common.settings(),
		setting{"insertproportion", "0.1", "weight of bulk inserts", &p.insert},
		setting{"findproportion", "0.9", "weight of searches by city", &p.find},
		setting{"batchsize", "500", "documents per insert", &p.batch},
		setting{"limit", "20", "most documents that a search returns", &p.limit},
	)
}

// location is a collection of places: nested documents of 400 to 600 bytes, inserted in bulk and found by the city of
// their address, which has a secondary index. Its streams share the insert sequence.
type location struct {
	p        locationParams
	mix      mix
	ids      idSource
	inserted atomic.Int64
}

func (p *locationParams) open() (Workload, error) {
	m, ok := newMix(p.insert, p.find)
	switch {
	case !ok:
		return nil, errors.New("all proportions are 0: set insertproportion or findproportion above 0")
	case p.batch < 1 || p.batch > 100_000:
		return nil, fmt.Errorf("batchsize is %d: it must be from 1 to 100000", p.batch)
	case p.limit < 1:
		return nil, fmt.Errorf("limit is %d: it must be at least 1", p.limit)
	}
	return &location{p: *p, mix: m, ids: p.ids()}, nil
}

func (w *location) Name() string { return "location" }

func (w *location) Classes() []Class {
	return []Class{{Name: "insert"}, {Name: "find-by-city"}}
}

func (w *location) Collections() []string { return []string{"location"} }
func (w *location) Records() int64        { return w.p.records }

func (w *location) Indexes() []Index {
	return []Index{{Collection: "location", Name: "address.city_1", Keys: keys("address.city")}}
}

func (w *location) Loader() Loader {
	return w.ids.objectLoader("location", locationInsert, w.appendPlace)
}

// appendPlace appends the document of id, whose contents depend on id and the seed.
func (w *location) appendPlace(dst []byte, id objectID) []byte {
	var r random
	r.seed(w.p.seed, forRecord, recordNumber(id))
	kind := pick(&r, placeKinds)
	dst, at := rawbson.Open(dst)
	dst = bsoncore.AppendObjectIDElement(dst, "_id", id)
	dst = appendWords(dst, "name", pick(&r, lastNames), kind)
	dst = bsoncore.AppendStringElement(dst, "kind", kind)
	dst = appendAddress(dst, &r)
	dst = appendPoint(dst, &r)
	dst = appendTags(dst, &r, placeTags, 3)
	dst = appendPhone(dst, &r)
	dst = bsoncore.AppendDateTimeElement(dst, "opened", firstOpening+r.below(openingSpan))
	dst = bsoncore.AppendDoubleElement(dst, "rating", float64(10+r.below(41))/10)
	dst = bsoncore.AppendInt32Element(dst, "reviews", int32(r.below(5000)))
	dst = bsoncore.AppendBooleanElement(dst, "active", r.below(10) > 0)
	dst = appendSentence(dst, "description", &r, 8+int(r.below(8)))
	return rawbson.Close(dst, at)
}

// Places open between 1990 and 2025 (milliseconds since 1970).
const (
	firstOpening = 631_152_000_000
	openingSpan  = 35 * 365 * 24 * 3600 * 1000
)

func appendAddress(dst []byte, r *random) []byte {
	city := pick(r, cities)
	dst, at := openDocElement(dst, "address")
	dst, street := openString(dst, "street")
	dst = strconv.AppendInt(dst, 1+r.below(400), 10)
	dst = append(dst, ' ')
	dst = append(dst, pick(r, lastNames)...)
	dst = append(dst, ' ')
	dst = closeString(append(dst, pick(r, streetKinds)...), street)
	dst = bsoncore.AppendStringElement(dst, "city", city.first)
	dst = appendDigits(dst, "zip", 10000+r.below(90000))
	dst = bsoncore.AppendStringElement(dst, "country", city.second)
	return rawbson.Close(dst, at)
}

// appendPoint appends a GeoJSON point.
func appendPoint(dst []byte, r *random) []byte {
	dst, at := openDocElement(dst, "geo")
	dst = bsoncore.AppendStringElement(dst, "type", "Point")
	dst, in := openArrayElement(dst, "coordinates")
	dst = bsoncore.AppendDoubleElement(dst, "0", float64(r.below(360_000_000)-180_000_000)/1e6)
	dst = bsoncore.AppendDoubleElement(dst, "1", float64(r.below(140_000_000)-60_000_000)/1e6)
	return rawbson.Close(rawbson.Close(dst, in), at)
}

func appendPhone(dst []byte, r *random) []byte {
	dst, at := openString(dst, "phone")
	dst = append(dst, '+')
	dst = strconv.AppendInt(dst, 10+r.below(90), 10)
	dst = append(dst, '-')
	dst = strconv.AppendInt(dst, 100_000_000+r.below(900_000_000), 10)
	return closeString(dst, at)
}

type locationStream struct {
	w      *location
	r      random
	docs   rawbson.Documents
	filter []byte
	insert [1]Request
	find   [1]Request
}

func (w *location) Stream(worker, _ int) Stream {
	s := &locationStream{w: w}
	s.r.seed(w.p.seed, forStream, uint64(worker))
	s.insert[0] = Request{Verb: Insert, Class: NoClass, Collection: "location", Unordered: w.p.batch > 1}
	s.find[0] = Request{Verb: Find, Class: NoClass, Collection: "location", Limit: w.p.limit, MayBeEmpty: true}
	return Stream{Next: s.Next, Done: func(*Op, bool) {}}
}

func (s *locationStream) Next(op *Op) {
	op.Class, op.Seq = s.w.mix.next(&s.r), -1
	if op.Class == locationFind {
		dst, at := rawbson.Open(s.filter[:0])
		dst = bsoncore.AppendStringElement(dst, "address.city", pick(&s.r, cities).first)
		s.filter = rawbson.Close(dst, at)
		s.find[0].Filter = s.filter
		op.Requests = s.find[:]
		return
	}
	n := int64(s.w.p.batch)
	op.Seq = s.w.inserted.Add(n) - n
	s.docs.Reset()
	for i := range n {
		s.docs.Buf = s.w.appendPlace(s.docs.Buf, s.w.ids.inserted(op.Seq+i))
		s.docs.Mark()
	}
	s.insert[0].Docs = s.docs.All()
	op.Requests = s.insert[:]
}
