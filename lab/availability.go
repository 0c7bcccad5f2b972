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
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// availability watches the members and writes an event when one ends. If the specification has availability.restart, it
// restarts the member: on its host, or on another one if its host has no power.
type availability struct {
	*core
	policy    spec.Availability
	inventory *inventory
	roster    *roster
	memory    *memoryWatch
	storage   *storage
	inPlace   *inPlace
}

// restartGrace is how long a member may be down before it counts as dead. The cluster itself restarts some members,
// such as a standby that follows a new primary.
const restartGrace = time.Second

func (a *availability) watch(all *sync.WaitGroup, cluster topology.Cluster) {
	for _, n := range cluster.Nodes() {
		all.Go(func() { a.watchMember(n) })
	}
}

// watchMember waits until the member ends, and polls it only while it is down.
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
		a.event("member", n.Name()+" runs again on "+n.Host().Name(),
			map[string]string{"member": n.Name(), "host": n.Host().Name()})
	}
}

// died writes an event about a member that ended without a fault, and restarts it if the specification says so.
func (a *availability) died(n engine.Node) {
	a.reportDeath(n)
	if !a.policy.Restart || !a.pause(a.policy.RestartAfter.Std()) {
		return
	}
	for last := ""; ; {
		err := a.restart(n)
		if err == nil {
			return
		}
		if last != err.Error() {
			last = err.Error()
			a.event("problem", "cannot restart "+n.Name()+"; the lab retries: "+last, map[string]string{"member": n.Name()})
		}
		if !a.pause(max(retryAfter, a.policy.RestartAfter.Std())) {
			return
		}
	}
}

// reportDeath writes an event with the exit status of a member, or with the cause if that is known.
func (a *availability) reportDeath(n engine.Node) {
	data := map[string]string{"member": n.Name()}
	why := a.memory.causeOf(n)
	if why != "" {
		data["cause"] = record.CauseOutOfMemory
		a.roster.setCause(n.Name(), why)
	} else {
		why = howEnded(n)
	}
	a.event("problem", n.Name()+" ended unexpectedly: "+why, data)
}

// restart starts a member that ended unexpectedly, unless a fault keeps it down by now.
func (a *availability) restart(n engine.Node) error {
	defer a.locks.lock("member/" + n.Name())()
	if a.roster.whyDown(n.Name()) != "" || n.Status().Running {
		return nil
	}
	if err := a.roster.rejoin(n.Name()); err != nil {
		return err
	}
	a.event("restart", n.Name()+" was restarted on "+n.Host().Name(),
		map[string]string{"member": n.Name(), "host": n.Host().Name()})
	return nil
}

// howEnded lists the exit statuses of the processes of a member.
func howEnded(n engine.Node) string {
	var ends []string
	for _, p := range n.Status().Processes {
		if !p.Running {
			ends = append(ends, p.Role+": "+p.Exit)
		}
	}
	return strings.Join(ends, ", ")
}

// hostLost schedules the restart of the members of a dead host on other hosts.
func (a *availability) hostLost(x *injected) {
	if !a.policy.Restart {
		return
	}
	time.AfterFunc(a.policy.RestartAfter.Std(), func() {
		if a.ctx.Err() == nil && a.inPlace.has(x) {
			a.evacuate(x)
		}
	})
}

// retryAfter is the shortest pause between two attempts to start a member.
const retryAfter = 2 * time.Second

// evacuate starts the members of a dead host on other hosts, with their volumes, as vSphere HA and Kubernetes do. They
// stay there when the host returns. The lab retries failed starts as long as the host is dead.
func (a *availability) evacuate(x *injected) {
	reported := map[string]string{} // the last error by member
	for again := true; again; again = again && a.pause(retryAfter) {
		again = a.evacuateOnce(x, reported)
	}
}

// evacuateOnce tries each member of a dead host once, and says whether some are left.
func (a *availability) evacuateOnce(x *injected, reported map[string]string) (left bool) {
	defer a.locks.lock(keys(x.job)...)()
	if x.job.Host.State() != host.Off || !a.inPlace.has(x) {
		return false
	}
	for _, name := range a.inventory.membersOn(x.job.Host) {
		err := a.restartElsewhere(name, x.job.Host)
		if err == nil {
			continue
		}
		left = true
		if reported[name] != err.Error() {
			reported[name] = err.Error()
			a.event("problem", fmt.Sprintf("cannot start %s on another host; the lab retries: %v", name, err),
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
	if !ok || n.Host().Name() != dead.Name() || n.Status().Running || n.Kind() == topology.KindEtcd {
		return nil
	}
	candidates := a.hostsFor(n, dead)
	if len(candidates) == 0 {
		return fmt.Errorf("no other host of the role %s has power", dead.Role())
	}
	ctx, cancel := context.WithTimeout(a.ctx, healLimit)
	defer cancel()
	if err := a.storage.reachable(ctx, name); err != nil {
		return err
	}
	var all error
	for _, to := range candidates {
		err := a.startOn(ctx, n, to, dead)
		if err == nil {
			a.inPlace.remove(a.inPlace.all(func(f *injected) bool { return f.isOf(name) })...) // they ended it there
			a.event("restart", fmt.Sprintf("%s was started on %s, because %s is dead", name, to.Name(), dead.Name()),
				map[string]string{"member": name, "host": to.Name(), "from": dead.Name()})
			return nil
		}
		all = errors.Join(all, fmt.Errorf("on %s: %w", to.Name(), err))
	}
	return all
}

// startOn moves a member and starts it. If it does not start, it moves back to its old host, so that the lab can retry
// it or restart it with that host.
func (a *availability) startOn(ctx context.Context, n engine.Node, to, old host.Host) error {
	if err := n.Move(to); err != nil {
		return err
	}
	err := a.roster.rejoin(n.Name())
	if err == nil {
		return nil
	}
	if n.Status().Running { // half started
		err = errors.Join(err, n.Kill())
	}
	return errors.Join(err, n.Move(old))
}

// hostsFor are the hosts on which a member can run, the best first: of the same role, with power, with the fewest
// members of its set and then the fewest members at all.
func (a *availability) hostsFor(n engine.Node, dead host.Host) []host.Host {
	layout := a.inventory.layout()
	var candidates []host.Host
	weights := map[string]int{}
	for _, plan := range layout.Hosts {
		h := a.inventory.host(plan.Name)
		if h == nil || plan.Role != dead.Role() || h.State() != host.On || h.Name() == dead.Name() {
			continue
		}
		for _, other := range a.inventory.membersOn(h) {
			weights[h.Name()]++
			if a.inventory.setOf(other) == a.inventory.setOf(n.Name()) {
				weights[h.Name()] += 1000
			}
		}
		candidates = append(candidates, h)
	}
	slices.SortStableFunc(candidates, func(x, y host.Host) int { return weights[x.Name()] - weights[y.Name()] })
	return candidates
}
