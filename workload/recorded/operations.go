package recorded

import (
	"fmt"
	"math"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/workload/own"
)

// filler replaces the holes of a shape by generators.
type filler struct {
	w    *writer
	s    *Shape
	c    *Collection
	sure bool // every filter finds something
	own  bool // values are those of the operation, whatever documents have
}

// operation makes an operation of a shape; false if the language has none for it.
func (w *writer) operation(s *Shape) (own.Operation, bool) {
	f := &filler{w: w, s: s, c: w.byName[s.Collection], sure: true}
	o := own.Operation{Weight: float64(s.Count)}
	get := func(key string) any {
		for _, e := range s.Tree {
			if e.Key == key {
				return e.Value
			}
		}
		return nil
	}
	var ok bool
	switch s.Verb {
	case "find":
		ok = f.find(&o, get)
	case "count":
		o.Count, o.Filter, ok = s.Collection, f.filter(get("query")), true
	case "distinct":
		o.Distinct, o.Filter, ok = s.Collection, f.filter(get("query")), true
		o.Key, _ = get("key").(string)
	case "aggregate":
		ok = f.aggregate(&o, get("pipeline"))
	case "insert":
		o.Insert, ok = s.Collection, true
		if n := f.perOperation(); n > 1 {
			o.Batch = countOf(n)
		}
	case "update":
		ok = f.writes(&o, get("updates"))
	case "delete":
		ok = f.writes(&o, get("deletes"))
	case "findAndModify":
		ok = f.findAndModify(&o, get)
	}
	if !ok {
		return o, false
	}
	f.options(&o, get)
	o.Empty = o.Insert == "" && o.Watch == "" && !f.sure
	o.Name = w.name(s, &o)
	return o, true
}

// perOperation is the mean number of documents of an operation.
func (f *filler) perOperation() int64 {
	return int64(math.Round(float64(f.s.Docs) / float64(max(f.s.Count, 1))))
}

// name returns a name that says the command, the collection and the fields of the filter.
func (w *writer) name(s *Shape, o *own.Operation) string {
	command, collection := o.Command()
	name := strings.ToLower(command) + "-" + collection
	seen := map[string]bool{}
	for _, h := range s.Holes {
		if field := strings.NewReplacer(".", "-", "$", "").Replace(h.Field); field != "" && !seen[field] && len(seen) < 3 {
			name += "-" + field
			seen[field] = true
		}
	}
	if w.names == nil {
		w.names = map[string]int{}
	}
	if w.names[name]++; w.names[name] > 1 {
		name += fmt.Sprintf("-%d", w.names[name])
	}
	return name
}

func (f *filler) find(o *own.Operation, get func(string) any) bool {
	o.Filter = f.filter(get("filter"))
	limit, fixed := get("limit").(int64)
	if limit < 0 {
		limit = max(-limit, 0) // the smallest number has no opposite
	}
	if _, unknown := get("limit").(*Hole); unknown {
		limit, fixed = max(f.perOperation(), 1), true
	}
	batch, _ := get("singleBatch").(bool)
	if limit == 1 && (batch || f.sure) {
		o.FindOne = f.s.Collection
	} else {
		o.Find = f.s.Collection
		if fixed {
			o.Limit = countOf(limit)
		}
		f.sure = false
	}
	o.Projection, o.Sort = f.template(get("projection")), f.template(get("sort"))
	if skip := get("skip"); skip != nil {
		o.Skip = f.template(skip)
	}
	return true
}

func (f *filler) aggregate(o *own.Operation, pipeline any) bool {
	stages, ok := pipeline.(bson.A)
	if !ok {
		return false
	}
	f.sure = false
	if len(stages) > 0 {
		if first, ok := stages[0].(bson.D); ok && len(first) == 1 && first[0].Key == "$changeStream" {
			o.Watch, o.Readers, o.Weight = f.s.Collection, 1, 0
			if len(stages) > 1 {
				o.Pipeline = f.template(stages[1:])
			}
			return true
		}
	}
	o.Aggregate, o.Pipeline = f.s.Collection, f.template(stages)
	return true
}

// writes makes an update, replace or delete of one statement, and a bulkWrite of several.
func (f *filler) writes(o *own.Operation, statements any) bool {
	list, _ := statements.(bson.A)
	if len(list) == 1 {
		return f.write(o, list[0])
	}
	o.BulkWrite = f.s.Collection
	for _, s := range list {
		var one own.Operation
		if !f.write(&one, s) {
			return false
		}
		w := own.Write{Filter: one.Filter, Many: one.Many, Upsert: one.Upsert, Delete: one.Delete != ""}
		if one.Update != "" {
			w.Update = one.With
		}
		if one.Replace != "" {
			w.Replace = one.With
		}
		o.Writes = append(o.Writes, w)
	}
	f.sure = false
	return len(list) > 0
}

func (f *filler) write(o *own.Operation, statement any) bool {
	d, ok := statement.(bson.D)
	if !ok {
		return false
	}
	for _, e := range d {
		switch e.Key {
		case "q":
			o.Filter = f.filter(e.Value)
		case "multi":
			o.Many, _ = e.Value.(bool)
		case "upsert":
			o.Upsert, _ = e.Value.(bool)
		case "limit":
			n, _ := e.Value.(int64)
			o.Many = n == 0
		case "arrayFilters":
			o.ArrayFilters = f.template(e.Value)
		case "collation":
			o.Collation = f.template(e.Value)
		case "hint":
			o.Hint = f.template(e.Value)
		case "u":
			f.change(o, e.Value)
			o.Update = f.s.Collection
			if _, whole := e.Value.(*Hole); whole {
				o.Update, o.Replace = "", f.s.Collection
			}
		}
	}
	if o.Update == "" && o.Replace == "" {
		o.Delete = f.s.Collection
	}
	f.sure = f.sure && !o.Many && o.Delete == ""
	return true
}

// change makes the change of an update. A replacement is a document of the collection without its _id.
func (f *filler) change(o *own.Operation, u any) {
	h, whole := u.(*Hole)
	if !whole {
		o.With = f.template(u)
		return
	}
	var level *Level
	n := int64(1)
	if d := f.c.Documents; d != nil && d.N > 0 {
		level, n = &d.Root, d.N
	} else if v := f.s.Values[h.N]; v.Level != nil {
		level, n = v.Level, v.Present
	}
	doc := bson.D{}
	if level != nil {
		for _, e := range f.w.level(f.c, "", level, n).(bson.D) {
			if e.Key != "_id" {
				doc = append(doc, e)
			}
		}
	}
	o.With = own.TemplateOf(doc)
}

func (f *filler) findAndModify(o *own.Operation, get func(string) any) bool {
	o.FindAndModify, o.Filter = f.s.Collection, f.filter(get("query"))
	o.Remove, _ = get("remove").(bool)
	o.New, _ = get("new").(bool)
	o.Upsert, _ = get("upsert").(bool)
	o.Sort, o.Projection = f.template(get("sort")), f.template(get("fields"))
	if u := get("update"); u != nil {
		f.change(o, u)
	}
	if a := get("arrayFilters"); a != nil {
		o.ArrayFilters = f.template(a)
	}
	f.sure = f.sure && !o.Remove
	return o.Remove || !o.With.IsZero()
}

// options sets concerns and what all commands have.
func (f *filler) options(o *own.Operation, get func(string) any) {
	text := func(v any, key string) string {
		d, _ := v.(bson.D)
		for _, e := range d {
			if e.Key == key && e.Value != nil {
				return fmt.Sprint(e.Value)
			}
		}
		return ""
	}
	o.ReadConcern, o.ReadPreference = text(get("readConcern"), "level"), text(get("$readPreference"), "mode")
	if concern := get("writeConcern"); text(concern, "w") != "" || text(concern, "j") != "" {
		o.WriteConcern = &own.WriteConcern{W: text(concern, "w")}
		if j := text(concern, "j"); j != "" {
			journal := j == "true"
			o.WriteConcern.Journal = &journal
		}
	}
	if c := get("collation"); c != nil {
		o.Collation = f.template(c)
	}
	if h := get("hint"); h != nil {
		o.Hint = f.template(h)
	}
}

func (f *filler) template(v any) own.Template {
	if v == nil {
		return own.Template{}
	}
	return own.TemplateOf(f.fill(v, false))
}

// filter makes the template of a filter, whose values are those of documents.
func (f *filler) filter(v any) own.Template {
	d, ok := v.(bson.D)
	if !ok {
		return own.TemplateOf(bson.D{})
	}
	if len(d) == 0 {
		f.sure = false
	}
	return own.TemplateOf(f.fill(d, true))
}

// comparing are the operators whose operand is a value as documents have it.
var comparing = map[string]bool{"$eq": true, "$in": true, "$all": true, "$elemMatch": true, "$and": true, "$or": true,
	"$nor": true, "$not": true, "$ne": true, "$nin": true, "$gt": true, "$gte": true, "$lt": true, "$lte": true}

// finding are the operators with which a value of a document finds that document.
var finding = map[string]bool{"$eq": true, "$in": true, "$and": true, "$or": true, "$gte": true, "$lte": true,
	"$match": true, "$set": true, "$inc": true, "$push": true}

// fill replaces the holes in a value. equal says that they are values as documents have them.
func (f *filler) fill(v any, equal bool) any {
	switch v := v.(type) {
	case bson.D:
		out := bson.D{}
		for _, e := range v {
			same := equal
			if strings.HasPrefix(e.Key, "$") {
				same = e.Key == "$match" || equal && comparing[e.Key]
				f.sure = f.sure && finding[e.Key]
			}
			if h, ok := e.Value.(*Hole); ok && h.Field == "" && f.w.m.Typed && h.Kind == "number" {
				out = append(out, bson.E{Key: e.Key, Value: f.constant(e.Key)})
				continue
			}
			f.own = e.Key == "$inc" || e.Key == "$mul" || f.own && !strings.HasPrefix(e.Key, "$")
			out = append(out, bson.E{Key: e.Key, Value: f.fill(e.Value, same)})
		}
		f.own = false
		return out
	case bson.A:
		out := bson.A{}
		for _, e := range v {
			out = append(out, f.fill(e, equal))
		}
		return out
	case *Hole:
		return f.hole(v, equal)
	}
	return v
}

// constant is a number of a pipeline that $queryStats does not show.
func (f *filler) constant(key string) int64 {
	switch key {
	case "$skip":
		return 0
	case "$limit", "size":
		return max(f.perOperation(), 1)
	}
	return 1
}

// hole makes the generator of a hole.
func (f *filler) hole(h *Hole, equal bool) any {
	values := f.s.Values[h.N]
	documents := f.c.Documents.At(h.Field)
	array := strings.HasPrefix(h.Kind, "array<")
	if f.own {
		return f.w.fromHole(f.c, h, values)
	}
	if age := values.Values.Age; equal && age.N > 0 && age.Max-age.Min <= 2 { // as far back from the present
		f.sure = false
		return one("$date", one("now", fmt.Sprintf("%dh", -int64(age.Mean()*24))))
	}
	if equal && h.Field != "" && f.refers(h.Field) && sameKind(documents, h.Kind) {
		kind := "$ref"
		if values.Values.Skewed() || values.Element != nil && values.Element.Values.Skewed() {
			kind = "$zipf"
		}
		ref := one(kind, bson.D{{Key: "to", Value: f.c.Name}, {Key: "field", Value: h.Field}})
		if h.Field == "_id" {
			ref = one(kind, f.c.Name)
		}
		if array {
			return one("$array", bson.D{{Key: "of", Value: ref}, {Key: "count", Value: f.elements(values)}})
		}
		return ref
	}
	if equal {
		f.sure = false
	}
	if documents == nil || documents.Values.Count() == 0 {
		return f.w.fromHole(f.c, h, values)
	}
	if documents.Element != nil && !array && h.Kind != "object" {
		documents = documents.Element // a filter on an array compares its elements
	}
	if documents.Values.Count() == 0 {
		return f.w.fromHole(f.c, h, values)
	}
	if array && documents.Element == nil {
		return one("$array", bson.D{{Key: "of", Value: f.w.field(f.c, h.Field, documents)}, {Key: "count", Value: f.elements(values)}})
	}
	return f.w.field(f.c, h.Field, documents)
}

// sameKind reports whether a field has values of the kind of a hole, or of its elements. Without documents it is true.
func sameKind(f *Field, kind string) bool {
	if f == nil || f.Values.Count() == 0 {
		return true
	}
	kind = strings.Trim(strings.TrimPrefix(kind, "array<"), "?>")
	return kind == "" || kindOf(bson.RawValue{Type: f.Values.Type()}) == kind
}

// elements is how many elements the arrays in a hole have.
func (f *filler) elements(of *Field) any {
	if of.Values.Elements.N == 0 {
		return int64(3)
	}
	return f.w.span(of.Values.Elements)
}

// refers reports whether every document has a single value at a path, so that a filter can take it from a document.
func (f *filler) refers(path string) bool {
	if path == "_id" {
		return true
	}
	d := f.c.Documents
	if d == nil || d.N == 0 {
		return !strings.Contains(path, ".")
	}
	l, n := &d.Root, d.N
	for part := range strings.SplitSeq(path, ".") {
		if l == nil || l.Fields[part] == nil {
			return false
		}
		field := l.Fields[part]
		if field.Present*1000 < n*995 || len(field.Values.Types) != 1 {
			return false
		}
		l, n = field.Level, field.Present
		if t := field.Values.Type(); t == bson.TypeArray {
			return false
		}
	}
	return l == nil
}
