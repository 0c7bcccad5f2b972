package repotest

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// findingID matches the ID of a finding.
var findingID = regexp.MustCompile(`(?:finding\(|ID: |add\()"([a-z-]{3,})"`)

// studyFinding does the same for studies, where configurations have an ID too.
var studyFinding = regexp.MustCompile(`(?:finding\(|Finding\{\{?ID: )"([a-z-]{3,})"`)

// Users look up findings in the documentation.
func TestFindingsAreDocumented(t *testing.T) {
	pages := map[string]string{"measure": "docs/run.md", "run": "docs/run.md", "record": "docs/run.md", "study": "docs/compare.md"}
	found := 0
	for _, name := range files(t) {
		room := strings.Split(filepath.ToSlash(name), "/")[0]
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || pages[room] == "" {
			continue
		}
		page, form := read(t, pages[room]), findingID
		if room == "study" {
			form = studyFinding
			if slices.Contains(files(t), "docs/study.md") {
				page += read(t, "docs/study.md")
			}
		}
		for _, m := range form.FindAllStringSubmatch(read(t, name), -1) {
			found++
			if !strings.Contains(page, "`"+m[1]+"`") {
				t.Errorf("%s: the finding %q is missing in the table of %s", name, m[1], pages[room])
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d findings were found: correct the patterns of this test", found)
	}
}

// anyFinding matches the ID of a finding in every room that makes some. An ID that ends with a hyphen is the beginning
// of several.
var anyFinding = regexp.MustCompile(`(?:[fF]inding\(|\.find\(|Finding\{\{?ID: |\bfind\(|\badd\(|\.doubt\(|\bnote\(|warn\()"([a-z][a-z-]{2,})", ?` +
	`(?:measure\.|Severity|severity|Invalid|Warning|Note|sev\b|graded|c\.ofClient|kept)|\bID: "([a-z-]{3,})", Severity`)

// The first screen of a result has each finding in a few words.
func TestFindingsHaveAShortForm(t *testing.T) {
	shorts := read(t, "report/short.go")
	found := map[string]bool{}
	for _, name := range files(t) {
		room := strings.Split(filepath.ToSlash(name), "/")[0]
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || slices.Contains([]string{"report", "liars", "internal"}, room) {
			continue
		}
		for _, m := range anyFinding.FindAllStringSubmatch(read(t, name), -1) {
			id := m[1] + m[2]
			found[id] = true
			if !strings.Contains(shorts, `"`+id+`":`) {
				t.Errorf("%s: the finding %q has no short form: add it to report/short.go", name, id)
			}
		}
	}
	if len(found) < 120 {
		t.Errorf("only %d findings were found: correct the pattern of this test", len(found))
	}
	for _, m := range regexp.MustCompile(`\n\t"([a-z-]+)": +"([^"]*)"`).FindAllStringSubmatch(shorts, -1) {
		if n := utf8.RuneCountInString(m[2]); n > 66 {
			t.Errorf("the short form of %s has %d characters, 66 at most", m[1], n)
		}
	}
}
