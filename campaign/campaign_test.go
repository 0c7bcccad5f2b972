package campaign

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign/campaigntest"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
)

// errands is a campaign whose jobs are parts of a suite that only leave a file.
type errands struct {
	Session[*record.Suite, record.Part]
	step     func(finished bool)
	problems map[string]string // of jobs that fail
	stop     map[string]error  // of jobs that stop the campaign
}

var names = []string{"one", "two", "three", "four", "five"}

func (e *errands) Append(at time.Time, event string, s *record.StudySession, p *record.Part) error {
	err := e.Store.Append(record.SuiteEvent{At: at, Event: event, Session: s, Part: p})
	e.step(false)
	return err
}

func (e *errands) Place(p record.Part) {
	e.Result.Parts[slices.Index(names, p.Name)] = p
}

func (e *errands) RecordOf(p record.Part) string { return p.Record }

// perform performs what is left of the campaign in a directory.
func (e *errands) perform(ctx context.Context, dir string) (*record.Suite, error) {
	if e.step == nil {
		e.step = func(bool) {}
	}
	s, release, err := Reopen[*record.Suite](dir)
	open := Continue[*record.Suite]
	if err != nil {
		if record.KindIn(dir) != "" {
			return nil, err
		}
		open, release = Create[*record.Suite], func() {}
		s = &record.Suite{Budget: record.BudgetFull,
			Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindSuite}}
		for _, name := range names {
			s.Parts = append(s.Parts, record.Part{Name: name, Kind: record.KindProbe, Status: record.PartPlanned})
		}
	}
	defer release()
	w, end, err := open(dir, nil, nil)
	if err != nil {
		return nil, err
	}
	defer end()
	s.Status = record.Running
	most := e.Streak.Most
	e.Session = Session[*record.Suite, record.Part]{Dir: dir, Result: s, Store: w, Journal: e, Now: time.Now,
		Streak: Streak[record.Part]{Most: most, Noun: "errands"}, OnEnd: func(record.Part) { e.step(false) }}
	if err := e.Begin(); err != nil {
		return nil, err
	}
	return e.Finish(e.All(ctx, e.next, e.one), func() { e.step(false) })
}

func (e *errands) next() (record.Part, bool, error) {
	for _, p := range e.Result.Parts {
		if p.Status == record.PartPlanned || p.Status == record.PartRunning {
			return p, true, nil
		}
	}
	return record.Part{}, false, nil
}

func (e *errands) one(p record.Part) error {
	p.Status, p.Record = record.PartRunning, record.PartsDir+"/"+p.Name
	return e.Do(&p, func() error {
		if err := e.stop[p.Name]; err != nil {
			return err
		}
		if problem := e.problems[p.Name]; problem != "" {
			p.Status, p.Problem = record.PartFailed, problem
			e.Streak.Failed(problem)
			return nil
		}
		result := filepath.Join(e.Dir, p.Record, "result")
		if _, err := os.Stat(result); err != nil {
			e.step(false)
			if err := errors.Join(os.MkdirAll(filepath.Dir(result), 0o755), os.WriteFile(result, nil, 0o644)); err != nil {
				return err
			}
			e.step(true)
		}
		p.Status = record.PartDone
		e.Streak.Done()
		return nil
	})
}

func statusOf(s *record.Suite) string {
	var all []string
	for _, p := range s.Parts {
		all = append(all, string(p.Status))
	}
	return string(s.Status) + ": " + strings.Join(all, ", ")
}

const allDone = "complete: done, done, done, done, done"

func done(t *testing.T, dir string) {
	t.Helper()
	s, err := record.OpenSuite(dir)
	if err != nil || statusOf(s) != allDone || s.Ended == nil || s.Problem != "" {
		t.Errorf("%v, %v", err, s)
	}
	if _, held := record.Holder(dir); held {
		t.Error("the directory is still held")
	}
}

func TestKilled(t *testing.T) {
	campaigntest.Killed(t, campaigntest.Subject{Main: record.SuiteFile, Journal: record.SuiteJournal, Jobs: len(names),
		Perform: func(t *testing.T, dir string, step func(bool)) error {
			_, err := (&errands{step: step}).perform(t.Context(), dir)
			return err
		}, Check: done})
}

const killedIn = "PLIMSOLL_TEST_CAMPAIGN_DIR"

// TestMain lets the tests be the process that is killed.
func TestMain(m *testing.M) {
	dir := os.Getenv(killedIn)
	if dir == "" {
		os.Exit(m.Run())
	}
	e := &errands{step: func(finished bool) {
		if finished {
			fmt.Println("finished")
		}
		time.Sleep(time.Duration(rand.IntN(4000)) * time.Microsecond)
	}}
	if _, err := e.perform(context.Background(), dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A process that is killed at random moments, however often, performs no job twice.
func TestKilledProcess(t *testing.T) {
	dir, seed := filepath.Join(t.TempDir(), "campaign"), rand.Uint64()
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	var printed strings.Builder
	for kills := 0; ; kills++ {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), killedIn+"="+dir)
		var problem strings.Builder
		cmd.Stdout, cmd.Stderr = &printed, &problem
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		wait := time.Duration(chance.IntN(80_000)) * time.Microsecond
		if kills >= 40 {
			wait = time.Minute // by now it is to come to its end
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("after %d kills: %v: %s", kills, err, problem.String())
			}
			done(t, dir)
			// A process may be killed between the record and the line that it prints.
			if n := strings.Count(printed.String(), "finished"); n > len(names) {
				t.Errorf("%d jobs were performed after %d kills", n, kills)
			}
			return
		case <-time.After(wait):
			_ = cmd.Process.Kill()
			<-ended
		}
	}
}

func TestHowACampaignEnds(t *testing.T) {
	away := &run.Error{Stage: run.Reaching, Err: errors.New("the target is away")}
	for name, c := range map[string]struct {
		e          errands
		want       string
		conclusion record.Conclusion
		again      string
	}{
		"complete":   {errands{}, allDone, record.Satisfied, allDone},
		"failed job": {errands{problems: map[string]string{"two": "it fell over"}}, "complete: done, failed, done, done, done", record.Satisfied, "complete: done, failed, done, done, done"},
		"stopped": {errands{stop: map[string]error{"three": &Stop{Reason: BudgetUsed, Text: "no time"}}},
			"interrupted: done, done, running, planned, planned", record.NoResult, allDone},
		"out of reach": {errands{stop: map[string]error{"one": &Stop{Reason: Unreachable, Text: "away", Err: away}}},
			"interrupted: running, planned, planned, planned, planned", record.OutOfReach, allDone},
		"error": {errands{stop: map[string]error{"one": away}}, "failed: running, planned, planned, planned, planned", record.OutOfReach, allDone},
		"full disk": {errands{stop: map[string]error{"one": Unwritten(fmt.Errorf("write: %w", syscall.ENOSPC))}},
			"interrupted: running, planned, planned, planned, planned", record.NoResult, allDone},
	} {
		dir := filepath.Join(t.TempDir(), "campaign")
		s, err := c.e.perform(t.Context(), dir)
		if s == nil || statusOf(s) != c.want || ConcludeError(err) != c.conclusion || (err != nil) != (s.Problem != "") {
			t.Errorf("%s: %v, %v; want %s", name, s, err, c.want)
			continue
		}
		if s, err = (&errands{}).perform(t.Context(), dir); err != nil || statusOf(s) != c.again {
			t.Errorf("%s, resumed: %v, %v", name, s, err)
		}
	}
}

func TestInterruptedCampaign(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "campaign")
	ctx, cancel := context.WithCancel(t.Context())
	finished := 0
	e := &errands{step: func(f bool) {
		if f {
			finished++
		}
		if finished == 2 {
			cancel()
		}
	}}
	s, err := e.perform(ctx, dir)
	var stop *Stop
	if !errors.As(err, &stop) || stop.Reason != Interrupted || !errors.Is(err, context.Canceled) ||
		!strings.Contains(err.Error(), "plimsoll suite resume "+dir) || ConcludeError(err) != record.Ended {
		t.Errorf("%v", err)
	}
	if statusOf(s) != "interrupted: done, done, planned, planned, planned" || s.Problem != err.Error() {
		t.Errorf("%s: %s", statusOf(s), s.Problem)
	}
	if _, err := (&errands{}).perform(t.Context(), dir); err != nil {
		t.Error(err)
	}
	done(t, dir)
}

func TestTwoSessionsAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "campaign")
	tried := false
	e := &errands{step: func(finished bool) {
		if !finished || tried {
			return
		}
		tried = true
		if _, err := (&errands{}).perform(t.Context(), dir); !errors.As(err, new(*record.HeldError)) {
			t.Errorf("a second session: %v", err)
		}
		if _, _, err := Create[*record.Suite](dir, nil, nil); !errors.As(err, new(*record.HeldError)) {
			t.Errorf("a second campaign: %v", err)
		}
	}}
	if _, err := e.perform(t.Context(), dir); err != nil {
		t.Error(err)
	}
	done(t, dir)
	if _, _, err := Create[*record.Suite](dir, nil, nil); !errors.Is(err, record.ErrTaken) {
		t.Errorf("a campaign over another one: %v", err)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	if _, _, err := Reopen[*record.Suite](missing); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("no campaign: %v", err)
	}
	if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its directory was made: %v", err)
	}
}

func TestTooManyFailuresInARow(t *testing.T) {
	fall := map[string]string{"one": "it fell over", "two": "it fell over again", "four": "it fell over", "five": "it fell over"}
	for most, want := range map[int]string{
		0: "complete: failed, failed, done, failed, failed",
		2: "interrupted: failed, failed, planned, planned, planned",
		3: "complete: failed, failed, done, failed, failed",
	} {
		dir := filepath.Join(t.TempDir(), "campaign")
		e := &errands{problems: fall}
		e.Streak.Most = most
		s, err := e.perform(t.Context(), dir)
		if statusOf(s) != want {
			t.Errorf("%d: %s", most, statusOf(s))
		}
		var stop *Stop
		if (most == 2) != errors.As(err, &stop) || stop != nil && (stop.Reason != TooManyFail ||
			!strings.Contains(err.Error(), "2 errands failed in a row, the last one with: it fell over again. Remove")) {
			t.Errorf("%d: %v", most, err)
		}
	}
}

func TestStreakOfTargets(t *testing.T) {
	s := Streak[string]{Most: 2}
	targets := []string{"a", "b"}
	if s.NoneReached("a", targets) {
		t.Error("one of two targets is away, the other one was not tried")
	}
	s.NotReached("a", "first")
	s.NotReached("a", "second")
	if s.failures != 0 {
		t.Errorf("%d failures of targets that were not reached", s.failures)
	}
	if !s.NoneReached("b", targets) {
		t.Error("both targets are away")
	}
	tried, jobs := s.Unreached()
	if !slices.Equal(tried, targets) || !slices.Equal(jobs, []string{"first", "second"}) {
		t.Errorf("%v, %v", tried, jobs)
	}
	s.Failed("it fell over")
	if tried, jobs := s.Unreached(); len(tried)+len(jobs) > 0 {
		t.Errorf("a target was reached since: %v, %v", tried, jobs)
	}
	if !s.NoneReached("a", nil) {
		t.Error("the only target is away")
	}
}

func TestBudget(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := Budget{Limit: time.Hour, Spent: 20 * time.Minute, Began: began}
	now := began.Add(10 * time.Minute)
	if left := b.Left(now); left != 30*time.Minute || !b.Lasts(now, left) || b.Lasts(now, left+1) {
		t.Errorf("%v left", left)
	}
	if b.Limit = 0; !b.Lasts(now, 1000*time.Hour) {
		t.Error("no limit ends")
	}
}

func TestPace(t *testing.T) {
	var p Pace
	if p.Factor("a", 0) != 1 {
		t.Errorf("nothing is known, but the factor is %v", p.Factor("a", 0))
	}
	p.Learn("a", 10, 5)
	p.Learn("a", 30, 15)
	p.Learn("b", 8, 0) // nothing was expected
	if s, n := p.Of("a"); s != 40 || n != 2 {
		t.Errorf("a took %v in %d jobs", s, n)
	}
	if s, n := p.Of("c"); s != 48 || n != 3 || p.Count("c") != 0 {
		t.Errorf("a group without jobs: %v in %d jobs", s, n)
	}
	near := func(x, want float64) bool { return x > want*0.999 && x < want*1.001 }
	if f := p.Factor("a", 0); !near(f, 2) {
		t.Errorf("factor %v, both jobs took twice the time", f)
	}
	if f, other := p.Factor("a", 20), p.Factor("b", 20); !near(f, 1.41421356) || other >= f {
		t.Errorf("factors %v and %v with a prior as heavy as the jobs", f, other)
	}
	p = Pace{}
	p.Learn("a", 1e6, 1)
	if f := p.Factor("a", 0); !near(f, slowest) {
		t.Errorf("an outlier makes the factor %v", f)
	}
}

func TestDoubts(t *testing.T) {
	one := record.StudySession{Tool: record.Tool{Version: "1.0"}, Host: "db", CPU: "cpu", Cores: 2}
	two := one
	two.Tool.Version = "2.0"
	three := one
	three.Host = "other"
	ids := func(unreadable int, sessions ...record.StudySession) (all []string) {
		s := Session[*record.Suite, record.Part]{Sessions: sessions, Unreadable: unreadable}
		for _, f := range s.Doubts("parts") {
			if !slices.Contains(Doubts, f.ID) {
				t.Errorf("%s is not in the list", f.ID)
			}
			all = append(all, f.ID)
		}
		return all
	}
	if got := ids(0, one, one); len(got) > 0 {
		t.Errorf("two sessions that are alike: %v", got)
	}
	if got := ids(1, one, two, three); !slices.Equal(got, Doubts) {
		t.Errorf("%v", got)
	}
}
