package mongo

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// findOne reads at most one document, in one reply.
func (s *session) findOne(ctx context.Context, coll *driver.Collection, req *workload.Request,
	res *store.Result) error {
	var opts []options.Lister[options.FindOneOptions]
	if req.Projection != nil || req.Sort != nil || req.Skip != 0 || req.Hint.Kind != 0 || req.Collation != nil {
		o := options.FindOne()
		if req.Hint.Kind != 0 {
			o.SetHint(hintOf(req))
		}
		if req.Collation != nil {
			o.SetCollation(collationOf(req))
		}
		if req.Projection != nil {
			o.SetProjection(bson.Raw(req.Projection))
		}
		if req.Sort != nil {
			o.SetSort(bson.Raw(req.Sort))
		}
		if req.Skip != 0 {
			o.SetSkip(req.Skip)
		}
		opts = append(opts, o)
	}
	doc, err := coll.FindOne(ctx, bson.Raw(req.Filter), opts...).Raw()
	if err == driver.ErrNoDocuments {
		emptyResult(req, res)
		return nil
	}
	if err != nil {
		return err
	}
	res.Docs, res.Doc, res.Bytes = 1, doc, len(doc)
	return nil
}

// find reads all documents of a cursor.
func (s *session) find(ctx context.Context, coll *driver.Collection, req *workload.Request, res *store.Result) error {
	o := options.Find()
	if req.Hint.Kind != 0 {
		o.SetHint(hintOf(req))
	}
	if req.Collation != nil {
		o.SetCollation(collationOf(req))
	}
	if req.Limit != 0 {
		o.SetLimit(req.Limit)
	}
	if req.Skip != 0 {
		o.SetSkip(req.Skip)
	}
	if req.Projection != nil {
		o.SetProjection(bson.Raw(req.Projection))
	}
	if req.Sort != nil {
		o.SetSort(bson.Raw(req.Sort))
	}
	cur, err := coll.Find(ctx, bson.Raw(req.Filter), o)
	if err != nil {
		return err
	}
	return s.drain(ctx, cur, req, res)
}

func (s *session) aggregate(ctx context.Context, coll *driver.Collection, req *workload.Request,
	res *store.Result) error {
	o := options.Aggregate()
	if req.Hint.Kind != 0 {
		o.SetHint(hintOf(req))
	}
	if req.Collation != nil {
		o.SetCollation(collationOf(req))
	}
	if req.Out && !s.confirms(req) { // the answer is a cursor, so there always is one
		coll = coll.Clone(options.Collection().SetWriteConcern(&writeconcern.WriteConcern{}))
	}
	cur, err := coll.Aggregate(ctx, bsoncore.Array(req.Pipeline), o)
	var unconfirmed driver.WriteConcernError
	if errors.As(err, &unconfirmed) {
		s.fillWriteErrors(0, answer{concern: concernError(&unconfirmed, nil)}, res)
		return nil
	}
	if err != nil {
		return err
	}
	return s.drain(ctx, cur, req, res)
}

// drain counts the documents of a cursor and keeps the first one.
func (s *session) drain(ctx context.Context, cur *driver.Cursor, req *workload.Request, res *store.Result) error {
	for cur.Next(ctx) {
		if res.Docs == 0 {
			s.first = append(s.first[:0], cur.Current...)
			res.Doc = s.first
		}
		res.Docs++
		res.Bytes += len(cur.Current)
	}
	if err := cur.Err(); err != nil {
		_ = cur.Close(ctx) // the error of the read is returned
		return err
	}
	if err := cur.Close(ctx); err != nil {
		return err
	}
	if res.Docs == 0 {
		emptyResult(req, res)
	}
	return nil
}

func emptyResult(req *workload.Request, res *store.Result) {
	if !req.MayBeEmpty {
		res.Outcome = store.NotFound
	}
}
