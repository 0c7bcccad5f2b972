package store

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClassifyServerError(t *testing.T) {
	for _, tc := range []struct {
		code   int32
		labels []string
		msg    string
		write  Outcome
		read   Outcome
		why    Reason
	}{
		{code: 10107, write: NotApplied, read: Failed, why: Server},
		{code: 13435, write: NotApplied, read: Failed, why: Server},
		{code: 13436, write: NotApplied, read: Failed, why: Server},
		{code: 10058, write: NotApplied, read: Failed, why: Server},
		{code: 189, write: Indeterminate, read: Failed, why: Server},
		{code: 11600, write: Indeterminate, read: Failed, why: Server},
		{code: 11602, write: Indeterminate, read: Failed, why: Server},
		{code: 91, write: Indeterminate, read: Failed, why: Server},
		{code: 189, labels: []string{"NoWritesPerformed"}, write: NotApplied, read: Failed, why: Server},
		{code: 133, write: Indeterminate, read: Failed, why: Server},
		{code: 50, write: Indeterminate, read: Failed, why: Timeout},
		{code: 262, write: Indeterminate, read: Failed, why: Timeout},
		{code: 462, write: Overloaded, read: Overloaded, why: Server},
		{code: 91, labels: []string{"SystemOverloadedError", "RetryableError"}, write: Overloaded, read: Overloaded, why: Server},
		{code: 13, write: Rejected, read: Rejected, why: Server},
		{code: 18, write: Rejected, read: Rejected, why: Server},
		{code: 2, write: Rejected, read: Rejected, why: Server},
		{code: 112, write: NotApplied, read: Failed, why: Server},
		{code: 11000, write: Conflict, read: Conflict, why: Server},
		{code: 1, msg: "canceling statement due to shutdown (SQLSTATE 57P01)", write: Indeterminate, read: Failed, why: Server},
		{code: 1, msg: "cannot execute INSERT in a read-only transaction", write: NotApplied, read: Failed, why: Server},
		{code: 1, msg: "ERROR: x (SQLSTATE 25006)", write: NotApplied, read: Failed, why: Server},
		{code: 1, msg: "failed to connect to `host=a`", write: NotApplied, read: Failed, why: Server},
		{code: 6, msg: "connection refused", write: Indeterminate, read: Failed, why: Server},
		{code: 999999, write: Indeterminate, read: Failed, why: Server},
		{code: 0, write: Indeterminate, read: Failed, why: Server},
	} {
		for write, want := range map[bool]Outcome{true: tc.write, false: tc.read} {
			got, why := ClassifyServerError(write, tc.code, "", tc.labels, tc.msg)
			if got != want || why != tc.why {
				t.Errorf("code %d %v %q, write %t: %v/%v, want %v/%v", tc.code, tc.labels, tc.msg, write, got, why, want, tc.why)
			}
		}
	}
}

func TestServerCodesAreUnique(t *testing.T) {
	seen := map[int32]bool{}
	for _, c := range serverCodes {
		if seen[c.code] || c.name == "" {
			t.Errorf("code %d: twice or without a name", c.code)
		}
		seen[c.code] = true
	}
	if !slices.IsSortedFunc(serverCodes[:], func(a, b codeInfo) int { return int(a.code - b.code) }) {
		t.Error("the codes are not in order")
	}
	if CodeName(189) != "PrimarySteppedDown" || CodeName(-1) != "" {
		t.Error("names")
	}
}

func TestSetWriteErrors(t *testing.T) {
	duplicate, unknown := ServerError{Code: 11000, Message: "E11000"}, ServerError{Code: 189, Message: "stepped down"}
	invalid := ServerError{Code: 121, Message: "validation"}
	concern := &ServerError{Code: 64, CodeName: "WriteConcernTimeout", Message: "waiting"}
	for _, tc := range []struct {
		name    string
		applied int
		errs    []ServerError
		concern *ServerError
		want    Outcome
		why     Reason
		code    int32
	}{
		{"all duplicates", 0, []ServerError{duplicate, duplicate}, nil, Conflict, Server, 11000},
		{"some applied", 3, []ServerError{duplicate}, nil, Partial, Server, 11000},
		{"refused", 0, []ServerError{invalid}, nil, Rejected, Server, 121},
		{"one unknown", 3, []ServerError{duplicate, unknown}, nil, Indeterminate, Server, 189},
		{"not confirmed", 1, nil, concern, Indeterminate, WriteConcern, 64},
		{"some not confirmed", 1, []ServerError{duplicate}, concern, Indeterminate, WriteConcern, 64},
		{"nothing to confirm", 0, []ServerError{duplicate}, concern, Conflict, Server, 11000},
		{"update that matched nothing, not confirmed", 0, nil, concern, Indeterminate, WriteConcern, 64},
	} {
		var r Result
		r.SetWriteErrors(tc.applied, tc.errs, tc.concern)
		if r.Outcome != tc.want || r.Reason != tc.why || r.Code != tc.code || r.Docs != tc.applied || r.CodeName == "" ||
			r.Message == "" {
			t.Errorf("%s: %+v", tc.name, r)
		}
	}
}

func TestSetMatched(t *testing.T) {
	for _, tc := range []struct {
		statements, matched int
		mayBeEmpty          bool
		want                Outcome
	}{
		{1, 1, false, OK}, {1, 0, false, NotFound}, {1, 0, true, OK}, {3, 2, false, Partial}, {3, 3, false, OK},
		{3, 1, true, OK},
	} {
		var r Result
		r.SetMatched(tc.statements, tc.matched, tc.mayBeEmpty)
		if r.Outcome != tc.want || r.Docs != tc.matched {
			t.Errorf("%+v: %+v", tc, r)
		}
	}
}

func TestServerErrorText(t *testing.T) {
	e := &ServerError{Code: 13, Message: "not authorized"}
	if d := cmp.Diff("server error 13 (Unauthorized): not authorized", e.Error()); d != "" {
		t.Error(d)
	}
}
