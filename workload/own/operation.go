package own

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// operation is a compiled operation, or a sequence of them.
type operation struct {
	of       *Operation
	class    int
	lets     []let
	think    [2]time.Duration
	steps    []*step // the requests; empty for a sequence
	atomic   bool    // a transaction
	sequence []*operation
	listens  []int // by request: the variable that keeps its answer, -1 for none
}

type let struct {
	variable int
	value    value
}

// step is a compiled request.
type step struct {
	request    workload.Request // with everything that does not change
	collection *collection
	filter     value // nil where the request has none, or it is in request
	projection value
	sort       value
	skip       value
	pipeline   value
	statements []statement
	inserts    []insertion
}

// statement is one statement of an update, delete or findAndModify.
type statement struct {
	of                           workload.Statement // with everything that does not change
	filter, update, arrayFilters value
}

// insertion is documents of an insert.
type insertion struct {
	times int
	doc   value // nil for the template of the collection
	ownID bool  // the _id is not that of the collection
}

// operations compiles the operations of the file.
func (c *compiler) operations(p *Plan) error {
	var weights []float64
	for i := range c.file.Operations {
		of := &c.file.Operations[i]
		o, err := c.operation(of, onTop, nil)
		if err != nil {
			return err
		}
		if of.Watch != "" {
			n := max(int(of.Readers), 1)
			for range n {
				p.readers = append(p.readers, o)
			}
			continue
		}
		weight := of.Weight
		if weight == 0 && len(c.file.Operations) == 1 {
			weight = 1
		}
		if !(weight >= 0) {
			return fmt.Errorf("line %d: the weight of %s is negative", of.line, of.Class())
		}
		p.ops, weights = append(p.ops, o), append(weights, weight)
	}
	mix, ok := workload.NewMix(weights...)
	if !ok && len(p.readers) == 0 {
		return errors.New("no operation has a weight above 0")
	}
	p.mix = mix
	return nil
}

// newClass gives an operation a class.
func (c *compiler) newClass(of *Operation, name string, part bool) (int, error) {
	for _, k := range c.classes {
		if k.Name == name {
			return 0, fmt.Errorf("line %d: two operations are called %s. Give one of them a name", of.line, name)
		}
	}
	c.classes = append(c.classes, workload.Class{Name: name, Part: part})
	return len(c.classes) - 1, nil
}

// operation compiles one operation. vars are the variables of the sequence around it.
func (c *compiler) operation(of *Operation, in place, vars map[string]int) (*operation, error) {
	if err := of.check(in); err != nil {
		return nil, err
	}
	o := &operation{of: of}
	if vars == nil {
		vars = map[string]int{}
	}
	if of.Think != nil {
		o.think = [2]time.Duration{of.Think.Min.Std(), of.Think.Max.Std()}
	}
	if err := c.let(o, vars); err != nil {
		return nil, fmt.Errorf("%w (let of %s)", err, of.Class())
	}
	var err error
	if of.Sequence != nil {
		return o, c.sequence(o, vars)
	}
	if o.class, err = c.newClass(of, of.Class(), of.Watch != ""); err != nil {
		return nil, err
	}
	concern := of.concern()
	if of.Transaction == nil {
		return o, c.requests(o, of, workload.NoClass, concern, vars)
	}
	o.atomic = true
	for i := range of.Transaction {
		in := &of.Transaction[i]
		if err := in.check(inTransaction); err != nil {
			return nil, err
		}
		class, err := c.newClass(in, of.Class()+"-"+in.Class(), true)
		if err != nil {
			return nil, err
		}
		if err := c.requests(o, in, class, concern, vars); err != nil {
			return nil, err
		}
	}
	if len(o.steps) == 0 {
		return nil, fmt.Errorf("line %d: the transaction %s has no steps", of.line, of.Class())
	}
	for i, s := range o.steps {
		s.request.Starts, s.request.Within = i == 0, true
	}
	commit, err := c.newClass(of, of.Class()+"-commit", true)
	o.steps = append(o.steps, &step{request: workload.Request{Verb: workload.Commit, Class: commit, Concern: concern,
		MayBeEmpty: true}})
	o.listens = append(o.listens, -1)
	return o, err
}

func (c *compiler) sequence(o *operation, vars map[string]int) error {
	if len(o.of.Sequence) == 0 {
		return fmt.Errorf("line %d: the sequence %s has no steps", o.of.line, o.of.Name)
	}
	for i := range o.of.Sequence {
		in := o.of.Sequence[i]
		if o.of.Name != "" {
			in.Name = o.of.Name + "-" + in.Class()
		}
		one, err := c.operation(&in, inSequence, vars)
		if err != nil {
			return err
		}
		o.sequence = append(o.sequence, one)
	}
	return nil
}

// let compiles the variables of an operation. Each can use those before it.
func (c *compiler) let(o *operation, vars map[string]int) error {
	n := resolve(o.of.Let.node)
	if n == nil {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return errorAt(n, "let needs names with values")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		s := c.root()
		s.vars = vars
		v, err := c.compile(n.Content[i+1], s)
		if err != nil {
			return err
		}
		o.lets = append(o.lets, let{c.variable(n.Content[i].Value, vars), v})
	}
	return nil
}

func (c *compiler) variable(name string, vars map[string]int) int {
	n, ok := vars[name]
	if !ok {
		n = c.vars
		vars[name] = n
		c.vars++
	}
	return n
}

// concern returns the concerns of an operation, nil for those of the run.
func (o *Operation) concern() *workload.Concern {
	if o.ReadConcern == "" && o.ReadPreference == "" && o.WriteConcern == nil {
		return nil
	}
	k := &workload.Concern{Read: o.ReadConcern, Preference: o.ReadPreference}
	if o.WriteConcern != nil {
		k.W, k.Journal = o.WriteConcern.W, o.WriteConcern.Journal
	}
	return k
}

// requests compiles the requests of one command. Only a bulkWrite has several.
func (c *compiler) requests(o *operation, of *Operation, class int, concern *workload.Concern,
	vars map[string]int) error {
	command, name := of.Command()
	k, ok := c.byName[name]
	if !ok {
		return fmt.Errorf("line %d: %s: there is no collection %q in the file%s", of.line, of.Class(), name,
			nearest.DidYouMean(name, c.collectionNames()))
	}
	s := c.root()
	s.vars, s.ops = vars, true
	b := &stepBuilder{c: c, of: of, k: k, s: s, within: o.atomic,
		base: workload.Request{Class: class, Collection: name, Concern: concern, MayBeEmpty: of.Empty}}
	b.common()
	if k.of.View != nil && !slices.Contains(reading, command) {
		b.fail("%s is a view, and a view takes no %s", name, command)
	}
	switch command {
	case "find", "findOne":
		b.find(command == "findOne")
	case "aggregate":
		b.base.Verb = workload.Aggregate
		pipeline := b.pipeline()
		b.output()
		b.databases()
		b.one(&step{pipeline: pipeline})
	case "watch":
		b.base.Verb, b.base.MayBeEmpty, b.base.FullDocument = workload.Watch, true, of.FullDocument
		b.one(&step{pipeline: b.pipeline()})
		b.databases()
	case "count":
		b.count()
	case "distinct":
		if of.Key == "" {
			b.fail("distinct needs the key whose values it returns")
		}
		b.base.Verb, b.base.Key = workload.Distinct, of.Key
		b.one(&step{filter: b.filter(of.Filter)})
	case "insert":
		b.insert()
	case "bulkWrite":
		b.bulk()
	default:
		b.change(command)
	}
	if b.err != nil {
		return fmt.Errorf("%s: %w", of.Class(), b.err)
	}
	for _, st := range b.steps {
		st.collection = k
		o.steps, o.listens = append(o.steps, st), append(o.listens, -1)
	}
	if of.As != "" {
		o.listens[len(o.listens)-1] = c.variable(of.As, vars)
	}
	return nil
}

// reading are the commands that views take.
var reading = []string{"find", "findOne", "aggregate", "count", "distinct"}

// stepBuilder compiles the requests of one operation of the file. The first error is kept.
type stepBuilder struct {
	c      *compiler
	of     *Operation
	k      *collection
	s      *scope
	within bool // a transaction
	base   workload.Request
	steps  []*step
	err    error
}

func (b *stepBuilder) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf("line %d: %s", b.of.line, fmt.Sprintf(format, args...))
	}
}

// one adds a request.
func (b *stepBuilder) one(st *step) {
	st.request = b.base
	st.settle()
	b.steps = append(b.steps, st)
}

// settle moves what does not change into the request.
func (st *step) settle() {
	for _, f := range []struct {
		of *value
		to *[]byte
	}{{&st.filter, &st.request.Filter}, {&st.projection, &st.request.Projection}, {&st.sort, &st.request.Sort},
		{&st.pipeline, &st.request.Pipeline}} {
		if k, ok := (*f.of).(constant); ok {
			*f.to, *f.of = k.data, nil
		}
	}
	for i := range st.statements {
		u := &st.statements[i]
		for _, f := range []struct {
			of *value
			to *[]byte
		}{{&u.filter, &u.of.Filter}, {&u.update, &u.of.Update}, {&u.arrayFilters, &u.of.ArrayFilters}} {
			if k, ok := (*f.of).(constant); ok {
				*f.to, *f.of = k.data, nil
			}
		}
	}
}

// value compiles a template that must be of a kind; nil for an absent one.
func (b *stepBuilder) value(t Template, what string, kind byte) value {
	if t.IsZero() || b.err != nil {
		return nil
	}
	v, err := b.c.compile(t.node, b.s)
	if err != nil {
		b.err = err
		return nil
	}
	ok := true
	switch v := v.(type) {
	case constant:
		ok = v.kind == kind
	case *document:
		ok = kind == rawbson.Document
	case list, *arrayValue:
		ok = kind == rawbson.Array
	}
	if !ok {
		b.err = errorAt(t.node, "%s must be %s", what, map[byte]string{rawbson.Document: "a document", rawbson.Array: "a list"}[kind])
	}
	return v
}

// filter compiles a filter; an absent one matches all documents.
func (b *stepBuilder) filter(t Template) value {
	if v := b.value(t, "filter", rawbson.Document); v != nil {
		return v
	}
	return constant{rawbson.Document, []byte{5, 0, 0, 0, 0}}
}

func (b *stepBuilder) pipeline() value {
	if v := b.value(b.of.Pipeline, "pipeline", rawbson.Array); v != nil {
		return v
	}
	if b.base.Verb == workload.Aggregate {
		b.fail("aggregate needs a pipeline")
	}
	return constant{rawbson.Array, []byte{5, 0, 0, 0, 0}}
}

// common compiles hint and collation.
func (b *stepBuilder) common() {
	if !b.of.Hint.IsZero() {
		v, err := b.c.compile(b.of.Hint.node, b.s)
		k, ok := v.(constant)
		if err != nil || !ok || k.kind != rawbson.Document && k.kind != rawbson.String {
			b.fail("hint must be the keys or the name of an index")
		}
		b.base.Hint = workload.Value{Kind: k.kind, Data: k.data}
	}
	if k, ok := b.value(b.of.Collation, "collation", rawbson.Document).(constant); ok {
		b.base.Collation = k.data
	}
}

func (b *stepBuilder) find(one bool) {
	b.base.Verb, b.base.Limit = workload.Find, int64(b.of.Limit)
	if one {
		b.base.Limit = 1
	}
	st := &step{filter: b.filter(b.of.Filter), projection: b.value(b.of.Projection, "projection", rawbson.Document),
		sort: b.value(b.of.Sort, "sort", rawbson.Document)}
	if !b.of.Skip.IsZero() && b.err == nil {
		v, err := b.c.compile(b.of.Skip.node, b.s)
		if err != nil {
			b.err = err
			return
		}
		st.skip = v
	}
	b.one(st)
}

// count compiles a count as countDocuments of drivers sends it.
func (b *stepBuilder) count() {
	b.base.Verb, b.base.MayBeEmpty = workload.Aggregate, true
	stage := func(name string, v value) value {
		d := &document{scope: b.c.root()}
		d.add(name, v)
		return d.fold()
	}
	l := list{stage("$match", b.filter(b.of.Filter))}
	if !b.of.Skip.IsZero() {
		v, err := b.c.compile(b.of.Skip.node, b.s)
		if err != nil {
			b.err = err
			return
		}
		l = append(l, stage("$skip", v))
	}
	if b.of.Limit > 0 {
		l = append(l, stage("$limit", constant{rawbson.Int64, bsoncore.AppendInt64(nil, int64(b.of.Limit))}))
	}
	group := bsoncore.NewDocumentBuilder().AppendInt32("_id", 1).
		AppendDocument("n", bsoncore.NewDocumentBuilder().AppendInt32("$sum", 1).Build()).Build()
	l = append(l, stage("$group", constant{rawbson.Document, group}))
	var v value = l
	if _, ok := l[0].(constant); ok {
		fixed, _ := l.append(nil, nil)
		v = constant{rawbson.Array, fixed}
	}
	b.one(&step{pipeline: v})
}

// mostBatch is the number of writes that a server takes in one command.
const mostBatch = 100_000

func (b *stepBuilder) insert() {
	b.base.Verb, b.base.Unordered = workload.Insert, b.of.Unordered
	times := max(int(b.of.Batch), 1)
	if times > mostBatch {
		b.fail("batch is %d, and one insert takes at most %d documents", times, mostBatch)
		return
	}
	b.one(&step{inserts: []insertion{b.insertion(b.of.Document, times)}})
}

func (b *stepBuilder) insertion(t Template, times int) insertion {
	in := insertion{times: times}
	bounded := func(doc value) {
		if n := doc.most(); n*int64(times) > mostInsert {
			b.fail("%d documents of up to %s are too large for one insert, which takes up to %s", times, figure.Bytes(n),
				figure.Bytes(mostInsert))
		}
	}
	if t.IsZero() {
		if b.k.of.Document.IsZero() {
			b.fail("collection %s has no document. Add the template of its documents, or one to the operation", b.k.name)
		}
		bounded(b.k.doc)
		return in
	}
	s := b.c.root()
	s.vars = b.s.vars
	v, err := b.c.template(t, s, b.k)
	if err != nil {
		if b.err == nil {
			b.err = err
		}
		return in
	}
	in.doc = v
	bounded(v)
	n := resolve(t.node)
	for i := 0; i < len(n.Content); i += 2 {
		in.ownID = in.ownID || n.Content[i].Value == "_id"
	}
	return in
}

// change compiles an update, replace, delete or findAndModify.
func (b *stepBuilder) change(command string) {
	of := b.of
	b.k.changed = true
	u := statement{of: workload.Statement{Upsert: of.Upsert, Many: of.Many}, filter: b.filter(of.Filter),
		arrayFilters: b.value(of.ArrayFilters, "array_filters", rawbson.Array)}
	switch command {
	case "delete":
		b.base.Verb, b.k.removed = workload.Delete, true
	case "replace":
		b.base.Verb, b.k.removed = workload.Update, true
		u.update = b.replacement(of.With)
	case "update":
		b.base.Verb = workload.Update
		u.update = b.update(of.With, &u.of)
	case "findAndModify":
		b.base.Verb, b.base.Remove, b.base.New = workload.FindAndModify, of.Remove, of.New
		switch {
		case of.Remove && (!of.With.IsZero() || of.New || of.Upsert):
			b.fail("a findAndModify with remove has neither with, new nor upsert")
		case of.Remove:
			b.k.removed = true
		case isReplacement(of.With.node):
			b.k.removed = true
			u.update = b.replacement(of.With)
		default:
			u.update = b.update(of.With, &u.of)
		}
	}
	st := &step{statements: []statement{u}}
	if command == "findAndModify" {
		st.projection, st.sort = b.value(of.Projection, "projection", rawbson.Document), b.value(of.Sort, "sort", rawbson.Document)
	}
	b.one(st)
}

// isReplacement reports whether a change is a document without operators.
func isReplacement(n *yaml.Node) bool {
	n = resolve(n)
	return n != nil && n.Kind == yaml.MappingNode && (len(n.Content) == 0 || !strings.HasPrefix(n.Content[0].Value, "$"))
}

func (b *stepBuilder) update(t Template, st *workload.Statement) value {
	n := resolve(t.node)
	switch {
	case n == nil:
		b.fail("an update needs with: the change, such as {$set: {field: value}}")
		return nil
	case n.Kind == yaml.SequenceNode:
		st.Stages = true
		return b.value(t, "with", rawbson.Array)
	case isReplacement(n):
		b.fail("with has no operator such as $set. Use replace for whole documents")
	}
	return b.value(t, "with", rawbson.Document)
}

func (b *stepBuilder) replacement(t Template) value {
	if !isReplacement(t.node) {
		b.fail("a replace needs with: the new document, without operators")
		return nil
	}
	return b.value(t, "with", rawbson.Document)
}

// bulk compiles a bulkWrite as drivers send it: one command for each run of writes of the same kind. Without order,
// each kind has one command.
func (b *stepBuilder) bulk() {
	if len(b.of.Writes) == 0 {
		b.fail("bulkWrite needs writes")
	}
	writes := slices.Clone(b.of.Writes)
	if b.of.Unordered {
		slices.SortStableFunc(writes, func(x, y Write) int { return x.kind() - y.kind() })
	}
	b.base.Unordered = b.of.Unordered
	var last *step
	total := 0
	for i := range writes {
		w := &writes[i]
		verb, u := b.write(w)
		if b.err != nil {
			return
		}
		if last == nil || w.kind() != writes[i-1].kind() {
			last = &step{}
			b.base.Verb = verb
			last.request = b.base
			b.steps = append(b.steps, last)
		}
		times := max(int(w.Times), 1)
		if total += times; total > mostBatch {
			b.fail("bulkWrite has more than %d writes", mostBatch)
			return
		}
		if verb == workload.Insert {
			t := w.Insert
			if n := resolve(t.node); n.Kind == yaml.ScalarNode && n.Value == "next" {
				t = Template{}
			}
			last.inserts = append(last.inserts, b.insertion(t, times))
			continue
		}
		for range times {
			last.statements = append(last.statements, u)
		}
	}
	for _, st := range b.steps {
		st.settle()
	}
}

// kind is the kind of a write in the order in which drivers send them.
func (w *Write) kind() int {
	n := 0
	switch {
	case w.Delete:
		n = 3
	case w.Insert.IsZero():
		n = 1
	}
	if w.Many {
		n++
	}
	return n
}

// write compiles one write of a bulkWrite.
func (b *stepBuilder) write(w *Write) (workload.Verb, statement) {
	kinds := 0
	for _, set := range []bool{!w.Insert.IsZero(), !w.Update.IsZero(), !w.Replace.IsZero(), w.Delete} {
		if set {
			kinds++
		}
	}
	if kinds != 1 {
		b.err = fmt.Errorf("line %d: a write needs exactly one of insert, update, replace and delete", w.line)
		return 0, statement{}
	}
	if !w.Insert.IsZero() {
		return workload.Insert, statement{}
	}
	b.k.changed = true
	u := statement{of: workload.Statement{Upsert: w.Upsert, Many: w.Many}, filter: b.filter(w.Filter)}
	b.k.removed = b.k.removed || w.Delete || !w.Replace.IsZero()
	switch {
	case w.Delete:
		return workload.Delete, u
	case !w.Replace.IsZero():
		u.update = b.replacement(w.Replace)
	default:
		u.update = b.update(w.Update, &u.of)
	}
	return workload.Update, u
}
