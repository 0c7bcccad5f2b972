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
	"github.com/plimsoll-bench/plimsoll/report/html"
	"github.com/plimsoll-bench/plimsoll/report/html/recordtest"
)

// aRecordOfEachKind writes a record of each kind, by the name of the kind.
func aRecordOfEachKind(t *testing.T) map[string]string {
	t.Helper()
	top := t.TempDir()
	limit, got := 20e6, 9.4e6
	run := recordtest.Run{Warmup: 2, Seconds: 30, Rate: 800, Open: true, Median: 2 * time.Millisecond, Seed: 7, StallAt: 13, Sampled: true,
		Objectives: []measure.ObjectiveResult{{Objective: "p99<20ms", Measured: &got, Limit: limit, Unit: measure.UnitTime, Met: true}},
		Validity:   []measure.Finding{{ID: "too-short", Severity: measure.Warning, Text: "30 s are less than a checkpoint cycle; measure for minutes"}}}
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
	// withUnit is a number with what it counts in: 1,234 ops/s, 9.40 ms, +20.2 %, 64 GiB, 5 rounds.
	withUnit = regexp.MustCompile(`[+\-−]?[0-9][0-9,]*(\.[0-9]+)?( ?(%|[a-z]+/s|/s|(ns|µs|ms|s|min|h|[KMGT]?i?B)\b)| (better|worse|equivalent|inconclusive|trials?|rounds?|parts?|records?|writes?|clients?)\b)`)
	// columns are apart by two spaces or more; a line that is continued is indented.
	columns = regexp.MustCompile(`([^ \n])  +`)
	wrapped = regexp.MustCompile(`\n +`)
	tags    = regexp.MustCompile(`(?s)<(style|script)\b.*?</(style|script)>|<[^>]*>`)
	spaces  = regexp.MustCompile(`\s+`)
)

// plainText is what a person reads of a page.
func plainText(page []byte) string {
	return spaces.ReplaceAllString(stdhtml.UnescapeString(string(tags.ReplaceAll(page, []byte(" ")))), " ")
}

// A figure that the terminal prints is on the page in the same words and with the same rounding, for every kind of record:
// somebody who reads one aloud and somebody who looks at the other speak of the same.
func TestTerminalAndPageHaveTheSameFigures(t *testing.T) {
	for kind, dir := range aRecordOfEachKind(t) {
		t.Run(kind, func(t *testing.T) {
			s, err := html.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			f, err := recordForms(s)
			if err != nil {
				t.Fatal(err)
			}
			var text, page bytes.Buffer
			if err := f.print(&text, "text"); err != nil {
				t.Fatal(err)
			}
			if err := html.Write(&page, []*html.Source{s}, html.Options{Tool: tool()}); err != nil {
				t.Fatal(err)
			}
			shown := plainText(page.Bytes())
			figures := withUnit.FindAllString(wrapped.ReplaceAllString(columns.ReplaceAllString(text.String(), "$1 | "), " "), -1)
			slices.Sort(figures)
			figures = slices.Compact(figures)
			if len(figures) < 5 {
				t.Errorf("only %q are figures of\n%s", figures, text.String())
			}
			for _, x := range figures {
				if !strings.Contains(shown, x) {
					t.Errorf("the terminal says %q, the page does not\n%s", x, around(text.String(), x))
				}
			}
		})
	}
}

// around is the line of a text that has some words.
func around(text, words string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, words) {
			return line
		}
	}
	return ""
}
