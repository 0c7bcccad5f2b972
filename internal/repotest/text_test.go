package repotest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestTopFilesExist(t *testing.T) {
	for _, name := range []string{"README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md", "Makefile", ".ci/run"} {
		if _, err := os.Stat(filepath.Join(top, name)); err != nil {
			t.Errorf("%s is missing: users and contributors look for it first", name)
		}
	}
}

// machinePath finds paths that exist on one machine only.
var machinePath = regexp.MustCompile(`(^|[\s"'(=` + "`" + `])/(work|home/[a-z]+|root|Users/\w+)/`)

// registryHost finds the hosts of package registries: which one a machine uses is its own affair.
// Each is written with a gap, so that the rule does not find itself.
var registryHost = regexp.MustCompile(strings.ReplaceAll(
	`\b(deb\.~debian\.org|security\.~debian\.org|snapshot\.~debian\.org|archive\.~ubuntu\.com|proxy\.~golang\.org|sum\.~golang\.org|`+
		`registry\.~npmjs\.org|pypi\.~org|crates\.~io|repo\.~maven\.apache\.org|repo1\.~maven\.org)\b`, "~", ""))

// isText says whether a file is read by people or machines as text.
func isText(name string) bool {
	switch filepath.Ext(name) {
	case ".go", ".md", ".yaml", ".yml", ".sh", ".txt", ".txtar", ".html", ".css", ".js", ".mod", "":
		return true
	}
	return false
}

func TestNoMachinePathsOrRegistryHosts(t *testing.T) {
	for _, name := range files(t) {
		if !isText(name) {
			continue
		}
		for i, line := range strings.Split(read(t, name), "\n") {
			if m := machinePath.FindString(line); m != "" {
				t.Errorf("%s:%d: %q is a path of one machine", name, i+1, strings.TrimSpace(m))
			}
			if m := registryHost.FindString(line); m != "" {
				t.Errorf("%s:%d: %s is a package registry; use what the machine is set up with", name, i+1, m)
			}
		}
	}
}

// A heading for what is not released yet, so that every change has a place to be told to users.
func TestChangelogHasUnreleased(t *testing.T) {
	if text := read(t, "CHANGELOG.md"); !strings.Contains(text, "## ") {
		t.Error("CHANGELOG.md has no section: tell users what changed")
	}
}
