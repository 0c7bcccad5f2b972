package serve

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

// A suite is one line of the list. Its parts are opened from it, or listed under it with what they are called there.
func TestSuitesAreListedWithoutTheirParts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := (recordtest.Suite{}).Write(filepath.Join(dir, "mine")); err != nil {
		t.Fatal(err)
	}
	writeRun(t, filepath.Join(dir, "mine", "parts", "client-b", "trials", "0001"), "2026-02-01T00:01:00Z", "c", "complete")
	writeRun(t, filepath.Join(dir, "alone"), "2026-02-01T00:01:00Z", "c", "complete")
	s := start(t, Options{Dir: dir})
	suite, part, trial := idOf("mine"), idOf("mine/parts/client-b"), idOf("mine/parts/client-b/trials/0001")
	_, body := get(t, s, "/")
	for _, want := range []string{"/record/" + suite, "policy-storage", "3 of 5 parts done, 1 failed, 1 left out", `<td class="kind">suite</td>`, "/record/" + idOf("alone"), "2 records"} {
		if !strings.Contains(body, want) {
			t.Errorf("the list does not have %q", want)
		}
	}
	if strings.Contains(body, part) || strings.Contains(body, trial) {
		t.Error("the list has parts of a suite, or their trials")
	}
	_, body = get(t, s, "/?in="+suite+"&q=client")
	for _, want := range []string{"Records of policy-storage", "/record/" + part, ">client-b<", trial, `name="in" value="` + suite} {
		if !strings.Contains(body, want) {
			t.Errorf("the list of its parts does not have %q", want)
		}
	}
	if strings.Contains(body, "/record/"+idOf("alone")) {
		t.Error("the list of its parts has another record")
	}
	status, body := get(t, s, "/record/"+suite)
	for _, want := range []string{"Records of the parts: ", `<a href="/record/` + part + `">client-b</a>`, "/?in=" + suite, "9 of 30 statements agree", "Best practices"} {
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("the page of the suite (%d) does not have %q", status, want)
		}
	}
	if status, body := get(t, s, "/record/"+part); status != http.StatusOK || !strings.Contains(body, "client threads=32") {
		t.Errorf("the page of a part: %d", status)
	}
	if _, body := get(t, s, "/?in=nothing"); !strings.Contains(body, "0 records") {
		t.Error("a record is in a suite that does not exist")
	}
}

// A suite that goes on says which part runs, and leads to it.
func TestLiveSuite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	suite := filepath.Join(dir, "mine")
	if _, err := (recordtest.Suite{Running: true}).Write(suite); err != nil {
		t.Fatal(err)
	}
	for _, held := range []string{suite, filepath.Join(suite, "parts", "policy-b")} {
		release, err := record.Hold(held)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(release)
	}
	s := start(t, Options{Dir: dir})
	id, part := idOf("mine"), idOf("mine/parts/policy-b")
	status, body := get(t, s, "/live/"+id)
	if status != http.StatusOK || !strings.Contains(body, "1 of 3 parts done") || strings.Contains(body, "killed") {
		t.Errorf("the live page (%d): %.3000s", status, body)
	}
	events := listen(t, s, id, "")
	if now := strings.TrimSpace(next(t, events, "now").data); now != `1 of 3 parts done; <a href="/live/`+part+`">policy-b is running</a>` {
		t.Errorf("the line above the picture is %q", now)
	}
	before := stateOf(suite, true)
	if err := os.WriteFile(filepath.Join(suite, "parts", "policy-b", record.JournalFile), []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if before == stateOf(suite, true) {
		t.Error("a trial that ended does not make a new picture")
	}
}
