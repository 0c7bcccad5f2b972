package capacity

import (
	"fmt"
	"math"
	"strings"

	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/workload"
	"github.com/plimsoll-bench/plimsoll/workload/own"
)

// Accesses are the requests of a workload for the keys of one or more collections, which share a cache.
type Accesses struct{ parts []access }

// access is one kind of requests. Pages of several kinds are counted as if each kind had its own, also where two kinds
// choose documents of one collection differently. The prediction then needs more memory than the server.
type access struct {
	Keys
	share float64 // requests for each operation
	index bool    // pages of secondary indexes

	by     string  // the fields of the index that finds the documents, "" by _id
	atOnce float64 // the most documents that it finds at once
}

// sharesOf are the groups of documents that an index finds, and the rest, which nobody requests.
func sharesOf(f *own.Found) *[]class {
	var list []class
	rest := 1.0
	for _, g := range f.Groups {
		list = append(list, class{g.Documents, g.Requests / g.Documents})
		rest -= g.Documents
	}
	list = append(list, class{max(0, rest), 0})
	return &list
}

// accessesOf reads the requests of a built-in workload ([KeysOf]) or of a workload file: its documents, its indexes and
// the choosers of its keys. It fails if operations find documents in another way than by key.
func accessesOf(asked spec.Workload) (Accesses, error) {
	if asked.Text() == "" {
		k, err := KeysOf(asked)
		return Accesses{[]access{{Keys: k, share: 1}}}, err
	}
	p, err := planOf(asked)
	if err != nil {
		return Accesses{}, err
	}
	list, others := p.Accesses()
	if len(others) > 0 {
		return Accesses{}, fmt.Errorf("workload %s: %s. The file does not show which documents that reads. It shows those "+
			"found by _id or by equality on the first fields of an index. Measure the memory with a study of growing records",
			p.Name(), strings.Join(shortened(others, 3), ", "))
	}
	a := Accesses{}
	stored := map[string]own.Stored{}
	for _, s := range p.Stored() {
		stored[s.Collection] = s
	}
	changes := map[string]float64{}
	for _, x := range list {
		s := stored[x.Collection]
		if x.Keys == own.NewKeys {
			changes[x.Collection] += x.Documents
			continue
		}
		part := access{share: x.Documents, Keys: Keys{Distribution: distributionOf(x.Keys),
			Records: max(1, float64(s.Records)), DocBytes: s.Document, theta: x.Theta, hotData: x.Hot, hotShare: x.Hit}}
		if f := x.Found; f != nil {
			part.by, part.atOnce, part.shares = f.By, f.Largest, sharesOf(f)
			entries := access{share: x.Lookups, index: true, Keys: part.Keys}
			entries.DocBytes = f.Entry
			a.parts = append(a.parts, entries)
		}
		a.parts = append(a.parts, part)
	}
	for _, s := range p.Stored() {
		if changes[s.Collection] > 0 && s.Indexes > 0 && s.Records > 0 {
			a.parts = append(a.parts, access{share: changes[s.Collection], index: true,
				Keys: Keys{Distribution: "uniform", Records: float64(s.Records), DocBytes: s.Indexes}})
		}
	}
	if len(a.parts) == 0 {
		return Accesses{}, fmt.Errorf("workload %s requests no documents by key", p.Name())
	}
	return a, nil
}

// planOf compiles a workload file.
func planOf(asked spec.Workload) (*own.Plan, error) {
	w, err := own.Open(workload.Spec{Text: asked.Text(), Name: asked.Name, Mode: asked.Mode, Records: int64(asked.Records),
		Seed: asked.Seed, Params: asked.Params})
	if err != nil {
		return nil, err
	}
	p, _ := w.(*own.Plan)
	return p, nil
}

// distributionOf is the distribution of [Keys] of a chooser.
func distributionOf(chooser string) string {
	if chooser == "zipf" {
		return "zipfian"
	}
	return chooser
}

// shortened keeps the first texts of a list, and counts the others.
func shortened(list []string, most int) []string {
	if len(list) <= most {
		return list
	}
	return append(list[:most:most], fmt.Sprintf("and %d more", len(list)-most))
}

// Scaled returns the accesses to data that are factor times as large.
func (a Accesses) Scaled(factor float64) Accesses {
	out := Accesses{}
	for _, p := range a.parts {
		p.Keys = p.Sized(p.Records * factor)
		out.parts = append(out.parts, p)
	}
	return out
}

// String names the distributions.
func (a Accesses) String() string {
	var names []string
	for _, p := range a.parts {
		text := p.Keys.String()
		if p.by != "" {
			text = "as the file's values find them by " + p.by
		}
		if !p.index && !strings.Contains(strings.Join(names, " and "), text) {
			names = append(names, text)
		}
	}
	return strings.Join(names, " and ")
}

func (a Accesses) check() error {
	for _, p := range a.parts {
		if !(p.Records >= 1) || !(p.DocBytes > 0) {
			return fmt.Errorf("no cache model for %v records of %v bytes", p.Records, p.DocBytes)
		}
	}
	return nil
}

// shared are the layouts of accesses that share a cache.
type shared struct {
	parts   []access
	layouts []layout
	room    float64
	swept   float64 // the most bytes of pages that one search reads: so much of a cache has lost what was there before
}

func (a Accesses) layOut(c Cache) shared {
	s := shared{parts: a.parts}
	for _, p := range a.parts {
		of := c
		if p.index || p.by != "" {
			of.EntryBytes = 0 // the index of _id is not used
		}
		if p.index {
			of.PageBytes = c.IndexPageBytes
		}
		s.layouts = append(s.layouts, p.layOut(of))
		s.room = s.layouts[0].room
	}
	for i, p := range s.parts {
		l := &s.layouts[i]
		s.swept = max(s.swept, min(l.pages, p.atOnce)*l.pageBytes)
	}
	return s
}

func (s shared) bytes() (n float64) {
	for _, l := range s.layouts {
		n += l.bytes()
	}
	return n
}

// present is the expected size of the pages that were requested within the time of t operations.
func (s shared) present(t float64) (n float64) {
	for i, l := range s.layouts {
		n += l.present(s.parts[i].share * t)
	}
	return n
}

// hit is the share of the requests for documents whose page is there.
func (s shared) hit(t float64) float64 {
	hits, all := 0.0, 0.0
	for i, l := range s.layouts {
		if share := s.parts[i].share; !s.parts[i].index {
			hits, all = hits+share*l.dataHit(share*t), all+share
		}
	}
	if all == 0 {
		return 1
	}
	return hits / all
}

// Predict returns the hit ratio in the steady state, as [Keys.Predict] does for one kind of requests. It fails if the
// cache or the documents have no size.
func (a Accesses) Predict(c Cache) (Prediction, error) {
	if err := a.check(); err != nil {
		return Prediction{}, err
	}
	if !(c.Bytes > 0) || math.IsInf(c.Bytes, 0) {
		return Prediction{}, fmt.Errorf("a cache of %v bytes holds nothing", c.Bytes)
	}
	s := a.layOut(c)
	p := Prediction{Hit: 1, IndexHit: 1}
	if s.room >= s.bytes() {
		return p, nil
	}
	t := logBisect(func(t float64) bool { return s.present(t) < s.room-s.swept })
	p.Hit = s.hit(t)
	indexHits, requests := 0.0, 0.0
	for i, l := range s.layouts {
		part := s.parts[i]
		if part.index {
			p.Misses += part.share * (1 - l.dataHit(part.share*t))
			continue
		}
		p.Misses += part.share * (1 - part.Inserts) * (1 - l.dataHit(part.share*t))
		if l.indexPages > 0 {
			hit := l.indexHit(part.share * t)
			p.Misses += part.share * (1 - hit)
			indexHits, requests = indexHits+part.share*hit, requests+part.share
		}
	}
	if requests > 0 {
		p.IndexHit = indexHits / requests
	}
	return p, nil
}

// CacheFor returns the smallest configured size of a cache whose predicted hit ratio of documents is at least hit
// (0…1), at most the size that holds everything.
func (a Accesses) CacheFor(hit float64, c Cache) (bytes float64, err error) {
	if err := a.check(); err != nil {
		return 0, err
	}
	c.Bytes = 1
	s := a.layOut(c)
	fill := s.room // that of one byte
	all := s.bytes() / fill
	if hit >= 1 {
		return all, nil
	}
	t := logBisect(func(t float64) bool { return s.hit(t) < hit })
	return min(all, max(s.present(t)+s.swept, s.layouts[0].pageBytes)/fill), nil
}
