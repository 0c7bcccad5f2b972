package run

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/embedded"
	"github.com/plimsoll-bench/plimsoll/workload"
	"github.com/plimsoll-bench/plimsoll/workload/own"
)

// lackedByEmbedded are the operations and indexes of the example and recorded workload files that the embedded store
// cannot do. It does everything else.
var lackedByEmbedded = map[string][]string{
	"audit-log": {"operation search: the query operator $text", "index text_text"},
	"web-shop":  {"operation order: a transaction"},
}

// The embedded store does all operations of the examples and of recorded workloads but those that it names, and it
// names them all at once with what can do them.
func TestEmbeddedDoesTheExamples(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("../examples/workloads/*.yaml")
	recorded, _ := filepath.Glob("../workload/recorded/testdata/*.yaml")
	for _, file := range append(files, recorded...) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			w, err := own.Open(workload.Spec{Text: string(text), Seed: 3, Records: 400, Clients: 1})
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimSuffix(filepath.Base(file), ".yaml")
			checkLacking(t, checkEngine(w, engineEmbedded), lackedByEmbedded[name])
			doExamples(t, w)
		})
	}
}

func checkLacking(t *testing.T, err error, want []string) {
	t.Helper()
	var lines []string
	if err != nil {
		lines = strings.Split(err.Error(), "\n")
	}
	if n := len(lines) - 1; n >= 0 && strings.Contains(lines[n], "the embedded store can do the rest of") {
		lines = lines[:n]
	} else if len(want) > 0 {
		t.Errorf("what it can do is not said:\n%s", strings.Join(lines, "\n"))
	}
	if len(lines) != len(want) {
		t.Errorf("%d things are lacking, want %d:\n%s", len(lines), len(want), strings.Join(lines, "\n"))
	}
	for _, x := range want {
		if !slices.ContainsFunc(lines, func(l string) bool {
			return strings.Contains(l, x) && strings.Contains(l, "A MongoDB can do it")
		}) {
			t.Errorf("%q is not among\n%s", x, strings.Join(lines, "\n"))
		}
	}
}

// doExamples loads a workload and does its operations on an embedded store, without those that it lacks.
func doExamples(t *testing.T, w workload.Workload) {
	t.Helper()
	st, err := embedded.Open(t.Context(), t.TempDir(), store.Config{Sessions: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for _, ix := range w.Indexes() {
		if embedded.CheckIndex(&ix) == nil {
			if err := st.EnsureIndexes(t.Context(), []workload.Index{ix}); err != nil {
				t.Fatal(err)
			}
		}
	}
	session, err := st.Session(0)
	if err != nil {
		t.Fatal(err)
	}
	var op workload.Op
	loader := w.Loader()
	loader.Load(0, int(w.Records()), &op)
	done := map[string]int{}
	do := func(op *workload.Op, what string) (applied bool) {
		var res store.Result
		for i := range op.Requests {
			req := &op.Requests[i]
			if session.Do(time.Now().Add(time.Minute), req, &res); res.Outcome == store.Rejected {
				t.Fatalf("%s: %s", what, res.Message)
			}
			done[what+" "+res.Outcome.String()]++
		}
		return res.Outcome == store.OK
	}
	do(&op, "load")
	workers := 1
	if p, ok := w.(*own.Plan); ok {
		workers += p.Readers()
	}
	stream := w.Stream(workers-1, workers)
	for range 2000 {
		stream.Next(&op)
		applied := false
		if !slices.ContainsFunc(op.Requests, func(r workload.Request) bool { return embedded.Check(&r) != nil }) {
			applied = do(&op, w.Classes()[op.Class].Name)
		}
		stream.Done(&op, applied)
	}
	t.Log(done)
}
