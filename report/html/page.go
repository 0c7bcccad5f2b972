package html

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io"

	"github.com/plimsoll-bench/plimsoll/internal/markup"
	"github.com/plimsoll-bench/plimsoll/report"
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

// Content is what a page has within its frame, for a page with a frame of its own, and the data of its figures.
func Content(p *report.Page) (markup.HTML, error) {
	var w writer
	w.content(p)
	w.Add("<div hidden>")
	w.tracks(p.Sections)
	w.Add("</div>")
	return w.HTML(), w.problem()
}

// WritePage writes a page: one HTML file that loads nothing from elsewhere. The content policy names the hashes of its
// own style and script, so nothing else can run in it.
func WritePage(out io.Writer, p *report.Page) error {
	style, script := StyleSheet(), Script()
	policy := "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(script) +
		"; img-src data:; base-uri 'none'; form-action 'none'"
	var w writer
	w.page(p, policy, markup.HTML(style), markup.HTML(script)) // files of this package
	if err := w.problem(); err != nil {
		return err
	}
	_, err := io.WriteString(out, string(w.HTML()))
	return err
}

func (w *writer) problem() error {
	if w.err == nil {
		return nil
	}
	return fmt.Errorf("cannot make the page: %w", w.err)
}
