package repotest

import (
	"regexp"
	"testing"
)

// versions are the places that state the version of the next release beside the program, which has it first.
var versions = []struct{ file, pattern string }{
	{"cmd/plimsoll/version.go", `(?m)^const version = "(.*)"$`},
	{"deploy/helm/plimsoll-agents/Chart.yaml", `(?m)^version: (.*)$`},
	{"deploy/helm/plimsoll-agents/Chart.yaml", `(?m)^appVersion: "(.*)"$`},
	{"CHANGELOG.md", `(?m)^## (\S+)`},
}

// The chart and the newest heading of the changelog have the version of the program.
func TestOneVersion(t *testing.T) {
	want := versionIn(t, versions[0].file, versions[0].pattern)
	for _, place := range versions {
		if got := versionIn(t, place.file, place.pattern); got != want {
			t.Errorf("%s has the version %q, and the program %q", place.file, got, want)
		}
	}
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(want) {
		t.Errorf("the version %q is not of the form 1.2.3", want)
	}
}

func versionIn(t *testing.T, file, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(read(t, file))
	if found == nil {
		t.Fatalf("%s has no version (%s)", file, pattern)
	}
	return found[1]
}
