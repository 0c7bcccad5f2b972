package limit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/measure/anatomy"
)

// The rules. They were set before the last batch of planted limits (docs/trust.md) and are not changed to fit it.
const (
	busy        = 0.90 // share of a capacity from which it counts as used up
	throttled   = 0.05 // seconds per second in which a quota stops a host
	queued      = 1.0  // threads or requests that wait, per unit of a capacity
	foretold    = 0.15 // by how much a limit that lower steps predict may differ from the throughput
	growing     = 0.70 // elasticity of the throughput by the load from which no limit is reached
	falling     = 0.95 // of the highest throughput, below which more load means less
	grown       = 1.5  // by how much the time in a place grows if operations queue there
	mostGrowth  = 0.40 // share of the growth of all operations in the place of the queue
	fewGrowth   = 0.20 // share below which the queue is elsewhere
	outside     = 0.90 // share of the growth outside of the servers from which they are not where operations queue
	negligible  = 0.05 // share of the service time in servers up to which they do not matter
	mostly      = 0.70 // share of the operations in a lock or in flow control from which nothing else is the queue
	dominates   = 0.50 // share of the service time that is the answer for the latency
	unexplained = 0.30 // share of the time in servers above which soft limits are unknown
)

// ladder is the steps in order of load.
type ladder struct {
	steps     []Step
	low, top  *Step   // the one with the shortest operations, and the highest load
	peak      float64 // highest throughput
	shape     string
	last      float64 // elasticity of the throughput between the last two steps
	saturated bool
}

// Decide returns what limits. Steps may be in any order; those without operations are left out.
func Decide(steps []Step) Limit {
	l := newLadder(steps)
	if len(l.steps) == 0 {
		nothing := Answer{Label: Unknown, Strength: Weak, Evidence: []string{"nothing was measured"}}
		return Limit{Throughput: nothing, Latency: nothing}
	}
	r := Limit{Shape: l.shape, NotChecked: l.notChecked()}
	if a := l.top.Anatomy; a != nil {
		r.Unexplained = a.Share(anatomy.Unexplained)
	}
	r.Bound = l.open() && !l.saturated && l.top.Missed
	r.Throughput, r.Latency = l.throughput(), l.latency(r.Bound)
	r.More = more[r.Main().Label]
	return r
}

func newLadder(steps []Step) *ladder {
	l := &ladder{}
	open := slices.ContainsFunc(steps, func(s Step) bool { return s.Offered > 0 })
	for _, s := range steps {
		if s.Achieved > 0 && (s.Offered > 0 || !open) { // a closed loop among rates shows where to begin
			l.steps = append(l.steps, s)
		}
	}
	slices.SortStableFunc(l.steps, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.Offered, b.Offered), cmp.Compare(a.Workers, b.Workers))
	})
	n := len(l.steps)
	if n == 0 {
		return l
	}
	l.low, l.top = &l.steps[0], &l.steps[n-1]
	for i := range l.steps { // not always the lowest load: one before may have left a queue to it
		if s := &l.steps[i]; load(s) < load(l.top) && s.each() < l.low.each() {
			l.low = s
		}
	}
	achieved := 0.0 // highest rate that was; one below it was missed because something stood still for a moment
	for _, s := range l.steps {
		l.peak = max(l.peak, s.Achieved)
		if s.Sustained {
			achieved = max(achieved, s.Offered)
		}
	}
	for _, s := range l.steps {
		l.saturated = l.saturated || s.Offered > 0 && !s.Sustained && s.Offered >= achieved
	}
	if n == 1 {
		return l
	}
	before := &l.steps[n-2]
	for i := n - 2; i > 0 && load(before) == load(l.top); i-- {
		before = &l.steps[i-1]
	}
	if ratio := load(l.top) / load(before); ratio > 1 {
		l.last = math.Log(l.top.Achieved/before.Achieved) / math.Log(ratio)
	}
	switch {
	case l.top.Achieved < falling*l.peak:
		l.shape = Retrograde
	case !l.open() && l.last >= growing || l.open() && !l.saturated:
		l.shape = Linear
	default:
		l.shape = Flat
	}
	return l
}

func load(s *Step) float64 {
	if s.Offered > 0 {
		return s.Offered
	}
	return float64(max(1, s.Workers))
}

// each is the mean service time of an operation in seconds; infinite if it is unknown.
func (s *Step) each() float64 {
	if s.Anatomy == nil || s.Anatomy.Operations <= 0 {
		return math.Inf(1)
	}
	return s.Anatomy.Operations / s.Achieved
}

func (l *ladder) open() bool { return l.top.Offered > 0 }

// moved reports whether the servers that served the operations at a low load are not those of the highest load: after a
// failover, or where one of them was not sampled. Then nothing can be compared.
func (l *ladder) moved() bool {
	low, top := l.low.Anatomy, l.top.Anatomy
	return low != nil && top != nil && len(low.Servers) > 0 && len(top.Servers) > 0 &&
		!slices.ContainsFunc(low.Servers, func(s string) bool { return slices.Contains(top.Servers, s) })
}

// throughput is what keeps the throughput from growing.
func (l *ladder) throughput() Answer {
	switch {
	case l.open() && !l.saturated:
		return Answer{Label: None, Strength: Supported,
			Evidence: []string{fmt.Sprintf("rates up to %.0f/s were achieved", l.top.Offered)}}
	case len(l.steps) > 1 && l.shape == Linear:
		return Answer{Label: None, Strength: Supported,
			Evidence: []string{fmt.Sprintf("the throughput still grows with the load (elasticity %.2f)", l.last)}}
	}
	if l.moved() {
		return Answer{Label: Unknown, Strength: Weak,
			Evidence: []string{"no server was sampled that served the operations both at a low load and at the highest"}}
	}
	for _, rule := range []func() (Answer, bool){l.connections, l.client, l.conflicts, l.queue, l.resource, l.soft} {
		if a, ok := rule(); ok {
			return a
		}
	}
	return l.unknown()
}

// unknown says where most of the growth is, without a label.
func (l *ladder) unknown() Answer {
	a := Answer{Label: Unknown, Strength: Weak}
	if len(l.steps) == 1 {
		a.Evidence = []string{"one load does not show what would happen at another one"}
		return a
	}
	place, share := l.growth()
	if place == "" {
		a.Evidence = []string{"the counters of no server were read"}
		return a
	}
	a.Evidence = []string{fmt.Sprintf("%.0f %% of the additional operations are in %s, and no second signal agrees",
		share*100, place)}
	return a
}

func supported(label Label, where string, evidence ...string) (Answer, bool) {
	return Answer{Label: label, Where: where, Strength: Supported, Evidence: evidence[:min(2, len(evidence))]}, true
}

func (l *ladder) signal(name string) (float64, bool) {
	x, ok := l.top.Signals[name]
	return x, ok
}

func (l *ladder) connections() (Answer, bool) {
	rejected, _ := l.signal(SignalRejected)
	if free, known := l.signal(SignalFree); known && free < 1 && rejected > 0 {
		return supported(Connections, "", fmt.Sprintf("the server refused %.1f connections per second", rejected),
			"no connection was free")
	}
	pool, _ := l.signal(SignalPool)
	if a := l.top.Anatomy; pool >= dominates && a != nil && len(a.Servers) > 0 && a.InServer < 0.5*a.Operations {
		return supported(Connections, "",
			fmt.Sprintf("%.0f %% of the service time is the wait for a connection of the pool", pool*100),
			fmt.Sprintf("%.0f %% of it is in the servers", a.InServer/a.Operations*100))
	}
	return Answer{}, false
}

// inServer is the mean time in the servers of an operation in seconds; false if no server was read.
func inServer(s *Step) (float64, bool) {
	if s.Anatomy == nil || len(s.Anatomy.Servers) == 0 || s.Anatomy.InServer <= 0 {
		return 0, false
	}
	return s.Anatomy.InServer / s.Achieved, true
}

// client is true if the load generator is busy and the servers are not slower than at a low load. Servers that wait for
// the same cores are slower before they count the time of an operation, so then it is not the load generator alone.
func (l *ladder) client() (Answer, bool) {
	waiting, _ := l.signal(SignalRunQueue)
	if len(l.top.Client) == 0 || slices.ContainsFunc(l.top.Resources, func(r Resource) bool {
		return r.Label == CPU && r.full() && waiting >= queued*r.Capacity
	}) {
		return Answer{}, false
	}
	low, known1 := inServer(l.low)
	top, known2 := inServer(l.top)
	flat := known1 && known2 && len(l.steps) > 1 && top <= grown*low
	switch {
	case flat:
		return supported(Client, "", strings.Join(l.top.Client, ", "),
			fmt.Sprintf("the time in the servers did not grow (%.2f ms at a low load, %.2f ms at the highest)",
				low*1e3, top*1e3))
	case len(l.top.Client) < 2 || slices.ContainsFunc(l.top.Resources, Resource.full):
	case !known2:
		return supported(Client, "", l.top.Client[0], strings.Join(l.top.Client[1:], ", "))
	case l.grownIn(anatomy.Client, anatomy.Network) >= outside: // bursts of a stopped client make servers slower
		return supported(Client, "", strings.Join(l.top.Client, ", "),
			fmt.Sprintf("%.0f %% of the additional operations are not in the servers",
				l.grownIn(anatomy.Client, anatomy.Network)*100))
	}
	return Answer{}, false
}

// conflicts is true if writes conflict with each other and more load does not bring more throughput. Repeated writes
// use CPU, so this comes before the processors.
func (l *ladder) conflicts() (Answer, bool) {
	each, _ := l.signal(SignalConflicts)
	if each < 1 || len(l.steps) < 2 {
		return Answer{}, false
	}
	low, top := l.low.Signals[SignalCPUEach], l.top.Signals[SignalCPUEach]
	switch {
	case l.shape == Retrograde:
		return supported(Conflicts, "", fmt.Sprintf("%.1f write conflicts per write", each),
			"more load means less throughput")
	case low > 0 && top > grown*low:
		return supported(Conflicts, "", fmt.Sprintf("%.1f write conflicts per write", each),
			fmt.Sprintf("an operation uses %.1f times the CPU that it uses at a low load", top/low))
	}
	return Answer{}, false
}

// full says whether a resource of a member that serves operations is used up.
func (r Resource) full() bool { return !r.Behind && r.Capacity > 0 && r.Used >= busy*r.Capacity }

// queue is a queue that is no symptom of a resource: most of the growth is in it, and little of it is where operations
// wait for the resources that are used up.
func (l *ladder) queue() (Answer, bool) {
	switch place, _ := l.growth(); place {
	case anatomy.Locks, anatomy.Conflicts, anatomy.FlowControl, anatomy.PageReads, anatomy.Eviction, anatomy.Replication:
	default: // tickets are held by operations that wait for a resource, and the rest has no counter
		return Answer{}, false
	}
	for _, r := range l.top.Resources {
		if r.full() && l.grownIn(placesOf[r.Label]...) >= fewGrowth {
			return Answer{}, false
		}
	}
	return l.soft()
}

// resource is the resource that is used up, with a second signal: a quota or a queue, growth in its place, or a limit
// that lower steps predict. Of several it is the one with most growth.
func (l *ladder) resource() (best Answer, ok bool) {
	most := -1.0
	for _, r := range l.top.Resources {
		stopped := r.Throttled >= throttled && r.Used >= 0.8*r.Capacity
		if r.Behind || !r.full() && !stopped || l.parallel(r) {
			continue
		}
		evidence := []string{fmt.Sprintf("%.2f of %.2f used", r.Used, r.Capacity)}
		if stopped {
			evidence = append(evidence, fmt.Sprintf("its quota stopped it for %.2f s in each second", r.Throttled))
		}
		if r.Waiting >= queued*r.Capacity {
			evidence = append(evidence, fmt.Sprintf("%.1f waited for it on average", r.Waiting))
		}
		if at, known := l.predicted(r); known && math.Abs(at/l.peak-1) <= foretold {
			evidence = append(evidence,
				fmt.Sprintf("its use at lower loads predicts a limit of %.0f/s, and %.0f/s were reached", at, l.peak))
		}
		share := l.grownIn(placesOf[r.Label]...)
		if share >= mostGrowth {
			evidence = append(evidence, fmt.Sprintf("%.0f %% of the additional operations wait for it", share*100))
		}
		if rank := math.Round(10*share) + min(1, r.Used/r.Capacity)/2; len(evidence) > 1 && rank > most {
			most = rank
			best, ok = supported(r.Label, r.Where, evidence...)
		}
	}
	return best, ok
}

// parallel says that requests of a disk do not take longer than at a low load. Then it serves them at the same
// time, and its utilisation does not show that it is used up.
func (l *ladder) parallel(r Resource) bool {
	if r.Label != DiskReads && r.Label != DiskWrites || len(l.steps) < 2 {
		return false
	}
	i := slices.IndexFunc(l.low.Resources, func(o Resource) bool {
		return o.Where == r.Where && (o.Label == DiskReads || o.Label == DiskWrites)
	})
	return i < 0 || r.Time < grown*l.low.Resources[i].Time
}

// placesOf are the places of operations that wait for a resource.
var placesOf = map[Label][]anatomy.Place{
	CPU: {anatomy.CPU, anatomy.RunQueue}, DiskReads: {anatomy.PageReads}, DiskWrites: {anatomy.Eviction,
		anatomy.Journal},
	Router: {anatomy.Router},
}

// predicted is the throughput at which a resource is used up, by a line through its use at lower loads.
func (l *ladder) predicted(r Resource) (float64, bool) {
	var xs, ys []float64
	for _, s := range l.steps {
		for _, o := range s.Resources {
			if o.Label == r.Label && o.Where == r.Where && o.Used < 0.85*o.Capacity {
				xs, ys = append(xs, s.Achieved), append(ys, o.Used)
			}
		}
	}
	if len(xs) < 3 {
		return 0, false
	}
	n, sx, sy, sxx, sxy := float64(len(xs)), 0.0, 0.0, 0.0, 0.0
	for i := range xs {
		sx, sy, sxx, sxy = sx+xs[i], sy+ys[i], sxx+xs[i]*xs[i], sxy+xs[i]*ys[i]
	}
	spread := n*sxx - sx*sx
	if spread <= 0 {
		return 0, false
	}
	demand := (n*sxy - sx*sy) / spread
	if demand <= 0 {
		return 0, false
	}
	return (r.Capacity - (sy-demand*sx)/n) / demand, true
}
