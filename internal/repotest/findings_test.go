package repotest

import (
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// shortsFile has the short forms of findings.
const shortsFile = "report/short.go"

// made is a finding as the code makes it.
type made struct{ severity, text string }

// madeFindings finds the severities and texts of findings: calls that have an ID and a text, and values of
// [measure.Finding].
func madeFindings(all []source, known func(string) bool) map[string][]made {
	by := map[string][]made{}
	for _, s := range all {
		if s.isTest() || slices.Contains([]string{"report", "liars", "internal", "bench"}, s.room()) {
			continue
		}
		add := func(id string, parts []ast.Expr) {
			m := madeOf(parts)
			if !known(id) || m == (made{}) || slices.Contains(by[id], m) {
				return
			}
			by[id] = append(by[id], m)
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if len(n.Args) > 1 {
					add(constant(n.Args[0]), n.Args[1:])
				}
			case *ast.CompositeLit:
				var id string
				var parts []ast.Expr
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						if key, _ := kv.Key.(*ast.Ident); key != nil && key.Name == "ID" {
							id = constant(kv.Value)
						} else {
							parts = append(parts, kv.Value)
						}
					}
				}
				add(id, parts)
			}
			return true
		})
	}
	return by
}

// constant is the text that an expression begins with.
func constant(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.BinaryExpr:
		return constant(e.X)
	}
	return ""
}

// verb is a place of a format that gets a value.
var verb = regexp.MustCompile(`%[-+# 0-9.\[\]]*[a-zA-Z]`)

// madeOf finds the severity, and the first text of several words, in arguments.
func madeOf(parts []ast.Expr) (m made) {
	for _, e := range parts {
		ast.Inspect(e, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && m.severity == "" && slices.Contains([]string{"Invalid", "Warning", "Note"}, id.Name) {
				m.severity = strings.ToLower(id.Name)
			}
			return true
		})
		if m.text != "" {
			continue
		}
		value := &ast.GenDecl{Tok: token.VAR, Specs: []ast.Spec{&ast.ValueSpec{Values: []ast.Expr{e}}}}
		file := &ast.File{Name: ast.NewIdent("x"), Decls: []ast.Decl{value}}
		for _, p := range goPassages(source{set: token.NewFileSet(), file: file}) {
			if strings.Count(p.text, " ") > 2 && m.text == "" {
				m.text = strings.ReplaceAll(verb.ReplaceAllString(p.text, "…"), "%%", "%")
			}
		}
	}
	return m
}

// group is a comment in the table of short forms, and the findings below it.
type group struct {
	title string
	ids   [][2]string
}

// shortForms are the short forms of findings, in their groups.
func shortForms(t *testing.T) (groups []group) {
	t.Helper()
	for line := range strings.Lines(read(t, shortsFile)) {
		if title, ok := strings.CutPrefix(line, "\t// "); ok {
			groups = append(groups, group{title: strings.TrimSpace(title)})
		}
		if m := shortForm.FindStringSubmatch(line); m != nil && len(groups) > 0 {
			g := &groups[len(groups)-1]
			g.ids = append(g.ids, [2]string{m[1], m[2]})
		}
	}
	return groups
}

var shortForm = regexp.MustCompile(`^\t"([a-z-]+)": +"([^"]*)"`)

var updateFindings = flag.Bool("findings", false, "write docs/reference/findings.md anew")

// The reference has every finding with what results say: run the test with -findings to write it anew.
func TestReferenceOfFindings(t *testing.T) {
	groups := shortForms(t)
	known := map[string]bool{}
	for _, g := range groups {
		for _, s := range g.ids {
			known[s[0]] = true
		}
	}
	by := madeFindings(sources(t), func(id string) bool { return known[id] })
	if len(known) < 150 || len(by) < len(known)*3/4 {
		t.Errorf("only %d findings, and %d with texts, were found: correct this test", len(known), len(by))
	}
	var b strings.Builder
	b.WriteString("# Findings\n\nEvery reason to doubt a result. *Invalid*: do not use the result. *Warning*: usable with a doubt. " +
		"*Note*: information.\nThe third column is what the result says, with … for its figures. An ID that ends with a hyphen " +
		"continues with a\nname.\n")
	for _, g := range groups {
		fmt.Fprintf(&b, "\n## %s\n\n| finding | in short | severity and text |\n|---|---|---|\n", strings.ToUpper(g.title[:1])+g.title[1:])
		for _, s := range g.ids {
			var texts []string
			for _, m := range by[s[0]] {
				texts = append(texts, strings.TrimSpace(strings.TrimPrefix(strings.TrimSuffix(m.severity+": "+m.text, ": "), ": ")))
			}
			cell := strings.NewReplacer("|", "\\|", "<", "&lt;", "\n", " ")
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s[0], cell.Replace(strings.ReplaceAll(s[1], "%s", "…")), cell.Replace(strings.Join(texts, " / ")))
		}
	}
	const name = "docs/reference/findings.md"
	if *updateFindings {
		if err := os.WriteFile(filepath.Join(top, name), []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have := read(t, name); have != b.String() {
		t.Errorf("%s does not have the findings of the code. Write it with: make reference", name)
	}
}

// anyFinding matches the ID of a finding in every room that makes some. An ID that ends with a hyphen is the beginning
// of several.
var anyFinding = regexp.MustCompile(`(?:[fF]inding\(|\.find\(|Finding\{\{?ID: |\bfind\(|\badd\(|\.doubt\(|\bnote\(|warn\()"([a-z][a-z-]{2,})", ?` +
	`(?:measure\.|Severity|severity|Invalid|Warning|Note|sev\b|graded|c\.ofClient|kept)|\bID: "([a-z-]{3,})", Severity`)

// The first screen of a result has each finding in a few words.
func TestFindingsHaveAShortForm(t *testing.T) {
	shorts := read(t, shortsFile)
	found := map[string]bool{}
	for _, name := range files(t) {
		room := strings.Split(filepath.ToSlash(name), "/")[0]
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || slices.Contains([]string{"report", "liars", "internal"}, room) {
			continue
		}
		for _, m := range anyFinding.FindAllStringSubmatch(read(t, name), -1) {
			id := m[1] + m[2]
			found[id] = true
			if !strings.Contains(shorts, `"`+id+`":`) {
				t.Errorf("%s: the finding %q has no short form: add it to report/short.go", name, id)
			}
		}
	}
	if len(found) < 120 {
		t.Errorf("only %d findings were found: correct the pattern of this test", len(found))
	}
	for _, m := range regexp.MustCompile(`\n\t"([a-z-]+)": +"([^"]*)"`).FindAllStringSubmatch(shorts, -1) {
		if n := utf8.RuneCountInString(m[2]); n > 66 {
			t.Errorf("the short form of %s has %d characters, 66 at most", m[1], n)
		}
	}
}
