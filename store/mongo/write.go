package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

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

func (s *session) update(ctx context.Context, coll *driver.Collection, req *workload.Request, res *store.Result) error {
	for i := range req.Updates {
		res.Bytes += len(req.Updates[i].Update)
	}
	if len(req.Updates) == 1 {
		matched, err := updateOne(ctx, coll, &req.Updates[0])
		return s.updated(matched, err, req, res)
	}
	s.models = s.models[:0]
	for i := range req.Updates {
		s.models = append(s.models, model(&req.Updates[i]))
	}
	r, err := coll.BulkWrite(ctx, s.models, options.BulkWrite().SetOrdered(!req.Unordered))
	matched := 0
	if r != nil {
		matched = int(r.MatchedCount + r.UpsertedCount)
		if err != nil && !req.Unordered {
			// If an ordered batch ends early, the driver counts upserted documents in MatchedCount.
			matched = int(r.MatchedCount)
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
	if !s.acknowledged {
		res.Docs = len(req.Updates) // sent; the number of matched documents is not known
		return nil
	}
	res.SetMatched(len(req.Updates), matched, req.MayBeEmpty)
	return nil
}

// updateOne sends a single statement like an application and returns the number of matched or inserted documents.
func updateOne(ctx context.Context, coll *driver.Collection, st *workload.Statement) (int, error) {
	var r *driver.UpdateResult
	var err error
	if replaces(st.Update) {
		r, err = coll.ReplaceOne(ctx, bson.Raw(st.Filter), bson.Raw(st.Update), replaceOptions(st.Upsert)...)
	} else {
		r, err = coll.UpdateOne(ctx, bson.Raw(st.Filter), bson.Raw(st.Update), updateOptions(st.Upsert)...)
	}
	if r == nil {
		return 0, err
	}
	return int(r.MatchedCount + r.UpsertedCount), err
}

func replaceOptions(upsert bool) []options.Lister[options.ReplaceOptions] {
	if !upsert {
		return nil
	}
	return []options.Lister[options.ReplaceOptions]{options.Replace().SetUpsert(true)}
}

func updateOptions(upsert bool) []options.Lister[options.UpdateOneOptions] {
	if !upsert {
		return nil
	}
	return []options.Lister[options.UpdateOneOptions]{options.UpdateOne().SetUpsert(true)}
}

// model makes a statement of a batch.
func model(st *workload.Statement) driver.WriteModel {
	if replaces(st.Update) {
		m := driver.NewReplaceOneModel().SetFilter(bson.Raw(st.Filter)).SetReplacement(bson.Raw(st.Update))
		if st.Upsert {
			m.SetUpsert(true)
		}
		return m
	}
	m := driver.NewUpdateOneModel().SetFilter(bson.Raw(st.Filter)).SetUpdate(bson.Raw(st.Update))
	if st.Upsert {
		m.SetUpsert(true)
	}
	return m
}

// replaces reports whether an update is a replacement: its first key does not begin with '$'. In BSON the first key
// follows the length of the document and a type.
func replaces(update []byte) bool { return len(update) < 6 || update[5] != '$' }
