package conduct

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

// scaledStudy is written for ten times as many documents and workers as it runs with.
func scaledStudy() spec.Study {
	s := searching()
	s.Scale = &spec.Scale{Data: 0.1, Workers: 0.1}
	s.Run.Workload.Records, s.Run.Load.Workers = 100_000, 20
	s.Factors[0].Levels = []spec.Level{{Value: 100_000}, {Value: 200_000}}
	threads := *s.Procedures.Threads
	threads.Levels = []spec.Count{10, 20, 40, 80}
	threads.From, threads.To = 0, 0
	procedures := *s.Procedures
	procedures.Threads = &threads
	s.Procedures = &procedures
	return s
}

// A scale is applied once: by the study, its procedures, and by whoever goes on with it, from its record or its file.
func TestScaleIsAppliedOnce(t *testing.T) {
	for name, given := range map[string]*spec.Study{"record": nil, "file": new(scaledStudy())} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "study")
			b := newBench(searchTarget())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			b.before = func(_ context.Context, q study.Request) error {
				if q.Trial == 2 {
					cancel()
					return context.Canceled
				}
				return nil
			}
			var stop *campaign.Stop
			if _, err := runStudy(ctx, scaledStudy(), b.options(dir)); !errors.As(err, &stop) {
				t.Fatal(err)
			}
			b.before = nil
			o := b.options(dir)
			if given != nil {
				o.Spec = completed(t, *given)
			}
			s, err := Resume(t.Context(), dir, o)
			if err != nil {
				t.Fatal(err)
			}
			finished(t, dir, s, 4)
			for _, q := range b.asked {
				if r := q.Spec.Workload.Records; r != 10_000 && r != 20_000 || q.Spec.Load.Rate == 0 && q.Spec.Load.Workers > 20 {
					t.Errorf("trial %d: %v records, %v workers", q.Trial, r, q.Spec.Load.Workers)
				}
			}
			if s.Asked == nil || s.Asked.Run.Workload.Records != 100_000 || s.Specification.Run.Workload.Records != 10_000 ||
				!s.Specification.Scale.Applied {
				t.Errorf("asked %+v\nspecification %+v", s.Asked, s.Specification)
			}
			if c := s.Configurations[1]; c.Levels["records"] != "200000" || c.Set["workload.records"] != 20_000 {
				t.Errorf("configuration %+v", c)
			}
			if f := s.Validity; len(f) == 0 || !hasID(s, "scaled") {
				t.Errorf("findings %+v", f)
			}
		})
	}
}

func hasID(s *record.Study, id string) bool {
	for _, f := range s.Validity {
		if f.ID == id {
			return true
		}
	}
	return false
}
