package own

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// scope knows the fields of the document that is being compiled, so that later values can use them.
type scope struct {
	c      *compiler
	outer  *scope
	fields map[string]*segment
	inner  map[string]*scope   // of documents
	fixed  map[string]constant // fields that never change
	vars   map[string]int      // numbers of variables, nil where there are none
	ops    bool                // operators of MongoDB may occur
	coll   *collection         // whose template it is, otherwise nil
	path   string              // of the document in the template, with a dot at its end
	at     string              // name of the field that is being compiled
}

func (c *compiler) root() *scope {
	return &scope{fields: map[string]*segment{}, inner: map[string]*scope{}, fixed: map[string]constant{}, c: c}
}

func newScope(outer *scope) *scope {
	s := outer.c.root()
	s.outer, s.vars, s.ops, s.coll, s.path = outer, outer.vars, outer.ops, outer.coll, outer.path+outer.at+"."
	return s
}

// find returns a field by its path: in this document, or in one around it.
func (s *scope) find(path string) (value, bool) {
	for at := s; at != nil; at = at.outer {
		if v, ok := at.here(path); ok {
			return v, true
		}
	}
	return nil, false
}

// here returns a field of this document.
func (s *scope) here(path string) (value, bool) {
	if name, rest, deeper := strings.Cut(path, "."); deeper {
		in, ok := s.inner[name]
		if !ok {
			return nil, false
		}
		return in.here(rest)
	}
	if c, ok := s.fixed[path]; ok {
		return c, true
	}
	p, ok := s.fields[path]
	if !ok {
		return nil, false
	}
	if p.field < 0 {
		p.field = s.c.fields
		s.c.fields++
	}
	return fieldValue{p.field, p.value.most()}, true
}

// names lists the fields that find knows.
func (s *scope) names() []string {
	var list []string
	for at := s; at != nil; at = at.outer {
		list = append(list, slices.Collect(maps.Keys(at.fields))...)
		list = append(list, slices.Collect(maps.Keys(at.fixed))...)
	}
	slices.Sort(list)
	return list
}

// fieldValue repeats a value of the same document.
type fieldValue struct {
	number int
	size   int64 // most bytes
}

func (f fieldValue) append(dst []byte, e *env) ([]byte, byte) {
	s := e.fields[f.number]
	return append(dst, dst[s.start:s.end]...), s.kind
}

func errorAt(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d: %s", n.Line, fmt.Sprintf(format, args...))
}

// compile compiles a node.
func (c *compiler) compile(n *yaml.Node, s *scope) (value, error) {
	if n = resolve(n); n == nil {
		return constant{kind: rawbson.Null}, nil
	}
	if c.depth++; c.depth > 100 {
		return nil, errorAt(n, "nested too deeply")
	}
	defer func() { c.depth-- }()
	switch n.Kind {
	case yaml.ScalarNode:
		return scalar(n)
	case yaml.SequenceNode:
		return c.array(n, s)
	case yaml.MappingNode:
		if len(n.Content) >= 2 && strings.HasPrefix(n.Content[0].Value, "$") && !isDBRef(n) {
			if v, known, err := c.special(n, s); known || err != nil {
				return v, err
			}
		}
		return c.document(n, s)
	}
	return nil, errorAt(n, "this is not a value")
}

// special compiles a generator or a type of Extended JSON; known is false for anything else.
func (c *compiler) special(n *yaml.Node, s *scope) (v value, known bool, err error) {
	name, arg := n.Content[0], resolve(n.Content[1])
	if isExtended(n, name.Value, arg) {
		v, err := extendedJSON(n)
		return v, true, err
	}
	if g, ok := generators[name.Value]; ok {
		if len(n.Content) > 2 {
			return nil, true, errorAt(n.Content[2], "%s is next to the generator %s. A generator is the only key of its value",
				n.Content[2].Value, name.Value)
		}
		v, err := g(c, name, arg, s)
		return v, true, err
	}
	if s.ops {
		return nil, false, nil
	}
	known = true
	return nil, known, errorAt(name, "there is no generator %s%s (known: %s)", name.Value,
		nearest.DidYouMean(name.Value, generatorNames()), strings.Join(generatorNames(), ", "))
}

// document compiles a mapping.
func (c *compiler) document(n *yaml.Node, outer *scope) (value, error) {
	s := newScope(outer)
	d := &document{scope: s}
	reference := isDBRef(n)
	var seen []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case strings.ContainsRune(key.Value, 0):
			return nil, errorAt(key, "the name of a field has a zero byte")
		case slices.Contains(seen, key.Value):
			return nil, errorAt(key, "the field %s exists twice", key.Value)
		case strings.HasPrefix(key.Value, "$") && !s.ops && !reference:
			return nil, errorAt(key, "%s is next to other fields. A generator is the only key of its value", key.Value)
		}
		seen = append(seen, key.Value)
		s.at = key.Value
		v, err := c.element(n.Content[i+1], s)
		if err != nil {
			return nil, err
		}
		d.add(key.Value, v)
		if err := outer.fits(n, "document", d.most()); err != nil {
			return nil, err
		}
	}
	return d.fold(), nil
}

// isDBRef reports whether a mapping is a DBRef: $ref, $id and, if it is in another database, $db. Other fields may be
// behind them. The generator $ref has one key.
func isDBRef(n *yaml.Node) bool {
	if len(n.Content) < 4 || n.Content[0].Value != "$ref" || n.Content[2].Value != "$id" {
		return false
	}
	for i := 4; i < len(n.Content); i += 2 {
		if key := n.Content[i].Value; strings.HasPrefix(key, "$") && (key != "$db" || i > 4) {
			return false
		}
	}
	return true
}

// element compiles the value of a field. Fields that others refer to have a source of randomness of their own.
func (c *compiler) element(n *yaml.Node, s *scope) (value, error) {
	if s.coll == nil {
		return c.compile(n, s)
	}
	path := strings.TrimPrefix(s.path+s.at, ".")
	key, wanted := s.coll.keys[path]
	if !wanted {
		return c.compile(n, s)
	}
	c.key = true
	v, err := c.compile(n, c.root())
	c.key = false
	if err != nil {
		return nil, fmt.Errorf("%w. Other values refer to %s of %s, so it must not depend on other fields", err, path, s.coll.name)
	}
	key.found = true
	if _, same := v.(constant); !same {
		v = seeded{of: v, salt: key.salt}
	}
	key.value = v
	return v, nil
}

// add adds an element to a document.
func (d *document) add(name string, v value) {
	header := bsoncore.AppendHeader(nil, 0, name)
	d.size += int64(len(header)) + v.most()
	if k, ok := v.(constant); ok {
		header[0] = k.kind
		d.scope.fixed[name] = k
		if len(d.segments) == 0 || d.segments[len(d.segments)-1].value != nil {
			d.segments = append(d.segments, &segment{field: -1})
		}
		last := d.segments[len(d.segments)-1]
		last.literal = append(append(last.literal, header...), k.data...)
		return
	}
	p := &segment{header: header, value: v, field: -1}
	d.segments = append(d.segments, p)
	d.scope.fields[name] = p
	if in, ok := v.(*document); ok {
		d.scope.inner[name] = in.scope
	}
}

// fold returns a constant if nothing in the document changes.
func (d *document) fold() value {
	for _, p := range d.segments {
		if p.value != nil {
			return d
		}
	}
	b, _ := d.append(nil, nil)
	return constant{rawbson.Document, b}
}

func (c *compiler) array(n *yaml.Node, s *scope) (value, error) {
	var l list
	fixed, size := true, int64(0)
	for _, item := range n.Content {
		v, err := c.compile(item, newScope(s))
		if err != nil {
			return nil, err
		}
		_, same := v.(constant)
		fixed = fixed && same
		l = append(l, v)
		size += v.most() + elementHead
		if err := s.fits(n, "array", size); err != nil {
			return nil, err
		}
	}
	if fixed {
		b, _ := l.append(nil, nil)
		return constant{rawbson.Array, b}, nil
	}
	return l, nil
}

// scalar compiles a single value as JSON has it: whole numbers take 32 bits if they fit.
func scalar(n *yaml.Node) (value, error) {
	switch n.Tag {
	case "!!null":
		return constant{kind: rawbson.Null}, nil
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			return nil, errorAt(n, "%q is neither true nor false", n.Value)
		}
		return constant{rawbson.Bool, bsoncore.AppendBoolean(nil, b)}, nil
	case "!!int":
		var i int64
		if err := n.Decode(&i); err != nil {
			return nil, errorAt(n, "%s does not fit into 64 bits", n.Value)
		}
		return whole(i), nil
	case "!!float":
		var f float64
		if err := n.Decode(&f); err != nil {
			return nil, errorAt(n, "%q is not a number", n.Value)
		}
		return constant{rawbson.Double, bsoncore.AppendDouble(nil, f)}, nil
	case "!!timestamp":
		at, err := parseDate(n)
		return constant{rawbson.Date, bsoncore.AppendDateTime(nil, at)}, err
	}
	return text(n.Value), nil
}

func whole(i int64) constant {
	if i >= math.MinInt32 && i <= math.MaxInt32 {
		return constant{rawbson.Int32, bsoncore.AppendInt32(nil, int32(i))}
	}
	return constant{rawbson.Int64, bsoncore.AppendInt64(nil, i)}
}

func text(s string) constant { return constant{rawbson.String, bsoncore.AppendString(nil, s)} }

// parseDate reads a day or a time, in milliseconds since 1970.
func parseDate(n *yaml.Node) (int64, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02"} {
		if at, err := time.Parse(layout, n.Value); err == nil {
			return at.UnixMilli(), nil
		}
	}
	return 0, errorAt(n, "%q is not a date: write it like 2026-01-31 or 2026-01-31T12:00:00Z", n.Value)
}

// extendedTypes are the types of Extended JSON that are not written as plain values.
var extendedTypes = []string{"$oid", "$symbol", "$numberInt", "$numberLong", "$numberDouble", "$numberDecimal", "$binary",
	"$code", "$timestamp", "$regularExpression", "$dbPointer", "$date", "$minKey", "$maxKey", "$undefined", "$uuid"}

// isExtended reports whether a value is Extended JSON and no generator of the same name.
func isExtended(n *yaml.Node, name string, arg *yaml.Node) bool {
	if !slices.Contains(extendedTypes, name) || name != "$code" && len(n.Content) != 2 {
		return false
	}
	inner := ""
	if arg.Kind == yaml.MappingNode && len(arg.Content) > 0 {
		inner = arg.Content[0].Value
	}
	switch name {
	case "$date":
		return arg.Kind == yaml.ScalarNode && arg.Value != "now" || inner == "$numberLong"
	case "$binary":
		return inner == "base64" || inner == "subType"
	case "$uuid":
		return arg.Kind == yaml.ScalarNode
	}
	return true
}

func extendedJSON(n *yaml.Node) (value, error) {
	if arg := resolve(n.Content[1]); n.Content[0].Value == "$date" && arg.Kind == yaml.ScalarNode {
		at, err := parseDate(arg)
		return constant{rawbson.Date, bsoncore.AppendDateTime(nil, at)}, err
	}
	b, err := appendJSON([]byte(`{"v":`), n)
	if err != nil {
		return nil, errorAt(n, "%v", err)
	}
	var doc bson.Raw
	if err := bson.UnmarshalExtJSON(append(b, '}'), false, &doc); err != nil {
		return nil, errorAt(n, "this is not Extended JSON: %s", strings.TrimPrefix(err.Error(), "error decoding key v: "))
	}
	v := doc.Lookup("v")
	return constant{byte(v.Type), v.Value}, nil
}

// options are the keys of a generator.
type options struct {
	c    *compiler
	name *yaml.Node
	keys map[string]*yaml.Node
	err  error
}

// read reads the keys of a generator. A single value is that of the first key.
func (c *compiler) read(name, arg *yaml.Node, known ...string) *options {
	o := &options{c: c, name: name, keys: map[string]*yaml.Node{}}
	if arg.Kind != yaml.MappingNode {
		if !(arg.Kind == yaml.ScalarNode && arg.Tag == "!!null") {
			o.keys[known[0]] = arg
		}
		return o
	}
	for i := 0; i+1 < len(arg.Content); i += 2 {
		key := arg.Content[i]
		if !slices.Contains(known, key.Value) {
			o.fail(key, "unknown key %q in %s%s (known: %s)", key.Value, name.Value, nearest.DidYouMean(key.Value, known),
				strings.Join(known, ", "))
		}
		o.keys[key.Value] = resolve(arg.Content[i+1])
	}
	return o
}

func (o *options) fail(at *yaml.Node, format string, args ...any) {
	if o.err == nil {
		o.err = errorAt(at, format, args...)
	}
}

func (o *options) has(key string) bool { return o.keys[key] != nil }

// whole reads a whole number; k, M and G are multipliers.
func (o *options) whole(key string, fallback int64) int64 {
	n := o.keys[key]
	if n == nil {
		return fallback
	}
	i, err := parseWhole(n)
	if err != nil {
		o.fail(n, "%s of %s: %v", key, o.name.Value, err)
	}
	return i
}

func parseWhole(n *yaml.Node) (int64, error) {
	s, factor := n.Value, int64(1)
	for suffix, f := range map[string]int64{"k": 1e3, "M": 1e6, "G": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "kB": 1e3, "MB": 1e6} {
		if cut, ok := strings.CutSuffix(s, suffix); ok && cut != "" && cut[len(cut)-1] <= '9' {
			s, factor = cut, f
		}
	}
	i, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(s, 64)
		if ferr != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return 0, fmt.Errorf("%q is not a whole number", n.Value)
		}
		i = int64(f)
	}
	if i > math.MaxInt64/factor || i < math.MinInt64/factor {
		return 0, fmt.Errorf("%s does not fit into 64 bits", n.Value)
	}
	return i * factor, nil
}

// number reads a number, or a share with %.
func (o *options) number(key string, fallback float64) float64 {
	n := o.keys[key]
	if n == nil {
		return fallback
	}
	s, percent := strings.CutSuffix(n.Value, "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		o.fail(n, "%s of %s: %q is not a number", key, o.name.Value, n.Value)
	}
	if percent {
		f /= 100
	}
	return f
}

// share reads a number from 0 to 1.
func (o *options) share(key string, fallback float64) float64 {
	f := o.number(key, fallback)
	if !(f >= 0 && f <= 1) {
		o.fail(o.keys[key], "%s of %s is %v: it must be from 0 to 100%%", key, o.name.Value, f)
	}
	return f
}

func (o *options) text(key string) string {
	if n := o.keys[key]; n != nil {
		return n.Value
	}
	return ""
}

func (o *options) date(key string, fallback int64) int64 {
	n := o.keys[key]
	if n == nil {
		return fallback
	}
	at, err := parseDate(n)
	if err != nil && o.err == nil {
		o.err = err
	}
	return at
}

// extent is a range of whole numbers, both included: written as a number, or as {min, max}.
type extent struct{ least, n int64 }

func (x extent) pick(r *workload.Random) int64 {
	if x.n == 1 {
		return x.least
	}
	return x.least + r.Below(x.n)
}

// extent reads a range of sizes.
func (o *options) extent(key string, fallback int64) extent {
	n := o.keys[key]
	if n == nil {
		return extent{fallback, 1}
	}
	least, most := int64(0), int64(0)
	if n.Kind == yaml.MappingNode {
		in := o.c.read(&yaml.Node{Value: key + " of " + o.name.Value, Line: n.Line}, n, "min", "max")
		least = in.whole("min", 0)
		most = in.whole("max", least)
		if o.err == nil {
			o.err = in.err
		}
	} else {
		least = o.whole(key, 0)
		most = least
	}
	const mostSize = 16 << 20
	if least < 0 || most < least || most > mostSize {
		o.fail(n, "%s of %s: from %d to %d is not a range from 0 to 16 Mi", key, o.name.Value, least, most)
		return extent{0, 1}
	}
	return extent{least, most - least + 1}
}

// closeText ends a string value whose length is at start.
func closeText(dst []byte, start int) []byte {
	dst = append(dst, 0)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}
