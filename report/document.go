package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Document is the report of a result, as data. [Of] makes it, once for each kind. The terminal, Markdown and the page
// print the same document, so they have the same facts. Texts are as recorded; printers make them harmless.
type Document struct {
	Head
	Title string
	// Sentence titles begin with a capital letter on a page.
	Sentence bool
	// Brief says for a list whether it holds and whether it can be believed.
	Brief string
	Grade Grade
	// Problem is why it failed or was interrupted, or "".
	Problem string
	// Objectives are the demands with their results, Findings the results and doubts, Checks the questions behind the
	// doubts.
	Objectives, Findings, Checks []Point
	// Drawn is the first figure, nil if there is none. The terminal draws it if it has ratios.
	Drawn *Figure
	// Tiles are the figures that a reader looks for first, out of the sections. Only a page writes them large.
	Tiles    []Tile
	Facts    []Fact
	Sections []Section
	// Parts are those of a suite.
	Parts []Part
	// Record is the directory of its record, "" if it is not shown.
	Record string
}

// Part is one of several records in a document: its name, its result in a sentence, and its own document, nil if there
// is none.
type Part struct {
	Name, Finding string
	Document      *Document
}

// Grade is how good a result is. Printers show it as a sign or word as well as a colour.
type Grade string

// The grades. A note has no colour.
const (
	Good Grade = "good"
	Warn Grade = "warn"
	Bad  Grade = "bad"
	Note Grade = "note"
)

// Point is an item of a list: a word or two, or none, and a sentence.
type Point struct {
	Grade      Grade
	Mark, Text string
}

// Sign is the grade for those who see no colours.
func (p Point) Sign() string {
	return map[Grade]string{Good: "✓", Warn: "!", Bad: "✗", Note: "·"}[p.Grade]
}

func (p Point) String() string {
	if p.Mark == "" {
		return p.Sign() + " " + p.Text
	}
	return p.Sign() + " " + p.Mark + " " + p.Text
}

// AllFacts are the facts of a document and, as the last of them, what was checked.
func (d *Document) AllFacts() []Fact {
	var checks []string
	for _, p := range d.Checks {
		checks = append(checks, p.String())
	}
	return append(slices.Clip(d.Facts), Facts("checked", strings.Join(checks, ", "))...)
}

// Fact is a name, in small letters, and a value.
type Fact struct{ Name, Value string }

// Tile is a figure with its name and what it means.
type Tile struct{ Name, Value, Note string }

// Facts makes a list of names and values, without those that are not known.
func Facts(pairs ...string) (list []Fact) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			list = append(list, Fact{pairs[i], pairs[i+1]})
		}
	}
	return list
}

// join joins texts, without those that are empty.
func join(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), separator)
}

// prefixed returns a text after a prefix, or "".
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// suffixed returns a text with more behind it, or "".
func suffixed(text, suffix string) string {
	if text == "" {
		return ""
	}
	return text + suffix
}

func gradeOf(list []measure.Finding, status record.Status) Grade {
	switch worst := measure.Worst(list); {
	case worst == measure.Invalid || status == record.Failed:
		return Bad
	case worst == measure.Warning || status != record.Complete:
		return Warn
	}
	return Good
}

// findingPoints are the doubts about a result, the gravest first.
func findingPoints(list []measure.Finding) []Point {
	var points []Point
	for _, f := range list {
		points = append(points, Point{severityGrade(f.Severity), string(f.Severity), f.ID + ": " + f.Text})
	}
	return points
}

func severityGrade(s measure.Severity) Grade {
	switch s {
	case measure.Invalid:
		return Bad
	case measure.Warning:
		return Warn
	}
	return Note
}

// short keeps the first points of a list, and says how many more there are.
func short(list []Point, most int, what string) []Point {
	if len(list) <= most {
		return list
	}
	more := len(list) - most
	return append(list[:most:most], Point{Note, "", fmt.Sprintf("and %s below", figure.Plural(more, "more "+what))})
}

// Disclosure is shown with each number of a target that is not MongoDB, "" for all others: [record.NotMongoDB].
func Disclosure(target string) string { return record.NotMongoDB(target) }

// disclose puts the [Disclosure] of what was loaded beside the title and the first figures, where it is not yet.
func (d *Document) disclose(loaded []string) {
	for _, target := range loaded {
		text := Disclosure(target)
		if text == "" {
			continue
		}
		if !strings.Contains(d.Title, text) {
			d.Title += bracketed(text)
		}
		for i := range d.Tiles {
			if t := &d.Tiles[i]; !strings.Contains(t.Note, text) {
				t.Note = join("; ", text, t.Note)
			}
		}
	}
}

// disclosed is a figure with the [Disclosure] of its target behind it.
func disclosed(figure, target string) string {
	return figure + bracketed(Disclosure(target))
}

func bracketed(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// beside is the note of a figure with the [Disclosure] of its target before it.
func beside(note, target string) string {
	return join("; ", Disclosure(target), note)
}

// Capitalised begins a sentence. Letters beyond ASCII stay.
func Capitalised(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func check(good bool, otherwise Grade, yes, no string) Point {
	if good {
		return Point{Good, "", yes}
	}
	return Point{otherwise, "", no}
}

// machine is the machine on which a load was made.
func machine(e record.Environment) string {
	threads := ""
	if e.Threads > 0 {
		threads = figure.Significant(e.Cores) + " of " + figure.Plural(e.Threads, "processor thread")
	}
	memory := suffixed(bytesOr(int64(e.MemoryBytes), ""), " of memory")
	return join(", ", e.Host, e.CPU, threads, memory, e.Distro, strings.TrimSpace(e.OS+" "+e.Kernel), prefixed("in ", e.Virtual))
}

// Version says which program made a record.
func Version(t record.Tool) string {
	text := strings.TrimSpace(t.Name + " " + t.Version)
	if t.Commit != "" {
		text += " (" + t.Commit[:min(12, len(t.Commit))]
		if t.Modified {
			text += ", with changes"
		}
		text += ")"
	}
	return text
}

// begun returns the beginning of a result and its program, "" if unknown.
func begun(h *record.Head) string {
	if h.Started.IsZero() {
		return ""
	}
	return h.Started.UTC().Format("2006-01-02 15:04:05") + " UTC" + prefixed(" with ", Version(h.Tool))
}
