package serve

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// handler is all addresses. The guard comes before everything, also before the redirections of the mux itself.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, h := range map[string]http.HandlerFunc{
		"/{$}": s.top, "/compare": s.compare, "/record/{id}": s.found(s.record), "/report/{id}": s.found(s.report),
		"/live/{id}": s.found(s.live), "/live/{id}/events": s.found(s.events),
	} {
		mux.HandleFunc(pattern, h)
	}
	demands := map[string]demand{"/lab/{name}": showsLab, "/lab/{name}/events": showsLab}
	demands["/stop/{id}"] = changes
	mux.HandleFunc("/stop/{id}", s.found(s.stop))
	if s.o.Labs != nil && !s.o.Alone {
		mux.HandleFunc("/lab/{name}", s.named(s.lab))
		mux.HandleFunc("/lab/{name}/events", s.named(s.labEvents))
		mux.HandleFunc("/heal/{name}", s.named(s.heal))
		demands["/heal/{name}"] = changes
	}
	if s.o.Labs != nil {
		mux.HandleFunc("/heal/of/{id}", s.found(s.healOf))
		demands["/heal/of/{id}"] = changes
	}
	if s.meters != nil {
		mux.HandleFunc("/metrics", s.meters.handler().ServeHTTP)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, http.StatusNotFound, errors.New("there is nothing at this address"))
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

// found answers with the record that the address names.
func (s *Server) found(answer func(http.ResponseWriter, *http.Request, Entry, string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		e, dir, ok := s.library.find(r.PathValue("id"))
		if !ok {
			s.fail(w, http.StatusNotFound, errNoRecord)
			return
		}
		answer(w, r, e, dir)
	}
}

func (s *Server) record(w http.ResponseWriter, r *http.Request, e Entry, dir string) {
	if e.Live {
		http.Redirect(w, r, "/live/"+e.ID, http.StatusSeeOther)
		return
	}
	pic, err := s.pages.of(e.ID, dir)
	if err != nil {
		s.fail(w, http.StatusInternalServerError, err)
		return
	}
	s.show(w, http.StatusOK, frame{Title: pic.title, Entry: e, File: "/report/" + e.ID, Body: s.partLinks(e) + pic.body})
}

func (s *Server) live(w http.ResponseWriter, r *http.Request, e Entry, dir string) {
	if !e.Live {
		http.Redirect(w, r, "/record/"+e.ID, http.StatusSeeOther)
		return
	}
	pic, err := s.pages.of(e.ID, dir)
	if err != nil {
		s.fail(w, http.StatusInternalServerError, err)
		return
	}
	s.show(w, http.StatusOK, frame{
		Title: pic.title, Entry: e, Body: pic.body, Refresh: 10, Events: "/live/" + e.ID + "/events", Seen: pic.id,
		Final: "/record/" + e.ID, Buttons: s.buttons(r, e, dir),
	})
}

func (s *Server) report(w http.ResponseWriter, _ *http.Request, e Entry, dir string) {
	raw, err := s.pages.write([]shown{{dir, e.Live}})
	if err != nil {
		s.fail(w, http.StatusInternalServerError, err)
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
		s.fail(w, http.StatusBadRequest, fmt.Errorf("tick between 2 and %d records to compare", maxCompared))
		return
	}
	type side struct {
		shown
		began time.Time
	}
	var all []side
	for _, id := range ids {
		e, dir, ok := s.library.find(id)
		if !ok {
			s.fail(w, http.StatusNotFound, errNoRecord)
			return
		}
		all = append(all, side{shown{dir, e.Live}, e.Started})
	}
	slices.SortStableFunc(all, func(a, b side) int { return a.began.Compare(b.began) }) // what was before is the baseline
	var records []shown
	for _, x := range all {
		records = append(records, x.shown)
	}
	pic, err := s.pages.picture(records)
	if err != nil {
		s.fail(w, http.StatusInternalServerError, err)
		return
	}
	s.show(w, http.StatusOK, frame{Title: pic.title, Body: compareNote + pic.body})
}

func (s *Server) fail(w http.ResponseWriter, status int, err error) {
	s.show(w, status, frame{Title: http.StatusText(status), Body: "<p>" + escaped(err.Error()) + "</p>"})
}
