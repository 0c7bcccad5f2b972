package own

import (
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/workload"
)

// Command returns a request as the document of its command, for people. It has what the workload decides; a client adds
// the session, the database and the concerns of the run.
func Command(r *workload.Request) bson.D {
	d := bson.D{{Key: r.Verb.String(), Value: r.Collection}}
	add := func(key string, v any) { d = append(d, bson.E{Key: key, Value: v}) }
	doc := func(key string, b []byte) {
		if b != nil {
			add(key, bson.Raw(b))
		}
	}
	switch r.Verb {
	case workload.Find:
		doc("filter", r.Filter)
		doc("projection", r.Projection)
		doc("sort", r.Sort)
		if r.Skip > 0 {
			add("skip", r.Skip)
		}
		if r.Limit > 0 {
			add("limit", r.Limit)
		}
		if r.Limit == 1 {
			add("singleBatch", true)
		}
	case workload.Distinct:
		add("key", r.Key)
		doc("query", r.Filter)
	case workload.Aggregate:
		add("pipeline", bsoncore.Array(r.Pipeline))
	case workload.Watch:
		d[0].Key = "aggregate"
		add("pipeline", changeStream(r))
	case workload.Insert:
		var docs bson.A
		for _, b := range r.Docs {
			docs = append(docs, bson.Raw(b))
		}
		add("documents", docs)
		add("ordered", !r.Unordered)
	case workload.Update, workload.Delete:
		var list bson.A
		for i := range r.Updates {
			list = append(list, statementOf(r, &r.Updates[i]))
		}
		add(map[workload.Verb]string{workload.Update: "updates", workload.Delete: "deletes"}[r.Verb], list)
		add("ordered", !r.Unordered)
	case workload.FindAndModify:
		u := &r.Updates[0]
		doc("query", u.Filter)
		doc("sort", r.Sort)
		if r.Remove {
			add("remove", true)
		} else {
			add("update", change(u))
		}
		if r.New {
			add("new", true)
		}
		if u.Upsert {
			add("upsert", true)
		}
		doc("fields", r.Projection)
		if u.ArrayFilters != nil {
			add("arrayFilters", bsoncore.Array(u.ArrayFilters))
		}
	case workload.Commit, workload.Abort:
		d[0].Value = 1
	}
	if r.Verb != workload.Update && r.Verb != workload.Delete {
		d = appendChoice(d, r)
	}
	if r.Starts {
		add("startTransaction", true)
	}
	if r.Within {
		add("autocommit", false)
	}
	if r.Concern != nil {
		d = append(d, concernOf(r)...)
	}
	return d
}

// changeStream returns the pipeline that opens a change stream.
func changeStream(r *workload.Request) bson.A {
	options := bson.D{}
	if r.FullDocument != "" {
		options = append(options, bson.E{Key: "fullDocument", Value: r.FullDocument})
	}
	stages := bson.A{bson.D{{Key: "$changeStream", Value: options}}}
	values, _ := bsoncore.Array(r.Pipeline).Values()
	for _, v := range values {
		stages = append(stages, v.Document())
	}
	return stages
}

// appendChoice appends the index to use and the comparison of texts.
func appendChoice(d bson.D, r *workload.Request) bson.D {
	if r.Hint.Kind != 0 {
		d = append(d, bson.E{Key: "hint", Value: bson.RawValue{Type: bson.Type(r.Hint.Kind), Value: r.Hint.Data}})
	}
	if r.Collation != nil {
		d = append(d, bson.E{Key: "collation", Value: bson.Raw(r.Collation)})
	}
	return d
}

// concernOf returns the concerns of a command. In a transaction, only its first command has a read concern and only its
// end a write concern.
func concernOf(r *workload.Request) bson.D {
	var d bson.D
	k := *r.Concern
	ends := r.Verb == workload.Commit || r.Verb == workload.Abort
	if r.Within || ends {
		k.Preference = ""
	}
	if ends || r.Within && !r.Starts || r.Verb.Writes() && !r.Within {
		k.Read = ""
	}
	if r.Within || !r.Writes() {
		k.W, k.Journal = "", nil
	}
	if k.Read != "" {
		d = append(d, bson.E{Key: "readConcern", Value: bson.D{{Key: "level", Value: k.Read}}})
	}
	if k.Preference != "" {
		d = append(d, bson.E{Key: "$readPreference", Value: bson.D{{Key: "mode", Value: k.Preference}}})
	}
	var w bson.D
	if n, err := strconv.Atoi(k.W); err == nil {
		w = append(w, bson.E{Key: "w", Value: n})
	} else if k.W != "" {
		w = append(w, bson.E{Key: "w", Value: k.W})
	}
	if k.Journal != nil {
		w = append(w, bson.E{Key: "j", Value: *k.Journal})
	}
	if w != nil {
		d = append(d, bson.E{Key: "writeConcern", Value: w})
	}
	return d
}

func change(u *workload.Statement) any {
	if u.Stages {
		return bsoncore.Array(u.Update)
	}
	return bson.Raw(u.Update)
}

func statementOf(r *workload.Request, u *workload.Statement) bson.D {
	d := bson.D{{Key: "q", Value: bson.Raw(u.Filter)}}
	if r.Verb == workload.Delete {
		limit := 1
		if u.Many {
			limit = 0
		}
		return appendChoice(append(d, bson.E{Key: "limit", Value: limit}), r)
	}
	d = append(d, bson.E{Key: "u", Value: change(u)})
	if u.Upsert {
		d = append(d, bson.E{Key: "upsert", Value: true})
	}
	if u.Many {
		d = append(d, bson.E{Key: "multi", Value: true})
	}
	if u.ArrayFilters != nil {
		d = append(d, bson.E{Key: "arrayFilters", Value: bsoncore.Array(u.ArrayFilters)})
	}
	return appendChoice(d, r)
}

// Sample is one operation as it would be sent.
type Sample struct {
	Class    string
	Think    string // pause before it, "" for none
	Commands []SampledCommand
}

// SampledCommand is a command. Of a long batch it has the first documents or statements.
type SampledCommand struct {
	Command bson.D
	Omitted int // further documents or statements
}

// mostSampled is how many documents or statements of a batch are in a sample.
const mostSampled = 3

func sampled(r *workload.Request) SampledCommand {
	short := *r
	short.Docs, short.Updates = r.Docs[:min(len(r.Docs), mostSampled)], r.Updates[:min(len(r.Updates), mostSampled)]
	return SampledCommand{clone(Command(&short)), len(r.Docs) - len(short.Docs) + len(r.Updates) - len(short.Updates)}
}

// Sample returns the next n operations of a new virtual user. Answers are empty, because no database is asked: requests
// that depend on them have the variable there, as the file has it.
func (p *Plan) Sample(n int) []Sample {
	s := p.stream(len(p.readers), len(p.readers)+1)
	s.e.named = true
	var list []Sample
	for range n {
		list = append(list, p.sampleOne(s.functions()))
	}
	return list
}

func (p *Plan) sampleOne(s workload.Stream) Sample {
	var op workload.Op
	s.Next(&op)
	one := Sample{Class: p.classes[op.Class].Name}
	if op.Think > 0 {
		one.Think = op.Think.String()
	}
	for i := range op.Requests {
		one.Commands = append(one.Commands, sampled(&op.Requests[i]))
		if s.Listens(&op, i) {
			s.Answer(&op, i, nil)
		}
	}
	s.Done(&op, true)
	return one
}

// clone copies a command, whose parts are valid until the next operation.
func clone(d bson.D) bson.D {
	b, err := bson.Marshal(d)
	if err != nil {
		return d
	}
	var out bson.D
	if bson.Unmarshal(b, &out) != nil {
		return d
	}
	return out
}

// Each returns one operation of each kind, in the order of the file.
func (p *Plan) Each() []Sample {
	var list []Sample
	p.visit(func(s *stream) {
		s.e.named = true
		list = append(list, p.sampleOne(s.functions()))
	})
	return list
}

func (p *Plan) Examples() []workload.Example {
	var list []workload.Example
	p.visit(func(s *stream) {
		var op workload.Op
		s.Next(&op)
		for i := range op.Requests {
			if s.Listens(&op, i) {
				s.Answer(&op, i, nil)
			}
		}
		list = append(list, workload.Example{Class: p.classes[op.Class].Name, Requests: op.Requests})
	})
	return list
}

// visit calls do with a stream for each kind of operation, which returns that kind next.
func (p *Plan) visit(do func(s *stream)) {
	s := &stream{p: p, e: p.newEnv(0, 1)}
	var visit func(k *opened)
	visit = func(k *opened) {
		for i := range k.lets {
			s.set(&k.lets[i])
		}
		for _, in := range k.steps {
			visit(in)
		}
		if len(k.steps) == 0 {
			s.reader = k
			do(s)
		}
	}
	for _, o := range p.ops {
		visit(s.open(o))
	}
	for i, o := range p.readers {
		if i == 0 || o != p.readers[i-1] {
			visit(s.open(o))
		}
	}
}

// Document returns a document of the load phase of a collection, or one that the run would insert, by its number.
func (p *Plan) Document(collection string, n int64) bson.Raw {
	e := p.newEnv(0, 1)
	for _, k := range p.collections {
		if k.name == collection && !k.of.Document.IsZero() {
			return k.append(nil, e, n)
		}
	}
	return nil
}

// Content is what the load phase inserts into a collection.
type Content struct {
	Name                string
	Documents, MeanSize int64
}

// Contents returns the collections with the mean size of up to 100 of their documents.
func (p *Plan) Contents() []Content {
	var list []Content
	e := p.newEnv(0, 1)
	for _, k := range p.collections {
		c := Content{Name: k.name, Documents: k.set.Loaded()}
		n := min(c.Documents, 100)
		var buf []byte
		for i := range n {
			buf = k.append(buf, e, i*(c.Documents/n))
		}
		c.MeanSize = int64(len(buf)) / max(n, 1)
		list = append(list, c)
	}
	return list
}

// Share is the part of all choices that are an operation or a sequence.
type Share struct {
	Name  string
	Share float64
}

// Shares returns the operations of the file with their parts of all weights.
func (p *Plan) Shares() []Share {
	total := 0.0
	for _, o := range p.ops {
		total += o.of.Weight
	}
	var list []Share
	for _, o := range p.ops {
		s := Share{Name: o.of.Class(), Share: 1}
		if total > 0 {
			s.Share = o.of.Weight / total
		}
		list = append(list, s)
	}
	return list
}
