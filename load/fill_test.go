package load

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// database makes a fakeStore keep documents by their record number, with the semantics of a unique key.
// trouble decides before each insert what goes wrong with it; it may be nil.
func database(service time.Duration, trouble func(c call, res *store.Result) (apply bool)) *fakeStore {
	st := newFakeStore(nil)
	st.do = func(c call, res *store.Result) {
		time.Sleep(service)
		if c.req.Verb == workload.Find {
			st.find(c, res)
			return
		}
		apply := true
		if trouble != nil {
			apply = trouble(c, res)
		}
		if apply {
			var own store.Result
			st.insert(c, &own)
			if res.Outcome == store.OK {
				*res = own
				res.Attempts = 1
			}
		}
	}
	return st
}

func (s *fakeStore) find(c call, res *store.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.docs[binary.LittleEndian.Uint64(c.req.Filter)] > 0 {
		res.Docs = 1
		return
	}
	res.Outcome = store.NotFound
}

func (s *fakeStore) insert(c call, res *store.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	duplicates := 0
	for _, d := range c.req.Docs {
		key := binary.LittleEndian.Uint64(d)
		if s.docs[key] > 0 {
			duplicates++
			if !c.req.Unordered {
				break
			}
			continue
		}
		s.docs[key]++
		res.Docs++
	}
	if duplicates > 0 {
		res.Outcome, res.Reason, res.Code, res.CodeName = store.Conflict, store.Server, 11000, "DuplicateKey"
		if res.Docs > 0 {
			res.Outcome = store.Partial
		}
	}
}

func mustFill(t *testing.T, cfg FillConfig, records int64, st store.Store) (FillReport, *memorySink) {
	t.Helper()
	sink := &memorySink{}
	cfg.PlainTimers = true
	r, err := Fill(t.Context(), cfg, &fakeWorkload{records: records}, st, sink)
	if err != nil {
		t.Fatalf("Fill: %v", err)
	}
	return r, sink
}

func TestFill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := database(10*time.Millisecond, nil)
		r, sink := mustFill(t, FillConfig{Batch: 7, Parallel: 3}, 10_000, st)
		if !r.Complete || r.Inserted != 10_000 || r.Count != 10_000 || r.Batches != 1429 || r.Safe != 10_000 ||
			r.Retries != 0 {
			t.Errorf("report %+v", r)
		}
		if got := sink.count(classInsert, store.OK, PhaseLoad); got != 1429 {
			t.Errorf("%d batches counted in intervals of phase load", got)
		}
		if st.closed.Load() != 3 || len(sink.in()) != len(sink.in(PhaseLoad)) {
			t.Errorf("%d sessions closed; %d intervals, %d of phase load", st.closed.Load(), len(sink.in()), len(sink.in(PhaseLoad)))
		}
	})
}

func TestFillNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if r, _ := mustFill(t, FillConfig{}, 0, database(0, nil)); !r.Complete || r.Count != 0 {
			t.Errorf("report %+v", r)
		}
	})
}

// dice throws the same numbers for the same seed and order of calls.
func dice(t *testing.T, seed uint64) func(n int) int {
	t.Logf("seed %d", seed)
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 0))
	return func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return rng.IntN(n)
	}
}

// troubled refuses batches and loses answers, with and without the batch being applied.
func troubled(throw func(int) int) func(call, *store.Result) bool {
	return func(_ call, res *store.Result) bool {
		switch throw(10) {
		case 0:
			res.Fail(store.NotApplied, store.Server, "not primary")
			return false
		case 1:
			res.Fail(store.Indeterminate, store.Timeout, "no answer")
			return false
		case 2:
			res.Fail(store.Indeterminate, store.Network, "connection reset")
		case 3:
			res.Fail(store.Overloaded, store.Server, "try again")
			return false
		}
		return true
	}
}

func TestFillThroughTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := database(5*time.Millisecond, troubled(dice(t, 17)))
		r, sink := mustFill(t, FillConfig{Batch: 10, Parallel: 4}, 5_000, st)
		if !r.Complete || r.Count != 5_000 || r.Inserted+r.Present != 5_000 || r.Present < 300 || r.Retries < 200 ||
			r.Failed != 0 || r.Repaired {
			t.Errorf("report %+v", r)
		}
		if len(sink.kinds(EventRetry)) == 0 {
			t.Error("no event about batches that were sent again")
		}
	})
}

// TestFillResumesAfterCrashes stops load phases at random moments, cleanly and at once, and goes on
// with other batch sizes and numbers of sessions, until all is there.
func TestFillResumesAfterCrashes(t *testing.T) {
	const seed = 2026
	throw := dice(t, seed)
	for range 6 {
		synctest.Test(t, func(t *testing.T) {
			const records = 200_000
			st := database(time.Millisecond, troubled(throw))
			for attempt := 0; ; attempt++ {
				cfg := FillConfig{Batch: 1 + throw(1000), Parallel: 1 + throw(8), Resume: attempt > 0, PlainTimers: true}
				abort := make(chan struct{})
				cfg.Abort = abort
				ctx, cancel := context.WithCancel(t.Context())
				life := time.Duration(throw(600)) * time.Millisecond
				hard := throw(2) == 0
				go func() {
					time.Sleep(life)
					if hard {
						close(abort)
					}
					cancel()
				}()
				r, err := Fill(ctx, cfg, &fakeWorkload{records: records}, st, &memorySink{})
				synctest.Wait()
				time.Sleep(time.Second) // what was abandoned ends
				cancel()
				if err != nil {
					t.Fatalf("attempt %d with %+v: %v", attempt, cfg, err)
				}
				if r.Complete {
					if n := len(st.docs); n != records {
						t.Fatalf("complete with %d of %d documents", n, records)
					}
					return
				}
				if !r.Interrupted || attempt > 200 {
					t.Fatalf("attempt %d: report %+v", attempt, r)
				}
			}
		})
	}
}

func TestFillSaysWhereItResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const records = 1_000_000
		st := database(time.Millisecond, nil)
		for i := range uint64(600_000) {
			st.docs[i]++
		}
		r, sink := mustFill(t, FillConfig{Batch: 500, Parallel: 8, Resume: true}, records, st)
		if r.From > 600_000 || r.From < 600_000-resumeMargin-500 || !r.Complete || r.Inserted != 400_000 ||
			r.Inserted+r.Present != records {
			t.Errorf("report %+v", r)
		}
		if e := sink.kinds(EventResume); len(e) != 1 || !strings.Contains(e[0].Text, "record 600000 of 1000000") {
			t.Errorf("events %v", sink.events)
		}
		again, _ := mustFill(t, FillConfig{Resume: true}, records, st)
		if !again.Complete || again.Batches != 0 || again.Present != records {
			t.Errorf("resumed a complete load: %+v", again)
		}
	})
}

// TestFillRepairsHoles: documents that disappeared, or that a broken server swallowed, are found by the
// count and inserted in a second pass.
func TestFillRepairsHoles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		swallowed := false
		st := database(time.Millisecond, func(c call, res *store.Result) bool {
			if c.n == 5 && !swallowed {
				swallowed = true
				res.Docs = len(c.req.Docs)
				return false
			}
			return true
		})
		r, sink := mustFill(t, FillConfig{Batch: 10, Parallel: 1}, 1000, st)
		if !r.Complete || !r.Repaired || len(st.docs) != 1000 || len(sink.kinds(EventRepair)) != 1 {
			t.Errorf("report %+v, %d documents", r, len(st.docs))
		}
	})
}

func TestFillErrors(t *testing.T) {
	for name, test := range map[string]struct {
		cfg     FillConfig
		before  int
		more    int64
		trouble func(c call, res *store.Result) bool
		want    []string
	}{
		"not empty":       {before: 5, want: []string{`"docs" already has 5 documents`, "resume"}},
		"foreign before":  {cfg: FillConfig{Resume: true}, more: 2000, want: []string{"has 2000 documents", "only 1000 records", "other documents are in it"}},
		"foreign after":   {cfg: FillConfig{Resume: true}, before: 5, more: 3, want: []string{"has 1003 documents", "other documents are in it"}},
		"always rejected": {trouble: rejecting, want: []string{"records 20 to 29", "rejected (server): not authorised [code 13 Unauthorized]"}},
		"never reachable": {cfg: FillConfig{Retries: 2}, trouble: refusing, want: []string{"after 3 attempts", "connection refused"}},
		"losing documents": {trouble: func(c call, res *store.Result) bool { return c.n%10 != 3 },
			want: []string{"instead of 1000 after a second pass", "loses documents"}},
		"uncounted": {cfg: FillConfig{SkipCount: true, Retries: -1}, trouble: func(c call, res *store.Result) bool {
			return c.n%10 != 3 || rejecting(c, res)
		},
			want: []string{"10 of 100 batches failed", "not authorised"}},
		"batch":    {cfg: FillConfig{Batch: -1}, want: []string{"batch: -1"}},
		"parallel": {cfg: FillConfig{Batch: 1, Parallel: -1}, want: []string{"parallel: -1"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := database(time.Millisecond, test.trouble)
				for i := range test.before {
					st.docs[uint64(i)]++
				}
				st.more = test.more
				cfg := test.cfg
				cfg.PlainTimers = true
				if cfg.Batch == 0 {
					cfg.Batch, cfg.Parallel = 10, 1
				}
				r, err := Fill(t.Context(), cfg, &fakeWorkload{records: 1000}, st, &memorySink{})
				if err == nil || r.Complete {
					t.Fatalf("no error, report %+v", r)
				}
				for _, want := range test.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("error %q does not say %q", err, want)
					}
				}
			})
		})
	}
}

func rejecting(_ call, res *store.Result) bool {
	res.Fail(store.Rejected, store.Server, "not authorised")
	res.Code, res.CodeName = 13, "Unauthorized"
	return false
}

func refusing(_ call, res *store.Result) bool {
	res.Fail(store.NotApplied, store.Network, "connection refused")
	res.Attempts = 0
	return false
}

// TestFillToleratesNobodyElsesDocuments: in a first load a duplicate is not "already there".
func TestFillToleratesNobodyElsesDocuments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := database(time.Millisecond, nil)
		st.docs[15]++
		cfg := FillConfig{Batch: 10, Parallel: 1, SkipCount: true, MaxFailures: 1, PlainTimers: true}
		_, err := Fill(t.Context(), cfg, &fakeWorkload{records: 100}, st, &memorySink{})
		if err == nil || !strings.Contains(err.Error(), "DuplicateKey") {
			t.Errorf("Fill: %v", err)
		}
	})
}

func TestFillInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1005*time.Millisecond)
		defer cancel()
		st := database(10*time.Millisecond, nil)
		r, err := Fill(ctx, FillConfig{Batch: 10, Parallel: 2, PlainTimers: true}, &fakeWorkload{records: 1_000_000}, st,
			&memorySink{})
		if err != nil || !r.Interrupted || r.Complete || r.Inserted != 2020 || r.Safe != 2020 || len(st.docs) != 2020 {
			t.Errorf("Fill: %v, report %+v, %d documents", err, r, len(st.docs))
		}
	})
}

func TestFillWithStuckSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		st := database(time.Millisecond, nil)
		do := st.do
		st.do = func(c call, res *store.Result) {
			if c.worker == 1 && c.n > 10 {
				<-release
			}
			do(c, res)
		}
		r, _ := mustFill(t, FillConfig{Batch: 10, Parallel: 3, Timeout: time.Second}, 10_000, st)
		if !r.Complete || r.Abandoned != 1 || !r.Repaired {
			t.Errorf("report %+v", r)
		}
		close(release)
		time.Sleep(time.Second)
		all := database(time.Millisecond, nil)
		forever := make(chan struct{})
		all.do = func(call, *store.Result) { <-forever }
		cfg := FillConfig{Parallel: 2, Timeout: time.Second, PlainTimers: true}
		r, err := Fill(t.Context(), cfg, &fakeWorkload{records: 1000}, all, &memorySink{})
		if err == nil || !strings.Contains(err.Error(), "no session is left (2 did not return") {
			t.Errorf("Fill: %v, report %+v", err, r)
		}
		close(forever)
	})
}

// TestFillWindow: no batch is begun long before an earlier one is done, or resuming would miss it.
func TestFillWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var highest atomic.Uint64
		st := database(0, nil)
		do := st.do
		st.do = func(c call, res *store.Result) {
			if c.n == 3 {
				time.Sleep(5 * time.Second)
				if got := highest.Load(); got > 70 {
					t.Errorf("record %d was inserted while an early batch was still under way", got)
				}
			}
			do(c, res)
			highest.Store(max(highest.Load(), binary.LittleEndian.Uint64(c.req.Docs[0])))
		}
		mustFill(t, FillConfig{Batch: 1, Parallel: 4}, 1000, st)
	})
}
