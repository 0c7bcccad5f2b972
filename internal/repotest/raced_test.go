package repotest

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// raced matches the packages in the Makefile that are tested with the race detector.
var raced = regexp.MustCompile(`(?m)^RACED\s*:= ((?:.*\\\n)*.*)$`)

// half and twice match the raced packages of which some or all tests run without the race detector, unracedTests those
// tests of the former.
var (
	half         = regexp.MustCompile(`(?m)^HALF\s*:= (.*)$`)
	twice        = regexp.MustCompile(`(?m)^TWICE := (.*)$`)
	unracedTests = regexp.MustCompile(`(?m)^UNRACED_TESTS := ([^/]*)/`)
)

// forRace matches the build constraint of a file that depends on the race detector.
var forRace = regexp.MustCompile(`(?m)^//go:build .*\brace\b`)

// unraced are packages that start goroutines and are not tested with the race detector, with the reason.
var unraced = map[string]string{
	"platform":                  "the tests of platform/command race its connections; its own tests are of labs",
	"bench":                     "it measures",
	"liars":                     "it measures, and its tests run no family",
	"drill/ledger/ledgertest":   "it has no tests of its own; drill/ledger, which uses it, is raced",
	"examples/failover/persons": "it is an example",
	"fleet/fleettest":           "it has no tests of its own; fleet and fleet/nats, which use it, are raced",
	"internal/kubetest":         "its test starts clusters and waits for them",
	"internal/kubetest/driver":  "it is a module by itself, without tests",
	"lab/topology":              "its tests start servers and wait for them for minutes",
	"lab/volume":                "its tests run programs and wait for them",
	"report":                    "it hands a page from one goroutine to one reader",
	"store/storetest":           "it belongs to the tests of other packages",
}

// startsGoroutines looks for go statements and methods Go of groups.
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
			t.Errorf("%s starts no goroutine: remove it from the exceptions", folder)
		}
	}
	if len(used) < 20 {
		t.Errorf("only %d packages with goroutines were found: correct this test", len(used))
	}
}

// A test that the race detector leaves out runs without it.
func TestEachTestIsRun(t *testing.T) {
	text := read(t, "Makefile")
	list, patterns := raced.FindStringSubmatch(text), unracedTests.FindStringSubmatch(text)
	some, all := half.FindStringSubmatch(text), twice.FindStringSubmatch(text)
	if list == nil || some == nil || all == nil || patterns == nil {
		t.Fatal("the Makefile has no RACED, HALF, TWICE or UNRACED_TESTS")
	}
	left := regexp.MustCompile(strings.ReplaceAll(patterns[1], "$$", "$"))
	halfNeeded, twiceNeeded := map[string]string{}, map[string]string{} // the reasons
	for _, s := range sources(t) {
		if !s.isTest() {
			continue
		}
		tests, unraced := 0, 0
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") || f.Name.Name == "TestMain" {
				continue
			}
			tests++
			if left.MatchString(f.Name.Name) {
				unraced++
				halfNeeded[s.folder()] = f.Name.Name + " is not raced"
			}
		}
		if forRace.MatchString(s.text) && (tests == 0 || unraced < tests) {
			twiceNeeded[s.folder()] = s.name + " depends on the race detector"
		}
	}
	for _, folder := range strings.Fields(strings.ReplaceAll(list[1], "\\\n", " ")) {
		wanted := halfNeeded[folder] != "" && twiceNeeded[folder] == ""
		if slices.Contains(strings.Fields(some[1]), folder) != wanted {
			t.Errorf("%s: correct HALF in the Makefile (reason to be there: %q)", folder, halfNeeded[folder])
		}
		if slices.Contains(strings.Fields(all[1]), folder) != (twiceNeeded[folder] != "") {
			t.Errorf("%s: correct TWICE in the Makefile (reason to be there: %q)", folder, twiceNeeded[folder])
		}
	}
}
