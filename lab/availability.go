package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// availability watches the members, tells how they end, and starts them again where that was asked for: on their
// host, or on another one when that is dead.
type availability struct {
	*core
	asked     spec.Availability
	inventory *inventory
	roster    *roster
	memory    *memoryWatch
	storage   *storage
	inPlace   *inPlace
}

// restartGrace is how long a member may be down before it counts as dead: some are started again by the cluster itself,
// as when a standby follows another primary.
const restartGrace = time.Second

// watch tells about members that end by themselves, until the lab stops.
func (a *availability) watch(all *sync.WaitGroup, cluster topology.Cluster) {
	for _, n := range cluster.Nodes() {
		all.Go(func() { a.watchMember(n) })
	}
}

// watchMember sleeps until a member ends. It looks again and again only while one is down.
func (a *availability) watchMember(n engine.Node) {
	for {
		ended := n.Ended()
		if ended != nil {
			select {
			case <-ended:
			case <-a.ctx.Done():
				return
			}
		}
		if !a.pause(restartGrace) {
			return
		}
		if n.Status().Running {
			continue
		}
		if why := a.roster.whyDown(n.Name()); why == "" {
			a.died(n)
		} else {
			a.event("member", n.Name()+" is down: "+why, map[string]string{"member": n.Name()})
		}
		for !n.Status().Running {
			if !a.pause(restartGrace / 2) {
				return
			}
		}
		a.roster.setCause(n.Name(), "")
		a.event("member", n.Name()+" runs again on "+n.Host().Name(), map[string]string{"member": n.Name(), "host": n.Host().Name()})
	}
}

// asked says whether a node was ended by its cluster, which also starts it again: one that was primary, or went another
// way than the others.
func asked(n engine.Node) bool {
	asked, ok := n.(interface{ Asked() bool })
	return ok && asked.Asked()
}

// died tells of a member that ended without a fault that was asked for, and starts it again where that was asked for.
func (a *availability) died(n engine.Node) {
	if asked(n) {
		a.event("member", n.Name()+" was stopped by the lab, to join again", map[string]string{"member": n.Name()})
	} else {
		a.tellDeath(n)
	}
	if !a.asked.Restart || !a.pause(a.asked.RestartAfter.Std()) {
		return
	}
	for told := ""; ; {
		err := a.startAgain(n)
		if err == nil {
			return
		}
		if told != err.Error() {
			told = err.Error()
			a.event("problem", "restart, which is tried again: "+told, map[string]string{"member": n.Name()})
		}
		if !a.pause(max(retryAfter, a.asked.RestartAfter.Std())) {
			return
		}
	}
}

// tellDeath tells how a member ended, and why as far as that is known.
func (a *availability) tellDeath(n engine.Node) {
	data := map[string]string{"member": n.Name()}
	why := a.memory.blame(n)
	if why != "" {
		data["cause"] = outOfMemory
		a.roster.setCause(n.Name(), why)
	} else {
		why = howEnded(n)
	}
	a.event("problem", n.Name()+" has ended by itself: "+why, data)
}

// startAgain starts a member that ended by itself, unless a fault keeps it down by now.
func (a *availability) startAgain(n engine.Node) error {
	defer a.locks.lock("member/" + n.Name())()
	if a.roster.whyDown(n.Name()) != "" || n.Status().Running {
		return nil
	}
	if err := a.roster.giveBack(n.Name()); err != nil {
		return err
	}
	a.event("restart", n.Name()+" was started again on "+n.Host().Name(), map[string]string{"member": n.Name(), "host": n.Host().Name()})
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

// lost begins the count after which the members of a dead host are started elsewhere.
func (a *availability) lost(x *fault) {
	if !a.asked.Restart {
		return
	}
	time.AfterFunc(a.asked.RestartAfter.Std(), func() {
		if a.ctx.Err() == nil && a.inPlace.has(x) {
			a.evacuate(x)
		}
	})
}

// retryAfter is the pause before a member that could not be started is tried again.
const retryAfter = 2 * time.Second

// evacuate starts the members of a dead host on others, with their volumes, as vSphere HA and Kubernetes do. They stay
// there when the host comes back. What cannot be started is tried again as long as the host is dead; why is told when
// it changes.
func (a *availability) evacuate(x *fault) {
	told := map[string]string{}
	for again := true; again; again = again && a.pause(retryAfter) {
		again = a.evacuateOnce(x, told)
	}
}

// evacuateOnce tries each member of a dead host once, and says whether some are left.
func (a *availability) evacuateOnce(x *fault, told map[string]string) (left bool) {
	defer a.locks.lock(keys(x.job)...)()
	if x.job.Host.State() != host.Off || !a.inPlace.has(x) {
		return false
	}
	for _, name := range a.inventory.standingOn(x.job.Host) {
		err := a.restartElsewhere(name, x.job.Host)
		if err == nil {
			continue
		}
		left = true
		if told[name] != err.Error() {
			told[name] = err.Error()
			a.event("problem", fmt.Sprintf("%s could not be started on another host, and is tried again: %v", name, err),
				map[string]string{"member": name, "host": x.job.Host.Name()})
		}
	}
	return left
}

func (a *availability) restartElsewhere(name string, dead host.Host) error {
	defer a.locks.lock("member/" + name)()
	cluster := a.inventory.running()
	if cluster == nil {
		return nil
	}
	n, ok := cluster.Node(name)
	if !ok || n.Host().Name() != dead.Name() || n.Status().Running {
		return nil
	}
	rooms := a.roomsFor(n, dead)
	if len(rooms) == 0 {
		return fmt.Errorf("no other host of the role %s has power", dead.Role())
	}
	ctx, cancel := context.WithTimeout(a.ctx, healLimit)
	defer cancel()
	if err := a.storage.reachable(ctx, name); err != nil {
		return err
	}
	var all error
	for _, to := range rooms {
		err := a.startOn(ctx, n, to, dead)
		if err == nil {
			a.inPlace.remove(a.inPlace.all(func(f *fault) bool { return f.isOf(name) })...) // what had ended it there
			a.event("restart", fmt.Sprintf("%s was started on %s, because %s is dead", name, to.Name(), dead.Name()),
				map[string]string{"member": name, "host": to.Name(), "from": dead.Name()})
			return nil
		}
		all = errors.Join(all, fmt.Errorf("on %s: %w", to.Name(), err))
	}
	return all
}

// startOn moves a member and starts it. One that does not start stands on its old host again, so that it is tried again
// or comes back with that host.
func (a *availability) startOn(ctx context.Context, n engine.Node, to, old host.Host) error {
	if err := n.Move(to); err != nil {
		return err
	}
	err := a.roster.giveBack(n.Name())
	if err == nil {
		return nil
	}
	if n.Status().Running { // half started
		err = errors.Join(err, n.Kill())
	}
	return errors.Join(err, n.Move(old))
}

// roomsFor are the hosts that a member can be started on, the best first: of the same role, with power, with the fewest
// members of its set and then the fewest members at all.
func (a *availability) roomsFor(n engine.Node, dead host.Host) []host.Host {
	layout := a.inventory.layout()
	var rooms []host.Host
	weights := map[string]int{}
	for _, plan := range layout.Hosts {
		h := a.inventory.host(plan.Name)
		if h == nil || plan.Role != dead.Role() || h.State() != host.On || h.Name() == dead.Name() {
			continue
		}
		for _, other := range a.inventory.standingOn(h) {
			weights[h.Name()]++
			if a.inventory.setOf(other) == a.inventory.setOf(n.Name()) {
				weights[h.Name()] += 1000
			}
		}
		rooms = append(rooms, h)
	}
	slices.SortStableFunc(rooms, func(x, y host.Host) int { return weights[x.Name()] - weights[y.Name()] })
	return rooms
}
