package recorded

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Hole is the place of a value in a shape.
type Hole struct {
	Field string // the path in documents, "" if the value belongs to none
	Kind  string // as in $queryStats: number, string, objectId, date, array<?number>, …
	N     int    // index of its values
}

// String returns the notation of $queryStats.
func (h *Hole) String() string { return "?" + h.Kind }

// Names makes the names of fields that a workload shows.
type Names struct {
	key []byte // nil: as they are
}

// HashedNames replaces each part of a field name by its keyed hash. Without the key nobody can find the name by trying.
func HashedNames(key []byte) *Names { return &Names{key: key} }

// part returns the name for one part of a path. Numbers, operators, variables of the server and _id stay.
func (n *Names) part(s string) string {
	if n == nil || n.key == nil || s == "" || s == "_id" || s[0] == '$' {
		return s
	}
	if _, err := strconv.Atoi(s); err == nil {
		return s
	}
	h := hmac.New(sha256.New, n.key)
	h.Write([]byte(s))
	return "f" + hex.EncodeToString(h.Sum(nil)[:5])
}

// path returns the name for a path.
func (n *Names) path(s string) string {
	parts := strings.Split(s, ".")
	for i, p := range parts {
		parts[i] = n.part(p)
	}
	return strings.Join(parts, ".")
}

// serverVariables are the variables that the server defines.
var serverVariables = map[string]bool{"ROOT": true, "CURRENT": true, "REMOVE": true, "NOW": true, "CLUSTER_TIME": true,
	"DESCEND": true, "PRUNE": true, "KEEP": true, "this": true, "value": true, "SEARCH_META": true, "USER_ROLES": true}

// reference returns the name for a field path ($a.b) or variable ($$v.a) in an expression.
func (n *Names) reference(s string) string {
	bare := strings.TrimLeft(s, "$")
	dollars := s[:len(s)-len(bare)]
	if len(dollars) < 2 {
		return dollars + n.path(bare)
	}
	variable, rest, dotted := strings.Cut(bare, ".")
	if !serverVariables[variable] {
		variable = n.part(variable)
	}
	if dotted {
		return dollars + variable + "." + n.path(rest)
	}
	return dollars + variable
}

// walker replaces the values of a command by holes.
type walker struct {
	names  *Names
	typed  bool // values are names of types already, as in $queryStats
	masked bool // texts can be masks, whose kind is not known
	values []bson.RawValue
	holes  []*Hole
}

// shapeOf returns the command of op with holes, and the values in them. typed says that the command comes from
// $queryStats.
func shapeOf(op *Operation, names *Names, typed bool) (tree bson.D, holes []*Hole, values []bson.RawValue) {
	w := &walker{names: names, typed: typed, masked: op.Redacted}
	for _, e := range elementsOf(op.Command) {
		if v, ok := w.argument(op.Verb, e.Key(), e.Value()); ok {
			tree = append(tree, bson.E{Key: e.Key(), Value: v})
		}
	}
	return tree, w.holes, w.values
}

// argument shapes one argument of a command; false leaves it out.
func (w *walker) argument(verb, key string, v bson.RawValue) (any, bool) {
	switch key {
	case verb:
		return plainValue(v), true
	case "filter", "query", "min", "max":
		return w.filter(v), true
	case "pipeline":
		return w.pipeline(v), true
	case "sort", "hint":
		if v.Type == bson.TypeString && w.names != nil {
			return nil, false // the name of an index has names of fields
		}
		return w.keys(v), true
	case "projection", "fields":
		return w.projection(v), true
	case "key":
		s, _ := v.StringValueOK()
		return w.names.path(s), true
	case "update":
		return w.update("", v), true
	case "updates", "deletes":
		return w.statements(v), true
	case "documents":
		return nil, false
	case "arrayFilters":
		return w.list(v, w.filter), true
	case "skip":
		return w.hole("", v), true
	case "let":
		return w.expression(v), true
	case "limit":
		if w.typed {
			return w.hole("", v), true
		}
		return plainValue(v), true
	case "collation", "readConcern", "writeConcern", "$readPreference", "remove", "new", "upsert", "ordered",
		"tailable", "awaitData", "singleBatch", "allowDiskUse":
		return plainValue(v), true
	}
	return nil, false // batchSize, cursor, maxTimeMS and the like do not change what an operation does
}

// statements shapes the statements of an update or delete.
func (w *walker) statements(v bson.RawValue) any {
	return w.list(v, func(v bson.RawValue) any {
		var out bson.D
		for _, e := range documentOf(v) {
			switch key := e.Key(); key {
			case "q":
				out = append(out, bson.E{Key: key, Value: w.filter(e.Value())})
			case "u":
				out = append(out, bson.E{Key: key, Value: w.update("", e.Value())})
			case "arrayFilters":
				out = append(out, bson.E{Key: key, Value: w.list(e.Value(), w.filter)})
			case "multi", "upsert", "limit", "collation":
				out = append(out, bson.E{Key: key, Value: plainValue(e.Value())})
			case "hint":
				if e.Value().Type == bson.TypeEmbeddedDocument {
					out = append(out, bson.E{Key: key, Value: w.keys(e.Value())})
				}
			}
		}
		return out
	})
}

// filter shapes a query.
func (w *walker) filter(v bson.RawValue) any {
	if v.Type != bson.TypeEmbeddedDocument {
		return w.hole("", v)
	}
	out := bson.D{}
	for _, e := range documentOf(v) {
		key := e.Key()
		switch key {
		case "$and", "$or", "$nor":
			out = append(out, bson.E{Key: key, Value: w.list(e.Value(), w.filter)})
		case "$expr":
			out = append(out, bson.E{Key: key, Value: w.expression(e.Value())})
		case "$comment":
		case "$text", "$where", "$jsonSchema":
			out = append(out, bson.E{Key: key, Value: w.condition(key, e.Value())})
		default:
			if key != "" && key[0] == '$' { // operators at the top, as in $pull or $elemMatch
				out = append(out, bson.E{Key: key, Value: w.operator("", key, e.Value())})
				continue
			}
			out = append(out, bson.E{Key: w.names.path(key), Value: w.condition(key, e.Value())})
		}
	}
	return out
}

// condition shapes what a field is compared with.
func (w *walker) condition(field string, v bson.RawValue) any {
	if !isOperators(v) {
		return w.hole(field, v)
	}
	elements := documentOf(v)
	if len(elements) == 1 && elements[0].Key() == "$eq" {
		return w.hole(field, elements[0].Value()) // $queryStats has it, applications leave it out
	}
	out := bson.D{}
	for _, e := range elements {
		out = append(out, bson.E{Key: e.Key(), Value: w.operator(field, e.Key(), e.Value())})
	}
	return out
}

// operator shapes the operand of a query operator.
func (w *walker) operator(field, op string, v bson.RawValue) any {
	switch op {
	case "$exists", "$type", "$options", "$size", "$language", "$caseSensitive", "$diacriticSensitive":
		if w.typed {
			return w.hole("", v)
		}
		return plainValue(v)
	case "$not":
		return w.condition(field, v)
	case "$elemMatch":
		if isOperators(v) {
			return w.condition(field, v)
		}
		before := len(w.holes)
		out := w.filter(v)
		for _, h := range w.holes[before:] {
			h.Field = strings.Trim(w.names.path(field)+"."+h.Field, ".")
		}
		return out
	case "$all":
		return w.hole(field, v)
	case "$and", "$or", "$nor":
		return w.list(v, w.filter)
	}
	return w.hole(field, v)
}

// update shapes the change of an update: operators, a pipeline or a whole document.
func (w *walker) update(_ string, v bson.RawValue) any {
	if v.Type == bson.TypeArray {
		return w.pipeline(v)
	}
	if !isOperators(v) {
		return w.hole("", v)
	}
	out := bson.D{}
	for _, e := range documentOf(v) {
		var fields bson.D
		for _, f := range documentOf(e.Value()) {
			fields = append(fields, bson.E{Key: w.names.path(f.Key()), Value: w.change(e.Key(), f.Key(), f.Value())})
		}
		out = append(out, bson.E{Key: e.Key(), Value: fields})
	}
	return out
}

// change shapes the operand of an update operator.
func (w *walker) change(op, field string, v bson.RawValue) any {
	switch op {
	case "$unset":
		return ""
	case "$pop", "$currentDate":
		return plainValue(v)
	case "$rename":
		s, _ := v.StringValueOK()
		return w.names.path(s)
	case "$pull":
		if isOperators(v) {
			return w.condition(field, v)
		}
		if v.Type == bson.TypeEmbeddedDocument {
			return w.filter(v)
		}
	case "$push", "$addToSet":
		if !isOperators(v) {
			break
		}
		out := bson.D{}
		for _, e := range documentOf(v) {
			switch e.Key() {
			case "$each":
				out = append(out, bson.E{Key: "$each", Value: w.hole(field, e.Value())})
			case "$sort":
				out = append(out, bson.E{Key: "$sort", Value: w.keys(e.Value())})
			default:
				out = append(out, bson.E{Key: e.Key(), Value: plainValue(e.Value())})
			}
		}
		return out
	}
	return w.hole(field, v)
}

// keys shapes a sort order or the keys of an index.
func (w *walker) keys(v bson.RawValue) any {
	if v.Type != bson.TypeEmbeddedDocument {
		return plainValue(v)
	}
	out := bson.D{}
	for _, e := range documentOf(v) {
		out = append(out, bson.E{Key: w.names.path(e.Key()), Value: plainValue(e.Value())})
	}
	return out
}

// projection shapes a projection, which may have expressions.
func (w *walker) projection(v bson.RawValue) any {
	out := bson.D{}
	for _, e := range documentOf(v) {
		key, val := w.names.path(e.Key()), e.Value()
		if _, number := val.AsInt64OK(); number || val.Type == bson.TypeBoolean || val.Type == bson.TypeDouble {
			out = append(out, bson.E{Key: key, Value: plainValue(val)})
			continue
		}
		out = append(out, bson.E{Key: key, Value: w.expression(val)})
	}
	return out
}

// hole replaces a value by a hole. Null, minKey and maxKey stay, because they are no data.
func (w *walker) hole(field string, v bson.RawValue) any {
	kind := kindOf(v)
	if w.typed {
		if s, ok := v.StringValueOK(); ok && strings.HasPrefix(s, "?") {
			kind = s[1:]
		}
	}
	if s, ok := v.StringValueOK(); ok && s == mask && w.masked {
		kind = ""
	}
	switch kind {
	case "null", "minKey", "maxKey":
		return plainValue(v)
	}
	h := &Hole{Field: w.names.path(field), Kind: kind, N: len(w.holes)}
	w.holes, w.values = append(w.holes, h), append(w.values, v)
	return h
}

// list shapes the elements of an array.
func (w *walker) list(v bson.RawValue, each func(bson.RawValue) any) any {
	array, ok := v.ArrayOK()
	if !ok {
		return w.hole("", v)
	}
	values, err := array.Values()
	if err != nil {
		return w.hole("", v)
	}
	out := bson.A{}
	for _, e := range values {
		out = append(out, each(e))
	}
	return out
}

// isOperators reports whether v is a document of operators.
func isOperators(v bson.RawValue) bool {
	elements := documentOf(v)
	return len(elements) > 0 && strings.HasPrefix(elements[0].Key(), "$") && elements[0].Key() != "$ref" &&
		elements[0].Key() != "$id"
}

// documentOf returns the elements of a document, none for anything else.
func documentOf(v bson.RawValue) []bson.RawElement {
	doc, ok := v.DocumentOK()
	if !ok {
		return nil
	}
	return elementsOf(doc)
}

func elementsOf(doc bson.Raw) []bson.RawElement {
	elements, err := doc.Elements()
	if err != nil {
		return nil
	}
	return elements
}

// plainValue keeps a value that is part of the shape.
func plainValue(v bson.RawValue) any {
	switch v.Type {
	case bson.TypeString:
		return v.StringValue()
	case bson.TypeInt32:
		return int64(v.Int32())
	case bson.TypeInt64:
		return v.Int64()
	case bson.TypeDouble:
		if f := v.Double(); f == float64(int64(f)) { // shells send 1.0 for 1
			return int64(f)
		}
		return v.Double()
	case bson.TypeBoolean:
		return v.Boolean()
	case bson.TypeNull, bson.TypeUndefined:
		return nil
	case bson.TypeEmbeddedDocument:
		out := bson.D{}
		for _, e := range documentOf(v) {
			out = append(out, bson.E{Key: e.Key(), Value: plainValue(e.Value())})
		}
		return out
	case bson.TypeArray:
		out := bson.A{}
		values, _ := v.Array().Values()
		for _, e := range values {
			out = append(out, plainValue(e))
		}
		return out
	}
	return v
}

// kindOf is the kind of a value in the notation of $queryStats.
func kindOf(v bson.RawValue) string {
	switch v.Type {
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeDecimal128:
		return "number"
	case bson.TypeString, bson.TypeSymbol:
		return "string"
	case bson.TypeBoolean:
		return "bool"
	case bson.TypeObjectID:
		return "objectId"
	case bson.TypeDateTime:
		return "date"
	case bson.TypeEmbeddedDocument, bson.TypeDBPointer:
		return "object"
	case bson.TypeBinary:
		return "binData"
	case bson.TypeRegex:
		return "regex"
	case bson.TypeTimestamp:
		return "timestamp"
	case bson.TypeNull, bson.TypeUndefined:
		return "null"
	case bson.TypeMinKey:
		return "minKey"
	case bson.TypeMaxKey:
		return "maxKey"
	case bson.TypeArray:
		return arrayKind(v)
	}
	return "javascript"
}

// arrayKind is array<?KIND> if all elements are of one kind, otherwise array<>.
func arrayKind(v bson.RawValue) string {
	values, err := v.Array().Values()
	if err != nil || len(values) == 0 {
		return "array<>"
	}
	kind := values[0].Type
	for _, e := range values[1:] {
		if e.Type != kind && kindOf(e) != kindOf(values[0]) {
			return "array<>"
		}
	}
	if kind == bson.TypeArray {
		return "array<>"
	}
	return "array<?" + kindOf(values[0]) + ">"
}
