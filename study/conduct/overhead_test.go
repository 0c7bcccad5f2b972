package conduct

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

// instant is a runner that takes no time and leaves no record: what is left is what the study itself costs.
type instant struct{}

func (instant) Trial(_ context.Context, q study.Request) (study.Result, error) {
	ns := int64(1_000_000)
	l := &record.Latency{Count: 1e6, Mean: 1e6, Max: ns, P50: &ns, P90: &ns, P95: &ns, P99: &ns}
	class := func(name string) record.ClassResult {
		return record.ClassResult{Name: name, Counts: measure.Tally{Attempted: 1e6, Succeeded: 1e6}, Response: l, Service: l}
	}
	r := &record.Run{Head: record.Head{Status: record.Complete, Started: time.Now()}, Specification: q.Spec}
	r.Phases = []record.PhaseResult{{
		Phase: "measure", Seconds: 60, Counts: measure.Tally{Attempted: 2e6, Succeeded: 2e6},
		Ended: measure.Tally{Attempted: 2e6, Succeeded: 2e6},
		Rates: record.Rates{Achieved: 33333}, All: class("all"), Classes: []record.ClassResult{class("read"), class("update")},
	}}
	return study.Result{Run: r}, nil
}

// BenchmarkBetweenTrials is what a study takes between two trials: two lines of the journal and study.json, each on
// the disk before it goes on. The target is 200 ms, also in a large study.
func BenchmarkBetweenTrials(b *testing.B) {
	for _, trials := range []int{20, 200, 2000} {
		b.Run(fmt.Sprintf("%d trials", trials), func(b *testing.B) {
			asked := smallStudy(func(s *spec.Study) { s.Trials = spec.Count(trials / 2) })
			for b.Loop() {
				dir := filepath.Join(b.TempDir(), "study")
				if _, err := runStudy(b.Context(), asked, Options{Runner: instant{}, Dir: dir}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/float64(trials), "ms/trial")
		})
	}
}
