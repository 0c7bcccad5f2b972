package mongo

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

func hintOf(req *workload.Request) any {
	return bson.RawValue{Type: bson.Type(req.Hint.Kind), Value: req.Hint.Data}
}

func collationOf(req *workload.Request) *options.Collation {
	var c options.Collation
	var raw struct {
		Locale          string `bson:"locale"`
		CaseLevel       bool   `bson:"caseLevel"`
		CaseFirst       string `bson:"caseFirst"`
		Strength        int    `bson:"strength"`
		NumericOrdering bool   `bson:"numericOrdering"`
		Alternate       string `bson:"alternate"`
		MaxVariable     string `bson:"maxVariable"`
		Normalization   bool   `bson:"normalization"`
		Backwards       bool   `bson:"backwards"`
	}
	if bson.Unmarshal(req.Collation, &raw) == nil {
		c = options.Collation(raw)
	}
	return &c
}

// concernOf makes the concerns of a request; nil parts are those of the run.
func concernOf(k *workload.Concern) (w *writeconcern.WriteConcern, r *readconcern.ReadConcern, p *readpref.ReadPref) {
	if k == nil {
		return nil, nil, nil
	}
	if k.W != "" || k.Journal != nil {
		w = &writeconcern.WriteConcern{Journal: k.Journal}
		if k.W != "" {
			w.W = parseW(k.W)
		}
	}
	if k.Read != "" {
		r = &readconcern.ReadConcern{Level: k.Read}
	}
	if k.Preference != "" {
		if mode, err := readpref.ModeFromString(k.Preference); err == nil {
			p, _ = readpref.New(mode) // a mode without tags is always valid
		}
	}
	return w, r, p
}

func collectionOptions(k *workload.Concern) *options.CollectionOptionsBuilder {
	o := options.Collection()
	w, r, p := concernOf(k)
	if w != nil {
		o.SetWriteConcern(w)
	}
	if r != nil {
		o.SetReadConcern(r)
	}
	if p != nil {
		o.SetReadPreference(p)
	}
	return o
}

// contextOf returns the context of a request. Those of a transaction share one.
func (s *session) contextOf(req *workload.Request) (context.Context, error) {
	if !req.Within && req.Verb != workload.Commit && req.Verb != workload.Abort {
		return s.base, nil
	}
	if s.txn == nil {
		if s.txn = s.causal; s.txn == nil {
			var err error
			s.txn, err = s.db.Client().StartSession(options.Session().SetCausalConsistency(false))
			if err != nil {
				return nil, err
			}
		}
		s.within = driver.NewSessionContext(s.base, s.txn)
	}
	if !req.Starts {
		return s.within, nil
	}
	_ = s.txn.AbortTransaction(s.within) // one that is still open, or there is none
	o := options.Transaction().SetReadPreference(readpref.Primary())
	w, r, _ := concernOf(req.Concern)
	if w != nil {
		o.SetWriteConcern(w)
	}
	if r != nil {
		o.SetReadConcern(r)
	}
	return s.within, s.txn.StartTransaction(o)
}

func (s *session) distinct(ctx context.Context, coll *driver.Collection, req *workload.Request,
	res *store.Result) error {
	o := options.Distinct()
	setHints(req, func(h any) { o.SetHint(h) }, func(c *options.Collation) { o.SetCollation(c) })
	values, err := coll.Distinct(ctx, req.Key, bson.Raw(req.Filter), o).Raw()
	if err != nil {
		return err
	}
	list, err := values.Values()
	if err != nil {
		return fmt.Errorf("the values of a distinct: %w", err)
	}
	res.Docs = len(list)
	for _, v := range list {
		res.Bytes += len(v.Value)
	}
	if res.Docs == 0 {
		emptyResult(req, res)
	}
	return nil
}

func (s *session) findAndModify(ctx context.Context, coll *driver.Collection, req *workload.Request,
	res *store.Result) error {
	st := &req.Updates[0]
	res.Bytes = len(st.Update)
	doc, err := s.modifyOne(ctx, coll, req)
	if err == driver.ErrNoDocuments {
		// The document before an upsert does not exist.
		n := 0
		if st.Upsert {
			n = 1
		}
		res.SetMatched(1, n, req.MayBeEmpty)
		return nil
	}
	if err != nil {
		if answer, ok := writeAnswer(err); ok {
			s.fillWriteErrors(answer.n, answer, res)
			return nil
		}
		return err
	}
	res.Docs, res.Doc = 1, doc
	res.Bytes += len(doc)
	return nil
}

// modifyOne sends a findAndModify like an application.
func (s *session) modifyOne(ctx context.Context, coll *driver.Collection, req *workload.Request) (bson.Raw, error) {
	st := &req.Updates[0]
	filter := bson.Raw(st.Filter)
	after := options.Before
	if req.New {
		after = options.After
	}
	switch {
	case req.Remove:
		o := options.FindOneAndDelete()
		setHints(req, func(h any) { o.SetHint(h) }, func(c *options.Collation) { o.SetCollation(c) })
		if req.Projection != nil {
			o.SetProjection(bson.Raw(req.Projection))
		}
		if req.Sort != nil {
			o.SetSort(bson.Raw(req.Sort))
		}
		return coll.FindOneAndDelete(ctx, filter, o).Raw()
	case replaces(st):
		o := options.FindOneAndReplace()
		setHints(req, func(h any) { o.SetHint(h) }, func(c *options.Collation) { o.SetCollation(c) })
		if req.New {
			o.SetReturnDocument(after)
		}
		if st.Upsert {
			o.SetUpsert(true)
		}
		if req.Projection != nil {
			o.SetProjection(bson.Raw(req.Projection))
		}
		if req.Sort != nil {
			o.SetSort(bson.Raw(req.Sort))
		}
		return coll.FindOneAndReplace(ctx, filter, bson.Raw(st.Update), o).Raw()
	}
	o := options.FindOneAndUpdate()
	setHints(req, func(h any) { o.SetHint(h) }, func(c *options.Collation) { o.SetCollation(c) })
	if req.New {
		o.SetReturnDocument(after)
	}
	if st.Upsert {
		o.SetUpsert(true)
	}
	if st.ArrayFilters != nil {
		o.SetArrayFilters(arrayFilters(st))
	}
	if req.Projection != nil {
		o.SetProjection(bson.Raw(req.Projection))
	}
	if req.Sort != nil {
		o.SetSort(bson.Raw(req.Sort))
	}
	return coll.FindOneAndUpdate(ctx, filter, changeOf(st), o).Raw()
}

// watchAtMost is how long a read of a change stream waits for a change.
const watchAtMost = time.Second

// watch reads the next changes. The driver resumes a stream that was interrupted.
func (s *session) watch(ctx context.Context, coll *driver.Collection, req *workload.Request, res *store.Result) error {
	key := req.Collection + "\x00" + req.FullDocument + "\x00" + string(req.Pipeline)
	f := s.feeds[key]
	if f == nil {
		var err error
		o := options.ChangeStream().SetMaxAwaitTime(watchAtMost)
		if req.FullDocument != "" {
			o.SetFullDocument(options.FullDocument(req.FullDocument))
		}
		f, err = coll.Watch(s.base, stages(req.Pipeline), o)
		if err != nil {
			return err
		}
		if s.feeds == nil {
			s.feeds = map[string]*driver.ChangeStream{}
		}
		s.feeds[key] = f
		return nil
	}
	for f.TryNext(ctx) {
		if res.Docs == 0 {
			s.first = append(s.first[:0], f.Current...)
			res.Doc = s.first
		}
		res.Docs++
		res.Bytes += len(f.Current)
		if f.RemainingBatchLength() == 0 {
			break
		}
	}
	if err := f.Err(); err != nil {
		_ = f.Close(s.base) // the error of the read is returned
		delete(s.feeds, key)
		return err
	}
	return nil
}
