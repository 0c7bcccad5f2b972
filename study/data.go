package study

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
	"github.com/plimsoll-bench/plimsoll/workload/own"
)

// dataSet is data that configurations of a study load and share.
type dataSet struct {
	record.DataSet
	moved bool // not in the base run's database or directory
	used  bool // while estimating: the next trial must reload it
}

// shape is what a workload loads.
type shape struct {
	id         string
	collection string
	records    int64
	document   int64 // mean bytes
	inserts    bool  // the run adds documents
	classes    []string
}

// sampled is the number of documents that give the mean size and the identity of a data set.
const sampled = 32

// shapeOf samples the documents of a workload.
func shapeOf(asked spec.Run) (shape, error) {
	w, err := own.Open(workload.Spec{
		Text: asked.Workload.Text(),
		Name: asked.Workload.Name, Mode: asked.Workload.Mode, Records: int64(asked.Workload.Records),
		Operations: int64(asked.Load.Operations), Seed: asked.Workload.Seed, Clients: 1, Params: asked.Workload.Params,
		Open: func(name string) (io.ReadCloser, error) { return safeopen.OpenLimited(name, safeopen.MaxDocument) },
	})
	if err != nil {
		return shape{}, err
	}
	s := shape{collection: w.Collections()[0], records: w.Records()}
	h := sha256.New()
	fmt.Fprintln(h, s.collection, s.records)
	for _, index := range w.Indexes() {
		fmt.Fprintf(h, "%s %s %x", index.Collection, index.Name, index.Keys)
		if index.Options != nil {
			fmt.Fprintf(h, " %x", index.Options)
		}
		fmt.Fprintln(h)
	}
	for _, c := range w.Classes() {
		s.classes = append(s.classes, c.Name)
	}
	n := min(sampled, s.records)
	loader := w.Loader()
	var op workload.Op
	total := int64(0)
	for i := range n {
		loader.Load(i*(s.records-1)/max(n-1, 1), 1, &op)
		for _, r := range op.Requests {
			for _, doc := range r.Docs {
				h.Write(doc)
				total += int64(len(doc))
			}
		}
	}
	s.document = (total + n/2) / max(n, 1)
	s.inserts = inserts(w)
	s.id = hex.EncodeToString(h.Sum(nil))[:6]
	return s, nil
}

// inserts reports whether there are inserts among the first operations of a workload.
func inserts(w workload.Workload) bool {
	stream := w.Stream(0, 1)
	var op workload.Op
	for range 300 {
		stream.Next(&op)
		for _, r := range op.Requests {
			if r.Verb == workload.Insert {
				return true
			}
		}
		stream.Done(&op, true)
	}
	return false
}

// sharer gives each configuration its data set. Configurations with the same documents share one. Others get their own
// database (or, embedded, directory), because otherwise they would be measured with another data set.
type sharer struct {
	shapes map[string]shape // by the JSON of the workload
	sets   []*dataSet
	at     map[string]*dataSet // by target, database, collection and id
	home   map[string]string   // by target, database and collection: the id of the documents that belong there
}

func (p *Plan) shareData() error {
	s := sharer{shapes: map[string]shape{}, at: map[string]*dataSet{}, home: map[string]string{}}
	p.setOf, p.inserts, p.classes = map[string]*dataSet{}, map[string]bool{}, map[string]bool{}
	// The base run's database belongs to its documents, even if no configuration has them.
	if sh, err := s.shape(&p.Base); err == nil {
		if target, err := run.ParseTarget(p.Base.Target); err == nil {
			s.home[placeOf(&p.Base, target.Kind, p.keys[p.Configurations[0].ID], sh)] = sh.id
		}
	}
	for _, c := range p.Configurations {
		spec := p.specs[c.ID]
		sh, err := s.shape(&spec)
		if err != nil {
			return fmt.Errorf("configuration %s: %w", c.ID, err)
		}
		set, err := s.assign(&spec, p.keys[c.ID], sh)
		if err != nil {
			return fmt.Errorf("configuration %s: %w", c.ID, err)
		}
		spec.Objectives = p.stated(spec, sh.classes)
		p.specs[c.ID], p.setOf[c.ID], p.inserts[c.ID] = spec, set, sh.inserts
		for _, class := range sh.classes {
			p.classes[class] = true
		}
	}
	p.sets = s.sets
	return nil
}

// assign finds the data set of a run, and gives the run its own database or directory if needed.
func (s *sharer) assign(asked *spec.Run, lab string, sh shape) (*dataSet, error) {
	target, err := run.ParseTarget(asked.Target)
	if err != nil {
		return nil, err
	}
	server := target.Kind == "mongodb" || target.Kind == "lab"
	keeps := server || target.Kind == "embedded"
	place := placeOf(asked, target.Kind, lab, sh)
	if _, taken := s.home[place]; !taken {
		s.home[place] = sh.id
	}
	moved := keeps && s.home[place] != sh.id && !asked.LoadPhase.Skip && !asked.LoadPhase.Drop
	if moved {
		moveTo(asked, target.Kind, sh.id)
	}
	key := place + "\x00" + sh.id
	if set, ok := s.at[key]; ok {
		return set, nil
	}
	set := &dataSet{DataSet: record.DataSet{Target: store.Redact(asked.Target), Collection: store.Redact(sh.collection),
		Records: sh.records, DocumentBytes: sh.document}, moved: moved}
	if server {
		set.Database = asked.Database
	}
	if keeps {
		set.Bytes = sh.document * sh.records
	}
	s.at[key] = set
	s.sets = append(s.sets, set)
	return set, nil
}

// placeOf names the place of a run's documents. Embedded targets have no databases, and different labs share nothing.
func placeOf(asked *spec.Run, kind, lab string, sh shape) string {
	database := asked.Database
	if kind == "embedded" {
		database = ""
	}
	return strings.Join([]string{asked.Target, lab, database, sh.collection}, "\x00")
}

// moveTo names a database or directory after the data set.
func moveTo(asked *spec.Run, kind, id string) {
	if kind == "embedded" {
		asked.Target = strings.TrimRight(asked.Target, "/") + "-" + id
		return
	}
	const longest = 63 // of a database name
	asked.Database = asked.Database[:min(len(asked.Database), longest-1-len(id))] + "_" + id
}

// shape is shapeOf, cached for equal workloads.
func (s *sharer) shape(asked *spec.Run) (shape, error) {
	b, err := json.Marshal([]any{asked.Workload, asked.Load.Operations})
	if err != nil {
		return shape{}, err
	}
	if sh, ok := s.shapes[string(b)]; ok {
		return sh, nil
	}
	sh, err := shapeOf(*asked)
	s.shapes[string(b)] = sh
	return sh, err
}
