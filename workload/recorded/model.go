package recorded

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Options say what a model keeps.
type Options struct {
	Values bool   // keep frequent values
	Names  *Names // nil: names of fields as they are
	Typed  bool   // the operations are from $queryStats
}

// mostShapes limits the memory of a model. Applications have some hundred shapes; more are texts in place of values.
const mostShapes = 10_000

// Model counts operations by shape and describes their values.
type Model struct {
	Options
	Operations int64     // with their counts
	Beyond     int64     // operations of shapes beyond mostShapes
	First      time.Time // begin of the first operation
	Last       time.Time // end of the last one
	Slowest    time.Duration
	Fastest    time.Duration              // shows a threshold such as slowms
	Sampled    int                        // the largest sampling, see [Operation.Sampled]
	Jumps      int64                      // operations that began more than a minute before the last one
	moved      map[string]map[string]bool // by database, see [Operation.Moved]
	shapes     map[string]*Shape
	inserted   map[namespace]*Documents // where a source shows them
	latest     time.Time
	notes      map[string]*Notes // by database
	forms      map[Form]int64    // of entries
	slow       int64             // entries of logs about slow operations
}

// namespace is a collection of a database.
type namespace struct{ database, collection string }

// Shape is a kind of operation: the same command with other values.
type Shape struct {
	Database, Collection, Verb string
	Tree                       bson.D // the command, with holes
	Text                       string // the same in one line
	Holes                      []*Hole
	Values                     []*Field // by hole
	Count, Failed, InTxn       int64
	Docs, Bytes                int64 // sums
	Duration                   time.Duration
	Slowest                    time.Duration
}

// NewModel returns an empty model.
func NewModel(o Options) *Model {
	return &Model{Options: o, notes: map[string]*Notes{}, moved: map[string]map[string]bool{}, shapes: map[string]*Shape{},
		Fastest: -1}
}

// clockJump is the step back from which a log shows a changed clock rather than an operation that took long.
const clockJump = time.Minute

// Add counts one operation.
func (m *Model) Add(op *Operation) {
	m.Operations += op.Count
	if !m.Typed {
		m.addTime(op)
	}
	m.Sampled = max(m.Sampled, op.Sampled)
	m.see(op)
	n := m.Notes(op.Database)
	n.count(op)
	if op.Cut || op.Command == nil {
		if op.Redacted {
			n.Hidden[op.Verb] += op.Count
		} else {
			n.Cut[op.Verb] += op.Count
		}
		return
	}
	for _, name := range op.Moved {
		if m.moved[op.Database] == nil {
			m.moved[op.Database] = map[string]bool{}
		}
		m.moved[op.Database][name] = true
	}
	m.addDocuments(op)
	if s, values := m.shape(op); s != nil {
		s.add(op, values, m.Options)
	} else {
		m.Beyond += op.Count
	}
}

// addTime notes the time of an operation. Entries of $queryStats have none.
func (m *Model) addTime(op *Operation) {
	ended := op.Time.Add(op.Duration)
	if m.First.IsZero() || op.Time.Before(m.First) {
		m.First = op.Time
	}
	if ended.After(m.Last) {
		m.Last = ended
	}
	if !m.latest.IsZero() && ended.Before(m.latest.Add(-clockJump)) {
		m.Jumps++
	}
	m.latest = ended
	m.Slowest = max(m.Slowest, op.Duration)
	if m.Fastest < 0 || op.Duration < m.Fastest {
		m.Fastest = op.Duration
	}
}

// addDocuments describes the documents of an insert.
func (m *Model) addDocuments(op *Operation) {
	if op.Verb != "insert" || op.NoDocs || m.Typed {
		return
	}
	array, ok := op.Command.Lookup("documents").ArrayOK()
	if !ok {
		return
	}
	if m.inserted == nil {
		m.inserted = map[namespace]*Documents{}
	}
	d := m.inserted[namespace{op.Database, op.Collection}]
	if d == nil {
		d = &Documents{Options: m.Options}
		m.inserted[namespace{op.Database, op.Collection}] = d
	}
	values, _ := array.Values()
	for _, v := range values {
		if doc, ok := v.DocumentOK(); ok {
			d.Add(doc, op.Time)
		}
	}
}

// Inserted returns the documents of inserts into a collection, nil if no source showed them.
func (m *Model) Inserted(db, coll string) *Documents { return m.inserted[namespace{db, coll}] }

// shape returns the shape of op, which is new if there is none yet.
func (m *Model) shape(op *Operation) (*Shape, []bson.RawValue) {
	tree, holes, values := shapeOf(op, m.Names, m.Typed)
	text := shapeKey(op.Database, textOf(tree))
	s := m.shapes[text]
	if s == nil {
		if len(m.shapes) >= mostShapes {
			return nil, nil
		}
		s = &Shape{Database: op.Database, Collection: op.Collection, Verb: op.Verb, Tree: tree, Text: textOf(tree),
			Holes: holes}
		for range holes {
			s.Values = append(s.Values, &Field{})
		}
		m.shapes[text] = s
	}
	return s, values
}

func (s *Shape) add(op *Operation, values []bson.RawValue, o Options) {
	s.Count += op.Count
	s.Docs += op.Docs * op.Count
	s.Bytes += op.Bytes * op.Count
	s.Duration += op.Duration * time.Duration(op.Count)
	s.Slowest = max(s.Slowest, op.Duration)
	if op.Failed {
		s.Failed += op.Count
	}
	if op.InTxn {
		s.InTxn += op.Count
	}
	for i, v := range values {
		if !o.Typed {
			s.Values[i].add(v, o, op.Time, 0)
		}
	}
}

// Shapes returns the shapes, the most frequent one first.
func (m *Model) Shapes() []*Shape {
	return slices.SortedFunc(maps.Values(m.shapes), func(a, b *Shape) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Database, b.Database), cmp.Compare(a.Text, b.Text))
	})
}

// Databases returns the operations with a known shape, by database.
func (m *Model) Databases() map[string]int64 {
	out := map[string]int64{}
	for _, s := range m.shapes {
		out[s.Database] += s.Count
	}
	return out
}

// Period is the time that the operations cover.
func (m *Model) Period() time.Duration { return m.Last.Sub(m.First) }
