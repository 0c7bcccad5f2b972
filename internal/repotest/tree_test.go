package repotest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// top is the root of the repository, seen from this package.
const top = "../.."

// module is the path that all packages of the repository start with.
const module = "github.com/plimsoll-bench/plimsoll/"

// source is one Go file.
type source struct {
	name string // relative to the root, with slashes
	text string
	set  *token.FileSet
	file *ast.File
}

func (s source) isTest() bool   { return strings.HasSuffix(s.name, "_test.go") }
func (s source) folder() string { return path.Dir(s.name) }

// room is the first folder: "store" for store/wire/conn.go.
func (s source) room() string {
	room, _, _ := strings.Cut(s.name, "/")
	return room
}

// at says where something is, for a failure's text.
func (s source) at(pos token.Pos) string {
	p := s.set.Position(pos)
	return s.name + ":" + strconv.Itoa(p.Line)
}

// parse makes a source out of text; the name decides which rules apply to it.
func parse(t *testing.T, name, text string) source {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return source{name: name, text: text, set: set, file: file}
}

// sources reads all Go files of the repository.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	for _, name := range files(t) {
		if strings.HasSuffix(name, ".go") {
			all = append(all, parse(t, name, read(t, name)))
		}
	}
	if len(all) < 50 {
		t.Fatalf("only %d Go files were found: the rules are not looking at the repository", len(all))
	}
	return all
}

// files lists the files that belong to the repository: no results of builds, no test data.
func files(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if slices.Contains([]string{".git", "bin", "man"}, rel) || d.Name() == "testdata" {
				return fs.SkipDir
			}
			return nil
		}
		names = append(names, rel)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
