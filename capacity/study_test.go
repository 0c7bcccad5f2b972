package capacity

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/capacity/sizetest"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
)

// madeStudy writes a study and returns its directory.
func madeStudy(t *testing.T, s record.Study, trials map[string]sizetest.Run) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "study")
	if err := sizetest.WriteStudy(dir, s, trials); err != nil {
		t.Fatal(err)
	}
	return dir
}

// scalingStudy varies the nodes with data and workers to match, three trials each, as the reference architecture did.
func scalingStudy(t *testing.T, x func(nodes float64) float64, sizes ...float64) string {
	s, trials := record.Study{}, map[string]sizetest.Run{}
	for i, n := range sizes {
		id := fmt.Sprintf("nodes=%v", n)
		s.Configurations = append(s.Configurations, record.Configuration{
			ID: id, Levels: map[string]string{"nodes": fmt.Sprint(n)}, Baseline: i == 0, Factor: "nodes",
			Set: map[string]any{"target": id, "workload.records": 1000 * n},
		})
		for k, noise := range []float64{0.99, 1, 1.01} {
			name := fmt.Sprintf("trials/%v-%d", n, k+1)
			rate := x(n) * noise
			s.Trials = append(s.Trials, record.Trial{Number: len(s.Trials) + 1, Attempt: 1, Block: k + 1, Configuration: id,
				Kind:   record.TrialCompared,
				Status: record.TrialDone, Record: name, Values: map[string]float64{"throughput": rate}})
			trials[name] = sizetest.Run{Achieved: rate, Records: int64(1000 * n),
				Target: record.Target{Address: "mongodb://" + id, Kind: "mongos", Topology: "sharded"}}
		}
	}
	return madeStudy(t, s, trials)
}

// Measured scaling is used where a study has it: inside what was measured by interpolation, beyond it by the law.
func TestSizeUsesMeasuredScaling(t *testing.T) {
	t.Parallel()
	law := USL{Lambda: 1000, Sigma: 0.03, Kappa: 0.0002}
	dir := scalingStudy(t, law.At, 1, 2, 4, 8, 16)
	for nodes, want := range map[float64]string{4: Measured, 6: Interpolated, 20: ByLaw} {
		s := size(t, Input{Records: []string{dir}, Need: need(t,
			fmt.Sprintf("ops=%.6f,failures=0", stats.Middle([]float64{law.At(nodes) * 0.99, law.At(nodes), law.At(nodes) * 1.01})))})
		if s.Verdict != record.SizeAnswered {
			t.Fatal(text(s))
		}
		w := s.Workloads[0]
		near(t, fmt.Sprintf("the number of nodes that do what %v do", nodes), *w.Needed, nodes, 0.03)
		if (w.Assumption != want && want != Measured) || w.Low == nil || w.NeededLow == nil ||
			(w.NeededHigh == nil) != (nodes > 16) ||
			float64(s.Answer.Nodes) < *w.Needed {
			t.Errorf("%v nodes: %s", nodes, text(s))
		}
		if w.Scaling == nil || len(w.Scaling.Points) != 5 || w.Scaling.Law == nil || w.Scaling.Law.Peak != nil ||
			math.Abs(w.Scaling.Law.Sigma-0.03) > 0.01 {
			t.Errorf("the scaling is %+v", w.Scaling)
		}
		if slices.ContainsFunc(s.Validity, func(f measure.Finding) bool { return f.ID == "several-targets" }) {
			t.Error("the sizes of a scaling study are taken for several deployments")
		}
	}
	// The law has its peak at N = 70 with 17,300/s, which the measured sizes do not show.
	s := size(t, Input{Records: []string{dir}, Need: need(t, "ops=20000")})
	if s.Verdict != record.SizeUnknown || !strings.Contains(strings.Join(s.Reasons, " "), "beyond the measured sizes") {
		t.Error(text(s))
	}
}

// The document's own course, two to eight nodes: three sizes are too few for the law, and it is said what is used.
func TestSizeBeyondThreeSizes(t *testing.T) {
	t.Parallel()
	dir := scalingStudy(t, func(n float64) float64 { return 10_000 * math.Pow(n, 0.8) }, 2, 4, 8)
	s := size(t, Input{Records: []string{dir}, Need: need(t, "ops=80000,failures=0")})
	w := s.Workloads[0]
	if s.Verdict != record.SizeAnswered || w.Assumption != ByPower || w.NeededHigh != nil {
		t.Fatal(text(s))
	}
	near(t, "the number of nodes", *w.Needed, math.Pow(8, 1/0.8), 0.01)
	if !strings.Contains(text(s), "hree parameters always fit three points") || !strings.Contains(text(s), "scaling-power") {
		t.Error("it is not said that the law may not be used")
	}
}

// capacityStudy searched a capacity of 4,000/s, confirmed by three trials, beside trials of a closed loop.
func capacityStudy(t *testing.T, change func(*record.Study)) string {
	s := record.Study{
		Configurations: []record.Configuration{{ID: "baseline", Baseline: true}},
		Capacity:       &record.CapacityResult{Objectives: []string{"p99<20ms"}, Rate: 4000, Confirmed: true, Reason: "4,400/s missed p99<20ms"},
		Procedures: []record.ProcedureResult{{Name: "threads", Path: "load.workers", Points: []record.ProcedurePoint{
			{Value: 1, N: 3, Throughput: 900}, {Value: 4, N: 3, Throughput: 3000}, {Value: 16, N: 3, Throughput: 6000},
			{Value: 64, N: 3, Throughput: 6500},
		}}},
		Trials: []record.Trial{{Number: 1, Attempt: 1, Configuration: "baseline", Kind: record.TrialCompared,
			Status: record.TrialDone, Record: "trials/1",
			Values: map[string]float64{"throughput": 6500}}},
	}
	trials := map[string]sizetest.Run{"trials/1": {Achieved: 6500, P99: 50 * time.Millisecond}}
	for i, rate := range []float64{4000, 4400, 4000, 4000} {
		name := fmt.Sprintf("procedures/%d", i+1)
		phase := "confirm"
		if i == 1 {
			phase = "bisect"
		}
		s.Capacity.Steps = append(s.Capacity.Steps, record.CapacityStep{Phase: phase, Offered: rate, Achieved: rate * 0.999,
			Holds: rate < 4200, Trial: name})
		trials[name] = sizetest.Run{Rate: rate, Achieved: rate * (0.998 + 0.0005*float64(i)), P99: 15 * time.Millisecond}
	}
	if change != nil {
		change(&s)
	}
	return madeStudy(t, s, trials)
}

func TestSizePrefersTheMeasuredCapacity(t *testing.T) {
	t.Parallel()
	s := size(t, Input{Records: []string{capacityStudy(t, nil)}, Need: need(t, "ops=20000,p99<20ms,failures=0")})
	w := s.Workloads[0]
	if s.Verdict != record.SizeAnswered || w.Source != "capacity" || w.N != 3 || w.Rate > 4000 || w.Rate < 3980 ||
		s.Answer.Shards != 6 {
		t.Fatal(text(s))
	}
	// The scalability law over the workers explains, and is not what the nodes are made from.
	if w.Assumption != Linear || w.Scaling == nil || w.Scaling.Factor != "workers" ||
		!strings.Contains(strings.Join(w.Scaling.Warnings, " "), "says nothing about more nodes") {
		t.Errorf("the scaling is %+v", w.Scaling)
	}
	// A stricter objective than the search had is held against its trials, and missed.
	s = size(t, Input{Records: []string{capacityStudy(t, nil)}, Need: need(t, "ops=20000,p99<10ms")})
	if s.Verdict != record.SizeImpossible {
		t.Error(text(s))
	}
}

func TestSizeDoubtsStudies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(*record.Study)
		verdict record.SizeVerdict
		want    string
	}{
		"unconfirmed": {func(s *record.Study) { s.Capacity.Confirmed = false }, record.SizeAnswered, "capacity-unconfirmed"},
		"invalid": {func(s *record.Study) {
			s.Validity = []measure.Finding{{ID: "drift", Severity: measure.Invalid, Text: "the machine drifted"}}
		}, record.SizeUnknown, "the machine drifted"},
		"doubtful":      {func(s *record.Study) { s.Capacity.Doubts = []string{"2 trials at lower rates"} }, record.SizeAnswered, "capacity-doubtful"},
		"at least":      {func(s *record.Study) { s.Capacity.AtLeast = true }, record.SizeAnswered, "capacity-at-least"},
		"interrupted":   {func(s *record.Study) { s.Status = record.Interrupted }, record.SizeAnswered, "study-incomplete"},
		"nothing in it": {func(s *record.Study) { s.Capacity, s.Trials = nil, nil }, record.SizeUnknown, "nothing-measured"},
		"another deployment": {func(s *record.Study) {
			s.Capacity = nil
			s.Configurations = append(s.Configurations, record.Configuration{ID: "fast", Set: map[string]any{"durability.name": "balanced"}})
			s.Trials = append(s.Trials, record.Trial{Number: 2, Attempt: 1, Configuration: "fast", Kind: record.TrialCompared,
				Status: record.TrialDone, Record: "procedures/1"})
		}, record.SizeAnswered, "configuration-left-out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := size(t, Input{Records: []string{capacityStudy(t, c.change)}, Need: need(t, "ops=20000")})
			if s.Verdict != c.verdict || !strings.Contains(text(s), c.want) {
				t.Errorf("verdict %s: %s; want %s and %q", s.Verdict, text(s), c.verdict, c.want)
			}
		})
	}
}

// variedStudy has a trial of each of three deployments, which its levels set, the baseline among them.
func variedStudy(t *testing.T, set ...map[string]any) string {
	s, trials := record.Study{}, map[string]sizetest.Run{}
	for i, set := range set {
		id, name := fmt.Sprintf("c%d", i), fmt.Sprintf("trials/%d", i+1)
		s.Configurations = append(s.Configurations, record.Configuration{ID: id, Baseline: i == 0, Set: set})
		s.Trials = append(s.Trials, record.Trial{Number: i + 1, Attempt: 1, Configuration: id, Kind: record.TrialCompared,
			Status: record.TrialDone, Record: name})
		trials[name] = sizetest.Run{Rate: 1000 * float64(i+1)}
	}
	s.Base.Target, s.Base.Durability.Name = "mongodb://a.example", "durable"
	return madeStudy(t, s, trials)
}

// The baseline of a study that varies the deployment is sized, with what is like it; the rest is named.
func TestSizeTakesTheBaselineOfAStudyThatVariesTheDeployment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  []map[string]any
		rate float64 // of the highest load that belongs to the baseline
		left string
	}{
		"durability": {[]map[string]any{{"durability.name": "durable"}, {"durability.name": "balanced"}, {"durability.name": "durable", "load.workers": 9}}, 3000, "durability.name"},
		"target":     {[]map[string]any{{"target": "mongodb://a.example"}, {"target": "mongodb://b.example"}, {"target": "mongodb://c.example"}}, 1000, "target"},
		"client":     {[]map[string]any{{"client.max_pool": 100}, {"client.max_pool": 10}, {"client.max_pool": 100}}, 3000, "client.max_pool"},
		"as the base": {[]map[string]any{{}, {"target": "mongodb://a.example"}, {"target": "mongodb://b.example", "durability.name": "fast"}}, 2000,
			"durability.name and target"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := size(t, Input{Records: []string{variedStudy(t, c.set...)}, Need: need(t, "ops=20000")})
			if s.Verdict != record.SizeAnswered || s.Workloads[0].Rate != c.rate {
				t.Fatalf("want %v/s of the baseline: %s", c.rate, text(s))
			}
			if !slices.ContainsFunc(s.Validity, func(f measure.Finding) bool {
				return f.ID == "configuration-left-out" && strings.Contains(f.Text, "differs from the baseline in "+c.left+",")
			}) {
				t.Errorf("it is not said that something was left out because of %s: %v", c.left, s.Validity)
			}
		})
	}
}

// Where nothing is left to size, what was left out says why.
func TestSizeShowsWhatWasLeftOutWhereNothingIsLeft(t *testing.T) {
	t.Parallel()
	s := record.Study{
		Configurations: []record.Configuration{{ID: "a", Baseline: true, Set: map[string]any{"target": "a"}},
			{ID: "b", Set: map[string]any{"target": "b"}}},
		Trials: []record.Trial{{Number: 1, Attempt: 1, Configuration: "b", Kind: record.TrialCompared,
			Status: record.TrialDone, Record: "trials/1"}},
	}
	got := size(t, Input{Records: []string{madeStudy(t, s, map[string]sizetest.Run{"trials/1": {Rate: 1000}})}, Need: need(t, "ops=20000")})
	if got.Verdict != record.SizeUnknown || !strings.Contains(text(got), "configuration-left-out") {
		t.Error(text(got))
	}
}
