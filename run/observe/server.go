package observe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

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
	blind   bool      // it refuses the data of its host
	again   time.Time // of the next attempt to open it
	away    error     // why it is not open
	fixed   bool      // it is always the same server, named by its address
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

// NewMember returns one server of a lab like [NewServer]. The lab reports its replica set and its host.
func NewMember(address string, open Opener) Source {
	return &watched{open: open, address: address, status: newStatusReader()}
}

// Close implements [Source].
func (s *watched) Close() error {
	if s.st == nil {
		return nil
	}
	err := s.st.Close()
	s.st, s.client = nil, nil
	return err
}

// Look implements [Source].
func (s *watched) Look(ctx context.Context) (Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, sampleAtMost)
	defer cancel()
	if err := s.connect(ctx); err != nil {
		return Reading{}, err
	}
	doc, err := server.QueryStatistics(ctx, s.client)
	if err != nil {
		return Reading{}, s.lost("the statistics of the server (serverStatus)", err)
	}
	now := time.Now()
	values, events := s.status.read(doc, now)
	r := Reading{Source: "server:" + s.name(), Values: values, Events: events}
	if len(values) == 0 {
		return r, never("the server's serverStatus has no statistics, so the server is not sampled")
	}
	if s.replica != nil {
		r.Events = append(r.Events, s.readSet(ctx, doc, values)...)
	}
	if s.hosts != nil && !s.blind {
		s.readHost(ctx, &r)
	}
	return r, nil
}

// readSet reads the replica set. Of fixed members only the primary does.
func (s *watched) readSet(ctx context.Context, status bson.Raw, values map[string]float64) []Event {
	if primary, told := writablePrimary.number(status); s.fixed && (!told || primary == 0) {
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

// readHost adds the server's data of its machine, unless the server has refused them.
func (s *watched) readHost(ctx context.Context, r *Reading) {
	name, _, err := net.SplitHostPort(s.status.server)
	if err != nil {
		name = s.status.server
	}
	if name == "" || !s.hosts.mine(name, s) {
		return
	}
	reply, err := server.QueryDiagnostics(ctx, s.client)
	var refused *store.ServerError
	if errors.As(err, &refused) {
		s.blind = true
		r.Notes = append(r.Notes, "the machines of the servers are not sampled: "+store.OneLine(refused.Error())+
			". A user with the role clusterMonitor may run getDiagnosticData, which has CPU, disks and memory")
		return
	}
	if err != nil {
		return // the next sample tries again
	}
	if values := s.host.read(reply, time.Now()); len(values) > 0 {
		r.Others = append(r.Others, Reading{Source: "host:" + name, Values: values})
	}
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
	if s.fixed {
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
	return nil
}

// lost makes an error final if the server refused, and not after a lost connection.
func (s *watched) lost(what string, err error) error {
	var refused *store.ServerError
	if errors.As(err, &refused) && !store.ChangesPrimary(refused.Code) {
		return never("%s cannot be read from %s: %s", what, s.name(), store.OneLine(refused.Error()))
	}
	return fmt.Errorf("%s: %w", what, err)
}
