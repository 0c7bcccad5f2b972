package serve

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func TestFilters(t *testing.T) {
	all := []Entry{
		{Path: "1", Entry: report.Entry{Kind: "run", Target: "embedded", Workload: "a", Grade: report.Good,
			Labels: map[string]string{"team": "blue"}}},
		{Path: "2", Entry: report.Entry{Kind: "run", Target: "db:27017", Workload: "a", Grade: report.Warn}},
		{Path: "3", Entry: report.Entry{Kind: "drill", Target: "db:27017", Workload: "a", Grade: report.Warn}, Live: true},
	}
	for query, want := range map[string]string{
		"": "1 2 3", "kind=run": "1 2", "target=db:27017": "2 3", "kind=run&target=db:27017": "2", "label=team%3Dblue": "1",
		"verdict=good": "1", "verdict=running": "3", "verdict=with+warnings": "2", "workload=a": "1 2 3", "workload=b": "", "kind=": "1 2 3",
	} {
		chosen, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		found, _ := narrow(all, chosen)
		if got := strings.Join(paths(found), " "); got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
	_, choices := narrow(all, url.Values{"workload": {"b"}})
	var names []string
	for _, c := range choices {
		names = append(names, c.Name)
	}
	if d := cmp.Diff([]string{"kind", "target", "workload", "label", "verdict"}, names); d != "" {
		t.Errorf("choices (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]option{{"a", "a (3)", false}, {"b", "b (0)", true}}, choices[2].Options); d != "" {
		t.Errorf("workloads (-want +got):\n%s", d)
	}
}

// The opening screen says what is here and what runs, draws a line for each result, and says beside the figures of an
// embedded target what it is. Trials and rounds are part of their study and drill.
func TestOpeningScreen(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "results")
	made(t, filepath.Join(dir, "one"), recordtest.Run{Warmup: 2, Seconds: 10, Rate: 500, Open: true,
		Median: time.Millisecond, Seed: 1, Name: "a.example"})
	made(t, filepath.Join(dir, "laptop"), recordtest.Run{Seconds: 10, Rate: 500, Median: time.Millisecond, Seed: 2,
		Change: func(s *spec.Run) { s.Target = "embedded:plimsoll-data/embedded" }})
	made(t, filepath.Join(dir, "now"), recordtest.Run{Seconds: 10, Rate: 500, Median: time.Millisecond, Seed: 3, Name: "b.example"})
	release, err := record.Hold(filepath.Join(dir, "now"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	if _, err := (recordtest.Drill{Rounds: 2, Lossy: 1}).Write(filepath.Join(dir, "kill")); err != nil {
		t.Fatal(err)
	}
	s := start(t, Options{Dir: dir})
	_, body := get(t, s, "/")
	for _, want := range []string{"4 records in the folder results: 3 runs, 1 drill", ">Running now<", `href="/live/` + idOf("now"), "/s in the last interval",
		`<small class="disclosure">embedded, not MongoDB</small>`, `<option value="drill">drill (1)</option>`} {
		if !strings.Contains(body, want) {
			t.Errorf("the opening screen does not have %q", want)
		}
	}
	if n := strings.Count(body, `<svg class="spark"`); n != 4 {
		t.Errorf("%d small lines, want 4", n)
	}
	if !strings.Contains(body, `class="hit"`) {
		t.Error("the line of the drill does not show its fault")
	}
	if strings.Contains(body, idOf("kill/rounds/1")) {
		t.Error("a round is listed besides its drill")
	}
	if _, body := get(t, s, "/?in="+idOf("kill")); !strings.Contains(body, idOf("kill/rounds/1")) || strings.Contains(body, idOf("one")) {
		t.Error("the rounds of the drill are not listed under it")
	}
	if _, body := get(t, s, "/record/"+idOf("kill")); !strings.Contains(body, "/?in="+idOf("kill")) {
		t.Error("the page of the drill does not lead to its rounds")
	}
	if _, body := get(t, s, "/?kind=drill"); strings.Contains(body, idOf("one")) || !strings.Contains(body, "1 of 4 records") {
		t.Error("the filter by kind does not work")
	}
}

// However long a run was, and however many there are, a page reads a bounded number of intervals.
func TestCoursesAreBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made(t, filepath.Join(dir, "r"), recordtest.Run{Warmup: 2, Seconds: 30, Rate: 100, Median: time.Millisecond, Seed: 1})
	var kept courses
	e := Entry{ID: "r", Entry: report.Entry{Kind: record.KindRun}}
	none := 0
	if c := kept.of(e, filepath.Join(dir, "r"), &none); c.Line != "" {
		t.Error("a page that may read nothing has a line")
	}
	lines := mostOfPage
	first := kept.of(e, filepath.Join(dir, "r"), &lines)
	if read := mostOfPage - lines; first.Line == "" || read != 32 {
		t.Errorf("read %d intervals of 32 for %q", read, first.Line)
	}
	lines = 0
	if again := kept.of(e, filepath.Join(dir, "r"), &lines); again != first {
		t.Error("the drawing is not cached")
	}
}
