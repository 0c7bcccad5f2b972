package recorded

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/workload"
)

// counting are the stages with which drivers count documents.
var counting = bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: 1}, {Key: "n", Value: bson.D{{Key: "$sum", Value: 1}}}}}}

// requestOf makes a request of a recorded command. Finding nothing is a proper answer, because data may be others.
func requestOf(cmd bson.Raw, concerns map[string]*workload.Concern) (workload.Request, error) {
	r := workload.Request{Class: workload.NoClass, MayBeEmpty: true}
	elements, err := cmd.Elements()
	if err != nil || len(elements) == 0 {
		return r, Damaged
	}
	r.Collection, _ = elements[0].Value().StringValueOK()
	document := func(name string) []byte {
		doc, _ := cmd.Lookup(name).DocumentOK()
		return doc
	}
	filter := document("filter")
	if filter == nil {
		filter = document("query")
	}
	if filter == nil {
		filter = bson.Raw("\x05\x00\x00\x00\x00")
	}
	r.Filter, r.Projection, r.Sort = filter, document("projection"), document("sort")
	pipeline, _ := cmd.Lookup("pipeline").ArrayOK()
	r.Out = elements[0].Key() == "aggregate" && workload.Outputs(pipeline)
	r.Collation, r.Concern = document("collation"), concernOf(cmd, r.Out, concerns)
	if v, err := cmd.LookupErr("hint"); err == nil {
		r.Hint = workload.Value{Kind: byte(v.Type), Data: v.Value}
	}
	r.Skip, r.Limit = number(cmd, "skip"), max(number(cmd, "limit"), -number(cmd, "limit"))
	if ordered, ok := cmd.Lookup("ordered").BooleanOK(); ok {
		r.Unordered = !ordered
	}
	switch elements[0].Key() {
	case "find":
		r.Verb = workload.Find
	case "distinct":
		r.Verb = workload.Distinct
		r.Key, _ = cmd.Lookup("key").StringValueOK()
	case "aggregate":
		r.Verb = workload.Aggregate
		r.Pipeline = pipeline
	case "count":
		r.Verb = workload.Aggregate
		r.Pipeline, err = pipelineOf(r.Filter)
	case "insert":
		r.Verb = workload.Insert
		err = eachDocument(cmd, "documents", func(doc bson.Raw) { r.Docs = append(r.Docs, doc) })
	case "update":
		r.Verb = workload.Update
		err = eachDocument(cmd, "updates", func(doc bson.Raw) { r.Updates = append(r.Updates, statementOf(doc, "q", "u")) })
	case "delete":
		r.Verb = workload.Delete
		err = eachDocument(cmd, "deletes", func(doc bson.Raw) { r.Updates = append(r.Updates, statementOf(doc, "q", "u")) })
	case "findAndModify":
		r.Verb = workload.FindAndModify
		r.Projection = document("fields")
		r.Updates = []workload.Statement{statementOf(cmd, "query", "update")}
		r.Remove, _ = cmd.Lookup("remove").BooleanOK()
		r.New, _ = cmd.Lookup("new").BooleanOK()
	default:
		err = fmt.Errorf("a recording has the command %q", elements[0].Key())
	}
	return r, err
}

// pipelineOf counts the documents that match a filter.
func pipelineOf(filter []byte) ([]byte, error) {
	doc, err := bson.Marshal(bson.D{{Key: "p", Value: bson.A{bson.D{{Key: "$match", Value: bson.Raw(filter)}}, counting}}})
	return bson.Raw(doc).Lookup("p").Value, err
}

// statementOf makes a statement of its document.
func statementOf(doc bson.Raw, filter, update string) workload.Statement {
	var s workload.Statement
	s.Filter = bson.Raw("\x05\x00\x00\x00\x00")
	if q, ok := doc.Lookup(filter).DocumentOK(); ok {
		s.Filter = q
	}
	u := doc.Lookup(update)
	s.Update, s.Stages = u.Value, u.Type == bson.TypeArray
	s.Upsert, _ = doc.Lookup("upsert").BooleanOK()
	s.Many, _ = doc.Lookup("multi").BooleanOK()
	if limit, err := doc.LookupErr("limit"); err == nil && update == "u" {
		n, _ := limit.AsInt64OK()
		s.Many = n == 0
	}
	if filters, ok := doc.Lookup("arrayFilters").ArrayOK(); ok {
		s.ArrayFilters = filters
	}
	return s
}

// eachDocument calls each with the documents of an array, of which there must be one.
func eachDocument(cmd bson.Raw, name string, each func(bson.Raw)) error {
	array, ok := cmd.Lookup(name).ArrayOK()
	if !ok {
		return Damaged
	}
	values, err := array.Values()
	if err != nil || len(values) == 0 {
		return Damaged
	}
	for _, v := range values {
		doc, ok := v.DocumentOK()
		if !ok {
			return Damaged
		}
		each(doc)
	}
	return nil
}

// concernOf returns the concerns of a command, always the same pointer for the same concerns; nil for those of the run.
func concernOf(cmd bson.Raw, out bool, known map[string]*workload.Concern) *workload.Concern {
	var c workload.Concern
	c.Read, _ = cmd.Lookup("readConcern", "level").StringValueOK()
	c.Preference, _ = cmd.Lookup("$readPreference", "mode").StringValueOK()
	if w, err := cmd.LookupErr("writeConcern", "w"); err == nil {
		c.W = fmt.Sprint(plainValue(w))
	}
	if out {
		c.Preference = "primary"
	}
	key := fmt.Sprint(c.Read, "/", c.Preference, "/", c.W)
	if j, ok := cmd.Lookup("writeConcern", "j").BooleanOK(); ok {
		c.Journal = &j
		key += fmt.Sprint("/", j)
	}
	if c == (workload.Concern{}) {
		return nil
	}
	if known[key] == nil {
		known[key] = &c
	}
	return known[key]
}
