package repotest

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A passage is a text that users read in one piece: the strings of an expression, a paragraph, a block of comments.
type passage struct {
	name   string // of the file
	text   string
	starts []pieceStart
}

// A pieceStart is the offset in a passage from which on its text comes from a line of the file.
type pieceStart struct{ offset, line int }

func (p *passage) add(text string, line int) {
	p.starts = append(p.starts, pieceStart{len(p.text), line})
	p.text += text
}

// line returns the line of the file that the text at an offset comes from.
func (p passage) line(offset int) int {
	i := slices.IndexFunc(p.starts, func(s pieceStart) bool { return s.offset > offset })
	if i < 0 {
		i = len(p.starts)
	}
	return p.starts[i-1].line
}

// passages returns everything in the repository that users read.
func passages(t *testing.T) []passage {
	t.Helper()
	var all []passage
	for _, s := range sources(t) {
		if !s.isTest() && !strings.HasSuffix(s.file.Name.Name, "test") && s.room() != "tools" {
			all = append(all, goPassages(s)...)
		}
	}
	for _, name := range files(t) {
		switch dir, ext := path.Dir(name), path.Ext(name); {
		case name == "README.md", name == "CHANGELOG.md", dir == "docs" && ext == ".md":
			all = append(all, markdownPassages(name, read(t, name))...)
		case ext == ".yaml" && (strings.HasPrefix(name, "examples/") || dir == "cmd/plimsoll"):
			all = append(all, commentPassages(name, read(t, name))...)
		case ext == ".tmpl", ext == ".js" && !strings.Contains(name, ".min."):
			all = append(all, linePassages(name, read(t, name))...)
		}
	}
	return all
}

// goPassages returns the strings of a file that contain a space. Strings that are joined by + are one passage, with "…"
// for what is not constant.
func goPassages(s source) []passage {
	var all []passage
	var visit func(ast.Node) bool
	var join func(*passage, ast.Expr)
	join = func(p *passage, e ast.Expr) {
		line := s.set.Position(e.Pos()).Line
		switch e := e.(type) {
		case *ast.BinaryExpr:
			join(p, e.X)
			join(p, e.Y)
		case *ast.BasicLit:
			text, err := strconv.Unquote(e.Value)
			if err != nil || e.Value[0] != '`' {
				p.add(text, line)
				return
			}
			for i, part := range strings.SplitAfter(text, "\n") {
				p.add(part, line+i)
			}
		default:
			p.add("…", line)
			ast.Inspect(e, visit)
		}
	}
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field: // without its tag
			if n.Type != nil {
				ast.Inspect(n.Type, visit)
			}
			return false
		case *ast.BinaryExpr:
			if n.Op != token.ADD {
				return true
			}
		case *ast.BasicLit:
			if n.Kind != token.STRING {
				return true
			}
		default:
			return true
		}
		p := passage{name: s.name}
		join(&p, n.(ast.Expr))
		if strings.Contains(p.text, " ") {
			all = append(all, p)
		}
		return false
	}
	ast.Inspect(s.file, visit)
	return all
}

// inlineCode is code in a paragraph: names of flags, files and keys stay what they are.
var inlineCode = regexp.MustCompile("`[^`]*`")

// markdownPassages returns the paragraphs of a page, and the lines of its code blocks one by one.
func markdownPassages(name, text string) []passage {
	var all []passage
	p := passage{name: name}
	end := func() {
		if p.text != "" {
			all = append(all, p)
		}
		p = passage{name: name}
	}
	code := false
	for i, line := range strings.Split(text, "\n") {
		start := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(start, "```"):
			code = !code
			end()
		case start == "":
			end()
		case code || strings.HasPrefix(start, "|") || strings.HasPrefix(start, "#"):
			end()
			p.add(line, i+1)
			end()
		default:
			if strings.HasPrefix(start, "- ") || strings.HasPrefix(start, "* ") {
				end()
			}
			p.add(line+"\n", i+1)
		}
	}
	end()
	for i := range all {
		all[i].hideCode()
	}
	return all
}

// hideCode replaces inline code by as many dots, so that offsets stay.
func (p *passage) hideCode() {
	p.text = inlineCode.ReplaceAllStringFunc(p.text, func(code string) string {
		return strings.Repeat(".", len(code))
	})
}

// commentPassages returns the comments of a YAML file, blocks of lines joined.
func commentPassages(name, text string) []passage {
	var all []passage
	p := passage{name: name}
	for i, line := range strings.Split(text+"\n", "\n") {
		before, comment, found := strings.Cut(line, "#")
		if p.text != "" && (!found || strings.TrimSpace(before) != "" || strings.TrimSpace(comment) == "") {
			all, p = append(all, p), passage{name: name}
		}
		if found {
			p.add(strings.TrimSpace(comment)+"\n", i+1)
		}
	}
	return all
}

// linePassages returns the lines of a file.
func linePassages(name, text string) []passage {
	var all []passage
	for i, line := range strings.Split(text, "\n") {
		if strings.Contains(strings.TrimSpace(line), " ") {
			all = append(all, passage{name: name, text: line, starts: []pieceStart{{0, i + 1}}})
		}
	}
	return all
}
