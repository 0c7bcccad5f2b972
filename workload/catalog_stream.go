package workload

import (
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// catalogStream is one worker's stream of the catalog workload.
type catalogStream struct {
	w        *catalog
	r        random
	products chooser
	docs     rawbson.Documents

	filter, update []byte
	statement      [1]Statement
	requests       [6][1]Request // by class
}

func (w *catalog) Stream(worker, _ int) Stream {
	s := &catalogStream{w: w, products: newScattered(w.p.records, w.p.theta, w.p.seed)}
	s.r.seed(w.p.seed, forStream, uint64(worker))
	for class := range s.requests {
		s.requests[class][0] = Request{Verb: Find, Class: NoClass, Collection: "product"}
	}
	s.requests[catalogRead][0].Limit = 1
	for _, class := range []int{catalogFindTag, catalogFindPrice} {
		s.requests[class][0].Limit = w.p.limit
		s.requests[class][0].MayBeEmpty = true
	}
	s.requests[catalogFindPrice][0].Sort = keys("price")
	s.requests[catalogUpdateStock][0].Verb = Update
	s.requests[catalogUpdateStock][0].Updates = s.statement[:]
	s.requests[catalogAggregate][0].Verb = Aggregate
	s.requests[catalogAggregate][0].MayBeEmpty = true
	s.requests[catalogInsert][0].Verb = Insert
	return Stream{Next: s.Next, Done: func(*Op, bool) {}}
}

// brandPipeline returns the aggregation over one category: the ten brands with the most products, their average price
// and their stock.
func brandPipeline(category string) []byte {
	return stages(
		stage("$match", func(dst []byte) []byte { return bsoncore.AppendStringElement(dst, "category", category) }),
		stage("$group", func(dst []byte) []byte {
			dst = bsoncore.AppendStringElement(dst, "_id", "$brand")
			dst = appendOperator(dst, "products", "$sum", func(dst []byte, key string) []byte {
				return bsoncore.AppendInt32Element(dst, key, 1)
			})
			dst = appendOperator(dst, "averagePrice", "$avg", func(dst []byte, key string) []byte {
				return bsoncore.AppendStringElement(dst, key, "$price")
			})
			return appendOperator(dst, "available", "$sum", func(dst []byte, key string) []byte {
				return bsoncore.AppendStringElement(dst, key, "$stock.available")
			})
		}),
		stage("$sort", func(dst []byte) []byte {
			return bsoncore.AppendInt32Element(bsoncore.AppendInt32Element(dst, "products", -1), "_id", 1)
		}),
		limitStage(10),
	)
}

func (s *catalogStream) Next(op *Op) {
	op.Class, op.Seq = s.w.mix.next(&s.r), -1
	req := &s.requests[op.Class][0]
	switch op.Class {
	case catalogRead:
		s.filter = appendProductFilter(s.filter[:0], s.products.next(&s.r))
		req.Filter = s.filter
	case catalogFindTag: // {tags: …}
		dst, at := rawbson.Open(s.filter[:0])
		s.filter = rawbson.Close(bsoncore.AppendStringElement(dst, "tags", pick(&s.r, productTags)), at)
		req.Filter = s.filter
	case catalogFindPrice:
		s.fillPrice(req)
	case catalogUpdateStock:
		s.fillStock(req)
	case catalogAggregate:
		req.Pipeline = pick(&s.r, s.w.aggregations)
	case catalogInsert:
		op.Seq = s.w.inserts.next()
		s.docs.Reset()
		s.docs.Buf = s.w.appendProduct(s.docs.Buf, op.Seq)
		s.docs.Mark()
		req.Docs = s.docs.All()
	}
	op.Requests = s.requests[op.Class][:]
}

// fillPrice finds the cheapest products of a category in a range of prices:
// {category: …, price: {$gte: …, $lt: …}}.
func (s *catalogStream) fillPrice(req *Request) {
	low := randomPrice(&s.r)
	dst, at := rawbson.Open(s.filter[:0])
	dst = bsoncore.AppendStringElement(dst, "category", pick(&s.r, categories))
	dst, in := openDocElement(dst, "price")
	dst = bsoncore.AppendDoubleElement(dst, "$gte", low)
	dst = bsoncore.AppendDoubleElement(dst, "$lt", low*1.5)
	s.filter = rawbson.Close(rawbson.Close(dst, in), at)
	req.Filter = s.filter
}

// fillStock moves some items of a product from available to reserved:
// {$inc: {stock.available: -n, stock.reserved: n}}.
func (s *catalogStream) fillStock(req *Request) {
	s.filter = appendProductFilter(s.filter[:0], s.products.next(&s.r))
	n := int32(1 + s.r.below(5))
	dst, at := rawbson.Open(s.update[:0])
	dst, in := openDocElement(dst, "$inc")
	dst = bsoncore.AppendInt32Element(dst, "stock.available", -n)
	dst = bsoncore.AppendInt32Element(dst, "stock.reserved", n)
	s.update = rawbson.Close(rawbson.Close(dst, in), at)
	req.Updates[0] = Statement{Filter: s.filter, Update: s.update}
}

func (w *catalog) Loader() Loader {
	return newDocLoader("product", catalogInsert, catalogRead, w.appendProduct, appendProductID)
}
