package main

import (
	"bytes"
	stdhtml "html"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

// aRecordOfEachKind writes a record of each kind, by the name of the kind.
func aRecordOfEachKind(t *testing.T) map[string]string {
	t.Helper()
	top := t.TempDir()
	run := recordtest.Run{Warmup: 2, Seconds: 30, Rate: 800, Open: true, Median: 2 * time.Millisecond, Seed: 7,
		StallAt: 13, Sampled: true,
		Validity: []measure.Finding{{ID: "too-short", Severity: measure.Warning, Text: "30 s are less than a checkpoint cycle; measure for minutes"}}}
	dirs := map[string]string{}
	for kind, write := range map[string]func(string) error{
		"run": func(dir string) error { _, err := run.Write(dir); return err },
		"study": func(dir string) error {
			_, err := (recordtest.Study{Workers: []int{8, 16, 32}, Blocks: 5, Seed: 4}).Write(dir)
			return err
		},
		"comparison": func(dir string) error {
			_, err := recordtest.Comparison(filepath.Join(dir, record.ComparisonFile), "after")
			return err
		},
		"drill": func(dir string) error {
			_, err := (recordtest.Drill{Rounds: 5, Lossy: 3, Clients: 2}).Write(dir)
			return err
		},
		"capacity": func(dir string) error {
			_, err := (recordtest.Capacity{Events: []string{"kill:secondary"}}).Write(dir)
			return err
		},
		"probe": func(dir string) error { _, err := (recordtest.Probe{}).Write(dir); return err },
		"suite": func(dir string) error { _, err := (recordtest.Suite{}).Write(dir); return err },
	} {
		dirs[kind] = filepath.Join(top, kind)
		if err := write(dirs[kind]); err != nil {
			t.Fatal(err)
		}
	}
	return dirs
}

var (
	tags   = regexp.MustCompile(`(?s)<(style|script)\b.*?</(style|script)>|<[^>]*>`)
	breaks = regexp.MustCompile(`\s+`)
	// dressed is what Markdown puts into a text so that it stands there as it is.
	dressed = strings.NewReplacer("<!-- -->", "", `\`, "", "&lt;", "<", "&gt;", ">", "&amp;", "&")
)

// plain is what a person reads, whatever lines it is broken into.
func plain(text string) string { return breaks.ReplaceAllString(text, " ") }

// readable is what a person reads of a page.
func readable(page []byte) string {
	return plain(stdhtml.UnescapeString(string(tags.ReplaceAll(page, []byte(" ")))))
}

// told are all texts of a document: what each printer has to say. What was set and asked for is left out on the
// terminal, and wide columns in what is narrow.
func told(d *report.Document) (list []string) {
	add := func(texts ...string) {
		for _, text := range texts {
			if text = strings.TrimSpace(plain(report.Clean(text))); text != "" {
				list = append(list, text)
			}
		}
	}
	add(d.Answer, d.Sure, d.Problem)
	points := slices.Concat(d.Objectives, d.Findings, d.Checks)
	facts := d.Facts
	for i := range d.Sections {
		s := &d.Sections[i]
		if s.Appendix {
			continue
		}
		points, facts = append(points, s.Points...), append(facts, s.Facts...)
		add(s.Lines...)
		add(s.Notes...)
		if s.Table != nil {
			for _, row := range s.Table.Narrow().Rows {
				add(row...)
			}
		}
	}
	for _, p := range points {
		add(p.Mark, p.Text)
	}
	for _, f := range facts {
		add(f.Value)
	}
	return list
}

// The terminal, the Markdown of a pull request and the page state the same facts, in the same words and
// with the same rounding, for every kind of record.
func TestTerminalMarkdownAndPageStateTheSame(t *testing.T) {
	t.Parallel()
	for kind, dir := range aRecordOfEachKind(t) {
		t.Run(kind, func(t *testing.T) {
			s, err := report.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			result, err := report.Read(s.Dir)
			if err != nil {
				t.Fatal(err)
			}
			var text, md, page bytes.Buffer
			for format, b := range map[string]*bytes.Buffer{verbose: &text, "md": &md} {
				if err := printResult(b, result, format); err != nil {
					t.Fatal(err)
				}
			}
			if err := html.Write(&page, []*report.Source{s}, report.PageOptions{Tool: tool()}); err != nil {
				t.Fatal(err)
			}
			texts := told(report.Of(result))
			if len(texts) < 30 {
				t.Errorf("only %d texts: %q", len(texts), texts)
			}
			for where, shown := range map[string]string{"terminal": plain(text.String()),
				"Markdown": dressed.Replace(plain(md.String())), "page": readable(page.Bytes())} {
				for _, x := range texts {
					if !strings.Contains(shown, x) {
						t.Errorf("the %s does not say %q", where, x)
					}
				}
			}
		})
	}
}

// A run in which operations were dropped, were never sent, were sent again and found nothing says so everywhere.
func TestWhatWentWrongIsSaidEverywhere(t *testing.T) {
	r := troubled()
	r.Phases[0].All.Retries = 17
	d := report.Of(r)
	texts := strings.Join(told(d), "\n")
	for _, want := range []string{"12 operations were dropped", "3 operations were due but not sent", "17 commands were retried", "no document with that key", "9,666/s"} {
		if !strings.Contains(texts, want) {
			t.Errorf("the document does not have %q", want)
		}
	}
	var text, md bytes.Buffer
	for format, b := range map[string]*bytes.Buffer{verbose: &text, "md": &md} {
		if err := printResult(b, r, format); err != nil {
			t.Fatal(err)
		}
	}
	for where, shown := range map[string]string{"terminal": plain(text.String()), "Markdown": dressed.Replace(plain(md.String()))} {
		for _, x := range told(d) {
			if !strings.Contains(shown, x) {
				t.Errorf("the %s does not say %q", where, x)
			}
		}
	}
}
