package repotest

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"`)
	headingLine  = regexp.MustCompile(`(?m)^#{1,6} +(.*?)\s*$`)
	codeBlock    = regexp.MustCompile("(?s)```.*?```")
)

// anchors are the places of a page that links may name: its headings, as forges and the site write them.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for _, m := range headingLine.FindAllStringSubmatch(codeBlock.ReplaceAllString(page, ""), -1) {
		found[slug(m[1])] = true
	}
	return found
}

func slug(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}

// brokenLinks are the links of a page to what is not there. read returns another page.
func brokenLinks(name, text string, exists func(string) bool, read func(string) string) (broken []string) {
	text = inlineCode.ReplaceAllString(codeBlock.ReplaceAllString(text, ""), "")
	for _, m := range markdownLink.FindAllStringSubmatch(text, -1) {
		link := m[1] + m[2]
		if strings.Contains(link, ":") {
			continue // an address
		}
		file, anchor, _ := strings.Cut(link, "#")
		target := name
		if file != "" {
			target = path.Join(path.Dir(name), file)
		}
		if !exists(target) || anchor != "" && path.Ext(target) == ".md" && !anchors(read(target))[anchor] {
			broken = append(broken, link)
		}
	}
	return broken
}

// Pages link to files and headings that are there.
func TestLinks(t *testing.T) {
	pages := 0
	for _, name := range files(t) {
		if path.Ext(name) != ".md" || strings.Contains(name, "testdata/") {
			continue
		}
		pages++
		exists := func(target string) bool {
			_, err := os.Stat(filepath.Join(top, filepath.FromSlash(target)))
			return err == nil
		}
		for _, link := range brokenLinks(name, read(t, name), exists, func(other string) string { return read(t, other) }) {
			t.Errorf("%s links to %s, which is not there", name, link)
		}
	}
	if pages < 30 {
		t.Errorf("only %d pages were found", pages)
	}
}

func TestBrokenLinksAreFound(t *testing.T) {
	pages := map[string]string{"docs/a.md": "# A title: its `code`\n\n```\n# no heading\n```\n[a](b.md) [b](b.md#b) [c](#a-title-its-code) [d](c.md) [e](b.md#no) " +
		"[f](#no-heading) [g](https://example.com/x) `[h](no.md)` <img src=\"no.png\">", "docs/b.md": "## B"}
	exists := func(name string) bool { return pages[name] != "" }
	got := strings.Join(brokenLinks("docs/a.md", pages["docs/a.md"], exists, func(name string) string { return pages[name] }), " ")
	if want := "c.md b.md#no #no-heading no.png"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
