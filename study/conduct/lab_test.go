package conduct

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

// rack is a machine with labs, which stay when a study ends.
type rack struct {
	labs map[string]*record.Lab
	log  []string
	up   func(spec.Lab) error // nil for nothing
}

func newRack() *rack { return &rack{labs: map[string]*record.Lab{}} }

func (r *rack) Find(_ context.Context, name string) (*record.Lab, error) { return r.labs[name], nil }

func (r *rack) Up(ctx context.Context, asked spec.Lab) error {
	if r.labs[asked.Name] != nil {
		return errors.New("there is one already")
	}
	if r.up != nil {
		if err := r.up(asked); err != nil {
			return err
		}
	}
	r.log = append(r.log, fmt.Sprintf("up %d", asked.Topology.Members))
	r.labs[asked.Name] = &record.Lab{Name: asked.Name, State: "up", Specification: asked}
	return ctx.Err()
}

func (r *rack) Down(_ context.Context, name string) error {
	if r.labs[name] != nil {
		r.log = append(r.log, "down")
	}
	delete(r.labs, name)
	return nil
}

// ups counts how often a lab was brought up.
func (r *rack) ups() int {
	n := 0
	for _, line := range r.log {
		if strings.HasPrefix(line, "up") {
			n++
		}
	}
	return n
}

func labStudy(change func(*spec.Study)) spec.Study {
	return smallStudy(func(s *spec.Study) {
		s.Run.Target, s.Lab, s.Trials = "", &spec.Lab{}, 2
		s.Factors = []spec.Factor{{Path: "lab.topology.members", Levels: []spec.Level{{Value: 1}, {Value: 3}}}}
		if change != nil {
			change(s)
		}
	})
}

// onRack makes the trials of a bench look at the lab that they run on.
func onRack(t *testing.T, b *bench, r *rack) {
	t.Helper()
	b.before = func(_ context.Context, q study.Request) error {
		l := r.labs[strings.TrimPrefix(q.Spec.Target, "lab:")]
		want := 1
		if strings.Contains(q.Configuration, "members=3") {
			want = 3
		}
		if l == nil || int(l.Specification.Topology.Members) != want {
			t.Errorf("trial %d of %s runs on %+v", q.Trial, q.Configuration, l)
		}
		return nil
	}
}

// A study brings up the lab that each trial needs, keeps it as long as the next one needs the same, and removes it.
func TestLabOfAStudy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b, r := newBench(simulatedtest.Target{}), newRack()
	onRack(t, b, r)
	o := b.options(dir)
	o.Labs = r
	s, err := runStudy(t.Context(), labStudy(nil), o)
	if err != nil {
		t.Fatal(err)
	}
	finished(t, dir, s, 4)
	plan, err := study.NewPlan(*completed(t, labStudy(nil)), study.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.ups(); got != plan.Estimate.Redeploys || len(r.labs) != 0 {
		t.Errorf("%d labs were brought up, planned were %d: %v; left are %v", got, plan.Estimate.Redeploys, r.log, r.labs)
	}
	if !slices.ContainsFunc(s.Specification.Factors, func(f spec.Factor) bool {
		return f.Path == "lab.topology.members"
	}) || s.Specification.Lab == nil {
		t.Errorf("specification %+v", s.Specification)
	}
}

// A trial that follows a failed one on the same lab begins when the members of the lab have recovered.
func TestTrialsAwaitTheRecoveryOfALab(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b, r := newBench(simulatedtest.Target{}), newRack()
	recovering, failed, looks := &recovering{rack: r}, false, 0
	b.before = func(_ context.Context, q study.Request) error {
		l := r.labs[strings.TrimPrefix(q.Spec.Target, "lab:")]
		if !failed {
			failed, looks = true, recovering.looks
			l.Members = []record.LabMember{{Name: "a", State: "running", Role: "unknown"}}
			recovering.at = recovering.looks + 5
			return errors.New("connection reset by peer")
		}
		if len(l.Members) > 0 && l.Members[0].Role != "standalone" {
			t.Errorf("trial %d begins while a member recovers", q.Trial)
		}
		return nil
	}
	o := b.options(dir)
	o.Labs = recovering
	s, err := runStudy(t.Context(), labStudy(func(s *spec.Study) { s.Order, s.Trials = spec.OrderBatched, 3 }), o)
	if err != nil || !failed || recovering.looks < looks+5 {
		t.Fatalf("%v after %d looks: %+v", err, recovering.looks, s)
	}
}

// After a trial that failed because there is no lab, nothing is awaited.
func TestTrialsDoNotAwaitALabThatIsNotThere(t *testing.T) {
	b := newBench(simulatedtest.Target{})
	b.before = func(context.Context, study.Request) error { return errors.New("there is no such lab") }
	o, looks := b.options(filepath.Join(t.TempDir(), "study")), &recovering{rack: newRack()}
	o.Labs = looks
	s, err := runStudy(t.Context(), smallStudy(func(s *spec.Study) { s.Run.Target = "lab:gone" }), o)
	if err == nil || looks.looks == 0 || looks.looks > len(s.Trials) {
		t.Errorf("%v after %d looks for a lab in %d trials", err, looks.looks, len(s.Trials))
	}
}

// recovering is a rack whose member has a role again when it was looked at often enough.
type recovering struct {
	*rack
	looks, at int
}

func (r *recovering) Find(ctx context.Context, name string) (*record.Lab, error) {
	l, err := r.rack.Find(ctx, name)
	if r.looks++; r.looks >= r.at && l != nil {
		for i := range l.Members {
			l.Members[i].Role = "standalone"
		}
	}
	return l, err
}

// Batched, each lab is brought up once.
func TestBatchedLabs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b, r := newBench(simulatedtest.Target{}), newRack()
	onRack(t, b, r)
	o := b.options(dir)
	o.Labs = r
	s, err := runStudy(t.Context(), labStudy(func(s *spec.Study) { s.Order, s.Trials = spec.OrderBatched, 5 }), o)
	if err != nil {
		t.Fatal(err)
	}
	finished(t, dir, s, 10)
	if r.ups() != 2 || len(r.labs) != 0 {
		t.Errorf("%v; left are %v", r.log, r.labs)
	}
}

// Whatever ended a study, going on with it begins with a lab that it has made itself; what was left is removed first.
func TestResumeOfAStudyWithALab(t *testing.T) {
	for name, left := range map[string]func(r *rack, dir string){
		"interrupted": func(*rack, string) {},
		"killed while it brought one up": func(r *rack, dir string) {
			r.labs["study-study"] = &record.Lab{Name: "study-study", State: "starting",
				Specification: spec.Lab{Name: "study-study", Labels: map[string]string{studyLabel: dir}}}
		},
		"killed during a trial": func(r *rack, dir string) {
			r.labs["study-study"] = &record.Lab{Name: "study-study", State: "up",
				Specification: spec.Lab{Name: "study-study", Labels: map[string]string{studyLabel: dir}}}
		},
		"killed in the first moment": func(r *rack, _ string) { r.labs["study-study"] = &record.Lab{Name: "study-study", State: "starting"} },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "study")
			b, r := newBench(simulatedtest.Target{}), newRack()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			b.before = func(context.Context, study.Request) error {
				if len(b.asked) == 3 {
					cancel()
					return context.Canceled
				}
				return nil
			}
			o := b.options(dir)
			o.Labs = r
			var stop *campaign.Stop
			if _, err := runStudy(ctx, labStudy(nil), o); !errors.As(err, &stop) || stop.Reason != campaign.Interrupted {
				t.Fatal(err)
			}
			if len(r.labs) != 0 {
				t.Errorf("an interrupted study left %v", r.labs)
			}
			left(r, dir)
			r.log = nil
			had := len(r.labs) > 0
			onRack(t, b, r)
			s, err := Resume(t.Context(), dir, o)
			if err != nil {
				t.Fatal(err)
			}
			finished(t, dir, s, 4)
			if had && r.log[0] != "down" || len(r.labs) != 0 {
				t.Errorf("%v; left are %v", r.log, r.labs)
			}
		})
	}
}

// What a study did not bring up it does not touch.
func TestForeignLab(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b, r := newBench(simulatedtest.Target{}), newRack()
	r.labs["study-study"] = &record.Lab{Name: "study-study", State: "up", Specification: spec.Lab{Name: "study-study"}}
	o := b.options(dir)
	o.Labs = r
	var stop *campaign.Stop
	if _, err := runStudy(t.Context(), labStudy(nil), o); !errors.As(err, &stop) || stop.Reason != campaign.NotOurs ||
		!strings.Contains(err.Error(), "plimsoll lab down study-study") {
		t.Errorf("error %v", err)
	}
	if len(r.log) != 0 || len(b.asked) != 0 || r.labs["study-study"] == nil {
		t.Errorf("%v, %d trials", r.log, len(b.asked))
	}
	o.Labs, o.Dir = nil, filepath.Join(t.TempDir(), "study")
	if _, err := runStudy(t.Context(), labStudy(nil), o); err == nil || !strings.Contains(err.Error(), "cannot bring up labs") {
		t.Errorf("error %v", err)
	}
}

// A lab that cannot be brought up fails its trial alone, and one that died is brought up again.
func TestLabsThatFail(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b, r := newBench(simulatedtest.Target{}), newRack()
	failed := false
	r.up = func(s spec.Lab) error {
		if s.Topology.Members == 3 && !failed {
			failed = true
			return errors.New("no primary within its deadline")
		}
		return nil
	}
	b.after = func(study.Request) { delete(r.labs, "study-study") } // its supervisor was killed
	o := b.options(dir)
	o.Labs = r
	s, err := runStudy(t.Context(), labStudy(nil), o)
	if err != nil {
		t.Fatal(err)
	}
	done, problems := 0, 0
	for _, tr := range s.Trials {
		switch tr.Status {
		case record.TrialDone:
			done++
		case record.TrialFailed:
			problems++
			if !strings.Contains(tr.Problem, "no primary within its deadline") {
				t.Errorf("problem %q", tr.Problem)
			}
		}
	}
	if done != 3 || problems != 1 || r.ups() != 3 {
		t.Errorf("%d done, %d failed, %v", done, problems, r.log)
	}
}
