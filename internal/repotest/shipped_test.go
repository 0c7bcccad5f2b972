package repotest

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// notShipped reports whether a folder is test support, by its name: simulated targets, conformance suites, stand-ins of
// servers. A folder of its path ends in "test" or is testdata.
func notShipped(folder string) bool {
	return slices.ContainsFunc(strings.Split(folder, "/"), func(name string) bool {
		return name == "testdata" || name == "e2e" || strings.HasSuffix(name, "test")
	})
}

// shipped returns the folders of a program, each with the folder that imports it.
func shipped(all []source, program string) map[string]string {
	imported := map[string][]string{}
	for _, s := range all {
		if s.isTest() {
			continue
		}
		for _, i := range s.file.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if folder, ours := strings.CutPrefix(name, module); err == nil && ours {
				imported[s.folder()] = append(imported[s.folder()], folder)
			}
		}
	}
	by := map[string]string{program: ""}
	for next := []string{program}; len(next) > 0; next = next[1:] {
		for _, folder := range imported[next[0]] {
			if _, known := by[folder]; !known {
				by[folder] = next[0]
				next = append(next, folder)
			}
		}
	}
	return by
}

func TestTestHelpersAreNotShipped(t *testing.T) {
	by := shipped(sources(t), "cmd/plimsoll")
	if len(by) < 40 {
		t.Fatalf("the program has only %d folders: the test does not follow imports", len(by))
	}
	for folder, from := range by {
		if notShipped(folder) {
			t.Errorf("%s is for tests and benchmarks, but the program has it, because %s imports it", folder, from)
		}
	}
}

func TestShippedIsFollowed(t *testing.T) {
	all := []source{
		parse(t, "cmd/plimsoll/a.go", "package main\nimport _ \""+module+"study\"\n"),
		parse(t, "study/a.go", "package study\nimport _ \""+module+"study/simulatedtest\"\n"),
		parse(t, "study/a_test.go", "package study\nimport _ \""+module+"store/storetest\"\n"),
	}
	by := shipped(all, "cmd/plimsoll")
	if by["study/simulatedtest"] != "study" || len(by) != 3 {
		t.Errorf("the program has %v", by)
	}
}

// A template may call any method by its name, so a program with one keeps the exported methods of all types, of all
// libraries: a fifth more program to load at each start.
func TestProgramHasNoTemplates(t *testing.T) {
	all := sources(t)
	by := shipped(all, "cmd/plimsoll")
	for _, s := range all {
		if _, ok := by[s.folder()]; !ok || s.isTest() {
			continue
		}
		for _, i := range s.file.Imports {
			if i.Path.Value == `"text/template"` || i.Path.Value == `"html/template"` {
				t.Errorf("%s: %s keeps all methods in the program: write HTML with internal/markup, and text with fmt",
					s.at(i.Pos()), i.Path.Value)
			}
		}
	}
}

// reporters are the parts of libraries that send reports of errors to other machines. SECURITY.md says that nothing
// uses them.
var reporters = []string{"github.com/getsentry/", "github.com/cockroachdb/errors"}

func TestNothingReportsErrors(t *testing.T) {
	for _, s := range sources(t) {
		for _, i := range s.file.Imports {
			for _, r := range reporters {
				if strings.HasPrefix(i.Path.Value, `"`+r) {
					t.Errorf("%s: %s can send reports to another machine, and SECURITY.md promises that nothing does", s.at(i.Pos()), i.Path.Value)
				}
			}
		}
	}
}
