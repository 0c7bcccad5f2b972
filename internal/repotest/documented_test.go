package repotest

import (
	"go/ast"
	"go/token"
	"path"
	"strings"
	"testing"
)

// usedElsewhere returns the identifiers that packages use of each other, as "folder Name".
func usedElsewhere(all []source) map[string]bool {
	packages := map[string]string{} // by folder
	for _, s := range all {
		if !s.isTest() {
			packages[s.folder()] = s.file.Name.Name
		}
	}
	used := map[string]bool{}
	for _, s := range all {
		folders := map[string]string{} // by the local name of the package
		for _, i := range s.file.Imports {
			folder, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module)
			if !ours {
				continue
			}
			name := packages[folder]
			if name == "" {
				name = path.Base(folder)
			}
			if i.Name != nil {
				name = i.Name.Name
			}
			folders[name] = folder
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if pkg, ok := sel.X.(*ast.Ident); ok && folders[pkg.Name] != "" {
					used[folders[pkg.Name]+" "+sel.Sel.Name] = true
				}
			}
			return true
		})
	}
	return used
}

// undocumented lists the functions and types of a file that other packages use and that have no comment, except
// functions of one line.
func undocumented(s source, used map[string]bool) []string {
	var found []string
	report := func(name *ast.Ident) {
		if used[s.folder()+" "+name.Name] {
			found = append(found, s.at(name.Pos())+": "+name.Name)
		}
	}
	for _, d := range s.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			oneLine := d.Body != nil && s.set.Position(d.Body.Pos()).Line == s.set.Position(d.Body.End()).Line
			if d.Recv == nil && d.Doc == nil && !oneLine {
				report(d.Name)
			}
		case *ast.GenDecl:
			if d.Tok != token.TYPE || d.Doc != nil {
				continue
			}
			for _, sp := range d.Specs {
				if t := sp.(*ast.TypeSpec); t.Doc == nil && t.Comment == nil {
					report(t.Name)
				}
			}
		}
	}
	return found
}

func TestDocumented(t *testing.T) {
	all := sources(t)
	used := usedElsewhere(all)
	if len(used) < 1000 {
		t.Fatalf("only %d uses were found: the rule does not see the repository", len(used))
	}
	for _, s := range all {
		if s.isTest() {
			continue
		}
		for _, name := range undocumented(s, used) {
			t.Errorf("%s is used by other packages: add a comment that describes it", name)
		}
	}
}

func TestUndocumentedIsFound(t *testing.T) {
	a := parse(t, "load/a.go", "package load\n\nfunc F() {\n}\n\nfunc G() { F() }\n\n// H says so.\nfunc H() {\n}\n\nfunc I() {\n}\n\ntype T int\n")
	b := parse(t, "run/b.go", "package run\n\nimport l \""+module+"load\"\n\nvar _ = []any{l.F, l.G, l.H, l.T(0)}\n")
	if got := undocumented(a, usedElsewhere([]source{a, b})); len(got) != 2 {
		t.Errorf("found %q, want F and T", got)
	}
}
