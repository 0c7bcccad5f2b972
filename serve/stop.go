package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

var (
	errNoRecord = errors.New("there is no such record: it may have been moved or deleted, belongs to another folder, or has links that lead out of this one")
	errTooMany  = errors.New("too many live pages are open: close some")
	errEnded    = errors.New("nothing writes this record, so there is nothing to stop or to revert")
	errOther    = errors.New("another process writes this record now: reload the page")
)

// asked remembers what was asked of which process, so that a second press means the second step.
type asked struct {
	mu   sync.Mutex
	when map[string]time.Time
}

func askedKey(name, id string, pid int) string { return fmt.Sprintf("%s %s %d", name, id, pid) }

func (a *asked) add(name, id string, pid int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.when == nil || len(a.when) > 1000 {
		a.when = map[string]time.Time{}
	}
	a.when[askedKey(name, id, pid)] = time.Now()
}

func (a *asked) before(name, id string, pid int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ok := a.when[askedKey(name, id, pid)]
	return ok
}

type button struct {
	Action, Label, Note string
	// Verb says what it does, to a client that may not.
	Verb string
	Pid  int
	// Allowed is true for a client that knows the token.
	Allowed bool
}

// buttons are the actions for a record that is being written.
func (s *Server) buttons(r *http.Request, e Entry, dir string) []button {
	pid, held := record.Holder(dir)
	if !held || pid == 0 {
		return nil
	}
	what := cmp.Or(s.partOf(e, pid), e.Kind)
	var list []button
	if lab := s.healable(e); lab != "" {
		list = append(list, button{Action: "/heal/of/" + e.ID, Label: "Revert all faults of the lab " + lab, Verb: "revert", Allowed: s.guard.known(r)})
	}
	stop := button{Action: "/stop/" + e.ID, Label: "Stop the " + what, Verb: "stop", Pid: pid, Allowed: s.guard.known(r)}
	if s.asked.before("stop", e.ID, pid) {
		stop.Label, stop.Note = "End at once", "The "+what+" is ending; it waits for operations in flight."
	}
	return append(list, stop)
}

// partOf returns the kind of record, study or drill, that the process of a run writes around it and that ends with it,
// or "".
func (s *Server) partOf(e Entry, pid int) (kind string) {
	f := s.library.folderOf(e)
	if f == nil {
		return ""
	}
	for p := path.Dir(e.Path); e.Path != "."; p = path.Dir(p) {
		if around, held := record.Holder(f.Dir(Entry{Path: p})); held && around == pid {
			if x, ok := f.Find(f.idOf(p)); ok {
				return x.Kind
			}
		}
		if p == "." || p == "/" {
			return ""
		}
	}
	return ""
}

// healable is the lab that a running record loads, "" if it loads none or if this server cannot heal it.
func (s *Server) healable(e Entry) string {
	if s.o.Labs == nil || spec.CheckLabName(e.Lab) != nil {
		return ""
	}
	return e.Lab
}

var errNothingToHeal = errors.New("this record loads no lab, so there is nothing to revert")

// healOf reverts all faults in the lab that a record loads. The load continues.
func (s *Server) healOf(w http.ResponseWriter, r *http.Request, e Entry, dir string) {
	pid, held := record.Holder(dir)
	lab := s.healable(e)
	switch {
	case !held:
		s.fail(w, http.StatusConflict, errEnded)
		return
	case lab == "":
		s.fail(w, http.StatusConflict, errNothingToHeal)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), writeTimeout)
	defer cancel()
	if err := s.o.Labs.Heal(ctx, lab); err != nil {
		s.fail(w, http.StatusConflict, err)
		return
	}
	s.asked.add("heal", e.ID, pid)
	http.Redirect(w, r, "/live/"+e.ID, http.StatusSeeOther)
}

// stop interrupts a process. The page names its process, because a study that was resumed since has another one.
func (s *Server) stop(w http.ResponseWriter, r *http.Request, e Entry, dir string) {
	pid, held := record.Holder(dir)
	switch {
	case !held:
		s.fail(w, http.StatusConflict, errEnded)
		return
	case r.PostFormValue("pid") != strconv.Itoa(pid) || pid <= 1:
		s.fail(w, http.StatusConflict, errOther)
		return
	}
	if err := record.Interrupt(dir, pid); err != nil {
		s.fail(w, http.StatusInternalServerError, err)
		return
	}
	s.asked.add("stop", e.ID, pid)
	http.Redirect(w, r, "/live/"+e.ID, http.StatusSeeOther)
}
