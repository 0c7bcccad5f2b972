package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

func (s *session) insert(ctx context.Context, coll *driver.Collection, req *workload.Request, res *store.Result) error {
	for _, doc := range req.Docs {
		res.Bytes += len(doc)
	}
	if len(req.Docs) == 1 {
		_, err := coll.InsertOne(ctx, bson.Raw(req.Docs[0]))
		return s.inserted(err, req, res)
	}
	s.docs = s.docs[:0]
	for _, doc := range req.Docs {
		s.docs = append(s.docs, doc)
	}
	_, err := coll.InsertMany(ctx, s.docs, options.InsertMany().SetOrdered(!req.Unordered))
	return s.inserted(err, req, res)
}

// inserted fills res after a reply to an insert, and returns any other error.
func (s *session) inserted(err error, req *workload.Request, res *store.Result) error {
	if err == nil {
		res.Docs = len(req.Docs)
		return nil
	}
	answer, ok := writeAnswer(err)
	if !ok {
		return err
	}
	applied := len(req.Docs) - len(answer.errs)
	if !req.Unordered && len(answer.errs) > 0 {
		applied = answer.errs[0].Index // an ordered batch ends at its first error
	}
	s.fillWriteErrors(applied, answer, res)
	return nil
}

// update performs the statements of an update or a delete.
func (s *session) update(ctx context.Context, coll *driver.Collection, req *workload.Request, res *store.Result) error {
	for i := range req.Updates {
		res.Bytes += len(req.Updates[i].Update)
	}
	if len(req.Updates) == 1 {
		matched, err := applyOne(ctx, coll, req)
		return s.updated(matched, err, req, res)
	}
	s.models = s.models[:0]
	for i := range req.Updates {
		s.models = append(s.models, model(req, &req.Updates[i]))
	}
	r, err := coll.BulkWrite(ctx, s.models, options.BulkWrite().SetOrdered(!req.Unordered))
	matched := 0
	if r != nil {
		matched = int(r.MatchedCount + r.UpsertedCount + r.DeletedCount)
		if err != nil && !req.Unordered {
			// If an ordered batch ends early, the driver counts upserted documents in MatchedCount.
			matched = int(r.MatchedCount + r.DeletedCount)
		}
	}
	return s.updated(matched, err, req, res)
}

// updated fills res after a reply to an update, and returns any other error.
func (s *session) updated(matched int, err error, req *workload.Request, res *store.Result) error {
	if err != nil {
		answer, ok := writeAnswer(err)
		if !ok {
			return err
		}
		s.fillWriteErrors(max(matched, answer.n), answer, res)
		return nil
	}
	if !s.confirms(req) {
		res.Docs = len(req.Updates) // sent; the number of matched documents is not known
		return nil
	}
	res.SetMatched(len(req.Updates), matched, req.MayBeEmpty)
	return nil
}

// applyOne sends a single statement like an application and returns the number of documents that it concerned.
func applyOne(ctx context.Context, coll *driver.Collection, req *workload.Request) (int, error) {
	st := &req.Updates[0]
	filter := bson.Raw(st.Filter)
	if req.Verb == workload.Delete {
		var r *driver.DeleteResult
		var err error
		if st.Many {
			o := options.DeleteMany()
			setHints(req, func(h any) { o.SetHint(h) }, func(c *options.Collation) { o.SetCollation(c) })
			r, err = coll.DeleteMany(ctx, filter, o)
		} else {
			o := options.DeleteOne()
			setHints(req, func(h any) { o.SetHint(h) }, func(c *options.Collation) { o.SetCollation(c) })
			r, err = coll.DeleteOne(ctx, filter, o)
		}
		if r == nil {
			return 0, err
		}
		return int(r.DeletedCount), err
	}
	var r *driver.UpdateResult
	var err error
	switch {
	case replaces(st):
		o := options.Replace()
		setHints(req, func(h any) { o.SetHint(h) }, func(c *options.Collation) { o.SetCollation(c) })
		if st.Upsert {
			o.SetUpsert(true)
		}
		r, err = coll.ReplaceOne(ctx, filter, bson.Raw(st.Update), o)
	case st.Many:
		o := options.UpdateMany()
		setHints(req, func(h any) { o.SetHint(h) }, func(c *options.Collation) { o.SetCollation(c) })
		if st.Upsert {
			o.SetUpsert(true)
		}
		if st.ArrayFilters != nil {
			o.SetArrayFilters(arrayFilters(st))
		}
		r, err = coll.UpdateMany(ctx, filter, changeOf(st), o)
	default:
		o := options.UpdateOne()
		setHints(req, func(h any) { o.SetHint(h) }, func(c *options.Collation) { o.SetCollation(c) })
		if st.Upsert {
			o.SetUpsert(true)
		}
		if st.ArrayFilters != nil {
			o.SetArrayFilters(arrayFilters(st))
		}
		r, err = coll.UpdateOne(ctx, filter, changeOf(st), o)
	}
	if r == nil {
		return 0, err
	}
	return int(r.MatchedCount + r.UpsertedCount), err
}

// setHints sets the options that all statements of a request share.
func setHints(req *workload.Request, hint func(any), collation func(*options.Collation)) {
	if req.Hint.Kind != 0 {
		hint(hintOf(req))
	}
	if req.Collation != nil {
		collation(collationOf(req))
	}
}

// changeOf is the update of a statement: a document or a pipeline.
func changeOf(st *workload.Statement) any {
	if st.Stages {
		return stages(st.Update)
	}
	return bson.Raw(st.Update)
}

// stages returns the stages of a pipeline, because the driver takes no raw array here.
func stages(array []byte) []bson.Raw {
	values, err := bsoncore.Array(array).Values()
	if err != nil {
		return nil
	}
	list := make([]bson.Raw, len(values))
	for i, v := range values {
		list[i] = bson.Raw(v.Data)
	}
	return list
}

func arrayFilters(st *workload.Statement) []any {
	var list []any
	for _, f := range stages(st.ArrayFilters) {
		list = append(list, f)
	}
	return list
}

// model makes a statement of a batch.
func model(req *workload.Request, st *workload.Statement) driver.WriteModel {
	filter := bson.Raw(st.Filter)
	switch {
	case req.Verb == workload.Delete && st.Many:
		m := driver.NewDeleteManyModel().SetFilter(filter)
		setHints(req, func(h any) { m.SetHint(h) }, func(c *options.Collation) { m.SetCollation(c) })
		return m
	case req.Verb == workload.Delete:
		m := driver.NewDeleteOneModel().SetFilter(filter)
		setHints(req, func(h any) { m.SetHint(h) }, func(c *options.Collation) { m.SetCollation(c) })
		return m
	case replaces(st):
		m := driver.NewReplaceOneModel().SetFilter(filter).SetReplacement(bson.Raw(st.Update))
		setHints(req, func(h any) { m.SetHint(h) }, func(c *options.Collation) { m.SetCollation(c) })
		if st.Upsert {
			m.SetUpsert(true)
		}
		return m
	case st.Many:
		m := driver.NewUpdateManyModel().SetFilter(filter).SetUpdate(changeOf(st))
		setHints(req, func(h any) { m.SetHint(h) }, func(c *options.Collation) { m.SetCollation(c) })
		if st.Upsert {
			m.SetUpsert(true)
		}
		if st.ArrayFilters != nil {
			m.SetArrayFilters(arrayFilters(st))
		}
		return m
	}
	m := driver.NewUpdateOneModel().SetFilter(filter).SetUpdate(changeOf(st))
	setHints(req, func(h any) { m.SetHint(h) }, func(c *options.Collation) { m.SetCollation(c) })
	if st.Upsert {
		m.SetUpsert(true)
	}
	if st.ArrayFilters != nil {
		m.SetArrayFilters(arrayFilters(st))
	}
	return m
}

// replaces reports whether an update is a replacement: its first key does not begin with '$'. In BSON the first key
// follows the length of the document and a type.
func replaces(st *workload.Statement) bool {
	return !st.Stages && (len(st.Update) < 6 || st.Update[5] != '$')
}
