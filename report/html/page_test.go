package html

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func openAll(t *testing.T, paths ...string) []*report.Source {
	t.Helper()
	var list []*report.Source
	for _, p := range paths {
		s, err := report.Open(p)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

func pageOf(t *testing.T, sources ...*report.Source) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, sources, report.PageOptions{Tool: record.Tool{Name: "plimsoll", Version: "1.2.3"}}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func run(t *testing.T, o recordtest.Run) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "my-record")
	if _, err := o.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func small() recordtest.Run {
	return recordtest.Run{
		Warmup: 2, Seconds: 6, Rate: 90, Open: true, Median: 2 * time.Millisecond, Seed: 7, StallAt: 3, Sampled: true,
		Validity: []measure.Finding{{ID: "too-short", Severity: measure.Warning, Text: "6 s are less than a checkpoint cycle; measure for minutes"}},
	}
}

func study(t *testing.T, o recordtest.Study) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "my-study")
	if _, err := o.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func comparison(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "comparison.json")
	if _, err := recordtest.Comparison(path, "after"); err != nil {
		t.Fatal(err)
	}
	return path
}

var (
	figuresOf = regexp.MustCompile(`(?s)<figure.*?</figure>`)
	assetsOf  = regexp.MustCompile(`(?s)<style>.*?</style>|<script>.*?</script>`)
	policyOf  = regexp.MustCompile(`sha256-[^'&]*`)
	pathOf    = regexp.MustCompile(`/[^<>" ]*/(my-record|my-study|comparison\.json)`)
	sumsOf    = regexp.MustCompile(`[0-9a-f]{64}`)
	startedOf = regexp.MustCompile(`20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z`)
)

// settled takes out of a page what differs from day to day or from machine to machine.
func settled(page, dir string) string {
	page = strings.ReplaceAll(page, dir, "DIR")
	page = assetsOf.ReplaceAllString(page, "<!-- asset -->")
	page = policyOf.ReplaceAllString(page, "HASH")
	page = pathOf.ReplaceAllString(page, "DIR/$1")
	page = sumsOf.ReplaceAllString(page, "CHECKSUM")
	return startedOf.ReplaceAllString(page, "TIME")
}

func TestGoldenPages(t *testing.T) {
	runDir, studyDir, compared := run(t, small()), study(t, recordtest.Study{Workers: []int{8, 16, 128}, Blocks: 2,
		Seed: 4}), comparison(t)
	onLab := small()
	onLab.OnLab = true
	for name, paths := range map[string][]string{"run": {runDir}, "lab": {run(t, onLab)}, "study": {studyDir}, "comparison": {compared},
		"drill": {drill(t, recordtest.Drill{Rounds: 7, Lossy: 3, Clients: 2})}, "probe": {probe(t, recordtest.Probe{})}} {
		got := settled(pageOf(t, openAll(t, paths...)...), filepath.Dir(paths[0]))
		if name == "lab" { // the rest is in the page of the run
			_, got, _ = strings.Cut(got, `<section id="lab"`)
			got, _, _ = strings.Cut(got, `<section id="resources"`)
		} else if name != "run" {
			// The tables are those of package report, which has golden files of its own.
			got = strings.Join(figuresOf.FindAllString(got, -1), "\n")
		}
		path := filepath.Join("testdata", name+".html")
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("%s (-want +got, -update rewrites it):\n%.4000s", name, d)
		}
	}
}

func TestResources(t *testing.T) {
	dir := run(t, small())
	r, err := record.OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	page := pageOf(t, openAll(t, dir)...)
	for _, want := range []string{"Machine client-1", "Server db.example:27017", "CPU (share) of machine client-1", "Updates (per second) of servers", "Dirty part of the cache (share) of servers",
		"Values (number) of query array", `array_busy{instance=&#34;array.example:9100&#34;}`, "<td>opcounters.query</td>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	found := 0
	for _, s := range r.Series {
		if s.Name == "log.syncs" && s.PerOperation != nil {
			found++
			if row := "<td>log.syncs</td><td class=\"n\">" + figure.Rate(s.Mean) + "</td>"; !strings.Contains(page, row) {
				t.Errorf("no row %s", row)
			}
		}
	}
	if found != 1 {
		t.Error("the record has no series of log.syncs")
	}
}

// asking finds whatever would make a browser ask somebody for something.
var asking = regexp.MustCompile(`(?i)(src|href|action|poster|data|srcset|content)\s*=\s*["']?\s*(https?:|//|ftp:|ws:)|url\(\s*["']?(https?:|//)|@import|sendBeacon|XMLHttpRequest|fetch\(|WebSocket|EventSource|importScripts`)

func TestPagesAskNobody(t *testing.T) {
	for _, path := range []string{run(t, small()), study(t, recordtest.Study{Workers: []int{8, 16}, Blocks: 2}),
		comparison(t)} {
		if m := asking.FindString(pageOf(t, openAll(t, path)...)); m != "" {
			t.Errorf("%s has %q", filepath.Base(path), m)
		}
	}
	if asking.FindString(`<img src="https://x/y">`) == "" || asking.FindString(`a { background: url(//x) }`) == "" {
		t.Error("the test cannot find its subject")
	}
}

func TestHostileNames(t *testing.T) {
	bad := `</script><script>harm()</script><img src=x onerror=harm()>` + "\x1b[31m\u202e" + strings.Repeat("A", 1<<20)
	o := small()
	o.Name, o.OnLab = bad, true
	o.Validity = []measure.Finding{{ID: bad, Severity: measure.Invalid, Text: bad}}
	dir := run(t, o)
	page := pageOf(t, openAll(t, dir, study(t, recordtest.Study{Workers: []int{8, 16}, Blocks: 2, Name: bad}))...)
	for _, no := range []string{"<script>harm", "<img", "\x1b", "\u202e", strings.Repeat("A", 2000)} {
		if strings.Contains(page, no) {
			t.Errorf("the page has %.40q", no)
		}
	}
	if len(page) > 2e6 {
		t.Errorf("%d bytes", len(page))
	}
	if !strings.Contains(page, "MiB in all") && !strings.Contains(page, "KiB in all") {
		t.Error("the page does not say that a name was cut")
	}
}

// The numbers of a page are those of the record, written as everywhere.
func TestNumbersAreThoseOfTheRecord(t *testing.T) {
	dir := run(t, small())
	r, err := record.OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	page := pageOf(t, openAll(t, dir)...)
	p := r.Phase("measure")
	for _, c := range p.Classes {
		row := fmt.Sprintf("<td>%s</td><td>response</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td>", c.Name,
			figure.Count(c.Counts.Succeeded), figure.Rate(c.Rate), figure.Duration(time.Duration(*c.Response.P50)))
		if !strings.Contains(page, row) {
			t.Errorf("no row %s", row)
		}
	}
	for _, want := range []string{figure.Rate(p.Rates.Achieved) + " ok/s", "p99&lt;20ms: no answer, because", "too-short: 6 s are less", "durable (w: 1, j: true)", "plimsoll run --file - &lt;&lt;&#39;END&#39;"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}

func TestOtherStates(t *testing.T) {
	dir := run(t, small())
	for _, name := range []string{record.SumsFile, record.LatencyFile} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if page := pageOf(t, openAll(t, dir)...); !strings.Contains(page, "The files end early") || strings.Contains(page, "Percentile spectrum") {
		t.Error("a record without its histograms is shown as if it were whole")
	}
	if _, err := report.Open(filepath.Join(dir, "nowhere")); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("a missing record: %v", err)
	}
	if _, err := report.Open(filepath.Join(dir, record.RunFile)); err == nil || !strings.Contains(err.Error(), "kind") {
		t.Errorf("opened a file that is not a comparison: %v", err)
	}
	if err := Write(&bytes.Buffer{}, nil, report.PageOptions{}); err == nil {
		t.Error("a page about nothing")
	}
}

func TestSeveral(t *testing.T) {
	second := small()
	second.Rate, second.Seed = 140, 8
	page := pageOf(t, openAll(t, run(t, small()), run(t, second), comparison(t))...)
	for _, want := range []string{"Report of 3 records", "my-record (1)", "my-record (2): operations", "Latency over throughput", `id="r1-track"`, `id="r2-track"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(assetsOf.ReplaceAllString(page, ""), -1) {
		if ids[m[1]] {
			t.Errorf("duplicate id %q", m[1])
		}
		ids[m[1]] = true
	}
}
