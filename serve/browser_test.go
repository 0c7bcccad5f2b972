//go:build !race

package serve

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/internal/browsertest"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

// overflow is how many pixels of a page are beyond the right edge of the window.
const overflow = `document.documentElement.scrollWidth - innerWidth`

// sound checks what must hold for every page.
func sound(t *testing.T, what string, p *browsertest.Page) {
	t.Helper()
	for _, f := range p.Faults() {
		t.Errorf("%s: %v", what, f)
	}
	fits(t, what, p)
}

// fits checks what may differ from the page of a report, whose own tests look at all the rest.
func fits(t *testing.T, what string, p *browsertest.Page) {
	t.Helper()
	var wide float64
	if p.Eval(overflow, &wide); wide > 0 {
		t.Errorf("%s: the page is %v pixels too wide", what, wide)
	}
	for _, x := range p.Problems() {
		t.Errorf("%s: the browser complains: %s", what, x)
	}
}

// keepPicture keeps what a person would see, where PLIMSOLL_PICTURES names a directory.
func keepPicture(p *browsertest.Page, name string) {
	if dir := os.Getenv("PLIMSOLL_PICTURES"); dir != "" {
		p.Screenshot(filepath.Join(dir, name+".png"))
	}
}

func TestBrowserShowsAFolder(t *testing.T) {
	t.Parallel()
	b, ok := browsertest.Shared(t)
	if !ok {
		return
	}
	dir := t.TempDir()
	made(t, filepath.Join(dir, "nightly", "one"), recordtest.Run{Seed: 1, Name: "a.example"})
	made(t, filepath.Join(dir, "nightly", "two"), recordtest.Run{Seed: 2, Name: "b.example"})
	made(t, filepath.Join(dir, "hostile"), recordtest.Run{Seed: 3, Name: `<script>document.title="harmed"</script>` + strings.Repeat("W", 5000)})
	s := start(t, Options{Dir: dir, Compare: twice})
	p := b.Page(t)
	p.Open(s.url("/?token=" + testToken))
	if got := p.Text("location.search"); got != "" {
		t.Errorf("the token stays in the address: %s", got)
	}
	sound(t, "list", p)
	keepPicture(p, "list")
	p.Media("screen", "dark")
	sound(t, "list, dark", p)
	keepPicture(p, "list-dark")
	p.Size(390, 844, true)
	sound(t, "list on a phone", p)
	keepPicture(p, "list-phone")
	p.Size(1200, 900, false)
	p.Media("screen", "light")
	p.Click("#q")
	p.Keys("a.example\r")
	p.Wait(`location.search.includes("a.example") && document.querySelectorAll(".records tbody tr").length === 1`)
	p.Click(".records a")
	p.Wait(`location.pathname.startsWith("/record/") && document.querySelector("figure .tools button")`)
	fits(t, "record", p)
	keepPicture(p, "record")
	p.Click("figure .tools button")
	p.Wait(`document.querySelector(".uplot canvas")`)
	p.Click(".crumbs a")
	p.Wait(`document.querySelectorAll(".records tbody tr").length === 3`)
	p.Click(`[aria-label="Compare nightly/one"]`)
	p.Click(`[aria-label="Compare nightly/two"]`)
	p.Click(`form[action="/compare"] button`)
	p.Wait(`location.pathname === "/compare" && document.querySelector("h1").textContent === "Comparison of two with one" && document.querySelectorAll("figure").length > 5`)
	fits(t, "compared", p)
	keepPicture(p, "compare")
	if got := p.Text("document.title"); strings.Contains(got, "harmed") {
		t.Error("a name was run as a script")
	}
	for _, u := range p.Requests() {
		if !strings.HasPrefix(u, s.url("/")) && !strings.HasPrefix(u, "data:") {
			t.Errorf("the page asked %s", u)
		}
	}
}

func TestBrowserWithoutScripts(t *testing.T) {
	t.Parallel()
	b, ok := browsertest.Shared(t)
	if !ok {
		return
	}
	dir := t.TempDir()
	startRun(t, filepath.Join(dir, "r"))
	s := start(t, Options{Dir: dir})
	p := b.Page(t)
	p.NoScript(true)
	p.Open(s.url("/?token=" + testToken))
	p.Click(".cards a")
	p.Wait(`location.pathname.startsWith("/live/") && document.querySelector("main .tiles")`)
	// The page loads itself again from time to time, so looking for the button and pressing it is one step.
	p.Wait(`(() => { const f = document.querySelector("#actions form"); if (f) f.submit(); return f; })()`)
	await(t, "the run ends", func() bool { _, held := record.Holder(filepath.Join(dir, "r")); return !held })
	q := b.Page(t) // the first page may just load itself again, which would end its visit of another one
	q.NoScript(true)
	q.Open(s.url("/record/" + idOf("r") + "?token=" + testToken))
	q.Wait(`document.querySelector(".sure").textContent.includes("(interrupted)")`)
}

func TestBrowserFollowsARun(t *testing.T) {
	t.Parallel()
	b, ok := browsertest.Shared(t)
	if !ok {
		return
	}
	dir := t.TempDir()
	startRun(t, filepath.Join(dir, "r"))
	port := newDoor(t)
	s := startAt(t, port.open(), Options{Dir: dir})
	p := b.Page(t)
	p.Open(s.url("/?token=" + testToken))
	p.Click(".cards a")
	p.Wait(`document.getElementById("now").textContent.includes("ok/s")`)
	p.Wait(`document.querySelector("figure[data-track] .tools button")`)
	sound(t, "live", p)
	keepPicture(p, "live")
	p.Size(390, 844, true)
	fits(t, "live on a phone", p)
	keepPicture(p, "live-phone")
	p.Size(1200, 900, false)

	const count = `document.querySelector(".tiles small").textContent + document.querySelector(".facts").textContent + document.querySelectorAll("main td").length`
	keepsItsPlace(t, p)

	// A server that is started again at the same place goes on where the page was.
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	p.Wait(`document.querySelector(".live.lost")`)
	keepPicture(p, "live-lost")
	before := p.Text(count)
	startAt(t, port.open(), Options{Dir: dir})
	p.Wait(`!document.querySelector(".live.lost") && document.getElementById("now").textContent.includes("ok/s")`)
	p.Wait(fmt.Sprintf("%s !== %q", count, before))

	// A page of --web, whose server ends with the record.
	alone := b.Page(t)
	alone.Open(start(t, Options{Dir: filepath.Join(dir, "r"), Alone: true}).url("/"))
	alone.Wait(`document.querySelector(".crumbs a")`)

	// The button ends the run, and the page becomes its report.
	p.Click("#actions button")
	p.Wait(`document.querySelector(".live.ended") || location.pathname.startsWith("/record/")`)
	p.Wait(`location.pathname.startsWith("/record/") && document.querySelector(".sure").textContent.includes("(interrupted)")`)
	keepPicture(p, "live-ended")
	alone.Wait(`document.querySelector(".live.ended")`)
	if got := alone.Text(`document.querySelectorAll('a[href^="/"]').length`); got != "0" {
		t.Errorf("%s links to a server that is gone", got)
	}
}

// keepsItsPlace looks at what a new picture leaves alone: opened details, the focus, the place on the page, and a
// figure that somebody looks into.
func keepsItsPlace(t *testing.T, p *browsertest.Page) {
	t.Helper()
	p.Eval(`document.querySelector("figure[data-track] .tools button").click()`, nil) // a new picture may come at any moment
	p.Wait(`document.querySelector("figure.zooming canvas")`)
	p.Eval(`(() => {
		const all = document.querySelectorAll("main figure:not(.zooming) details"), d = all[Math.floor(all.length / 2)];
		d.open = true; d.querySelector("summary").focus(); d.scrollIntoView();
		window.kept = { old: d, text: d.querySelector("summary").textContent, top: d.getBoundingClientRect().top };
	})()`, nil)
	p.Wait(`!kept.old.isConnected`) // a new picture came
	const now = `[...document.querySelectorAll("main details")].find(d => d.querySelector("summary").textContent === kept.text)`
	if got := p.Text(now + `.open`); got != "true" {
		t.Error("details that were open are closed")
	}
	if got := p.Text(`document.activeElement === ` + now + `.querySelector("summary")`); got != "true" {
		t.Errorf("the focus went to %s", p.Text(`document.activeElement.outerHTML.slice(0, 200)`))
	}
	if got := p.Text(`Math.abs(` + now + `.getBoundingClientRect().top - kept.top) < 60`); got != "true" {
		t.Errorf("the page moved from %s to %s", p.Text("kept.top"), p.Text(now+`.getBoundingClientRect().top`))
	}
	if got := p.Text(`document.querySelectorAll("figure.zooming canvas").length`); got != "1" {
		t.Errorf("%s figures are zoomed, want the one that was", got)
	}
	if got := p.Text(`[...document.querySelectorAll("figure[data-track]")].every(f => f.querySelectorAll(".tools").length === 1)`); got != "true" {
		t.Error("a figure cannot be zoomed any longer, or twice")
	}
}

// A page of somebody else that runs in the same browser, which has the cookie, gets nothing. What no browser can be
// made to send, a Host header of another name, is tested in TestGuard and TestMetricsAndClosing without one.
func TestBrowserForeignPageGetsNothing(t *testing.T) {
	t.Parallel()
	b, ok := browsertest.Shared(t)
	if !ok {
		return
	}
	dir := t.TempDir()
	startRun(t, filepath.Join(dir, "r"))
	s := start(t, Options{Dir: dir})
	holder, _ := record.Holder(filepath.Join(dir, "r"))
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `<!doctype html><html lang=en><title>foreign</title><iframe src="%[1]s"></iframe>
			<form id=f method=post action="%[1]sstop/%[2]s"><input name=pid value=%[3]d></form>`, s.url("/"), idOf("r"), holder)
	}))
	defer foreign.Close()
	p := b.Page(t)
	p.Open(s.url("/?token=" + testToken)) // the cookie is there now
	p.Open(strings.Replace(foreign.URL, "127.0.0.1", "localhost", 1))
	for _, path := range []string{"/", "/record/" + idOf("r"), "/live/" + idOf("r") + "/events", "/report/" + idOf("r")} {
		got := ""
		p.Eval(fmt.Sprintf(`fetch(%q, {credentials: "include"}).then(r => r.text(), () => "refused")`, s.url(path)), &got)
		if got != "refused" {
			t.Errorf("a foreign page read %s: %.200s", path, got)
		}
	}
	p.Eval(`document.getElementById("f").submit()`, nil)
	p.Wait(`document.body && document.body.textContent.includes("other sites are refused")`)
	if _, held := record.Holder(filepath.Join(dir, "r")); !held {
		t.Error("a foreign form ended the run")
	}
	other := b.Page(t) // another person's browser, with a wrong token
	other.Open(s.url("/live/" + idOf("r") + "?token=wrong-token-of-some-length"))
	other.Wait(`document.querySelector("#actions")`)
	if got := other.Text(`document.querySelectorAll("#actions button").length`); got != "0" {
		t.Errorf("%s buttons with a wrong token", got)
	}
}

// followed opens the live page of something, as it is on a screen, on a phone and in the dark, and says what the line
// above the picture has.
func followed(t *testing.T, p *browsertest.Page, name, address, now string) {
	t.Helper()
	p.Size(1200, 800, false)
	p.Open(address)
	p.Wait(fmt.Sprintf(`document.getElementById("now").textContent.includes(%q)`, now))
	sound(t, name, p)
	keepPicture(p, name)
	p.Media("screen", "dark")
	for _, f := range p.Contrast() {
		t.Errorf("%s, dark: %v", name, f)
	}
	keepPicture(p, name+"-dark")
	p.Size(390, 844, true)
	fits(t, name+" on a phone", p)
	keepPicture(p, name+"-phone")
	p.Size(1200, 800, false)
	p.Media("screen", "light")
	p.Reload()
	p.Wait(fmt.Sprintf(`document.getElementById("now").textContent.includes(%q)`, now))
	if got := p.Text(`typeof window.harmed + document.querySelectorAll("main img, main script:not([type='application/json'])").length`); got != "undefined0" {
		t.Errorf("%s: a name became code: %s", name, got)
	}
}

// lostAndFound ends the server of a live page and starts it again at the same place.
func lostAndFound(t *testing.T, p *browsertest.Page, s *Server, port *door, o Options, now string) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	p.Wait(`document.querySelector(".live.lost")`)
	startAt(t, port.open(), o)
	p.Wait(fmt.Sprintf(`!document.querySelector(".live.lost") && document.getElementById("now").textContent.includes(%q)`, now))
}

// A drill is followed in a browser: it shows its stages, survives a reload and a lost connection, and ends as its
// report.
func TestBrowserFollowsADrill(t *testing.T) {
	t.Parallel()
	b, ok := browsertest.Shared(t)
	if !ok {
		return
	}
	dir, release := liveDrill(t)
	o, port := Options{Dir: dir, Labs: &fakeLabs{broken: true}}, newDoor(t)
	s := startAt(t, port.open(), o)
	p := b.Page(t)
	p.Open(s.url("/?token=" + testToken))
	const now = "the fault is in place"
	followed(t, p, "live-drill", s.url("/live/"+idOf("drill")), now)
	p.Wait(`[...document.querySelectorAll("#actions button")].map(b => b.textContent).join().includes("Revert all faults of the lab three")`)
	lostAndFound(t, p, s, port, o, now)
	if err := os.Remove(filepath.Join(dir, "drill", record.StatusFile)); err != nil {
		t.Fatal(err)
	}
	release()
	p.Wait(`document.querySelector(".live.ended") && location.pathname.startsWith("/record/")`)
}

// A study is followed in a browser: which trial runs, whose own page it leads to, and how many are done.
func TestBrowserFollowsAStudy(t *testing.T) {
	t.Parallel()
	b, ok := browsertest.Shared(t)
	if !ok {
		return
	}
	dir := t.TempDir()
	study := filepath.Join(dir, "study")
	x := recordtest.Study{Workers: []int{8, 16}, Blocks: 2, Seed: 5, Name: `<img src=x onerror="window.harmed=1">`}.Make()
	x.Status = record.Running
	for i := range x.Trials {
		x.Trials[i].Status, x.Trials[i].Record = record.TrialPlanned, ""
	}
	x.Trials = slices.DeleteFunc(x.Trials, func(t record.Trial) bool { return t.Kind == record.TrialSearch })
	first := &x.Trials[0]
	first.Status, first.Record, first.Configuration = record.TrialRunning, record.TrialsDir+"/0001", `<img src=y onerror="window.harmed=1">`
	if err := writeJSON(filepath.Join(study, record.StudyFile), x); err != nil {
		t.Fatal(err)
	}
	release, err := record.Hold(study)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	startRun(t, filepath.Join(study, record.TrialsDir, "0001"))
	o, port := Options{Dir: dir}, newDoor(t)
	s := startAt(t, port.open(), o)
	p := b.Page(t)
	p.Open(s.url("/?token=" + testToken))
	now := fmt.Sprintf("0 of %d trials done; trial %d (", len(x.Trials), first.Number)
	followed(t, p, "live-study", s.url("/live/"+idOf("study")), now)
	lostAndFound(t, p, s, port, o, now)
	p.Click("#now a")
	p.Wait(`location.pathname.startsWith("/live/") && document.getElementById("now").textContent.includes("ok/s")`)
	p.Open(s.url("/live/" + idOf("study")))
	first.Status = record.TrialDone
	if err := writeJSON(filepath.Join(study, record.StudyFile), x); err != nil {
		t.Fatal(err)
	}
	p.Wait(fmt.Sprintf(`document.getElementById("now").textContent.trim() === "1 of %d trials done"`, len(x.Trials)))
	x.Status = record.Complete
	if err := writeJSON(filepath.Join(study, record.StudyFile), x); err != nil {
		t.Fatal(err)
	}
	release()
	p.Wait(`location.pathname.startsWith("/record/")`)
}

// A probe is followed in a browser.
func TestBrowserFollowsAProbe(t *testing.T) {
	t.Parallel()
	b, ok := browsertest.Shared(t)
	if !ok {
		return
	}
	dir := t.TempDir()
	probe := filepath.Join(dir, "probe")
	release, err := record.Hold(probe)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	w, err := record.CreateProbe(probe, &record.Probe{Head: record.Head{Started: recordtest.Started},
		Specification: record.ProbeSpec{Directory: `/data<img src=x onerror="window.harmed=1">`}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Second(record.ProbeSecond{Step: 2, At: 3e9, Length: 1e9, Operations: 2000, Bytes: 4096e3, P50: 1e5,
		P99: 2e6}); err != nil {
		t.Fatal(err)
	}
	o, port := Options{Dir: dir}, newDoor(t)
	s := startAt(t, port.open(), o)
	p := b.Page(t)
	p.Open(s.url("/?token=" + testToken))
	const now = "step 3, 4s: 2,000 op/s"
	followed(t, p, "live-probe", s.url("/live/"+idOf("probe")), now)
	lostAndFound(t, p, s, port, o, now)
	if err := w.Second(record.ProbeSecond{Step: 2, At: 4e9, Length: 1e9, Operations: 2100, Bytes: 4096e3, P50: 1e5,
		P99: 2e6}); err != nil {
		t.Fatal(err)
	}
	p.Wait(`document.getElementById("now").textContent.includes("2,100 op/s")`)
}

// A lab is followed in a browser, healed with the token, and not without.
func TestBrowserFollowsALab(t *testing.T) {
	t.Parallel()
	b, ok := browsertest.Shared(t)
	if !ok {
		return
	}
	labs := &fakeLabs{broken: true}
	o, port := Options{Dir: t.TempDir(), Labs: labs}, newDoor(t)
	s := startAt(t, port.open(), o)
	other := b.Page(t) // with a wrong token
	other.Open(s.url("/lab/three?token=wrong-token-of-some-length"))
	other.Wait(`document.body.textContent.includes("this needs the token")`)
	if got := other.Text(`document.body.textContent.includes("host1")`); got != "false" {
		t.Error("the lab is shown with a wrong token")
	}
	p := b.Page(t)
	p.Open(s.url("/?token=" + testToken))
	const now = "hosts on"
	followed(t, p, "live-lab", s.url("/lab/three"), now)
	p.Wait(`document.querySelector("main").textContent.includes("power-off of host1")`)
	lostAndFound(t, p, s, port, o, now)
	// The picture may be drawn anew at any moment, so looking for the button and pressing it is one step.
	p.Wait(`(() => { const b = [...document.querySelectorAll("#actions button")].find(b => b.textContent.includes("Revert all faults")); if (b) b.click(); return b; })()`)
	await(t, "the faults are reverted", func() (healed bool) { labs.set(func() { healed = labs.healed == 1 }); return healed })
	p.Wait(`document.querySelector("main") && !document.querySelector("main").textContent.includes("power-off of host1")`)
}
