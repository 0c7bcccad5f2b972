package capacity

import (
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/capacity/sizetest"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

func replicaSet(cache string) record.Target {
	t := mongod(cache)
	t.Topology, t.Hosts = "replica set", []string{"a:1", "b:1", "c:1"}
	return t
}

// One question gets one answer: flags add what a record does not say, and those that contradict it are errors.
func TestOneQuestionHasOneAnswer(t *testing.T) {
	t.Parallel()
	dirs := made(t, open(10_000, sizetest.Run{Target: replicaSet("4294967296"), Records: 5_000_000})...)
	want := size(t, Input{Records: dirs, Need: need(t, "ops=50000,data=50GiB")})
	if want.Answer == nil || want.Answer.Nodes%3 != 0 {
		t.Fatal(text(want))
	}
	for _, d := range []Deployment{{Nodes: 3}, {Copies: 3}, {Nodes: 3, Copies: 3}, {Memory: 64 << 30}, {Cores: 4}} {
		got := size(t, Input{Records: dirs, Need: need(t, "ops=50000,data=50GiB"), Deployment: d})
		if got.Answer == nil || got.Answer.Nodes != want.Answer.Nodes || got.Answer.Shards != want.Answer.Shards {
			t.Errorf("%+v: %s", d, text(got))
		}
	}
	for word, d := range map[string]Deployment{"--nodes 6": {Nodes: 6}, "--copies 1": {Copies: 1}, "--memory": {Memory: 2 << 30}} {
		if _, err := Size(Input{Records: dirs, Need: need(t, "ops=50000"), Deployment: d}); err == nil ||
			!strings.Contains(err.Error(), word) || !strings.Contains(err.Error(), "contradicts the record") {
			t.Errorf("%+v: %v", d, err)
		}
	}
	one := made(t, sizetest.Run{Rate: 1000})
	if _, err := Size(Input{Records: one, Need: need(t, "ops=1000"), Deployment: Deployment{Nodes: 3}}); err == nil {
		t.Error("a standalone mongod has three nodes")
	}
}

// Three copies are the default, of which one may fail. The sentence about that is one.
func TestThreeCopiesAreTheDefault(t *testing.T) {
	t.Parallel()
	dirs := made(t, open(10_000, sizetest.Run{Target: mongod("4294967296")})...)
	for text, want := range map[string]record.SizeAnswer{
		"ops=1000":                     {Shards: 1, Copies: 3, Nodes: 3},
		"ops=1000,copies=1":            {Shards: 1, Copies: 1, Spare: 1, Nodes: 2},
		"ops=1000,copies=1,failures=0": {Shards: 1, Copies: 1, Nodes: 1},
		"ops=1000,copies=5,failures=2": {Shards: 1, Copies: 5, Nodes: 5},
	} {
		s := size(t, Input{Records: dirs, Need: need(t, text)})
		a := s.Answer
		if a == nil || a.Shards != want.Shards || a.Copies != want.Copies || a.Spare != want.Spare || a.Nodes != want.Nodes {
			t.Errorf("%s: %+v", text, a)
		}
		rule := 0
		for _, r := range s.Reasons {
			rule += strings.Count(r, "N−1 rule")
		}
		if failures := s.Need.Failures; rule != min(failures, 1) {
			t.Errorf("%s: the rule is said %d times in %q", text, rule, s.Reasons)
		}
	}
}

// A rate that held is a lower bound, so the answer is "at most". One that a search found is none, unless its
// highest rate held. Neither is the throughput of workers, nor an answer that memory decides.
func TestAtMostWhereARateIsALowerBound(t *testing.T) {
	t.Parallel()
	held := made(t, open(10_000, sizetest.Run{Target: mongod("4294967296")})...)
	for name, x := range map[string]struct {
		in   Input
		most bool
	}{
		"held":    {Input{Records: held, Need: need(t, "ops=50000")}, true},
		"workers": {Input{Records: made(t, sizetest.Run{Achieved: 10_000}), Need: need(t, "ops=50000")}, false},
		"memory":  {Input{Records: held, Need: need(t, "ops=10000,data=40GiB")}, false},
		"data":    {Input{Records: held, Need: need(t, "data=1GiB")}, false},
	} {
		s := size(t, x.in)
		if s.Answer == nil || s.Answer.AtMost != x.most {
			t.Errorf("%s: %s", name, text(s))
		}
	}
}

// What was measured on another engine, or with a thousandth of the data of a member, sizes nothing. With a tenth it is
// said. As much, or less than planned in all but not on a member, is no reason.
func TestAnotherEngineAndTooLittleData(t *testing.T) {
	t.Parallel()
	set := replicaSet("4294967296")
	run := func(r sizetest.Run) []string { return made(t, open(10_000, r)...) }
	for name, x := range map[string]struct {
		dirs    []string
		need    string
		verdict record.SizeVerdict
		want    string // in the reasons or findings
	}{
		"embedded":     {run(sizetest.Run{Target: record.Target{Address: "embedded:d", Kind: "embedded"}}), "ops=50000", record.SizeUnknown, "another engine (embedded, not MongoDB)"},
		"stand-in":     {run(sizetest.Run{Target: record.Target{Settings: map[string]string{"gitVersion": "plimsoll-stand-in"}}}), "ops=50000", record.SizeUnknown, "another engine (stand-in, not MongoDB)"},
		"FerretDB":     {run(sizetest.Run{Target: record.Target{Kind: "ferretdb"}}), "ops=50000", record.SizeAnswered, "memory-of-mongod"},
		"as much":      {run(sizetest.Run{Target: set, Records: 10_000_000}), "ops=50000,data=50GiB", record.SizeAnswered, ""},
		"a tenth":      {run(sizetest.Run{Target: set, Workload: "e", Records: 1_000_000}), "ops=50000,data=200GiB", record.SizeAnswered, "data-small"},
		"a thousandth": {run(sizetest.Run{Target: set, Workload: "e", Records: 20_000}), "ops=50000,data=2TiB", record.SizeUnknown, "documents for each measured shard (--records)"},
	} {
		s := size(t, Input{Records: x.dirs, Need: need(t, x.need)})
		if s.Verdict != x.verdict || !strings.Contains(text(s), x.want) || x.want == "" && strings.Contains(text(s), "data-small") {
			t.Errorf("%s: %s", name, text(s))
		}
	}
}

// A workload file is sized from its text in the record, with the memory of its keys, or with the reason why not.
func TestSizeOfAWorkloadFile(t *testing.T) {
	t.Parallel()
	byKey := size(t, Input{Records: made(t, open(1000, sizetest.Run{Workload: "orders.yaml", File: ordersFile, Target: replicaSet("1048576"),
		P99: time.Millisecond})...), Need: need(t, "ops=5000,data=10MiB")})
	if w := byKey.Workloads[0]; byKey.Verdict != record.SizeAnswered || w.Memory == nil ||
		w.Memory.Hit == nil || !(*w.Memory.Hit < 1) ||
		!strings.Contains(w.Memory.Distribution, "zipfian (theta 0.99) and uniform") || byKey.Answer.Memory == 0 {
		t.Error(text(byKey))
	}
	other := strings.Replace(ordersFile, "filter: {_id: {$uniform: orders}}", "filter: {x: {$string: 20}}", 1)
	s := size(t, Input{Records: made(t, sizetest.Run{Rate: 1000, Workload: "orders.yaml", File: other, Target: replicaSet("1048576")}),
		Need: need(t, "ops=5000")})
	if s.Verdict != record.SizeAnswered || s.Answer.Memory != 0 {
		t.Fatal(text(s))
	}
	for _, f := range s.Validity {
		if f.ID == "no-memory-model" && f.Severity == measure.Warning && strings.Contains(f.Text, "order changes documents that it finds by x") {
			return
		}
	}
	t.Errorf("the reason is not among %v", s.Validity)
}
