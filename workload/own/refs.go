package own

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// seeded is the value of a field that others refer to. It depends on the number of its document only, so it can be made
// without the rest of the document.
type seeded struct {
	of   value
	salt uint64
}

func (v seeded) append(dst []byte, e *env) ([]byte, byte) {
	outer := e.r
	e.r.SeedRecord(v.salt, e.n)
	dst, kind := v.of.append(dst, e)
	e.r = outer
	return dst, kind
}

// keyField is a field that others refer to.
type keyField struct {
	value    value
	salt     uint64
	found    bool // in the template
	measured bool // its size is being computed
}

// choiceOfKeys says how a reference chooses documents.
type choiceOfKeys struct {
	set         *workload.KeySet
	kind        string
	theta       float64
	hot, choice float64
}

// open makes the chooser of one stream.
func (k *choiceOfKeys) open(seed uint64, worker, workers int) workload.Keys {
	switch k.kind {
	case "zipf":
		return k.set.Zipf(k.theta, seed)
	case "latest":
		return k.set.Latest(k.theta)
	case "hotspot":
		return k.set.Hotspot(k.hot, k.choice)
	case "sequential":
		return k.set.Sequential(worker, workers)
	}
	return k.set.Uniform()
}

// referenceValue is a field of a document of a collection.
type referenceValue struct {
	keys int // number of the chooser in env.keys
	key  *keyField
}

var keyKinds = []string{"uniform", "zipf", "latest", "hotspot", "sequential"}

func reference(c *compiler, name, arg *yaml.Node, s *scope) (value, error) {
	o := c.read(name, arg, "to", "field", "keys", "theta", "hot", "of", "same")
	kind := strings.TrimPrefix(name.Value, "$")
	if kind == "ref" {
		kind = "uniform"
		if o.has("keys") {
			kind = o.text("keys")
		}
	}
	known := false
	for _, k := range keyKinds {
		known = known || k == kind
	}
	if !known {
		o.fail(o.keys["keys"], "unknown keys %q%s (known: %s)", kind, nearest.DidYouMean(kind, keyKinds), strings.Join(keyKinds, ", "))
	}
	to, ok := c.byName[o.text("to")]
	if !ok {
		o.fail(arg, "%s refers to the collection %q, which the file does not have%s", name.Value, o.text("to"),
			nearest.DidYouMean(o.text("to"), c.collectionNames()))
		return nil, o.err
	}
	k := &choiceOfKeys{set: to.set, kind: kind, theta: o.number("theta", 0.99), hot: o.share("hot", 0.2), choice: o.share("of", 0.8)}
	if k.theta <= 0 || k.theta > 10 {
		o.fail(o.keys["theta"], "theta of %s is %v: it must be above 0 and at most 10", name.Value, k.theta)
	}
	field := "_id"
	if o.has("field") {
		field = o.text("field")
	}
	if to.set.Loaded() == 0 && !(kind == "latest" && s.coll == nil) {
		o.fail(arg, "%s refers to documents of %s, which has no count, so the load phase inserts none. Use $latest, or give it a count",
			name.Value, to.name)
	}
	key := to.keys[field]
	if key == nil {
		key = &keyField{salt: saltOf(to.salt, field)}
		to.keys[field] = key
		c.again = true // its template may be compiled already
	}
	if o.text("same") == "true" {
		return sameReference{key}, o.err
	}
	if kind == "sequential" && (s.coll != nil || c.key) {
		return numberedReference{set: to.set, key: key}, o.err
	}
	c.choices = append(c.choices, k)
	return referenceValue{keys: len(c.choices) - 1, key: key}, o.err
}

func (v referenceValue) append(dst []byte, e *env) ([]byte, byte) {
	e.drawn = e.keys[v.keys].Next(&e.r)
	return v.key.of(e.drawn, dst, e)
}

// sameReference is another field of the document that the last reference chose.
type sameReference struct{ key *keyField }

func (v sameReference) append(dst []byte, e *env) ([]byte, byte) { return v.key.of(e.drawn, dst, e) }

// numberedReference goes through the documents with the number of the document that refers to them.
type numberedReference struct {
	set *workload.KeySet
	key *keyField
}

func (v numberedReference) append(dst []byte, e *env) ([]byte, byte) {
	return v.key.of(e.n%v.set.Loaded(), dst, e)
}

// of appends the field of document n.
func (k *keyField) of(n int64, dst []byte, e *env) ([]byte, byte) {
	outer, item := e.n, e.item
	e.n, e.item = n, 0
	dst, kind := k.value.append(dst, e)
	e.n, e.item = outer, item
	return dst, kind
}

// saltOf makes sources of randomness of different things independent.
func saltOf(salt uint64, name string) uint64 {
	for i := range len(name) {
		salt = workload.Mix64(salt + uint64(name[i]) + 1)
	}
	return salt
}

// variablePath is a variable, or a field of the document in it.
type variablePath struct {
	name   string // as in the file
	number int
	path   []string
}

func variableValue(c *compiler, _, arg *yaml.Node, s *scope) (value, error) {
	if arg.Kind != yaml.ScalarNode || arg.Value == "" {
		return nil, errorAt(arg, "$var needs the name of a variable")
	}
	v, ok := s.variable(arg.Value)
	if !ok {
		return nil, unknownVariable(arg, arg.Value, s)
	}
	return v, nil
}

func unknownVariable(at *yaml.Node, name string, s *scope) error {
	var known []string
	for name := range s.vars {
		known = append(known, name)
	}
	first, _, _ := strings.Cut(name, ".")
	return errorAt(at, "there is no variable %s here%s. Variables come from let, and from as of an earlier step", first,
		nearest.DidYouMean(first, known))
}

// variable returns a variable by its name and path.
func (s *scope) variable(name string) (value, bool) {
	first, rest, deeper := strings.Cut(name, ".")
	n, ok := s.vars[first]
	if !ok {
		return nil, false
	}
	v := variablePath{name: name, number: n}
	if deeper {
		v.path = strings.Split(rest, ".")
	}
	return v, true
}

func (v variablePath) append(dst []byte, e *env) ([]byte, byte) {
	if e.named && e.vars[v.number].kind == absent {
		return bsoncore.AppendDocument(dst, bsoncore.NewDocumentBuilder().AppendString("$var", v.name).Build()), rawbson.Document
	}
	kind, data := v.get(e)
	if len(data) > mostInsert-len(dst) {
		return dst, rawbson.Null
	}
	return append(dst, data...), kind
}

// get returns the value, which is null if the answer did not have it.
func (v variablePath) get(e *env) (kind byte, data []byte) {
	of := &e.vars[v.number]
	switch {
	case of.kind == absent:
		return rawbson.Null, nil
	case len(v.path) == 0:
		return of.kind, of.data
	case of.kind != rawbson.Document:
		return rawbson.Null, nil
	}
	kind, data, ok := lookup(of.data, v.path)
	if !ok {
		return rawbson.Null, nil
	}
	return kind, data
}

// field repeats a value of the same document.
func field(_ *compiler, _, arg *yaml.Node, s *scope) (value, error) {
	v, ok := s.find(arg.Value)
	if !ok {
		return nil, unknownField(arg, arg.Value, s)
	}
	return v, nil
}

func unknownField(at *yaml.Node, name string, s *scope) error {
	return errorAt(at, "there is no field %q before this one%s", name, nearest.DidYouMean(name, s.names()))
}
