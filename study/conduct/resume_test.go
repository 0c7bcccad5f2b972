package conduct

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/campaign/campaigntest"
	"github.com/plimsoll-bench/plimsoll/internal/mac"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

// half performs a study until its trial n begins, and returns its directory.
func half(t *testing.T, asked spec.Study, n int) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "study")
	b := newBench(simulatedtest.Target{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b.before = func(_ context.Context, q study.Request) error {
		if q.Trial == n {
			cancel()
			return context.Canceled
		}
		return nil
	}
	var stop *campaign.Stop
	if _, err := runStudy(ctx, asked, b.options(dir)); !errors.As(err, &stop) || stop.Reason != campaign.Interrupted {
		t.Fatalf("error %v", err)
	}
	return dir
}

func TestResumeRefusesAnotherSpecification(t *testing.T) {
	dir := half(t, smallStudy(nil), 2)
	for want, change := range map[string]func(*spec.Study){
		"trials has changed":               func(s *spec.Study) { s.Trials = 4 },
		"run.workload.records has changed": func(s *spec.Study) { s.Run.Workload.Records = 200 },
		"factors[1].levels[2].value":       func(s *spec.Study) { s.Factors[0].Levels[1].Value = 9 },
		"factors[1].levels has changed": func(s *spec.Study) {
			s.Factors[0].Levels = append(s.Factors[0].Levels, spec.Level{Value: 16})
		},
		"run.durability.journal":           func(s *spec.Study) { s.Run.Durability.Journal = new(bool) },
		"objectives has changed":           func(s *spec.Study) { s.Objectives = []string{"p99<1s"} },
		"run.workload.params.fieldlength ": func(s *spec.Study) { s.Run.Workload.Params = map[string]string{"fieldlength": "7"} },
	} {
		b := newBench(simulatedtest.Target{})
		o := b.options("")
		o.Spec = completed(t, smallStudy(change))
		_, err := Resume(t.Context(), dir, o)
		var e *run.Error
		if want = strings.TrimSpace(want); !errors.As(err, &e) || e.Stage != run.Specification ||
			!strings.Contains(err.Error(), want) || len(b.asked) > 0 {
			t.Errorf("%v, want %q; trials %v", err, want, b.numbers())
		}
	}
	same := smallStudy(func(s *spec.Study) { s.Budget, s.Out = spec.Duration(time.Hour), "elsewhere" })
	b := newBench(simulatedtest.Target{})
	o := b.options("")
	o.Spec = completed(t, same)
	s, err := Resume(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	finished(t, dir, s, 6)
	if s.Specification.Budget != same.Budget {
		t.Errorf("the new budget is not kept: %v", s.Specification.Budget)
	}
}

// Credentials are nowhere on the disk, so they must be given again.
func TestCredentialsAreGivenAgain(t *testing.T) {
	const secret = "hunter22-word"
	asked := func(password string) spec.Study {
		return smallStudy(func(s *spec.Study) { s.Run.Target = "mongodb://app:" + password + "@db1.invalid/" })
	}
	dir := half(t, asked(secret), 3)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), secret) {
			t.Errorf("%s holds the password", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(simulatedtest.Target{})
	if _, err := Resume(t.Context(), dir, b.options("")); err == nil || !strings.Contains(err.Error(), "does not contain the credentials") {
		t.Errorf("without credentials: %v", err)
	}
	again := asked(secret)
	o := b.options("")
	o.Spec = completed(t, again)
	s, err := Resume(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	finished(t, dir, s, 6)
	for _, q := range b.asked {
		if !strings.Contains(q.Spec.Target, secret) {
			t.Errorf("trial %d has no password: %s", q.Trial, q.Spec.Target)
		}
	}
	if strings.Contains(fmt.Sprint(s), secret) {
		t.Error("the returned study has the password")
	}
}

func TestTwoAtOnceAreRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	b := newBench(simulatedtest.Target{})
	tried := false
	b.before = func(context.Context, study.Request) error {
		if tried {
			return nil
		}
		tried = true
		other := newBench(simulatedtest.Target{})
		_, err := Resume(t.Context(), dir, other.options(""))
		if held := new(record.HeldError); !errors.As(err, &held) || held.Pid != os.Getpid() {
			t.Errorf("a second session: %v", err)
		}
		if _, err := runStudy(t.Context(), smallStudy(nil), other.options(dir)); !errors.As(err, new(*record.HeldError)) {
			t.Errorf("a second study: %v", err)
		}
		return nil
	}
	s, err := runStudy(t.Context(), smallStudy(nil), b.options(dir))
	if err != nil {
		t.Fatal(err)
	}
	finished(t, dir, s, 6)
}

func TestResumeRefusesWhatIsNoStudy(t *testing.T) {
	b := newBench(simulatedtest.Target{})
	if _, err := Resume(t.Context(), t.TempDir(), b.options("")); err == nil || !strings.Contains(err.Error(), "holds no study") {
		t.Errorf("an empty directory: %v", err)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	if _, err := Resume(t.Context(), missing, b.options("")); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("no directory: %v", err)
	}
	if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was made: %v", err)
	}
}

func TestOtherVersionAndDamagedJournalAreFindings(t *testing.T) {
	dir := half(t, smallStudy(nil), 3)
	f, err := os.OpenFile(filepath.Join(dir, record.JournalFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("\x00\x00\x00\n"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	b := newBench(simulatedtest.Target{})
	o := b.options("")
	o.Tool.Version = "2.0"
	s, err := Resume(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	finished(t, dir, s, 6)
	if !has(s.Validity, "tool-changed") || !has(s.Validity, "journal-damaged") || has(s.Validity, "machine-changed") {
		t.Errorf("findings %+v", s.Validity)
	}
}

// A study whose target is a relative directory means another one elsewhere.
func TestRelativeTargetIsRefusedElsewhere(t *testing.T) {
	t.Chdir(t.TempDir())
	asked := smallStudy(func(s *spec.Study) { s.Run.Target = "embedded:data" })
	dir := half(t, asked, 2)
	t.Chdir(t.TempDir())
	b := newBench(simulatedtest.Target{})
	if _, err := Resume(t.Context(), dir, b.options("")); err == nil || !strings.Contains(err.Error(), "Resume it from there") {
		t.Errorf("from another directory: %v", err)
	}
}

// A record that somebody changed, or that is of another run, does not count.
func TestOnlyTheRightRecordIsAdopted(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, rec string){
		"changed": func(t *testing.T, rec string) {
			if err := os.WriteFile(filepath.Join(rec, record.EventsFile), []byte("{}\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		},
		"of another run": func(t *testing.T, rec string) {
			if err := os.RemoveAll(rec); err != nil {
				t.Fatal(err)
			}
			spec := smallStudy(nil).Run
			spec.Workload.Records = 7
			spec.Defaults()
			if _, err := newBench(simulatedtest.Target{}).Trial(t.Context(), study.Request{Spec: spec, Dir: rec}); err != nil {
				t.Fatal(err)
			}
		},
		"untouched": nil,
	} {
		dir := filepath.Join(t.TempDir(), "study")
		b := newBench(simulatedtest.Target{})
		killed := ""
		b.after = func(q study.Request) {
			if q.Trial == 2 {
				killed = campaigntest.Copy(t, dir)
			}
		}
		if _, err := runStudy(t.Context(), smallStudy(nil), b.options(dir)); err != nil {
			t.Fatal(err)
		}
		want := 4
		if spoil != nil {
			spoil(t, filepath.Join(killed, "trials/0002-1"))
			want = 5
		}
		again := newBench(simulatedtest.Target{})
		s, err := Resume(t.Context(), killed, again.options(""))
		if err != nil {
			t.Fatal(err)
		}
		if len(again.asked) != want {
			t.Errorf("%s: trials %v were made", name, again.numbers())
		}
		if spoil == nil {
			finished(t, killed, s, 6)
		} else if s.Trials[1].Status != record.TrialLost || s.Trials[2].Attempt != 2 {
			t.Errorf("%s: %+v", name, s.Trials[1:3])
		}
	}
}

// Inserts of the ycsb workloads use the same keys in every run: the next trial must begin with fresh data, and they
// may only be dropped if the study loaded them, or if it was allowed to.
func TestInsertsOfYCSBNeedFreshData(t *testing.T) {
	asked := smallStudy(func(s *spec.Study) {
		s.Run.Target, s.Run.Workload.Name = "embedded:"+filepath.Join(t.TempDir(), "data"), "ycsb-d"
		s.Run.Load.Duration, s.Run.Load.Operations = 0, 200
		s.Trials = 1
	})
	for _, foreign := range []bool{false, true} {
		b := &filling{bench: newBench(simulatedtest.Target{Classes: []simulatedtest.Class{{Name: "insert", Share: 1, Time: 1}}}),
			present: 0}
		if foreign {
			b.present = 100
		}
		dir := filepath.Join(t.TempDir(), "study")
		o := b.bench.options(dir)
		o.Runner = b
		s, err := runStudy(t.Context(), asked, o)
		var stop *campaign.Stop
		if foreign {
			if !errors.As(err, &stop) || stop.Reason != campaign.NotOurs ||
				!strings.Contains(err.Error(), "--drop") || len(b.asked) != 1 {
				t.Fatalf("data of somebody else: %v, trials %v", err, b.numbers())
			}
			o.Drop = true
			s, err = Resume(t.Context(), dir, o)
		}
		if err != nil {
			t.Fatal(err)
		}
		finished(t, dir, s, 2)
		if b.asked[0].Spec.LoadPhase.Drop || !b.asked[1].Spec.LoadPhase.Drop {
			t.Errorf("dropped: %v, %v; want false, true", b.asked[0].Spec.LoadPhase.Drop, b.asked[1].Spec.LoadPhase.Drop)
		}
	}
}

// filling is a bench whose runs say what their load phase found; it grows from run to run.
type filling struct {
	*bench
	present, grow int64
}

func (f *filling) Trial(ctx context.Context, q study.Request) (study.Result, error) {
	r, err := f.bench.Trial(ctx, q)
	if r.Run != nil {
		want := int64(q.Spec.Workload.Records)
		r.Run.Fill = &record.FillResult{Records: want, Present: f.present, Inserted: max(0, want-f.present),
			Counted: max(want, f.present)}
		f.present = max(want, f.present) + f.grow
	}
	return r, err
}

func TestGrowingDataAreAFinding(t *testing.T) {
	for grow, want := range map[int64]bool{0: false, 3: true} {
		asked := smallStudy(func(s *spec.Study) { s.Run.Target = "embedded:" + filepath.Join(t.TempDir(), "data") })
		b := &filling{bench: newBench(simulatedtest.Target{}), grow: grow}
		dir := filepath.Join(t.TempDir(), "study")
		o := b.bench.options(dir)
		o.Runner = b
		ctx, cancel := context.WithCancel(t.Context())
		o.Progress = &watch{end: func(tr record.Trial) {
			if tr.Number == 4 {
				cancel()
			}
		}}
		s, err := runStudy(ctx, asked, o)
		cancel()
		if !errors.Is(err, context.Canceled) || has(s.Validity, "data-grew") != want {
			t.Errorf("grown by %d a trial: findings %+v (%v)", grow, s.Validity, err)
		}
		if s, err = Resume(t.Context(), dir, o); err != nil {
			t.Fatal(err)
		}
		finished(t, dir, s, 6)
		if has(s.Validity, "data-grew") != want {
			t.Errorf("grown by %d a trial, resumed: findings %+v", grow, s.Validity)
		}
		for _, f := range s.Validity {
			if f.ID == "data-grew" && (f.Severity != measure.Warning || math.Abs(*f.Value-0.15) > 1e-9) {
				t.Errorf("finding %+v", f)
			}
		}
	}
}

// A specification says which programs are started. A record of another user, or one that was changed, is resumed with
// the given specification only.
func TestResumeStartsNothingOfAnotherUser(t *testing.T) {
	dir := half(t, smallStudy(nil), 2)
	other, err := mac.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, record.StudyFile)
	mine, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(mine, &tree); err != nil {
		t.Fatal(err)
	}
	tree["specification"].(map[string]any)["lab"] = map[string]any{"engine": map[string]any{"binary": "/tmp/trap"}}
	changed, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		key  *mac.Key
		text []byte
	}{"another user": {other, mine}, "no key": {nil, mine}, "changed": {testKey, changed}} {
		if err := errors.Join(os.WriteFile(file, c.text, 0o644), record.Seal(dir)); err != nil {
			t.Fatal(err)
		}
		b := newBench(simulatedtest.Target{})
		o := b.options("")
		o.Key = c.key
		if _, err := Resume(t.Context(), dir, o); err == nil || len(b.asked) > 0 ||
			!strings.Contains(err.Error(), "not written by this user") || !strings.Contains(err.Error(), "--file") {
			t.Errorf("%s: %v; trials %v", name, err, b.numbers())
		}
	}
	if err := errors.Join(os.WriteFile(file, mine, 0o644), record.Seal(dir)); err != nil {
		t.Fatal(err)
	}
	b := newBench(simulatedtest.Target{})
	o := b.options("")
	o.Key, o.Spec = other, completed(t, smallStudy(nil))
	s, err := Resume(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	finished(t, dir, s, 6)
	if !s.Own(other) {
		t.Error("the user who gave the specification does not own the record now")
	}
}
