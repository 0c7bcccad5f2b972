package repotest

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// top is the root of the repository, relative to this package.
const top = "../.."

// module is the common prefix of import paths.
const module = "github.com/plimsoll-bench/plimsoll/"

type source struct {
	name string // relative to the root, with slashes
	text string
	set  *token.FileSet
	file *ast.File
}

func (s source) isTest() bool   { return strings.HasSuffix(s.name, "_test.go") }
func (s source) folder() string { return path.Dir(s.name) }

// room is the first folder, for example "store" for store/wire/conn.go.
func (s source) room() string {
	room, _, _ := strings.Cut(s.name, "/")
	return room
}

func (s source) at(pos token.Pos) string {
	p := s.set.Position(pos)
	return s.name + ":" + strconv.Itoa(p.Line)
}

// parse makes a source from text; its name selects the rules.
func parse(t *testing.T, name, text string) source {
	t.Helper()
	s, err := parseSource(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parseSource(name, text string) (source, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	return source{name: name, text: text, set: set, file: file}, err
}

func sources(t *testing.T) []source {
	t.Helper()
	all, err := allSources()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("only %d Go files were found: the rules do not see the repository", len(all))
	}
	return all
}

// allSources parses the repository once for all tests.
var allSources = sync.OnceValues(func() ([]source, error) {
	names, err := walk()
	if err != nil {
		return nil, err
	}
	var all []source
	for _, name := range names {
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		s, err := parseSource(name, string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
})

func files(t *testing.T) []string {
	t.Helper()
	names, err := walk()
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// walk lists the files of the repository, without build results and test data. It asks git, because other processes may
// write files into the directory; without git it lists all files.
func walk() ([]string, error) {
	out, err := exec.Command("git", "-C", top, "ls-files", "-z", "--cached").Output()
	if err != nil {
		return walkAll()
	}
	var names []string
	for _, rel := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if notOurs(rel) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(top, filepath.FromSlash(rel))); err == nil { // still exists
			names = append(names, rel)
		}
	}
	return names, nil
}

func notOurs(rel string) bool {
	parts := strings.Split(rel, "/")
	return slices.Contains([]string{".git", "bin", "man"}, parts[0]) || slices.Contains(parts[:len(parts)-1], "testdata")
}

func walkAll() ([]string, error) {
	var names []string
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed since
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case d.IsDir() && notOurs(rel+"/"):
			return fs.SkipDir
		case !d.IsDir():
			names = append(names, rel)
		}
		return nil
	})
	return names, err
}

// Both ways to list files give the same result in a clean directory.
func TestWalks(t *testing.T) {
	known, err := walk()
	if err != nil {
		t.Fatal(err)
	}
	all, err := walkAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range known {
		if !slices.Contains(all, name) {
			t.Errorf("git lists %s, and walkAll does not", name)
		}
	}
	if len(known) < 500 {
		t.Errorf("only %d files were found", len(known))
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
