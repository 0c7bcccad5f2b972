package recorded

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// one makes a generator or operator of one key.
func one(name string, v any) bson.D { return bson.D{{Key: name, Value: v}} }

// level makes the template of the fields on a level. n is how many documents were seen on it.
func (w *writer) level(c *Collection, path string, l *Level, n int64) any {
	if l.Refs != nil {
		return w.dbRefs(c, path, l)
	}
	out := bson.D{}
	for _, name := range l.names() {
		f := l.Fields[name]
		at := strings.TrimPrefix(path+"."+name, ".")
		v := w.field(c, at, f)
		out = append(out, bson.E{Key: name, Value: present(v, f.Present, n)})
	}
	return out
}

// present makes a field that so many of n documents have.
func present(v any, some, n int64) any {
	share := float64(some) / float64(max(n, 1))
	if share >= 0.995 {
		return v
	}
	return one("$optional", bson.D{{Key: "share", Value: math.Round(share*1000) / 1000}, {Key: "value", Value: v}})
}

// dbRefs makes DBRefs to the collections to which those of a field refer.
func (w *writer) dbRefs(c *Collection, path string, l *Level) any {
	var of, weights bson.A
	refs := slices.SortedFunc(maps.Keys(l.Refs), func(a, b reference) int {
		return cmp.Or(cmp.Compare(a.database, b.database), cmp.Compare(a.collection, b.collection))
	})
	for _, r := range refs {
		id := any(one("$objectId", bson.D{}))
		here := cmp.Or(r.database, c.Database) == c.Database
		if to := w.byName[r.collection]; here && to != nil && to.Count > 0 && w.named[r.collection] {
			id = one("$sequential", r.collection)
			if f := l.Fields["$id"]; f != nil && f.Values.Skewed() {
				id = one("$zipf", r.collection)
			}
		} else if f := l.Fields["$id"]; f != nil && f.Values.Count() > 0 {
			id = w.field(c, path+".$id", f)
		}
		doc := bson.D{{Key: "$ref", Value: r.collection}, {Key: "$id", Value: id}}
		if r.database != "" {
			doc = append(doc, bson.E{Key: "$db", Value: r.database})
		}
		of, weights = append(of, doc), append(weights, l.Refs[r])
	}
	return weighted(of, weights)
}

// field makes the template of one field.
func (w *writer) field(c *Collection, path string, f *Field) any {
	if to, ok := w.references[fieldOf{c.Name, path}]; ok && to.collection != c.Name {
		return to.template("$ref")
	}
	if f.Values.Count() == 0 && f.Kind != "" {
		return ofKind(f.Kind)
	}
	if f.Values.Type() == bson.TypeDateTime && w.present(c, path, &f.Values) {
		return one("$date", "now")
	}
	if g, ok := w.repeated(c, path, f); ok {
		return one("$sequence", g)
	}
	if path == "_id" && f.Values.Type() != bson.TypeEmbeddedDocument {
		return identity(&f.Values)
	}
	types := f.Values.sortedTypes()
	if len(types) == 1 {
		return w.typed(c, path, f, types[0])
	}
	var of, weights bson.A
	all := f.Values.Count()
	for _, t := range types {
		if share := float64(f.Values.Types[t]) / float64(all); share >= 0.001 {
			of = append(of, w.typed(c, path, f, t))
			weights = append(weights, math.Round(share*1000)/1000)
		}
	}
	if len(of) == 0 {
		return nil
	}
	return weighted(of, weights)
}

// identity makes _ids, which others refer to: different for each document, and made of its number.
func identity(v *Values) any {
	switch v.Type() {
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble:
		return one("$sequence", bson.D{})
	case bson.TypeString:
		return one("$sequence", bson.D{{Key: "digits", Value: int(min(max(math.Round(v.Length.Mean()), 8), 30))}, {Key: "hash", Value: true}})
	case bson.TypeBinary:
		return one("$uuid", bson.D{})
	}
	return one("$objectId", bson.D{})
}

// fewValues is up to how many different values a field has names for each, so that filters and documents agree.
const fewValues = 50

// typed makes the template of one type of a field.
func (w *writer) typed(c *Collection, path string, f *Field, t bson.Type) any {
	v := &f.Values
	if v.shown {
		if g, ok := chosen(v, t); ok {
			return g
		}
	}
	few := v.few()
	if labels := v.labels(); labels != nil {
		return labels.choose(nil)
	}
	switch t {
	case bson.TypeEmbeddedDocument:
		if f.Places != nil {
			return f.Places.choose()
		}
		if f.Level == nil {
			return bson.D{}
		}
		return w.level(c, path, f.Level, v.Types[t])
	case bson.TypeArray:
		if f.Element == nil || f.Element.Values.Count() == 0 && f.Element.Kind == "" {
			return bson.A{}
		}
		return one("$array", bson.D{{Key: "of", Value: w.field(c, path, f.Element)}, {Key: "count", Value: w.span(v.Elements)}})
	case bson.TypeString, bson.TypeSymbol:
		g := bson.D{{Key: "size", Value: w.span(v.Length)}}
		if few {
			g = append(g, bson.E{Key: "values", Value: v.Distinct()})
		} else if b, ok := w.begins[fieldOf{c.Name, path}]; ok {
			g = append(g, b...)
		}
		return one("$string", g)
	case bson.TypeBinary:
		if v.Length.Min == 16 && v.Length.Max == 16 {
			return one("$uuid", bson.D{})
		}
		return one("$binary", bson.D{{Key: "size", Value: w.span(v.Length)}})
	}
	g := scalarOf(v, t, few, w.m.Last)
	if w.compared[fieldOf{c.Name, path}] {
		g = evenly(g)
	}
	return g
}

// few reports whether values repeat so often that their number can be told.
func (v *Values) few() bool { return v.distinct.seen >= 10 && v.Distinct()*2 < v.distinct.seen }

// chosen makes a choice of the values that were kept, if they are nearly all there were.
func chosen(v *Values, t bson.Type) (any, bool) {
	var list []example
	var n int64
	for _, e := range v.examples {
		if e.value.Type == t {
			list = append(list, e)
			n += e.n
		}
	}
	if n == 0 || float64(n) < 0.9*float64(v.Types[t]) || len(list) == mostExamples ||
		int64(len(list))*2 > n && len(list) > 3 {
		return nil, false
	}
	slices.SortFunc(list, func(a, b example) int {
		if a.n != b.n {
			return int(b.n - a.n)
		}
		return slices.Compare(a.value.Value, b.value.Value)
	})
	var of, weights bson.A
	for _, e := range list {
		of, weights = append(of, exact(e.value)), append(weights, e.n)
	}
	return weighted(of, weights), true
}

// scalarOf makes the template of numbers, dates and other single values.
func scalarOf(v *Values, t bson.Type, few bool, now time.Time) any {
	low, high := bounds(v)
	if few && t != bson.TypeDateTime {
		low, high = max(low, 1), max(low, 1)+float64(v.Distinct())-1
	} else if v.scale.N > 0 {
		low, high = v.low(), v.low()+v.scale.Max-v.scale.Min
	}
	switch {
	case t == bson.TypeInt32 && low == high:
		return int64(low)
	case t == bson.TypeDouble && low == high:
		return low
	}
	switch t {
	case bson.TypeInt32:
		return one("$int", bson.D{{Key: "min", Value: int64(max(low, math.MinInt32))},
			{Key: "max", Value: int64(min(high, math.MaxInt32))}})
	case bson.TypeInt64:
		return one("$long", bson.D{{Key: "min", Value: int64(max(low, -1e18))}, {Key: "max", Value: int64(min(high, 1e18))}})
	case bson.TypeDouble:
		return one("$double", bson.D{{Key: "min", Value: low}, {Key: "max", Value: round6(high)}})
	case bson.TypeDecimal128:
		return one("$decimal", bson.D{{Key: "max", Value: int64(1000)}})
	case bson.TypeBoolean:
		return one("$bool", bson.D{})
	case bson.TypeDateTime:
		if v.isNow() {
			return one("$date", "now")
		}
		return dates(low, high)
	case bson.TypeObjectID:
		return one("$objectId", bson.D{})
	case bson.TypeTimestamp:
		return bson.Timestamp{T: uint32(now.Unix()), I: 1}
	case bson.TypeRegex:
		return bson.Regex{Pattern: "^a"}
	case bson.TypeMinKey:
		return bson.MinKey{}
	case bson.TypeMaxKey:
		return bson.MaxKey{}
	}
	return nil
}

// bounds returns the range of numbers with as many digits as the values have.
func bounds(v *Values) (low, high float64) {
	if v.Digits.N == 0 {
		return 0, 1000
	}
	high = math.Pow(10, v.Digits.Max) - 1
	if v.Digits.Min > 1 {
		low = math.Pow(10, v.Digits.Min-1)
	}
	if v.Negative > 0 {
		low = -high
	}
	if v.Negative == v.Digits.N {
		low, high = -high, -max(0, math.Pow(10, v.Digits.Min-1))
	}
	return low, max(low, high)
}

// span is a number, or a range of numbers.
func (w *writer) span(r Range) any {
	most := r.Max
	if w.limits.length > 0 {
		most = min(most, max(math.Ceil(r.Mean()), float64(w.limits.length)))
	}
	if r.Min >= most {
		return int64(r.Min)
	}
	return bson.D{{Key: "min", Value: int64(r.Min)}, {Key: "max", Value: int64(most)}}
}

// fromHoles describes the documents of a collection by the fields that filters and updates name, where no documents
// were seen.
func (w *writer) fromHoles(c *Collection) *Documents {
	d := &Documents{Options: w.m.Options, N: 1, synthetic: true}
	d.Root.put([]string{"_id"}, &Field{Present: 1, Kind: "objectId"}, false)
	for _, s := range w.shapes {
		if w.base(s.Collection) != c {
			continue
		}
		for i, h := range s.Holes {
			if h.Kind == "" && w.kindIsKnown(c, h.Field) {
				continue // redacted, and another operation shows it
			}
			if h.Field == "" || strings.HasPrefix(h.Field, "$") || h.Plain {
				continue
			}
			f := &Field{}
			f.merge(s.Values[i])
			f.Present, f.Kind = 1, cmp.Or(h.Kind, "string") // redacted texts are the most frequent
			inner, array := strings.CutPrefix(h.Kind, "array<")
			switch {
			case array && (h.Op == "$in" || h.Op == "$nin" || h.Op == "$all" || h.Op == "$each"):
				if f = f.Element; f == nil {
					f = &Field{}
				}
				f.Present, f.Kind = 1, strings.Trim(inner, "?>")
			case strings.Contains(h.Kind, "regex"):
				f = &Field{Present: 1, Kind: "string"}
			case h.Op == "$pull" && h.Kind == "object": // a condition on elements
				continue
			}
			d.Root.put(strings.Split(h.Field, "."), f, h.Element || h.Op == "$each" || h.Op == "$all")
		}
		for _, path := range arraysOf(s.Tree) {
			d.Root.put(strings.Split(path, "."), &Field{Present: 1, Kind: "string"}, true)
		}
	}
	return d
}

// put adds a field at a path, with arrays where the path has positions of elements. array says that it is the element
// of an array.
func (l *Level) put(path []string, f *Field, array bool) {
	if l.Fields == nil {
		l.Fields = map[string]*Field{}
	}
	name := path[0]
	if strings.HasPrefix(name, "$") && name != "$id" && name != "$ref" && name != "$db" {
		return
	}
	at := l.Fields[name]
	if at == nil {
		if len(l.Fields) >= mostFields {
			return
		}
		at = &Field{Present: 1}
		l.Fields[name] = at
		l.Order = append(l.Order, name)
	}
	rest := path[1:]
	position := len(rest) > 0 && (strings.HasPrefix(rest[0], "$[") || rest[0] == "$" || strings.Trim(rest[0], "0123456789") == "")
	if position {
		rest = rest[1:]
	}
	if at.Element == nil && (position || array && len(rest) == 0) && at.Level == nil {
		at.Element = &Field{Present: 1}
		at.Values.Elements.add(1)
		at.Values.Elements.add(3)
	}
	if at.Element != nil {
		at.Kind, at.Values.Types = "", map[bson.Type]int64{bson.TypeArray: 1}
		at = at.Element
	}
	switch {
	case len(rest) == 0 && at.Level == nil:
		at.merge(f)
		at.Present = 1
	case len(rest) > 0:
		if at.Level == nil {
			at.Level = &Level{}
		}
		at.Kind, at.Values.Types = "", map[bson.Type]int64{bson.TypeEmbeddedDocument: 1}
		at.Level.put(rest, f, array)
	}
}

// arraysOf returns the fields that an update treats as arrays without a value.
func arraysOf(v any) (paths []string) {
	switch v := v.(type) {
	case bson.D:
		for _, e := range v {
			if fields, ok := e.Value.(bson.D); ok && e.Key == "$pop" {
				for _, f := range fields {
					paths = append(paths, f.Key)
				}
				continue
			}
			paths = append(paths, arraysOf(e.Value)...)
		}
	case bson.A:
		for _, e := range v {
			paths = append(paths, arraysOf(e)...)
		}
	}
	return paths
}

// kindIsKnown reports whether a hole of a field has a kind, which redacted values do not show.
func (w *writer) kindIsKnown(c *Collection, field string) bool {
	return slices.ContainsFunc(w.shapes, func(s *Shape) bool {
		return s.Collection == c.Name && slices.ContainsFunc(s.Holes, func(h *Hole) bool {
			return h.Field == field && h.Kind != ""
		})
	})
}

// fromHole makes a template of the values in a hole, or of its kind if values were not shown.
func (w *writer) fromHole(c *Collection, h *Hole, f *Field) any {
	if h.Field == "_id" && f.Values.Count() > 0 && f.Values.Type() != bson.TypeArray &&
		f.Values.Type() != bson.TypeEmbeddedDocument {
		return identity(&f.Values)
	}
	if f.Values.Count() > 0 {
		return w.field(c, h.Field, f)
	}
	return ofKind(cmp.Or(h.Kind, "string")) // redacted
}

// ofKind makes a template of a kind in the notation of $queryStats.
func ofKind(kind string) any {
	if inner, ok := strings.CutPrefix(kind, "array<"); ok {
		return one("$array", bson.D{{Key: "of", Value: ofKind(strings.Trim(inner, "?>"))}})
	}
	switch kind {
	case "number":
		return one("$int", bson.D{{Key: "max", Value: 1000}})
	case "string":
		return one("$string", bson.D{{Key: "size", Value: 10}})
	case "bool":
		return one("$bool", bson.D{})
	case "date":
		return one("$date", "now")
	case "objectId":
		return one("$objectId", bson.D{})
	case "binData":
		return one("$uuid", bson.D{})
	case "regex":
		return bson.Regex{Pattern: "^a"}
	case "^regex":
		return bson.Regex{Pattern: "^a"}
	case "Point", "MultiPoint", "LineString", "Polygon", "pair", "box", "ring":
		return one("$geo", bson.D{{Key: "type", Value: kind}})
	case "object":
		return bson.D{}
	}
	return nil
}
