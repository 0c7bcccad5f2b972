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

// lookAtMost is how long a server may take for its statistics. One that is busy takes longer; the gaps show it.
const lookAtMost = 5 * time.Second

// openAgain is how long a member that could not be opened is left alone: each try may be a line in its log.
const openAgain = 10 * time.Second

// Opener opens a store that is used for nothing but watching.
type Opener func(ctx context.Context) (store.Store, error)

// watched is one server of a deployment, or whichever is its primary.
type watched struct {
	open    Opener
	address string // by which it is called when it does not say its own
	st      store.Store
	client  server.Commander // nil as long as it is not open
	status  *statusReader
	replica *setReader // nil where somebody else tells of the set
	hosts   *hosts     // nil where its host is seen otherwise
	host    diagnosticReader
	blind   bool      // it does not tell of its host
	again   time.Time // when it may be opened again
	away    error     // why it is not open
	fixed   bool      // it is always the same server, so it has the name that others know it by
}

// setReader is what the members of a set have seen of it together.
type setReader struct {
	mu sync.Mutex
	replicaReader
}

// hosts are the machines of a deployment that somebody looks at already.
type hosts struct {
	mu   sync.Mutex
	seen map[string]*watched
	away map[string]bool // servers of the deployment that could not be opened
	// reason is why the first of them could not.
	reason string
}

// unreached is why servers of a deployment are not seen: one sentence for all of them.
type unreached struct {
	hosts  *hosts
	reason string
}

func (u *unreached) Error() string {
	u.hosts.mu.Lock()
	defer u.hosts.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Keys(u.hosts.away)), ", ") + " cannot be observed beside the load with the address and user of this run: " + u.reason
}

// reached notes whether a server could be opened. The reason is that of the first that could not.
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

// mine says whether a server is the one that tells of its host: the first one there.
func (h *hosts) mine(host string, s *watched) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen[host] == nil {
		h.seen[host] = s
	}
	return h.seen[host] == s
}

// newHosts are machines of which this one is seen already.
func newHosts() *hosts {
	h := &hosts{seen: map[string]*watched{}, away: map[string]bool{}}
	if name, err := os.Hostname(); err == nil {
		h.seen[name] = &watched{} // nobody's: NewHost looks at it
	}
	return h
}

// NewServer returns the server behind a store as a source called "server:ADDRESS". The store is opened at the
// first look, and again after a failure.
func NewServer(address string, open Opener) Source {
	return &watched{open: open, address: address, status: newStatusReader(), replica: &setReader{}, hosts: newHosts()}
}

// NewMember returns one server of a lab as [NewServer] does. It is not asked for its replica set: the lab tells of
// elections and of who is behind. Its host is seen by the lab.
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
	ctx, cancel := context.WithTimeout(ctx, lookAtMost)
	defer cancel()
	if err := s.connect(ctx); err != nil {
		return Reading{}, err
	}
	doc, err := server.AskStatistics(ctx, s.client)
	if err != nil {
		return Reading{}, s.lost("the statistics of the server (serverStatus)", err)
	}
	now := time.Now()
	values, events := s.status.read(doc, now)
	r := Reading{Source: "server:" + s.name(), Values: values, Events: events}
	if len(values) == 0 {
		return r, never("the server's serverStatus says nothing about what it does, so there are no statistics of it beside the load")
	}
	if s.replica != nil {
		r.Events = append(r.Events, s.lookAtSet(ctx, doc, values)...)
	}
	if s.hosts != nil && !s.blind {
		s.lookAtHost(ctx, &r)
	}
	return r, nil
}

// lookAtSet asks for the replica set. Of members that are looked at one by one only the primary is asked.
func (s *watched) lookAtSet(ctx context.Context, status bson.Raw, values map[string]float64) []Event {
	if primary, told := writablePrimary.number(status); s.fixed && (!told || primary == 0) {
		return nil
	}
	set, err := server.AskSet(ctx, s.client)
	var refused *store.ServerError
	switch {
	case errors.As(err, &refused) && !store.ChangesPrimary(refused.Code):
		s.replica = nil // there is none, or nobody may know
		return nil
	case err != nil:
		return nil // the next look finds out
	}
	s.replica.mu.Lock()
	defer s.replica.mu.Unlock()
	return s.replica.read(set, values, time.Now())
}

// lookAtHost adds what the server says of its machine. One that may not be asked is not asked again.
func (s *watched) lookAtHost(ctx context.Context, r *Reading) {
	name, _, err := net.SplitHostPort(s.status.server)
	if err != nil {
		name = s.status.server
	}
	if name == "" || !s.hosts.mine(name, s) {
		return
	}
	reply, err := server.AskDiagnostics(ctx, s.client)
	var refused *store.ServerError
	if errors.As(err, &refused) {
		s.blind = true
		r.Notes = append(r.Notes, "the machines of the servers are not observed: "+store.OneLine(refused.Error())+
			"; a user with the role clusterMonitor may run getDiagnosticData, which tells of CPU, disks and memory")
		return
	}
	if err != nil {
		return // the next look finds out
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

// connect opens the store where it is not open.
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
		return errors.Join(never("this target has no statistics of its own"), st.Close())
	}
	s.st, s.client = st, client
	return nil
}

// lost decides whether asking again can help: a refusal is final, a lost connection is not.
func (s *watched) lost(what string, err error) error {
	var refused *store.ServerError
	if errors.As(err, &refused) && !store.ChangesPrimary(refused.Code) {
		return never("%s cannot be read from %s: %s", what, s.name(), store.OneLine(refused.Error()))
	}
	return fmt.Errorf("%s: %w", what, err)
}
