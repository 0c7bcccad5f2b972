package recorded

import (
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/workload/own"
)

// InsertedCount is the number of documents that operations inserted into a collection.
func (m *Model) InsertedCount(db, coll string) (n int64) {
	for _, s := range m.shapes {
		if s.Database == db && s.Collection == coll && s.Verb == "insert" {
			n += max(s.Docs, s.Count)
		}
	}
	return n
}

// RemovedCount is the number of documents that operations removed from a collection.
func (m *Model) RemovedCount(db, coll string) (n int64) {
	for _, s := range m.shapes {
		remove, _ := valueOf(s.Tree, "remove").(bool)
		if s.Database == db && s.Collection == coll && (s.Verb == "delete" || remove) {
			n += s.Docs
		}
	}
	return n
}

// inserted makes the template of the documents that operations insert, if these are others than those of the
// collection.
func (w *writer) inserted(o *own.Operation, c *Collection) {
	of := w.m.Inserted(c.Database, c.Name)
	if of == nil || of.N == 0 {
		of = c.New
	}
	stored := c.Documents
	if of == nil || of.N == 0 || of == stored || stored.synthetic || !differ(of, stored) {
		return
	}
	doc := bson.D{}
	for _, name := range of.Root.names() {
		if name == "_id" {
			continue
		}
		f, like := of.Root.Fields[name], stored.At(name)
		var v any
		switch l := labelsAt(stored, name); {
		case l != nil && !f.Values.more:
			v = l.choose(&f.Values)
		case like != nil && like.Values.Count() > 0 && like.Values.Type() == f.Values.Type():
			v = w.field(c, name, like)
		default:
			v = w.field(c, name, f)
		}
		doc = append(doc, bson.E{Key: name, Value: present(v, f.Present, of.N)})
	}
	o.Document = own.TemplateOf(doc)
}

// labelsAt returns the labels of a field, nil if it has none.
func labelsAt(d *Documents, name string) *labels {
	if f := d.At(name); f != nil {
		return f.Values.labels()
	}
	return nil
}

// differ reports whether fields on the top level are in more or fewer documents, or have other values of few ones.
func differ(a, b *Documents) bool {
	const much = 0.1
	share := func(d *Documents, name string) float64 {
		f := d.Root.Fields[name]
		if f == nil {
			return 0
		}
		return float64(f.Present) / float64(max(d.N, 1))
	}
	for _, d := range []*Documents{a, b} {
		for name := range d.Root.Fields {
			if math.Abs(share(a, name)-share(b, name)) > much {
				return true
			}
		}
	}
	for name, f := range a.Root.Fields {
		l := labelsAt(b, name)
		if l == nil || f.Values.more {
			continue
		}
		apart, known := 0.0, 0.0
		for _, e := range f.Values.examples {
			mine, other := float64(e.n)/float64(max(f.Present, 1)), 0.0
			for _, v := range l.values {
				if sameValue(v.value, e.value) {
					other = float64(v.n) / float64(max(l.all, 1))
				}
			}
			known += other
			apart += math.Abs(mine - other)
		}
		if (apart+1-known)/2 > 2*much {
			return true
		}
	}
	return false
}
