package recorded

import (
	"fmt"
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
	out := bson.D{}
	for _, name := range l.names() {
		f := l.Fields[name]
		at := strings.TrimPrefix(path+"."+name, ".")
		v := w.field(c, at, f)
		if share := float64(f.Present) / float64(max(n, 1)); share < 0.995 {
			v = one("$optional", bson.D{{Key: "share", Value: math.Round(share*1000) / 1000}, {Key: "value", Value: v}})
		}
		out = append(out, bson.E{Key: name, Value: v})
	}
	return out
}

// field makes the template of one field.
func (w *writer) field(c *Collection, path string, f *Field) any {
	if to, ok := w.references[fieldOf{c.Name, path}]; ok && to != c.Name {
		return one("$ref", to)
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
	if len(of) == 1 {
		return of[0]
	}
	return one("$choose", bson.D{{Key: "of", Value: of}, {Key: "weights", Value: weights}})
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
	if v.examples != nil {
		if g, ok := chosen(v, t); ok {
			return g
		}
	}
	few := v.few()
	switch t {
	case bson.TypeEmbeddedDocument:
		if f.Level == nil {
			return bson.D{}
		}
		return w.level(c, path, f.Level, v.Types[t])
	case bson.TypeArray:
		if f.Element == nil || f.Element.Values.Count() == 0 {
			return bson.A{}
		}
		return one("$array", bson.D{{Key: "of", Value: w.field(c, path, f.Element)}, {Key: "count", Value: w.span(v.Elements)}})
	case bson.TypeString, bson.TypeSymbol:
		if few && v.Distinct() <= fewValues {
			return labels(v)
		}
		g := bson.D{{Key: "size", Value: w.span(v.Length)}}
		if few {
			g = append(g, bson.E{Key: "values", Value: v.Distinct()})
		}
		return one("$string", g)
	case bson.TypeBinary:
		if v.Length.Min == 16 && v.Length.Max == 16 {
			return one("$uuid", bson.D{})
		}
		return one("$binary", bson.D{{Key: "size", Value: w.span(v.Length)}})
	}
	return scalarOf(v, t, few, w.m.Last)
}

// few reports whether values repeat so often that their number can be told.
func (v *Values) few() bool { return v.distinct.seen >= 10 && v.Distinct()*2 < v.distinct.seen }

// labels are texts of the same number and length as the values of a field.
func labels(v *Values) any {
	n := int(v.Distinct())
	width := int(min(max(math.Round(v.Length.Mean()), float64(len(fmt.Sprint(n)))), 200))
	var of bson.A
	for i := range n {
		of = append(of, fmt.Sprintf("v%0*d", width-1, i+1))
	}
	return one("$choose", of)
}

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
	if len(of) == 1 {
		return of[0], true
	}
	return one("$choose", bson.D{{Key: "of", Value: of}, {Key: "weights", Value: weights}}), true
}

// scalarOf makes the template of numbers, dates and other single values.
func scalarOf(v *Values, t bson.Type, few bool, now time.Time) any {
	low, high := bounds(v)
	if few {
		low, high = max(low, 1), max(low, 1)+float64(v.Distinct())-1
	}
	switch t {
	case bson.TypeInt32:
		return one("$int", bson.D{{Key: "min", Value: int64(max(low, math.MinInt32))},
			{Key: "max", Value: int64(min(high, math.MaxInt32))}})
	case bson.TypeInt64:
		return one("$long", bson.D{{Key: "min", Value: int64(max(low, -1e18))}, {Key: "max", Value: int64(min(high, 1e18))}})
	case bson.TypeDouble:
		return one("$double", bson.D{{Key: "min", Value: low}, {Key: "max", Value: max(high, 1)}})
	case bson.TypeDecimal128:
		return one("$decimal", bson.D{{Key: "max", Value: int64(1000)}})
	case bson.TypeBoolean:
		return one("$bool", bson.D{})
	case bson.TypeDateTime:
		if v.Age.N == 0 || v.Age.Min == 0 && v.Age.Max == 0 {
			return one("$date", "now")
		}
		day := func(age float64) string {
			return now.Add(-time.Duration(age*24) * time.Hour).UTC().Format(time.DateOnly)
		}
		return one("$date", bson.D{{Key: "min", Value: day(v.Age.Max + 1)}, {Key: "max", Value: day(v.Age.Min)}})
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

// fromFilters makes a template of the fields that filters and updates name, where no documents were seen.
func (w *writer) fromFilters(c *Collection) any {
	out := bson.D{{Key: "_id", Value: w.fromHoles(c, "_id")}}
	for _, s := range w.shapes {
		if s.Collection != c.Name {
			continue
		}
		for _, h := range s.Holes {
			known := slices.ContainsFunc(out, func(e bson.E) bool { return e.Key == h.Field })
			if h.Field == "" || strings.Contains(h.Field, ".") || known || strings.HasPrefix(h.Field, "$") {
				continue
			}
			out = append(out, bson.E{Key: h.Field, Value: w.fromHoles(c, h.Field)})
		}
	}
	return out
}

// fromHoles makes the template of a field from the values with which it was compared or set.
func (w *writer) fromHoles(c *Collection, field string) any {
	known := w.kindIsKnown(c, field)
	for _, s := range w.shapes {
		if s.Collection != c.Name {
			continue
		}
		for i, h := range s.Holes {
			if h.Field != field || known && h.Kind == "" {
				continue
			}
			if inner, ok := strings.CutPrefix(h.Kind, "array<"); ok { // from $in, as a rule
				if e := s.Values[i].Element; e != nil && e.Values.Count() > 0 {
					return w.fromHole(c, h, e)
				}
				return ofKind(strings.Trim(inner, "?>"))
			}
			return w.fromHole(c, h, s.Values[i])
		}
	}
	return one("$objectId", bson.D{})
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
	return ofKind(h.Kind)
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
	case "object":
		return bson.D{}
	}
	return nil
}
