package suite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/conduct"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
	"github.com/plimsoll-bench/plimsoll/suite/fit"
)

// slow does studies on a simulated target, and everything else as [fake] does, on a clock on which all of it takes
// factor times what was thought.
type slow struct {
	fake
	now    time.Time
	factor float64
	of     map[string]float64 // the factor of single parts
	block  time.Duration      // the longest block of a study, drill or probe that was done
	notes  []string
}

func newSlow(factor float64) *slow {
	return &slow{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), factor: factor, of: map[string]float64{}}
}

func (s *slow) Begin(Status)    {}
func (s *slow) End(record.Part) {}
func (s *slow) Note(t string)   { s.notes = append(s.notes, t) }

func (s *slow) passes(part string, thought float64) {
	f := s.factor
	if x, ok := s.of[part]; ok {
		f = x
	}
	s.now = s.now.Add(time.Duration(f * thought * 1e9))
}

// slowTrials is the runner and the clock of the trials of one part.
type slowTrials struct {
	*slow
	part   string
	each   float64
	trials *simulatedtest.Runner
}

func (t *slowTrials) Now() time.Time { return t.slow.now }
func (t *slowTrials) Sleep(_ context.Context, d time.Duration) error {
	t.slow.now = t.slow.now.Add(d)
	return nil
}

func (t *slowTrials) Trial(ctx context.Context, q study.Request) (study.Result, error) {
	t.passes(t.part, t.each)
	return t.trials.Trial(ctx, q)
}

func (s *slow) Part(ctx context.Context, j Job) Outcome {
	if j.Plan.Study == nil {
		one, _ := fit.Fit([]fit.Part{{Drill: j.Plan.Drill, Probe: j.Plan.Probe}}, 0, false)
		began := s.now
		s.passes(j.Plan.Name, one[0].Estimate)
		s.block = max(s.block, s.now.Sub(began))
		return s.fake.Part(ctx, j)
	}
	one, _ := fit.Fit([]fit.Part{{Study: j.Plan.Study}}, 0, false)
	spec := j.Plan.Study
	each := one[0].Estimate / float64(spec.Trials) / float64(len(spec.Factors[0].Levels))
	trials := &slowTrials{slow: s, part: j.Plan.Name, each: each,
		trials: simulatedtest.New(simulatedtest.Target{Interval: time.Second}, 1)}
	trials.trials.Write = true
	factor := s.factor
	if x, ok := s.of[j.Plan.Name]; ok {
		factor = x
	}
	s.block = max(s.block, time.Duration(factor*each*float64(len(spec.Factors[0].Levels))*1e9))
	o := conduct.Options{Key: testKey, Dir: j.Dir, Runner: trials, Clock: trials, Budget: j.Budget, TakeLeft: j.TakeLeft}
	out := Outcome{}
	if j.Resume {
		out.Study, out.Err = conduct.Resume(ctx, j.Dir, o)
	} else {
		out.Study, out.Err = conduct.Run(ctx, *j.Plan.Study, o)
	}
	out.Conclusion = conclude(out)
	return out
}

const longStudy = "{name: long, run: {target: 'null:', workload: {name: a, records: 1000}, load: {workers: 4, duration: 20s}}, trials: 6, canary: -1, factors: [{path: load.workers, levels: [4, 8]}]}"

// longPlan is a suite of studies, a drill and a probe, fitted into a limit.
func longPlan(t *testing.T, limit time.Duration) *Plan {
	t.Helper()
	dir := folder(t, `
parts:
  - {name: first, study: long.yaml, vital: true}
  - {name: second, study: long.yaml, vital: true}
  - {drill: ../drill/kill.yaml, repeat: 2}
  - {name: dir, probe: {storage: {backend: directory}, threads: [4, 8], duration: 5s}}
  - {name: third, study: long.yaml, each: {workload.name: [a, b]}}
`, map[string]string{"long.yaml": longStudy})
	return planFor(t, dir, PlanOptions{Limit: limit})
}

// runSlow runs a plan on a machine, and returns how long it took.
func runSlow(t *testing.T, dir string, plan *Plan, s *slow) (*record.Suite, time.Duration) {
	t.Helper()
	began := s.now
	out, err := Run(t.Context(), plan, Options{Key: testKey, Dir: dir, Runner: s, Progress: s,
		Now: func() time.Time { return s.now }})
	if err != nil {
		t.Fatal(err)
	}
	return out, s.now.Sub(began)
}

func lateOf(s *record.Suite) (all []string) {
	for _, l := range s.Left {
		if l.Late {
			all = append(all, leftText(l))
		}
	}
	return all
}

// A budget holds on a machine that takes twice or five times as long as was thought, but for the block or the drill
// that goes on as it ends; what was left out for that is said with the reason, to who watches too, and everything else
// is done.
func TestBudgetHoldsOnASlowMachine(t *testing.T) {
	for _, limit := range []time.Duration{10 * time.Minute, 4 * time.Minute} {
		for _, factor := range []float64{2, 5} {
			t.Run(fmt.Sprintf("%v, %v times", limit, factor), func(t *testing.T) {
				t.Parallel()
				dir, m := newDir(t), newSlow(factor)
				plan := longPlan(t, limit)
				s, took := runSlow(t, dir, plan, m)
				if most := limit + m.block; took > most {
					t.Errorf("it took %v, and a block %v", took, m.block)
				}
				if s.Status != record.Complete || slices.ContainsFunc(s.Parts, func(p record.Part) bool {
					return p.Status != record.PartDone && p.Status != record.PartLeft
				}) {
					t.Errorf("%s: %s", s.Status, statusOf(s))
				}
				late := lateOf(s)
				if over := factor*plan.Estimate().Seconds() > limit.Seconds(); over && len(late) == 0 {
					t.Error("nothing was left out")
				}
				for _, l := range s.Left {
					if l.Late && (!strings.HasPrefix(l.Why, "ran late: ") || !strings.Contains(l.Why, " left, ") || !strings.Contains(l.Why, " needed on this machine")) {
						t.Errorf("%+v", l)
					}
				}
				if len(late) > 0 && !slices.ContainsFunc(m.notes, func(n string) bool { return strings.HasPrefix(n, "ran late: ") }) {
					t.Errorf("notes %q", m.notes)
				}
				onDisk, err := record.OpenSuite(dir)
				if err != nil || statusOf(onDisk) != statusOf(s) || len(lateOf(onDisk)) != len(late) {
					t.Errorf("%v: on the disk %s", err, statusOf(onDisk))
				}
				checkBlocks(t, dir, s)
				t.Logf("%v of %v; %s", took.Round(time.Second), limit, strings.Join(late, "; "))
			})
		}
	}
}

// checkBlocks makes sure that studies have whole blocks.
func checkBlocks(t *testing.T, dir string, s *record.Suite) {
	t.Helper()
	for _, p := range s.Parts {
		if p.Kind != record.KindStudy || p.Record == "" {
			continue
		}
		x, err := record.OpenStudy(filepath.Join(dir, p.Record))
		if err != nil {
			t.Fatal(err)
		}
		done := map[int]int{}
		for _, tr := range x.Trials {
			if tr.Status == record.TrialDone {
				done[tr.Block]++
			}
		}
		for block, n := range done {
			if n != len(x.Configurations) {
				t.Errorf("%s: block %d has %d trials", p.Name, block, n)
			}
		}
	}
}

// Nothing is left out on a machine that is as fast as was thought, or faster, and what that saves is not spent.
func TestNothingIsShedInTime(t *testing.T) {
	whole := longPlan(t, 0).Estimate()
	for _, limit := range []time.Duration{whole + time.Second, whole / 3} {
		for _, factor := range []float64{0.5, 1} {
			plan := longPlan(t, limit)
			thought := plan.Estimate()
			s, took := runSlow(t, newDir(t), plan, newSlow(factor))
			if late := lateOf(s); len(late) > 0 || took > time.Duration(float64(thought)*factor)+time.Second {
				t.Errorf("%v at %v: it took %v; %s", limit, factor, took, strings.Join(late, "; "))
			}
		}
	}
	// Without a budget nothing is left out on any machine.
	if s, took := runSlow(t, newDir(t), longPlan(t, 0), newSlow(5)); took < 4*whole || len(s.Left) > 0 {
		t.Errorf("%v: %+v", took, s.Left)
	}
}

// One part that takes five times as long does not make all others look slow.
func TestOneSlowPartIsOne(t *testing.T) {
	whole := longPlan(t, 0).Estimate()
	m := newSlow(1)
	m.of["first"] = 1.5
	s, _ := runSlow(t, newDir(t), longPlan(t, whole+whole/2), m)
	if late := lateOf(s); len(late) > 0 {
		t.Errorf("%s", strings.Join(late, "; "))
	}
}

// A resumed suite has what was left of its budget, pauses do not count, and a larger one takes up what was left out.
func TestResumedSuiteHasWhatRemained(t *testing.T) {
	dir, m := newDir(t), newSlow(1)
	plan := longPlan(t, 8*time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	m.pause = func() { // in the drill
		cancel()
		m.pause = nil
	}
	now := func() time.Time { return m.now }
	began := m.now
	_, err := Run(ctx, plan, Options{Key: testKey, Dir: dir, Runner: m, Progress: m, Now: now})
	if !errors.As(err, new(*campaign.Stop)) {
		t.Fatal(err)
	}
	first := m.now.Sub(began)
	m.now = m.now.Add(24 * time.Hour)
	worked, err := record.SuiteWorked(dir, time.Time{})
	if err != nil || worked < first-time.Second || worked > first+time.Second {
		t.Fatalf("%v, %v: it worked %v", worked, err, first)
	}
	if _, err := Resume(t.Context(), dir, Options{Key: testKey, Runner: m, Now: now, Limit: first / 2}); err == nil ||
		!strings.Contains(err.Error(), "--budget") {
		t.Errorf("with a budget that is used up: %v", err)
	}
	m.factor = 6
	began = m.now
	s, err := Resume(t.Context(), dir, Options{Key: testKey, Runner: m, Progress: m, Now: now})
	if err != nil || len(lateOf(s)) == 0 {
		t.Fatalf("%v: %s", err, statusOf(s))
	}
	if took := first + m.now.Sub(began); took > 8*time.Minute+m.block {
		t.Errorf("both sessions took %v", took)
	}
	jobs := len(m.jobs)
	if s, err = Resume(t.Context(), dir, Options{Key: testKey, Runner: m, Now: now}); err != nil || len(m.jobs) != jobs ||
		len(lateOf(s)) == 0 {
		t.Errorf("a resume without more time did something: %v", err)
	}
	m.factor = 1
	s, err = Resume(t.Context(), dir, Options{Key: testKey, Runner: m, Progress: m, Now: now, Limit: 2 * time.Hour})
	if err != nil || s.Status != record.Complete || s.Budget != record.BudgetTime || s.Limit.Std() != 2*time.Hour {
		t.Fatalf("%v: %+v", err, s)
	}
	shorter := func(text string) bool { return strings.Contains(text, "duration, ") } // of a part that was done so
	if late := slices.DeleteFunc(lateOf(s), shorter); len(late) > 0 ||
		slices.ContainsFunc(s.Parts, func(p record.Part) bool {
			return p.Status != record.PartDone && !slices.ContainsFunc(plan.Parts, left(p.Name))
		}) {
		t.Errorf("%s; %s", statusOf(s), strings.Join(late, "; "))
	}
	checkBlocks(t, dir, s)
}

// left finds a part that was left out before the suite began.
func left(name string) func(Planned) bool {
	return func(p Planned) bool { return p.Name == name && p.Out() }
}

// A study whose procedures take all of the time is left out with what it came to.
func TestProceduresThatTakeAllTheTime(t *testing.T) {
	dir := newDir(t)
	plan := planOf("study1", "study2")
	plan.Budget, plan.Limit = record.BudgetTime, time.Minute
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f := &fake{ends: map[string]error{"study1": &campaign.Stop{Reason: campaign.OutOfTime, Text: "ran late: within the procedures of study1"}}}
	f.pause = func() { now = now.Add(2 * time.Minute) }
	s, err := Run(t.Context(), plan, Options{Key: testKey, Dir: dir, Runner: f, Now: func() time.Time { return now }})
	if err != nil || statusOf(s) != "study1 left out, study2 left out" || len(lateOf(s)) != 2 || s.Status != record.Complete {
		t.Errorf("%v: %s: %+v", err, statusOf(s), s.Left)
	}
}

// Parts that failed and for which there is no time stay what they are.
func TestNoTimeToRetry(t *testing.T) {
	dir := newDir(t)
	plan := planOf("study1", "probe2")
	plan.Budget, plan.Limit = record.BudgetTime, 15*time.Minute+30*time.Second
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f := &fake{ends: map[string]error{"probe2": errors.New("the target is away")}}
	f.pause = func() { now = now.Add(5 * time.Minute) }
	o := Options{Key: testKey, Dir: dir, Runner: f, Now: func() time.Time { return now }}
	if s, err := Run(t.Context(), plan, o); err != nil || statusOf(s) != "study1 done, probe2 failed" {
		t.Fatalf("%v: %s", err, statusOf(s))
	}
	f.ends, f.pause, o.RetryFailed, f.jobs = nil, nil, true, nil
	s, err := Resume(t.Context(), dir, o)
	if err != nil || statusOf(s) != "study1 done, probe2 failed" || len(f.jobs) > 0 {
		t.Errorf("%v: %s, %v", err, statusOf(s), f.jobs)
	}
	o.Limit = time.Hour
	if s, err = Resume(t.Context(), dir, o); err != nil || statusOf(s) != "study1 done, probe2 done" {
		t.Errorf("%v: %s", err, statusOf(s))
	}
}
