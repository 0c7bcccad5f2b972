package observe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/cgroup"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/store"
)

// sampleAtMost is the time limit of one sample. A busier server leaves gaps.
const sampleAtMost = 5 * time.Second

// openAgain is the pause after a failed connection, because each attempt may be a line in the server's log.
const openAgain = 10 * time.Second

// Opener opens a store for sampling only.
type Opener func(ctx context.Context) (store.Store, error)

// watched is one server of a deployment, or its current primary.
type watched struct {
	open    Opener
	address string // its name if it does not report one
	st      store.Store
	client  server.Commander // nil while it is not open
	status  *statusReader
	replica *replicaReader // nil if the lab reports the set
	hosts   *hosts         // nil if the lab samples its host
	host    diagnosticReader
	blind   bool          // it does not show its diagnostic data
	empty   int           // answers in succession without diagnostic data
	taken   time.Time     // of its last diagnostic data, by its clock
	clocked bool          // ahead is known
	ahead   time.Duration // how much its clock is ahead of this machine's
	delay   time.Duration // before each query, so that it has new data by then
	again   time.Time     // of the next attempt to open it
	away    error         // why it is not open
	fixed   bool          // it is always the same server, named by its address
	pids    []int         // its processes on this machine; nil if they are not known
	sought  bool          // pids were sought
	kernel  rates         // of its threads and control groups
}

// hosts are the machines of a deployment, each with the server that reports it.
type hosts struct {
	mu   sync.Mutex
	seen map[string]*watched
	away map[string]bool // servers that could not be opened
	// reason is the error of the first of them.
	reason string
}

// unreached is one error for all servers that cannot be opened.
type unreached struct {
	hosts  *hosts
	reason string
}

func (u *unreached) Error() string {
	u.hosts.mu.Lock()
	defer u.hosts.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Keys(u.hosts.away)), ", ") + " cannot be sampled with the address and user of this run: " +
		u.reason
}

// reached notes whether a server could be opened.
func (h *hosts) reached(address string, err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		delete(h.away, address)
		return nil
	}
	h.away[address] = true
	if h.reason == "" {
		h.reason = strings.ReplaceAll(store.OneLine(err.Error()), address, "it")
	}
	return &unreached{h, h.reason}
}

// mine reports whether a server reports its host: the first server on it does.
func (h *hosts) mine(host string, s *watched) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen[host] == nil {
		h.seen[host] = s
	}
	return h.seen[host] == s
}

func newHosts() *hosts {
	h := &hosts{seen: map[string]*watched{}, away: map[string]bool{}}
	if name, err := os.Hostname(); err == nil {
		h.seen[name] = &watched{} // sampled by NewHost
	}
	return h
}

// NewServer returns the server behind a store as the source "server:ADDRESS". The store is opened at the first sample,
// and again after a failure.
func NewServer(address string, open Opener) Source {
	return &watched{open: open, address: address, status: newStatusReader(), replica: &replicaReader{}, hosts: newHosts()}
}

// NewMember returns one server of a lab like [NewServer], with its processes on this machine. The lab reports its
// replica set and its host.
func NewMember(address string, pids []int, open Opener) Source {
	return &watched{open: open, address: address, status: newStatusReader(), pids: pids, sought: len(pids) > 0,
		fixed: true}
}

// process adds what the kernel of this machine says of a server that runs on it: the mean number of its threads that
// waited for a core, and the quota of its control groups.
func (s *watched) process(doc bson.Raw, values map[string]float64) {
	if pid, ok := server.Number(doc, "pid"); !s.sought && ok {
		s.sought = true
		if up, _ := uptimeMillis.Number(doc); localServer(int(pid), time.Duration(up)*time.Millisecond) {
			s.pids = []int{int(pid)}
		}
	}
	if len(s.pids) == 0 {
		return
	}
	s.kernel.begin(time.Now())
	sum, known := 0.0, false
	for _, pid := range s.pids {
		for thread, waited := range runDelays(pid) {
			if x, ok := s.kernel.rate(thread, waited.Seconds()); ok {
				sum, known = sum+x, true
			}
		}
	}
	groups := cgroup.CPUOf(s.pids[0])
	if cores := cgroup.Cores(groups); !math.IsInf(cores, 0) {
		values["cpu.limit"] = cores
		_, stopped := cgroup.Throttled(groups)
		s.kernel.perSecond(values, "cpu.throttled", stopped.Seconds())
	}
	if s.kernel.end(); known {
		values["cpu.waiting"] = sum
	}
}

func (s *watched) Close() error {
	if s.st == nil {
		return nil
	}
	err := s.st.Close()
	s.st, s.client = nil, nil
	return err
}

// Look sends one command: getDiagnosticData, or serverStatus if the server does not show its diagnostic data.
func (s *watched) Look(ctx context.Context) (Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, sampleAtMost)
	defer cancel()
	if err := s.connect(ctx); err != nil {
		return Reading{}, err
	}
	if s.blind {
		return s.lookStatus(ctx)
	}
	if wait.Sleep(ctx, s.delay) != nil {
		return Reading{}, ctx.Err()
	}
	d, err := server.QueryDiagnostics(ctx, s.client)
	var refused *store.ServerError
	switch {
	case errors.As(err, &refused) && !store.ChangesPrimary(refused.Code):
		s.blind = true
		return s.lookStatus(ctx, s.withoutRole(refused)...)
	case err != nil:
		return Reading{}, fmt.Errorf("the diagnostic data of the server (getDiagnosticData): %w", err)
	case len(d.Status) == 0:
		return s.lookStatus(ctx, s.withoutData()...)
	}
	s.empty = 0
	s.recognise(d.Status)
	if !d.Taken.After(s.taken) {
		s.delay = (s.delay + stepAside) % time.Second // the server collects at about the time of this query
		return Reading{}, nil
	}
	s.taken = d.Taken
	return s.readDiagnostics(d)
}

const (
	stepAside  = 300 * time.Millisecond
	mostEmpty  = 5                // answers without diagnostic data until the server counts as one without
	mostBehind = 10 * time.Second // older diagnostic data show that a clock was set
)

// unauthorized is the code of a refusal that a role would change. Its text has the whole command, which differs from
// server to server.
const unauthorized = 13

// withoutRole notes why the server refuses its diagnostic data, if a role would change that.
func (s *watched) withoutRole(refused *store.ServerError) []string {
	if refused.Code != unauthorized || s.hosts == nil {
		return nil
	}
	return []string{"the machines of the servers are not sampled, because the user is not authorized to run " +
		"getDiagnosticData, which has CPU, disks and memory. Give the user the role clusterMonitor"}
}

// withoutData notes that the server collects no diagnostic data. It has none just after its start either.
func (s *watched) withoutData() []string {
	if s.empty++; s.empty < mostEmpty {
		return nil
	}
	s.blind = true
	if s.hosts == nil {
		return nil
	}
	return []string{"the machine of " + s.name() + " is not sampled, because the server collects no diagnostic data " +
		"(parameter diagnosticDataCollectionEnabled)"}
}

// recognise notes that another server replies, which has a clock of its own.
func (s *watched) recognise(status bson.Raw) {
	if host := server.Text(status, "host"); host != s.status.server {
		s.taken, s.clocked = time.Time{}, s.clocked && s.status.server == ""
	}
}

// here is a time of the server's clock on that of this machine. One that cannot be right shows that a clock was set.
func (s *watched) here(at, now time.Time) time.Time {
	if age := now.Sub(at.Add(-s.ahead)); !s.clocked || age < -time.Second || age > mostBehind {
		s.clocked, s.ahead = true, at.Sub(now)
	}
	return at.Add(-s.ahead)
}

// readDiagnostics returns the sample that the server took.
func (s *watched) readDiagnostics(d server.Diagnostics) (Reading, error) {
	at := s.here(d.Taken, time.Now())
	values, events := s.status.read(d.Status, d.Taken) // rates by the server's clock
	s.process(d.Status, values)
	for i := range events {
		events[i].Time = at
	}
	r := Reading{Source: "server:" + s.name(), Time: at, Values: values, Events: events}
	if len(d.Set) > 0 {
		switch set := server.ReadSet(d.Set); {
		case s.fixed && set.State != server.Primary:
			own(set, values)
		case s.replica != nil:
			r.Events = append(r.Events, s.replica.read(set, values, at)...)
		}
	}
	if name := s.machine(); name != "" {
		if values := s.host.read(d.Host, at); len(values) > 0 {
			r.Others = append(r.Others, Reading{Source: "host:" + name, Time: at, Values: values})
		}
	}
	return r, nil
}

// lookStatus reads the statistics of the server, and the set from its primary.
func (s *watched) lookStatus(ctx context.Context, notes ...string) (Reading, error) {
	doc, err := server.QueryStatistics(ctx, s.client)
	if err != nil {
		return Reading{Notes: notes}, s.lost("the statistics of the server (serverStatus)", err)
	}
	// Behind a full network a reply is late. What it says is as old as the server's clock says.
	at := time.Now()
	s.recognise(doc)
	if ms, ok := doc.Lookup("localTime").DateTimeOK(); ok {
		if taken := s.here(time.UnixMilli(ms), at); taken.After(s.status.rates.at) {
			at = taken
		}
	}
	values, events := s.status.read(doc, at)
	s.process(doc, values)
	r := Reading{Source: "server:" + s.name(), Time: at, Values: values, Events: events, Notes: notes}
	if len(values) == 0 {
		return r, never("the server's serverStatus has no statistics, so the server is not sampled")
	}
	if s.replica != nil {
		r.Events = append(r.Events, s.readSet(ctx, doc, values)...)
	}
	return r, nil
}

// readSet reads the replica set. Of fixed members only the primary does.
func (s *watched) readSet(ctx context.Context, status bson.Raw, values map[string]float64) []Event {
	if primary, told := writablePrimary.Number(status); s.fixed && (!told || primary == 0) {
		return nil
	}
	set, err := server.QuerySet(ctx, s.client)
	var refused *store.ServerError
	switch {
	case errors.As(err, &refused) && !store.ChangesPrimary(refused.Code):
		s.replica = nil // there is none, or it is refused
		return nil
	case err != nil:
		return nil // the next sample tries again
	}
	return s.replica.read(set, values, time.Now())
}

// machine returns the name of the server's machine if this server is the one that reports it.
func (s *watched) machine() string {
	if s.hosts == nil {
		return ""
	}
	name, _, err := net.SplitHostPort(s.status.server)
	if err != nil {
		name = s.status.server
	}
	if name == "" || !s.hosts.mine(name, s) {
		return ""
	}
	return name
}

func (s *watched) name() string {
	if s.status.server != "" && !s.fixed {
		return s.status.server
	}
	return s.address
}

func (s *watched) connect(ctx context.Context) error {
	if s.client != nil {
		return nil
	}
	if time.Now().Before(s.again) {
		return s.away
	}
	st, err := s.open(ctx)
	if s.fixed && s.hosts != nil {
		err = s.hosts.reached(s.address, err)
		s.again, s.away = time.Now().Add(openAgain), err
	} else if err != nil {
		err = fmt.Errorf("cannot sample the server during the load: %w", err)
	}
	if err != nil {
		return err
	}
	client, ok := st.(server.Commander)
	if !ok {
		return errors.Join(never("this target has no statistics"), st.Close())
	}
	s.st, s.client = st, client
	sent := time.Now()
	if hello, err := server.QueryHello(ctx, client, server.Version{}); err == nil && !hello.LocalTime.IsZero() {
		s.clocked, s.ahead = true, hello.LocalTime.Sub(sent.Add(time.Since(sent)/2))
	}
	return nil
}

// lost makes an error final if the server refused, and not after a lost connection.
func (s *watched) lost(what string, err error) error {
	var refused *store.ServerError
	if errors.As(err, &refused) && refused.Code == unauthorized {
		return never("%s cannot be read from %s, because the user is not authorized. Give it the role clusterMonitor", what, s.name())
	}
	if errors.As(err, &refused) && !store.ChangesPrimary(refused.Code) {
		return never("%s cannot be read from %s: %s", what, s.name(), store.OneLine(refused.Error()))
	}
	return fmt.Errorf("%s: %w", what, err)
}
