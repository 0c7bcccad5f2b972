package serve

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html"
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
	var b bytes.Buffer
	if err := html.WritePage(&b, report.PageOf(v, report.PageOptions{Tool: s.o.Tool})); err != nil {
		return nil, err
	}
	pic, err := split(b.Bytes())
	if err != nil {
		return nil, err
	}
	pic.id = fmt.Sprintf("%s-%d", s.pages.born, s.pages.count.Add(1))
	pic.now = escaped(v.Health())
	return pic, nil
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
