package load

import (
	"fmt"
	"runtime"
	"time"

	"github.com/prometheus/procfs"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/loop"
)

const (
	// spreadEvery is the time between two looks at the event loops.
	spreadEvery = int64(time.Second)
	// busyLoop is the share of that time from which a loop is the limit of the load.
	busyLoop = 0.8
	// idleCores must have been idle on this machine in that time, for one more loop.
	idleCores = 0.5
)

// spread starts further event loops while one is busy and cores are idle. It belongs to the controller.
type spread struct {
	looked int64
	busy   []time.Duration // of each loop, until then
	idle   float64         // seconds of all cores until then
	proc   *procfs.FS      // nil if this system does not tell
	// look returns the share of the time since the last look in which the busiest loop was busy, and how many cores were
	// idle, 0 if that is unknown.
	look func(now int64, loops []*eventLoop) (busiest, idle float64)
}

func (s *spread) begin(now int64) {
	s.looked = now
	if s.look == nil {
		s.look = s.measure
	}
	if fs, err := procfs.NewDefaultFS(); err == nil {
		s.proc = &fs
	}
	s.idle, _ = s.idleSeconds()
}

func (s *spread) idleSeconds() (float64, bool) {
	if s.proc == nil {
		return 0, false
	}
	stat, err := s.proc.Stat()
	return stat.CPUTotal.Idle + stat.CPUTotal.Iowait, err == nil
}

// measure is look outside of tests.
func (s *spread) measure(now int64, loops []*eventLoop) (busiest, idle float64) {
	passed := float64(now - s.looked)
	for i, l := range loops {
		busy := l.loop.Use().Busy
		if i == len(s.busy) {
			s.busy = append(s.busy, 0)
		}
		busiest = max(busiest, float64(busy-s.busy[i])/passed)
		s.busy[i] = busy
	}
	if seconds, ok := s.idleSeconds(); ok {
		idle, s.idle = (seconds-s.idle)*1e9/passed, seconds
	}
	return min(1, busiest), idle
}

// spreadLoops starts one more event loop if one is the limit of the load although cores are idle, and invites its share
// of the workers.
func (c *controller) spreadLoops(now int64) {
	if len(c.loops) == 0 || len(c.loops) >= c.mostLoops() || now-c.spread.looked < spreadEvery || c.stopping.Load() {
		return
	}
	busiest, idle := c.spread.look(now, c.loops)
	c.spread.looked = now
	if busiest < busyLoop || idle < idleCores {
		return
	}
	if err := c.addLoop(); err != nil {
		c.event(now, EventLoops, err.Error())
		c.spread.proc = nil // there is nothing to try again
		return
	}
	c.event(now, EventLoops, fmt.Sprintf("the busiest of %s was busy for %s of the time and %.1f cores were idle: there is one more",
		figure.Plural(len(c.loops)-1, "event loop"), figure.Percent(busiest), idle))
}

// mostLoops is the largest number of event loops.
func (c *pool) mostLoops() int { return min(runtime.GOMAXPROCS(0), len(c.workers)) }

// addLoop starts an event loop. With n loops, it invites each n-th worker.
func (c *controller) addLoop() error {
	l, err := loop.New(c.base)
	if err != nil {
		return err
	}
	added := &eventLoop{loop: l, rec: c.counts.recorders(), sharing: 1}
	n := len(c.loops) + 1
	for i := n - 1; i < len(c.workers); i += n {
		if c.tasks[i].Invited() {
			continue // it has not moved to an earlier loop yet, or has ended
		}
		c.workers[i].goal.Store(added) // before the worker can move
		l.Invite(c.tasks[i])
	}
	c.loops = append(c.loops, added)
	go l.Run()
	return nil
}

// move continues the worker between two operations on the loop that invited it. The last worker with the warm-up's
// recorder of its loop stays until it no longer needs it.
func (w *worker) move(t *loop.Task) {
	warming := w.rec[warm] != nil
	if warming && *w.sharing == 1 {
		return
	}
	if warming {
		*w.sharing--
	}
	to := w.goal.Load()
	if !t.Move() {
		if warming {
			*w.sharing++
		}
		return
	}
	w.rec, w.sharing = to.rec, &to.sharing
	if warming {
		*w.sharing++
	} else {
		w.rec[warm] = nil
	}
}
