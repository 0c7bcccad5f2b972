package workload

import (
	"errors"
	"fmt"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// Classes of the catalog workload; all are kinds that the mix chooses from.
const (
	catalogRead = iota
	catalogFindTag
	catalogFindPrice
	catalogUpdateStock
	catalogAggregate
	catalogInsert
)

type catalogParams struct {
	common
	read, findTag, findPrice, updateStock, aggregate, insert float64
	limit                                                    int64
	theta                                                    float64
}

func (p *catalogParams) settings() []setting {
	return append(p.common.settings(),
		setting{"readproportion", "0.5", "weight of reads by _id", &p.read},
		setting{"findtagproportion", "0.15", "weight of searches by tag", &p.findTag},
		setting{"findpriceproportion", "0.14", "weight of searches by category and price", &p.findPrice},
		setting{"updatestockproportion", "0.15", "weight of stock updates", &p.updateStock},
		setting{"aggregateproportion", "0.01", "weight of aggregations over a category", &p.aggregate},
		setting{"insertproportion", "0.05", "weight of inserts", &p.insert},
		setting{"limit", "20", "most documents that a search returns", &p.limit},
		setting{"theta", "0.99", "skew of the products that are read and updated", &p.theta},
	)
}

// catalog is the product catalog of a shop: documents with arrays and sub-documents, found by _id, by tag (an index
// over an array), by category and price (a compound index) and aggregated by brand. Its streams share the insert
// sequence. Reads and updates use the loaded products, so they do not depend on the progress of inserts.
type catalog struct {
	p       catalogParams
	mix     mix
	inserts *insertKeys

	aggregations [][]byte // pipelines, one per category
}

func (p *catalogParams) open() (Workload, error) {
	m, ok := newMix(p.read, p.findTag, p.findPrice, p.updateStock, p.aggregate, p.insert)
	switch {
	case !ok:
		return nil, errors.New("all proportions are 0: set readproportion or another one above 0")
	case p.records < 1:
		return nil, fmt.Errorf("recordcount is %d: it must be at least 1", p.records)
	case p.limit < 1:
		return nil, fmt.Errorf("limit is %d: it must be at least 1", p.limit)
	case !(p.theta > 0) || p.theta > 10:
		return nil, fmt.Errorf("theta is %v: it must be above 0 and at most 10", p.theta)
	}
	first := p.records
	if p.run > 0 {
		first = max(first, runFirst(p.run))
	}
	inserts := &insertKeys{first: first, client: int64(p.client), clients: int64(p.clients)}
	w := &catalog{p: *p, mix: m, inserts: inserts}
	for _, category := range categories {
		w.aggregations = append(w.aggregations, brandPipeline(category))
	}
	return w, nil
}

func (w *catalog) Name() string { return "catalog" }

func (w *catalog) Classes() []Class {
	return []Class{
		{Name: "read"}, {Name: "find-by-tag"}, {Name: "find-by-price"}, {Name: "update-stock"}, {Name: "aggregate"},
		{Name: "insert"},
	}
}

func (w *catalog) Collections() []string { return []string{"product"} }
func (w *catalog) Records() int64        { return w.p.records }

func (w *catalog) Indexes() []Index {
	return []Index{
		{Collection: "product", Name: "tags_1", Keys: keys("tags")},
		{Collection: "product", Name: "category_1_price_1", Keys: keys("category", "price")},
	}
}

// appendProductID appends the _id of product n.
func appendProductID(dst []byte, n int64) []byte {
	dst, at := openString(dst, "_id")
	dst = append(dst, "product-"...)
	start := len(dst)
	dst = strconv.AppendInt(dst, n, 10)
	if missing := 12 - (len(dst) - start); missing > 0 {
		dst = padLeft(dst, start, missing)
	}
	return closeString(dst, at)
}

// appendProductFilter appends the document {_id: …}.
func appendProductFilter(dst []byte, n int64) []byte {
	dst, at := rawbson.Open(dst)
	return rawbson.Close(appendProductID(dst, n), at)
}

// appendProduct appends the document of product n, whose contents depend on n and the seed.
func (w *catalog) appendProduct(dst []byte, n int64) []byte {
	var r random
	r.seed(w.p.seed, forRecord, uint64(n))
	material, category := pick(&r, materials), pick(&r, categories)
	price := randomPrice(&r)
	dst, at := rawbson.Open(dst)
	dst = appendProductID(dst, n)
	dst = appendWords(dst, "name", material, category)
	dst = bsoncore.AppendStringElement(dst, "brand", pick(&r, brands))
	dst = bsoncore.AppendStringElement(dst, "category", category)
	dst = bsoncore.AppendDoubleElement(dst, "price", price)
	dst = appendSentence(dst, "description", &r, 12+int(r.below(12)))
	dst = appendTags(dst, &r, productTags, 3+int(r.below(3)))
	dst, in := openDocElement(dst, "attributes")
	dst = bsoncore.AppendStringElement(dst, "color", pick(&r, colors))
	dst = bsoncore.AppendStringElement(dst, "material", material)
	dst = rawbson.Close(bsoncore.AppendInt32Element(dst, "weight", int32(50+r.below(20000))), in)
	dst = appendVariants(dst, &r, n, price)
	dst, in = openDocElement(dst, "stock")
	dst = bsoncore.AppendInt32Element(dst, "available", int32(100+r.below(10_000)))
	dst = bsoncore.AppendInt32Element(dst, "reserved", 0)
	dst = rawbson.Close(bsoncore.AppendStringElement(dst, "warehouse", pick(&r, cities).first), in)
	dst, in = openDocElement(dst, "reviews")
	dst = bsoncore.AppendInt32Element(dst, "count", int32(r.below(3000)))
	dst = rawbson.Close(bsoncore.AppendDoubleElement(dst, "rating", float64(10+r.below(41))/10), in)
	return rawbson.Close(dst, at)
}

// randomPrice returns an amount from 1.00 to 1000.99, lower ones more often.
func randomPrice(r *random) float64 {
	u := r.float()
	return float64(100+int64(u*u*100_000)) / 100
}

// appendVariants appends an array of two to four sub-documents.
func appendVariants(dst []byte, r *random, n int64, price float64) []byte {
	dst, at := openArrayElement(dst, "variants")
	for i := range 2 + r.below(3) {
		var in int
		dst, in = openDocElement(dst, indexNames[i])
		dst = appendDigits(dst, "sku", n*10+i)
		dst = bsoncore.AppendStringElement(dst, "size", sizes[i])
		dst = bsoncore.AppendDoubleElement(dst, "price", price+float64(i)*5)
		dst = bsoncore.AppendInt32Element(dst, "stock", int32(r.below(500)))
		dst = rawbson.Close(dst, in)
	}
	return rawbson.Close(dst, at)
}
