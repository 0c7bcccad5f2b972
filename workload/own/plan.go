package own

import (
	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// Plan is a compiled file: a workload. Its streams share the numbers of inserted documents.
type Plan struct {
	name        string
	file        File
	seed        uint64
	integrity   bool
	collections []*collection
	classes     []workload.Class
	indexes     []workload.Index
	choices     []*choiceOfKeys
	fields      int // used by later values of a document
	vars        int
	evens       int // uses of numbers that are spread evenly
	ops         []*operation
	mix         workload.Mix
	sharded     []*collection
	named       []workload.Named // databases in pipelines
	readers     []*operation     // one for each worker that only reads a change stream
	creations   []workload.Creation
}

var (
	_ workload.Workload = (*Plan)(nil)
	_ workload.Compound = (*Plan)(nil)
	_ workload.Exemplar = (*Plan)(nil)
	_ workload.Remover  = (*Plan)(nil)
	_ workload.Thinker  = (*Plan)(nil)
	_ workload.Naming   = (*Plan)(nil)
)

func (p *Plan) Name() string { return p.name }

// File returns the file.
func (p *Plan) File() *File { return &p.file }

func (p *Plan) Classes() []workload.Class { return p.classes }

// Collections lists those with documents of the load phase first. Views are not among them.
func (p *Plan) Collections() []string {
	var loaded, others []string
	for _, k := range p.collections {
		if k.set.Loaded() > 0 {
			loaded = append(loaded, k.name)
		} else if k.of.View == nil {
			others = append(others, k.name)
		}
	}
	return append(loaded, others...)
}

func (p *Plan) Removes(collection string) bool {
	for _, k := range p.collections {
		if k.name == collection {
			return k.removed
		}
	}
	return false
}

func (p *Plan) Thinks() []string {
	var names []string
	var visit func([]*operation)
	visit = func(list []*operation) {
		for _, o := range list {
			if o.think[1] > 0 {
				names = append(names, p.classes[o.class].Name)
			}
			visit(o.sequence)
		}
	}
	visit(p.ops)
	return names
}

// Readers is the number of the first workers, which only read change streams.
func (p *Plan) Readers() int { return len(p.readers) }

// Fewest is the number of workers that it needs at least: its readers, and one for its other operations.
func (p *Plan) Fewest() int { return len(p.readers) + min(len(p.ops), 1) }

func (p *Plan) Indexes() []workload.Index { return p.indexes }

// Records is the number of documents of the load phase in all collections.
func (p *Plan) Records() int64 {
	n := int64(0)
	for _, k := range p.collections {
		n += k.set.Loaded()
	}
	return n
}

func (p *Plan) Parts() []workload.Workload {
	var parts []workload.Workload
	for _, k := range p.collections {
		if k.set.Loaded() > 0 {
			parts = append(parts, &collectionLoad{Plan: p, k: k})
		}
	}
	if len(parts) == 0 {
		parts = append(parts, &collectionLoad{Plan: p, k: p.collections[0]})
	}
	return parts
}

// collectionLoad is the load phase of one collection.
type collectionLoad struct {
	*Plan
	k *collection
}

func (p *collectionLoad) Collections() []string { return []string{p.k.name} }

func (p *collectionLoad) Indexes() []workload.Index {
	var list []workload.Index
	for _, x := range p.indexes {
		if x.Collection == p.k.name {
			list = append(list, x)
		}
	}
	return list
}

func (p *collectionLoad) Records() int64 { return p.k.set.Loaded() }

// Timed reports whether the documents depend on the time.
func (p *collectionLoad) Timed() bool { return p.k.clock }

var _ workload.Compound = (*collectionLoad)(nil)

func (p *collectionLoad) Parts() []workload.Workload { return []workload.Workload{p} }

func (p *collectionLoad) Loader() workload.Loader { return newLoader(p.Plan, []*collection{p.k}) }

// Its records are those of one collection after the other.
func (p *Plan) Loader() workload.Loader { return newLoader(p, p.collections) }

// loader makes the documents of the load phase.
type loader struct {
	of       []*collection
	e        *env
	batches  []rawbson.Documents
	requests []workload.Request
	filter   []byte
	find     [1]workload.Request
}

func newLoader(p *Plan, of []*collection) *loader {
	l := &loader{of: of, e: p.newEnv(0, 1), batches: make([]rawbson.Documents, len(of))}
	l.find[0] = workload.Request{Verb: workload.Find, Class: workload.NoClass, Limit: 1,
		Projection: []byte("\x0e\x00\x00\x00\x10_id\x00\x01\x00\x00\x00\x00")}
	return l
}

func (l *loader) Load(seq int64, n int, op *workload.Op) {
	op.Class, op.Seq = 0, seq
	l.requests = l.requests[:0]
	for i, k := range l.of {
		count := k.set.Loaded()
		if seq >= count {
			seq -= count
			continue
		}
		b := &l.batches[i]
		b.Reset()
		for ; n > 0 && seq < count; n, seq = n-1, seq+1 {
			b.Buf = k.append(b.Buf, l.e, seq)
			b.Mark()
		}
		seq = 0
		docs := b.All()
		l.requests = append(l.requests, workload.Request{Verb: workload.Insert, Class: workload.NoClass, Collection: k.name,
			Docs: docs, Unordered: len(docs) > 1})
		if n == 0 {
			break
		}
	}
	op.Requests = l.requests
}

func (l *loader) Probe(seq int64, op *workload.Op) {
	op.Class, op.Seq, op.Requests = 0, -1, l.find[:]
	for _, k := range l.of {
		if count := k.set.Loaded(); seq >= count {
			seq -= count
			continue
		}
		l.filter = appendIDFilter(l.filter[:0], k.keys["_id"], l.e, seq)
		l.find[0].Collection, l.find[0].Filter = k.name, l.filter
		return
	}
	op.Requests = nil
}

// appendIDFilter appends {_id: …} of document n.
func appendIDFilter(dst []byte, key *keyField, e *env, n int64) []byte {
	dst, at := rawbson.Open(dst)
	head := len(dst)
	dst = append(dst, 0, '_', 'i', 'd', 0)
	dst, kind := key.of(n, dst, e)
	dst[head] = kind
	return rawbson.Close(dst, at)
}

func (p *Plan) newEnv(worker, workers int) *env {
	e := &env{seed: p.seed, fields: make([]span, p.fields), vars: make([]variable, p.vars), uses: make([]uint64, p.evens),
		worker: uint64(worker)}
	for _, k := range p.choices {
		e.keys = append(e.keys, k.open(p.seed, worker, workers))
	}
	e.r.SeedStream(p.seed, worker)
	return e
}
