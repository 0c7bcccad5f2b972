package html

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

func suite(t *testing.T, o recordtest.Suite) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "my-suite")
	if _, err := o.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The first screen, the figures beside the document, and each part folded under its own anchor.
func TestSuitePage(t *testing.T) {
	dir := suite(t, recordtest.Suite{})
	page := pageOf(t, openAll(t, dir)...)
	for _, want := range []string{
		`<h1>Suite policy-storage (MongoDB on policy storage): 3 of 5 parts done</h1>`, `<p class="verdict warn">`, "4 disagree", "<dt>Document</dt><dd>MongoDB on VMware vSAN 6.6",
		`<section id="p1-part"`, `<details class="part"><summary>All that it measured</summary>`, `<h3 id="p1-factor-1">client threads</h3>`,
		`there +20.2 %, here +19.0 % [+15.5 %, +22.6 %]: agrees`, "left out: there is no mongod here", "There is no record of it.", "plimsoll report " + dir + "/parts/client-b",
		"Best practices of the document", "suite.yaml", "table 2, “Software Resources”",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if strings.Contains(page, ">Published: ") || strings.Contains(page, ">published: ") {
		t.Error("a part shows published figures once more")
	}
	ids := map[string]bool{}
	for _, rest := range strings.Split(page, ` id="`)[1:] {
		id, _, _ := strings.Cut(rest, `"`)
		if ids[id] {
			t.Errorf("duplicate id %s", id)
		}
		ids[id] = true
	}
	charts := ""
	for _, f := range figuresOf.FindAllString(page, -1) {
		if strings.HasPrefix(f, `<figure id="figure-`) {
			charts += f + "\n"
		}
	}
	golden := filepath.Join("testdata", "suite.html")
	if *update {
		if err := os.WriteFile(golden, []byte(charts), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), charts); d != "" || strings.Count(charts, "<figure") != 5 {
		t.Errorf("%d charts (-want +got, -update rewrites it):\n%.4000s", strings.Count(charts, "<figure"), d)
	}
}

// A suite that goes on, and one whose parts are gone, have pages.
func TestSuitePagesThatLackSomething(t *testing.T) {
	running := suite(t, recordtest.Suite{Running: true})
	if page := pageOf(t, openAll(t, running)...); !strings.Contains(page, "not begun") {
		t.Error("the page lacks the part that has not begun")
	}
	gone := suite(t, recordtest.Suite{})
	if err := os.RemoveAll(filepath.Join(gone, "parts")); err != nil {
		t.Fatal(err)
	}
	if page := pageOf(t, openAll(t, gone)...); !strings.Contains(page, "cannot be read: ") {
		t.Error("the page lacks the removed parts")
	}
}
