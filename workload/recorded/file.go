package recorded

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/workload/own"
)

// Source says where a model comes from, for its workload file.
type Source struct {
	Name        string // of the workload
	From        string // address or file, without credentials
	Sources     []string
	Database    string        // whose operations the file describes
	Collections []*Collection // of the database, as far as they are known
	Unseen      []string      // what the source could not show, beyond what the model knows
	// Rates replaces the operations per second of the model, which $queryStats does not have. 0 for those of the model.
	Period time.Duration
}

// mostOperations limits a file: measurements keep up to 256 classes, and rare shapes change nothing.
const mostOperations = 100

// file makes a workload file within limits.
func (m *Model) file(src Source, limits limits) (f own.File, operations map[string]int) {
	w := &writer{m: m, src: src, limits: limits, byName: map[string]*Collection{}, references: map[fieldOf]target{},
		named: map[string]bool{}, repeats: map[fieldOf]float64{}, begins: map[fieldOf]bson.D{},
		compared: map[fieldOf]bool{}}
	shapes, left := w.choose()
	w.shapes = shapes
	w.gather()
	w.findReferences(shapes)
	w.learn()
	collections := w.used(shapes)
	f = own.File{Name: src.Name, About: w.about(shapes)}
	operations = map[string]int{}
	for _, s := range shapes {
		if s.Failed == s.Count && s.Count > 0 {
			w.refused += s.Count
			continue
		}
		o, ok := w.operation(s)
		if !ok {
			w.foreign += s.Count
			continue
		}
		operations[s.key()] = len(f.Operations)
		f.Operations = append(f.Operations, o)
	}
	for _, name := range collections {
		f.Collections = append(f.Collections, w.collection(w.byName[name]))
	}
	w.lasting(f)
	if limits.single {
		left += w.removeUnusable(&f, operations, shapes)
	}
	if limits.length > 0 {
		w.unseen = append(w.unseen, "The longest texts and arrays are shorter here, because documents with all of them would be "+
			"larger than MongoDB takes.")
	}
	f.Recorded = w.recorded(left)
	return f, operations
}

// removeUnusable leaves out what cannot be used, and returns the number of operations that are not in the file any
// more.
func (w *writer) removeUnusable(f *own.File, operations map[string]int, shapes []*Shape) (left int64) {
	collections, removed := keepUsable(f, operations)
	for _, s := range shapes {
		if removed[s.key()] {
			left += s.Count
		}
	}
	if len(collections) > 0 {
		w.unseen = append(w.unseen, "The documents of these collections cannot be described in a workload file: "+
			strings.Join(collections, ", ")+".")
	}
	return left
}

// used returns the collections of operations and of references, and notes the others.
func (w *writer) used(shapes []*Shape) []string {
	used := map[string]bool{}
	for _, s := range shapes {
		used[s.Collection] = true
	}
	for name := range w.named {
		used[name] = true
	}
	for again := true; again; {
		before := len(used)
		for name := range used {
			if on := w.base(name); on != nil {
				used[on.Name] = true
				w.referred(&on.Documents.Root, used)
			}
		}
		again = len(used) > before
	}
	w.named = used
	var names, others []string
	for _, name := range sortedKeys(w.byName) {
		if used[name] {
			names = append(names, name)
		} else {
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		w.unseen = append(w.unseen, "No operations of these collections were seen, so they are not in this file: "+
			strings.Join(others, ", ")+".")
	}
	return names
}

// referred adds the collections to which DBRefs of documents refer.
func (w *writer) referred(l *Level, to map[string]bool) {
	for r := range l.Refs {
		if c := w.byName[r.collection]; c != nil && c.Count > 0 {
			to[r.collection] = true
		}
	}
	for _, f := range l.Fields {
		for at := f; at != nil; at = at.Element {
			if at.Level != nil {
				w.referred(at.Level, to)
			}
		}
	}
}

// key identifies a shape in a model.
func (s *Shape) key() string { return shapeKey(s.Database, s.Text) }

// shapeKey tells the shapes of all databases apart. The text of a shape quotes names already.
func shapeKey(database, text string) string { return strconv.Quote(database) + " " + text }

// fieldOf is a field of a collection.
type fieldOf struct{ collection, path string }

// writer makes a workload file.
type writer struct {
	m          *Model
	src        Source
	byName     map[string]*Collection
	limits     limits
	shapes     []*Shape           // in the file
	references map[fieldOf]target // to the field of another collection that has the same values, from $lookup
	named      map[string]bool    // collections that pipelines and documents name
	repeats    map[fieldOf]float64
	begins     map[fieldOf]bson.D
	compared   map[fieldOf]bool // with bounds of ranges
	names      map[string]int
	unseen     []string
	refused    int64 // operations of shapes that always failed
	foreign    int64 // operations for which the language of workload files has no words
}

// target is a field to which another one refers.
type target struct{ collection, field string }

// template makes a reference of a kind.
func (t target) template(kind string, more ...bson.E) any {
	if t.field == "_id" && more == nil {
		return one(kind, t.collection)
	}
	d := bson.D{{Key: "to", Value: t.collection}}
	if t.field != "_id" {
		d = append(d, bson.E{Key: "field", Value: t.field})
	}
	return one(kind, append(d, more...))
}

// choose returns the shapes for the file, and the operations of those that it leaves out.
func (w *writer) choose() (shapes []*Shape, left int64) {
	for _, s := range w.m.Shapes() {
		if s.Database != w.src.Database {
			continue
		}
		if len(shapes) == w.limits.operations {
			left += s.Count
			continue
		}
		shapes = append(shapes, s)
	}
	return shapes, left
}

func (w *writer) about(shapes []*Shape) string {
	return fmt.Sprintf("Recorded from the database %s: %d kinds of operations on %d collections.", w.src.Database,
		len(shapes), len(w.byName))
}

// recorded says where the file comes from and what is missing.
func (w *writer) recorded(left int64) *own.Recorded {
	m := w.m
	r := &own.Recorded{From: w.src.From, Sources: w.src.Sources}
	if !m.First.IsZero() {
		r.At = m.First.UTC().Format(time.RFC3339)
	}
	period := cmp.Or(w.src.Period, m.Period())
	r.Period = spec.Duration(period.Round(time.Millisecond))
	if n := m.Databases()[w.src.Database]; period > 0 {
		r.Rate = spec.Rate(round3(float64(n) / period.Seconds()))
	}
	r.Unseen = append(append(slices.Clone(w.src.Unseen), m.missing(w.src.Database)...), w.unseen...)
	for _, one := range []struct {
		n    int64
		what string
	}{{left, "of rare shapes"}, {w.refused, "that the server always refused"}, {w.foreign, "that workload files cannot describe"}} {
		if one.n > 0 {
			r.Unseen = append(r.Unseen, fmt.Sprintf("Operations %s are not in this file: %d.", one.what, one.n))
		}
	}
	return r
}

// missing says what the operations of a database did not show, a sentence for each.
func (m *Model) missing(db string) []string {
	var out []string
	add := func(n int64, format string, args ...any) {
		if n > 0 {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	n := m.Notes(db)
	add(total(n.Cut), "The server shortened the commands of some operations, or logged only how many there were, so their "+
		"shapes are not known: %s.", counted(n.Cut))
	add(n.Redacted, "The server redacted values (redactClientLogData) in %d operations. Types of values, limits and projections are "+
		"not known; sorts are ascending here.", n.Redacted)
	add(total(n.Hidden), "Operations whose shape depends on redacted values are not in this file: %s.", counted(n.Hidden))
	add(n.NoDocs, "The source does not show the documents of inserts (%d operations). The newest documents describe them, or the "+
		"sample.", n.NoDocs)
	all := m.Total()
	ends := all.Skipped[TxnEnd] // they are commands of the database admin
	if n.InTxn == 0 && all.InTxn > 0 {
		ends = 0 // of other databases
	}
	add(n.InTxn+ends, "Operations of transactions are single operations here, because profiles and logs do not show all "+
		"operations of one transaction together (%d operations, %d commits or aborts, of at least %d transactions). Put them into a "+
		"transaction by hand.", n.InTxn, ends, max(m.Transactions(), ends))
	if len(m.lost) > 0 {
		out = append(out, "Operations have options that this file does not have: "+counted(m.lost)+".")
	}
	add(n.Skipped[Unlisted], "There are update and delete commands without their statements (%d). A mongos does not log the "+
		"statements, and a mongod only those that are slower than slowms. Record the shards, with a lower slowms.", n.Skipped[Unlisted])
	add(n.Routed, "A mongos sent operations to this shard (%d). An operation for all shards is on each of them, and the pipeline of "+
		"an aggregate is the part of a shard. Record each shard, and compare the files.", n.Routed)
	add(n.Failed, "Failed operations are in this file like the others, except shapes that always failed (%d operations).", n.Failed)
	if others := withoutSession(n.Others); len(others) > 0 {
		out = append(out, "Other commands are not in this file: "+counted(others)+".")
	}
	if m.Sampled > 1 {
		out = append(out, fmt.Sprintf("The server showed one in %d operations. The weights are right, the rate is too low.",
			m.Sampled))
	}
	damaged := n.Skipped[Damaged]
	if db != "" {
		damaged += m.Notes("").Skipped[Damaged]
	}
	add(damaged, "Entries of the source that were damaged or cut off: %d.", damaged)
	add(m.Jumps, "The clock of the source was set back; steps of more than a minute: %d.", m.Jumps)
	add(m.Beyond, "There were more than %d shapes. The file leaves out %d operations of further shapes.", mostShapes, m.Beyond)
	if moved := sortedKeys(m.moved[db]); len(moved) > 0 {
		out = append(out, "Pipelines name collections of other databases. Here they are collections of the database of the target: "+
			strings.Join(moved, ", ")+".")
	}
	others := map[string]int64{}
	for name, n := range m.Databases() {
		if name != db {
			others[name] = n
		}
	}
	if len(others) > 0 {
		out = append(out, "Operations of other databases are not in this file: "+counted(others)+".")
	}
	return out
}

// sessionCommands are commands by which drivers keep a connection, a session or a cursor.
var sessionCommands = map[string]bool{"hello": true, "isMaster": true, "ismaster": true, "ping": true, "endSessions": true,
	"refreshSessions": true, "killCursors": true, "buildInfo": true, "buildinfo": true, "getLastError": true, "saslStart": true,
	"saslContinue": true, "authenticate": true, "profile": true, "logout": true}

// withoutSession returns counts without those of session commands.
func withoutSession(counts map[string]int64) map[string]int64 {
	out := map[string]int64{}
	for name, n := range counts {
		if !sessionCommands[name] {
			out[name] = n
		}
	}
	return out
}

// counted lists counts by name.
func counted(counts map[string]int64) string {
	var parts []string
	for _, name := range sortedKeys(counts) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[name], name))
	}
	return strings.Join(parts, ", ")
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// round3 rounds to three significant digits.
func round3(x float64) float64 {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))-2)
	return math.Round(x/unit) * unit
}

// collection describes one collection.
func (w *writer) collection(c *Collection) own.Collection {
	out := own.Collection{Name: c.Name, Count: countOf(c.Count)}
	if w.special(&out, c) {
		return out
	}
	if c.Count <= 0 {
		out.Count = assumedCount
		w.unseen = append(w.unseen, fmt.Sprintf("The number of documents in %s is not known. %d is assumed.", c.Name, assumedCount))
	}
	if c.Documents.synthetic {
		w.unseen = append(w.unseen, fmt.Sprintf("No documents of %s were seen. Its template has the fields of filters only.", c.Name))
		out.Document = own.TemplateOf(w.level(c, "", &c.Documents.Root, c.Documents.N))
	} else {
		out.Document = own.TemplateOf(w.level(c, "", &c.Documents.Root, c.Documents.N))
		if n := c.Documents.Root.Beyond; n > 0 {
			w.unseen = append(w.unseen, fmt.Sprintf("Documents of %s have more than %d different fields. %d fields of the sample "+
				"are not in the template.", c.Name, mostFields, n))
		}
	}
	for _, index := range c.Indexes {
		if x, ok := w.index(c, index); ok {
			out.Indexes = append(out.Indexes, x)
		}
	}
	if c.ShardKey != nil {
		key := bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: c.ShardKey}
		out.Shard = &own.Shard{Key: own.TemplateOf((&walker{names: w.m.Names}).keys(key))}
	}
	w.unseen = append(w.unseen, c.Unseen...)
	return out
}

// countOf bounds a number to what a workload file can have.
func countOf(n int64) spec.Count { return spec.Count(min(max(n, 0), 1<<53)) }

// assumedCount is the number of documents where a source does not have it.
const assumedCount = 10_000

// index describes an index as listIndexes has it.
func (w *writer) index(c *Collection, index bson.Raw) (own.Index, bool) {
	keys, ok := index.Lookup("key").DocumentOK()
	name, _ := index.Lookup("name").StringValueOK()
	if !ok || name == "_id_" {
		return own.Index{}, false
	}
	walk := &walker{names: w.m.Names}
	x := own.Index{Keys: own.TemplateOf(walk.keys(index.Lookup("key")))}
	if w.m.Names == nil { // hints use it
		x.Name = name
	}
	if collation, ok := index.Lookup("collation").DocumentOK(); ok {
		x.Collation = own.TemplateOf(collationOf(collation))
	}
	x.Unique, _ = index.Lookup("unique").BooleanOK()
	x.Sparse, _ = index.Lookup("sparse").BooleanOK()
	if weights, ok := index.Lookup("weights").DocumentOK(); ok { // a text index lists its fields there
		var d bson.D
		for _, e := range elementsOf(weights) {
			d = append(d, bson.E{Key: w.m.Names.path(e.Key()), Value: "text"})
		}
		for _, e := range elementsOf(keys) {
			if e.Key() != "_fts" && e.Key() != "_ftsx" {
				d = append(d, bson.E{Key: w.m.Names.path(e.Key()), Value: plainValue(e.Value())})
			}
		}
		x.Keys = own.TemplateOf(d)
	}
	if v, err := index.LookupErr("expireAfterSeconds"); err == nil {
		if seconds, ok := v.AsInt64OK(); ok {
			d := spec.Duration(time.Duration(min(max(seconds, 0), math.MaxInt32)) * time.Second)
			x.ExpireAfter = &d
		}
	}
	if partial, err := index.LookupErr("partialFilterExpression"); err == nil {
		tree := walk.filter(partial)
		if len(walk.holes) > 0 && !w.m.Options.Values {
			w.unseen = append(w.unseen, fmt.Sprintf("The partial index on %s of %s has values in its filter, so it is for all "+
				"documents here. Record with --values to keep its filter.", textOf(walk.keys(index.Lookup("key"))), c.Name))
		} else if len(walk.holes) > 0 {
			x.Partial = own.TemplateOf(exact(partial))
		} else {
			x.Partial = own.TemplateOf(tree)
		}
	}
	if n, known := c.Used[name]; known && n == 0 {
		w.unseen = append(w.unseen, fmt.Sprintf("No operation used the index %s of %s since it or the server started.",
			textOf(walk.keys(index.Lookup("key"))), c.Name))
	}
	return x, true
}

// exact keeps a value with all it has.
func exact(v bson.RawValue) any {
	var out any
	if err := v.Unmarshal(&out); err != nil {
		return nil
	}
	return out
}
