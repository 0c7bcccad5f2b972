package own

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// compiler compiles a file.
type compiler struct {
	file    *File
	spec    workload.Spec
	byName  map[string]*collection
	all     []*collection
	classes []workload.Class
	choices []*choiceOfKeys
	named   []workload.Named
	fields  int  // of documents that later values use
	vars    int  // of operations
	depth   int  // of the current value
	key     bool // the value is that of a field that others refer to
	clock   bool // a value depends on the time
	again   bool // a reference was found to a field that may be compiled already
	evens   int  // uses of numbers that are spread evenly
}

// collection is a compiled collection.
type collection struct {
	of       *Collection
	name     string
	set      *workload.KeySet
	salt     uint64
	doc      value // a document, or a constant one
	keys     map[string]*keyField
	clock    bool // its documents depend on the time
	sharding *workload.Sharding
	changed  bool // by an operation
	removed  bool // or replaced: documents do not stay, or lose fields
}

func (c *compiler) collectionNames() []string {
	var names []string
	for _, k := range c.all {
		names = append(names, k.name)
	}
	return names
}

// Open compiles the text of a workload file. The other fields of the specification mean the same as for built-in ones;
// records scale the counts of all collections. Without a text it opens a built-in workload.
func Open(asked workload.Spec) (workload.Workload, error) {
	if asked.Text == "" {
		return workload.Open(asked)
	}
	f, err := Read(strings.NewReader(asked.Text))
	if err != nil {
		return nil, err
	}
	p, err := Compile(f, asked)
	if err != nil {
		return nil, fmt.Errorf("workload %s: %w", f.Name, err)
	}
	return p, nil
}

// Compile compiles a file.
func Compile(f File, asked workload.Spec) (*Plan, error) {
	c := &compiler{file: &f, spec: asked, byName: map[string]*collection{}}
	if err := c.checkFile(); err != nil {
		return nil, err
	}
	p := &Plan{name: f.Name, file: f, seed: asked.Seed}
	for name, v := range asked.Params {
		if name != "dataintegrity" {
			return nil, fmt.Errorf("unknown workload parameter %q%s. A workload file has its values in the file", name,
				nearest.DidYouMean(name, []string{"dataintegrity"}))
		}
		p.integrity = v == "true"
	}
	if err := c.openCollections(); err != nil {
		return nil, err
	}
	// A reference to a field changes how its template is compiled, so everything is compiled until no new one is found.
	for c.again = true; c.again; {
		c.again, c.classes, c.choices, c.named, c.fields, c.vars, c.evens = false, nil, nil, nil, 0, 0, 0
		*p = Plan{name: p.name, file: f, seed: p.seed, integrity: p.integrity}
		if err := c.documents(); err != nil {
			return nil, err
		}
		if err := c.operations(p); err != nil {
			return nil, err
		}
	}
	for _, k := range c.all {
		for path, key := range k.keys {
			if !key.found {
				return nil, fmt.Errorf("a reference needs the field %q of collection %s, which its document does not have", path, k.name)
			}
		}
		if err := k.index(c, p); err != nil {
			return nil, err
		}
		if err := k.shard(c, p); err != nil {
			return nil, err
		}
		if err := k.create(c, p); err != nil {
			return nil, err
		}
	}
	p.collections, p.classes, p.choices, p.fields, p.vars = c.all, c.classes, c.choices, c.fields, c.vars
	p.named, p.evens = c.named, c.evens
	if len(p.classes) > mostClasses {
		return nil, fmt.Errorf("the file has %d kinds of operations and steps, and the limit is %d", len(p.classes), mostClasses)
	}
	return p, nil
}

// mostClasses is the number of classes that a sample can tell apart.
const mostClasses = 200

func (c *compiler) checkFile() error {
	f := c.file
	switch {
	case f.Name == "":
		return errors.New("the file has no name. Add name: at its top")
	case len(f.Collections) == 0:
		return errors.New("the file has no collections")
	case len(f.Operations) == 0:
		return errors.New("the file has no operations")
	}
	return nil
}

// openCollections makes the collections with their counts.
func (c *compiler) openCollections() error {
	total := 0.0
	for i := range c.file.Collections {
		total += float64(c.file.Collections[i].Count)
	}
	for i := range c.file.Collections {
		of := &c.file.Collections[i]
		switch {
		case of.Name == "" || strings.ContainsAny(of.Name, "$\x00") || strings.HasPrefix(of.Name, "system."):
			return fmt.Errorf("collection %d: %q is not a name of a collection", i+1, of.Name)
		case c.byName[of.Name] != nil:
			return fmt.Errorf("there are two collections %s", of.Name)
		case of.Count < 0:
			return fmt.Errorf("collection %s: count is negative", of.Name)
		case of.Count > 0 && of.Document.IsZero():
			return fmt.Errorf("collection %s has a count and no document. Add the template of its documents", of.Name)
		}
		count := int64(of.Count)
		if c.spec.Records > 0 && count > 0 {
			count = max(1, int64(float64(count)*float64(c.spec.Records)/total+0.5))
		}
		k := &collection{of: of, name: of.Name, salt: saltOf(c.spec.Seed, of.Name), keys: map[string]*keyField{},
			set: workload.NewKeySet(count, c.spec.Run, c.spec.Client, c.spec.Clients)}
		k.keys["_id"] = &keyField{salt: saltOf(k.salt, "_id")}
		c.all, c.byName[k.name] = append(c.all, k), k
	}
	return nil
}

// documents compiles the templates of the collections.
func (c *compiler) documents() error {
	for _, k := range c.all {
		clock := c.clock
		c.clock = false
		s := c.root()
		s.coll = k
		v, err := c.template(k.of.Document, s, k)
		if err != nil {
			return fmt.Errorf("collection %s: %w", k.name, err)
		}
		k.doc, k.clock = v, c.clock
		c.clock = clock
		if id := k.keys["_id"]; !id.found {
			id.value, id.found = numberedID{}, true
		}
	}
	return nil
}

// template compiles the template of a document. If it has no _id, it gets that of its collection as its first field.
func (c *compiler) template(t Template, s *scope, k *collection) (value, error) {
	n := resolve(t.node)
	if n == nil {
		n = &yaml.Node{Kind: yaml.MappingNode}
	}
	if n.Kind != yaml.MappingNode {
		return nil, errorAt(n, "a document needs fields with values")
	}
	if len(n.Content) > 0 && strings.HasPrefix(n.Content[0].Value, "$") {
		return nil, errorAt(n, "a document cannot be the generator %s. It needs fields with values", n.Content[0].Value)
	}
	v, err := c.document(n, s)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == "_id" {
			return v, nil
		}
	}
	id := k.keys["_id"]
	if !id.found {
		id.value, id.found = numberedID{}, true
	}
	head := bsoncore.AppendHeader(nil, 0, "_id")
	d := &document{segments: []*segment{{header: head, value: idOf{id}, field: -1}},
		size: int64(len(head)) + idOf{id}.most() + v.most()}
	switch v := v.(type) {
	case *document:
		d.segments = append(d.segments, v.segments...)
	case constant:
		body, _, _ := rawbson.Split(v.data)
		d.segments = append(d.segments, &segment{literal: body, field: -1})
	}
	return d, nil
}

// idOf is the _id of the document that is being made.
type idOf struct{ key *keyField }

func (v idOf) append(dst []byte, e *env) ([]byte, byte) { return v.key.value.append(dst, e) }

// append appends document n, which depends on n and the seed only, unless it uses the time.
func (k *collection) append(dst []byte, e *env, n int64) []byte {
	r, number := e.r, e.n
	e.r.SeedRecord(k.salt, n)
	e.n = n
	dst, _ = k.doc.append(dst, e)
	e.r, e.n = r, number
	return dst
}

// index compiles the indexes of a collection.
func (k *collection) index(c *compiler, p *Plan) error {
	for i := range k.of.Indexes {
		x := &k.of.Indexes[i]
		ix := workload.Index{Collection: k.name, Name: x.Name}
		var err error
		if ix.Keys, err = c.fixed(x.Keys, "keys"); err != nil || len(ix.Keys) <= 5 {
			return fmt.Errorf("index %d of collection %s: keys need fields with 1, -1 or a kind of index (%v)", i+1, k.name, err)
		}
		if ix.Name == "" {
			ix.Name = indexName(ix.Keys)
		}
		if x.Unique {
			ix.Options = bsoncore.AppendBooleanElement(ix.Options, "unique", true)
		}
		if x.Sparse {
			ix.Options = bsoncore.AppendBooleanElement(ix.Options, "sparse", true)
		}
		if x.ExpireAfter != nil {
			k.removed = true
			ix.Options = bsoncore.AppendInt32Element(ix.Options, "expireAfterSeconds", int32(x.ExpireAfter.Std().Seconds()))
		}
		for _, o := range []struct {
			name string
			t    Template
		}{{"partialFilterExpression", x.Partial}, {"collation", x.Collation}} {
			if o.t.IsZero() {
				continue
			}
			doc, err := c.fixed(o.t, o.name)
			if err != nil {
				return fmt.Errorf("index %s of collection %s: %w", ix.Name, k.name, err)
			}
			ix.Options = bsoncore.AppendDocumentElement(ix.Options, o.name, doc)
		}
		p.indexes = append(p.indexes, ix)
	}
	return nil
}

// indexName is the name that drivers give an index.
func indexName(keys []byte) string {
	var words []string
	elements, _ := bsoncore.Document(keys).Elements()
	for _, e := range elements {
		how := e.Value().String()
		if s, ok := e.Value().StringValueOK(); ok {
			how = s
		} else if n, ok := e.Value().AsInt64OK(); ok {
			how = strconv.FormatInt(n, 10)
		}
		words = append(words, e.Key(), how)
	}
	return strings.Join(words, "_")
}

// fixed compiles a document that must not change.
func (c *compiler) fixed(t Template, what string) ([]byte, error) {
	s := c.root()
	s.ops = true
	v, err := c.compile(t.node, s)
	if err != nil {
		return nil, err
	}
	k, ok := v.(constant)
	if !ok || k.kind != rawbson.Document {
		return nil, fmt.Errorf("%s must be a document without generators", what)
	}
	return k.data, nil
}

// keysOf are the keys that each command takes, besides those of all operations.
var keysOf = map[string]string{
	"find":          "filter projection sort skip limit hint collation empty read_concern read_preference",
	"findOne":       "filter projection sort skip hint collation empty read_concern read_preference",
	"aggregate":     "pipeline hint collation empty read_concern read_preference write_concern",
	"count":         "filter skip limit hint collation read_concern read_preference",
	"distinct":      "key filter collation empty read_concern read_preference",
	"insert":        "document batch unordered write_concern",
	"bulkWrite":     "writes unordered write_concern",
	"update":        "filter with many upsert array_filters hint collation empty write_concern",
	"replace":       "filter with upsert hint collation empty write_concern",
	"delete":        "filter many hint collation empty write_concern",
	"findAndModify": "filter sort projection with remove new upsert array_filters hint collation empty write_concern",
	"watch":         "pipeline full_document readers read_concern read_preference",
	"transaction":   "read_concern read_preference write_concern",
	"sequence":      "",
}

// where an operation is.
type place uint8

const (
	onTop place = iota
	inTransaction
	inSequence
)

// check checks that an operation has one command and only the keys of that command.
func (o *Operation) check(in place) error {
	set := o.commands()
	switch {
	case len(set) == 0:
		return fmt.Errorf("line %d: operation %s has no command. Add one of %s", o.line, o.Name, strings.Join(commandNames(), ", "))
	case len(set) > 1:
		return fmt.Errorf("line %d: operation %s has the commands %s and %s. It needs exactly one", o.line, o.Name, set[0].command,
			set[1].command)
	}
	command := set[0].command
	if err := o.WriteConcern.check(command); err != nil {
		return fmt.Errorf("line %d: operation %s: %w", o.line, o.Class(), err)
	}
	known := "name let as think " + keysOf[command]
	switch {
	case in == onTop && command != "watch":
		known += " weight"
	case in == inTransaction && (command == "transaction" || command == "sequence" || command == "watch"),
		in == inSequence && (command == "sequence" || command == "watch"):
		return fmt.Errorf("line %d: %s cannot be a step here", o.line, command)
	case in == inTransaction:
		known = "name as " + keysOf[command]
	}
	allowed := append(strings.Fields(known), command)
	v, t := reflect.ValueOf(o).Elem(), reflect.TypeFor[Operation]()
	for i := range t.NumField() {
		if !t.Field(i).IsExported() || v.Field(i).IsZero() {
			continue
		}
		key := spec.KeyOf(t.Field(i))
		if !slices.Contains(allowed, key) {
			return fmt.Errorf("line %d: %s has the key %s, which %s does not take here (it takes %s)", o.line, o.Class(), key, command,
				strings.Join(strings.Fields(known), ", "))
		}
		if in == inTransaction && (strings.HasSuffix(key, "_concern") || key == "read_preference") {
			return fmt.Errorf("line %d: %s: %s belongs to the transaction, not to its steps", o.line, o.Class(), key)
		}
	}
	return nil
}

func commandNames() []string {
	var names []string
	t := reflect.TypeFor[Operation]()
	for i := range t.NumField() {
		if _, ok := keysOf[spec.KeyOf(t.Field(i))]; ok {
			names = append(names, spec.KeyOf(t.Field(i)))
		}
	}
	return names
}
