package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// probePause and probePauseMax bound the time between two greetings to one server while a session searches for a
	// primary. It is short, because the client notices the end of an outage later by this time. All sessions share one
	// greeting.
	probePause    = 4 * time.Millisecond
	probePauseMax = 250 * time.Millisecond
	// probeShare is the pause after a greeting as a multiple of its duration, so that greetings do not keep a server busy
	// that is starting or that needs milliseconds for a handshake.
	probeShare = 4
	// probePrecision bounds the pause as a share of the duration of the search: a server that has been down for minutes is
	// greeted less often, and the outage is still known to half a thousandth.
	probePrecision = 2000
	// probePatience is the timeout of the first greeting to a server that does not reply. It doubles each time up to the
	// timeout for connecting: at first short enough to notice a restart soon, later long enough for a slow server.
	probePatience = time.Second
)

// topology has the state of the deployment's servers. All sessions of a store share it, and at most one of them at a
// time greets a server. Sessions with a working connection do not use it.
type topology struct {
	st    *settings
	probe func(ctx context.Context, addr string) (*greeting, error)

	ctx     context.Context // ends with the store
	cancel  context.CancelFunc
	working sync.WaitGroup

	mu      sync.Mutex
	members []*member     // sorted by address
	changed chan struct{} // closed at a change
	waiting int           // number of sessions that search for a server
	// roleUnknown until the first reply; roleRouter, roleStandalone, or rolePrimary for a replica set
	role    role
	opening bool // while the store is being opened, a hopeless deployment fails at once
	setVer  int64
	elected [12]byte

	turn atomic.Uint64 // counts the changes, so that sessions notice one without the lock
}

// member is one server.
type member struct {
	addr     string
	now      role
	gen      uint64 // counts the replies; a report about an older one is ignored
	rtt      time.Duration
	why      string // why it is not usable
	hopeless bool   // only a change of settings can make it usable
	probing  bool
	since    time.Time // start of the current search
	until    time.Time // end of the last one
	patience time.Duration
}

func newTopology(st *settings, probe func(context.Context, string) (*greeting, error)) *topology {
	t := &topology{st: st, probe: probe, changed: make(chan struct{}), opening: true}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	for _, a := range st.seeds {
		t.add(a)
	}
	return t
}

// close stops all probing.
func (t *topology) close() {
	t.cancel()
	t.working.Wait()
}

func (t *topology) add(addr string) {
	i, found := slices.BinarySearchFunc(t.members, addr, func(m *member, a string) int {
		return strings.Compare(m.addr, a)
	})
	if !found {
		t.members = slices.Insert(t.members, i, &member{addr: addr, why: "no greeting yet", patience: min(probePatience, t.st.connect)})
	}
}

func (t *topology) find(addr string) *member {
	for _, m := range t.members {
		if m.addr == addr {
			return m
		}
	}
	return nil
}

// choice is a server and the number of the reply that the choice was based on.
type choice struct {
	addr string
	gen  uint64
}

// pick returns a server for the preference, and searches until ctx ends. worker distributes sessions over equally
// suitable servers.
func (t *topology) pick(ctx context.Context, want preference, worker int) (choice, error) {
	for {
		t.mu.Lock()
		if m := t.choose(want, worker); m != nil {
			c := choice{m.addr, m.gen}
			t.mu.Unlock()
			return c, nil
		}
		t.ask(time.Now())
		changed, state := t.changed, ""
		if ctx.Err() != nil || t.ctx.Err() != nil || t.opening && t.hopeless() {
			state = t.describe()
		} else {
			t.waiting++
		}
		t.mu.Unlock()
		if state != "" {
			return choice{}, fmt.Errorf("no %s found in time; %s; check the address, the network and replicaSet", t.wanted(want), state)
		}
		t.wait(ctx, changed)
	}
}

// wait waits for a change or for the end of ctx, while servers are greeted at intervals. The caller must increment
// t.waiting under the same lock as it starts the greetings: otherwise they could stop in between, and no change would
// follow.
func (t *topology) wait(ctx context.Context, changed <-chan struct{}) {
	select {
	case <-changed:
	case <-ctx.Done():
	case <-t.ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting--
}

// wanted names the servers of a preference.
func (t *topology) wanted(want preference) string {
	switch {
	case t.st.direct:
		return "server"
	case want == primary:
		return "primary, standalone server or router"
	}
	return "server for read preference " + preferenceNames[want]
}

// settle ends the opening: it waits until all servers have replied or failed once, or ctx ends.
func (t *topology) settle(ctx context.Context) {
	t.mu.Lock()
	t.opening = false
	t.mu.Unlock()
	for ctx.Err() == nil {
		t.mu.Lock()
		t.ask(time.Now())
		busy := slices.ContainsFunc(t.members, func(m *member) bool { return m.gen == 0 })
		changed := t.changed
		if busy {
			t.waiting++
		}
		t.mu.Unlock()
		if !busy {
			return
		}
		t.wait(ctx, changed)
	}
}

// isSet reports whether the deployment is a replica set and not one directly addressed server.
func (t *topology) isSet() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.role == rolePrimary
}

// report reports that the server of c failed or has another role than in its last reply. The next pick greets it again.
// Of many sessions with the same server only the first report counts.
func (t *topology) report(c choice, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.find(c.addr); m != nil && m.gen == c.gen {
		m.now, m.why = roleUnknown, why
		m.gen++
	}
}

// ask starts greetings to all servers until no session waits.
func (t *topology) ask(now time.Time) {
	if t.ctx.Err() != nil {
		return
	}
	for _, m := range t.members {
		if m.probing {
			continue
		}
		m.probing = true
		if now.Sub(m.until) > probePauseMax { // otherwise the search continues, as for a client whose operations fail
			m.since = now
		}
		t.working.Go(func() { t.keepAsking(m) })
	}
}

// keepAsking greets one server until no session waits. Only a change wakes waiting sessions: a thousand of them would
// leave no processor time for the server that they wait for.
func (t *topology) keepAsking(m *member) {
	for {
		pause := time.NewTimer(jitter(t.probeOne(m)))
		select {
		case <-pause.C:
		case <-t.ctx.Done():
			pause.Stop()
		}
		t.mu.Lock()
		if t.waiting == 0 || t.ctx.Err() != nil {
			m.probing, m.until = false, time.Now()
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
	}
}

// probeOne greets one server, applies its reply, and returns the pause until the next greeting.
func (t *topology) probeOne(m *member) time.Duration {
	ctx, cancel := context.WithTimeout(t.ctx, m.patience) // only keepAsking changes m.patience
	defer cancel()
	began := time.Now()
	g, err := t.probe(ctx, m.addr)
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	was, known := m.now, len(t.members)
	m.gen++
	m.hopeless = errors.As(err, new(*tls.CertificateVerificationError))
	if err != nil {
		m.now, m.why = roleUnknown, err.Error()
		if ctx.Err() != nil {
			m.patience = min(2*m.patience, t.st.connect)
		}
	} else {
		m.patience = min(probePatience, t.st.connect)
		t.learn(m, g)
	}
	if m.now != was || len(t.members) != known || m.gen == 1 || t.opening {
		t.turn.Add(1)
		close(t.changed)
		t.changed = make(chan struct{})
	}
	return min(max(probeShare*now.Sub(began), now.Sub(m.since)/probePrecision, probePause), probePauseMax)
}

// jitter varies a pause by a quarter in both directions, so that clients do not send greetings at the same times.
func jitter(d time.Duration) time.Duration {
	return d*3/4 + time.Duration(rand.Int64N(int64(d)/2+1))
}

// learn applies the reply of a server.
func (t *topology) learn(m *member, g *greeting) {
	m.rtt, m.why = g.rtt, "is a "+g.role.String()
	m.now = g.role
	if t.st.direct {
		return
	}
	switch g.role {
	case roleRouter:
		t.role = roleRouter
	case roleStandalone:
		if len(t.st.seeds) > 1 || t.st.setName != "" {
			m.now, m.why = roleUnknown, "is a standalone server, not a member of a replica set (give one address without replicaSet)"
			return
		}
		t.role = roleStandalone
	default:
		t.learnMember(m, g)
	}
}

// learnMember applies the reply of a member of a replica set.
func (t *topology) learnMember(m *member, g *greeting) {
	if t.st.setName != "" && g.setName != t.st.setName {
		m.now, m.why = roleUnknown, fmt.Sprintf("belongs to replica set %q, not %q", g.setName, t.st.setName)
		return
	}
	t.role = rolePrimary
	if g.role == rolePrimary && !t.newest(g) {
		m.now, m.why = roleUnknown, "believes to be primary, but a newer one was elected"
		return
	}
	if g.role == rolePrimary {
		for _, o := range t.members {
			if o != m && o.now == rolePrimary {
				o.now, o.why = roleUnknown, "was primary"
				o.gen++
			}
		}
	}
	t.learnHosts(m, g)
}

// newest reports whether no primary of a later election is known. Since wire version 17 the election counts before the
// version of the configuration.
func (t *topology) newest(g *greeting) bool {
	byElection := bytes.Compare(g.electionID[:], t.elected[:])
	bySet := 0
	if g.setVersion != t.setVer {
		bySet = 1
		if g.setVersion < t.setVer {
			bySet = -1
		}
	}
	first, second := bySet, byElection
	if g.maxWire >= 17 {
		first, second = byElection, bySet
	}
	if first < 0 || first == 0 && second < 0 {
		return false
	}
	t.elected, t.setVer = g.electionID, g.setVersion
	return true
}

// learnHosts applies the set's list of members: the primary's list replaces the known members, another member's list
// adds to them. A server that is not on its own list has an address that the set does not know. It is not used, because
// after a failover only the addresses of the set work.
func (t *topology) learnHosts(m *member, g *greeting) {
	if len(g.hosts) == 0 {
		return
	}
	if !slices.Contains(g.hosts, m.addr) {
		m.now = roleUnknown
		m.why = "is known to its replica set as " + g.me + " (make that name reachable, or use directConnection=true)"
	}
	if g.role == rolePrimary {
		t.members = slices.DeleteFunc(t.members, func(o *member) bool {
			return o != m && !o.probing && !slices.Contains(g.hosts, o.addr) && !slices.Contains(t.st.seeds, o.addr)
		})
	}
	for _, h := range g.hosts {
		t.add(h)
	}
}

// choose returns a suitable member, nil if there is none.
func (t *topology) choose(want preference, worker int) *member {
	if t.ctx.Err() != nil {
		return nil
	}
	if t.st.direct || t.role != rolePrimary {
		return t.spread(worker, func(m *member) bool { return m.now != roleUnknown })
	}
	isPrimary := func(m *member) bool { return m.now == rolePrimary }
	isSecondary := func(m *member) bool { return m.now == roleSecondary }
	switch want {
	case primary:
		return t.spread(worker, isPrimary)
	case primaryPreferred:
		return first(t.spread(worker, isPrimary), t.spread(worker, isSecondary))
	case secondary:
		return t.spread(worker, isSecondary)
	case secondaryPreferred:
		return first(t.spread(worker, isSecondary), t.spread(worker, isPrimary))
	}
	return t.spread(worker, func(m *member) bool { return isPrimary(m) || isSecondary(m) })
}

func first(a, b *member) *member {
	if a != nil {
		return a
	}
	return b
}

// spread returns the member for a worker among the suitable ones that are not much slower than the nearest one.
func (t *topology) spread(worker int, suits func(*member) bool) *member {
	nearest, n := time.Duration(-1), 0
	for _, m := range t.members {
		if suits(m) && (nearest < 0 || m.rtt < nearest) {
			nearest = m.rtt
		}
	}
	near := func(m *member) bool { return suits(m) && m.rtt <= nearest+t.st.threshold }
	for _, m := range t.members {
		if near(m) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	k := worker % n
	for _, m := range t.members {
		if near(m) {
			if k == 0 {
				return m
			}
			k--
		}
	}
	return nil
}

// hopeless reports whether no server can become usable without a change of settings.
func (t *topology) hopeless() bool {
	return !slices.ContainsFunc(t.members, func(m *member) bool { return !m.hopeless })
}

// describe lists the servers and their problems.
func (t *topology) describe() string {
	if t.ctx.Err() != nil {
		return "the store was closed"
	}
	parts := make([]string, 0, len(t.members))
	for _, m := range t.members {
		parts = append(parts, m.addr+": "+m.why)
	}
	return "tried " + strings.Join(parts, "; ")
}
