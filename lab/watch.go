package lab

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

// restartGrace is how long a member may be down before it counts as dead: some are started again by the cluster itself,
// as when a standby follows another primary.
const restartGrace = time.Second

// ends notes that members end on purpose, so that nobody calls it a problem.
func (s *supervisor) ends(members []string, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range members {
		s.down[m] = why
	}
}

// returned notes that a member runs again.
func (s *supervisor) returned(member string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.down, member)
}

func (s *supervisor) whyDown(member string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down[member]
}

// watchMembers tells about members that end by themselves, until the lab stops.
func (s *supervisor) watchMembers(all *sync.WaitGroup) {
	for _, n := range s.cluster.Nodes() {
		all.Go(func() { s.watchMember(n) })
	}
}

// watchMember sleeps until a member ends. It looks again and again only while one is down.
func (s *supervisor) watchMember(n engine.Node) {
	for {
		ended := n.Ended()
		if ended != nil {
			select {
			case <-ended:
			case <-s.ctx.Done():
				return
			}
		}
		if !s.pause(restartGrace) {
			return
		}
		if n.Status().Running {
			continue
		}
		if why := s.whyDown(n.Name()); why == "" {
			s.died(n)
		} else {
			s.event("member", n.Name()+" is down: "+why, map[string]string{"member": n.Name()})
		}
		for !n.Status().Running {
			if !s.pause(restartGrace / 2) {
				return
			}
		}
		s.setCause(n.Name(), "")
		s.event("member", n.Name()+" runs again on "+n.Host().Name(), map[string]string{"member": n.Name(), "host": n.Host().Name()})
	}
}

// asked says whether a node was ended by its cluster, which also starts it again: one that was primary, or went another
// way than the others.
func asked(n engine.Node) bool {
	a, ok := n.(interface{ Asked() bool })
	return ok && a.Asked()
}

// pause waits, and says false when the lab stops.
func (s *supervisor) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return s.ctx.Err() == nil
	case <-s.ctx.Done():
		return false
	}
}

// died tells of a member that ended without a fault that was asked for, and starts it again where that was asked for.
func (s *supervisor) died(n engine.Node) {
	if asked(n) {
		s.event("member", n.Name()+" was stopped by the lab, to join again", map[string]string{"member": n.Name()})
	} else {
		s.tellDeath(n)
	}
	a := s.order.Spec.Availability
	if !a.Restart || !s.pause(a.RestartAfter.Std()) {
		return
	}
	for told := ""; ; {
		err := s.startAgain(n)
		if err == nil {
			return
		}
		if told != err.Error() {
			told = err.Error()
			s.event("problem", "restart, which is tried again: "+told, map[string]string{"member": n.Name()})
		}
		if !s.pause(max(retryAfter, a.RestartAfter.Std())) {
			return
		}
	}
}

// tellDeath tells how a member ended, and why as far as that is known.
func (s *supervisor) tellDeath(n engine.Node) {
	data := map[string]string{"member": n.Name()}
	why := s.blame(n)
	if why != "" {
		data["cause"] = outOfMemory
		s.setCause(n.Name(), why)
	} else {
		why = howEnded(n)
	}
	s.event("problem", n.Name()+" has ended by itself: "+why, data)
}

// startAgain starts a member that ended by itself, unless a fault keeps it down by now.
func (s *supervisor) startAgain(n engine.Node) error {
	defer s.locks.lock("member/" + n.Name())()
	if s.whyDown(n.Name()) != "" || n.Status().Running {
		return nil
	}
	if err := s.giveBack(n.Name()); err != nil {
		return err
	}
	s.event("restart", n.Name()+" was started again on "+n.Host().Name(), map[string]string{"member": n.Name(), "host": n.Host().Name()})
	return nil
}

// howEnded says how the processes of a member ended.
func howEnded(n engine.Node) string {
	var ends []string
	for _, p := range n.Status().Processes {
		if !p.Running {
			ends = append(ends, p.Role+": "+p.Exit)
		}
	}
	return strings.Join(ends, ", ")
}

// amongst ends a sentence about a name that is not there.
func amongst(name string, names []string) string {
	slices.Sort(names)
	if len(names) == 0 {
		return ""
	}
	return nearest.DidYouMean(name, names) + " (there are: " + strings.Join(names, ", ") + ")"
}
