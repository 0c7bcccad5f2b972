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
	case workload.Distinct:
		add("key", r.Key)
		doc("query", r.Filter)
	case workload.Aggregate, workload.Watch:
		add("pipeline", bsoncore.Array(r.Pipeline))
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
			list = append(list, statementOf(&r.Updates[i], r.Verb))
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
	case workload.Commit, workload.Abort:
		d[0].Value = 1
	}
	if r.Hint.Kind != 0 {
		add("hint", bson.RawValue{Type: bson.Type(r.Hint.Kind), Value: r.Hint.Data})
	}
	doc("collation", r.Collation)
	if k := r.Concern; k != nil {
		d = append(d, concernOf(k)...)
	}
	return d
}

func concernOf(k *workload.Concern) bson.D {
	var d bson.D
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

func statementOf(u *workload.Statement, verb workload.Verb) bson.D {
	d := bson.D{{Key: "q", Value: bson.Raw(u.Filter)}}
	if verb == workload.Delete {
		limit := 1
		if u.Many {
			limit = 0
		}
		return append(d, bson.E{Key: "limit", Value: limit})
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
	return d
}

// Sample is one operation as it would be sent.
type Sample struct {
	Class    string
	Think    string // pause before it, "" for none
	Commands []bson.D
}

// Sample returns the next n operations of a new virtual user. Answers are empty, because no database is asked: requests
// that depend on them have null there.
func (p *Plan) Sample(n int) []Sample {
	s := p.Stream(len(p.readers), len(p.readers)+1)
	var list []Sample
	for range n {
		list = append(list, p.sampleOne(s))
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
	listener, _ := s.(workload.Listener)
	for i := range op.Requests {
		one.Commands = append(one.Commands, clone(Command(&op.Requests[i])))
		if listener != nil && listener.Listens(&op, i) {
			listener.Answer(&op, i, nil)
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
	p.visit(func(s *stream) { list = append(list, p.sampleOne(s)) })
	return list
}

// Examples implements [workload.Exemplar].
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
