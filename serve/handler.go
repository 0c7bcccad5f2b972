package serve

import (
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/report/html"
)

// handler is all addresses. The guard comes before everything, also before the redirections of the mux itself.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, h := range map[string]http.HandlerFunc{
		"/{$}": s.top, "/compare": s.compare, "/record/{id}": s.record, "/report/{id}": s.report,
		"/live/{id}": s.live, "/live/{id}/events": s.events,
	} {
		mux.HandleFunc(pattern, h)
	}
	demands := map[string]demand{"/lab/{name}": showsLab, "/lab/{name}/events": showsLab}
	for _, a := range s.actions {
		pattern := "/" + a.Name + "/{id}"
		demands[pattern] = changes
		mux.HandleFunc(pattern, s.act(a))
	}
	if s.o.Labs != nil && !s.o.Alone {
		mux.HandleFunc("/lab/{name}", s.lab)
		mux.HandleFunc("/lab/{name}/events", s.labEvents)
		mux.HandleFunc("/heal/{name}", s.heal)
		demands["/heal/{name}"] = changes
	}
	if s.o.Labs != nil {
		mux.HandleFunc("/heal/of/{id}", s.healOf)
		demands["/heal/of/{id}"] = changes
	}
	if s.meters != nil {
		mux.HandleFunc("/metrics", s.meters.handler().ServeHTTP)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, http.StatusNotFound, errors.New("there is nothing at this address"))
	})
	return s.guarded(mux, demands)
}

// guarded lets the guard decide about a request before anything else does something with it. demands has the patterns
// of what does more than show records.
func (s *Server) guarded(mux *http.ServeMux, demands map[string]demand) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, pattern := mux.Handler(r)
		headers(w.Header())
		w.Header().Set("Content-Security-Policy", policy("none"))
		if status, err := s.guard.check(r, demands[pattern]); err != nil {
			http.Error(w, err.Error(), status) // not even a page: the client is not known
			return
		}
		if s.guard.keep(w, r) {
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		mux.ServeHTTP(w, r)
	}
}

func (s *Server) alone(w http.ResponseWriter, r *http.Request) {
	e, _, ok := s.library.find(idOf("."))
	if !ok {
		s.show(w, http.StatusOK, frame{Title: "Nothing is written yet", Top: true, Refresh: 1, Always: true,
			Body: "<p>The record does not exist yet. This page reloads every second.</p>"})
		return
	}
	to := "/record/"
	if e.Live {
		to = "/live/"
	}
	http.Redirect(w, r, to+e.ID, http.StatusSeeOther)
}

func (s *Server) record(w http.ResponseWriter, r *http.Request) {
	e, dir, ok := s.library.find(r.PathValue("id"))
	if !ok {
		s.fail(w, r, http.StatusNotFound, errNoRecord)
		return
	}
	if e.Live {
		http.Redirect(w, r, "/live/"+e.ID, http.StatusSeeOther)
		return
	}
	pic, err := s.pages.of(e.ID, dir)
	if err != nil {
		s.fail(w, r, http.StatusInternalServerError, err)
		return
	}
	s.show(w, http.StatusOK, frame{Title: pic.title, Entry: e, File: "/report/" + e.ID, Body: s.partLinks(e) + pic.body})
}

func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	e, dir, ok := s.library.find(r.PathValue("id"))
	if !ok {
		s.fail(w, r, http.StatusNotFound, errNoRecord)
		return
	}
	if !e.Live {
		http.Redirect(w, r, "/record/"+e.ID, http.StatusSeeOther)
		return
	}
	pic, err := s.pages.of(e.ID, dir)
	if err != nil {
		s.fail(w, r, http.StatusInternalServerError, err)
		return
	}
	s.show(w, http.StatusOK, frame{
		Title: pic.title, Entry: e, Body: pic.body, Refresh: 10, Events: "/live/" + e.ID + "/events", Seen: pic.id,
		Final: "/record/" + e.ID, Buttons: s.buttons(r, e, dir),
	})
}

func (s *Server) report(w http.ResponseWriter, r *http.Request) {
	e, dir, ok := s.library.find(r.PathValue("id"))
	if !ok {
		s.fail(w, r, http.StatusNotFound, errNoRecord)
		return
	}
	raw, err := s.pages.write([]shown{{dir, e.Live}})
	if err != nil {
		s.fail(w, r, http.StatusInternalServerError, err)
		return
	}
	h := w.Header()
	// The page has a policy of its own, by the hashes of its style and script; this one adds what only a header can say.
	h.Set("Content-Security-Policy", "sandbox allow-scripts; frame-ancestors 'none'")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="`+fileName(e.Path)+`"`)
	_, _ = w.Write(raw) // the client may be gone
}

// fileName is a name that every system takes.
func fileName(path string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, path[strings.LastIndexByte(path, '/')+1:])
	name = strings.Trim(name[:min(len(name), 80)], "-")
	if name == "" {
		name = "report"
	}
	return name + ".html"
}

// maxCompared bounds how many records a page compares.
const maxCompared = 20

// compareNote says how the sides were judged, and how that is kept.
const compareNote = `<p class="note">The oldest record is the baseline. Use plimsoll compare OLD NEW to choose metrics and margins; with --out DIR in this folder, the comparison is listed here.</p>`

// compare holds records against the oldest of them.
func (s *Server) compare(w http.ResponseWriter, r *http.Request) {
	ids := r.URL.Query()["r"]
	if len(ids) < 2 || len(ids) > maxCompared {
		s.fail(w, r, http.StatusBadRequest, fmt.Errorf("tick between 2 and %d records to compare", maxCompared))
		return
	}
	type found struct {
		shown
		began time.Time
	}
	var all []found
	for _, id := range ids {
		e, dir, ok := s.library.find(id)
		if !ok {
			s.fail(w, r, http.StatusNotFound, errNoRecord)
			return
		}
		all = append(all, found{shown{dir, e.Live}, e.Started})
	}
	slices.SortStableFunc(all, func(a, b found) int { return a.began.Compare(b.began) }) // what was before is the baseline
	var records []shown
	for _, x := range all {
		records = append(records, x.shown)
	}
	raw, err := s.pages.write(records)
	if err != nil {
		s.fail(w, r, http.StatusInternalServerError, err)
		return
	}
	pic, err := split(raw)
	if err != nil {
		s.fail(w, r, http.StatusInternalServerError, err)
		return
	}
	s.show(w, http.StatusOK, frame{Title: pic.title, Body: compareNote + pic.body})
}

func (s *Server) fail(w http.ResponseWriter, _ *http.Request, status int, err error) {
	text := err.Error()
	html.Tidy(&text)
	//nolint:gosec // escaped here
	s.show(w, status, frame{Title: http.StatusText(status),
		Body: template.HTML("<p>" + template.HTMLEscapeString(text) + "</p>")})
}
