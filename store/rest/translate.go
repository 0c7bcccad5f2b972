package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// largestPage is how many persons a service returns at most.
const largestPage = 1000

// countStages is the only aggregation that a service can do: the count of all persons.
var countStages = func() []byte {
	doc, err := bson.Marshal(bson.D{{Key: "p", Value: bson.A{
		bson.D{{Key: "$match", Value: bson.D{}}},
		bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: int32(1)}, {Key: "n", Value: bson.D{{Key: "$sum", Value: int32(1)}}}}}},
	}}})
	if err != nil {
		panic(err) // of constants
	}
	return bson.Raw(doc).Lookup("p").Value
}()

// translate makes a call of a request, and says why if there is none.
func (s *session) translate(req *workload.Request) (call, error) {
	if req.Collection != collection {
		return call{}, fmt.Errorf("a REST service keeps persons and has no collection %q", req.Collection)
	}
	switch req.Verb {
	case workload.Insert:
		return s.insert(req)
	case workload.Find:
		return find(req)
	case workload.Aggregate:
		if !bytes.Equal(req.Pipeline, countStages) {
			return call{}, errors.New("a REST service does no other aggregation than to count all persons")
		}
		return call{method: http.MethodGet, path: "/persons/count", read: readCount}, nil
	}
	return call{}, fmt.Errorf("a REST service adds persons and lists them; it cannot do the request %q", req.Verb)
}

// insert writes documents as canonical Extended JSON: the service stores the types that the workload made.
func (s *session) insert(req *workload.Request) (call, error) {
	s.body.Reset()
	c := call{method: http.MethodPost, path: "/persons", write: true, read: readAdded}
	switch {
	case len(req.Docs) == 0:
		return call{}, errors.New("an insert of no documents")
	case len(req.Docs) > 1 && !req.Unordered:
		return call{}, errors.New("a REST service adds several persons in no order; an ordered batch cannot be sent to it")
	case len(req.Docs) > 1:
		c.path = "/persons/batch"
		s.body.WriteString(`{"persons":[`)
	}
	for i, doc := range req.Docs {
		if i > 0 {
			s.body.WriteByte(',')
		}
		text, err := bson.MarshalExtJSON(bson.Raw(doc), true, false)
		if err != nil {
			return call{}, fmt.Errorf("document %d cannot be written as JSON: %w", i, err)
		}
		s.body.Write(text)
	}
	if len(req.Docs) > 1 {
		s.body.WriteString(`]}`)
	}
	return c, nil
}

// find is a page of all persons, or one by its _id.
func find(req *workload.Request) (call, error) {
	elements, err := bson.Raw(req.Filter).Elements()
	switch {
	case err != nil:
		return call{}, fmt.Errorf("the filter is no document: %w", err)
	case req.Sort != nil:
		return call{}, errors.New("a REST service does not sort")
	case len(elements) == 1 && elements[0].Key() == "_id" && req.Limit == 1 && req.Skip == 0:
		id, ok := elements[0].Value().ObjectIDOK()
		if !ok {
			break
		}
		return call{method: http.MethodGet, path: "/persons/" + id.Hex(), read: readOne}, nil
	case len(elements) == 0 && req.Limit > 0 && req.Limit <= largestPage && req.Skip%req.Limit == 0 &&
		req.Projection == nil:
		path := "/persons?page=" + strconv.FormatInt(req.Skip/req.Limit, 10) + "&size=" + strconv.FormatInt(req.Limit, 10) + "&total=false"
		return call{method: http.MethodGet, path: path, read: readPage}, nil
	}
	return call{}, fmt.Errorf("a REST service finds a person by its _id, or a whole page of up to %d of them; it cannot do this find", largestPage)
}

func readAdded(_ *session, text []byte, req *workload.Request, res *store.Result) error {
	var a struct {
		Outcome string `json:"outcome"`
	}
	// Some services answer an addition with nothing at all; the status says it.
	if len(bytes.TrimSpace(text)) > 0 {
		if err := json.Unmarshal(text, &a); err != nil {
			return err
		}
	}
	if a.Outcome != "" && a.Outcome != store.OK.String() {
		return fmt.Errorf("the status says that it was done, and the outcome %q", a.Outcome)
	}
	res.Docs = len(req.Docs)
	for _, d := range req.Docs {
		res.Bytes += len(d)
	}
	return nil
}

func readOne(s *session, text []byte, req *workload.Request, res *store.Result) error {
	doc, err := document(text)
	if err != nil {
		return err
	}
	if req.Projection != nil { // of what was asked for only the _id is ever looked at
		if id := doc.Lookup("_id"); !id.IsZero() {
			if doc, err = bson.Marshal(bson.D{{Key: "_id", Value: id}}); err != nil {
				return err
			}
		}
	}
	res.Docs, res.Bytes = 1, len(doc)
	s.keep(doc, res)
	return nil
}

func readPage(s *session, text []byte, req *workload.Request, res *store.Result) error {
	var p struct {
		Embedded struct {
			Persons []json.RawMessage `json:"persons"`
		} `json:"_embedded"`
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return err
	}
	if p.Embedded.Persons == nil {
		return errors.New("there is no list _embedded.persons in it")
	}
	for i, one := range p.Embedded.Persons {
		doc, err := document(one)
		if err != nil {
			return err
		}
		if i == 0 {
			s.keep(doc, res)
		}
		res.Docs++
		res.Bytes += len(doc)
	}
	if res.Docs == 0 && !req.MayBeEmpty {
		res.Outcome = store.NotFound
	}
	return nil
}

func readCount(s *session, text []byte, _ *workload.Request, res *store.Result) error {
	var n struct {
		Count *int64 `json:"count"`
	}
	if err := json.Unmarshal(text, &n); err != nil {
		return err
	}
	if n.Count == nil {
		return errors.New("there is no count in it")
	}
	doc := s.countDoc(*n.Count)
	res.Docs, res.Bytes = 1, len(doc)
	s.keep(doc, res)
	return nil
}

// document makes BSON of a document in Extended JSON.
func document(text []byte) (bson.Raw, error) {
	var d bson.D
	if err := bson.UnmarshalExtJSON(text, false, &d); err != nil {
		return nil, err
	}
	return bson.Marshal(d)
}
