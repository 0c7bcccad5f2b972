package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func testStudySpec() spec.Study {
	return spec.Study{
		Name:   "test",
		Run:    spec.Run{Target: "mongodb://app:s3cret-word@db1/?tls=true", Workload: spec.Workload{Params: map[string]string{"apikey": "k9"}}},
		Trials: 2,
		Factors: []spec.Factor{
			{Name: "where", Path: "target", Levels: []spec.Level{{Value: "null:"}, {Value: "mongodb://root:other-word@db2/"}}},
			{Name: "paired", Levels: []spec.Level{{Name: "one", Set: map[string]any{"workload.params.password": "third-word", "load.workers": 4}}}},
		},
	}
}

func testStudy() *Study {
	s := &Study{Head: Head{SchemaVersion: SchemaVersion, Kind: KindStudy, Status: Running, Started: testStart},
		Specification: testStudySpec()}
	s.Base = s.Specification.Run
	s.Configurations = []Configuration{{ID: "baseline", Baseline: true}, {ID: "where=mongodb://root:other-word@db2/"}}
	for n := 1; n <= 4; n++ {
		s.Trials = append(s.Trials, Trial{Number: n, Attempt: 1, Block: (n + 1) / 2, Configuration: s.Configurations[n%2].ID,
			Kind: TrialCompared, Status: TrialPlanned})
	}
	return s
}

// writeStudy writes a study of four trials: one done, one failed, one lost and repeated, one under way.
func writeStudy(t *testing.T) (dir string, want *Study) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "study")
	s := testStudy()
	w, err := Create[*Study](dir, s.Specification)
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(w.Write(s))
	check(w.Append(StudyEvent{At: testStart, Event: EventSession,
		Session: &StudySession{Pid: 7, Command: []string{"plimsoll", "mongodb://app:s3cret-word@db1/"}}}))
	event := func(kind string, number, attempt int, status TrialStatus, problem string) {
		tr := s.Trials[0]
		for _, have := range s.Trials {
			if have.Number == number {
				tr = have
			}
		}
		tr.Attempt, tr.Status, tr.Problem = attempt, status, problem
		tr.Record = fmt.Sprintf("trials/%04d-%d", number, attempt)
		if kind == EventEnd && status == TrialDone {
			tr.Values = map[string]float64{"throughput": 1000.5}
		}
		check(w.Append(StudyEvent{At: testStart, Event: kind, Trial: &tr, Data: &TrialData{Place: tr.Configuration}}))
		s.Place(tr)
	}
	event(EventBegin, 1, 1, TrialRunning, "")
	event(EventEnd, 1, 1, TrialDone, "")
	event(EventBegin, 2, 1, TrialRunning, "")
	event(EventEnd, 2, 1, TrialFailed, "no route to mongodb://root:other-word@db2/ with third-word")
	check(w.Write(s))
	event(EventBegin, 3, 1, TrialRunning, "")
	event(EventEnd, 3, 1, TrialLost, "")
	event(EventBegin, 3, 2, TrialRunning, "")
	event(EventEnd, 3, 2, TrialDone, "")
	event(EventBegin, 4, 1, TrialRunning, "")
	clean, err := w.Redacted(s)
	check(err)
	check(w.Close())
	return dir, clean
}

func TestStudyIsReadWithItsJournal(t *testing.T) {
	dir, want := writeStudy(t)
	release, err := Hold(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := OpenStudy(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("a study under way (-written +read):\n%s", d)
	}
	release()
	want.Status = Killed
	last := &want.Trials[len(want.Trials)-1]
	last.Status, last.Problem = TrialLost, "the study was killed during this trial"
	if got, err = OpenStudy(dir); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("a killed study (-written +read):\n%s", d)
	}
	if len(got.Trials) != 5 || got.Trials[2].Attempt != 1 || got.Trials[3].Attempt != 2 || got.Trials[4].Number != 4 {
		t.Errorf("trials %+v", got.Trials)
	}
}

func TestStudyKeepsNoCredentials(t *testing.T) {
	dir, _ := writeStudy(t)
	for _, name := range []string{StudyFile, JournalFile} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"s3cret-word", "other-word", "third-word", `"k9"`} {
			if strings.Contains(string(b), secret) {
				t.Errorf("%s holds %s", name, secret)
			}
		}
	}
	s, err := OpenStudy(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !HasHidden(s.Specification) || HasHidden(testStudySpec()) {
		t.Error("HasHidden() = false after redaction")
	}
	if d := cmp.Diff(s.Specification, Redacted(testStudySpec(), testStudySpec())); d != "" {
		t.Errorf("Redacted() differs from the written study:\n%s", d)
	}
	if s.Specification.Factors[1].Levels[0].Set["load.workers"] != 4 {
		t.Errorf("a number became %v", s.Specification.Factors[1].Levels[0].Set)
	}
}

// A journal that is cut anywhere is read as far as it goes, and can be continued; nothing that study.json knows is
// forgotten, and no line spoils the next.
func TestJournalCutAnywhere(t *testing.T) {
	dir, want := writeStudy(t)
	path := filepath.Join(dir, JournalFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := ReadJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(whole) + 1 {
		if err := os.WriteFile(path, whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		events, unreadable, err := ReadJournal(dir)
		if lines := strings.Count(string(whole[:cut]), "\n"); err != nil || len(events) < lines || unreadable > 1 {
			t.Fatalf("cut at %d: %d events of %d lines, %d unreadable, %v", cut, len(events), lines, unreadable, err)
		}
		if d := cmp.Diff(all[:len(events)], append([]StudyEvent{}, events...)); d != "" {
			t.Fatalf("cut at %d:\n%s", cut, d)
		}
		s, err := OpenStudy(dir)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want.Trials[:2], s.Trials[:2]); d != "" { // study.json was written after these
			t.Fatalf("cut at %d:\n%s", cut, d)
		}
		f, err := openLines(dir, JournalFile)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(`{"event":"session","session":{"pid":1}}` + "\n"); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if again, _, err := ReadJournal(dir); err != nil || len(again) != len(events)+1 {
			t.Fatalf("cut at %d, then continued: %d events after %d, %v", cut, len(again), len(events), err)
		}
	}
}

func TestJournalWithRubbish(t *testing.T) {
	dir := t.TempDir()
	text := "\x00\x00\x00\n" + `{"event":"end"}` + "\n[]\n" + `{"event":"begin","trial":{"number":0,"attempt":1}}` + "\n\n" +
		`{"event":"begin","trial":{"number":1,"attempt":1}}` + "\nnull\n"
	if err := os.WriteFile(filepath.Join(dir, JournalFile), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if events, unreadable, err := ReadJournal(dir); err != nil || len(events) != 1 || unreadable != 5 {
		t.Errorf("%d events, %d unreadable, %v", len(events), unreadable, err)
	}
}

func TestOpenStudyRefuses(t *testing.T) {
	for content, want := range map[string]string{
		"":                                       "is damaged",
		`{"schema_version":"9.0"}`:               "schema version",
		`{"schema_version":"1.0","kind":"run"}`:  "not of a study",
		`{"schema_version":"1.0","kind":"study"`: "is damaged",
		`{"schema_version":"1.0","kind":"study","trials":3}`: "is damaged",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, StudyFile), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenStudy(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
	}
	if _, err := OpenStudy(t.TempDir()); err == nil || !strings.Contains(err.Error(), "holds no study") {
		t.Errorf("an empty directory: %v", err)
	}
}

func TestCreateStudyRefuses(t *testing.T) {
	dir, _ := writeStudy(t)
	if _, err := Create[*Study](dir, spec.Study{}); err == nil || !strings.Contains(err.Error(), "plimsoll study resume "+dir) {
		t.Errorf("a second study in one directory: %v", err)
	}
	run := t.TempDir()
	if err := os.WriteFile(filepath.Join(run, RunFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Create[*Study](run, spec.Study{}); err == nil || !strings.Contains(err.Error(), "already holds a record") {
		t.Errorf("opened a run as a study: %v", err)
	}
	if _, err := Create[*Study]("", spec.Study{}); err == nil {
		t.Error("no directory is refused")
	}
}

// A large study is written less often, and nothing is lost by it.
func TestLargeStudyIsWrittenSeldom(t *testing.T) {
	s := testStudy()
	dir := filepath.Join(t.TempDir(), "study")
	w, err := Create[*Study](dir, s.Specification)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	now := testStart
	w.now = func() time.Time { now = now.Add(alwaysBelow); return now } // each writing takes so long, and a little more
	if err := w.Write(s); err != nil {
		t.Fatal(err)
	}
	w.took++
	done := s.Trials[0]
	done.Status = TrialDone
	if err := w.Append(StudyEvent{Event: EventEnd, Trial: &done}); err != nil {
		t.Fatal(err)
	}
	s.Place(done)
	if err := w.Update(s); err != nil {
		t.Fatal(err)
	}
	if onDisk, err := readStudy(dir); err != nil || onDisk.Trials[0].Status != TrialPlanned {
		t.Errorf("it was written again: %v", err)
	}
	if got, err := OpenStudy(dir); err != nil || got.Trials[0].Status != TrialDone {
		t.Errorf("the trial is lost: %v", err)
	}
	now = now.Add(time.Hour)
	if err := w.Update(s); err != nil {
		t.Fatal(err)
	}
	if onDisk, err := readStudy(dir); err != nil || onDisk.Trials[0].Status != TrialDone {
		t.Errorf("it was not written: %v", err)
	}
}

func TestFullDiskOfAStudy(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		notrun.Here(t, "this system has no /dev/full: %v", err)
		return
	}
	dir := t.TempDir()
	w, err := Create[*Study](dir, spec.Study{})
	if err != nil {
		t.Fatal(err)
	}
	w.journal.Close()
	w.journal = full
	err = w.Append(StudyEvent{Event: EventSession, Session: &StudySession{}})
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free space; then resume with plimsoll study resume "+dir) {
		t.Errorf("a full disk: %v", err)
	}
}

func TestFreeBytes(t *testing.T) {
	dir := t.TempDir()
	here, known := FreeBytes(dir)
	below, knownBelow := FreeBytes(filepath.Join(dir, "not", "there"))
	if known != knownBelow || (known && (here == 0) != (below == 0)) {
		t.Errorf("free: %d (%v), and below it %d (%v)", here, known, below, knownBelow)
	}
}

// A journal may have a line for each of very many trials that the study does not know, in any order.
func TestLongJournalOfUnknownTrials(t *testing.T) {
	const n = 100_000
	events := make([]StudyEvent, n)
	for i := range events {
		events[i] = StudyEvent{Event: EventEnd, Trial: &Trial{Number: n - i, Attempt: 1 + i%3, Status: TrialDone}}
	}
	s := Study{Trials: []Trial{{Number: 7, Attempt: 1, Status: TrialPlanned},
		{Number: 9, Attempt: 1, Status: TrialDone, Problem: "kept"}}}
	one := Study{Trials: slices.Clone(s.Trials)}
	s.placeAll(events)
	if len(s.Trials) < n || !slices.IsSortedFunc(s.Trials, func(a, b Trial) int { return a.Number - b.Number }) {
		t.Fatalf("%d trials, not in order", len(s.Trials))
	}
	// What is known of a few of them is the same as one by one.
	few := events[n-20:]
	short := Study{Trials: slices.Clone(one.Trials)}
	short.placeAll(few)
	for _, e := range few {
		one.Place(*e.Trial)
	}
	if diff := cmp.Diff(one.Trials, short.Trials); diff != "" {
		t.Errorf("one by one -, at once +:\n%s", diff)
	}
}

func TestConfigurationsSurviveJSON(t *testing.T) {
	c := Configuration{ID: "x", Set: map[string]any{"load.workers": 16, "load.rate": 0.5, "target": "null:", "load_phase.drop": true, "objectives": []any{"a"}}}
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var again Configuration
	if err := json.Unmarshal(b, &again); err != nil || !cmp.Equal(c, again) {
		t.Errorf("%v: %s", err, cmp.Diff(c, again))
	}
}

// readStudy reads study.json without its journal.
func readStudy(dir string) (*Study, error) {
	var s Study
	return &s, readDocument(dir, StudyFile, KindStudy, "study", &s)
}
