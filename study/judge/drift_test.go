package judge

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Where the rate is offered, the throughput cannot drift; the response times do.
func TestDriftOfAnOpenLoop(t *testing.T) {
	s := made(20, 12, 0.001, 1, 1)
	s.Base.Load.Rate = 1000
	for i := range s.Trials {
		s.Trials[i].Values["throughput"] = 1000
		s.Trials[i].Values["read.mean"] *= 1 + 0.3*float64(i)/float64(len(s.Trials))
	}
	Study(s)
	if s.Canary == nil || s.Canary.Metric != "read.mean" || s.Canary.Drift < 0.2 {
		t.Fatalf("%+v", s.Canary)
	}
	if !hasFinding(s.Validity, "drift", measure.Warning) { // another system at the end than at the beginning
		t.Errorf("%+v", s.Validity)
	}
}

// Very many trials are looked at in groups, and drift as much as they do.
func TestDriftOfManyTrials(t *testing.T) {
	s := made(21, 3000, 0.01, 1)
	for i := range s.Trials {
		s.Trials[i].Values["throughput"] *= 1 + 0.5*float64(i)/float64(len(s.Trials))
	}
	Study(s)
	if s.Canary.N != 3000 || math.Abs(s.Canary.Drift-0.5) > 0.02 { // a half of where it began
		t.Errorf("%+v", s.Canary)
	}
}

// Canaries count for the drift and for nothing else, and trials without a time by their numbers.
func TestCanariesShowDriftOnly(t *testing.T) {
	s := made(22, 2, 0.001, 1, 1.1)
	for i := range 6 {
		s.Trials = append(s.Trials, record.Trial{Number: 10 + i, Attempt: 1, Configuration: "baseline",
			Kind: record.TrialCanary, Status: record.TrialDone,
			Values: map[string]float64{"throughput": 1000 - 20*float64(i)}})
	}
	Study(s)
	if s.Canary == nil || s.Canary.N != 8 || s.Canary.Drift > -0.08 || s.Canary.P == nil {
		t.Errorf("%+v", s.Canary)
	}
	if c := verdict(s, "level=1", "throughput"); c.NBase != 2 {
		t.Errorf("canaries count in the comparison: %+v", c)
	}
}

// A canary that collapses drifts by less than all of it, however fast it falls.
func TestDriftNeverExceedsAll(t *testing.T) {
	s := made(23, 8, 0.001, 1)
	for i := range s.Trials {
		s.Trials[i].Values["throughput"] = 1000 * math.Pow(0.3, float64(i))
	}
	Study(s)
	if want := math.Pow(0.3, 7) - 1; s.Canary == nil || math.Abs(s.Canary.Drift-want) > 1e-9 {
		t.Fatalf("%+v, want %v", s.Canary, want)
	}
	s.Trials[7].Values["throughput"] = 0
	for i := range s.Trials[:7] {
		s.Trials[i].Values["throughput"] = 1000 / float64(1+i*i)
	}
	Study(s)
	if s.Canary.Drift < -1 || s.Canary.Drift >= 0 {
		t.Errorf("%+v", s.Canary)
	}
}

func TestOpenFindsWhatIsThere(t *testing.T) {
	top := t.TempDir()
	keepStudy(t, filepath.Join(top, "one", "deep"), made(1, 2, 0.01, 1))
	s, err := Open(filepath.Join(top, "one"))
	if err != nil || s.Study == nil {
		t.Fatalf("%+v, %v", s, err)
	}
	keepStudy(t, filepath.Join(top, "two"), made(1, 2, 0.01, 1))
	if _, err := Open(top); err == nil || !strings.Contains(err.Error(), "has 2 studies") {
		t.Errorf("%v", err)
	}
	keepJSON(t, filepath.Join(top, "torn", "a"), record.RunFile, 5)
	if _, err := Open(filepath.Join(top, "torn")); err == nil || !strings.Contains(err.Error(), "can be read") {
		t.Errorf("%v", err)
	}
	keepJSON(t, filepath.Join(top, "newer"), record.StudyFile, map[string]any{"schema_version": "7.0", "kind": "study"})
	if _, err := Open(filepath.Join(top, "newer")); err == nil || !strings.Contains(err.Error(), "schema version") {
		t.Errorf("%v", err)
	}
}

func TestObjectivesInAllDirections(t *testing.T) {
	objectives, err := measure.ParseObjectives("p99<2ns, p99<=2ns, rate>2, rate>=2")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][3]bool{{true, false, false}, {true, true, false}, {false, false, true}, {false, true, true}} {
		for k, x := range []float64{1, 2, 3} {
			if got := objectives[i].MetBy(x); got != want[k] {
				t.Errorf("%v %s is %v", x, objectives[i].Text, got)
			}
		}
	}
}
