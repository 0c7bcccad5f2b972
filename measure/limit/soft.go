package limit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/measure/anatomy"
)

// added is by how many operations a place grew from a low to the highest load. 0 if its time per operation did not
// grow much: then it has more operations because there are more, and no queue.
func (l *ladder) added(place anatomy.Place) float64 {
	low, top := l.low.Anatomy, l.top.Anatomy
	if low == nil || top == nil {
		return 0
	}
	before, after := low.In(place)/l.low.Achieved, top.In(place)/l.top.Achieved
	if after < grown*before {
		return 0
	}
	return max(0, top.In(place)-low.In(place))
}

// grownIn is the share of places in the growth of all operations.
func (l *ladder) grownIn(places ...anatomy.Place) float64 {
	if len(l.steps) < 2 || l.low.Anatomy == nil || l.top.Anatomy == nil {
		return 0
	}
	all := l.top.Anatomy.Operations - l.low.Anatomy.Operations
	if all <= 0 {
		return 0
	}
	sum := 0.0
	for _, p := range places {
		sum += l.added(p)
	}
	return min(1, sum/all)
}

// growth is the place with most of the growth, and its share; "" if no server was read.
func (l *ladder) growth() (best anatomy.Place, share float64) {
	if l.top.Anatomy == nil || len(l.top.Anatomy.Servers) == 0 {
		return "", 0
	}
	for _, p := range anatomy.Places() {
		if x := l.grownIn(p); best == "" || x > share {
			best, share = p, x
		}
	}
	return best, share
}

// held is the place with most operations at the highest load among those where an operation only waits for others. Each
// may wait there as long at a low load, so that the place does not grow more than the load.
func (l *ladder) held() (best anatomy.Place, share float64) {
	for _, p := range []anatomy.Place{anatomy.Locks, anatomy.FlowControl} {
		if x := l.top.Anatomy.Share(p); x > share {
			best, share = p, x
		}
	}
	return best, share
}

// soft is a queue that is no resource: the place of most of the growth, if a second signal agrees.
func (l *ladder) soft() (Answer, bool) {
	place, share := l.growth()
	if place == "" || l.obscure() {
		return Answer{}, false
	}
	first := fmt.Sprintf("%.0f %% of the additional operations are in %s", share*100, place)
	if p, x := l.held(); x >= mostly || share < mostGrowth && x >= dominates {
		place, first = p, fmt.Sprintf("%.0f %% of the operations are in %s", x*100, p)
	} else if share < mostGrowth {
		return Answer{}, false
	}
	second, label, where := "", Label(""), ""
	switch place {
	case anatomy.Tickets:
		label = Tickets
		if x, _ := l.signal(SignalNoTicket); x >= 0.5 {
			second = fmt.Sprintf("no ticket was free in %.0f %% of the samples", x*100) + l.holders()
		}
	case anatomy.Locks:
		label = Locks
		if x, _ := l.signal(SignalWaits); x >= 0.05 {
			second = fmt.Sprintf("%.2f lock waits per operation", x)
		}
	case anatomy.Conflicts:
		label = Conflicts
		if x, _ := l.signal(SignalConflicts); x >= 1 {
			second = fmt.Sprintf("%.1f write conflicts per write", x)
		}
	case anatomy.FlowControl:
		label = FlowControl
		if x, _ := l.signal(SignalLagged); x >= 0.1 {
			second = fmt.Sprintf("flow control was active in %.0f %% of the time", x*100)
		}
		where, _ = l.slowest()
	case anatomy.PageReads:
		label = DiskReads
		if x, _ := l.signal(SignalPages); x >= 0.1 {
			second = fmt.Sprintf("%.2f pages read per operation", x)
		}
	case anatomy.Eviction:
		label, second = l.eviction()
	case anatomy.Replication:
		label = Replication
		where, second = l.slowest()
	case anatomy.Network:
		label, second = l.network()
	}
	if second == "" {
		return Answer{}, false
	}
	return supported(label, where, first, second)
}

// obscure says that too much of the time in the servers has no place for a soft limit.
func (l *ladder) obscure() bool {
	a := l.top.Anatomy
	return a.InServer > 0 && a.In(anatomy.Unexplained) > unexplained*min(a.InServer, a.Operations)
}

// holders says what the operations that hold tickets wait for.
func (l *ladder) holders() string {
	best, most := anatomy.Place(""), 0.0
	for _, p := range []anatomy.Place{anatomy.Locks, anatomy.Conflicts, anatomy.CPU, anatomy.RunQueue,
		anatomy.PageReads, anatomy.Eviction} {
		if x := l.top.Anatomy.In(p); x > most {
			best, most = p, x
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; most of those that held one were in %s", best)
}

// eviction is the disk that keeps pages from leaving the cache, or the cache that has too few of them.
func (l *ladder) eviction() (Label, string) {
	for _, r := range l.top.Resources {
		if r.Label == DiskWrites && !l.parallel(r) && (r.full() || r.Waiting >= queued*r.Capacity) {
			return DiskWrites, fmt.Sprintf("%s: %.2f of %.2f used, %.1f waited for it on average", r.Where, r.Used, r.Capacity,
				r.Waiting)
		}
	}
	if x, _ := l.signal(SignalDirty); x >= 0.2 {
		return Cache, fmt.Sprintf("%.0f %% of the cache is dirty", x*100)
	}
	if x, _ := l.signal(SignalUsed); x >= 0.95 {
		return Cache, fmt.Sprintf("%.0f %% of the cache is used", x*100)
	}
	return Cache, ""
}

// slowest is the secondary that a majority waits for, and why: a majority of n members needs the fastest n/2 of the
// secondaries, so a slow one that it does not need is never named.
func (l *ladder) slowest() (name, why string) {
	list := slices.Clone(l.top.Secondaries)
	if len(list) == 0 {
		return "", ""
	}
	slices.SortStableFunc(list, func(a, b Secondary) int {
		return int(math.Copysign(1, (a.Lag+a.Sync)-(b.Lag+b.Sync)))
	})
	s := list[min(len(list)-1, max(0, (len(list)+1)/2-1))]
	each := l.top.Anatomy.In(anatomy.Replication) / l.top.Achieved
	var parts []string
	if s.Sync > 0.3*each && s.Sync > 1e-3 {
		parts = append(parts, fmt.Sprintf("a sync takes %.1f ms there", s.Sync*1e3))
	}
	if s.Lag >= 2 {
		parts = append(parts, fmt.Sprintf("it lags by %.0f s", s.Lag))
	}
	if s.CPU >= busy {
		parts = append(parts, fmt.Sprintf("%.0f %% of its cores are used", s.CPU*100))
	}
	return s.Name, strings.Join(parts, ", ")
}

// network is true if the time between client and server grows while neither is busy.
func (l *ladder) network() (Label, string) {
	used := len(l.top.Client) > 0 || slices.ContainsFunc(l.top.Resources, Resource.full)
	pool, _ := l.signal(SignalPool)
	conflicts, _ := l.signal(SignalConflicts)
	if used || l.top.BlindRouter || pool >= fewGrowth || conflicts >= 1 {
		return Network, ""
	}
	if a := l.top.Anatomy; a.InServer > 0 && a.InServer <= negligible*a.Operations {
		return Network, fmt.Sprintf("%.0f %% of the service time is in the servers, and the load generator was not busy",
			a.InServer/a.Operations*100)
	}
	if l.shape == Retrograde {
		return Network, ""
	}
	low, known1 := inServer(l.low)
	top, known2 := inServer(l.top)
	if !known1 || !known2 || top > grown*low {
		return Network, ""
	}
	return Network, fmt.Sprintf("the time in the servers did not grow (%.2f ms), and the load generator was not busy",
		top*1e3)
}

// labelOf is the label of a place that most of the latency is in.
var labelOf = map[anatomy.Place]Label{
	anatomy.Client: Client, anatomy.Network: Network, anatomy.Router: Router,
	anatomy.Tickets: Tickets, anatomy.Locks: Locks,
	anatomy.FlowControl: FlowControl, anatomy.Conflicts: Conflicts, anatomy.CPU: CPU, anatomy.RunQueue: CPU,
	anatomy.PageReads: DiskReads, anatomy.Eviction: Cache, anatomy.Journal: Flushes, anatomy.Replication: Replication,
}

// latency is where most of the service time is: at the highest load if an objective was missed there, otherwise at the
// highest one that held, or the lowest one if none did.
func (l *ladder) latency(bound bool) Answer {
	s := &l.steps[0]
	for i := range l.steps {
		if x := &l.steps[i]; bound || (x.Sustained || x.Offered == 0) && !x.Missed {
			s = x
		}
	}
	a := s.Anatomy
	none := Answer{Label: Unknown, Strength: Weak, Evidence: []string{"the counters of no server were read"}}
	if a == nil || len(a.Servers) == 0 {
		return none
	}
	p, ok := a.Largest()
	share := a.Share(p.Place)
	if p.Place == anatomy.CPU || p.Place == anatomy.RunQueue {
		share = a.Share(anatomy.CPU) + a.Share(anatomy.RunQueue)
	}
	none.Evidence = []string{fmt.Sprintf("the largest part of the service time is %s with %.0f %%", p.Place, share*100)}
	if !ok || share < dominates {
		return none
	}
	first := fmt.Sprintf("%.0f %% of the service time is in %s", share*100, p.Place)
	second := "counted by the servers"
	switch p.Place {
	case anatomy.Client:
		if len(s.Client) == 0 {
			return none
		}
		second = strings.Join(s.Client, ", ")
	case anatomy.Journal:
		x := s.Signals[SignalSyncing]
		if x < 0.3 {
			return none
		}
		second = fmt.Sprintf("a sync of the journal ran in %.0f %% of the time", x*100)
	case anatomy.Network:
		trip, each := s.Signals[SignalRoundTrip], a.In(anatomy.Network)/s.Achieved
		if trip < 0.5*each || len(s.Client) > 0 {
			return none
		}
		second = fmt.Sprintf("a round trip takes %.2f ms without load", trip*1e3)
	case anatomy.Conflicts:
		if s.Signals[SignalConflicts] < 1 {
			return none
		}
		second = fmt.Sprintf("%.1f write conflicts per write", s.Signals[SignalConflicts])
	case anatomy.Tickets:
		if p.Estimated && s.Signals[SignalNoTicket] < 0.5 {
			return none
		}
	}
	where := ""
	if p.Place == anatomy.Replication {
		where, _ = (&ladder{top: s}).slowest()
	}
	answer, _ := supported(labelOf[p.Place], where, first, second)
	return answer
}

const unseenQuotas = "waits for a core, and quotas of containers: only servers on this machine and in labs show them"

// notChecked is what the steps do not have, with what would allow it.
func (l *ladder) notChecked() (list []string) {
	a := l.top.Anatomy
	if a == nil || len(a.Servers) == 0 {
		return []string{"everything within the servers, because their counters were not read: give the user the role clusterMonitor"}
	}
	list = append(list, a.NotCounted...)
	has := func(label Label) bool {
		return slices.ContainsFunc(l.top.Resources, func(r Resource) bool { return r.Label == label })
	}
	if !has(CPU) {
		list = append(list, "processors of the servers: the role clusterMonitor shows those of their machines")
	}
	if !has(DiskReads) && !has(DiskWrites) {
		list = append(list, "disks of the servers")
	}
	if !l.top.QuotasSeen {
		list = append(list, unseenQuotas)
	}
	return list
}
