package repotest

import (
	"go/ast"
	"regexp"
	"slices"
	"testing"
)

// mongodTests matches the list of tests on a real mongod in the Makefile.
var mongodTests = regexp.MustCompile(`(?m)^MONGOD_TESTS := (.*)\$\$$`)

// onMongod are the helpers of tests that run on each mongod of the machine.
var onMongod = []string{"RealMongo", "RealMongoVar", "eachMongo", "forEachOwnServer", "forEachMongod", "forEachEngine", "forEachServer"}

// The Makefile target mongod runs all tests on a real mongod.
func TestMongodTargetIsComplete(t *testing.T) {
	found := mongodTests.FindStringSubmatch(read(t, "Makefile"))
	if found == nil {
		t.Fatal("the Makefile has no MONGOD_TESTS")
	}
	listed, tests := regexp.MustCompile(found[1]+"$"), 0
	for _, s := range sources(t) {
		if !s.isTest() || s.folder() == "internal/repotest" {
			continue
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || len(f.Name.Name) < 5 || f.Name.Name[:4] != "Test" || !calls(f, onMongod) {
				continue
			}
			tests++
			if !slices.Contains([]string{"lab/engine", "lab/topology", "drill", "e2e", "cmd/plimsoll", "store/embedded"}, s.folder()) || !listed.MatchString(f.Name.Name) {
				t.Errorf("%s: 'make mongod' does not run %s, which runs on a real mongod", s.at(f.Pos()), f.Name.Name)
			}
		}
	}
	if tests < 25 {
		t.Errorf("only %d tests on a real mongod were found: correct the list of helpers in this test", tests)
	}
}

func calls(f *ast.FuncDecl, names []string) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && slices.Contains(names, id.Name) {
			found = true
		}
		return !found
	})
	return found
}
