package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/browsertest"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
	"github.com/plimsoll-bench/plimsoll/study/judge"
)

// hostile is a name that causes damage if it is not escaped.
var hostile = `</script><script>window.harmed=1</script><img src=x onerror="window.harmed=1"><svg onload=alert(1)>` +
	"\x1b[31m\u202e'\"`${window.harmed=1}" + `{{template "x"}} javascript:alert(1) ` + strings.Repeat("A", 1<<17)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

func write(t *testing.T, paths ...string) string {
	t.Helper()
	var sources []*report.Source
	for _, p := range paths {
		s, err := report.Open(p)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, s)
	}
	path := filepath.Join(t.TempDir(), "report.html")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	o := report.PageOptions{Tool: record.Tool{Name: "plimsoll", Version: "1.2.3"}, Compare: judged}
	if err := html.Write(f, sources, o); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// judged compares records like the command.
func judged(sides []report.Side) (*record.ComparisonReport, error) {
	sources := make([]judge.Source, len(sides))
	for i, side := range sides {
		s, err := judge.Open(side.Dir)
		if err != nil {
			return nil, err
		}
		s.Name, s.Label = side.Name, side.Name
		sources[i] = s
	}
	return judge.Compare(judge.Sides(sources, nil), judge.CompareOptions{})
}

// aRun is an open-loop run with a stall.
func aRun(t *testing.T, change func(*recordtest.Run)) (string, *record.Run) {
	t.Helper()
	o := recordtest.Run{
		Warmup: 5, Seconds: 40, Rate: 800, Open: true, Median: 2 * time.Millisecond, Seed: 11, StallAt: 20, Sampled: true,
		Validity: []measure.Finding{{ID: "outage", Severity: measure.Warning, Text: "for 1.04 s operations failed and none succeeded; look for what happened at 25 s"},
			{ID: "few-samples", Severity: measure.Note, Text: "there are too few values to state p99.99"}},
	}
	if change != nil {
		change(&o)
	}
	dir := filepath.Join(t.TempDir(), "my-record")
	r, err := o.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, r
}

func aStudy(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "my-study")
	if _, err := (recordtest.Study{Workers: []int{8, 16, 32, 64, 128}, Blocks: 5, Seed: 4,
		Name: name}).Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func aComparison(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "comparison.json")
	if _, err := recordtest.Comparison(path, name); err != nil {
		t.Fatal(err)
	}
	return path
}

func aDrill(t *testing.T, rounds int, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "drill")
	if _, err := (recordtest.Drill{Rounds: rounds, Lossy: (rounds + 1) / 2, Clients: 2,
		Name: name}).Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func aProbe(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "probe")
	if _, err := (recordtest.Probe{Name: name}).Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// kind is a page of a kind of record, with its lowest number of charts.
type kind struct {
	name  string
	paths func(*testing.T) []string
	svgs  int
}

func kinds() []kind {
	one := func(make func(*testing.T) string) func(*testing.T) []string {
		return func(t *testing.T) []string { return []string{make(t)} }
	}
	run := func(change func(*recordtest.Run)) func(*testing.T) string {
		return func(t *testing.T) string { dir, _ := aRun(t, change); return dir }
	}
	return []kind{
		{"run", one(run(nil)), 12},
		{"study", one(func(t *testing.T) string { return aStudy(t, "threads") }), 12},
		{"comparison", one(func(t *testing.T) string { return aComparison(t, "after") }), 8},
		{"several", func(t *testing.T) []string {
			return []string{run(nil)(t), run(func(o *recordtest.Run) { o.Rate, o.Seed = 1200, 12 })(t)}
		}, 24},
		{"drill", one(func(t *testing.T) string { return aDrill(t, 5, "rs0-1") }), 12},
		{"probe", one(func(t *testing.T) string { return aProbe(t, "/data") }), 12},
		{"lab", one(run(func(o *recordtest.Run) { o.OnLab = true })), 12},
		{"suite", one(func(t *testing.T) string { return aSuite(t, "") }), 8},
		{"hostile", hostileRecords, 40},
	}
}

// hostileRecords are records of all kinds with a hostile name in all texts. They are small, because their files are
// written and synced many times.
func hostileRecords(t *testing.T) []string {
	run, _ := aRun(t, func(o *recordtest.Run) {
		o.Name, o.OnLab, o.Warmup, o.Seconds, o.StallAt = hostile, true, 1, 8, 4
		o.Validity = append(o.Validity, measure.Finding{ID: "null", Severity: measure.Invalid, Text: hostile})
	})
	return []string{run, aSuite(t, hostile[:1<<15]), aStudy(t, hostile), aComparison(t, hostile), aDrill(t, 1, hostile),
		aProbe(t, hostile)}
}

func aSuite(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "suite")
	if _, err := (recordtest.Suite{Name: name}).Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestPages opens each kind of page in all ways: light and dark colours, on a phone, on paper, without scripts.
func TestPages(t *testing.T) {
	t.Parallel()
	b, ok := browsertest.Shared(t)
	if !ok {
		return
	}
	for _, c := range kinds() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := write(t, c.paths(t)...)
			p := b.Page(t)
			p.Size(1200, 800, false)
			p.Media("screen", "light")
			p.Open("file://" + path)
			p.Wait(`document.readyState === "complete"`)
			if c.name != "hostile" { // its findings fill the screen
				checkFirstScreen(t, p)
			}
			for _, look := range []struct {
				name          string
				width         int64
				phone         bool
				medium, shade string
			}{
				{"light", 1200, false, "screen", "light"}, {"dark", 1200, false, "screen", "dark"},
				{"phone", 390, true, "screen", "light"}, {"print", 760, false, "print", "dark"},
			} {
				p.Size(look.width, 800, look.phone)
				p.Media(look.medium, look.shade)
				checkLook(t, p, look.name, c.svgs)
				if c.name != "hostile" && c.name != "several" { // they consist of the others
					checkAccess(t, p, look.name)
				}
				picture(t, p, c.name+"-"+look.name)
			}
			checkPaper(t, p)
			checkHarmless(t, p, path)
			p.Media("screen", "light")
			checkWithoutScripts(t, p, path, c.svgs)
		})
	}
}

// checkFirstScreen checks that the answer of a page is visible without scrolling: verdict, main figures, losses or
// results, and findings. Of a list the first point is enough. A page that begins with a picture shows its beginning.
func checkFirstScreen(t *testing.T, p *browsertest.Page) {
	t.Helper()
	var below []string
	p.Eval(`(document.querySelector(".answer figure") ? [".verdict", ".answer figure .gh"] :
			[".verdict", ".tiles", ".badges", ".points li", ".facts dt"]).filter(s => {
		const e = document.querySelector(s.startsWith(".answer") ? s : ".answer " + s);
		return e ? e.getBoundingClientRect().bottom > innerHeight : !s.startsWith(".points"); })`, &below)
	if len(below) > 0 {
		t.Errorf("the first screen does not have %q", below)
	}
}

// checkPaper checks a printed page: no heading is alone, and folded parts are open.
func checkPaper(t *testing.T, p *browsertest.Page) {
	t.Helper()
	var alone []string
	p.Eval(`(() => {
		const shown = e => e.checkVisibility({contentVisibilityAuto: true}) && e.getBoundingClientRect().height > 0;
		const all = Array.from(document.querySelectorAll("main h2, main h3, main summary, main figure, main table, main p, main ul, main dl, main pre")).filter(shown);
		const rank = e => ({H2: 1, H3: 2, SUMMARY: 3})[e.tagName] || 9;
		const part = (e, next) => next && e.id && e.tagName === "H3" && next.tagName === "H3" && !next.id; // a section of a part, and its first heading
		return all.filter((e, i) => rank(e) < 9 && !e.closest("details.long") && !part(e, all[i + 1]) && (i + 1 === all.length || rank(all[i + 1]) <= rank(e))).map(e => e.tagName + " " + e.textContent.slice(0, 80));
	})()`, &alone)
	if len(alone) > 0 {
		t.Errorf("on paper these headings have nothing below them: %q", alone)
	}
	if n := p.Text(`Array.from(document.querySelectorAll("figure details, figure .tools, nav")).filter(e => e.checkVisibility()).length`); n != "0" {
		t.Errorf("on paper there are %s things to press", n)
	}
}

// checkWithoutScripts checks that everything except zooming works without scripts.
func checkWithoutScripts(t *testing.T, p *browsertest.Page, path string, svgs int) {
	t.Helper()
	p.NoScript(true)
	p.Size(1200, 800, false)
	p.Open("file://" + path)
	p.Wait(`document.readyState === "complete"`)
	var drawn, buttons, tables int
	p.Eval(`Array.from(document.querySelectorAll("figure svg.wide")).filter(s => s.getBoundingClientRect().height > 50).length`, &drawn)
	p.Eval(`document.querySelectorAll("button").length`, &buttons)
	p.Eval(`document.querySelectorAll("figure details table").length`, &tables)
	if drawn*2 < svgs || buttons > 0 || tables == 0 {
		t.Errorf("without scripts there are %d charts (want %d), %d tables behind charts, and %d buttons that do nothing", drawn, svgs/2, tables, buttons)
	}
	p.Eval(`document.querySelectorAll("details").forEach(d => d.open = true)`, nil) // like a click, without scripts
	if got := p.Text(`Array.from(document.querySelectorAll("details")).every(d => d.querySelector("table, p, figure").checkVisibility())`); got != "true" {
		t.Error("without scripts what is folded cannot be opened")
	}
}

// picture writes screenshots into the directory PLIMSOLL_PICTURES, if set.
func picture(t *testing.T, p *browsertest.Page, name string) {
	t.Helper()
	dir := os.Getenv("PLIMSOLL_PICTURES")
	if dir == "" {
		return
	}
	p.Screenshot(filepath.Join(dir, name+".png"))
	if strings.HasSuffix(name, "-print") {
		p.PDF(filepath.Join(dir, name+".pdf"))
	}
}

// checkLook looks for what is wrong with a page in one size and colour.
func checkLook(t *testing.T, p *browsertest.Page, look string, svgs int) {
	t.Helper()
	var wide []string
	p.Eval(`(() => { const max = document.documentElement.clientWidth; return [document.documentElement.scrollWidth > max ? "the page" : "",
		...Array.from(document.querySelectorAll("body *"), e => {
			if (!e.checkVisibility({contentVisibilityAuto: true})) return "";
			if (e.closest(".scroll, pre, svg, .skip") && !e.matches("svg, .scroll, pre")) return "";
			const r = e.getBoundingClientRect();
			return r.width > 0 && (r.right > max + 1 || r.left < -1) ? e.tagName + "." + e.className + " " + r.left + " to " + r.right : ""; })]
		.filter(Boolean).slice(0, 5); })()`, &wide)
	if len(wide) > 0 && look != "print" {
		t.Errorf("%s: wider than the window: %q", look, wide)
	}
	var drawn, texts int
	p.Eval(`Array.from(document.querySelectorAll("figure svg")).filter(s => s.getBoundingClientRect().height > 50 && s.querySelector("path, rect, circle")).length`, &drawn)
	p.Eval(`document.querySelectorAll("figure svg title, figure svg desc").length`, &texts)
	if drawn*2 < svgs || texts < svgs*2 {
		t.Errorf("%s: %d charts are visible and have %d titles and descriptions, want at least %d drawings", look, drawn, texts, svgs)
	}
	var outside []string
	p.Eval(`Array.from(document.querySelectorAll("figure svg")).flatMap(s => { const box = s.getBoundingClientRect(); if (!box.height) return [];
		return Array.from(s.querySelectorAll("text"), x => { const r = x.getBoundingClientRect();
			return r.left < box.left - 3 || r.right > box.right + 3 ? s.querySelector("title").textContent + ": " + x.textContent : ""; }); }).filter(Boolean).slice(0, 5)`, &outside)
	if len(outside) > 0 {
		t.Errorf("%s: texts that stick out of their charts: %q", look, outside)
	}
	if got := p.Problems(); len(got) > 0 {
		t.Errorf("%s: the browser complains: %q", look, got)
	}
}

// checkAccess lets axe-core look at a page. A phone has the same elements, only smaller, nobody reads paper with a
// screen reader, and dark pages differ in their colours alone.
func checkAccess(t *testing.T, p *browsertest.Page, look string) {
	t.Helper()
	var faults []browsertest.Fault
	switch look {
	case "light":
		faults = p.Faults()
	case "dark":
		faults = p.Contrast()
	}
	for _, f := range faults {
		t.Errorf("%s: %s", look, f)
	}
}

// checkHarmless makes sure that the page asked nobody and that no name became code.
func checkHarmless(t *testing.T, p *browsertest.Page, path string) {
	t.Helper()
	for _, r := range p.Requests() {
		if r != "file://"+path && !strings.HasPrefix(r, "data:,") {
			t.Errorf("the page asked for %s", r)
		}
	}
	if got := p.Text(`typeof window.harmed + document.querySelectorAll("main img, main script, main iframe, svg script").length`); got != "undefined0" {
		t.Errorf("a name became code: %s", got)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 5e6 {
		t.Errorf("the page has %d bytes", info.Size())
	}
}
