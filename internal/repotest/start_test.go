package repotest

import (
	"bytes"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The linker leaves out exported methods that nothing calls, unless any code of the program, of libraries too, looks up
// methods by names that it computes: it marks such a function in the list of what needs what.
func TestLinkerLeavesMethodsOut(t *testing.T) {
	program := filepath.Join(t.TempDir(), "plimsoll")
	if all := computesMethods(t, "../..", program, "./cmd/plimsoll"); all != nil {
		t.Errorf("the linker keeps all exported methods, a fifth of the program, because of:\n%s", strings.Join(all, "\n"))
	}
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" && info.Size() > mostBytes {
		t.Errorf("the program has %d bytes, more than %d. Find what is new with: go tool nm -size -sort size", info.Size(),
			mostBytes)
	}
	// The mark is still what it was.
	small := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module small\n\ngo 1.26\n", "main.go": `package main

import (
	"os"
	"reflect"
)

func main() { reflect.ValueOf(os.Stdout).MethodByName(os.Args[1]).Call(nil) }
`} {
		if err := os.WriteFile(filepath.Join(small, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if computesMethods(t, small, filepath.Join(small, "small"), ".") == nil {
		t.Error("the linker does not mark a program that computes the name of a method, so this test proves nothing")
	}
}

// mostBytes is how long the program may be that people install on linux/amd64, without symbols.
const mostBytes = 75_000_000

// computesMethods links a program without symbols, and returns what in it needs the linker's mark.
func computesMethods(t *testing.T, dir, out, pkg string) (marked []string) {
	t.Helper()
	// The list is long, and go build repeats what the linker said whenever package main is the same. A flag that only
	// changes how many errors the compiler lists makes it another one.
	cmd := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-gcflags=-e", "-ldflags=-s -w -dumpdep", "-o", out, pkg)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said[:min(len(said), 2000)])
	}
	if !bytes.Contains(said, []byte("main.main")) {
		t.Fatal("the linker did not list what needs what")
	}
	for line := range strings.Lines(string(said)) {
		if strings.Contains(line, "<ReflectMethod>") {
			marked = append(marked, strings.TrimSpace(line))
		}
	}
	return marked
}

// heavy are packages that would make the program much longer, or slower to start, and that it does not need.
var heavy = []string{"html/template", "net/rpc", "go/types", "google.golang.org/grpc", "k8s.io/client-go/kubernetes",
	"k8s.io/client-go/kubernetes/scheme", "github.com/vmware/govmomi/simulator",
	"github.com/google/gnostic-models/openapiv3", "github.com/chromedp/chromedp"}

func TestProgramIsLinkedWithoutHeavyPackages(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "./cmd/plimsoll")
	cmd.Dir = "../.."
	said, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for name := range strings.FieldsSeq(string(said)) {
		has[name] = true
	}
	if !has["github.com/cockroachdb/pebble/v2"] {
		t.Fatalf("go list names %d packages of the program, and not the storage engine", len(has))
	}
	for _, name := range heavy {
		if has[name] {
			t.Errorf("the program has %s. See why with: go mod why %[1]s", name)
		}
	}
}

// Every command would compile an expression that is a variable of a package.
func TestExpressionsAreCompiledWhenUsed(t *testing.T) {
	all := sources(t)
	by := shipped(all, "cmd/plimsoll")
	for _, s := range all {
		if _, ok := by[s.folder()]; !ok || s.isTest() {
			continue
		}
		for _, call := range compiledAtStart(s.file) {
			t.Errorf("%s: use expression.New, which compiles at the first use", s.at(call.Pos()))
		}
	}
	const two = "package spec\nvar a, b = regexp.MustCompile(`a`), func() any { return regexp.MustCompile(`b`) }\n"
	if len(compiledAtStart(parse(t, "spec/a.go", two).file)) != 1 {
		t.Error("the rule does not find a compiled variable, or takes a function for one")
	}
}

// compiledAtStart are the calls of package regexp that initialise variables of a package.
func compiledAtStart(f *ast.File) (calls []*ast.CallExpr) {
	for _, d := range f.Decls {
		if _, ok := d.(*ast.GenDecl); !ok {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if _, ok := n.(*ast.FuncLit); ok {
				return false
			}
			if call, ok := n.(*ast.CallExpr); ok {
				if f, ok := call.Fun.(*ast.SelectorExpr); ok {
					if p, ok := f.X.(*ast.Ident); ok && p.Name == "regexp" {
						calls = append(calls, call)
					}
				}
			}
			return true
		})
	}
	return calls
}
