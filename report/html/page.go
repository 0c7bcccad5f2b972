package html

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
)

//go:embed assets
var assets embed.FS

// Page is a page before it is written.
type Page struct {
	Title    string
	Answers  []Answer
	Sections []Section
	Tracks   []*Track
	// MadeBy says which program wrote the page.
	MadeBy string
}

// Options are the options of a page.
type Options struct {
	// Tool is the program that writes the page.
	Tool record.Tool
	// Title is that of the page; absent, it follows from the records.
	Title string
	// Compare compares several records; without it they are shown side by side.
	Compare Comparer
}

// Write writes one page about one or more records.
func Write(w io.Writer, sources []*Source, o Options) error {
	p, err := newPage(sources, o)
	if err != nil {
		return err
	}
	return p.Write(w)
}

func newPage(sources []*Source, o Options) (*Page, error) {
	p := &Page{MadeBy: report.Version(o.Tool)}
	switch len(sources) {
	case 0:
		return nil, fmt.Errorf("a report needs a record: give the directory of one")
	case 1:
		p.add(sources[0], "")
		for i := range p.Answers {
			p.Answers[i].Headline = "" // it is the title of the page
		}
	default:
		p.several(sources, o.Compare)
	}
	if o.Title != "" {
		p.Title = visible(o.Title)
	}
	p.Sections = filled(p.Sections)
	return p, nil
}

// Answer is the first part of a page. It is that of the document of a record.
type Answer struct {
	// ID links to it from elsewhere; Headline is the title, "" where the page has it.
	ID, Headline string
	*report.Document
	// Drawn is the picture of the document, nil if it has none.
	Drawn *Figure
}

// add adds everything about a record. Only this function distinguishes the kinds of records that have charts.
func (p *Page) add(s *Source, prefix string) {
	d := report.Of(s.result())
	title := d.Title
	var sections []Section
	var track *Track
	switch {
	case s.Run != nil:
		sections, track = runSections(s, d, prefix)
	case s.Study != nil:
		title, sections = report.Capitalised(title), studySections(s, d, prefix)
	case s.Drill != nil:
		d.Tiles = append(standingTiles(s.Standing), d.Tiles...)
		sections, track = drillSections(s, d, prefix)
	case s.Probe != nil:
		sections = probeSections(s, d, prefix)
	case s.Suite != nil:
		var tracks []*Track
		title = report.Capitalised(title)
		sections, tracks = suiteSections(s, d, prefix)
		p.Tracks = append(p.Tracks, tracks...)
	case s.Comparison != nil:
		title = report.Capitalised(title)
		sections = append(comparisonSections(s, d, prefix), comparisonDisclosure(s, prefix))
	default:
		sections = append(arranged(d.Sections, prefix, nil), againSection(s, prefix)...)
	}
	if track != nil {
		p.Tracks = append(p.Tracks, track)
	}
	a := Answer{ID: prefix + "answer", Headline: title, Document: d}
	if d.Picture != nil {
		a.Drawn = ratioFigure(d.Picture, prefix+"picture")
	}
	p.put(a, title, sections)
}

func (p *Page) put(a Answer, title string, sections []Section) {
	if p.Title == "" {
		p.Title = title
	}
	p.Answers = append(p.Answers, a)
	p.Sections = append(p.Sections, sections...)
}

// frame is the data of the template.
type frame struct {
	*Page
	Style, Script template.HTML
	Policy        string
}

// StyleSheet is the style sheet of all pages, charts and live pictures included.
func StyleSheet() string { return asset("uPlot.min.css") + asset("style.css") }

// Script is the script of a page: uPlot, the figures, the zooming and the form.
func Script() string {
	return asset("uPlot.iife.min.js") + "\n" + asset("figure.js") + "\n" + asset("zoom.js") + "\n" + asset("what-if.js")
}

func asset(name string) string {
	b, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic("a file of the page was not built in: " + name) // the embed directive above is wrong
	}
	return string(b)
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

var pageTemplate = template.Must(template.New("page.tmpl").Funcs(template.FuncMap{
	"number":  func(t *Table, i int) bool { return i < len(t.Columns) && t.Columns[i].Number },
	"join":    strings.Join,
	"capital": report.Capitalised,
}).ParseFS(assets, "assets/page.tmpl"))

// Write writes the page: one HTML file that loads nothing from elsewhere. The content policy names the hashes of its
// own style and script, so nothing else can run in it.
func (p *Page) Write(w io.Writer) error {
	style, script := StyleSheet(), Script()
	f := frame{
		Page: p,
		//nolint:gosec // both are files of this package
		Style: template.HTML("<style>" + style + "</style>"),
		//nolint:gosec // see above
		Script: template.HTML("<script>" + script + "</script>"),
		Policy: "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(script) +
			"; img-src data:; base-uri 'none'; form-action 'none'",
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, f); err != nil {
		return fmt.Errorf("cannot make the page: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}
