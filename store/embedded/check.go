package embedded

import (
	"math"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// Check returns why the engine cannot carry out a request, nil if it can as far as the request shows.
func Check(req *workload.Request) error {
	var s session
	switch {
	case req.Starts || req.Within || req.Verb == workload.Commit || req.Verb == workload.Abort:
		return unsupported("a transaction")
	case req.Hint.Kind != 0:
		return unsupported("a hint")
	case req.Collation != nil:
		return unsupported("a collation")
	}
	switch req.Verb {
	case workload.Find:
		if err := s.filter.compile(req.Filter); err != nil {
			return err
		}
		if err := s.proj.compile(req.Projection); err != nil {
			return err
		}
		_, err := compileSort(nil, req.Sort)
		return err
	case workload.Aggregate:
		return s.compilePipeline(&pipeline{}, req.Pipeline)
	case workload.Watch:
		if req.FullDocument != "" {
			return unsupported("a change stream with fullDocument")
		}
		return s.compileWatch(req.Pipeline)
	case workload.Insert:
		return nil
	case workload.Distinct:
		return s.filter.compile(req.Filter)
	case workload.Update, workload.Delete, workload.FindAndModify:
		if err := s.proj.compile(req.Projection); err != nil {
			return err
		}
		if _, err := compileSort(nil, req.Sort); err != nil {
			return err
		}
		for i := range req.Updates {
			if err := checkStatement(&s, req, &req.Updates[i]); err != nil {
				return err
			}
		}
		return nil
	}
	return unsupported("the command " + req.Verb.String())
}

func checkStatement(s *session, req *workload.Request, u *workload.Statement) error {
	switch {
	case u.Stages:
		return unsupported("an update by a pipeline")
	case u.ArrayFilters != nil:
		return unsupported("an update with array filters")
	}
	if err := s.filter.compile(u.Filter); err != nil {
		return err
	}
	if _, ok := s.filter.point(); !ok && u.Upsert {
		return unsupported("an upsert whose filter is not one _id")
	}
	if req.Verb == workload.Delete || req.Remove {
		return nil
	}
	return s.update.compile(u.Update)
}

// CheckIndex returns why the engine cannot have an index.
func CheckIndex(ix *workload.Index) error {
	e, err := entryOf(ix)
	if err == nil {
		_, err = newIndex(e)
	}
	return err
}

// entryOf reads the specification of an index.
func entryOf(ix *workload.Index) (indexEntry, error) {
	e := indexEntry{Name: ix.Name, Keys: ix.Keys}
	it := elems{rest: ix.Options}
	for {
		name, v, ok := it.next()
		if !ok {
			break
		}
		switch string(name) {
		case "unique":
			e.Unique = v.t == rawbson.Bool && v.data[0] != 0
		case "partialFilterExpression":
			if v.t != rawbson.Document {
				return e, badValue(67, "CannotCreateIndex", "the filter of the partial index %q is not a document", ix.Name)
			}
			e.Partial = v.data
		case "expireAfterSeconds":
			seconds := int64(v.float())
			if !v.isNumber() || seconds < 0 || seconds > math.MaxInt32 {
				return e, badValue(67, "CannotCreateIndex", "the index %q must expire documents after 0 to %d seconds", ix.Name,
					math.MaxInt32)
			}
			e.ExpireAfter = &seconds
		default:
			return e, unsupported("an index with the option " + string(name))
		}
	}
	if it.bad {
		return e, malformed("the options of the index " + ix.Name)
	}
	return e, nil
}
