package repotest

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// onlyImplements matches a comment that states what the compiler can check. An assertion cannot become wrong:
// var _ Host = (*plainHost)(nil).
var onlyImplements = regexp.MustCompile(`^\w+ implements \[`)

// namedPackage matches packages that a comment names: "Package spec parses …", "see package disk/files".
var namedPackage = regexp.MustCompile(`\bPackage ([a-z0-9]+(?:/[a-z0-9]+)*)\b|\bpackage ([a-z0-9]+(?:/[a-z0-9]+)+)\b`)

// link matches [Name] and [Type.Method], and not [package.Name], which begins with a small letter before a point.
var link = regexp.MustCompile(`\[([A-Za-z_]\w*)\]|\[([A-Z]\w*)\.\w+\]`)

// folders are the folders with Go files and the packages that are imported, and their last elements.
func folders(all []source) map[string]bool {
	known := map[string]bool{}
	for _, s := range all {
		known[s.folder()], known[path.Base(s.folder())] = true, true
		for _, i := range s.file.Imports {
			imported := strings.Trim(i.Path.Value, `"`)
			known[imported], known[path.Base(imported)] = true, true
		}
	}
	return known
}

// declared are the top identifiers of each folder, as "folder Name".
func declared(all []source) map[string]bool {
	known := map[string]bool{}
	for _, s := range all {
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					known[s.folder()+" "+d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, sp := range d.Specs {
					switch sp := sp.(type) {
					case *ast.TypeSpec:
						known[s.folder()+" "+sp.Name.Name] = true
					case *ast.ValueSpec:
						for _, n := range sp.Names {
							known[s.folder()+" "+n.Name] = true
						}
					}
				}
			}
		}
	}
	return known
}

// badDoors lists what comments of a file name that does not exist: packages in all comments, and identifiers in the
// package comment. It also lists comments that only name an interface.
func badDoors(s source, folders, declared map[string]bool) []string {
	var found []string
	add := func(pos token.Pos, text string) { found = append(found, s.at(pos)+": "+text) }
	for _, c := range s.file.Comments {
		text := strings.ReplaceAll(c.Text(), "\n", " ")
		if onlyImplements.MatchString(text) {
			add(c.Pos(), `"`+onlyImplements.FindString(text)+`…" is checked by the compiler: write var _ Interface = (*Type)(nil), and keep only what that does not say`)
		}
		for _, m := range namedPackage.FindAllStringSubmatch(text, -1) {
			if name := m[1] + m[2]; !folders[name] {
				add(c.Pos(), "there is no package "+name)
			}
		}
	}
	if s.file.Doc == nil {
		return found
	}
	for _, m := range link.FindAllStringSubmatch(s.file.Doc.Text(), -1) {
		if name := m[1] + m[2]; !declared[s.folder()+" "+name] && !folders[name] {
			add(s.file.Doc.Pos(), "the package has no "+name)
		}
	}
	return found
}

// The comment of a package is its door: what it names has to be there.
func TestDoors(t *testing.T) {
	all := sources(t)
	folders, declared := folders(all), declared(all)
	for _, s := range all {
		if s.isTest() && s.room() == "internal" && s.folder() == "internal/repotest" {
			continue // its tests have bad examples
		}
		for _, bad := range badDoors(s, folders, declared) {
			t.Error(bad)
		}
	}
}

func TestBadDoorsAreFound(t *testing.T) {
	all := []source{
		parse(t, "load/a.go", "// Package load sends. Package store/wire knows how, [Run] runs, [Config.Rate] is a rate.\n"+
			"// It implements [closed] loops. Package testing is known.\npackage load\n\nimport _ \"testing\"\n\ntype Config struct{}\n\nfunc Run() {}\n\nfunc closed() {}\n"),
		parse(t, "store/wire/b.go", "package wire\n\n// Send implements the protocol of [Session].\nfunc Send() {}\n"),
		parse(t, "load/bad.go", "// Package load is by package run/capture, see [Gone].\npackage load\n\n// Package fault polls.\nvar x int\n\n"+
			"// Do implements [Session].\nfunc Do() {}\n\n// End implements [Session]: it closes.\nfunc End() {}\n"),
	}
	folders, declared := folders(all), declared(all)
	for _, s := range all[:2] {
		if got := badDoors(s, folders, declared); len(got) > 0 {
			t.Errorf("true comments are refused: %q", got)
		}
	}
	got := badDoors(all[2], folders, declared)
	for _, want := range []string{"no package run/capture", "has no Gone", "no package fault", "bad.go:7", "bad.go:10"} {
		if !slices.ContainsFunc(got, func(bad string) bool { return strings.Contains(bad, want) }) {
			t.Errorf("found %q, and not %q", got, want)
		}
	}
	if len(got) != 5 {
		t.Errorf("found %q, want 5", got)
	}
}
