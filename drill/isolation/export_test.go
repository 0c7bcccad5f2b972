package isolation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/drill/isolation"
	"github.com/plimsoll-bench/plimsoll/drill/isolation/isolationtest"
)

// small is a history with one transaction of each outcome.
func small() *isolation.History {
	return &isolation.History{
		Transactions: []isolation.Transaction{
			{Session: 0, Outcome: isolation.Committed, Began: 10, Ended: 20, Ops: []isolation.Op{
				{Key: 1, Write: true, ID: 101, N: 1}, {Key: 2, ID: 0, N: 0}}},
			{Session: 1, Outcome: isolation.Unknown, Began: 12, Ops: []isolation.Op{
				{Key: 1, Write: true, ID: 102, N: 2, Prev: 101}}},
			{Session: 0, Outcome: isolation.Aborted, Began: 30, Ended: 40, Ops: []isolation.Op{
				{Key: 2, Write: true, Blind: true, ID: 103, N: isolation.Unplaced}}},
			{Session: 1, Outcome: isolation.Committed, Began: 35, Ended: 50, Ops: []isolation.Op{
				{Key: 1, ID: 102, N: 2, Prev: 101}}},
		},
		Final: []isolation.Op{{Key: 1, ID: 102, N: 2, Prev: 101}, {Key: 2}},
	}
}

func TestExport(t *testing.T) {
	want := map[isolation.Format]string{
		isolation.EDN: `{:index 0 :type :invoke :process 0 :time 10 :f :txn :value [[:r 1 nil] [:append 1 101] [:r 2 nil]]}
{:index 1 :type :invoke :process 1 :time 12 :f :txn :value [[:r 1 nil] [:append 1 102]]}
{:index 2 :type :ok :process 0 :time 20 :f :txn :value [[:r 1 []] [:append 1 101] [:r 2 []]]}
{:index 3 :type :invoke :process 0 :time 30 :f :txn :value [[:append 2 103]]}
{:index 4 :type :invoke :process 3 :time 35 :f :txn :value [[:r 1 nil]]}
{:index 5 :type :fail :process 0 :time 40 :f :txn :value [[:append 2 103]]}
{:index 6 :type :info :process 1 :time 50 :f :txn :value [[:r 1 nil] [:append 1 102]]}
{:index 7 :type :ok :process 3 :time 50 :f :txn :value [[:r 1 [101 102]]]}
`,
		isolation.JSON: `{"index":0,"type":"invoke","process":0,"time":10,"f":"txn","value":[["r",1,null],["append",1,101],["r",2,null]]}
{"index":1,"type":"invoke","process":1,"time":12,"f":"txn","value":[["r",1,null],["append",1,102]]}
{"index":2,"type":"ok","process":0,"time":20,"f":"txn","value":[["r",1,[]],["append",1,101],["r",2,[]]]}
{"index":3,"type":"invoke","process":0,"time":30,"f":"txn","value":[["append",2,103]]}
{"index":4,"type":"invoke","process":3,"time":35,"f":"txn","value":[["r",1,null]]}
{"index":5,"type":"fail","process":0,"time":40,"f":"txn","value":[["append",2,103]]}
{"index":6,"type":"info","process":1,"time":50,"f":"txn","value":[["r",1,null],["append",1,102]]}
{"index":7,"type":"ok","process":3,"time":50,"f":"txn","value":[["r",1,[101,102]]]}
`,
		isolation.Plume: `r(1,0,0,0)
w(1,101,0,0)
r(2,0,0,0)
w(1,102,1,1)
w(2,103,0,-1)
r(1,102,1,3)
`,
	}
	for _, format := range isolation.Formats {
		var out strings.Builder
		if err := small().Export(&out, format); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[format], out.String()); diff != "" {
			t.Errorf("%s: -want +got\n%s", format, diff)
		}
	}
}

// The begin of a history is judged as the whole is, and has no more than what had happened by then.
func TestBegin(t *testing.T) {
	for seed := range uint64(30) {
		s := isolationtest.Simulate(isolationtest.Options{Seed: seed, Transactions: 1000})
		h := s.History.Begin(100 + int(seed))
		if len(h.Transactions) != 100+int(seed) {
			t.Fatalf("seed %d: %d transactions", seed, len(h.Transactions))
		}
		if v := isolation.Check(&h, isolation.StrongSnapshot); v.Forbidden() > 0 {
			t.Errorf("seed %d: the begin of an honest history: %v", seed, v.Counts)
		}
	}
}
