package own

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// Access is how often the operations of a plan request single documents of a collection, and how they choose them.
type Access struct {
	Collection string
	// Keys is the chooser: uniform, zipf, latest, hotspot or sequential, with its parameters. It is [NewKeys] for inserted
	// documents.
	Keys            string
	Theta, Hot, Hit float64
	// Documents is the mean number of documents of an operation.
	Documents float64
	// Lookups is the mean number of searches of an operation in an index other than that of _id, which Found describes.
	Lookups float64
	Found   *Found
}

// Found describes documents that an index finds.
type Found struct {
	By      string  // the fields of the index
	Entry   float64 // bytes of an entry of a document in the index
	Largest float64 // the most documents that one search reads
	// Groups have the share of the documents of the collection that are requested about equally often, and their share
	// of all that searches read. The most popular are first; what is never read is not among them.
	Groups []Group
}

// Group is a part of the documents of a collection.
type Group struct{ Documents, Requests float64 }

// NewKeys is the chooser of an [Access] that inserts.
const NewKeys = "new"

// Accesses returns the documents that operations request by _id, those that they find by equality on the first fields
// of an index, and those that they insert. by are the operations that find their documents in another way, with that
// way in words, such as "search finds documents by $text".
func (p *Plan) Accesses() (list []Access, by []string) {
	a := &accesses{p: p}
	all := 0.0
	for i, o := range p.ops {
		weight := p.file.weightOf(o)
		if weight == 0 {
			continue
		}
		steps := o.sequence
		if len(steps) == 0 {
			steps = []*operation{p.ops[i]}
		}
		for _, s := range steps {
			all += weight
			a.operation(s, weight, o.lets)
		}
	}
	for i := range a.list {
		a.list[i].Documents /= all
		a.list[i].Lookups /= all
	}
	return a.list, a.by
}

// weightOf is the weight of an operation of the file. A single one needs none.
func (f *File) weightOf(o *operation) float64 {
	if o.of.Weight == 0 && len(f.Operations) == 1 {
		return 1
	}
	return o.of.Weight
}

type accesses struct {
	p    *Plan
	list []Access
	by   []string
}

func (a *accesses) add(x Access) {
	for i := range a.list {
		same := a.list[i]
		if same.Documents, same.Lookups = x.Documents, x.Lookups; same == x {
			a.list[i].Documents += x.Documents
			a.list[i].Lookups += x.Lookups
			return
		}
	}
	a.list = append(a.list, x)
}

func (a *accesses) otherwise(o *operation, how string) {
	text := a.p.classes[o.class].Name + " " + how
	if !slices.Contains(a.by, text) {
		a.by = append(a.by, text)
	}
}

// operation adds the documents of an operation. lets are the variables of the sequence around it.
func (a *accesses) operation(o *operation, weight float64, lets []let) {
	lets = append(slices.Clone(lets), o.lets...)
	for _, s := range o.steps {
		for _, in := range s.inserts {
			a.add(Access{Collection: s.collection.name, Keys: NewKeys, Documents: weight * float64(in.times)})
		}
		switch verb := s.request.Verb; verb {
		case workload.Find:
			a.filter(o, s, s.filter, s.request.Filter, weight, lets)
		case workload.Update, workload.Delete, workload.FindAndModify:
			for _, u := range s.statements {
				a.filter(o, s, u.filter, u.of.Filter, weight, lets)
			}
		case workload.Aggregate, workload.Distinct:
			a.many(o, s, weight, lets)
		case workload.Watch: // the oplog, which is in memory because it was just written
		case workload.Insert, workload.Commit:
		default:
			a.otherwise(o, "runs "+verb.String()+" on many documents")
		}
	}
}

// filter adds the document that a filter selects by its _id.
func (a *accesses) filter(o *operation, s *step, filter value, fixed []byte, weight float64, lets []let) {
	d, _ := filter.(*document)
	if d == nil {
		if _, err := bsoncore.Document(fixed).LookupErr("_id"); err != nil {
			a.byIndex(o, s, filter, fixed, weight, lets)
		}
		return // always the same document, which stays in the cache
	}
	var names []string
	for _, seg := range d.segments {
		if seg.value == nil {
			body := seg.literal
			for len(body) > 0 {
				name, _, size := rawbson.Next(body)
				if size == 0 {
					break
				}
				names, body = append(names, string(name)), body[size:]
			}
			continue
		}
		name := string(seg.header[1 : len(seg.header)-1])
		if name != "_id" {
			names = append(names, name)
			continue
		}
		of := seg.value
		if v, ok := of.(variablePath); ok && len(v.path) == 0 {
			for _, l := range lets {
				if l.variable == v.number {
					of = l.value
				}
			}
		}
		if ref, ok := of.(referenceValue); ok {
			k := a.p.choices[ref.keys]
			a.add(Access{Collection: s.collection.name, Keys: k.kind, Theta: k.theta, Hot: k.hot, Hit: k.choice,
				Documents: weight})
			return
		}
		a.otherwise(o, "takes the _id from "+sourceOf(seg.value))
		return
	}
	if slices.Contains(names, "_id") {
		return
	}
	a.byIndex(o, s, filter, fixed, weight, lets)
}

// byIndex adds the documents that a filter finds by another field than _id. Changes may move a document to other
// values, so they have no model.
func (a *accesses) byIndex(o *operation, s *step, filter value, fixed []byte, weight float64, lets []let) {
	if s.request.Verb == workload.Find {
		a.many(o, s, weight, lets)
		return
	}
	fields, why := equalities(filter, fixed, lets)
	if why == "" {
		why = "changes documents that it finds by " + fields[0]
	}
	a.otherwise(o, why)
}

// sourceOf words where an _id comes from that no reference chooses.
func sourceOf(v value) string {
	switch v.(type) {
	case variablePath:
		return "an earlier answer"
	case *document:
		return "a range or a list"
	}
	return "another generator than a reference"
}

// Stored is what the documents of a collection take, as means of a sample, in bytes of BSON.
type Stored struct {
	Collection string
	Records    int64
	Document   float64
	Indexes    float64 // keys of all secondary indexes, for one document
}

// Stored samples the documents of the load phase.
func (p *Plan) Stored() (list []Stored) {
	const sample = 100
	e := p.newEnv(0, 1)
	for _, k := range p.collections {
		s := Stored{Collection: k.name, Records: k.set.Loaded()}
		n := min(max(s.Records, 1), sample)
		for i := range n {
			doc := k.append(nil, e, i*max(s.Records/n, 1))
			s.Document += float64(len(doc)) / float64(n)
			for _, x := range p.indexes {
				if x.Collection == k.name {
					s.Indexes += float64(keyBytes(doc, x.Keys)) / float64(n)
				}
			}
		}
		list = append(list, s)
	}
	return list
}

// entryBytes is what an entry of an index has besides its key: the number of the record and the headers of its cell.
const entryBytes = 12

// keyBytes is the size of the entries of a document in an index: one for each element of an array.
func keyBytes(doc, keys []byte) (n int64) {
	entries := int64(1)
	fields, _ := bsoncore.Document(keys).Elements()
	for _, f := range fields {
		v, err := bsoncore.Document(doc).LookupErr(strings.Split(f.Key(), ".")...)
		if err != nil {
			n++
			continue
		}
		if list, ok := v.ArrayOK(); ok {
			elements, _ := list.Values()
			entries = max(entries, int64(len(elements)))
		}
		n += int64(len(v.Data))
	}
	return n + entries*entryBytes
}

// Writing reports whether a class of operations writes.
func (p *Plan) Writing(class string) bool {
	var writes func(list []*operation) bool
	writes = func(list []*operation) bool {
		return slices.ContainsFunc(list, func(o *operation) bool {
			if len(o.sequence) > 0 {
				return writes(o.sequence)
			}
			changes := func(s *step) bool { return s.request.Writes() }
			return p.classes[o.class].Name == class && slices.ContainsFunc(o.steps, changes)
		})
	}
	return writes(p.ops)
}
