package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// largestPage is the largest page of persons.
const largestPage = 1000

// countStages is the only aggregation that a service supports: the count of all persons.
var countStages = func() []byte {
	doc, err := bson.Marshal(bson.D{{Key: "p", Value: bson.A{
		bson.D{{Key: "$match", Value: bson.D{}}},
		bson.D{{Key: "$group", Value: bson.D{
			{Key: "_id", Value: int32(1)}, {Key: "n", Value: bson.D{{Key: "$sum", Value: int32(1)}}},
		}}},
	}}})
	if err != nil {
		panic(err) // impossible for constants
	}
	return bson.Raw(doc).Lookup("p").Value
}()

// translate makes the call for a request. It fails if the service does not support the request.
func (s *session) translate(req *workload.Request) (call, error) {
	if req.Collection != collection {
		return call{}, fmt.Errorf("a REST service has persons only, and no collection %q", req.Collection)
	}
	switch req.Verb {
	case workload.Insert:
		return s.insert(req)
	case workload.Find:
		return find(req)
	case workload.Aggregate:
		if !bytes.Equal(req.Pipeline, countStages) {
			return call{}, errors.New("a REST service supports no aggregation but the count of all persons")
		}
		return call{method: http.MethodGet, path: "/persons/count", read: readCount}, nil
	}
	return call{}, fmt.Errorf("a REST service adds and lists persons; it does not support the request %q", req.Verb)
}

// insert writes documents as canonical Extended JSON, so that the service stores the types of the workload.
func (s *session) insert(req *workload.Request) (call, error) {
	s.body.Reset()
	c := call{method: http.MethodPost, path: "/persons", write: true, read: readAdded}
	switch {
	case len(req.Docs) == 0:
		return call{}, errors.New("an insert of no documents")
	case len(req.Docs) > 1 && !req.Unordered:
		return call{}, errors.New("a REST service adds several persons in any order; it does not support an ordered batch")
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
			return call{}, fmt.Errorf("write document %d as JSON: %w", i, err)
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
		return call{}, fmt.Errorf("the filter is not a document: %w", err)
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
		path := fmt.Sprintf("/persons?page=%d&size=%d&total=false", req.Skip/req.Limit, req.Limit)
		return call{method: http.MethodGet, path: path, read: readPage}, nil
	}
	return call{}, fmt.Errorf("a REST service finds a person by its _id, or a page of up to %d persons; "+
		"it does not support this find", largestPage)
}

func readAdded(_ *session, text []byte, req *workload.Request, res *store.Result) error {
	var a struct {
		Outcome string `json:"outcome"`
	}
	// Some services send an empty reply to an addition.
	if len(bytes.TrimSpace(text)) > 0 {
		if err := json.Unmarshal(text, &a); err != nil {
			return err
		}
	}
	if a.Outcome != "" && a.Outcome != store.OK.String() {
		return fmt.Errorf("the status is a success, but the outcome is %q", a.Outcome)
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
	if req.Projection != nil { // workloads project to the _id only
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
		return errors.New("it has no list _embedded.persons")
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
		return errors.New("it has no count")
	}
	doc := bson.Raw(bsoncore.NewDocumentBuilder().AppendInt32("_id", 1).AppendInt64("n", *n.Count).Build())
	res.Docs, res.Bytes = 1, len(doc)
	s.keep(doc, res)
	return nil
}

// document parses Extended JSON.
func document(text []byte) (bson.Raw, error) {
	var d bson.D
	if err := bson.UnmarshalExtJSON(text, false, &d); err != nil {
		return nil, err
	}
	return bson.Marshal(d)
}
