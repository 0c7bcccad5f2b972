package recorded

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/workload/own"
)

// gather finds the collections of the operations and what is known of them.
func (w *writer) gather() {
	for _, c := range w.src.Collections {
		if c.Database == w.src.Database {
			copied := *c
			w.byName[c.Name] = &copied
		}
	}
	add := func(name string) {
		if name != "" && w.byName[name] == nil {
			w.byName[name] = &Collection{Database: w.src.Database, Name: name}
		}
	}
	for _, s := range w.shapes {
		add(s.Collection)
		for _, name := range lookedUp(s.Tree) {
			w.named[name] = true
			add(name)
		}
	}
	var views []string
	for name, c := range w.byName {
		if c.Options == nil {
			c.Options = w.m.shown[namespace{c.Database, name}]
		}
		if on := text(c.Options, "viewOn"); on != "" {
			views = append(views, on)
		}
	}
	for _, on := range views {
		add(on)
	}
}

// text is a text of a document, "" if there is none.
func text(doc bson.Raw, path ...string) string {
	s, _ := doc.Lookup(path...).StringValueOK()
	return s
}

// lookedUp returns the collections that pipelines name beside their own.
func lookedUp(v any) (names []string) {
	switch v := v.(type) {
	case bson.D:
		for _, e := range v {
			switch e.Key {
			case "$lookup", "$graphLookup", "$unionWith":
				if name, ok := e.Value.(string); ok {
					names = append(names, name)
				}
				args, _ := e.Value.(bson.D)
				for _, a := range args {
					if name, ok := a.Value.(string); ok && (a.Key == "from" || a.Key == "coll") {
						names = append(names, name)
					}
				}
			}
			names = append(names, lookedUp(e.Value)...)
		}
	case bson.A:
		for _, e := range v {
			names = append(names, lookedUp(e)...)
		}
	}
	return names
}

// base returns the collection whose documents a collection or view has.
func (w *writer) base(name string) *Collection {
	for range 20 {
		c := w.byName[name]
		if c == nil || text(c.Options, "viewOn") == "" {
			return c
		}
		name = text(c.Options, "viewOn")
	}
	return nil
}

// learn describes documents that nobody sampled, and learns from what operations found how documents must be so that
// the same operations find as much.
func (w *writer) learn() {
	for _, name := range sortedKeys(w.byName) {
		c := w.byName[name]
		if c.Documents == nil || c.Documents.N == 0 {
			c.Documents = w.m.Inserted(c.Database, c.Name)
		}
		if c.Documents == nil || c.Documents.N == 0 {
			c.Documents = w.fromHoles(c)
		}
		w.learnIndexes(c)
		if _, walk := w.definition(c); walk != nil {
			if on := w.base(name); on != nil {
				w.compares(on, walk.holes)
			}
		}
	}
	for _, s := range w.shapes {
		c := w.base(s.Collection)
		if c == nil {
			continue
		}
		w.compares(c, s.Holes)
		if s.Verb != "find" || s.Results.Known == 0 {
			continue
		}
		found := float64(s.Results.Docs) / float64(max(s.Results.Known-s.Results.Empty, 1))
		limit := math.Inf(1)
		if n, ok := valueOf(s.Tree, "limit").(int64); ok && n != 0 {
			limit = math.Abs(float64(n))
		}
		for _, h := range s.Holes {
			at := fieldOf{c.Name, h.Field}
			switch {
			case h.Field == "":
			case strings.Contains(h.Kind, "regex") && w.begins[at] == nil:
				w.learnBegins(c, h, s.Values[h.N], found, limit)
			case len(s.Holes) == 1 && h.Op == "" && h.Above == nil && found < 0.9*limit && w.repeats[at] == 0:
				if _, equal := valueOf(s.Tree, "filter").(bson.D); equal && !strings.HasPrefix(h.Kind, "array<") {
					w.repeats[at] = found
				}
			}
		}
	}
}

// compares notes the fields that filters compare with bounds.
func (w *writer) compares(c *Collection, holes []*Hole) {
	for _, h := range holes {
		if comparesOrder[h.Op] && h.Field != "" {
			w.compared[fieldOf{c.Name, h.Field}] = true
		}
	}
}

// valueOf returns the value of a key, nil if there is none.
func valueOf(d bson.D, key string) any {
	for _, e := range d {
		if e.Key == key {
			return e.Value
		}
	}
	return nil
}

// learnBegins makes the texts of a field begin so that a regular expression finds as many as it found.
func (w *writer) learnBegins(c *Collection, h *Hole, patterns *Field, found, limit float64) {
	documents := float64(c.Count)
	if documents <= 0 {
		documents = assumedCount
	}
	if found >= 0.9*limit {
		found = 2 * limit
	}
	size := math.Min(math.Max(math.Round(patterns.Values.Length.Mean()), 1), 20)
	if !strings.HasPrefix(h.Kind, "^") {
		size = math.Max(size, 4) // fewer letters are also elsewhere in random texts
	}
	count := math.Max(math.Round(documents/math.Max(found, 1)), 1)
	for math.Pow(26, size) < count {
		size++
	}
	w.begins[fieldOf{c.Name, h.Field}] = bson.D{{Key: "begins", Value: int64(count)}, {Key: "begin", Value: int64(size)}}
}

// pattern makes a regular expression that finds as many documents as the recorded one.
func (f *filler) pattern(h *Hole, values, documents *Field) any {
	f.sure = false
	kind, options, _ := strings.Cut(strings.TrimPrefix(h.Kind, "^"), "/")
	anchored := strings.HasPrefix(h.Kind, "^")
	if f.s.Results.Known > 0 && f.s.Results.Empty == f.s.Results.Known {
		return bson.Regex{Pattern: map[bool]string{true: "^"}[anchored] + "~~~", Options: options}
	}
	if documents != nil && documents.Element != nil {
		documents = documents.Element
	}
	if documents != nil {
		if l := documents.Values.labels(); l != nil && !l.numbers {
			return l.pattern(&values.Values, anchored, options)
		}
	}
	b := slices.Clone(f.w.begins[fieldOf{f.c.Name, h.Field}])
	if b == nil || kind != "regex" {
		return bson.Regex{Pattern: "^a", Options: options}
	}
	if !anchored {
		b = append(b, bson.E{Key: "anywhere", Value: true})
	}
	if options != "" {
		b = append(b, bson.E{Key: "options", Value: options})
	}
	return one("$pattern", b)
}

// pattern makes regular expressions that find the labels of the texts that the recorded ones found.
func (l *labels) pattern(used *Values, anchored bool, options string) any {
	var of, weights bson.A
	begin := map[bool]string{true: "^"}[anchored]
	flags := ""
	if strings.Contains(options, "i") {
		flags = "(?i)"
	}
	for _, key := range sortedKeys(used.examples) {
		e := used.examples[key]
		text, _, _ := e.value.RegexOK()
		re, err := regexp.Compile(flags + text)
		if err != nil {
			continue
		}
		var found []string
		for i, v := range l.values {
			if s, ok := v.value.StringValueOK(); ok && re.MatchString(s) {
				found = append(found, fmt.Sprint(l.label(i)))
			}
		}
		pattern := begin + "~~~"
		switch len(found) {
		case 0:
		case 1:
			pattern = begin + found[0]
		default:
			pattern = begin + "(" + strings.Join(found, "|") + ")"
		}
		of, weights = append(of, bson.Regex{Pattern: pattern, Options: options}), append(weights, e.n)
	}
	if len(of) == 0 {
		return bson.Regex{Pattern: begin + "v", Options: options}
	}
	return weighted(of, weights)
}

// planned finds the indexes in a plan summary, such as IXSCAN { a: 1, "b.c": -1 }.
var planned = expression.New(`(IXSCAN|COUNT_SCAN|DISTINCT_SCAN|GEO_NEAR_2D|GEO_NEAR_2DSPHERE) \{ ([^}]*) \}`)

// learnIndexes adds the indexes that plans used, where nobody listed them.
func (w *writer) learnIndexes(c *Collection) {
	if c.Indexes != nil {
		return
	}
	known := map[string]bool{"_id: 1": true}
	for _, s := range w.shapes {
		if w.base(s.Collection) != c {
			continue
		}
		for _, plan := range sortedKeys(s.Results.Plans) {
			for _, m := range planned().FindAllStringSubmatch(plan, -1) {
				if !known[m[2]] {
					known[m[2]] = true
					w.plannedIndex(c, s, m[2])
				}
			}
		}
	}
	if len(c.Indexes) > 0 {
		w.unseen = append(w.unseen, fmt.Sprintf("Indexes of %s are those that plans used. Others are not known.", c.Name))
	}
}

func (w *writer) plannedIndex(c *Collection, s *Shape, text string) {
	keys := bson.D{}
	for part := range strings.SplitSeq(text, ", ") {
		field, how, ok := strings.Cut(part, ": ")
		if !ok || field == "" || strings.HasPrefix(field, "_fts") {
			return
		}
		if n, err := strconv.ParseFloat(how, 64); err == nil {
			keys = append(keys, bson.E{Key: strings.Trim(field, `"`), Value: int64(n)})
			continue
		}
		keys = append(keys, bson.E{Key: strings.Trim(field, `"`), Value: strings.Trim(how, `"`)})
	}
	name := strings.NewReplacer(": ", "_", ", ", "_", `"`, "").Replace(text)
	if hint, ok := valueOf(s.Tree, "hint").(string); ok && len(s.Results.Plans) == 1 {
		name = hint
	}
	index, err := bson.Marshal(bson.D{{Key: "key", Value: keys}, {Key: "name", Value: name}})
	if err == nil {
		c.Indexes = append(c.Indexes, index)
	}
}

// special describes what a collection is besides its documents; true for a view, which has none.
func (w *writer) special(out *own.Collection, c *Collection) bool {
	if on := text(c.Options, "viewOn"); on != "" {
		*out = own.Collection{Name: c.Name, View: &own.View{On: on}}
		if tree, walk := w.definition(c); walk != nil {
			out.View.Pipeline = own.TemplateOf(w.constants(c, tree, walk))
		}
	}
	if doc, ok := c.Options.Lookup("collation").DocumentOK(); ok {
		out.Collation = own.TemplateOf(collationOf(doc))
	}
	if out.View != nil {
		return true
	}
	if capped, _ := c.Options.Lookup("capped").BooleanOK(); capped {
		size := number(c.Options, "size")
		if d := c.Documents; d != nil && !d.synthetic { // the load phase needs room for what it counts
			size = max(size, c.Count*int64(d.Size.Max+64))
		}
		out.Capped = &own.Capped{Size: spec.Size(max(size, 4096)), Max: countOf(number(c.Options, "max"))}
	}
	if series, ok := c.Options.Lookup("timeseries").DocumentOK(); ok {
		out.TimeSeries = &own.TimeSeries{Time: w.m.Names.path(text(series, "timeField")), Meta: w.m.Names.path(text(series, "metaField")),
			Granularity: text(series, "granularity")}
		if seconds := number(c.Options, "expireAfterSeconds"); seconds > 0 {
			d := spec.Duration(time.Duration(min(seconds, math.MaxInt32)) * time.Second)
			out.TimeSeries.ExpireAfter = &d
		}
	}
	return false
}

// definition is the pipeline of a view, nil of other collections.
func (w *writer) definition(c *Collection) (tree any, walk *walker) {
	v := c.Options.Lookup("pipeline")
	if v.Type != bson.TypeArray || text(c.Options, "viewOn") == "" {
		return nil, nil
	}
	walk = &walker{names: w.m.Names, computed: map[string]bool{}}
	return walk.pipeline(v), walk
}

// collationOf leaves out what the server adds to a collation.
func collationOf(doc bson.Raw) bson.D {
	out := bson.D{}
	for _, e := range elementsOf(doc) {
		if e.Key() != "version" {
			out = append(out, bson.E{Key: e.Key(), Value: plainValue(e.Value())})
		}
	}
	return out
}

// constants replaces the holes of a tree by values that stand for the recorded ones. A definition has no generators.
func (w *writer) constants(c *Collection, v any, walk *walker) any {
	switch v := v.(type) {
	case bson.D:
		out := bson.D{}
		for _, e := range v {
			out = append(out, bson.E{Key: e.Key, Value: w.constants(c, e.Value, walk)})
		}
		return out
	case bson.A:
		out := bson.A{}
		for _, e := range v {
			out = append(out, w.constants(c, e, walk))
		}
		return out
	case *Hole:
		return w.constant(c, v, walk.values[v.N])
	}
	return v
}

func (w *writer) constant(c *Collection, h *Hole, v bson.RawValue) any {
	if w.m.Options.Values || h.Field == "" {
		return exact(v)
	}
	on := w.base(c.Name)
	if on == nil {
		return exact(v)
	}
	f := on.Documents.At(h.Field)
	if f != nil && f.Element != nil {
		f = f.Element
	}
	if f == nil || f.Values.Count() == 0 {
		return exact(v)
	}
	if list, ok := v.ArrayOK(); ok {
		out := bson.A{}
		values, _ := list.Values()
		for _, e := range values {
			out = append(out, w.constant(c, h, e))
		}
		return out
	}
	if l := f.Values.labels(); l != nil {
		at := slices.IndexFunc(l.values, func(e example) bool { return sameValue(e.value, v) })
		if at >= 0 {
			return l.label(at)
		}
		if !l.numbers {
			return l.label(len(l.values))
		}
	}
	if x := onScale(v); !math.IsNaN(x) && f.Values.scale.N > 0 {
		return f.Values.constant(f.Values.moved(x), v.Type)
	}
	return exact(v)
}

// constant makes a number or a date of the scale of a field.
func (v *Values) constant(x float64, t bson.Type) any {
	switch t {
	case bson.TypeDateTime:
		return bson.DateTime(x)
	case bson.TypeDouble, bson.TypeDecimal128:
		return round6(x)
	}
	return int64(math.Round(x))
}

// lasting says how long the documents of a collection last that operations remove faster than others insert.
func (w *writer) lasting(f own.File) {
	period := cmp.Or(w.src.Period, w.m.Period()).Seconds()
	for _, c := range f.Collections {
		removed, inserted := 0.0, 0.0
		for _, s := range w.shapes {
			if s.Collection != c.Name {
				continue
			}
			docs := float64(s.Docs)
			if s.Verb == "insert" {
				inserted += math.Max(docs, float64(s.Count))
			}
			remove, _ := valueOf(s.Tree, "remove").(bool)
			if s.Verb == "delete" || remove {
				removed += docs
			}
		}
		if removed <= inserted*1.05 || removed-inserted < 1 || period <= 0 {
			continue
		}
		lasts := time.Duration(float64(c.Count) / ((removed - inserted) / period) * float64(time.Second))
		if lasts < 0 || lasts > 365*24*time.Hour {
			continue
		}
		w.unseen = append(w.unseen, fmt.Sprintf("Operations remove more documents of %s than they insert. At the recorded rate, the %v "+
			"documents of the load phase last for about %v. A longer run finds fewer and fewer.", c.Name, c.Count, lasts.Round(time.Second)))
	}
}

// findReferences learns from $lookup stages which fields have the values of a field of another collection.
func (w *writer) findReferences(shapes []*Shape) {
	for _, s := range shapes {
		for _, e := range s.Tree {
			if stages, ok := e.Value.(bson.A); ok && e.Key == "pipeline" {
				for _, stage := range stages {
					w.findReference(s.Collection, stage)
				}
			}
		}
	}
}

func (w *writer) findReference(collection string, stage any) {
	d, _ := stage.(bson.D)
	if len(d) != 1 || d[0].Key != "$lookup" {
		return
	}
	args, _ := d[0].Value.(bson.D)
	get := func(name string) string {
		s, _ := valueOf(args, name).(string)
		return s
	}
	from, local, foreign := w.base(get("from")), get("localField"), get("foreignField")
	of := w.base(collection)
	if from == nil || of == nil || from == of || local == "" || foreign == "" {
		return
	}
	switch {
	case foreign == "_id", local != "_id" && refersTo(from, foreign):
		w.references[fieldOf{of.Name, local}] = target{from.Name, foreign}
	case local == "_id":
		w.references[fieldOf{from.Name, foreign}] = target{of.Name, "_id"}
	}
}
