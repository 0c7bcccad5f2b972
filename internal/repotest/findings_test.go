package repotest

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// findingID finds where a finding of the validity gets its name.
var findingID = regexp.MustCompile(`(?:finding\(|ID: |add\()"([a-z-]{3,})"`)

// A person who reads a finding looks its name up in the documentation.
func TestFindingsAreDocumented(t *testing.T) {
	page := read(t, "docs/run.md")
	found := 0
	for _, name := range files(t) {
		room := strings.Split(filepath.ToSlash(name), "/")[0]
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || (room != "measure" && room != "run" && room != "record") {
			continue
		}
		for _, m := range findingID.FindAllStringSubmatch(read(t, name), -1) {
			found++
			if !strings.Contains(page, "`"+m[1]+"`") {
				t.Errorf("%s: the finding %q is not in the table of docs/run.md", name, m[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("found only %d findings in the sources: this test looks for them in the wrong way", found)
	}
}
