package repotest

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// raced is the list of packages in the Makefile that are tested under the race detector.
var raced = regexp.MustCompile(`(?m)^RACED\s*:= ((?:.*\\\n)*.*)$`)

// unraced are the packages that start goroutines and are not tested under the race detector, with the reason.
var unraced = map[string]string{
	"bench":                     "it measures",
	"examples/failover/persons": "it is an example",
	"lab/topology":              "its tests start servers and wait for them for minutes",
	"lab/volume":                "its tests run programs and wait for them",
	"report/html":               "it hands a page from one goroutine to one reader",
	"store/storetest":           "it is a part of other packages' tests",
}

// startsGoroutines reports whether a file does, by a statement or by a method Go of a group.
func startsGoroutines(f *ast.File) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Go" && len(n.Args) == 1 {
				found = true
			}
		}
		return !found
	})
	return found
}

func TestPackagesWithGoroutinesAreRaced(t *testing.T) {
	match := raced.FindStringSubmatch(read(t, "Makefile"))
	if match == nil {
		t.Fatal("the Makefile has no RACED")
	}
	listed := strings.Fields(strings.ReplaceAll(match[1], "\\\n", " "))
	used := map[string]bool{}
	for _, s := range sources(t) {
		if s.isTest() || !startsGoroutines(s.file) {
			continue
		}
		used[s.folder()] = true
		if !slices.Contains(listed, s.folder()) && unraced[s.folder()] == "" {
			t.Errorf("%s starts goroutines: add %s to RACED in the Makefile", s.name, s.folder())
		}
	}
	for folder := range unraced {
		if !used[folder] {
			t.Errorf("%s starts no goroutine: take it off the list of exceptions", folder)
		}
	}
	if len(used) < 20 {
		t.Errorf("only %d packages start goroutines: this test looks for them in the wrong way", len(used))
	}
}
