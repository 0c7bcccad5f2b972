package serve

import (
	"maps"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/markup"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html"
)

// framed is a page around its content. Its style and script are let in by a nonce.
func (f *frame) framed(nonce string) markup.HTML {
	var w markup.Writer
	w.Add(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
`)
	w.AddIf(f.Refresh > 0 && f.Always, `<meta http-equiv="refresh" content="%s">`, f.Refresh)
	w.AddIf(f.Refresh > 0 && !f.Always, `<noscript><meta http-equiv="refresh" content="%s"></noscript>`, f.Refresh)
	style := html.StyleSheet() + asset("serve.css")
	w.Add("\n<title>%s – plimsoll</title>\n<style nonce=\"%s\">%s</style>\n</head>\n<body", f.Title, nonce, markup.HTML(style))
	w.AddIf(f.Events != "", ` data-events="%s" data-seen="%s" data-final="%s"`, f.Events, f.Seen, f.Final)
	w.AddIf(f.Events != "" && f.Alone, " data-alone")
	w.Add(">\n<a class=\"skip\" href=\"#content\">Skip to the content</a>\n<header>\n")
	if !f.Top {
		all := "All records"
		if f.Alone {
			all = "The record"
		}
		w.Add(`<p class="crumbs"><a href="/">%s</a>`, all)
		w.AddIf(f.File != "", ` <a href="%s" download>Save this report as a file</a>`, f.File)
		w.Add("</p>")
	}
	w.Add("\n<h1>%s</h1>\n", f.Title)
	if f.Events != "" {
		w.Add(`<div class="live">
<p class="now"><strong id="state">Running</strong> <span id="now"></span></p>
<p id="message" role="status"></p>
<div id="actions">%s</div>
</div>`, buttons(f.Buttons))
	}
	script := html.Script() + "\n" + asset("live.js")
	w.Add("\n</header>\n<main id=\"content\">%s</main>\n<script nonce=\"%s\">%s</script>\n</body>\n</html>\n", f.Body, nonce,
		markup.HTML(script))
	return w.HTML()
}

func buttons(list []button) markup.HTML {
	var w markup.Writer
	for _, b := range list {
		if !b.Allowed {
			w.Add(`<p class="note">To %s it from here, open the address with the token that plimsoll printed when it started.</p>`, b.Verb)
			continue
		}
		w.Add(`<form method="post" action="%s"><input type="hidden" name="pid" value="%s">`, b.Action, b.Pid)
		w.AddIf(b.Note != "", "<p>%s</p>", b.Note)
		w.Add("<button>%s</button></form>", b.Label)
	}
	return w.HTML()
}

// html is the content of the opening screen.
func (l *list) html() markup.HTML {
	var w markup.Writer
	w.Add(`<p class="lead">%s.`, l.Summary)
	w.AddIf(l.Total > 0, " Open a record to see its report. Tick two or more to compare them.")
	w.Add("</p>\n")
	if len(l.Running) > 0 {
		w.Add("<section class=\"now-list\" aria-labelledby=\"running\"><h2 id=\"running\">Running now</h2>\n<ul class=\"cards\">")
		for i := range l.Running {
			w.Add("%s", l.Running[i].card())
		}
		w.Add("\n</ul></section>\n")
	}
	w.Add("%s", labsTable(l.Labs))
	w.AddIf(l.LabsHidden, "<p class=\"note\">Labs are shown only with the token: open the address with the token that plimsoll printed when it started.</p>\n")
	if l.Total > 0 {
		w.Add("%s", l.search())
	}
	switch {
	case len(l.Rows) > 0:
		w.Add("%s", l.table())
	case l.Narrowed:
		w.Add(`<p>No record has all of these. <a href="%s">Show all</a></p>`, l.All)
	case len(l.Running) == 0:
		w.Add("<p>There is no record in this folder yet. This command leaves one:</p><pre>plimsoll run --workload a</pre>")
	}
	w.Add("\n")
	return w.HTML()
}

func labsTable(labs []labRow) markup.HTML {
	var w markup.Writer
	if len(labs) == 0 {
		return ""
	}
	w.Add(`<h2>Labs</h2>
<div class="scroll" role="region" tabindex="0" aria-label="Labs">
<table class="records labs">
<thead><tr><th scope="col">Lab</th><th scope="col">State</th><th scope="col">Broken now</th></tr></thead>
<tbody>`)
	for _, r := range labs {
		if r.Running {
			w.Add("\n<tr class=\"running\"><td><a href=\"/lab/%s\">%s</a><small>%s</small></td>\n<td><strong class=\"mark\">%s</strong></td>",
				r.Name, r.Name, r.What, r.State)
		} else {
			w.Add("\n<tr><td>%s<small>%s</small></td>\n<td>%s</td>", r.Name, r.What, r.State)
		}
		w.Add("<td>%s</td></tr>", r.Faults)
	}
	w.Add("\n</tbody></table></div>\n")
	return w.HTML()
}

// search is the form that narrows the list.
func (l *list) search() markup.HTML {
	var w markup.Writer
	title := "Newest results"
	if l.Narrowed {
		title = "Results"
	}
	w.Add("<h2>%s</h2>\n<form method=\"get\" action=\"/\" class=\"search\" role=\"search\">\n", title)
	w.AddIf(l.In != "", `<input type="hidden" name="in" value="%s">`, l.In)
	w.Add("<label class=\"words\">Search <input id=\"q\" name=\"q\" type=\"search\" value=\"%s\" placeholder=\"words, or label=value\"></label>\n", l.Query)
	for _, f := range l.Filters {
		w.Add(`<label>%s <select name="%s"><option value="">any</option>`, f.Title, f.Name)
		for _, o := range f.Options {
			w.Add(`<option value="%s"`, o.Value)
			w.AddIf(o.Chosen, " selected")
			w.Add(">%s</option>", o.Text)
		}
		w.Add("</select></label>\n")
	}
	w.Add("<button>Show</button>")
	w.AddIf(l.Narrowed, ` <a href="%s">Show all</a>`, l.All)
	w.Add("\n</form>\n<p class=\"note\">")
	w.AddIf(l.Narrowed, "%s of ", l.Found)
	w.Add("%s records", l.Total)
	w.AddIf(l.Found > l.Shown, "; the newest %s are shown", l.Shown)
	w.Add("</p>\n")
	return w.HTML()
}

func (l *list) table() markup.HTML {
	var w markup.Writer
	w.Add(`<form method="get" action="/compare">
<p><button>Compare the ticked records</button></p>
<div class="scroll" role="region" tabindex="0" aria-label="Records">
<table class="records">
<thead><tr><th scope="col"><span class="hidden">Compare</span></th><th scope="col">Record</th><th scope="col">Kind</th>` +
		`<th scope="col">Result</th><th scope="col" class="number">Figure, p99</th><th scope="col">Over time</th>` +
		`<th scope="col">Started (UTC)</th></tr></thead>
<tbody>`)
	for i := range l.Rows {
		w.Add("%s", l.Rows[i].html())
	}
	w.Add("\n</tbody></table></div>\n<p><button>Compare the ticked records</button></p>\n</form>")
	return w.HTML()
}

// card is a record that is being written.
func (r *row) card() markup.HTML {
	var w markup.Writer
	w.Add("\n<li><a class=\"title\" href=\"/live/%s\">%s</a>%s\n%s<p><strong class=\"mark\">running</strong> since %s", r.ID, r.Title, r.place(),
		r.Line, moment(r.Started))
	w.AddIf(r.Now != "", ": %s", r.Now)
	w.AddIf(r.Disclosure != "", ` <span class="disclosure">%s</span>`, r.Disclosure)
	w.Add("</p></li>")
	return w.HTML()
}

// html is a row of the table of records.
func (r *row) html() markup.HTML {
	var w markup.Writer
	w.Add("\n<tr")
	w.AddIf(r.Live, ` class="running"`)
	w.Add("><td><input type=\"checkbox\" name=\"r\" value=\"%s\" aria-label=\"Compare %s\"></td>\n<td>%s%s</td>\n<td class=\"kind\">%s</td>"+
		"<td class=\"result\">", r.ID, r.Place, link(&r.Entry), r.place(), r.Kind)
	if r.Live {
		w.Add(`<strong class="mark">running</strong>`)
		w.AddIf(r.Now != "", ": %s", r.Now)
	} else {
		w.Add(`<span class="%s">`, r.Grade)
		w.AddIf(r.Grade != "", `<span class="mark">%s</span> `, report.Point{Grade: r.Grade}.Sign())
		w.AddIf(r.Verdict != "", "%s", r.Verdict)
		w.AddIf(r.Verdict == "", "%s", r.Status)
		w.Add("</span>")
	}
	w.Add("</td>\n<td class=\"number\">")
	if !r.Live {
		w.Add("%s%s", r.Rate, r.Figure)
		w.AddIf(r.P99 != "", "<small>p99 %s</small>", r.P99)
	}
	w.AddIf(r.Disclosure != "", `<small class="disclosure">%s</small>`, r.Disclosure)
	w.Add("</td>\n<td class=\"course\">%s</td>\n<td class=\"when\">%s</td></tr>", r.Line, moment(r.Started))
	return w.HTML()
}

// link leads to the page of a record.
func link(e *Entry) markup.HTML {
	var w markup.Writer
	w.AddIf(e.Live, `<a href="/live/%s">%s</a>`, e.ID, e.Title)
	w.AddIf(!e.Live, `<a href="/record/%s">%s</a>`, e.ID, e.Title)
	return w.HTML()
}

// place says where a record is, and its labels.
func (r *row) place() markup.HTML {
	var w markup.Writer
	w.Add("<small>")
	w.AddIf(r.What != "", "%s · ", r.What)
	w.Add("%s", r.Place)
	for _, k := range slices.Sorted(maps.Keys(r.Labels)) {
		w.Add(" · %s=%s", k, r.Labels[k])
	}
	w.Add("</small>")
	return w.HTML()
}

// moment is a time of the day, "-" if it is not known.
func moment(t time.Time) markup.HTML {
	var w markup.Writer
	text := "-"
	if !t.IsZero() {
		text = t.UTC().Format(time.DateTime)
	}
	w.Add(`<time datetime="%s">%s</time>`, t.UTC().Format(time.RFC3339), text)
	return w.HTML()
}
