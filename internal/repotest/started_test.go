package repotest

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// starts are the functions that start programs or make commands that do.
var starts = map[string][]string{
	"exec":    {"Command", "CommandContext", "Cmd"}, // Cmd as a composite literal only
	"os":      {"StartProcess"},
	"syscall": {"Exec", "ForkExec", "StartProcess"},
	"unix":    {"Exec"},
}

// startsItself are places in which Plimsoll replaces itself by the same program.
var startsItself = []string{"cmd/plimsoll/faultfs.go"}

// programStarts lists where a file starts a program without package childproc.
func programStarts(s source) []string {
	var found []string
	add := func(e ast.Expr, literal bool) {
		sel, ok := e.(*ast.SelectorExpr)
		if !ok {
			return
		}
		pkg, ok := sel.X.(*ast.Ident)
		if ok && (sel.Sel.Name == "Cmd") == literal && slices.Contains(starts[pkg.Name], sel.Sel.Name) {
			found = append(found, fmt.Sprintf("%s: %s.%s", s.at(sel.Pos()), pkg.Name, sel.Sel.Name))
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if len(n.Elts) > 0 { // without, it only has the environment of this process
				add(n.Type, true)
			}
		case *ast.SelectorExpr:
			add(n, false)
		}
		return true
	})
	return found
}

// The program starts others in one package, which asks the permit of the context. It never assumes a permit.
func TestProgramsAreStartedInOnePlace(t *testing.T) {
	all := sources(t)
	by := shipped(all, "cmd/plimsoll")
	for _, s := range all {
		if _, ok := by[s.folder()]; !ok || s.isTest() || s.folder() == "internal/childproc" {
			continue
		}
		if slices.Contains(startsItself, s.name) {
			continue
		}
		for _, place := range programStarts(s) {
			t.Errorf("%s: make the command with internal/childproc, which asks whether the program may be started", place)
		}
		if uses := callsOf(s, "permit", "Assume"); len(uses) > 0 {
			t.Errorf("%s: only tests and benchmarks assume permits; take the context of the command", uses[0])
		}
	}
}

// callsOf lists where a file uses a name of a package.
func callsOf(s source, pkg, name string) []string {
	var found []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == name {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == pkg {
				found = append(found, s.at(sel.Pos()))
			}
		}
		return true
	})
	return found
}

func TestStartsAreFound(t *testing.T) {
	s := parse(t, "lab/a.go", `package lab
import ("os/exec"; "syscall")
var a = exec.Command("a")
var b = &exec.Cmd{Path: "b"}
var c *exec.Cmd
var env = (&exec.Cmd{}).Environ()
func d() { _ = syscall.Exec("d", nil, nil); _, _ = exec.LookPath("e") }
`)
	if got := programStarts(s); len(got) != 3 {
		t.Errorf("found %q, want three starts", got)
	}
}

// unverified are words of options with which package managers take what nobody signed, or what was replaced by an older
// state.
var unverified = []string{"check-valid-until", "allow-unauthenticated", "allowunauthenticated", "allow-insecure", "allowinsecure",
	"trusted=yes", "no-check-gpg", "gonosumdb", "gonosumcheck", "goinsecure", "gosumdb=off"}

func unverifiedPackages(s source) (found []string) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		text, ok := n.(*ast.BasicLit)
		lax := func(word string) bool { return strings.Contains(strings.ToLower(text.Value), word) }
		if ok && slices.ContainsFunc(unverified, lax) {
			found = append(found, fmt.Sprintf("%s: %s", s.at(text.Pos()), text.Value))
		}
		return true
	})
	return found
}

// What an engine is installed from is signed and as new as its lists say.
func TestPackagesAreVerified(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		for _, use := range unverifiedPackages(s) {
			t.Errorf("%s: packages without a signature or from old lists run as root", use)
		}
	}
	lax := parse(t, "lab/a.go", "package lab\nvar a = []string{\"-o\", \"Acquire::Check-Valid-Until=false\", \"--force-check-gpg\"}\n")
	if got := unverifiedPackages(lax); len(got) != 1 {
		t.Errorf("found %q, want one", got)
	}
}
