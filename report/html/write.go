package html

import (
	"encoding/json"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/markup"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/chart"
)

// writer writes the parts of a page. The first error of data for the script is kept.
type writer struct {
	markup.Writer
	err error
}

// page is the whole file.
func (w *writer) page(p *report.Page, policy string, style, script markup.HTML) {
	w.Add(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>%s – plimsoll</title>
<style>%s</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<h1>%s</h1>
</header>
<main id="content">
`, policy, p.Title, style, p.Title)
	w.content(p)
	w.Add("</main>\n<footer><p>")
	w.AddIf(p.MadeBy != "", "Made by %s. ", p.MadeBy)
	w.Add("Percentiles come from merged histograms. This page loads nothing from elsewhere.</p></footer>\n")
	w.tracks(p.Sections)
	w.Add("<script>%s</script>\n</body>\n</html>\n", script)
}

func (w *writer) content(p *report.Page) {
	for i := range p.Answers {
		w.answer(&p.Answers[i])
	}
	if len(p.Sections) > 0 {
		w.Add(`<nav aria-label="Contents"><ul>`)
		for _, s := range p.Sections {
			w.Add(`<li><a href="#%s">%s</a></li>`, s.ID, s.Title)
		}
		w.Add("</ul></nav>\n")
	}
	for _, s := range p.Sections {
		w.Add("<section id=\"%s\" aria-labelledby=\"%s-h\">\n<h2 id=\"%s-h\">%s</h2>\n", s.ID, s.ID, s.ID, s.Title)
		w.AddIf(s.Lead != "", "<p class=\"lead\">%s</p>\n", s.Lead)
		w.AddIf(s.Folded != "", `<details class="part"><summary>%s</summary>`, s.Folded)
		for i := range s.Parts {
			w.block(&s.Parts[i])
		}
		w.AddIf(s.Folded != "", "</details>")
		w.Add("</section>\n")
	}
}

// tracks are the data of the figures over time, for the script.
func (w *writer) tracks(list []report.Section) {
	for i := range list {
		if t := list[i].Track; t != nil {
			data, err := json.Marshal(t) // escapes what would end the element
			if err != nil && w.err == nil {
				w.err = err
			}
			w.Add("<script type=\"application/json\" id=\"%s\">%s</script>\n", t.ID, markup.HTML(data))
		}
		w.tracks(list[i].Parts)
	}
}

func (w *writer) answer(a *report.Answer) {
	w.Add("<section class=\"answer\" id=\"%s\" aria-label=\"Result\">\n", a.ID)
	w.AddIf(a.Headline != "", "<p class=\"headline\">%s</p>\n", a.Headline)
	w.AddIf(a.Answer != "", "<p class=\"verdict %s\"><strong>%s</strong></p>\n<p class=\"sure\">%s</p>\n", a.Grade, a.Answer, a.Sure)
	w.AddIf(a.Where != "", "<p class=\"sure\">%s</p>\n", a.Where)
	w.AddIf(a.Next.Command != "", "<p class=\"sure\">Next: <code>%s</code> %s</p>\n", a.Next.Command, a.Next.Why)
	w.AddIf(a.Problem != "", "<p class=\"problem\">%s</p>\n", a.Problem)
	if a.Drawn != nil {
		w.figure(a.Drawn)
	}
	w.tiles(a.Tiles)
	if len(a.Checks) > 0 {
		w.Add(`<div class="checked"><h2>Checks</h2><ul class="badges">`)
		for _, p := range a.Checks {
			w.Add(`<li class="%s"><span class="mark">%s</span> %s</li>`, p.Grade, p.Sign(), p.Text)
		}
		w.Add("</ul></div>\n")
	}
	w.Add("<div class=\"columns\">\n<div>\n")
	w.AddIf(len(a.Objectives) > 0, "<h2>Objectives</h2>")
	w.points(a.Objectives)
	w.AddIf(len(a.Findings) > 0, "<h2>Findings</h2>")
	w.points(a.Findings)
	w.Add("</div>\n<div>\n<h2>Details</h2>\n<dl class=\"facts\">")
	w.facts(a.Facts)
	w.Add("</dl>\n</div>\n</div>\n</section>\n")
}

func (w *writer) block(s *report.Section) {
	for _, f := range s.Figures {
		w.figure(f)
	}
	if s.Title != "" {
		w.Add("<h3")
		w.AddIf(s.ID != "", ` id="%s"`, s.ID)
		w.Add(">%s</h3>\n", s.Title)
	}
	for _, line := range s.Lines {
		w.Add("<p>%s</p>", line)
	}
	w.points(s.Points)
	w.tiles(s.Tiles)
	if len(s.Facts) > 0 {
		w.Add(`<dl class="facts">`)
		w.facts(s.Facts)
		w.Add("</dl>\n")
	}
	if s.Table != nil {
		w.table(s.Table)
	}
	if c := s.Code; c != nil {
		w.Add(`<pre tabindex="0" aria-label="%s"><code>%s</code></pre>`, c.Label, c.Text)
	}
	if s.Question != nil {
		w.question(s.Question)
	}
}

// question is the form that predicts.
func (w *writer) question(q *report.Question) {
	data, err := q.JSON()
	if err != nil && w.err == nil {
		w.err = err
	}
	w.Add(`<form class="what-if" data-question="%s">`, data)
	for _, c := range q.Curves {
		w.Add("\n<label>%s <input inputmode=\"decimal\" autocomplete=\"off\" value=\"%s\"> <small>%s to %s, model %s</small></label>",
			c.Factor, c.NowText, c.From, c.To, c.Model)
	}
	w.Add("\n<output aria-live=\"polite\"></output></form>\n")
}

func (w *writer) points(list []report.Point) {
	if len(list) == 0 {
		return
	}
	w.Add(`<ul class="points">`)
	for _, p := range list {
		w.Add(`<li class="%s"><span class="mark">%s`, p.Grade, p.Sign())
		w.AddIf(p.Mark != "", " %s", p.Mark)
		w.Add("</span> %s</li>", p.Text)
	}
	w.Add("</ul>\n")
}

func (w *writer) tiles(list []report.Tile) {
	if len(list) == 0 {
		return
	}
	w.Add(`<dl class="tiles">`)
	for _, t := range list {
		w.Add("<div><dt>%s</dt><dd>%s<small>%s</small></dd></div>", report.Capitalised(t.Name), t.Value, t.Note)
	}
	w.Add("</dl>\n")
}

func (w *writer) facts(list []report.Fact) {
	for _, f := range list {
		w.Add("<div><dt>%s</dt><dd>%s</dd></div>", report.Capitalised(f.Name), f.Value)
	}
}

// figure draws a figure for a screen and for a phone.
func (w *writer) figure(f *report.Figure) {
	w.Add(`<figure id="%s"`, f.Chart.About().ID)
	if z := f.Zoom; z != nil {
		w.Add(` data-track="%s" data-lines="%s" data-unit="%s" data-log="%s"`, z.Data, strings.Join(z.Names, ","), z.Unit, z.Log)
	}
	w.Add(">\n<figcaption>%s</figcaption>\n<div class=\"drawing\">%s</div>\n", f.Chart.About().Title,
		markup.HTML(chart.Both(f.Chart))) // it escapes every text that it draws
	w.AddIf(f.Note != "", "<p class=\"note\">%s</p>\n", f.Note)
	if f.Numbers != nil {
		w.table(f.Numbers)
	}
	w.Add("</figure>\n")
}

func (w *writer) table(t *report.Table) {
	if t.Folded {
		w.Add("<details")
		class := tableClass(t)
		w.AddIf(class != "", ` class="%s"`, class)
		w.Add("><summary>%s</summary>\n", t.Caption)
	}
	w.Add("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"%s\">\n<table>", t.Caption)
	if !t.Folded {
		w.Add("<caption")
		w.AddIf(t.Quiet, ` class="hidden"`)
		w.Add(">%s</caption>", t.Caption)
	}
	w.Add("\n<thead><tr>")
	number := func(i int) bool { return i < len(t.Header) && !t.LeftAligned(i) }
	for i, cell := range t.Header {
		class := "t"
		if number(i) {
			class = "n"
		}
		w.Add(`<th scope="col" class="%s">%s</th>`, class, cell)
	}
	w.Add("</tr></thead>\n<tbody>")
	for _, row := range t.Rows {
		w.Add("\n<tr>")
		for i, cell := range row {
			w.Add("<td")
			w.AddIf(number(i), ` class="n"`)
			w.Add(">%s</td>", cell)
		}
		w.Add("</tr>")
	}
	w.Add("\n</tbody></table></div>\n")
	for _, note := range t.Notes {
		w.Add(`<p class="note">%s</p>`, note)
	}
	w.AddIf(t.Folded, "</details>\n")
}
