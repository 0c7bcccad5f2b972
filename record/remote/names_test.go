package remote

import (
	"regexp"
	"strings"
	"testing"
)

// tagged are the names that registries, directories and S3 take.
var tagged = regexp.MustCompile(`^[a-z0-9_][a-z0-9._-]*$`)

// Names of branches that looked the same have records of their own, on every store and file system.
func TestLinesAreApart(t *testing.T) {
	seen := map[string]string{}
	lines := []Line{Tag("main"), Tag("7"), Change(7), Change(77), Branch("pr/7"), Branch("pr.7"), Branch("pr"), Branch("branch.main")}
	for _, name := range []string{"main", "main+", "@main", "main.", "main-", "-main", "_main", "Main", "MAIN", "refs/heads/main",
		"refs/main", "m/ain", "m-ain", "m_ain", "m.ain", "main.20261101T120000Z", "mäin", "main_2b", "7", "7/merge", " main",
		"main ", "main\n", "main\x00", ""} {
		lines = append(lines, Branch(name))
	}
	for _, l := range lines {
		record := strings.ToLower(l.Record("20261101T120000000Z")) // a file system that ignores case
		if !tagged.MatchString(record) {
			t.Errorf("%q has the name %s", l, record)
		}
		if other, known := seen[record]; known {
			t.Errorf("%q and %q are both %s", other, l, record)
		}
		seen[record] = l.String()
		for _, other := range lines {
			if got := other.has(l.Record("20261101T120000000Z") + suffix); got != (l == other) {
				t.Errorf("the record of %v is one of %v: %v", l, other, got)
			}
		}
	}
	if got := Branch("feature/x").Record("1"); got != "branch.feature_2fx.1" {
		t.Errorf("feature/x is %s", got)
	}
}

// The line of a job is that of the code that runs, whatever the branch of a change request is called.
func TestLineOfAJob(t *testing.T) {
	for _, c := range []struct {
		variables  string
		own, base  string
		mustRefuse bool
	}{
		{"", "", "", false},
		{"GITHUB_EVENT_NAME=push GITHUB_REF=refs/heads/main GITHUB_REF_NAME=main", "main", "main", false},
		{"GITHUB_EVENT_NAME=schedule GITHUB_REF=refs/heads/a/b", "a/b", "a/b", false},
		{"GITHUB_EVENT_NAME=push GITHUB_REF=refs/tags/main GITHUB_REF_NAME=main", "tag/main", "", false},
		{"GITHUB_EVENT_NAME=pull_request GITHUB_REF=refs/pull/7/merge GITHUB_REF_NAME=7/merge GITHUB_HEAD_REF=main GITHUB_BASE_REF=main",
			"pr/7", "main", false},
		{"GITHUB_EVENT_NAME=pull_request_review GITHUB_REF=refs/pull/7/merge GITHUB_BASE_REF=main", "pr/7", "main", false},
		{"GITHUB_EVENT_NAME=pull_request_target GITHUB_REF=refs/heads/main GITHUB_HEAD_REF=fix GITHUB_BASE_REF=main", "", "main", true},
		{"GITHUB_EVENT_NAME=issue_comment GITHUB_REF=refs/heads/main", "", "", true},
		{"GITHUB_EVENT_NAME=workflow_run GITHUB_REF=refs/heads/main", "", "", true},
		{"GITHUB_EVENT_NAME=pull_request GITHUB_REF=refs/pull/x/merge", "", "", true},
		{"CI_COMMIT_BRANCH=main CI_COMMIT_REF_NAME=main", "main", "main", false},
		{"CI_COMMIT_TAG=main CI_COMMIT_REF_NAME=main", "tag/main", "", false},
		{"CI_MERGE_REQUEST_IID=7 CI_MERGE_REQUEST_SOURCE_BRANCH_NAME=main CI_MERGE_REQUEST_TARGET_BRANCH_NAME=main CI_COMMIT_REF_NAME=main",
			"pr/7", "main", false},
	} {
		values := map[string]string{}
		for pair := range strings.FieldsSeq(c.variables) {
			name, value, _ := strings.Cut(pair, "=")
			values[name] = value
		}
		own, base, err := CI(func(name string) string { return values[name] })
		if own.String() != c.own && (own != Line{} || c.own != "") || base != c.base || (err != nil) != c.mustRefuse {
			t.Errorf("%s: %v against %q, %v", c.variables, own, base, err)
		}
	}
}

// Two names have the same escape only if they are the same.
func FuzzEscape(f *testing.F) {
	for _, name := range []string{"main", "main+", "@main", "Main", "a/b", "_2f", "ä"} {
		f.Add(name, "main")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := Branch(a).Record("1"), Branch(b).Record("1")
		if strings.EqualFold(x, y) != (a == b) {
			t.Errorf("%q is %s and %q is %s", a, x, b, y)
		}
		if back, err := unescape(escape(a)); err != nil || back != a {
			t.Errorf("%q is %q after %s, %v", a, back, escape(a), err)
		}
		if !tagged.MatchString(x) && len(x) <= maxTag {
			t.Errorf("%q is %s", a, x)
		}
	})
}
