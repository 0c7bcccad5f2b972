package own

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// FoundKeys is the chooser of an [Access] to documents that an index finds.
const FoundKeys = "found"

const (
	sampledDocuments = 20_000
	sampledRequests  = 200_000
	popularities     = 16 // groups of documents that are requested about equally often
)

// found adds the documents that a filter finds by equality on the first fields of an index. Which they are follows from
// samples of documents and of filters. It returns why it cannot, "" if it did.
func (a *accesses) found(s *step, filter value, fixed []byte, weight float64, lets []let) (why string) {
	field, why := equalities(filter, fixed, lets)
	if why != "" {
		return why
	}
	fields, others := a.indexed(s.collection.name, field)
	if len(fields) == 0 {
		return "finds documents by " + field[0] + ", which no index begins with, so it reads all documents"
	}
	e := a.p.newEnv(0, 1)
	requests, sampled := map[string]float64{}, []byte(nil)
	for range sampledRequests {
		for _, l := range lets {
			kind, data := byte(absent), []byte(nil)
			data, kind = l.value.append(nil, e)
			e.vars[l.variable].set(kind, data)
		}
		doc := fixed
		if filter != nil {
			sampled, _ = filter.append(sampled[:0], e)
			doc = sampled
		}
		requests[indexKeys(doc, fields)[0]] += 1.0 / sampledRequests
	}
	limit := float64(s.request.Limit)
	if others {
		limit = 0 // documents of the value that the other conditions exclude are read too
	}
	a.spread(s.collection, fields, requests, limit, weight)
	return ""
}

// equalities returns the fields that a filter compares with one value, and why it has other conditions.
func equalities(filter value, fixed []byte, lets []let) (fields []string, why string) {
	add := func(name string, v bsoncore.Value) {
		doc, isDocument := v.DocumentOK()
		first, err := doc.IndexErr(0)
		switch operators := isDocument && err == nil && strings.HasPrefix(first.Key(), "$"); {
		case strings.HasPrefix(name, "$"):
			why = cmp.Or(why, "finds documents by "+name)
		case operators:
			why = cmp.Or(why, "finds documents by a condition on "+name+" that is not an equality")
		default:
			fields = append(fields, name)
		}
	}
	segments := []*segment{{literal: body(fixed)}}
	if d, ok := filter.(*document); ok {
		segments = d.segments
	}
	for _, p := range segments {
		if p.value == nil {
			elements, _ := bsoncore.Document(rawDocument(p.literal)).Elements()
			for _, x := range elements {
				add(x.Key(), x.Value())
			}
			continue
		}
		name := string(p.header[1 : len(p.header)-1])
		v, fromAnswer := p.value.(variablePath)
		if fromAnswer {
			fromAnswer = !slices.ContainsFunc(lets, func(l let) bool { return l.variable == v.number && len(v.path) == 0 })
		}
		_, isDocument := p.value.(*document)
		switch {
		case strings.HasPrefix(name, "$"):
			why = cmp.Or(why, "finds documents by "+name)
		case isDocument:
			why = cmp.Or(why, "finds documents by a condition on "+name+" that is not an equality")
		default:
			if fromAnswer {
				why = cmp.Or(why, "takes the value of "+name+" from an earlier answer")
			}
			fields = append(fields, name)
		}
	}
	if len(fields) == 0 {
		why = cmp.Or(why, "reads documents without a condition")
	}
	return fields, why
}

func body(doc []byte) []byte {
	if len(doc) < 5 {
		return nil
	}
	return doc[4 : len(doc)-1]
}

func rawDocument(elements []byte) []byte {
	doc, at := rawbson.Open(nil)
	return rawbson.Close(append(doc, elements...), at)
}

// indexed returns the most first fields of an index that are all among the given ones, and whether there are others.
func (a *accesses) indexed(collection string, among []string) (best []string, others bool) {
	for _, x := range a.p.indexes {
		if x.Collection != collection || bytes.Contains(x.Options, []byte("partialFilterExpression\x00")) {
			continue
		}
		var first []string
		keys, _ := bsoncore.Document(x.Keys).Elements()
		for _, k := range keys {
			if _, ordered := k.Value().AsInt64OK(); !ordered || !slices.Contains(among, k.Key()) {
				break
			}
			first = append(first, k.Key())
		}
		if len(first) > len(best) {
			best = first
		}
	}
	return best, len(best) < len(among)
}

// indexKeys are the values of fields of a document: one, or one for each element of an array.
func indexKeys(doc []byte, fields []string) (keys []string) {
	keys = []string{""}
	for _, f := range fields {
		values := []bsoncore.Value{{Type: bsoncore.TypeNull}}
		if v, err := bsoncore.Document(doc).LookupErr(strings.Split(f, ".")...); err == nil {
			values[0] = v
			if list, ok := v.ArrayOK(); ok {
				values, _ = list.Values()
			}
		}
		var next []string
		for _, k := range keys {
			for _, v := range values {
				next = append(next, fmt.Sprintf("%s%c%d:%s", k, v.Type, len(v.Data), v.Data))
			}
		}
		keys = next
	}
	return keys
}

// popular is a number of documents, and how often an operation requests each of them.
type popular struct{ documents, each float64 }

// spread adds accesses to the documents that requests for values find. Values that were not among the sampled requests
// share the probability that such a value comes next, which is about that of the values that came once.
func (a *accesses) spread(of *collection, fields []string, requests map[string]float64, limit, weight float64) {
	records := max(of.set.Loaded(), 1)
	n := min(records, sampledDocuments)
	each := float64(records) / float64(n) // documents that a sampled one stands for
	e := a.p.newEnv(0, 1)
	with, entry := map[string]float64{}, 0.0
	for i := range n {
		for _, k := range indexKeys(of.append(nil, e, i*(records/n)), fields) {
			with[k] += each
			entry += float64(len(k)+entryBytes) / float64(n)
		}
	}
	unseen, rare := 0.0, 0.0
	for k := range with {
		if requests[k] == 0 {
			unseen++
		}
	}
	for _, share := range requests {
		if share < 1.5/sampledRequests {
			rare += share
		}
	}
	var list []popular
	all := 0.0
	for k, documents := range with {
		reached := documents
		if limit > 0 {
			reached = min(documents, limit)
		}
		rate := requests[k] * (1 - rare)
		if requests[k] == 0 {
			rate = rare / unseen
		}
		if rate > 0 {
			list = append(list, popular{reached, rate})
			all += reached * rate
		}
	}
	slices.SortFunc(list, func(x, y popular) int {
		return cmp.Or(cmp.Compare(y.each, x.each), cmp.Compare(x.documents, y.documents))
	})
	f := &Found{By: strings.Join(fields, ", "), Entry: entry}
	var group Group
	for i, p := range list {
		f.Largest = max(f.Largest, p.documents)
		group.Documents += p.documents / float64(records)
		group.Requests += p.documents * p.each / all
		if i == len(list)-1 || group.Requests >= 1.0/popularities {
			f.Groups, group = append(f.Groups, group), Group{}
		}
	}
	a.add(Access{Collection: of.name, Keys: FoundKeys, Documents: weight * all, Lookups: weight, Found: f})
}

// match is the filter of the first stage of a pipeline, nil if it is no $match.
func match(pipeline value, fixed []byte) (filter value, constant []byte) {
	if stages, ok := pipeline.(list); ok && len(stages) > 0 {
		if stage, ok := stages[0].(*document); ok && len(stage.segments) == 1 && stage.segments[0].value != nil &&
			string(stage.segments[0].header[1:]) == "$match\x00" {
			return stage.segments[0].value, nil
		}
		return nil, nil
	}
	stages, _ := bsoncore.Array(fixed).Values()
	if len(stages) > 0 {
		if doc, ok := stages[0].Document().Lookup("$match").DocumentOK(); ok {
			return nil, doc
		}
	}
	return nil, nil
}

// many adds the documents that a request for many documents reads.
func (a *accesses) many(o *operation, s *step, weight float64, lets []let) {
	filter, fixed := s.filter, s.request.Filter
	if s.request.Verb == workload.Aggregate {
		filter, fixed = match(s.pipeline, s.request.Pipeline)
	}
	if filter == nil && len(body(fixed)) == 0 {
		a.otherwise(o, "reads all documents")
	} else if why := a.found(s, filter, fixed, weight, lets); why != "" {
		a.otherwise(o, why)
	}
}
