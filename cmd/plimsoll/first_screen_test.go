package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/plimsoll-bench/plimsoll/internal/wording"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

// screens are the terminals of the golden files; one has no columns, because it is no terminal.
var screens = []screen{{}, {columns: 80, colour: true}, {columns: 100}, {columns: 140}}

// firstScreens are results whose first screens are kept.
func firstScreens(t *testing.T) map[string]any {
	t.Helper()
	results := map[string]any{"troubled": troubled(), "judged": judgedStudy(), "history": recordtest.History(),
		"size": recordtest.Sizing(), "ci": recordtest.Gate(), "doctor": recordtest.Doctor(),
		"capacity-unsure": capacityWith(func(l *record.LoadLine) { *l.Wrong = 0.362 }),
		"capacity-unconfirmed": capacityWith(func(l *record.LoadLine) {
			l.Status, *l.Wrong, l.Doubts = record.LineUndecided, 0.5, []string{"the time was not enough for the confirming trials"}
		})}
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

// capacityWith is a capacity whose line is changed.
func capacityWith(change func(*record.LoadLine)) *record.Capacity {
	c := recordtest.Capacity{}.Record()
	change(&c.Lines[0])
	for _, d := range c.Lines[0].Doubts {
		c.Validity = append(c.Validity, measure.Finding{ID: "line-doubtful", Severity: measure.Warning,
			Text: c.Lines[0].Name + ": " + d + "."})
	}
	return c
}

// unrecorded are the commands of results that are not in a directory.
var unrecorded = map[string]string{"history": "plimsoll history nightly", "doctor": "plimsoll doctor /data/db",
	"size": "plimsoll size capacity --need 'ops=50000,p99<20ms'"}

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
				dir := "plimsoll-data/" + name
				if w.command = unrecorded[name]; w.command != "" {
					dir = ""
				}
				if err := printRecord(w, dir, result, "text"); err != nil {
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

var placeholder = regexp.MustCompile(`(^|[ :/-])[A-Z]{3,}($|[ /:.-])`)

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
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "next  plimsoll ") || placeholder.MatchString(last) {
		t.Errorf("the last line is no command to paste: %q", last)
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
		{columns: 100, colour: true}: {100, nil},
		{columns: 90}:                {90, map[string]string{"NO_COLOR": "1"}},
		{columns: 110}:               {110, map[string]string{"TERM": "dumb"}},
		{columns: 80}:                {0, nil},
	} {
		t.Run(fmt.Sprint(want), func(t *testing.T) {
			env := filtered(&environment{stdout: io.Discard, stderr: io.Discard, columns: func() int { return c.columns },
				getenv: func(name string) string { return c.vars[name] }})
			if got := screenOf(env.stdout, screenWidth); got.columns != want.columns || got.colour != want.colour {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// A control sequence in a record does not become a colour.
func TestATextHasNoColoursOfItsOwn(t *testing.T) {
	var b bytes.Buffer
	w := newOutlet(&b, maxLine)
	w.screen = screen{columns: 80}
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
	p := newProgressLines(&environment{stderr: &b, now: standing})
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
		{"one two (three four)", 16, "one two …"}, {"one (two) three four", 16, "one (two) …"},
	} {
		if got := clipped(c.text, c.width); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

// A figure stays with its unit, and other words are free.
func TestFiguresStayWithTheirUnits(t *testing.T) {
	for text, want := range map[string]string{
		"slower by 5 % now":  "slower by|5 % now",
		"it took 12.5 ms":    "it took|12.5 ms",
		"95 %, 3 runs":       "95 %, 3|runs",
		"the p99 s of it":    "the p99 s|of it",
		"1,200 ops/s (safe)": "1,200 ops/s|(safe)",
	} {
		if got := wrap(text, 11, "|"); strings.ReplaceAll(got, "\n|", "|") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := clipped("it is 5 % slower", 9); got != "it is …" {
		t.Errorf("clipped: %q", got)
	}
}

// No kind of result shows a person an error as Go words it, wherever the record has it.
func TestResultsHaveNoErrorsOfGo(t *testing.T) {
	const ugly = "the ledger: server selection error: context deadline exceeded, current topology: { Type: Single, Servers: [{ Addr: " +
		"db1:27017, Type: Unknown, Last error: dial tcp 10.0.0.1:27017: connect: connection refused }, ] }"
	for name, result := range firstScreens(t) {
		spoil(reflect.ValueOf(result), ugly)
		for _, format := range []string{"text", verbose, "md"} {
			var b bytes.Buffer
			if err := printRecord(newOutlet(&b, maxLine), "there", result, format); err != nil {
				t.Fatal(err)
			}
			if word := wording.Left(b.String()); word != "" {
				t.Errorf("%s as %s has %q:\n%s", name, format, word, b.String())
			}
		}
	}
}

// Messages have errors as a person reads them, and what other programs say is passed on as it is.
func TestMessagesHaveNoErrorsOfGo(t *testing.T) {
	var out, messages bytes.Buffer
	env := filtered(&environment{stdout: &out, stderr: &messages, getenv: func(string) string { return "" }})
	const text = "plimsoll: the agent is gone: read tcp 10.0.0.1:5->10.0.0.2:7: read: connection reset by peer\n"
	for _, w := range []io.Writer{env.stdout, env.stderr} {
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if out.String() != text || messages.String() != "plimsoll: the agent is gone: 10.0.0.2:7: connection reset\n" {
		t.Errorf("%q, %q", out.String(), messages.String())
	}
}

// spoil sets the fields of a result that have what went wrong.
func spoil(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			spoil(v.Elem(), text)
		}
	case reflect.Slice:
		for i := range v.Len() {
			spoil(v.Index(i), text)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i)
			switch name := v.Type().Field(i).Name; {
			case !f.CanSet():
			case f.Kind() == reflect.String && slices.Contains([]string{"Problem", "Why", "Evidence", "Reason", "Unread"}, name):
				f.SetString(text)
			case name == "Reasons" && f.Type() == reflect.TypeFor[[]string]():
				f.Set(reflect.ValueOf([]string{text}))
			default:
				spoil(f, text)
			}
		}
	}
}

// No golden file has an error as Go words it.
func TestGoldenFilesHaveNoErrorsOfGo(t *testing.T) {
	n := 0
	for _, pattern := range []string{"testdata/text/*.golden", "testdata/*.txt", "../../report/testdata/*.md", "../../report/html/testdata/*.html"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			n++
			if word := wording.Left(string(text)); word != "" {
				t.Errorf("%s has %q", file, word)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d golden files were read", n)
	}
}
