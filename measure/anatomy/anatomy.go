// Package anatomy says where the mean service time of operations went: in the client, on the network, and in each place
// of a server. It is a pure function of counters of time and of the client's own latencies.
//
// A counter of waiting time, divided by the elapsed time, is the mean number of operations in that place (Little's
// law), so nothing is sampled and no profiler is needed. Places that no counter measures stay in the part
// [Unexplained]. What limits the throughput is decided in measure/limit.
package anatomy

import (
	"math"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// Place is where an operation spends time.
type Place string

// The places, in the order in which an operation meets them.
const (
	Client      Place = "client"
	Network     Place = "network"
	Router      Place = "router"
	Tickets     Place = "tickets"
	Locks       Place = "locks"
	FlowControl Place = "flow control"
	Conflicts   Place = "conflicts"
	CPU         Place = "CPU"
	RunQueue    Place = "CPU queue"
	PageReads   Place = "page reads"
	Eviction    Place = "eviction"
	Journal     Place = "journal"
	Replication Place = "replication"
	Unexplained Place = "unexplained"
)

// Places are all places in order.
func Places() []Place {
	return []Place{Client, Network, Router, Tickets, Locks, FlowControl, Conflicts, CPU, RunQueue, PageReads,
		Eviction, Journal,
		Replication, Unexplained}
}

// Part is the share of one place.
type Part struct {
	Place Place `json:"place"`
	// Operations is the mean number of operations there.
	Operations float64 `json:"operations"`
	// Estimated parts have no counter of time: Why says how they were computed.
	Estimated bool   `json:"estimated,omitempty"`
	Why       string `json:"why,omitempty"`
}

// Anatomy is where the mean service time of operations went. The parts add up to Operations.
type Anatomy struct {
	// Operations is the mean number of operations under way: throughput × mean service time.
	Operations float64 `json:"operations"`
	// Service is the mean service time in nanoseconds that they divide, 0 if it is unknown.
	Service float64 `json:"service_ns,omitempty"`
	// InServer is the mean number of operations in the servers, as they count it; 0 if no server was read.
	InServer float64 `json:"in_server,omitempty"`
	Parts    []Part  `json:"parts"`
	// Servers are those that served the operations.
	Servers []string `json:"servers,omitempty"`
	// NotCounted are places of which these servers have no counter, with the reason.
	NotCounted []string `json:"not_counted,omitempty"`
	// Foreign is the mean number of operations in the servers that this client did not send, at least.
	Foreign float64 `json:"foreign,omitempty"`
	// Over says that the counters of places exceeded the time of the operations, by this number of operations: they
	// contain the waits of threads without a client. The parts were scaled down.
	Over float64 `json:"over,omitempty"`
}

// Sender is what a client knows of its operations.
type Sender struct {
	InFlight float64 // mean number of operations under way
	Service  time.Duration
	Own      float64 // of them, those whose answer had arrived and waited for the client; 0 if unknown
}

// Server is what one server counts. Values are mean numbers of operations, and cores of CPU.
type Server struct {
	Name   string
	Router bool
	Load   float64 // in the server, as it counts them
	// Queued are operations that wait for a ticket by sampling, of servers that do not count that time: only those
	// beyond the other counted waits are tickets. Negative if they are unknown.
	Queued float64
	// Places are the counted ones.
	Places map[Place]float64
	// CPU is the use of the whole process, Waited the mean number of its threads that waited for a core; negative if
	// they are unknown.
	CPU, Waited float64
	// Writes per second, and Synced those of them that wait for the journal. Sync is the mean time of a sync, and
	// Conflicts the write conflicts per second.
	Writes, Synced, Conflicts float64
	Sync                      time.Duration
	NotCounted                []string
}

// serves is the share of the load of all servers from which a server counts as one that serves operations. Secondaries
// that only replicate are below it.
const serves = 0.05

// Of returns the anatomy of the operations of a client. It is empty without any operation.
func Of(c Sender, servers []Server) Anatomy {
	a := Anatomy{Service: float64(c.Service)}
	parts := map[Place]Part{}
	total := 0.0
	for _, s := range servers {
		total += s.Load
	}
	behind, routed := 0.0, 0.0
	for _, s := range servers {
		if s.Load <= 0 || s.Load < serves*total {
			continue
		}
		a.Servers = append(a.Servers, s.Name)
		for _, n := range s.NotCounted {
			a.NotCounted = appendNew(a.NotCounted, n)
		}
		if s.Router {
			routed += s.Load
			continue
		}
		behind += s.Load
		a.Over += s.into(parts)
	}
	if a.InServer = behind; routed > 0 {
		a.InServer = max(routed, behind)
		parts[Router] = Part{Place: Router, Operations: a.InServer - behind, Why: "with its network to the shards"}
	}
	a.divide(c, parts)
	return a
}

func appendNew(list []string, text string) []string {
	for _, x := range list {
		if x == text {
			return list
		}
	}
	return append(list, text)
}

// divide makes the parts add up to the operations of the client.
func (a *Anatomy) divide(c Sender, parts map[Place]Part) {
	a.Operations = c.InFlight
	if !(a.Operations > 0) {
		a.Operations = a.InServer
	}
	own := min(max(0, c.Own), a.Operations)
	outside := a.Operations - own
	switch {
	case a.InServer == 0:
		parts[Unexplained] = Part{Place: Unexplained, Operations: outside, Why: "no server was read"}
	case a.InServer > outside:
		a.Foreign = a.InServer - outside
		share := outside / a.InServer
		for place, p := range parts {
			p.Operations *= share
			parts[place] = p
		}
	default:
		parts[Network] = Part{Place: Network, Operations: outside - a.InServer,
			Why: "the service time without that in the servers: network, sockets, and reading and writing messages"}
	}
	parts[Client] = Part{Place: Client, Operations: own}
	a.Parts = []Part{}
	for _, place := range Places() {
		if p := parts[place]; p.Operations > 0 {
			a.Parts = append(a.Parts, p)
		}
	}
}

// into adds the places of a server, which add up to its load. over is by how much the counters exceeded that.
func (s Server) into(parts map[Place]Part) (over float64) {
	own := map[Place]float64{}
	counted := 0.0
	for place, n := range s.Places {
		outside := place == Client || place == Network || place == Router
		if n > 0 && !math.IsInf(n, 0) && !outside {
			own[place], counted = n, counted+n
		}
	}
	if counted > s.Load {
		over = counted - s.Load
		for place := range own {
			own[place] *= s.Load / counted
		}
		counted = s.Load
	}
	left := s.Load - counted
	take := func(place Place, n float64) {
		n = min(max(0, n), left)
		own[place], left = own[place]+n, left-n
	}
	_, known := s.Places[Tickets]
	if !known && s.Queued > 0 { // the queue has waits for locks and flow control too
		take(Tickets, s.Queued-own[Locks]-own[FlowControl])
	}
	if s.Sync > 0 && s.Synced > 0 {
		g := measure.GroupCommit{Sync: s.Sync}
		take(Journal, s.Synced*g.OpenLatency(s.Synced).Seconds())
	}
	if s.Writes > 0 {
		take(Conflicts, s.Writes*backoff(s.Conflicts/s.Writes).Seconds())
	}
	take(CPU, s.CPU)
	take(RunQueue, s.Waited)
	own[Unexplained] += left
	for place, n := range own {
		p := parts[place]
		p.Place, p.Operations = place, p.Operations+n
		switch {
		case place == Tickets && !known:
			p.Estimated, p.Why = true, "from the length of the queue, once a second"
		case place == Journal:
			p.Estimated, p.Why = true, "from the time of a sync and the rate of writes"
		case place == Conflicts && s.Places[Conflicts] == 0:
			p.Estimated, p.Why = true, "at least, from the pauses between the attempts of a write"
		case place == CPU:
			p.Why = "of the whole process, as far as operations have time for it"
		}
		parts[place] = p
	}
	return over
}

// backoff is the pause of a write with some conflicts: none for the first 4 attempts, 1 ms each up to 10, 5 ms up to
// 100, 10 ms up to 200, then 100 ms (write_conflict_exception.cpp of 5.0). It is convex, so that of the mean is a lower
// bound.
func backoff(conflicts float64) time.Duration {
	ms := 0.0
	for _, step := range []struct{ from, to, each float64 }{{4, 10, 1}, {10, 100, 5}, {100, 200, 10}, {200, 1e4, 100}} {
		ms += max(0, min(conflicts, step.to)-step.from) * step.each
	}
	return time.Duration(ms * float64(time.Millisecond))
}

// In returns the mean number of operations in a place.
func (a *Anatomy) In(place Place) float64 {
	if a == nil {
		return 0
	}
	for _, p := range a.Parts {
		if p.Place == place {
			return p.Operations
		}
	}
	return 0
}

// Share is the share of the operations that are in a place.
func (a *Anatomy) Share(place Place) float64 {
	if a == nil || a.Operations <= 0 {
		return 0
	}
	return a.In(place) / a.Operations
}

// Largest is the part with most operations besides the unexplained one; false if there is none.
func (a *Anatomy) Largest() (best Part, ok bool) {
	if a == nil {
		return best, false
	}
	for _, p := range a.Parts {
		if p.Place != Unexplained && p.Operations > best.Operations {
			best, ok = p, true
		}
	}
	return best, ok
}
