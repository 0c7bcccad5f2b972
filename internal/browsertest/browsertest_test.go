package browsertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

func pageFile(t *testing.T, html string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(html), 0o644); err != nil {
		t.Fatal(err)
	}
	return "file://" + path
}

// Without this test, a check that finds no faults at all would accept every page.
func TestFindsWhatIsWrong(t *testing.T) {
	b, ok := Shared(t)
	if !ok {
		return
	}
	p := b.Page(t)
	p.Open(pageFile(t, `<!doctype html><title>x</title><p style="color:#ccc">pale<button></button>
		<img src="http://127.0.0.1:9/picture"><script>console.error("bad"); throw new Error("worse")</script>`))
	p.Wait(`document.readyState === "complete"`)
	if got := p.Requests(); len(got) != 2 || got[1] != "http://127.0.0.1:9/picture" {
		t.Errorf("requests %q, want the page and the picture", got)
	}
	all := strings.Join(p.Problems(), "\n")
	for _, want := range []string{"bad", "worse"} {
		if !strings.Contains(all, want) {
			t.Errorf("the problems do not have %q:\n%s", want, all)
		}
	}
	if got := p.Contrast(); len(got) != 1 || got[0].ID != "color-contrast" {
		t.Errorf("faults of colours %v", got)
	}
	var ids []string
	for _, f := range p.Faults() {
		ids = append(ids, f.ID)
	}
	for _, want := range []string{"button-name", "color-contrast", "html-has-lang", "image-alt"} {
		if !strings.Contains(strings.Join(ids, " "), want) {
			t.Errorf("faults %q, want also %s", ids, want)
		}
	}
}

// A browser of its own ends with its test; pages of the shared one have no cookies in common.
func TestStartsAndShares(t *testing.T) {
	t.Run("own", func(t *testing.T) {
		if b, ok := Start(t); ok {
			b.Page(t).Open(pageFile(t, "<!doctype html><title>x</title>"))
		}
	})
	b, ok := Shared(t)
	if !ok {
		return
	}
	if again, _ := Shared(t); again != b {
		t.Error("a second browser is shared")
	}
}

func TestMouseKeysAndMedia(t *testing.T) {
	b, ok := Shared(t)
	if !ok {
		return
	}
	p := b.Page(t)
	b.Page(t) // another tab is in front
	p.Size(390, 800, true)
	p.Media("screen", "dark")
	p.Open(pageFile(t, `<!doctype html><html lang=en><meta name=viewport content="width=device-width"><title>x</title>
		<div id=a>drag</div><input id=i aria-label=i><script>
		window.seen = []; for (const k of ["mousedown", "mouseup", "click"]) document.getElementById("a").addEventListener(k, e => seen.push(k));
		document.getElementById("i").focus()</script>`))
	p.Drag("#a", 0.2, 0.8)
	p.Click("#i")
	p.Keys("abc")
	if got := p.Text(`seen.join() + " " + document.getElementById("i").value + " " + innerWidth + " " +
		matchMedia("(prefers-color-scheme: dark)").matches`); got != "mousedown,mouseup,click abc 390 true" {
		t.Errorf("got %q", got)
	}
}
