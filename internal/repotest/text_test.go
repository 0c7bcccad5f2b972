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
			t.Errorf("%s is missing: users and contributors expect it", name)
		}
	}
}

// machinePath matches paths of one machine.
var machinePath = regexp.MustCompile(`(^|[\s"'(=` + "`" + `])/(work|home/[a-z]+|root|Users/\w+)/`)

// registryHost matches hosts of package registries, which each machine configures itself. Each name has a gap, so that
// the rule does not match itself.
var registryHost = regexp.MustCompile(strings.ReplaceAll(
	`\b(deb\.~debian\.org|security\.~debian\.org|snapshot\.~debian\.org|archive\.~ubuntu\.com|proxy\.~golang\.org|sum\.~golang\.org|`+
		`registry\.~npmjs\.org|pypi\.~org|crates\.~io|repo\.~maven\.apache\.org|repo1\.~maven\.org)\b`, "~", ""))

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
				t.Errorf("%s:%d: %q exists on one machine only: use a neutral path", name, i+1, strings.TrimSpace(m))
			}
			if m := registryHost.FindString(line); m != "" {
				t.Errorf("%s:%d: %s is a package registry: use the configuration of the machine", name, i+1, m)
			}
		}
	}
}

// Each change needs a place in the changelog.
func TestChangelogHasUnreleased(t *testing.T) {
	if text := read(t, "CHANGELOG.md"); !strings.Contains(text, "## ") {
		t.Error("CHANGELOG.md has no section: describe the changes for users")
	}
}
