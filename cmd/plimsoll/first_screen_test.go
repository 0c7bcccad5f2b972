package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
)

// screens are the terminals of the golden files; one has no columns, because it is no terminal.
var screens = []screen{{}, {80, true}, {100, false}, {140, false}}

// firstScreens are results whose first screens are kept.
func firstScreens(t *testing.T) map[string]any {
	t.Helper()
	results := map[string]any{"troubled": troubled(), "judged": judgedStudy()}
	for kind, dir := range aRecordOfEachKind(t) {
		result, err := report.Read(dir)
		if err != nil && kind == "comparison" {
			result, err = report.Read(filepath.Join(dir, "comparison.json"))
		}
		if err != nil {
			t.Fatal(err)
		}
		results[kind] = result
	}
	return results
}

// The first screen of every kind has at most 24 lines, and its lines have room on the terminal.
func TestFirstScreens(t *testing.T) {
	t.Parallel()
	for name, result := range firstScreens(t) {
		t.Run(name, func(t *testing.T) {
			var all bytes.Buffer
			for _, s := range screens {
				var b bytes.Buffer
				w := newOutlet(&b, maxLine)
				w.screen = s
				if err := printRecord(w, "plimsoll-data/"+name, result, "text"); err != nil {
					t.Fatal(err)
				}
				checkScreen(t, b.String(), screenOf(w, screenWidth).columns, s.colour)
				fmt.Fprintf(&all, "===== %d columns, colours %v\n%s", s.columns, s.colour, strings.ReplaceAll(b.String(), "\x1b", "ESC"))
			}
			goldenText(t, "first-"+name, func(w io.Writer) error {
				_, err := w.Write(all.Bytes())
				return err
			})
		})
	}
}

var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

func checkScreen(t *testing.T, text string, columns int, coloured bool) {
	t.Helper()
	if sgr.MatchString(text) != coloured {
		t.Errorf("colours: want %v in\n%q", coloured, text)
	}
	lines := strings.Split(strings.TrimSuffix(sgr.ReplaceAllString(text, ""), "\n"), "\n")
	if len(lines) > screenLines {
		t.Errorf("%d lines:\n%s", len(lines), text)
	}
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > columns && strings.Contains(line, " ") {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if !strings.ContainsAny(string([]rune(lines[0])[0]), "✓!✗·") {
		t.Errorf("the first line has no sign: %q", lines[0])
	}
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "next  ") {
		t.Errorf("the last line is no command: %q", last)
	}
	for _, test := range []string{"Mann", "Holm", "Welch", "p rank", "TOST"} {
		if strings.Contains(text, test) {
			t.Errorf("a statistical test is named: %s", test)
		}
	}
}

// Colours need a terminal, and are off with NO_COLOR and on a dumb terminal.
func TestColoursFollowTheTerminal(t *testing.T) {
	for want, c := range map[screen]struct {
		columns int
		vars    map[string]string
	}{
		{100, true}:  {100, nil},
		{90, false}:  {90, map[string]string{"NO_COLOR": "1"}},
		{110, false}: {110, map[string]string{"TERM": "dumb"}},
		{80, false}:  {0, nil},
	} {
		t.Run(fmt.Sprint(want), func(t *testing.T) {
			env := filtered(&environment{stdout: io.Discard, stderr: io.Discard, columns: func() int { return c.columns },
				getenv: func(name string) string { return c.vars[name] }})
			if got := screenOf(env.stdout, screenWidth); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// A control sequence in a record does not become a colour.
func TestATextHasNoColoursOfItsOwn(t *testing.T) {
	var b bytes.Buffer
	w := newOutlet(&b, maxLine)
	w.screen = screen{80, false}
	d := &report.Document{Title: "\x1b[31mEVIL", Head: report.Head{Answer: "\x1b[31mEVIL", Sure: "\x1b[31mEVIL",
		Short: []report.Point{{Grade: report.Bad, Text: "\x1b[31mEVIL"}}}}
	if err := writeDocument(w, d, false); err != nil || strings.Contains(b.String(), "\x1b") {
		t.Errorf("%v: %q", err, b.String())
	}
}

// JSON has the head of the result before the record.
func TestJSONBeginsWithTheSummary(t *testing.T) {
	var b bytes.Buffer
	if err := printRecord(&b, "there", troubled(), "json"); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Summary summary
		record.Run
	}
	d := report.Of(troubled()).In("there")
	err := json.Unmarshal(b.Bytes(), &got)
	x := got.Summary
	if err != nil || x.Answer != d.Answer || x.Sure != d.Sure || x.Next != "plimsoll report there" ||
		len(x.Findings) != len(d.Short) || got.Course.Dropped != 12 {
		t.Errorf("%v: %s", err, b.Bytes()[:400])
	}
}

// Events are printed in order of time, whoever reports them, and all of them.
func TestEventsAreInOrder(t *testing.T) {
	var b bytes.Buffer
	p := newProgressLines(&environment{stderr: &b})
	event := func(at time.Duration, text string) { p.Event(measure.Event{At: at, Kind: "k", Text: text}) }
	event(6400*time.Millisecond, "third")
	event(5*time.Second, "first")
	event(5900*time.Millisecond, "second")
	p.told(6 * time.Second)
	event(8*time.Second, "fifth")
	event(7*time.Second, "fourth")
	p.end()
	at := -1
	for _, word := range []string{"first", "second", "third", "fourth", "fifth"} {
		next := strings.Index(b.String(), word)
		if next <= at {
			t.Fatalf("%s is not in its place:\n%s", word, b.String())
		}
		at = next
	}
}

func TestClippedBreaksNoWord(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"one two three", 13, "one two three"}, {"one two three", 12, "one two …"}, {"one two three", 9, "one two …"},
		{"one two three", 8, "one …"}, {"immeasurable", 4, "immeasurable"},
	} {
		if got := clipped(c.text, c.width); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}
