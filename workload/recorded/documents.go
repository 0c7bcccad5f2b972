package recorded

import (
	"maps"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// mostFields is how many names one level of documents may have. More are data in the place of names.
const mostFields = 200

// Documents describes a sample of the documents of a collection.
type Documents struct {
	Options
	N    int64
	Size Range
	Root Level

	synthetic bool // made of the fields of filters and updates
}

// Level describes the fields of documents on one level.
type Level struct {
	Fields map[string]*Field
	Order  []string // of first occurrence
	Beyond int64    // fields beyond mostFields
	Refs   map[reference]int64
}

// reference is the collection that a DBRef names, with its database if it names one.
type reference struct{ collection, database string }

// Field describes one field.
type Field struct {
	Present int64
	Values  Values
	Level   *Level // of embedded documents
	Element *Field // of arrays
	Places  *Places
	Kind    string // in the notation of $queryStats, where no values were shown
}

// Add describes one more document.
func (d *Documents) Add(doc bson.Raw, at time.Time) {
	if doc.Validate() != nil {
		return
	}
	d.N++
	d.Size.add(float64(len(doc)))
	d.Root.add(doc, d.Options, at, 0)
}

// mostDepth is the deepest level of a document of MongoDB.
const mostDepth = 100

func (l *Level) add(doc bson.Raw, o Options, at time.Time, depth int) {
	if l.Fields == nil {
		l.Fields = map[string]*Field{}
	}
	if depth > mostDepth {
		return
	}
	if ref, ok := dbRef(doc); ok {
		if l.Refs == nil {
			l.Refs = map[reference]int64{}
		}
		if _, known := l.Refs[ref]; known || len(l.Refs) < fewValues {
			l.Refs[ref]++
		}
	}
	for _, e := range elementsOf(doc) {
		name := o.Names.part(e.Key())
		f := l.Fields[name]
		if f == nil {
			if len(l.Fields) >= mostFields {
				l.Beyond++
				continue
			}
			f = &Field{}
			l.Fields[name] = f
			l.Order = append(l.Order, name)
		}
		f.add(e.Value(), o, at, depth)
	}
}

func (f *Field) add(v bson.RawValue, o Options, at time.Time, depth int) {
	f.Present++
	f.Values.add(v, at, o.Values)
	switch v.Type {
	case bson.TypeEmbeddedDocument:
		if kind, coordinates, ok := geoJSON(v); ok {
			f.place(kind, coordinates)
		}
		if f.Level == nil {
			f.Level = &Level{}
		}
		f.Level.add(v.Document(), o, at, depth+1)
	case bson.TypeArray:
		if f.Element == nil {
			f.Element = &Field{}
		}
		elements, _ := v.Array().Values()
		for _, e := range elements[:min(len(elements), 100)] {
			f.Element.add(e, o, at, depth+1)
		}
	}
}

func (f *Field) place(kind string, coordinates bson.RawArray) {
	if f.Places == nil {
		f.Places = &Places{}
	}
	f.Places.add(kind, coordinates)
}

// dbRef returns what a DBRef refers to. Its first fields are $ref and $id.
func dbRef(doc bson.Raw) (reference, bool) {
	elements := elementsOf(doc)
	if len(elements) < 2 || elements[0].Key() != "$ref" || elements[1].Key() != "$id" {
		return reference{}, false
	}
	var r reference
	r.collection, _ = elements[0].Value().StringValueOK()
	r.database, _ = doc.Lookup("$db").StringValueOK()
	return r, r.collection != ""
}

// merge adds the description of other values of the same field.
func (f *Field) merge(o *Field) {
	f.Present += o.Present
	f.Values.merge(&o.Values)
	if f.Kind == "" {
		f.Kind = o.Kind
	}
	if f.Places == nil {
		f.Places = o.Places
	}
	if f.Level == nil {
		f.Level = o.Level
	}
	if o.Element != nil {
		if f.Element == nil {
			f.Element = &Field{}
		}
		f.Element.merge(o.Element)
	}
}

// At returns the field at a path, nil if the sample has none. Elements of arrays are found with or without their index.
func (d *Documents) At(path string) *Field {
	if d == nil {
		return nil
	}
	l := &d.Root
	var f *Field
	for part := range strings.SplitSeq(path, ".") {
		if f != nil && f.Element != nil && l == nil {
			f, l = f.Element, f.Element.Level
			if strings.Trim(part, "0123456789") == "" || strings.HasPrefix(part, "$") {
				continue
			}
		}
		if l == nil || l.Fields[part] == nil {
			return nil
		}
		f = l.Fields[part]
		l = f.Level
	}
	return f
}

// Collection is what a deployment says of one collection.
type Collection struct {
	Database, Name string
	Documents      *Documents // of the sample
	New            *Documents // of those that were inserted last; nil where inserts show their documents
	Count          int64
	Indexes        []bson.Raw
	ShardKey       bson.Raw         // as a mongos shows it; nil without one
	Used           map[string]int64 // operations by index, from $indexStats
	Options        bson.Raw         // as listCollections has them; nil where they are not known
	Unseen         []string         // what could not be read, and why
}

// names returns the names on a level in their order, _id first.
func (l *Level) names() []string {
	if l == nil {
		return nil
	}
	out := slices.Clone(l.Order)
	if i := slices.Index(out, "_id"); i > 0 {
		out = slices.Insert(slices.Delete(out, i, i+1), 0, "_id")
	}
	return out
}

// sortedTypes returns the types of values, the most frequent first.
func (v *Values) sortedTypes() []bson.Type {
	return slices.SortedFunc(maps.Keys(v.Types), func(a, b bson.Type) int {
		if v.Types[a] != v.Types[b] {
			return int(v.Types[b] - v.Types[a])
		}
		return int(a) - int(b)
	})
}
