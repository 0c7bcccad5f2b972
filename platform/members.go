package platform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"github.com/plimsoll-bench/plimsoll/internal/dial"
	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// helloWithin bounds a query for the role of a member. A member that does not answer within this time hangs.
const helloWithin = time.Second

// identifyWithin bounds the first queries of a member, which are several commands on a new connection. Nothing is
// broken yet when they are sent, so a busy machine gets the time that it needs.
const identifyWithin = 15 * time.Second

// The states of members. A member that the file does not name is not queried.
const (
	running     = "running"
	unreachable = "unreachable"
)

// member is a member that the platform file names.
type member struct {
	spec.PlatformMember
	uri string // of this member alone

	mu       sync.Mutex
	client   *mongo.Client
	identity server.Identity // the last known
	lostAt   time.Time       // when its connections broke last
	lost     error           // how they did
}

// commander runs commands on the member, over connections that it keeps.
func (m *member) commander() (server.Commander, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.client == nil {
		c, err := mongo.Connect(options.Client().ApplyURI(m.uri).SetAppName("plimsoll drill").
			SetDialer(&dial.Dialer{}).SetServerSelectionTimeout(helloWithin).SetMaxPoolSize(4).
			SetPoolMonitor(&event.PoolMonitor{Event: m.observe}))
		if err != nil {
			return nil, err
		}
		m.client = c
	}
	return server.Driver(m.client), nil
}

// observe notes that the driver gave up all connections. A server that is back within [helloWithin] breaks no query,
// because the driver waits for it.
func (m *member) observe(e *event.PoolEvent) {
	if e.Type != event.ConnectionPoolCleared || e.Error == nil {
		return
	}
	at := time.Now()
	go func() { // the driver may call this while m is locked
		m.mu.Lock()
		defer m.mu.Unlock()
		m.lostAt, m.lost = at, e.Error
	}()
}

// lostSince returns when the connections broke after a time; nil if they did not.
func (m *member) lostSince(since time.Time) (time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lostAt.Before(since) {
		return time.Time{}, nil
	}
	return m.lostAt, m.lost
}

func (m *member) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.client != nil {
		ctx, cancel := context.WithTimeout(context.Background(), helloWithin)
		defer cancel()
		_ = m.client.Disconnect(ctx) // nothing is under way on its connections
		m.client = nil
	}
}

// hello queries the role of the member now.
func (m *member) hello(ctx context.Context) (server.Identity, error) {
	id, within := m.last(), helloWithin
	if id.Kind == "" {
		within = identifyWithin
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	c, err := m.commander()
	if err != nil {
		return server.Identity{}, err
	}
	if id.Kind == "" {
		id, err = server.Identify(ctx, c)
	} else {
		id.Hello, err = server.QueryHello(ctx, c, id.Version)
	}
	if err != nil {
		return server.Identity{}, cause(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.identity = id
	return id, nil
}

// cause is why the driver selected no server: the last error of its connection to the member. Otherwise it is err.
func cause(err error) error {
	var selection topology.ServerSelectionError
	if errors.As(err, &selection) {
		for _, s := range selection.Desc.Servers {
			if s.LastError != nil {
				return s.LastError
			}
		}
	}
	return err
}

// last is the last known identity.
func (m *member) last() server.Identity {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.identity
}

// known is the address by which the member's set knows it.
func (m *member) known() string { return cmp.Or(server.Text(m.last().Hello.Raw, "me"), m.Address) }

// describe queries a member.
func (d *Deployment) describe(ctx context.Context, m *member) record.LabMember {
	id, err := m.hello(ctx)
	if err != nil && !mongo.IsTimeout(err) { // connections from before a restart break once
		id, err = m.hello(ctx)
	}
	l := record.LabMember{Name: m.Name, Address: m.Address, Host: d.backends[0].Machine(m.PlatformMember), Kind: "mongod",
		State: running}
	if err != nil {
		l.State, l.Role, l.Problem, l.Set = unreachable, "unknown", err.Error(), m.last().Hello.SetName
		return l
	}
	l.Set, l.Role = id.Hello.SetName, roleOf(id.Hello)
	if id.Hello.Router() {
		l.Kind = "mongos"
	}
	return l
}

// roleOf is the role of a member as in [record.LabMember].
func roleOf(h server.Hello) string {
	if _, config := server.Number(h.Raw, "configsvr"); config && !h.Router() {
		return "config"
	}
	return h.Role()
}

// The members of the file in its order, then those that only the sets name, which are never broken. A member that does
// not answer is no error, but no answer at all is.
func (d *Deployment) Members(ctx context.Context) ([]record.LabMember, error) {
	list := make([]record.LabMember, len(d.members))
	var group sync.WaitGroup
	for i, m := range d.members {
		group.Go(func() { list[i] = d.describe(ctx, m) })
	}
	group.Wait()
	if !slices.ContainsFunc(list, func(m record.LabMember) bool { return m.State == running }) {
		return nil, fmt.Errorf("no member answers. %s (%s): %s", list[0].Name, list[0].Address, d.hide(list[0].Problem))
	}
	d.place(list)
	d.lags(list)
	return append(list, d.unnamed(list)...), nil
}

// place sets the set of members that do not answer, which those that answer know.
func (d *Deployment) place(list []record.LabMember) {
	for i := range list {
		for k, of := range list {
			if list[i].Set == "" && of.State == running &&
				slices.Contains(d.members[k].last().Hello.Members(), d.members[i].Address) {
				list[i].Set = of.Set
			}
		}
	}
}

// lagLeast is the shortest replication lag that the answers to hello show. They have whole seconds, and do not come at
// the same time.
const lagLeast = 2 * time.Second

// lags sets the replication lag of secondaries: how much earlier their last write is than the latest one of a named
// member of their set, except what they are configured to be behind.
func (d *Deployment) lags(list []record.LabMember) {
	last := func(i int) int64 { return int64(d.members[i].last().Hello.LastWrite.OpTime.TS.T) }
	latest := map[string]int64{}
	for i, m := range list {
		if m.Role == "primary" || m.Role == "secondary" {
			latest[m.Set] = max(latest[m.Set], last(i))
		}
	}
	for i := range list {
		m := &list[i]
		if m.Role != "secondary" || last(i) == 0 {
			continue
		}
		meant, _ := server.Number(d.members[i].last().Hello.Raw, "secondaryDelaySecs")
		before, _ := server.Number(d.members[i].last().Hello.Raw, "slaveDelay") // until 4.4
		lag := float64(latest[m.Set]-last(i)) - meant - before
		if lag < lagLeast.Seconds() {
			lag = 0
		}
		m.LagSeconds = &lag
	}
}

// unnamed are the members that only the sets of named members know.
func (d *Deployment) unnamed(named []record.LabMember) (list []record.LabMember) {
	primaries := map[string]bool{}
	for _, m := range named {
		primaries[m.Set] = primaries[m.Set] || m.Role == "primary"
	}
	for i, m := range d.members {
		if named[i].State != running {
			continue
		}
		h := m.last().Hello
		for _, address := range h.Members() {
			if slices.ContainsFunc(d.members, func(m *member) bool { return m.known() == address || m.Address == address }) ||
				slices.ContainsFunc(list, func(m record.LabMember) bool { return m.Address == address }) {
				continue
			}
			other := record.LabMember{Name: address, Address: address, Kind: "mongod", Set: h.SetName, State: running}
			other.Host, _, _ = net.SplitHostPort(address)
			if slices.Contains(h.Arbiters, address) {
				other.Role = "arbiter"
			}
			if !primaries[h.SetName] && server.Text(h.Raw, "primary") == address {
				other.Role = "primary"
			}
			list = append(list, other)
		}
	}
	return list
}

// named is the member of a name; nil if there is none.
func (d *Deployment) named(name string) *member {
	for _, m := range d.members {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// candidates are the members that a target may mean now: one, or several for random without a seed.
func (d *Deployment) candidates(f spec.Fault, members []record.LabMember) (list []*member, err error) {
	target := f.Action.Target
	if m := d.named(target); m != nil {
		return []*member{m}, nil
	}
	set, role := "", target
	if i := strings.LastIndexByte(target, '/'); i >= 0 {
		set, role = target[:i], target[i+1:]
	}
	if !slices.Contains(spec.MemberRoles, role) {
		return nil, d.noMember(target, members)
	}
	var others []string
	for i, m := range members {
		fits := m.Role == role || role == "random" && (m.Role == "primary" || m.Role == "secondary" || m.Role == "standalone")
		switch {
		case m.State != running || !fits || set != "" && m.Set != set:
		case i >= len(d.members):
			others = append(others, m.Name)
		default:
			list = append(list, d.members[i])
		}
	}
	switch {
	case len(list) == 0 && len(others) > 0:
		return nil, fmt.Errorf("the %s is %s, which the platform file does not name. Only named members are broken", target,
			strings.Join(others, " or "))
	case len(list) == 0:
		return nil, fmt.Errorf("%s: %w", target, errNobody)
	case f.Seed != 0:
		return []*member{list[rand.New(rand.NewPCG(f.Seed, f.Seed)).IntN(len(list))]}, nil
	case role == "random":
		return list, nil
	}
	return list[:1], nil
}

func (d *Deployment) noMember(target string, members []record.LabMember) error {
	var names []string
	for i, m := range members {
		if i < len(d.members) {
			names = append(names, m.Name)
		} else if m.Name == target {
			return fmt.Errorf("%s is a member of the set, but the platform file does not name it. Only named members are broken", target)
		}
	}
	return fmt.Errorf("there is no member %q%s (members: %s; roles: %s)", target,
		nearest.DidYouMean(target, slices.Concat(names, spec.MemberRoles)), strings.Join(names, ", "),
		strings.Join(spec.MemberRoles, ", "))
}

// errNobody says that no named member has a role now. During an election no member is the primary.
var errNobody = errors.New("no named member has this role now")

// AnswerWithin is how long a fault waits for members that answer, and for a primary: longer than an election takes with
// the servers' defaults. A server under load may answer late and is not down.
const AnswerWithin = 20 * time.Second

// choose finds the member that a fault strikes now; nil if it names none. It waits for an answer, and for the end of
// an election.
func (d *Deployment) choose(ctx context.Context, f spec.Fault) (*member, error) {
	if f.Action.Target == "" {
		return nil, nil
	}
	if m := d.named(f.Action.Target); m != nil { // it need not answer, as on a node that is lost
		return m, nil
	}
	ctx, cancel := context.WithTimeout(ctx, AnswerWithin)
	defer cancel()
	for {
		members, err := d.Members(ctx)
		if err == nil {
			var list []*member
			if list, err = d.candidates(f, members); err == nil {
				return list[rand.IntN(len(list))], nil
			}
			if !errors.Is(err, errNobody) || !strings.HasSuffix(f.Action.Target, "primary") {
				return nil, err
			}
		}
		if wait.Sleep(ctx, 50*time.Millisecond) != nil {
			return nil, err
		}
	}
}
