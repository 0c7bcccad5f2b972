package recorded

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// What filters compare with must find what it found. So the values of a file have the places of the recorded ones:
// those of a field with few values are numbered, and numbers and dates are moved all together.

// low is the least number that stands for the values of a field: the least of them, with one digit. Dates begin with
// the day.
func (v *Values) low() float64 {
	x := v.scale.Min
	switch {
	case v.Type() == bson.TypeDateTime:
		const day = 24 * 60 * 60 * 1000
		return math.Floor(x/day) * day
	case x > 0 && x < 1:
		return 0
	case x == 0:
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(x))))
	return math.Floor(x/unit) * unit
}

// moved is the number that stands for a recorded one.
func (v *Values) moved(x float64) float64 {
	if l := v.labels(); l != nil && l.numbers {
		at := 0
		for at < len(l.values) && onScale(l.values[at].value) < x {
			at++
		}
		return l.first + float64(at)
	}
	return x - v.scale.Min + v.low()
}

// isNow reports whether dates are those of the operations or of the sample.
func (v *Values) isNow() bool {
	const minute = 1.0 / 24 / 60
	return v.Age.N == 0 || math.Abs(v.Age.Min) < minute && math.Abs(v.Age.Max) < minute
}

// present reports whether dates of a field are those of the operations: also where an index removes documents by them,
// because older ones would not be there for long.
func (w *writer) present(c *Collection, path string, v *Values) bool {
	expires := slices.ContainsFunc(c.Indexes, func(index bson.Raw) bool {
		_, err := index.LookupErr("expireAfterSeconds")
		_, has := index.Lookup("key", path).AsInt64OK()
		return err == nil && has
	})
	return expires || v.isNow()
}

// dates makes dates in a range of milliseconds since 1970.
func dates(low, high float64) any {
	text := func(ms float64) string {
		return time.UnixMilli(int64(ms)).UTC().Format("2006-01-02T15:04:05.999Z07:00")
	}
	return one("$date", bson.D{{Key: "min", Value: text(low)}, {Key: "max", Value: text(max(low, high))}})
}

// round6 leaves six digits behind the point.
func round6(x float64) float64 {
	if math.Abs(x) > 1e9 {
		return x
	}
	return math.Round(x*1e6) / 1e6
}

// labels stand for the values of a field with few ones.
type labels struct {
	values  []example // in ascending order
	all     int64
	numbers bool
	first   float64 // of numbers
	width   int     // of texts
	kind    bson.Type
}

// labels returns nil for a field with many values, or with other types than texts and whole numbers.
func (v *Values) labels() *labels {
	if v.more || len(v.Types) != 1 || !v.few() || len(v.examples) == 0 || len(v.examples) > fewValues {
		return nil
	}
	l := &labels{kind: v.Type()}
	switch l.kind {
	case bson.TypeString:
		l.width = int(min(max(math.Round(v.Length.Mean()), float64(1+len(fmt.Sprint(len(v.examples))))), 200))
	case bson.TypeInt32, bson.TypeInt64:
		l.numbers = true
		low, _ := bounds(v)
		l.first = max(low, 1)
	default:
		return nil
	}
	for _, e := range v.examples {
		l.values = append(l.values, e)
		l.all += e.n
	}
	slices.SortFunc(l.values, func(a, b example) int {
		if l.numbers {
			return cmp.Compare(onScale(a.value), onScale(b.value))
		}
		return slices.Compare(a.value.Value, b.value.Value)
	})
	return l
}

// label returns the value that stands for number i; number len(l.values) stands for values that no document has.
func (l *labels) label(i int) any {
	if l.numbers {
		return int64(l.first) + int64(i)
	}
	return fmt.Sprintf("v%0*d", l.width-1, i+1)
}

// near is how far counts of values differ that are written without weights.
const near = 1.05

// choose chooses values as often as documents have them, or as often as an operation used them.
func (l *labels) choose(used *Values) any {
	counts := make([]int64, len(l.values)+1)
	for i, e := range l.values {
		counts[i] = e.n
	}
	if used != nil {
		clear(counts)
		for _, e := range used.examples {
			at := slices.IndexFunc(l.values, func(d example) bool { return sameValue(d.value, e.value) })
			if at < 0 {
				at = len(l.values)
			}
			counts[at] += e.n
		}
	}
	var of, weights bson.A
	least, most := int64(math.MaxInt64), int64(0)
	for i, n := range counts {
		if n > 0 {
			of, weights = append(of, l.label(i)), append(weights, n)
			least, most = min(least, n), max(most, n)
		}
	}
	switch {
	case len(of) == 1:
		return of[0]
	case l.numbers && float64(most) < near*float64(least) && len(of) == len(l.values) && counts[len(l.values)] == 0:
		name := "$int"
		if l.kind == bson.TypeInt64 {
			name = "$long"
		}
		return evenly(one(name, bson.D{{Key: "min", Value: l.label(0)}, {Key: "max", Value: l.label(len(of) - 1)}}))
	case float64(most) < near*float64(least):
		return evenly(one("$choose", bson.D{{Key: "of", Value: of}}))
	}
	return weighted(of, weights)
}

// weighted chooses values as often as their weights say.
func weighted(of, weights bson.A) any {
	if len(of) == 1 {
		return of[0]
	}
	return evenly(one("$choose", bson.D{{Key: "of", Value: of}, {Key: "weights", Value: weights}}))
}

// evenly makes a generator of a range or of a choice spread its values evenly instead of by chance, so that few
// operations find as much as many. Others stay as they are.
func evenly(g any) any {
	d, _ := g.(bson.D)
	if len(d) != 1 || !slices.Contains([]string{"$int", "$long", "$double", "$date", "$choose", "$geo"}, d[0].Key) {
		return g
	}
	args, ok := d[0].Value.(bson.D)
	if !ok || valueOf(args, "now") != nil {
		return g
	}
	return one(d[0].Key, append(slices.Clone(args), bson.E{Key: "even", Value: true}))
}

// sameValue compares numbers of all types by what they are worth, as a server does.
func sameValue(a, b bson.RawValue) bool {
	x, aok := a.AsFloat64OK()
	y, bok := b.AsFloat64OK()
	return aok && bok && x == y || a.Equal(b)
}

// missing is a value of a type that no document has.
func missing(v *Values) (any, bool) {
	switch v.Type() {
	case bson.TypeString:
		return one("$string", bson.D{{Key: "size", Value: int64(max(math.Round(v.Length.Mean()), 12))}, {Key: "from", Value: "~0123456789"}}), true
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble:
		return one("$int", bson.D{{Key: "min", Value: int64(-2_000_000_000)}, {Key: "max", Value: int64(-1_500_000_000)}}), true
	case bson.TypeObjectID:
		return one("$objectId", bson.D{}), true
	case bson.TypeBinary:
		return one("$uuid", bson.D{}), true
	}
	return nil, false
}

// repeated describes the $sequence of a field whose values come again and again, each in as many documents as filters
// found, or of which each document has another one.
func (w *writer) repeated(c *Collection, path string, f *Field) (bson.D, bool) {
	d, v := c.Documents, &f.Values
	if d == nil || d.synthetic || path == "_id" || len(v.Types) != 1 || c.Count <= 0 || v.few() || d.At(path) != f {
		return nil, false
	}
	different := 0.0
	switch n, whole := w.repeats[fieldOf{c.Name, path}], d.N >= c.Count; {
	case v.distinct.seen < 10:
		return nil, false
	case whole && float64(v.Distinct()) < 0.9*float64(v.distinct.seen):
		different = float64(v.Distinct())
	case !whole && n >= 1.5:
		different = math.Round(float64(c.Count) / n)
	}
	switch v.Type() {
	case bson.TypeString:
		if different < 2 || w.begins[fieldOf{c.Name, path}] != nil {
			return nil, false
		}
		digits := int64(min(max(math.Round(v.Length.Mean()), 1), 30))
		return bson.D{{Key: "digits", Value: digits}, {Key: "modulo", Value: int64(different)}}, true
	case bson.TypeInt32, bson.TypeInt64:
		if different < 2 {
			return v.counted(c.Count)
		}
		g := bson.D{{Key: "start", Value: int64(v.low())}}
		if step := math.Round((v.scale.Max - v.scale.Min) / (different - 1)); step > 1 {
			g = append(g, bson.E{Key: "step", Value: int64(step)})
		}
		return append(g, bson.E{Key: "modulo", Value: int64(different)}), true
	}
	return nil, false
}

// counted describes numbers of which each document has another one, at equal distances.
func (v *Values) counted(documents int64) (bson.D, bool) {
	span := v.scale.Max - v.scale.Min
	if float64(v.Distinct()) < 0.97*float64(v.distinct.seen) || documents < 2 {
		return nil, false
	}
	step := math.Round(span / float64(documents-1))
	if step < 1 || math.Abs(span-step*float64(documents-1)) > 0.02*span+1 {
		return nil, false
	}
	g := bson.D{{Key: "start", Value: int64(v.low())}}
	if step > 1 {
		g = append(g, bson.E{Key: "step", Value: int64(step)})
	}
	return g, true
}

// anyOf makes a number of a $sequence that some document has.
func anyOf(g bson.D, documents int64) any {
	if valueOf(g, "modulo") == nil {
		g = append(g, bson.E{Key: "modulo", Value: max(documents, 1)})
	}
	return one("$sequence", append(g, bson.E{Key: "any", Value: true}))
}
