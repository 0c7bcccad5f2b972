package measure

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The mean of percentiles is not the percentile of anything, so nothing in this repository may add
// percentiles up. This test knows the usual ways of writing it; it is a reminder, not a proof.
func TestNobodyAveragesPercentiles(t *testing.T) {
	quantile := regexp.MustCompile(`(?i)^(quantile|percentile|p(50|90|95|99|999|9999)|schedp99|latenessp99)(ns)?$`)
	root := os.DirFS("..")
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		src, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(files, path, src, parser.SkipObjectResolution)
		if err != nil {
			return nil // the compiler complains about it
		}
		ast.Inspect(file, func(n ast.Node) bool {
			for _, e := range summands(n) {
				if name := lastName(e); quantile.MatchString(name) {
					t.Errorf("%s: %s is added up or divided; merge histograms and take the percentile of the result",
						files.Position(n.Pos()), name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// summands returns the operands of additions, and of divisions by a count.
func summands(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok == token.ADD_ASSIGN {
			return append(n.Lhs, n.Rhs...)
		}
	case *ast.BinaryExpr:
		if n.Op == token.ADD {
			return []ast.Expr{n.X, n.Y}
		}
	}
	return nil
}

// lastName is the name of the function called or of the field selected, behind conversions.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.StarExpr:
		return lastName(e.X)
	case *ast.ParenExpr:
		return lastName(e.X)
	case *ast.CallExpr:
		if name := lastName(e.Fun); len(e.Args) == 1 && regexp.MustCompile(`^(float64|int64|Duration)$`).MatchString(name) {
			return lastName(e.Args[0])
		} else {
			return name
		}
	}
	return ""
}

func TestTheRuleFindsAnAverage(t *testing.T) {
	for src, want := range map[string]bool{
		"sum += float64(h.Quantile(0.99))": true,
		"sum = sum + *l.P99":               true,
		"sum += h.Count()":                 false,
	} {
		e, err := parser.ParseFile(token.NewFileSet(), filepath.Join("x.go"), "package x\nfunc f() { "+src+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		ast.Inspect(e, func(n ast.Node) bool {
			for _, s := range summands(n) {
				found = found || lastName(s) == "Quantile" || lastName(s) == "P99"
			}
			return true
		})
		if found != want {
			t.Errorf("%s: found %v", src, found)
		}
	}
}
