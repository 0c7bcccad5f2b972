package serve

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/contain"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/markup"
	"github.com/plimsoll-bench/plimsoll/report"
)

// maxRows bounds the list on one page; search and filters reach the others.
const maxRows = 500

// list is the opening screen: what is here, what runs now, the newest results.
type list struct {
	Query string
	// In is the ID of the record whose parts are listed, empty for all records that are part of none.
	In      string
	Summary string
	Filters []filter
	// Narrowed is true if a filter or a search is set; All leads back.
	Narrowed     bool
	All          string
	Total, Found int
	Shown        int // of those that were found
	Running      []row
	Rows         []row
	// Labs are those that run, or that are left. LabsHidden is true where the client would have to bring the token.
	Labs       []labRow
	LabsHidden bool
}

type row struct {
	Entry
	course
	Now markup.HTML // what one that is being written is at
}

// filter is a choice between the values that records have.
type filter struct {
	Name, Title string
	Options     []option
}

type option struct {
	Value, Text string
	Chosen      bool
}

// mostOptions bounds the values of a filter; the search finds the others.
const mostOptions = 100

// filters are the names of the parameters of the list, and what a record has of each.
var filters = []struct {
	name, title string
	values      func(Entry) []string
}{
	{"kind", "Kind", func(e Entry) []string { return []string{e.Kind} }},
	{"target", "Target", func(e Entry) []string { return []string{e.Target} }},
	{"workload", "Workload", func(e Entry) []string { return []string{e.Workload} }},
	{"label", "Label", func(e Entry) (values []string) {
		for k, v := range e.Labels {
			values = append(values, k+"="+v)
		}
		return values
	}},
	{"verdict", "Verdict", func(e Entry) []string {
		switch {
		case e.Live:
			return []string{"running"}
		case e.Grade == report.Good:
			return []string{"good"}
		case e.Grade == report.Warn:
			return []string{"with warnings"}
		case e.Grade == report.Bad:
			return []string{"bad"}
		}
		return nil
	}},
}

// narrow returns the records that have all chosen values, and the choices that there are.
func narrow(all []Entry, chosen url.Values) (found []Entry, choices []filter) {
	found = all
	for _, f := range filters {
		counts := map[string]int{}
		for _, e := range all {
			for _, v := range f.values(e) {
				if v != "" {
					counts[v]++
				}
			}
		}
		want := chosen.Get(f.name)
		if want != "" {
			counts[want] += 0 // a choice that nothing has is shown too
			found = slices.DeleteFunc(slices.Clone(found), func(e Entry) bool { return !slices.Contains(f.values(e), want) })
		}
		if want == "" && !slices.ContainsFunc(slices.Collect(maps.Values(counts)), func(n int) bool { return n < len(all) }) {
			continue // all are alike
		}
		c := filter{Name: f.name, Title: f.title}
		for v, n := range counts {
			c.Options = append(c.Options, option{v, fmt.Sprintf("%s (%d)", v, n), v == want})
		}
		slices.SortFunc(c.Options, func(a, b option) int { return strings.Compare(a.Value, b.Value) })
		c.Options = c.Options[:min(len(c.Options), mostOptions)]
		choices = append(choices, c)
	}
	return found, choices
}

// summary says what is here, such as "14 records in results: 11 runs, 2 studies, 1 drill".
func (s *Server) summary(all []Entry) string {
	counts := map[string]int{}
	for _, e := range all {
		counts[e.Kind]++
	}
	kinds := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for i, kind := range kinds {
		kinds[i] = report.KindText(counts[kind], kind)
	}
	folder := filepath.Base(filepath.Clean(s.o.Dir))
	report.Tidy(&folder)
	text := figure.Plural(len(all), "record") + " in the folder " + folder
	if len(all) == 0 {
		return text
	}
	text += ": " + strings.Join(kinds, ", ")
	newest, oldest := all[0].Started.UTC().Format(time.DateOnly), all[len(all)-1].Started.UTC().Format(time.DateOnly)
	if newest != oldest && !all[len(all)-1].Started.IsZero() {
		text += ", from " + oldest + " to " + newest
	}
	return text
}

// top is the opening screen; of a server for one record it is that record.
func (s *Server) top(w http.ResponseWriter, r *http.Request) {
	if s.o.Alone {
		s.alone(w, r)
		return
	}
	chosen := r.URL.Query()
	q, in := chosen.Get("q"), chosen.Get("in")
	all := Inside(s.library.list(), in)
	found, choices := narrow(all, chosen)
	found = Search(found, q)
	l := list{Query: q, In: in, Total: len(all), Found: len(found), Shown: min(len(found), maxRows), Filters: choices,
		Summary: s.summary(all), All: "/"}
	if in != "" {
		l.All = "/?in=" + url.QueryEscape(in)
	}
	l.Narrowed = q != ""
	for _, f := range filters {
		l.Narrowed = l.Narrowed || chosen.Get(f.name) != ""
	}
	if in == "" {
		l.Labs, l.LabsHidden = s.labRows(r, q), s.o.Labs != nil && !s.guard.known(r)
	}
	lines := mostOfPage
	for i, e := range found[:l.Shown] {
		x := row{Entry: e}
		dir := s.library.dirOf(e)
		if i < mostWithCourse {
			x.course = s.courses.of(e, dir, &lines)
		}
		if e.Live {
			x.Now = nowOf(r.Context(), e, dir, x.course)
		}
		if e.Live && !l.Narrowed {
			l.Running = append(l.Running, x)
		} else {
			l.Rows = append(l.Rows, x)
		}
	}
	title := "Records"
	if e, _, ok := s.library.find(in); in != "" && ok {
		title += " of " + e.Title
	}
	s.show(w, http.StatusOK, frame{Title: title, Top: in == "", Body: l.html()})
}

// nowOf returns the state of a record that is being written, for the list.
func nowOf(ctx context.Context, e Entry, dir string, c course) markup.HTML {
	if !report.Follows(e.Kind) {
		return newNow(ctx, e, dir, nil)()
	}
	if c.Last == "" {
		return "nothing is measured yet"
	}
	return escaped(c.Last + " in the last interval")
}

// Bounds of the small lines in the list.
const (
	mostOfPage     = 24_000 // intervals read for one page; what is missing then is drawn by the next one
	mostCourses    = 4_000  // courses kept
	mostWithCourse = 100    // rows of a page that have one
)

// course is how a record went over time, as the list shows it.
type course struct {
	Line markup.HTML // empty if there is nothing to draw
	Last string      // the throughput of the newest interval, empty if it is not known
}

// courses keeps what was drawn, by the id of the record.
type courses struct {
	mu   sync.Mutex
	kept map[string]keptCourse
}

type keptCourse struct {
	state string // of the files
	course
}

// of returns the course of a record. lines is the number of intervals that may still be read for this page, and is
// reduced by those that were read.
func (c *courses) of(e Entry, dir string, lines *int) course {
	state := stateOf(dir, e.Live)
	c.mu.Lock()
	old, known := c.kept[e.ID]
	c.mu.Unlock()
	if known && old.state == state {
		return old.course
	}
	if *lines <= 0 {
		return course{}
	}
	drawn := course{}
	_ = contain.Panic("the small line of "+e.Place, func() (err error) { // a damaged record has none
		s, err := report.SparkOf(e.Kind, dir, lines)
		if err == nil {
			//nolint:gosec // package chart escapes every text it draws
			drawn = course{Line: markup.HTML(s.Draw()), Last: s.Last}
		}
		return err
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil || len(c.kept) >= mostCourses {
		c.kept = map[string]keptCourse{}
	}
	c.kept[e.ID] = keptCourse{state, drawn}
	return drawn
}
