package workload

import (
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// Classes of the YCSB core workload; the first five are also the kinds that the mix chooses from.
const (
	coreRead = iota
	coreUpdate
	coreInsert
	coreScan
	coreRMW
	coreRMWRead
	coreRMWUpdate
)

// core is the YCSB core workload in both modes. Its streams share the insert sequence and, in Original mode, the
// counter of the sequential distribution.
type core struct {
	p      CoreParams
	form   keyForm
	mix    mix
	fields []field // in the order of the document

	byID          []byte   // {_id: 1}
	projectOne    [][]byte // {fieldN: 1} by field number
	projectAll    []byte   // all fields
	readFields    []byte   // projection of a read of all fields, or nil
	classes       []Class
	collections   []string
	acked         *ackCounter // Original
	inserts       *insertKeys // Corrected
	recent        *recentKeys // Corrected
	sequentialKey *atomic.Int64
}

type field struct {
	name   string
	header []byte // BSON element header of a binary value
}

// NewCore makes the YCSB core workload.
func NewCore(p CoreParams) (Workload, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	m, _ := p.mix()
	w := &core{
		p: p, mix: m,
		form: keyForm{ordered: p.Ordered, padding: p.ZeroPadding},
		byID: keys("_id"),
		classes: []Class{
			{Name: "read"}, {Name: "update"}, {Name: "insert"}, {Name: "scan"}, {Name: "read-modify-write"},
			{Name: "rmw-read", Part: true}, {Name: "rmw-update", Part: true},
		},
		collections:   []string{p.Table},
		sequentialKey: new(atomic.Int64),
	}
	w.layOut()
	if p.Mode == Original {
		w.acked = newAckCounter(p.firstInserted())
		return w, nil
	}
	w.inserts = &insertKeys{first: p.firstInserted(), client: int64(p.Client), clients: int64(p.Clients)}
	w.recent = &recentKeys{}
	return w, nil
}

// layOut sets the order of the fields in documents and projections.
func (w *core) layOut() {
	names := fieldNames(w.p.FieldPrefix, w.p.FieldCount)
	order, projected := naturalOrder(len(names)), naturalOrder(len(names))
	if w.p.Mode == Original {
		order, projected = javaMapOrder(names, 16), javaSetOrder(names)
	}
	for _, i := range order {
		header := bsoncore.AppendHeader(nil, bsoncore.TypeBinary, names[i])
		w.fields = append(w.fields, field{name: names[i], header: header})
	}
	all := make([]string, len(names))
	for at, i := range projected {
		all[at] = names[i]
	}
	for _, name := range names {
		w.projectOne = append(w.projectOne, keys(name))
	}
	w.projectAll = keys(all...)
	if w.p.ReadAllFieldsByName || (w.p.DataIntegrity && w.p.Mode == Original) {
		w.readFields = w.projectAll
	}
}

func naturalOrder(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

// nextInsert returns the key number of a new record.
func (w *core) nextInsert() int64 {
	if w.acked != nil {
		return w.acked.next()
	}
	return w.inserts.next()
}

func (w *core) Name() string          { return w.p.Name }
func (w *core) Classes() []Class      { return w.classes }
func (w *core) Collections() []string { return w.collections }
func (w *core) Indexes() []Index      { return nil }
func (w *core) Records() int64        { return w.p.loadCount() }

// keyChooser returns the chooser of existing keys for one stream.
func (w *core) keyChooser(worker, workers int) chooser {
	if w.p.Mode == Original {
		return w.originalKeys()
	}
	age := byAge{records: w.p.Records, recent: w.recent}
	n := w.p.Records
	switch w.p.RequestDistribution {
	case distZipfian:
		return newScattered(n, w.p.Theta, w.p.Seed)
	case distLatest:
		return &trueLatest{byAge: age, zipf: newZipf(n, w.p.Theta)}
	case distHotspot:
		return newHotspot(0, n, w.p.HotspotData, w.p.HotspotOperations)
	case distSequential:
		return &sequence{at: int64(worker) % n, step: int64(workers), n: n}
	case distExponential:
		return &trueExponential{byAge: age, back: newExponential(w.p.ExponentialPercentile,
			float64(n)*w.p.ExponentialFraction)}
	}
	return uniform{lo: 0, n: n}
}

// originalKeys returns YCSB's chooser.
func (w *core) originalKeys() chooser {
	p := &w.p
	lo, n, last := p.InsertStart, p.keyRange(), w.acked.last
	var of chooser
	switch p.RequestDistribution {
	case distZipfian:
		// YCSB widens the range by twice the expected inserts, so that the hot keys stay the same while records are added.
		// The bounds include both ends.
		expected := javaInt(float64(p.Operations) * p.Insert * 2)
		of = newYCSBScrambled(lo, lo+n+expected)
	case distLatest:
		of = newYCSBLatest(last)
	case distHotspot:
		of = newHotspot(lo, n, p.HotspotData, p.HotspotOperations)
	case distSequential:
		of = sharedSequence{lo: lo, n: n, counter: w.sequentialKey}
	case distExponential:
		return beforeLast{back: newExponential(p.ExponentialPercentile, float64(p.Records)*p.ExponentialFraction), last: last}
	default:
		of = uniform{lo: lo, n: n}
	}
	return acknowledged{of: of, last: last}
}

// lengths returns the chooser of the lengths of fields or scans.
func (w *core) lengths(distribution string, least, most int) chooser {
	lo, hi := int64(least), int64(most)
	switch distribution {
	case distUniform:
		return uniform{lo: lo, n: hi - lo + 1}
	case distHistogram:
		return w.p.FieldHistogram
	case distConstant:
		return constant(hi)
	}
	if w.p.Mode == Original {
		z := newYCSBZipf(lo, hi)
		return &z
	}
	z := newZipf(hi-lo+1, w.p.Theta)
	return offset{by: lo, of: &z}
}
