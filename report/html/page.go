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

	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/chart"
)

//go:embed assets
var assets embed.FS

// Write writes one page about one or more records.
func Write(w io.Writer, sources []*report.Source, o report.PageOptions) error {
	p, err := report.NewPage(sources, o)
	if err != nil {
		return err
	}
	return WritePage(w, p)
}

// frame is the data of the template.
type frame struct {
	*report.Page
	Tracks        []*report.Track
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
	"number":  func(t *report.Table, i int) bool { return i < len(t.Header) && !t.LeftAligned(i) },
	"class":   tableClass,
	"svg":     svg,
	"join":    strings.Join,
	"capital": report.Capitalised,
}).ParseFS(assets, "assets/page.tmpl"))

// svg draws a figure for a screen and for a phone.
func svg(f *report.Figure) template.HTML {
	//nolint:gosec // package chart escapes every text it draws
	return template.HTML(chart.Both(f.Chart))
}

// mostPrinted is the largest number of rows of a folded table that is printed.
const mostPrinted = 150

// tableClass is how a folded table is printed: the numbers of charts are not, of a long one only its name, with its
// place.
func tableClass(t *report.Table) string {
	switch {
	case t.Charted:
		return "numbers"
	case len(t.Rows) > mostPrinted:
		return "long"
	}
	return ""
}

// tracks are the data of the figures over time.
func tracks(list []report.Section) (found []*report.Track) {
	for i := range list {
		if list[i].Track != nil {
			found = append(found, list[i].Track)
		}
		found = append(found, tracks(list[i].Parts)...)
	}
	return found
}

// Content is what a page has within its frame, for a page with a frame of its own, and the data of its figures.
func Content(p *report.Page) (template.HTML, error) {
	var b bytes.Buffer
	if err := pageTemplate.ExecuteTemplate(&b, "part", frame{Page: p, Tracks: tracks(p.Sections)}); err != nil {
		return "", fmt.Errorf("cannot make the page: %w", err)
	}
	return template.HTML(b.String()), nil //nolint:gosec // the template made it
}

// WritePage writes a page: one HTML file that loads nothing from elsewhere. The content policy names the hashes of its
// own style and script, so nothing else can run in it.
func WritePage(w io.Writer, p *report.Page) error {
	style, script := StyleSheet(), Script()
	f := frame{
		Page: p, Tracks: tracks(p.Sections),
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
