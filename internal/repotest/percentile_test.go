package repotest

import (
	"go/ast"
	"go/token"
	"regexp"
	"testing"
)

var percentile = regexp.MustCompile(`(?i)^(\w*percentile|\w*quantile|p50|p9\d+)$`)

// isPercentile reports whether an expression is a percentile, possibly converted or scaled.
func isPercentile(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return isPercentile(e.X)
	case *ast.BinaryExpr:
		return (e.Op == token.MUL || e.Op == token.QUO) && (isPercentile(e.X) || isPercentile(e.Y))
	case *ast.CallExpr:
		if percentile.MatchString(calledName(e.Fun)) {
			return true
		}
		conversion := calledName(e.Fun) == "float64" || calledName(e.Fun) == "int64" || calledName(e.Fun) == "Duration"
		return conversion && len(e.Args) == 1 && isPercentile(e.Args[0])
	}
	return false
}

func calledName(fun ast.Expr) string {
	switch f := fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// percentileSums lists additions of percentiles, which are the start of an average. It finds only simple cases.
func percentileSums(s source) []string {
	var found []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.ADD_ASSIGN && isPercentile(n.Rhs[0]) {
				found = append(found, s.at(n.Pos()))
			}
		case *ast.BinaryExpr:
			if n.Op == token.ADD && (isPercentile(n.X) || isPercentile(n.Y)) {
				found = append(found, s.at(n.Pos()))
			}
		}
		return true
	})
	return found
}

func TestPercentilesAreNotAveraged(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		for _, at := range percentileSums(s) {
			t.Errorf("%s adds percentiles, but an average of percentiles has no meaning: merge the histograms and take the percentile", at)
		}
	}
}

func TestPercentileSumsAreFound(t *testing.T) {
	s := parse(t, "report/a.go", `package report
func f() {
	sum += h.Quantile(0.99)
	mean := (float64(a.Percentile(99)) + b) / 2
	text += format(h.Quantile(0.99))
	one := h.Quantile(0.5)
}`)
	if got := percentileSums(s); len(got) != 2 {
		t.Errorf("found %v, want two", got)
	}
}
