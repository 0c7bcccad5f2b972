package suite

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/campaign/campaigntest"
	"github.com/plimsoll-bench/plimsoll/internal/mac"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/suite/judge"
)

// fake does parts that only leave the records that real ones leave.
type fake struct {
	ends  map[string]error             // parts that end with an error
	comes map[string]record.Conclusion // what parts come to
	chose map[string]float64           // what the study of a part finds for load.workers
	pause func()                       // between the steps of a part
	// finished is called after the record of a part is complete; nil for nothing.
	finished func()
	seen     map[string]spec.Run // what studies were asked to do
	jobs     []string
}

func (f *fake) note(text string) { f.jobs = append(f.jobs, text) }

// concluded is what a suite comes to, by what its parts do.
func concluded(s *record.Suite) record.Conclusion {
	return judge.Read(s, func(*record.Part) (judge.Part, error) { return judge.Part{}, nil }).Conclude()
}

func (f *fake) Part(ctx context.Context, j Job) Outcome {
	name := j.Plan.Name
	verb := "begin "
	if j.Resume {
		verb = "resume "
	}
	f.note(verb + name)
	before := complete(j.Dir, kindOf(j.Plan))
	if f.pause != nil {
		f.pause()
	}
	if ctx.Err() != nil {
		return Outcome{Err: ctx.Err()}
	}
	if err := f.ends[name]; err != nil {
		return Outcome{Err: err, Conclusion: record.OutOfReach}
	}
	out := Outcome{Conclusion: cmp.Or(f.comes[name], record.Satisfied)}
	switch {
	case j.Plan.Study != nil:
		if f.seen != nil {
			f.seen[name] = j.Plan.Study.Run
		}
		out.Study, out.Err = f.study(j)
	case j.Plan.Drill != nil:
		out.Drill, out.Err = f.drill(j)
	default:
		out.Probe, out.Err = f.probe(j)
	}
	if out.Err == nil && !before {
		f.note("done " + name)
		if f.finished != nil {
			f.finished()
		}
	}
	return out
}

func (f *fake) study(j Job) (*record.Study, error) {
	if complete(j.Dir, record.KindStudy) {
		return record.OpenStudy(j.Dir)
	}
	make := record.Create[*record.Study]
	if j.Resume {
		make = record.Continue[*record.Study]
	}
	w, err := make(j.Dir, *j.Plan.Study)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	s := &record.Study{Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindStudy,
		Status: record.Running}, Specification: *j.Plan.Study}
	if x := f.chose[j.Plan.Name]; x > 0 {
		s.Procedures = []record.ProcedureResult{{Name: "threads", Path: "load.workers", Chosen: x}, {Name: "steady", Path: "load.duration", Chosen: 90}}
	}
	if err := w.Write(s); err != nil {
		return nil, err
	}
	if f.pause != nil {
		f.pause()
	}
	s.Status = record.Complete
	return s, w.Write(s)
}

func (f *fake) drill(j Job) (*record.Drill, error) {
	if j.Resume {
		return record.OpenDrill(j.Dir)
	}
	w, err := record.CreateDrill(j.Dir, *j.Plan.Drill)
	if err != nil {
		return nil, err
	}
	d := &record.Drill{Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindDrill,
		Status: record.Running}, Specification: *j.Plan.Drill, Verdict: record.Holds}
	if err := w.Write(d); err != nil {
		return nil, err
	}
	if f.pause != nil {
		f.pause()
	}
	d.Status = record.Complete
	return d, w.Write(d)
}

func (f *fake) probe(j Job) (*record.Probe, error) {
	if j.Resume {
		return record.OpenProbe(j.Dir)
	}
	w, err := record.CreateProbe(j.Dir, &record.Probe{})
	if err != nil {
		return nil, err
	}
	if f.pause != nil {
		f.pause()
	}
	return w.Probe, w.Finish(record.Complete, "", time.Now())
}

// planOf is a plan of parts that are named by their kinds: study1, drill2, probe3.
func planOf(names ...string) *Plan {
	p := &Plan{Budget: record.BudgetFull, Folder: Folder{Spec: spec.Suite{Name: "test"}}}
	for _, name := range names {
		x := Planned{Part: record.Part{Name: name, Status: record.PartPlanned, Estimate: 1},
			Plan: record.PartPlan{Name: name}}
		x.Kind = strings.TrimRight(name, "0123456789")
		switch x.Kind {
		case record.KindStudy:
			x.Plan.Study = &spec.Study{Name: name, Run: spec.Run{Target: "null:", Load: spec.Load{Workers: 2}}}
			x.Plan.Study.Defaults()
		case record.KindDrill:
			x.Plan.Drill = &spec.Drill{Name: name, Lab: &spec.Lab{Name: name}}
			x.Plan.Drill.Defaults()
		default:
			x.Plan.Probe = &spec.PartProbe{}
		}
		p.Parts = append(p.Parts, x)
	}
	return p
}

func statusOf(s *record.Suite) string {
	var all []string
	for _, p := range s.Parts {
		all = append(all, p.Name+" "+string(p.Status))
	}
	return strings.Join(all, ", ")
}

// testKey is the key of the user of all suites.
var testKey = &mac.Key{}

func newDir(t *testing.T) string { return filepath.Join(t.TempDir(), "suite") }

func TestPartsAreDoneInOrder(t *testing.T) {
	dir := newDir(t)
	plan := planOf("study1", "drill2", "probe3", "study4")
	plan.Parts[1].Status, plan.Parts[1].Problem = record.PartLeft, "it needs root"
	f := &fake{ends: map[string]error{"probe3": errors.New("the target\nis away")}, comes: map[string]record.Conclusion{"study1": record.Missed}}
	s, err := Run(t.Context(), plan, Options{Key: testKey, Dir: dir, Runner: f, ExitCode: func(c record.Conclusion) int {
		return map[record.Conclusion]int{record.OutOfReach: 3}[c]
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := statusOf(s), "study1 done, drill2 left out, probe3 failed, study4 done"; got != want || s.Status != record.Complete {
		t.Errorf("%s, %s; want %s", s.Status, got, want)
	}
	if p := s.Parts[2]; p.Problem != "the target; is away" || p.Conclusion != record.OutOfReach || p.Exit != 3 || p.Record != "" {
		t.Errorf("%+v", p)
	}
	if got := concluded(s); got != record.OutOfReach {
		t.Errorf("the outcome is %s, but a part without a result counts more than a missed objective", got)
	}
	// Nothing is done again but what failed, and that only if it is asked for.
	f.jobs, f.ends = nil, nil
	if _, err := Resume(t.Context(), dir, Options{Key: testKey, Runner: f}); err != nil || len(f.jobs) > 0 {
		t.Errorf("%v, %v", f.jobs, err)
	}
	s, err = Resume(t.Context(), dir, Options{Key: testKey, Runner: f, RetryFailed: true})
	if err != nil || !slices.Equal(f.jobs, []string{"begin probe3", "done probe3"}) || concluded(s) != record.Missed {
		t.Errorf("%v, %v, the outcome is %s", f.jobs, err, concluded(s))
	}
	onDisk, err := record.OpenSuite(dir)
	if err != nil || statusOf(onDisk) != statusOf(s) {
		t.Errorf("%v %v", onDisk, err)
	}
}

func TestPartsTakeWhatEarlierOnesGive(t *testing.T) {
	plan := planOf("study1", "study2", "study3", "drill4")
	plan.Parts[0].Plan.Gives = []string{"load.workers"}
	plan.Parts[2].Plan.Owns = []string{"load.workers"}
	f := &fake{chose: map[string]float64{"study1": 24}, seen: map[string]spec.Run{}}
	s, err := Run(t.Context(), plan, Options{Dir: newDir(t), Runner: f})
	if err != nil {
		t.Fatal(err)
	}
	if f.seen["study2"].Load.Workers != 24 || f.seen["study2"].Load.Duration != 0 || f.seen["study3"].Load.Workers != 2 {
		t.Errorf("%+v", f.seen)
	}
	if s.Parts[1].Set["load.workers"] != 24 || s.Parts[2].Set != nil {
		t.Errorf("%+v", s.Parts)
	}
}

// What was found to be the right length is not taken where it would not fit into the time.
func TestGivenLengthsHaveToFit(t *testing.T) {
	plan := planOf("study1", "study2")
	plan.Budget = record.BudgetQuick
	plan.Parts[0].Plan.Gives = []string{"load.duration", "load.workers"}
	plan.Parts[1].Plan.Study.Run.Load.Duration = spec.Duration(5 * time.Second)
	f := &fake{chose: map[string]float64{"study1": 24}, seen: map[string]spec.Run{}}
	s, err := Run(t.Context(), plan, Options{Dir: newDir(t), Runner: f})
	if err != nil {
		t.Fatal(err)
	}
	if l := f.seen["study2"].Load; l.Duration.Std() != 5*time.Second || l.Workers != 24 {
		t.Errorf("%+v", l)
	}
	if len(s.Left) != 1 || s.Left[0].What != "load.duration" || s.Left[0].From != "1m30s" || s.Left[0].To != "5s" {
		t.Errorf("%+v", s.Left)
	}
}

func TestInterruptedSuiteGoesOn(t *testing.T) {
	dir := newDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{}
	f.pause = func() {
		if len(f.jobs) == 3 { // study1 began and is done, drill2 began
			cancel()
		}
	}
	s, err := Run(ctx, planOf("study1", "drill2", "probe3"), Options{Key: testKey, Dir: dir, Runner: f})
	var stop *campaign.Stop
	if !errors.As(err, &stop) || s.Status != record.Interrupted || concluded(s) != record.Ended || statusOf(s) != "study1 done, drill2 running, probe3 planned" {
		t.Fatalf("%v, %s: %s", err, s.Status, statusOf(s))
	}
	f = &fake{}
	s, err = Resume(t.Context(), dir, Options{Key: testKey, Runner: f})
	if err != nil || s.Status != record.Complete || statusOf(s) != "study1 done, drill2 done, probe3 done" || concluded(s) != record.Satisfied {
		t.Errorf("%v, %s: %s", err, s.Status, statusOf(s))
	}
	if want := []string{"begin drill2", "done drill2", "begin probe3", "done probe3"}; !slices.Equal(f.jobs, want) {
		t.Errorf("%v", f.jobs)
	}
}

func TestHeldSuiteIsLeftAlone(t *testing.T) {
	dir := newDir(t)
	f := &fake{}
	f.pause = func() {
		if len(f.jobs) != 1 {
			return
		}
		f.pause = nil
		if _, err := Run(t.Context(), planOf("study1"), Options{Key: testKey, Dir: dir, Runner: &fake{}}); !errors.As(err,
			new(*record.HeldError)) {
			t.Errorf("a second suite in the same directory: %v", err)
		}
		if _, err := Resume(t.Context(), dir,
			Options{Key: testKey, Runner: &fake{}}); !errors.As(err, new(*record.HeldError)) {
			t.Errorf("a resume while the suite runs: %v", err)
		}
	}
	if _, err := Run(t.Context(), planOf("study1"), Options{Key: testKey, Dir: dir, Runner: f}); err != nil {
		t.Error(err)
	}
	if _, err := Run(t.Context(), planOf("study1"), Options{Key: testKey, Dir: dir, Runner: &fake{}}); err == nil ||
		!strings.Contains(err.Error(), "already holds a suite") {
		t.Errorf("a suite over another one: %v", err)
	}
}

func TestFullDiskIsSaidBefore(t *testing.T) {
	plan := planOf("study1")
	asked := *plan.Parts[0].Plan.Study
	asked.Run.Workload.Records, asked.Run.Load.Duration, asked.Trials = 1000, spec.Duration(time.Minute), 5
	asked.Factors = []spec.Factor{{Path: "load.workers", Levels: []spec.Level{{Value: 1}, {Value: 2}}}}
	p := &planner{plan: plan}
	plan.Parts[0].Plan.Study = &asked
	if err := p.settle(&plan.Parts[0]); err != nil {
		t.Fatal(err)
	}
	_, err := Run(t.Context(), plan, Options{Dir: newDir(t), Runner: &fake{}, Free: func(string) (uint64, bool) {
		return 1 << 10, true
	}})
	if err == nil || !strings.Contains(err.Error(), "Free space") {
		t.Errorf("%v", err)
	}
}

func TestResumeNeedsCredentials(t *testing.T) {
	dir := newDir(t)
	const uri = "mongodb://app:s3cret-word@db1/"
	plan := planOf("study1", "study2")
	plan.Against = uri
	for i := range plan.Parts {
		plan.Parts[i].Plan.Study.Run.Target = uri
	}
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{pause: cancel}
	if _, err := Run(ctx, plan, Options{Key: testKey, Dir: dir, Runner: f}); !errors.As(err, new(*campaign.Stop)) {
		t.Fatal(err)
	}
	if _, err := Resume(t.Context(), dir, Options{Key: testKey, Runner: f}); err == nil ||
		!strings.Contains(err.Error(), "--target") {
		t.Errorf("without credentials: %v", err)
	}
	if _, err := Resume(t.Context(), dir, Options{Key: testKey, Runner: f, Against: "null:"}); err == nil ||
		!strings.Contains(err.Error(), "Begin another suite") {
		t.Errorf("with another target: %v", err)
	}
	f = &fake{seen: map[string]spec.Run{}}
	if s, err := Resume(t.Context(), dir, Options{Key: testKey, Runner: f, Against: uri}); err != nil ||
		s.Status != record.Complete ||
		f.seen["study2"].Target != uri {
		t.Errorf("%v %+v", err, f.seen)
	}
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if b, _ := os.ReadFile(path); strings.Contains(string(b), "s3cret-word") {
			t.Errorf("%s keeps the password", path)
		}
		return nil
	})
}

// labs are labs that somebody left.
type labs map[string]*record.Lab

func (l labs) Find(_ context.Context, name string) (*record.Lab, error) { return l[name], nil }
func (l labs) Up(context.Context, spec.Lab) error                       { return nil }
func (l labs) Down(_ context.Context, name string) error                { delete(l, name); return nil }

func (l labs) left(name, label, owner string) {
	l[name] = &record.Lab{Name: name, Specification: spec.Lab{Name: name, Labels: map[string]string{label: owner}}}
}

// Labs of who is over are removed before a part needs their names; those of others stay.
func TestLabsThatWereLeftAreRemoved(t *testing.T) {
	dir := newDir(t)
	elsewhere := filepath.Join(t.TempDir(), "drill")
	if _, err := record.CreateDrill(elsewhere, spec.Drill{}); err != nil {
		t.Fatal(err)
	}
	w, err := record.CreateDrill(filepath.Join(t.TempDir(), "other"), spec.Drill{})
	if err != nil {
		t.Fatal(err)
	}
	_ = w
	there := labs{}
	there.left("drill1", record.KindDrill, filepath.Join(dir, record.PartsDir, "drill1"))
	there.left("drill2", record.KindDrill, elsewhere)
	there.left("drill3", "nobody", "")
	writeDrill(t, elsewhere)
	if _, err := Run(t.Context(), planOf("drill1", "drill2", "drill3"),
		Options{Key: testKey, Dir: dir, Runner: &fake{}, Labs: there}); err != nil {
		t.Fatal(err)
	}
	if len(there) != 1 || there["drill3"] == nil {
		t.Errorf("%v", there)
	}
	there.left("drill1", record.KindDrill, elsewhere)
	release, err := record.Hold(elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if _, err := Run(t.Context(), planOf("drill1"), Options{Dir: newDir(t), Runner: &fake{}, Labs: there}); err != nil ||
		there["drill1"] == nil {
		t.Errorf("the lab of a running drill was removed: %v", err)
	}
}

func writeDrill(t *testing.T, dir string) {
	t.Helper()
	os.RemoveAll(dir)
	f := &fake{}
	if _, err := f.drill(Job{Dir: dir, Plan: record.PartPlan{Drill: &spec.Drill{}}}); err != nil {
		t.Fatal(err)
	}
}

// Wherever a suite is killed, it comes to its end, and no part that was finished is done again.
func TestKilledSuite(t *testing.T) {
	campaigntest.Killed(t, campaigntest.Subject{Main: record.SuiteFile, Journal: record.SuiteJournal, Jobs: 6,
		Perform: func(t *testing.T, dir string, step func(bool)) error {
			f := &fake{pause: func() { step(false) }}
			f.finished = func() { step(true) }
			o := Options{Key: testKey, Dir: dir, Runner: f, Progress: stepper(step)}
			if _, err := os.Stat(filepath.Join(dir, record.SuiteFile)); err == nil {
				_, err := Resume(t.Context(), dir, o)
				return err
			}
			_, err := Run(t.Context(), planOf("study1", "drill2", "probe3", "study4", "drill5", "probe6"), o)
			return err
		},
		Check: func(t *testing.T, dir string) {
			s, err := record.OpenSuite(dir)
			if err != nil || s.Status != record.Complete {
				t.Fatalf("%+v, %v", s, err)
			}
			for _, p := range s.Parts {
				if p.Status != record.PartDone || !complete(filepath.Join(dir, p.Record), p.Kind) {
					t.Errorf("%+v", p)
				}
			}
		}})
}

// stepper is a progress that only is a step.
type stepper func(bool)

func (s stepper) Begin(Status)    { s(false) }
func (s stepper) End(record.Part) { s(false) }
func (s stepper) Note(string)     {}

// interruptedInThe3rd returns the directory of a suite that was interrupted while its third part was under way.
func interruptedInThe3rd(t *testing.T, plan *Plan) string {
	t.Helper()
	dir := newDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{}
	f.pause = func() {
		if len(f.jobs) == 3 {
			cancel()
		}
	}
	var stop *campaign.Stop
	if _, err := Run(ctx, plan, Options{Key: testKey, Dir: dir, Runner: f}); !errors.As(err, &stop) {
		t.Fatal(err)
	}
	return dir
}

// What a suite removes before it does a part anew is that part's record: a link in its place may lead to anything.
func TestResumeRemovesOnlyItsRecords(t *testing.T) {
	dir := interruptedInThe3rd(t, planOf("study1", "drill2", "probe3"))
	victim := t.TempDir()
	precious := filepath.Join(victim, "drill2", "file")
	if err := os.Mkdir(filepath.Dir(precious), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(precious, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	parts := filepath.Join(dir, record.PartsDir)
	if err := os.Rename(parts, parts+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, parts); err != nil {
		t.Fatal(err)
	}
	s, err := Resume(t.Context(), dir, Options{Key: testKey, Runner: &fake{}})
	if err == nil && s.Status == record.Complete && concluded(s) == record.Satisfied {
		t.Error("the suite went on through the link as if nothing were wrong")
	}
	if b, err := os.ReadFile(precious); string(b) != "precious" {
		t.Errorf("the file outside is %q, %v", b, err)
	}
}

// A part that is a link to a record elsewhere is neither gone on with nor taken for done.
func TestResumeFollowsNoLinkToAPart(t *testing.T) {
	dir := interruptedInThe3rd(t, planOf("study1", "drill2", "study3"))
	part := filepath.Join(dir, record.PartsDir, "study3")
	foreign := filepath.Join(t.TempDir(), "study")
	plan := planOf("study3").Parts[0].Plan
	if _, err := (&fake{}).study(Job{Plan: plan, Dir: foreign}); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(part); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(foreign, part); err != nil {
		t.Fatal(err)
	}
	again := &fake{}
	s, err := Resume(t.Context(), dir, Options{Key: testKey, Runner: again})
	if err == nil && concluded(s) == record.Satisfied {
		t.Error("the suite went on through the link as if nothing were wrong")
	}
	for _, j := range again.jobs {
		if strings.Contains(j, "study3") {
			t.Errorf("the part was run in the target of the link: %s", j)
		}
	}
}

// A plan says which programs are started. That of another user is used only if it is the given one.
func TestResumeStartsNothingOfAnotherUser(t *testing.T) {
	dir := newDir(t)
	plan := planOf("study1", "drill2")
	f := &fake{ends: map[string]error{"drill2": errors.New("the target is away")}}
	if _, err := Run(t.Context(), plan, Options{Key: testKey, Dir: dir, Runner: f}); err != nil {
		t.Fatal(err)
	}
	other, err := mac.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	changed := planOf("study1", "drill2")
	changed.Parts[1].Plan.Drill.Lab.Engine.Binary = "/tmp/trap"
	for name, c := range map[string]struct {
		key  *mac.Key
		plan *Plan
		want string
	}{
		"another user":        {other, nil, "not written by this user"},
		"no key":              {nil, nil, "--file"},
		"another plan":        {other, changed, "part drill2 is another one"},
		"a plan of one part":  {other, planOf("study1"), "1 parts"},
		"my key, another one": {testKey, changed, "part drill2 is another one"},
	} {
		f.jobs = nil
		_, err := Resume(t.Context(), dir, Options{Key: c.key, Plan: c.plan, Runner: f, RetryFailed: true})
		if err == nil || !strings.Contains(err.Error(), c.want) || len(f.jobs) > 0 {
			t.Errorf("%s: %v, %v; want %q", name, err, f.jobs, c.want)
		}
	}
	f.ends = nil
	s, err := Resume(t.Context(), dir, Options{Key: other, Plan: planOf("study1", "drill2"), Runner: f, RetryFailed: true})
	if err != nil || statusOf(s) != "study1 done, drill2 done" {
		t.Errorf("with the plan that it began with: %v, %v", statusOf(s), err)
	}
}
