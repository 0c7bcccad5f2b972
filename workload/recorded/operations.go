package recorded

import (
	"fmt"
	"math"
	"slices"
	"strconv"
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
	let  bson.D
	lows map[*Hole]string // variables with the lower bounds of ranges
	// same says that the filter compares several fields with values of one document, chosen that it was chosen already.
	same, chosen bool
	remove       bool
}

// operation makes an operation of a shape; false if the language has none for it.
func (w *writer) operation(s *Shape) (own.Operation, bool) {
	f := &filler{w: w, s: s, c: w.base(s.Collection), sure: true, lows: map[*Hole]string{}}
	if f.c == nil {
		return own.Operation{}, false // a view on itself
	}
	o := own.Operation{Weight: float64(s.Count)}
	get := func(key string) any { return valueOf(s.Tree, key) }
	var ok bool
	switch s.Verb {
	case "find":
		ok = f.find(&o, get)
	case "count":
		o.Count, o.Filter, o.Skip, ok = s.Collection, f.filter(get("query")), f.template(get("skip")), true
		if limit, fixed := get("limit").(int64); fixed && limit != 0 && limit != math.MinInt64 {
			o.Limit = countOf(max(limit, -limit))
		}
	case "distinct":
		o.Distinct, o.Filter, ok = s.Collection, f.filter(get("query")), true
		o.Key, _ = get("key").(string)
	case "aggregate":
		ok = f.aggregate(&o, get("pipeline"))
	case "insert":
		o.Insert, ok = s.Collection, true
		w.inserted(&o, f.c)
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
	if len(f.let) > 0 {
		o.Let = own.TemplateOf(f.let)
	}
	o.Empty = o.Insert == "" && o.Watch == "" && o.Count == "" && o.BulkWrite == "" && !f.sure
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
			f.watch(o, first[0].Value, stages[1:])
			return true
		}
	}
	o.Aggregate, o.Pipeline = f.s.Collection, f.template(stages)
	return true
}

// watch makes the readers of a change stream: as many as read it at the same time.
func (f *filler) watch(o *own.Operation, options any, rest bson.A) {
	most, all := f.w.m.together(f.s)
	readers := min(max(most, 1), mostReaders)
	o.Watch, o.Readers, o.Weight = f.s.Collection, countOf(int64(readers)), 0
	if d, ok := options.(bson.D); ok {
		o.FullDocument, _ = valueOf(d, "fullDocument").(string)
		if o.FullDocument == "default" {
			o.FullDocument = ""
		}
	}
	if len(rest) > 0 {
		o.Pipeline = f.template(rest)
	}
	f.w.unseen = append(f.w.unseen, fmt.Sprintf("Change streams of %s with this shape: %d were read, and %d opened. The file has %d "+
		"readers, as many as read at the same time, each with one stream that stays open.", f.s.Collection, all, f.s.Count, readers))
}

// mostReaders limits the readers of a change stream, each of which is a worker.
const mostReaders = 64

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
	f.remove = valueOf(d, "u") == nil
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

// change makes the change of an update. A replacement has the fields of the recorded ones, with values as documents
// have them, and no _id.
func (f *filler) change(o *own.Operation, u any) {
	h, whole := u.(*Hole)
	if !whole {
		o.With = f.template(u)
		return
	}
	v := f.s.Values[h.N]
	doc := bson.D{}
	switch d := f.c.Documents; {
	case v.Level != nil:
		for _, e := range f.w.level(f.c, "", f.w.asStored(f.c, v.Level), v.Present).(bson.D) {
			if e.Key != "_id" {
				doc = append(doc, e)
			}
		}
	case d != nil && d.N > 0:
		for _, e := range f.w.level(f.c, "", &d.Root, d.N).(bson.D) {
			if e.Key != "_id" {
				doc = append(doc, e)
			}
		}
	}
	o.With = own.TemplateOf(doc)
}

// asStored returns the fields of a level as often as they are in it, with the values that documents have.
func (w *writer) asStored(c *Collection, l *Level) *Level {
	out := &Level{Fields: map[string]*Field{}, Order: l.Order}
	for name, f := range l.Fields {
		stored := c.Documents.At(name)
		if stored != nil && stored.Values.Count() > 0 && stored.Values.Type() == f.Values.Type() {
			copied := *stored
			copied.Present = f.Present
			f = &copied
		}
		out.Fields[name] = f
	}
	return out
}

func (f *filler) findAndModify(o *own.Operation, get func(string) any) bool {
	o.Remove, _ = get("remove").(bool)
	f.remove = o.Remove
	o.FindAndModify, o.Filter = f.s.Collection, f.filter(get("query"))
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
	equal := 0
	for _, e := range d {
		if h, ok := e.Value.(*Hole); ok && h.Op == "" && f.refers(h.Field) {
			equal++
		}
	}
	f.same, f.chosen = equal > 1 && f.s.missed() < 0.5, false
	return own.TemplateOf(f.fill(d, true))
}

// missed is the share of the operations that found nothing, 0 if that is not known.
func (s *Shape) missed() float64 {
	if s.Results.Known < 10 {
		return 0
	}
	return float64(s.Results.Empty) / float64(s.Results.Known)
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
			if h, ok := e.Value.(*Hole); ok && h.Field == "" && f.w.m.Typed && h.Kind == "number" && !h.Plain {
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
	values, documents := f.s.Values[h.N], f.c.Documents.At(h.Field)
	array := strings.HasPrefix(h.Kind, "array<")
	switch {
	case h.Plain:
		return plainNumber(&values.Values)
	case strings.Contains(h.Kind, "regex") && !array:
		return f.pattern(h, values, documents)
	case slices.Contains(geoTypes, h.Kind):
		return f.places(h, values)
	case f.own:
		return f.w.fromHole(f.c, h, values)
	}
	if documents != nil && documents.Element != nil && !array && (h.Element || h.Op != "$set" && h.Op != "$setOnInsert") {
		documents = documents.Element // operators compare and change elements
	}
	if documents != nil && documents.Element != nil && (h.Op == "$in" || h.Op == "$nin" || h.Op == "$all" || h.Op == "$each") {
		documents = documents.Element
	}
	if g, ok := f.bound(h, values, documents); ok {
		return g
	}
	if equal && h.Field != "" && f.refers(h.Field) && sameKind(documents, h.Kind) {
		if g, ok := f.reference(h, values, documents, array); ok {
			return g
		}
	}
	if equal {
		f.sure = false
	}
	return f.value(h, values, documents, array)
}

// value makes a value as documents have it, or as the operation had it where documents have none.
func (f *filler) value(h *Hole, values, documents *Field, array bool) any {
	if documents == nil || documents.Values.Count() == 0 {
		return f.w.fromHole(f.c, h, values)
	}
	used := &values.Values
	if array && values.Element != nil {
		used = &values.Element.Values
	}
	var of any
	switch l := documents.Values.labels(); {
	case l != nil && !used.more && len(used.examples) > 0 && !(documents.Values.shown && f.w.m.Options.Values):
		of = l.choose(used)
	default:
		if g, ok := f.w.repeated(f.c, h.Field, documents); ok { // of any document rather than of this operation
			of = anyOf(g, f.c.Count)
		} else {
			of = f.w.field(f.c, h.Field, documents)
		}
	}
	if array && documents.Values.Type() != bson.TypeArray {
		return f.several(of, values)
	}
	return of
}

// several makes an array of values, as many as the operation had. A query names no value twice.
func (f *filler) several(of any, values *Field) any {
	a := bson.D{{Key: "of", Value: of}, {Key: "count", Value: f.elements(values)}}
	if e := values.Element; e != nil && float64(e.Values.distinct.seen) > 0 && values.Values.Elements.Max <= 1000 {
		a = append(a, bson.E{Key: "distinct", Value: true})
	}
	return one("$array", a)
}

// places makes places around which a query looks.
func (f *filler) places(h *Hole, values *Field) any {
	f.sure = false
	if values.Places == nil {
		return ofKind(h.Kind)
	}
	return values.Places.template(h.Kind)
}

// plainNumber makes a number that is no data: as the operations had it.
func plainNumber(v *Values) any {
	switch {
	case v.scale.N == 0:
		return int64(0)
	case v.scale.Min == v.scale.Max:
		return v.constant(v.scale.Min, v.Type())
	case !v.more && len(v.Types) == 1 && len(v.examples) <= mostPlain:
		var of, weights bson.A
		for _, key := range sortedKeys(v.examples) {
			e := v.examples[key]
			if x := onScale(e.value); x >= v.scale.Min && x <= v.scale.Max { // a number
				of, weights = append(of, v.constant(x, e.value.Type)), append(weights, e.n)
			}
		}
		return weighted(of, weights)
	case v.Type() == bson.TypeDouble:
		return evenly(one("$double", bson.D{{Key: "min", Value: v.scale.Min}, {Key: "max", Value: v.scale.Max}}))
	}
	return evenly(one("$long", bson.D{{Key: "min", Value: int64(v.scale.Min)}, {Key: "max", Value: int64(v.scale.Max)}}))
}

// mostPlain is up to how many different numbers are listed, each as often as it was used.
const mostPlain = 16

// comparesOrder are the operators that bound a range.
var comparesOrder = map[string]bool{"$gt": true, "$gte": true, "$lt": true, "$lte": true, "$expr": true}

// bound makes the bound of a range: at the same place among the values of documents as the recorded one, and as far
// from the other bound.
func (f *filler) bound(h *Hole, values, documents *Field) (any, bool) {
	if !comparesOrder[h.Op] || values.Values.scale.N == 0 || h.Kind != "number" && h.Kind != "date" {
		return nil, false
	}
	f.sure = false
	if h.Above != nil && h.N < len(f.s.Widths) && f.s.Widths[h.N].N > 0 {
		if name, ok := f.lows[h.Above]; ok {
			return f.above(name, f.s.Widths[h.N], values.Values.Type() == bson.TypeDouble), true
		}
	}
	v := &values.Values
	like := v
	if documents != nil && documents.Values.scale.N > 0 {
		like = &documents.Values
		if like.Type() == bson.TypeDateTime && f.w.present(f.c, h.Field, like) {
			return f.low(h, one("$date", one("now", fmt.Sprintf("%ds", -int64(v.Age.Mean()*24*3600))))), true
		}
	} else if h.Kind == "date" {
		return f.low(h, one("$date", one("now", fmt.Sprintf("%ds", -int64(v.Age.Mean()*24*3600))))), true
	}
	low, high := like.moved(v.scale.Min), like.moved(v.scale.Max)
	if span := like.scale.Max - like.scale.Min; h.Field == "_id" && documents != nil && h.Kind == "number" && span > 0 {
		each := float64(max(f.c.Count, 1)-1) / span // documents are numbered
		low, high = (v.scale.Min-like.scale.Min)*each, (v.scale.Max-like.scale.Min)*each
	}
	return f.low(h, evenly(between(low, high, v.Type()))), true
}

// between makes a number or a date in a range.
func between(low, high float64, t bson.Type) any {
	switch {
	case t == bson.TypeDateTime:
		return dates(low, high)
	case t == bson.TypeDouble && low == high:
		return round6(low)
	case t == bson.TypeDouble:
		return one("$double", bson.D{{Key: "min", Value: round6(low)}, {Key: "max", Value: round6(high)}})
	case low == high:
		return int64(math.Round(low))
	}
	return one("$long", bson.D{{Key: "min", Value: int64(math.Round(low))}, {Key: "max", Value: int64(math.Round(high))}})
}

// low keeps the lower bound of a range as a variable, if the upper bound depends on it.
func (f *filler) low(h *Hole, of any) any {
	if !slices.ContainsFunc(f.s.Holes, func(o *Hole) bool { return o.Above == h }) {
		return of
	}
	name := "low"
	if n := len(f.lows); n > 0 {
		name += fmt.Sprint(n + 1)
	}
	f.lows[h] = name
	f.let = append(f.let, bson.E{Key: name, Value: of})
	return one("$var", name)
}

// above makes the upper bound of a range.
func (f *filler) above(name string, width Range, fraction bool) any {
	if width.Min < width.Max {
		kind := "$long"
		if fraction {
			kind = "$double"
		}
		wide := name + "wide"
		f.let = append(f.let, bson.E{Key: wide, Value: evenly(one(kind, bson.D{{Key: "min", Value: int64(max(width.Min, 0))},
			{Key: "max", Value: int64(math.Ceil(max(width.Max, 0)))}}))})
		return one("$calc", name+" + "+wide)
	}
	sign, w := " + ", width.Min
	if w < 0 {
		sign, w = " - ", -w
	}
	return one("$calc", name+sign+strconv.FormatFloat(round6(w), 'f', -1, 64))
}

// reference makes a value that a document has, so that the filter finds it; for the share of operations that found
// nothing, a value that no document has.
func (f *filler) reference(h *Hole, values, documents *Field, array bool) (any, bool) {
	shown := values.Values.Count() > 0 // otherwise nothing better is known
	if shown && h.Op != "" && h.Op != "$in" && h.Op != "$ne" || array && h.Op != "$in" && h.Op != "$nin" {
		return nil, false
	}
	if documents != nil && !f.same && documents.Values.labels() != nil {
		return nil, false // its values are chosen as often as the operations used them
	}
	if documents != nil && documents.Values.Type() == bson.TypeDateTime && f.w.present(f.c, h.Field, &documents.Values) {
		return nil, false
	}
	kind := "$ref"
	if values.Values.Skewed() || values.Element != nil && values.Element.Values.Skewed() {
		kind = "$zipf"
	}
	if f.remove && !array && h.Op == "" {
		kind = "$sequential" // what is removed is not found again
	}
	to := target{f.c.Name, h.Field}
	if f.same && f.chosen && h.Op == "" {
		return to.template("$ref", bson.E{Key: "same", Value: true}), true
	}
	ref := to.template(kind)
	f.chosen = true
	if array {
		return f.several(ref, values), true
	}
	of := &values.Values
	if documents != nil && documents.Values.Count() > 0 {
		of = &documents.Values
	}
	if missed := f.s.missed(); missed > 0.01 && !array && h.Op == "" {
		if none, ok := missing(of); ok {
			f.sure = false
			if missed > 0.999 {
				return none, true
			}
			share := math.Round(missed*1000) / 1000
			return weighted(bson.A{ref, none}, bson.A{1 - share, share}), true
		}
	}
	return ref, true
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
func (f *filler) refers(path string) bool { return path != "" && refersTo(f.c, path) }

func refersTo(c *Collection, path string) bool {
	if path == "_id" {
		return true
	}
	d := c.Documents
	if d == nil || d.N == 0 {
		return false
	}
	l, n := &d.Root, d.N
	for part := range strings.SplitSeq(path, ".") {
		if l == nil || l.Fields[part] == nil {
			return false
		}
		field := l.Fields[part]
		if field.Present*1000 < n*995 || len(field.Values.Types) > 1 {
			return false
		}
		l, n = field.Level, field.Present
		if t := field.Values.Type(); t == bson.TypeArray {
			return false
		}
	}
	return l == nil || l.Refs != nil
}
