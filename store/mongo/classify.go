package mongo

import (
	"context"
	"errors"
	"strings"

	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"github.com/plimsoll-bench/plimsoll/store"
)

// errUnknownVerb is a mistake of the caller.
var errUnknownVerb = errors.New("the request has an unknown verb")

// answer is the reply to a write with errors.
type answer struct {
	n       int // documents that the server counted; 0 if the driver does not return it
	errs    []store.ServerError
	concern *store.ServerError
}

// writeAnswer converts the errors that the driver makes of writeErrors and writeConcernError. ok is false for every
// other error.
func writeAnswer(err error) (a answer, ok bool) {
	var one driver.WriteException
	var many driver.BulkWriteException
	switch {
	case errors.As(err, &one):
		for _, e := range one.WriteErrors {
			a.errs = append(a.errs, statementError(e, one.Labels))
		}
		a.concern = concernError(one.WriteConcernError, one.Labels)
		n, _ := one.Raw.Lookup("n").AsInt64OK()
		a.n = int(n)
	case errors.As(err, &many):
		for _, e := range many.WriteErrors {
			a.errs = append(a.errs, statementError(e.WriteError, many.Labels))
		}
		a.concern = concernError(many.WriteConcernError, many.Labels)
	}
	return a, len(a.errs) > 0 || a.concern != nil
}

func statementError(e driver.WriteError, labels []string) store.ServerError {
	return store.ServerError{Code: int32(e.Code), Message: store.OneLine(e.Message), Labels: labels, Index: e.Index}
}

func concernError(e *driver.WriteConcernError, labels []string) *store.ServerError {
	if e == nil {
		return nil
	}
	return &store.ServerError{Code: int32(e.Code), CodeName: e.Name, Message: store.OneLine(e.Message), Labels: labels}
}

// fillWriteErrors fills res for a write with refused statements or an unsatisfied write concern.
func (s *session) fillWriteErrors(applied int, a answer, res *store.Result) {
	res.SetWriteErrors(applied, a.errs, a.concern)
	s.doubt(res)
}

// doubt makes the outcome indeterminate if an earlier attempt of the same request may have been applied: a refused
// second attempt proves nothing for the first one.
func (s *session) doubt(res *store.Result) {
	if !s.track.ambiguous {
		return
	}
	switch res.Outcome {
	case store.NotApplied, store.Rejected, store.Overloaded, store.Conflict:
		res.Outcome = store.Indeterminate
		res.Message = "an earlier attempt may have been applied; the last one: " + res.Message
	}
}

// classify fills res for an error that is not a [writeAnswer].
func (s *session) classify(write bool, err error, res *store.Result) {
	var ce driver.CommandError
	isCommand := errors.As(err, &ce)
	if isCommand && ce.Code != 0 {
		res.SetServerError(write, &store.ServerError{
			Code: ce.Code, CodeName: ce.Name, Message: store.OneLine(ce.Message), Labels: ce.Labels})
		s.doubt(res)
		return
	}
	if isCommand {
		res.Labels = ce.Labels
	}
	outcome := store.Failed
	switch {
	case errors.Is(err, errUnknownVerb):
		outcome = store.Rejected
	case write && s.track.sent() == 0:
		outcome = store.NotApplied
	case write && s.lastUnsent() && !s.track.ambiguous:
		outcome = store.NotApplied
	case write:
		outcome = store.Indeterminate
	}
	res.Fail(outcome, s.reason(err), store.OneLine(err.Error()))
}

// lastUnsent reports whether the driver's last attempt failed before anything was written.
func (s *session) lastUnsent() bool { return !s.track.open && s.track.unsent > 0 }

// reason returns the source of an error without a server's code.
func (s *session) reason(err error) store.Reason {
	var marshal driver.MarshalError
	var bad driver.InvalidArgumentError
	switch {
	case errors.As(err, new(topology.WaitQueueTimeoutError)):
		return store.PoolTimeout
	case errors.As(err, new(topology.ServerSelectionError)):
		return store.Selection
	case errors.As(err, &marshal), errors.As(err, &bad), errors.Is(err, errUnknownVerb),
		errors.Is(err, driver.ErrClientDisconnected), errors.Is(err, driver.ErrNilDocument):
		return store.Client
	case driver.IsTimeout(err), errors.Is(err, context.Canceled):
		return store.Timeout
	case driver.IsNetworkError(err), errors.As(err, new(topology.ConnectionError)),
		strings.Contains(err.Error(), "connection pool"):
		return store.Network
	case s.track.sent() == 0:
		return store.Client // the request could not be built
	}
	return store.Protocol
}
