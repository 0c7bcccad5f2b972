package record

import (
	"cmp"
	"net"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/limit"
)

// sustains is the share of the offered rate from which it counts as achieved.
const sustains = 0.98

// LimitStep is what a run shows of the limit of its target: a step of a ladder of loads.
func (r *Run) LimitStep() limit.Step {
	p := r.Phase("measure")
	if p == nil {
		return limit.Step{}
	}
	s := limit.Step{Offered: p.Rates.Offered, Achieved: p.Rates.Achieved, Workers: p.Workers, Anatomy: r.Anatomy,
		Signals: map[string]float64{}}
	s.Sustained = p.Rates.Offered == 0 || p.Rates.Achieved >= sustains*p.Rates.Offered
	for _, f := range r.Validity {
		if f.Severity != measure.Note && (f.ID == "client-limited" || f.ID == "client-cpu" ||
			slices.Contains(measure.OfProcess(), f.ID)) {
			s.Client = append(s.Client, f.ID)
		}
	}
	if p.All.Response != nil {
		s.Latency = p.All.Response.Mean / 1e9
	}
	if p.All.PoolWait != nil && p.All.Service != nil && p.All.Service.Mean > 0 {
		waited := p.All.PoolWait.Mean * float64(p.All.PoolWait.Count)
		s.Signals[limit.SignalPool] = waited / (p.All.Service.Mean * float64(max(1, p.All.Service.Count)))
	}
	if trip := r.roundTrip(); trip > 0 {
		s.Signals[limit.SignalRoundTrip] = float64(trip) / 1e9
	}
	of := SeriesValues(r.Series)
	l := limitReader{r: r, of: of, step: &s}
	l.servers(p)
	l.hosts()
	return s
}

// roundTrip is the shortest round trip of those that made the load, in nanoseconds: the coordinator of agents may be
// elsewhere. 0 if it is unknown.
func (r *Run) roundTrip() (least int64) {
	if !r.Remote() {
		return r.Target.RoundTrip
	}
	for _, c := range r.Clients {
		if c.RoundTrip > 0 && (least == 0 || c.RoundTrip < least) {
			least = c.RoundTrip
		}
	}
	return least
}

// limitReader reads the series of a run for a step.
type limitReader struct {
	r    *Run
	of   Values
	step *limit.Step
}

func (l *limitReader) get(source, name string) float64 {
	x, _ := l.of(source, name)
	return x
}

// serves says whether a server serves operations of clients, and does not only replicate.
func (l *limitReader) serves(name string) bool {
	return l.step.Anatomy != nil && slices.Contains(l.step.Anatomy.Servers, name)
}

// router says whether a server is a router, which has no cache.
func (l *limitReader) router(source string) bool {
	_, stores := l.of(source, "cache.max")
	return !stores && l.r.Target.Kind == "mongos"
}

// servers sets the signals of the servers, each by the server where it is largest.
func (l *limitReader) servers(p *PhaseResult) {
	signals := l.step.Signals
	most := func(name string, x float64) {
		if have, ok := signals[name]; !ok || x > have {
			signals[name] = x
		}
	}
	cpu, waiting := 0.0, 0.0
	inLab := l.r.Lab != nil
	serving, seen, routers := 0, 0, 0
	routed := l.r.Target.Kind == "mongos"
	for _, source := range l.r.serverSources() {
		name := strings.TrimPrefix(source, "server:")
		router := l.router(source)
		if cores, ok := l.of(source, "cpu.limit"); ok && !inLab { // those of labs are limits of their hosts
			x := limit.Resource{Label: limit.CPU, Where: "the control group of " + name, Capacity: cores,
				Used: l.get(source, "cpu.used"), Throttled: l.get(source, "cpu.throttled"),
				Waiting: l.get(source, "cpu.waiting"), Behind: !l.serves(name) && !router}
			if router {
				x.Label = limit.Router
			}
			l.step.Resources = append(l.step.Resources, x)
		}
		if router {
			routers++
			_, counts := l.of(source, "load.reads")
			l.step.BlindRouter = l.step.BlindRouter || !counts
		}
		if router || l.serves(name) {
			serving++
			if _, ok := l.of(source, "cpu.waiting"); ok {
				seen++
			}
		}
		if !l.serves(name) {
			// Behind routers, the members of several sets cannot be told apart.
			if lag, ok := l.of(source, "replication.lag"); ok && !routed {
				l.step.Secondaries = append(l.step.Secondaries, limit.Secondary{Name: l.called(name), Lag: lag / 1e9,
					Sync: l.get(source, "log.sync_time") / 1e9, CPU: l.shareOfHost(name)})
			}
			continue
		}
		if free, ok := l.of(source, "connections.available"); ok {
			if have, known := signals[limit.SignalFree]; !known || free < have {
				signals[limit.SignalFree] = free
			}
		}
		most(limit.SignalRejected, l.get(source, "connections.rejected"))
		cpu, waiting = cpu+l.get(source, "cpu.used"), waiting+l.get(source, "cpu.waiting")
		if writes := l.get(source, "ended.writes"); writes > 0 {
			conflicts := max(l.get(source, "write_conflicts"), l.get(source, "update_conflicts"))
			done := min(writes, cmp.Or(p.Rates.Achieved, writes)) // those of transactions are tried again
			most(limit.SignalConflicts, conflicts/done)
		}
		if all := l.get(source, "ended.reads") + l.get(source, "ended.writes"); all > 0 {
			most(limit.SignalPages, l.get(source, "cache.pages_read")/all)
			most(limit.SignalWaits, l.get(source, "locks.waits")/all)
		}
		most(limit.SignalLagged, max(l.get(source, "flow_control.lagged_time"), l.get(source, "flow_control.lagged")))
		most(limit.SignalNoTicket, max(l.get(source, "tickets.read.exhausted"), l.get(source,
			"tickets.write.exhausted")))
		most(limit.SignalDirty, l.get(source, "cache.dirty_share"))
		most(limit.SignalUsed, l.get(source, "cache.used_share"))
		most(limit.SignalSyncing, min(1, l.get(source, "log.syncs")*l.get(source, "log.sync_time")/1e9))
	}
	l.step.QuotasSeen = seen > 0 && seen == serving
	if l.r.Specification.Via != "" || routed && routers < len(l.r.Target.Hosts) {
		l.step.BlindRouter = true
	}
	if waiting > 0 {
		signals[limit.SignalRunQueue] = waiting
	}
	if cpu > 0 && p.Rates.Achieved > 0 {
		signals[limit.SignalCPUEach] = cpu / p.Rates.Achieved
	}
}

// member is the member of a lab with an address, nil if there is none.
func (l *limitReader) member(address string) *LabMember {
	if l.r.Lab == nil {
		return nil
	}
	i := slices.IndexFunc(l.r.Lab.Members, func(m LabMember) bool { return m.Address == address })
	if i < 0 {
		return nil
	}
	return &l.r.Lab.Members[i]
}

// called is what the lab calls the server with an address; outside of labs the address.
func (l *limitReader) called(address string) string {
	if m := l.member(address); m != nil {
		return m.Name
	}
	return address
}

// shareOfHost is the share of the cores of its host that a member of a lab uses, 0 if it is unknown.
func (l *limitReader) shareOfHost(address string) float64 {
	m := l.member(address)
	if m == nil {
		return 0
	}
	for _, h := range l.r.Lab.Hosts {
		if cores := cmp.Or(h.Cores, l.r.Environment.Cores); h.Name == m.Host && cores > 0 {
			return l.get("host:"+l.r.Lab.Name+"/"+h.Name, "cpu.used") / cores
		}
	}
	return 0
}

// hosts adds the processors and disks of the machines, and those of the hosts of a lab.
func (l *limitReader) hosts() {
	waiting := 0.0 // threads of all servers on this machine
	for _, source := range l.r.serverSources() {
		waiting += l.get(source, "cpu.waiting")
	}
	var names []string
	for _, s := range l.r.Series {
		if name, ok := strings.CutPrefix(s.Source, "host:"); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if l.r.Lab != nil && strings.HasPrefix(name, l.r.Lab.Name+"/") {
			l.labHost(strings.TrimPrefix(name, l.r.Lab.Name+"/"))
			continue
		}
		l.machine(name, waiting)
	}
}

// machine adds a machine that has a server: that of the load generator alone is no resource of the servers. Where the
// kernel counts no waits of servers, tasks that wait for a core most of the time count as a queue.
func (l *limitReader) machine(name string, waiting float64) {
	source := "host:" + name
	if name != l.r.Environment.Host {
		waiting = 0
	} else if !l.serverHere() {
		return
	}
	behind := l.replicates(name)
	if share, ok := l.of(source, "cpu.busy"); ok && share > 0 {
		cores := cmp.Or(l.get(source, "cpu.used")/share, 1)
		if l.get(source, "pressure.cpu.some") >= 0.5 {
			waiting = max(waiting, cores)
		}
		l.step.Resources = append(l.step.Resources, limit.Resource{Label: limit.CPU, Where: name, Used: share * cores,
			Capacity: cores,
			Waiting:  waiting, Behind: behind})
	}
	for _, s := range l.r.Series {
		disk, ok := strings.CutSuffix(strings.TrimPrefix(s.Name, "disk."), ".utilisation")
		if s.Source != source || !ok {
			continue
		}
		get := func(name string) float64 { return l.get(source, "disk."+disk+"."+name) }
		requests := get("reads") + get("writes")
		reading, writing := get("reads")*get("read_await")/1e9, get("writes")*get("write_await")/1e9 // under way
		x := limit.Resource{Label: limit.DiskReads, Where: disk + " of " + name, Used: s.Mean, Capacity: 1,
			Waiting: max(0, reading+writing-1), Behind: behind}
		if writing > reading {
			x.Label = limit.DiskWrites
		}
		if requests > 0 {
			x.Time = (reading + writing) / requests
		}
		l.step.Resources = append(l.step.Resources, x)
	}
}

// serverHere reports whether a server is on the machine of this process: the kernel shows its threads, or its address
// is here.
func (l *limitReader) serverHere() bool {
	return slices.ContainsFunc(l.r.serverSources(), func(source string) bool {
		_, threads := l.of(source, "cpu.waiting")
		host := hostOf(source)
		return threads || host == "localhost" || sameHost(host, l.r.Environment.Host) || net.ParseIP(host).IsLoopback()
	})
}

// replicates reports whether servers are known to be on a machine, and none of them serves operations.
func (l *limitReader) replicates(machine string) (found bool) {
	for _, source := range l.r.serverSources() {
		if !sameHost(hostOf(source), machine) {
			continue
		}
		if found = true; l.serves(strings.TrimPrefix(source, "server:")) || l.router(source) {
			return false
		}
	}
	return found
}

// hostOf is the host of a source "server:HOST:PORT".
func hostOf(source string) string {
	name := strings.TrimPrefix(source, "server:")
	if host, _, err := net.SplitHostPort(name); err == nil {
		return host
	}
	return name
}

// sameHost reports whether two names are of one host: they are equal, or one is the first label of the other.
func sameHost(a, b string) bool {
	return a != "" && b != "" && (a == b || strings.HasPrefix(a, b+".") || strings.HasPrefix(b, a+"."))
}

// labHost adds the processors of a host of a lab that has a limit of its own, or one that a fault sets.
func (l *limitReader) labHost(name string) {
	i := slices.IndexFunc(l.r.Lab.Hosts, func(h LabHost) bool { return h.Name == name })
	if i < 0 {
		return
	}
	x := limit.Resource{Label: limit.CPU, Where: "host " + name, Capacity: l.r.Lab.Hosts[i].Cores, Behind: true,
		Used: l.get("host:"+l.r.Lab.Name+"/"+name, "cpu.used"), Throttled: l.get("host:"+l.r.Lab.Name+"/"+name,
			"cpu.throttled")}
	routers := true
	for _, m := range l.r.Lab.Members {
		if m.Host != name {
			continue
		}
		if quota := l.get("server:"+m.Address, "cpu.limit"); quota > 0 && (x.Capacity <= 0 || quota < x.Capacity) {
			x.Capacity = quota
		}
		x.Behind = x.Behind && !l.serves(m.Address) && m.Kind != "mongos"
		routers = routers && m.Kind == "mongos"
		x.Waiting += l.get("server:"+m.Address, "cpu.waiting")
	}
	if x.Capacity <= 0 {
		return
	}
	if routers {
		x.Label = limit.Router
	}
	l.step.Resources = append(l.step.Resources, x)
}
