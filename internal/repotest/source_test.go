package repotest

import (
	"fmt"
	"go/ast"
	"go/token"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	maxFunction = 80  // lines
	maxFile     = 700 // lines
	maxLine     = 120 // columns; a tab counts as one, and the content of strings does not count
)

// longFunctions are exceptions from maxFunction, with a reason. The key is "file function".
var longFunctions = map[string]string{
	"measure/validity_test.go TestFindings": "a table of cases",
}

// longFiles are exceptions from maxFile, with a reason.
var longFiles = map[string]string{}

// outside are calls that use the environment of the process. Only the command line may do that.
var outside = map[string][]string{
	"fmt": {"Print", "Printf", "Println"},
	"os":  {"Stdin", "Stdout", "Stderr", "Exit", "Getenv", "LookupEnv", "Environ", "Args"},
	"log": {"Print", "Printf", "Println", "Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln"},
}

// mayTouchOutside reports whether code may use [outside]: commands, benchmarks, generators, tests and test helpers.
func mayTouchOutside(s source) bool {
	return s.isTest() || slices.Contains([]string{"cmd", "bench", "e2e"}, s.room()) || s.file.Name.Name == "main" ||
		strings.HasSuffix(s.file.Name.Name, "test") || s.folder() == "internal/notrun"
}

func outsideUses(s source) []string {
	var found []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := sel.X.(*ast.Ident); ok && slices.Contains(outside[pkg.Name], sel.Sel.Name) && imports(s, pkg.Name) {
			found = append(found, fmt.Sprintf("%s: %s.%s", s.at(sel.Pos()), pkg.Name, sel.Sel.Name))
		}
		return true
	})
	return found
}

// imports reports whether a file imports a package of the standard library under its own name.
func imports(s source, pkg string) bool {
	return slices.ContainsFunc(s.file.Imports, func(i *ast.ImportSpec) bool {
		return i.Path.Value == `"`+pkg+`"` && i.Name == nil
	})
}

func TestOnlyCommandsTouchTheOutside(t *testing.T) {
	for _, s := range sources(t) {
		if mayTouchOutside(s) {
			continue
		}
		for _, use := range outsideUses(s) {
			t.Errorf("%s: only cmd prints, exits and reads the environment, so all packages can be used and tested without a terminal", use)
		}
	}
}

func TestOutsideIsFound(t *testing.T) {
	s := parse(t, "load/a.go", "package load\nimport (\"fmt\"; \"os\")\nfunc f() { fmt.Println(os.Getenv(\"A\")); fmt.Errorf(\"\") }\n")
	if got := outsideUses(s); len(got) != 2 {
		t.Errorf("found %q, want two uses", got)
	}
}

func TestPackageComments(t *testing.T) {
	comments := map[string][]string{} // folder and package → files with a package comment
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		key := s.folder() + " " + s.file.Name.Name
		comments[key] = append(comments[key], []string{}...)
		if s.file.Doc != nil {
			comments[key] = append(comments[key], s.name)
		}
		if s.file.Doc != nil && s.file.Name.Name != "main" && !strings.HasPrefix(s.file.Doc.Text(), "Package "+s.file.Name.Name+" ") {
			t.Errorf("%s: the package comment does not start with \"Package %s\"", s.name, s.file.Name.Name)
		}
	}
	for key, in := range comments {
		if len(in) != 1 {
			t.Errorf("package in %s: %d package comments %v, want exactly one, which describes what the package has and what it has not", key, len(in), in)
		}
	}
}

func functionLines(s source, f *ast.FuncDecl) int {
	return s.set.Position(f.End()).Line - s.set.Position(f.Pos()).Line + 1
}

func longOnes(s source) []string {
	var long []string
	for _, d := range s.file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		lines := functionLines(s, f)
		if lines > maxFunction && longFunctions[s.name+" "+f.Name.Name] == "" {
			long = append(long, fmt.Sprintf("%s: %s has %d lines, the limit is %d: split it, or add an exception in internal/repotest",
				s.at(f.Pos()), f.Name.Name, lines, maxFunction))
		}
	}
	return long
}

func TestLengths(t *testing.T) {
	for _, s := range sources(t) {
		for _, long := range longOnes(s) {
			t.Error(long)
		}
		if lines := strings.Count(s.text, "\n"); lines > maxFile && longFiles[s.name] == "" {
			t.Errorf("%s has %d lines, the limit is %d: split it by subject, or add an exception in internal/repotest", s.name, lines, maxFile)
		}
	}
}

func wideLines(s source) []string {
	texts := map[int]int{} // columns of string literals by line; a literal of several lines takes all columns
	ast.Inspect(s.file, func(n ast.Node) bool {
		l, ok := n.(*ast.BasicLit)
		if !ok || l.Kind != token.STRING {
			return true
		}
		from, to := s.set.Position(l.Pos()).Line, s.set.Position(l.End()).Line
		if from == to {
			texts[from] += utf8.RuneCountInString(l.Value) - len(`""`)
			return true
		}
		for line := from; line <= to; line++ {
			texts[line] = math.MaxInt
		}
		return true
	})
	var wide []string
	for i, line := range strings.Split(s.text, "\n") {
		if columns := utf8.RuneCountInString(line); columns > maxLine && columns-texts[i+1] > maxLine {
			wide = append(wide, fmt.Sprintf("%s:%d has %d columns, the limit is %d: break it", s.name, i+1, columns, maxLine))
		}
	}
	return wide
}

func TestLineLengths(t *testing.T) {
	for _, s := range sources(t) {
		for _, line := range wideLines(s) {
			t.Error(line)
		}
	}
}

func TestWideLinesAreFound(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	s := parse(t, "load/a.go", "package load\n// "+long+"\nvar "+long+" int\nvar a = \""+long+"\"\nvar b = `\n"+long+"x\n`\n")
	if got := wideLines(s); len(got) != 2 {
		t.Errorf("found %q, want the comment and the name", got)
	}
}

func TestLongFunctionsAreFound(t *testing.T) {
	s := parse(t, "load/a.go", "package load\nfunc f() {\n"+strings.Repeat("\tf()\n", maxFunction)+"}\n")
	if got := longOnes(s); len(got) != 1 {
		t.Errorf("found %q, want one", got)
	}
}

// Exceptions for files and functions that no longer need them must be removed.
func TestExceptionsAreUsed(t *testing.T) {
	needed := map[string]bool{}
	for _, s := range sources(t) {
		needed[s.name] = strings.Count(s.text, "\n") > maxFile
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && functionLines(s, f) > maxFunction {
				needed[s.name+" "+f.Name.Name] = true
			}
		}
	}
	for _, exceptions := range []map[string]string{longFunctions, longFiles} {
		for key := range exceptions {
			if !needed[key] {
				t.Errorf("the exception for %q is no longer needed: remove it", key)
			}
		}
	}
}

// skips lists tests that skip themselves. A skipped test looks like a passed one, so a test that cannot run is not
// registered, with a message.
func skips(s source) []string {
	var found []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
			if x, ok := sel.X.(*ast.Ident); ok && slices.Contains([]string{"t", "b", "f", "tb"}, x.Name) {
				found = append(found, s.at(sel.Pos()))
			}
		}
		return true
	})
	return found
}

func TestNoSkips(t *testing.T) {
	for _, s := range sources(t) {
		for _, at := range skips(s) {
			t.Errorf("%s: a test skips itself: do not register it where it cannot run, and print a message", at)
		}
	}
}

// machineCalls say something about the machine of a test.
var machineCalls = []string{"Getuid", "Geteuid", "Getenv", "LookupEnv", "LookPath", "GOOS", "GOARCH", "NumCPU", "GOMAXPROCS", "Short"}

// silent lists where a test returns early because of the machine and does not say so with internal/notrun.
func silent(s source) (found []string) {
	for _, d := range s.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && s.isTest() && mentions(f.Type.Params, "T", "TB", "B", "F") {
			found = append(found, silentIn(s, f.Body)...)
		}
	}
	return found
}

func silentIn(s source, body ast.Node) (found []string) {
	ast.Inspect(body, func(n ast.Node) bool {
		branch, ok := n.(*ast.IfStmt)
		if !ok || !mentions(branch.Cond, machineCalls...) && (branch.Init == nil || !mentions(branch.Init, machineCalls...)) {
			return true
		}
		if c, ok := branch.Cond.(*ast.BinaryExpr); ok && c.Op == token.NEQ && mentions(c.X, "Getenv") {
			return true // the test is the child of another one
		}
		last := len(branch.Body.List) - 1
		if last < 0 {
			return true
		}
		if r, ok := branch.Body.List[last].(*ast.ReturnStmt); ok && len(r.Results) == 0 &&
			!mentions(branch.Body, "Here", "Fatal", "Fatalf", "Error", "Errorf") {
			found = append(found, s.at(branch.Pos()))
		}
		return true
	})
	return found
}

// mentions reports whether one of some names is selected in a part of a program.
func mentions(n ast.Node, names ...string) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		found = found || ok && slices.Contains(names, sel.Sel.Name)
		return !found
	})
	return found
}

func TestEarlyReturnsAreSaid(t *testing.T) {
	for _, s := range sources(t) {
		for _, at := range silent(s) {
			t.Errorf("%s: a test returns early because of the machine: say so with notrun.Here", at)
		}
	}
	if got := silent(parse(t, "x_test.go", "package x\nfunc TestX(t *testing.T) {\n\tif os.Getuid() != 0 {\n\t\treturn\n\t}\n}\n")); len(got) != 1 {
		t.Errorf("a silent return is not found: %q", got)
	}
}

// leftNote matches notes about postponed work. The pattern is split so that it does not match itself.
var leftNote = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX|HA` + `CK)\b`)

func TestNoLeftNotes(t *testing.T) {
	for _, s := range sources(t) {
		for i, line := range strings.Split(s.text, "\n") {
			if leftNote.MatchString(line) {
				t.Errorf("%s:%d: note about postponed work: do it, or open an issue", s.name, i+1)
			}
		}
	}
}
