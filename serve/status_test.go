package serve

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

// liveDrill is a folder with a drill that goes on: this process holds it.
func liveDrill(t *testing.T) (dir string, release func()) {
	t.Helper()
	dir = t.TempDir()
	drill := filepath.Join(dir, "drill")
	if _, err := (recordtest.Drill{Rounds: 1, Running: true, Name: hostileName}).Write(drill); err != nil {
		t.Fatal(err)
	}
	release, err := record.Hold(drill)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return dir, release
}

// known are the headers of a client that knows the token.
func known(s *Server) map[string]string {
	return map[string]string{"Cookie": "plimsoll-" + s.url("")[strings.LastIndexByte(s.url(""), ':')+1:] + "=" + testToken}
}

// A drill that goes on is shown with its stages, what happened, the rounds before, and the round under way over time;
// the line above the picture is said again every second; and when it ends, that is said.
func TestLiveDrill(t *testing.T) {
	t.Parallel()
	dir, release := liveDrill(t)
	s := start(t, Options{Dir: dir, Labs: &fakeLabs{broken: true}})
	id := idOf("drill")
	if _, body := get(t, s, "/"); !strings.Contains(body, "/live/"+id) || !strings.Contains(body, "kill-primary: running, round 2 of 3, 1 holds") {
		t.Error("the list does not show that the drill is running")
	}
	resp, body := ask(t, s, "GET", "/live/"+id, known(s), "")
	for _, want := range []string{"Round 2 of 3, now", "the fault is in place, since", "Rounds so far", "Round 2 over time", "Stop the drill", "Revert all faults of the lab three"} {
		if resp.StatusCode != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("the live page (%d) does not have %q", resp.StatusCode, want)
		}
	}
	if strings.Contains(body, "<script>harm") || strings.Contains(body, "killed") {
		t.Error("the page has unescaped text of a server, or shows the drill as killed")
	}
	events := listen(t, s, id, "")
	if now := next(t, events, "now").data; !strings.Contains(now, "round 2 of 3: the fault is in place") || !strings.Contains(now, "1,234 acknowledged, 56 not applied, 7 indeterminate") {
		t.Errorf("the line above the picture is %q", now)
	}
	if err := os.Remove(filepath.Join(dir, "drill", record.StatusFile)); err != nil {
		t.Fatal(err)
	}
	release()
	next(t, events, "end")
}

// What is broken in the lab of a drill can be healed from its page, by whoever knows the token, as long as it goes on.
func TestHealFromTheDrill(t *testing.T) {
	t.Parallel()
	dir, release := liveDrill(t)
	labs := &fakeLabs{broken: true}
	s := start(t, Options{Dir: filepath.Join(dir, "drill"), Alone: true, Labs: labs})
	id, form := idOf("."), map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Cookie": known(s)["Cookie"]}
	if resp, _ := ask(t, s, "POST", "/heal/of/"+id, nil, ""); resp.StatusCode == http.StatusSeeOther || labs.healed != 0 {
		t.Error("somebody without the token healed it")
	}
	if resp, body := ask(t, s, "POST", "/heal/of/"+id, form,
		url.Values{}.Encode()); resp.StatusCode != http.StatusSeeOther || labs.healed != 1 {
		t.Errorf("healing is %d: %s", resp.StatusCode, body)
	}
	release()
	if resp, _ := ask(t, s, "POST", "/heal/of/"+id, form, ""); resp.StatusCode != http.StatusConflict || labs.healed != 1 {
		t.Errorf("healing an ended fault returned %d", resp.StatusCode)
	}
}

// A round of a drill ends with the drill, so that is what its page offers to stop.
func TestRoundIsPartOfItsDrill(t *testing.T) {
	t.Parallel()
	dir, _ := liveDrill(t)
	release, err := record.Hold(filepath.Join(dir, "drill", "rounds", "2"))
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	s := start(t, Options{Dir: dir})
	if _, body := ask(t, s, "GET", "/live/"+idOf("drill/rounds/2"), known(s), ""); !strings.Contains(body, "Stop the drill") || strings.Contains(body, "Revert") {
		t.Error("the page of a round has no button to stop its drill, or has one to revert without a fault")
	}
}

// A probe that goes on is shown with the steps that are over, and with its last second.
func TestLiveProbe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	probe := filepath.Join(dir, "probe")
	release, err := record.Hold(probe)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	w, err := record.CreateProbe(probe, &record.Probe{Specification: record.ProbeSpec{Directory: "/data"},
		Head: record.Head{Started: recordtest.Started}})
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, Options{Dir: dir})
	id := idOf("probe")
	if resp, body := ask(t, s, "GET", "/live/"+id, known(s), ""); resp.StatusCode != http.StatusOK ||
		strings.Contains(body, "was killed") || !strings.Contains(body, "Stop the probe") {
		t.Errorf("the page of a probe that begins is %d", resp.StatusCode)
	}
	events := listen(t, s, id, "")
	if now := next(t, events, "now").data; !strings.Contains(now, "Nothing is measured yet") {
		t.Errorf("the line above the picture is %q", now)
	}
	if err := w.Second(record.ProbeSecond{Step: 2, At: 3e9, Length: 1e9, Operations: 2000, Bytes: 4096e3, P50: 1e5,
		P99: 2e6}); err != nil {
		t.Fatal(err)
	}
	if now := next(t, events, "now").data; !strings.Contains(now, "step 3, 4s: 2,000 op/s") || !strings.Contains(now, "p99 2.00 ms") {
		t.Errorf("the line above the picture is %q", now)
	}
}
