package serve

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// writeRun leaves the head of a record; nothing else of it is looked at by the list.
func writeRun(t *testing.T, dir, started, workload, status string) {
	t.Helper()
	text := `{"schema_version":"1.0","kind":"run","status":"` + status + `","started":"` + started + `",
		"specification":{"workload":{"name":"` + workload + `"},"load":{},"load_phase":{},"durability":{},"labels":{"team":"blue"}},
		"target":{"address":"embedded:x","kind":"embedded"},"validity":[],"phases":[{"phase":"measure","rates":{"achieved":1}}]}`
	writeFile(t, filepath.Join(dir, record.RunFile), text)
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func openFolder(t *testing.T, dir string) *Folder {
	t.Helper()
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func paths(list []Entry) []string {
	out := []string{}
	for _, e := range list {
		out = append(out, e.Path)
	}
	return out
}

func TestFolderListsRecordsNewestFirst(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, filepath.Join(dir, "runs", "old"), "2026-01-01T00:00:00Z", "a", "complete")
	writeRun(t, filepath.Join(dir, "runs", "new"), "2026-03-01T00:00:00Z", "b", "complete")
	writeFile(t, filepath.Join(dir, "sweep", record.StudyFile), `{"kind":"study","status":"complete","started":"2026-02-01T00:00:00Z","specification":{"name":"threads"}}`)
	writeRun(t, filepath.Join(dir, "sweep", "trials", "0001"), "2026-02-01T00:01:00Z", "c", "complete")
	writeRun(t, filepath.Join(dir, "runs", "new", "clients", "00"), "2026-03-01T00:00:00Z", "b", "complete")
	writeRun(t, filepath.Join(dir, ".hidden"), "2026-03-01T00:00:00Z", "b", "complete")
	writeFile(t, filepath.Join(dir, "broken", record.RunFile), `{"kind":`)
	f := openFolder(t, dir)
	want := []string{"runs/new", "sweep/trials/0001", "sweep", "runs/old", "broken"}
	if diff := cmp.Diff(want, paths(f.List())); diff != "" {
		t.Error(diff)
	}
	if e := f.List()[4]; e.Verdict != "damaged" || e.Kind != record.KindRun || e.Title != "broken" {
		t.Errorf("a damaged record is listed as %+v", e)
	}
	e, ok := f.Find(f.List()[0].ID)
	if !ok || e.Path != "runs/new" {
		t.Errorf("found %v, %v", e, ok)
	}
	if _, ok := f.Find("../../etc/passwd"); ok {
		t.Error("something was found by a path")
	}
}

func TestFolderShowsWhatIsBeingWritten(t *testing.T) {
	dir := t.TempDir()
	run := filepath.Join(dir, "r")
	writeRun(t, run, "2026-01-01T00:00:00Z", "a", "running")
	f := openFolder(t, dir)
	if got := f.List()[0]; got.Status != record.Killed || got.Live || got.Verdict != "" {
		t.Errorf("nothing writes it, but it is %s, %q", got.Status, got.Verdict)
	}
	release, err := record.Hold(run)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.List()[0]; got.Status != record.Running || !got.Live {
		t.Errorf("it is being written, but it is %s", got.Status)
	}
	release()
	writeRun(t, run, "2026-01-01T00:00:00Z", "a", "complete")
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(run, record.RunFile), later, later); err != nil {
		t.Fatal(err)
	}
	if got := f.List()[0]; got.Status != record.Complete || !strings.HasPrefix(got.Verdict, "valid") {
		t.Errorf("it has ended, and it is %s, %q", got.Status, got.Verdict)
	}
}

// A file system takes any character in a name, and a page does not.
func TestFolderFindsDirectoriesOfAnyName(t *testing.T) {
	dir := t.TempDir()
	name := "a\x1b[31m\u202eb\x01"
	writeRun(t, filepath.Join(dir, name), "2026-01-01T00:00:00Z", "a", "complete")
	f := openFolder(t, dir)
	list := f.List()
	if len(list) != 1 || list[0].Path != name || strings.ContainsAny(list[0].Place+list[0].Title, "\x1b\x01\u202e") {
		t.Fatalf("listed as %+v", list)
	}
	if e, ok := f.Find(list[0].ID); !ok || f.Dir(e) != filepath.Join(dir, name) {
		t.Errorf("found %+v, %v", e, ok)
	}
	s := start(t, Options{Dir: dir})
	if code, page := get(t, s, "/record/"+list[0].ID); code != http.StatusOK {
		t.Errorf("its page is %d: %.300s", code, page)
	}
}

// A record that says that it is complete and has no results is not listed as valid.
func TestFolderListsEmptyRecordsAsInvalid(t *testing.T) {
	dir := t.TempDir()
	for _, file := range record.MainFiles() {
		kind := record.KindOf(file)
		if file != record.SuiteFile && file != record.ComparisonFile {
			writeFile(t, filepath.Join(dir, kind, file), `{"schema_version":"1.0","kind":"`+kind+`"}`)
		}
	}
	list := openFolder(t, dir).List()
	if len(list) != 5 {
		t.Errorf("listed are %v", paths(list))
	}
	for _, e := range list {
		if !strings.HasPrefix(e.Verdict, "INVALID") {
			t.Errorf("the empty %s is listed as %q", e.Kind, e.Verdict)
		}
	}
}

func TestLinksDoNotLeadOutside(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	writeRun(t, filepath.Join(outside, "secret"), "2026-01-01T00:00:00Z", "a", "complete")
	for name, to := range map[string]string{"a": outside, "b": filepath.Join(outside, "secret")} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "c"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "secret", record.RunFile), filepath.Join(dir, "c", record.RunFile)); err != nil {
		t.Fatal(err)
	}
	if got := paths(openFolder(t, dir).List()); len(got) != 0 {
		t.Errorf("links led to %v", got)
	}
}

func TestLinksWithinARecordDoNotLeadOutside(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	writeFile(t, filepath.Join(outside, "secret"), "x")
	for _, r := range []string{"bad", "deep", "good"} {
		writeRun(t, filepath.Join(dir, r), "2026-01-01T00:00:00Z", "a", "complete")
	}
	writeFile(t, filepath.Join(dir, "kept.hlog"), "x")
	if err := os.MkdirAll(filepath.Join(dir, "deep", "clients"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{
		"bad/" + record.LatencyFile: filepath.Join(outside, "secret"), "deep/clients/00": outside, "good/" + record.LatencyFile: "../kept.hlog",
	} {
		if err := os.Symlink(to, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
	}
	l, err := openLibrary(dir, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	for name, want := range map[string]bool{"bad": false, "deep": false, "good": true} {
		if _, _, ok := l.find(idOf(name)); ok != want {
			t.Errorf("%s is shown: %v, want %v", name, ok, want)
		}
	}
}

func TestTheListSaysWhatCameOut(t *testing.T) {
	dir := t.TempDir()
	text := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	p99 := int64(2_500_000)
	run := record.Run{Head: record.Head{Kind: record.KindRun, Status: record.Complete}, Phases: []record.PhaseResult{{
		Phase: "measure", Rates: record.Rates{Achieved: 1234}, All: record.ClassResult{Service: &record.Latency{P99: &p99}}}}}
	study := record.Study{Head: record.Head{Kind: record.KindStudy, Status: record.Complete},
		Specification: spec.Study{Name: "s"},
		Objectives:    []record.ConfigurationObjective{{Holds: true, N: 3, Met: 3}, {N: 3}},
		Trials: []record.Trial{
			{Number: 1, Attempt: 1, Kind: record.TrialCompared, Configuration: "workers=2", Status: record.TrialPlanned},
			{Number: 100001, Attempt: 1, Kind: record.TrialSearch, Configuration: "search", Status: record.TrialDone, Record: "procedures/threads-0001"},
		}}
	writeFile(t, filepath.Join(dir, "s", record.StudyFile), text(study))
	for _, d := range []string{"trials/0001-2", "procedures/threads-0001"} {
		writeFile(t, filepath.Join(dir, "s", d, record.RunFile), text(run))
	}
	f := openFolder(t, dir)
	for range 2 { // the second list is made of what is known
		by := map[string]Entry{}
		for _, e := range f.List() {
			by[e.Path] = e
		}
		if got := by["s"].Verdict; got != "does not hold: 1 of 2 objectives missed; valid" {
			t.Errorf("the study: %q", got)
		}
		if e := by["s/trials/0001-2"]; e.Title != "workers=2, trial 1" || !strings.Contains(e.What, "workload") || e.Rate != "1,234/s" || e.P99 != "2.50 ms" {
			t.Errorf("the trial: %+v", e)
		}
		if e := by["s/procedures/threads-0001"]; e.Title != "search, procedure threads-0001" {
			t.Errorf("the trial of a procedure: %+v", e)
		}
	}
}

func TestSearch(t *testing.T) {
	list := []Entry{
		{Path: "x/1", Entry: report.Entry{Kind: "run", Title: "workload a on embedded", Status: "complete", Labels: map[string]string{"team": "blue"}}},
		{Path: "x/2", Entry: report.Entry{Kind: "study", Title: "threads", Status: "running"}},
	}
	for words, want := range map[string][]string{
		"": {"x/1", "x/2"}, "WORKLOAD a": {"x/1"}, "team=blue": {"x/1"}, "study": {"x/2"}, "x/ running": {"x/2"}, "nothing": {},
	} {
		if diff := cmp.Diff(want, paths(Search(list, words))); diff != "" {
			t.Errorf("%q: %s", words, diff)
		}
	}
}

func TestHostileNamesInTheListAreBounded(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, filepath.Join(dir, "r"), "2026-01-01T00:00:00Z", strings.Repeat("x", 1<<20)+`\u0007<script>`, "complete")
	e := openFolder(t, dir).List()[0]
	if len(e.Title) > 1<<16 || strings.ContainsRune(e.Title, 7) {
		t.Errorf("a title of %d bytes", len(e.Title))
	}
}
