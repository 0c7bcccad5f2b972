package conduct

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

// The procedure baseline does what threads and then steady do.
func TestBaselineIsThreadsThenSteady(t *testing.T) {
	find := func(asked spec.Study) *record.Study {
		asked.Factors, asked.Trials, asked.Procedures.Capacity = nil, 0, nil
		s, err := runStudy(t.Context(), asked, newBench(searchTarget()).options(filepath.Join(t.TempDir(), "study")))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	apart, together := searching(), searching()
	p := together.Procedures
	p.Baseline = &spec.Baseline{Threads: p.Threads, Steady: p.Steady}
	p.Threads, p.Steady = nil, nil
	want, got := find(apart), find(together)
	if len(want.Procedures) != 2 || want.Procedures[0].Name != "threads" {
		t.Fatalf("%+v", want.Procedures)
	}
	if d := cmp.Diff(want.Procedures, got.Procedures); d != "" {
		t.Errorf("apart -, as baseline +:\n%s", d)
	}
	if got.Specification.Procedures.Threads == nil || got.Specification.Procedures.Steady == nil {
		t.Errorf("the record lacks the procedures: %+v", got.Specification.Procedures)
	}
}

// A capacity below which rates were missed is a finding of the study.
func TestDoubtfulCapacityIsAFinding(t *testing.T) {
	g := searchTarget()
	g.Trouble = func(n int, r study.Request) simulatedtest.Trouble {
		if n <= 5 && r.Spec.Load.Rate > 300 || r.Spec.Load.Rate > 3000 {
			return simulatedtest.Trouble{Slow: 100}
		}
		return simulatedtest.Trouble{}
	}
	asked := searching()
	asked.Factors, asked.Trials, asked.Run.Load.Workers = nil, 0, 256
	asked.Procedures = &spec.Procedures{Capacity: &spec.CapacitySearch{From: 1000,
		Duration: spec.Duration(5 * time.Second)}}
	s, err := runStudy(t.Context(), asked, newBench(g).options(filepath.Join(t.TempDir(), "study")))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(s.Validity, func(f measure.Finding) bool {
		return f.ID == "capacity-doubtful" && f.Severity == measure.Warning && strings.Contains(f.Text, "steps up to the line missed the objectives")
	}) {
		t.Errorf("capacity %+v, findings %+v", s.Capacity, s.Validity)
	}
}
