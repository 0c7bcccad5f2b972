package load

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// bookings are transactions of an insert, an update and a commit.
type bookings struct{ *fakeWorkload }

func (w bookings) Stream(worker, workers int) workload.Stream {
	s := w.fakeWorkload.Stream(worker, workers)
	s.Next = func(op *workload.Op) {
		op.Class, op.Seq, op.Transaction, op.Requests = classInsert, -1, true, []workload.Request{
			{Verb: workload.Insert, Class: workload.NoClass, Starts: true, Within: true},
			{Verb: workload.Update, Class: workload.NoClass, Within: true},
			{Verb: workload.Commit, Class: workload.NoClass}}
	}
	return s
}

// A transaction is repeated as drivers do, and its outcome is a proof or indeterminate.
func TestTransactions(t *testing.T) {
	labelled := func(o store.Outcome, label string) store.Result {
		return store.Result{Outcome: o, Reason: store.Server, Labels: []string{label}}
	}
	ok := store.Result{}
	transient := labelled(store.NotApplied, "TransientTransactionError")
	unknown := labelled(store.Indeterminate, "UnknownTransactionCommitResult")
	gone := store.Result{Outcome: store.Indeterminate, Reason: store.Network}
	refused := store.Result{Outcome: store.Rejected, Reason: store.Server, Code: 2}
	for name, tc := range map[string]struct {
		replies []store.Result
		sent    string // the first letters of the commands
		outcome store.Outcome
		undone  bool
	}{
		"committed":                     {[]store.Result{ok, ok, ok}, "iuc", store.OK, false},
		"a conflict":                    {[]store.Result{ok, transient, ok, ok, ok, ok}, "iuaiuc", store.OK, false},
		"the server is gone":            {[]store.Result{ok, gone, ok, ok, ok, ok}, "iuaiuc", store.OK, false},
		"an unknown commit":             {[]store.Result{ok, ok, unknown, ok}, "iucc", store.OK, false},
		"a commit without answer":       {[]store.Result{ok, ok, gone, unknown, ok}, "iuccc", store.OK, false},
		"a commit that did not happen":  {[]store.Result{ok, ok, unknown, transient, ok, ok, ok}, "iucciuc", store.OK, false},
		"a refused step":                {[]store.Result{ok, refused, ok}, "iua", store.Rejected, true},
		"nothing found":                 {[]store.Result{ok, {Outcome: store.NotFound}, ok}, "iua", store.NotFound, true},
		"a time limit of the commit":    {[]store.Result{ok, ok, {Outcome: store.Indeterminate, Code: 50}}, "iuc", store.Indeterminate, false},
		"doubt, then a refused commit":  {[]store.Result{ok, ok, unknown, refused}, "iucc", store.Indeterminate, false},
		"a step that timed out at last": {[]store.Result{ok, {Outcome: store.Indeterminate, Reason: store.Timeout}, ok}, "iua", store.NotApplied, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sent strings.Builder
				st := newFakeStore(func(c call, res *store.Result) {
					time.Sleep(time.Millisecond)
					sent.WriteByte(c.req.Verb.String()[0])
					reply := tc.replies[min(int(c.n), len(tc.replies)-1)]
					res.Outcome, res.Reason, res.Code, res.Labels = reply.Outcome, reply.Reason, reply.Code, reply.Labels
					res.Attempts, res.OperationTime = 1, uint64(c.n)+1
				})
				var settled []Settlement
				cfg := Config{Workers: 1, Operations: 1, PlainTimers: true, Observe: func(int) Observer {
					return func(_ *workload.Op, s *Settlement) { settled = append(settled, *s) }
				}}
				if _, err := Run(t.Context(), cfg, bookings{&fakeWorkload{}}, st, &memorySink{}); err != nil {
					t.Fatal(err)
				}
				if got := sent.String(); got != tc.sent {
					t.Errorf("sent %s, want %s", got, tc.sent)
				}
				if len(settled) != 1 || settled[0].Outcome != tc.outcome || settled[0].Undone != tc.undone {
					t.Errorf("%+v, want the outcome %v, undone %v", settled, tc.outcome, tc.undone)
				}
				// The second answer to a commit has a later time than the commit.
				time := uint64(0)
				if tc.outcome == store.OK && !strings.HasSuffix(tc.sent, "cc") {
					time = uint64(len(tc.sent))
				}
				if got := settled[0].OperationTime; got != time {
					t.Errorf("the server's time is %d, want %d", got, time)
				}
				confirmed := 0
				if tc.outcome == store.OK {
					confirmed = 3
				}
				if got := settled[0].Confirmed; got != confirmed {
					t.Errorf("%d requests are confirmed, not %d", got, confirmed)
				}
			})
		})
	}
}
