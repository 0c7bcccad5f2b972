package recorded

import (
	"cmp"
	"maps"
	"math"
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
	txns       sketch
	streams    map[string]map[int64]*readings // by shape and cursor
	shown      map[namespace]bson.Raw         // what views and time series are
	lost       map[string]int64               // options of commands that a workload file does not have
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
	Results                    Results
	Widths                     []Range // by hole: of ranges, see [Hole.Above]
	Duration                   time.Duration
	Slowest                    time.Duration
}

// Results are sums of what the operations of a shape found, as far as the source shows it.
type Results struct {
	Known    int64 // operations whose results are known
	Docs     int64 // returned, matched, inserted or deleted
	Empty    int64 // operations without such a document
	Modified int64
	Examined int64
	Plans    map[string]int64
}

func (r *Results) add(op *Operation) {
	if !op.Results {
		return
	}
	r.Known += op.Count
	r.Docs += op.Docs * op.Count
	r.Modified += op.Modified * op.Count
	r.Examined += op.Examined * op.Count
	if op.Docs == 0 {
		r.Empty += op.Count
	}
	if r.Plans == nil {
		r.Plans = map[string]int64{}
	}
	if _, known := r.Plans[op.Plan]; known || len(r.Plans) < fewValues {
		r.Plans[op.Plan] += op.Count
	}
}

// Plan is the most frequent plan summary.
func (r *Results) Plan() (plan string) {
	for _, p := range sortedKeys(r.Plans) {
		if plan == "" || r.Plans[p] > r.Plans[plan] {
			plan = p
		}
	}
	return plan
}

// NewModel returns an empty model.
func NewModel(o Options) *Model {
	return &Model{Options: o, notes: map[string]*Notes{}, moved: map[string]map[string]bool{}, shapes: map[string]*Shape{},
		Fastest: -1}
}

// clockJump is the step back from which a log shows a changed clock rather than an operation that took long.
const clockJump = time.Minute

// readings are the times from the first to the last reading of a change stream.
type readings struct{ first, last time.Time }

// mostStreams limits the change streams of a shape that are told apart.
const mostStreams = 10_000

// addStream notes that a change stream was read. Streams are opened by operations, which are counted where a source
// shows them.
func (m *Model) addStream(op *Operation) {
	opened := *op
	opened.Count, opened.Results = 0, false
	s, _ := m.shape(&opened)
	if s == nil {
		return
	}
	if m.streams == nil {
		m.streams = map[string]map[int64]*readings{}
	}
	of := m.streams[s.key()]
	if of == nil {
		of = map[int64]*readings{}
		m.streams[s.key()] = of
	}
	switch at := of[op.Stream]; {
	case at != nil:
		at.first, at.last = earlier(at.first, op.Time), later(at.last, op.Time)
	case len(of) < mostStreams:
		of[op.Stream] = &readings{op.Time, op.Time}
	}
}

// addMore adds a further part of an answer to the results of its shape.
func (m *Model) addMore(op *Operation) {
	tree, _, _ := shapeOf(op, m.Names, m.Typed)
	s := m.shapes[shapeKey(op.Database, textOf(tree))]
	if s == nil || !op.Results {
		return
	}
	s.Docs += op.Docs
	s.Results.Docs += op.Docs
	s.Results.Examined += op.Examined
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// together is the most change streams of a shape that were read at the same time, and how many there were in all.
func (m *Model) together(s *Shape) (most, all int) {
	type change struct {
		at time.Time
		by int
	}
	var changes []change
	for _, at := range m.streams[s.key()] {
		changes = append(changes, change{at.first, 1}, change{at.last, -1})
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(b.by, a.by)) })
	now := 0
	for _, c := range changes {
		now += c.by
		most = max(most, now)
	}
	return most, len(changes) / 2
}

// Transactions is the number of transactions of which an operation or the end was seen, about so above a thousand.
func (m *Model) Transactions() int64 { return m.txns.estimate() }

// AddEnd counts the transaction whose commit or abort a source showed.
func (m *Model) AddEnd(op *Operation) {
	if op.Transaction != 0 {
		m.txns.addHash(op.Transaction)
	}
}

// Add counts one operation.
func (m *Model) Add(op *Operation) {
	if op.Stream != 0 {
		m.addStream(op)
		return
	}
	if op.More {
		m.addMore(op)
		return
	}
	m.AddEnd(op)
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
	m.addLost(op)
	if ns := (namespace{op.Database, op.Collection}); op.Shown != nil && len(m.shown) < mostShapes {
		if m.shown == nil {
			m.shown = map[namespace]bson.Raw{}
		}
		m.shown[ns] = op.Shown
	}
	if s, values := m.shape(op); s != nil {
		s.add(op, values, m.Options)
	} else {
		m.Beyond += op.Count
	}
}

// addLost counts what operations have and a workload file has not.
func (m *Model) addLost(op *Operation) {
	for _, e := range elementsOf(op.Command) {
		what := ""
		switch key, v := e.Key(), e.Value(); key {
		case "batchSize":
			what = "batchSize"
		case "cursor":
			if doc, ok := v.DocumentOK(); ok && doc.Lookup("batchSize").Type != 0 {
				what = "batchSize"
			}
		case "tailable":
			what = "tailable"
		case "$readPreference":
			if doc, ok := v.DocumentOK(); ok && doc.Lookup("tags").Type != 0 {
				what = "tags of the read preference"
			}
		case "hint":
			if v.Type == bson.TypeString && m.Names != nil {
				what = "hint by the name of an index"
			}
		case "let", "min", "max", "allowDiskUse", "returnKey", "showRecordId", "noCursorTimeout", "allowPartialResults", "bypassDocumentValidation":
			what = key
		}
		if what == "" {
			continue
		}
		if m.lost == nil {
			m.lost = map[string]int64{}
		}
		m.lost[what] += op.Count
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
	s.Results.add(op)
	if o.Typed {
		return
	}
	if len(s.Widths) < len(values) {
		s.Widths = append(s.Widths, make([]Range, len(values)-len(s.Widths))...)
	}
	for i, v := range values {
		if s.Holes[i].Kind == "" { // redacted
			continue
		}
		s.Values[i].add(v, o, op.Time, 0)
		switch h := s.Holes[i]; {
		case h.Above != nil:
			if low, high := onScale(values[h.Above.N]), onScale(v); !math.IsNaN(high - low) {
				s.Widths[i].add(high - low)
			}
		case h.Kind == "pair" || h.Kind == "box" || h.Kind == "ring":
			if list, ok := v.ArrayOK(); ok {
				s.Values[i].place(h.Kind, list)
			}
		}
	}
}

// onScale is a number, or a date in milliseconds since 1970, and NaN for anything else.
func onScale(v bson.RawValue) float64 {
	if at, ok := v.DateTimeOK(); ok {
		return float64(at)
	}
	if x, ok := v.AsFloat64OK(); ok {
		return x
	}
	return math.NaN()
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
