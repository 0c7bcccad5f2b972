package browser

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/internal/browsertest"
	"github.com/plimsoll-bench/plimsoll/internal/notrun"
)

const siteIn = "../../bin/site/html"

// outside matches what a page loads from elsewhere. Links that a person follows are allowed.
var outside = regexp.MustCompile(`<(?:script|img|iframe|source)[^>]* src="(?:https?:)?//|<link[^>]* rel="(?:stylesheet|preload|icon)"[^>]* href="(?:https?:)?//`)

// TestSite reads the site that `make site` made without a server: it loads nothing from elsewhere, its search finds
// pages and man pages, and its reports open.
func TestSite(t *testing.T) {
	if !exists(filepath.Join(siteIn, "README.html")) {
		if os.Getenv("CI") != "" {
			t.Fatal("make site has not made the site")
		}
		notrun.Here(t, "the site of the documentation: run make site")
		return
	}
	pages, reports := 0, 0
	err := filepath.WalkDir(siteIn, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".html" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		pages++
		if filepath.Base(filepath.Dir(path)) == "reports" {
			reports++
		}
		if found := outside.Find(text); found != nil {
			t.Errorf("%s loads something from elsewhere: %s", path, found)
		}
		return nil
	})
	if err != nil || pages < 100 || reports < 2 {
		t.Fatalf("the site has %d pages and %d reports: %v", pages, reports, err)
	}
	b, ok := browsertest.Shared(t)
	if !ok {
		return
	}
	top, err := filepath.Abs(siteIn)
	if err != nil {
		t.Fatal(err)
	}
	p := b.Page(t)
	for query, page := range map[string]string{"loss window": "docs/drill.html", "max-staleness-of-nothing": "",
		"engine install": "man/plimsoll-engine-install.html", "client-scheduler": "docs/reference/findings.html"} {
		p.Open("file://" + top + "/search.html?q=" + strings.ReplaceAll(query, " ", "+"))
		p.Wait(`/finished searching|did not match|found \d+ page/i.test(document.querySelector("#search-results")?.innerText ?? "")`)
		var links string
		p.Eval(`[...document.querySelectorAll("#search-results a")].map(a => a.getAttribute("href")).join(" ")`, &links)
		if page == "" && links != "" || !strings.Contains(links, page) {
			t.Errorf("%q finds %q, want %q", query, links, page)
		}
	}
	p.Open("file://" + top + "/reports/drill.html")
	if text := p.Text(`document.body.innerText`); !strings.Contains(text, "holds") {
		t.Errorf("the report says\n%s", text)
	}
	for _, request := range p.Requests() {
		if !strings.HasPrefix(request, "file:") && !strings.HasPrefix(request, "data:") {
			t.Errorf("a page requests %s", request)
		}
	}
}
