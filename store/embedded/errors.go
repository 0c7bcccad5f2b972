package embedded

import (
	"errors"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/store"
)

// opError is why an operation was not done. Do copies it into the result.
type opError struct {
	outcome store.Outcome
	reason  store.Reason
	code    int32
	name    string
	msg     string
}

func (e *opError) Error() string { return e.msg }

// unsupported rejects a part of the query language that the package comment does not list.
func unsupported(what string) error {
	return &opError{
		outcome: store.Rejected, reason: store.Client,
		msg: what + " is not supported by the embedded store. A MongoDB can do it: give its address, or start one (plimsoll lab up)",
	}
}

// badValue rejects a request that no server accepts. code and name are MongoDB's.
func badValue(code int32, name, format string, args ...any) error {
	return &opError{
		outcome: store.Rejected, reason: store.Server, code: code, name: name,
		msg: fmt.Sprintf(format, args...),
	}
}

func malformed(what string) error {
	return badValue(22, "InvalidBSON", "%s is not well-formed BSON", what)
}

// errDeadline ends a scan whose time is up.
var errDeadline = &opError{
	outcome: store.Failed, reason: store.Timeout, code: 50, name: "MaxTimeMSExpired",
	msg: "the deadline passed while documents were read",
}

// fail puts err into res. An error that is not an opError is one of the storage: reads have failed, and writes are
// indeterminate.
func fail(res *store.Result, err error, write bool) {
	var op *opError
	if errors.As(err, &op) {
		res.Fail(op.outcome, op.reason, op.msg)
		res.Code, res.CodeName = op.code, op.name
		if write && op.outcome == store.Failed {
			res.Outcome = store.NotApplied
		}
		return
	}
	res.Fail(store.Failed, store.Storage, oneLine(err))
	if write {
		res.Outcome = store.Indeterminate
	}
}
