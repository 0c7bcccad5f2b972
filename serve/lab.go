package serve

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Labs are the labs of a machine, as a page needs them. They are queried while a client follows the page.
type Labs interface {
	// List returns all labs, also those that are half made or whose supervisor is gone, without asking their servers.
	List(ctx context.Context) ([]record.Lab, error)
	// View is a running lab as it is now. Its error says why it cannot be shown.
	View(ctx context.Context, name string) (*report.LabView, error)
	// Heal reverts all faults of a lab.
	Heal(ctx context.Context, name string) error
}

// Labs are polled this often, and may take this long to answer.
const (
	labEvery  = 2 * time.Second
	labAtMost = 15 * time.Second
	listLabs  = 3 * time.Second
	// labGone is the number of failures after which a lab counts as gone.
	labGone = 3
)

// labRow is a lab in the list.
type labRow struct {
	Name, State, What, Faults string
	Running                   bool
}

// labRows are the labs that have all words that are looked for, for a client that knows the token.
func (s *Server) labRows(r *http.Request, words string) []labRow {
	if s.o.Labs == nil || s.o.Alone || !s.guard.known(r) {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), listLabs)
	defer cancel()
	all, err := s.o.Labs.List(ctx)
	if err != nil {
		return nil // records are shown without labs
	}
	var rows []labRow
	for i := range all {
		l := &all[i]
		report.Tidy(l)
		row := labRow{Name: l.Name, State: l.State, What: cmp.Or(l.Problem, report.LabText(l)), Running: l.State == "up" ||
			l.State == "starting"}
		var faults []string
		for _, f := range l.Faults {
			faults = append(faults, f.Action+" of "+f.Target)
		}
		row.Faults = strings.Join(faults, ", ")
		if hasWords(strings.Join([]string{"lab", row.Name, row.State, row.What, row.Faults}, " "), words) {
			rows = append(rows, row)
		}
	}
	return rows
}

var errNoSuchLab = errors.New("there is no such lab on this machine")

// named answers with the lab that the address names.
func (s *Server) named(answer func(http.ResponseWriter, *http.Request, string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		if spec.CheckLabName(name) != nil {
			s.fail(w, http.StatusNotFound, errNoSuchLab)
			return
		}
		answer(w, r, name)
	}
}

// lab shows a lab, and follows it.
func (s *Server) lab(w http.ResponseWriter, r *http.Request, name string) {
	ctx, cancel := context.WithTimeout(r.Context(), labAtMost)
	defer cancel()
	pic, err := s.labPicture(ctx, name)
	if err != nil {
		s.fail(w, http.StatusNotFound, err)
		return
	}
	s.show(w, http.StatusOK, frame{
		Title: pic.title, Body: pic.body, Refresh: 10, Events: "/lab/" + name + "/events", Seen: pic.id, Final: "/",
		Buttons: []button{{Action: "/heal/" + name, Label: "Revert all faults", Verb: "revert", Allowed: s.guard.known(r)}},
	})
}

func (s *Server) labPicture(ctx context.Context, name string) (*picture, error) {
	v, err := s.o.Labs.View(ctx, name)
	if err != nil {
		return nil, err
	}
	v.Past = s.labPasts.add(name, v.Usage, time.Now())
	now := escaped(v.Health())
	pic, err := s.pages.pictureOf(report.PageOf(v, report.PageOptions{Tool: s.o.Tool}))
	pic.now = now
	return pic, err
}

func (s *Server) labEvents(w http.ResponseWriter, r *http.Request, name string) {
	s.streamTo(w, r, func() (*follower, func()) {
		return s.followWith(Entry{ID: "lab:" + name}, "", func(f *follower, ctx context.Context) { f.labLoop(ctx, name) })
	})
}

// labLoop polls a lab until the lab is gone or no client follows it.
func (f *follower) labLoop(ctx context.Context, name string) {
	defer close(f.done)
	defer f.cancel()
	tick := time.NewTicker(labEvery)
	defer tick.Stop()
	for missed := 0; ; {
		looking, cancel := context.WithTimeout(ctx, labAtMost)
		pic, err := f.s.labPicture(looking, name)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if missed++; err == nil {
			missed = 0
			f.set(func(p *present) bool {
				changed := p.picture == nil || p.picture.body != pic.body
				if changed {
					p.picture = pic
				}
				changed = changed || p.now != pic.now
				p.now = pic.now
				return changed
			})
		}
		if missed == labGone {
			f.finish()
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-f.wake:
		}
	}
}

// heal reverts all faults of a lab.
func (s *Server) heal(w http.ResponseWriter, r *http.Request, name string) {
	ctx, cancel := context.WithTimeout(r.Context(), writeTimeout)
	defer cancel()
	if err := s.o.Labs.Heal(ctx, name); err != nil {
		s.fail(w, http.StatusConflict, err)
		return
	}
	http.Redirect(w, r, "/lab/"+name, http.StatusSeeOther)
}

// The bounds of the past usage of a lab: some minutes, unless nobody has looked for a while.
const (
	mostMoments = 300
	momentEvery = time.Second
	pastAtMost  = time.Minute
	mostPasts   = 100
)

// labPasts is the past usage of the hosts of labs, for pages that are opened later.
type labPasts struct {
	mu sync.Mutex
	of map[string][]report.LabMoment
}

// add keeps a moment of a lab and returns all that are kept of it.
func (p *labPasts) add(name string, usage []record.LabUsage, at time.Time) []report.LabMoment {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil || len(p.of) > mostPasts {
		p.of = map[string][]report.LabMoment{}
	}
	past := p.of[name]
	if n := len(past); n > 0 {
		switch since := at.Sub(past[n-1].At); {
		case since > pastAtMost:
			past = nil // a line over a gap would be no more than its ends
		case since < momentEvery:
			return copies(past)
		}
	}
	past = append(past, report.LabMoment{At: at, Usage: usage})
	p.of[name] = slices.Clone(past[max(0, len(past)-mostMoments):])
	return copies(p.of[name])
}

// copies returns moments that the caller may change: a page removes what must not be shown.
func copies(past []report.LabMoment) []report.LabMoment {
	list := make([]report.LabMoment, len(past))
	for i, m := range past {
		list[i] = report.LabMoment{At: m.At, Usage: slices.Clone(m.Usage)}
	}
	return list
}
