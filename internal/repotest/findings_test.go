package repotest

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
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
