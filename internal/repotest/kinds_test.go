package repotest

import (
	"fmt"
	"go/ast"
	"regexp"
	"testing"
)

// kindless are the places that show records of all kinds and name none of them: what differs between kinds is in the
// file of a kind in package report, and a new kind must not change these places.
var kindless = regexp.MustCompile(`^(report/html/|serve/|cmd/plimsoll/(show|document|forms|report)\.go$)`)

// follows are places that know a kind, and why.
var follows = map[string]string{
	"serve/now.go":     "the newest interval is that of a run",
	"serve/metrics.go": "the counters for Prometheus are those of runs",
}

// kindName matches the types and constants of a kind of record.
var kindName = regexp.MustCompile(
	`^((Open|Create|Read)?(Run|Study|Drill|Probe|Suite|Capacity|Comparison(Report)?)(File)?|Kind[A-HJ-NP-Z]\w*)$`)

// kindsNamed lists where a file names a kind of record.
func kindsNamed(s source) (found []string) {
	if !kindless.MatchString(s.name) || s.isTest() || follows[s.name] != "" {
		return nil
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "record" && kindName.MatchString(sel.Sel.Name) {
			found = append(found, fmt.Sprintf("%s: record.%s", s.at(sel.Pos()), sel.Sel.Name))
		}
		return true
	})
	return found
}

func TestNoKindsOutsideOfTheTable(t *testing.T) {
	for _, s := range sources(t) {
		for _, place := range kindsNamed(s) {
			t.Errorf("%s: this code shows records of all kinds; put what differs into the kind's file in report and its row "+
				"(report/kinds.go)", place)
		}
	}
}

func TestKindsAreFound(t *testing.T) {
	for name, want := range map[string]int{"serve/a.go": 3, "report/html/a.go": 3, "cmd/plimsoll/show.go": 3,
		"cmd/plimsoll/run.go": 0, "serve/now.go": 0, "serve/a_test.go": 0, "report/run.go": 0} {
		s := parse(t, name, `package a
import "`+module+`record"
var r record.Result
func f() { switch r.(type) { case *record.Run: }; _ = record.KindStudy; _ = record.OpenDrill; _ = record.KindOf; _ = record.KindIn }
`)
		if got := kindsNamed(s); len(got) != want {
			t.Errorf("%s: %v, want %d", name, got, want)
		}
	}
}
