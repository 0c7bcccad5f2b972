package topology

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/record"
)

// documentDB is a set of PostgreSQL members with streaming replication, each with its Patroni, the etcd cluster in
// which Patroni keeps the lease of the primary, and gateways in front of all members. A single member has no Patroni.
//
// Patroni alone decides which member is the primary, and restarts and rewinds members. The lab starts and ends servers,
// polls the members, and writes events about what it sees.
//
// op is held while gateways are restarted and while the cluster starts or stops, mu only while fields are read or
// written.
type documentDB struct {
	site     Site
	secrets  secrets
	tlsDir   string         // with the certificates of the gateways; empty without TLS
	settings map[string]any // of Patroni
	etcd     []*engine.Etcd
	members  []*pgMember
	gateways []*pgGateway

	op sync.Mutex

	mu         sync.Mutex
	primary    *pgMember // the last one that was seen, dead or alive; nil before the start
	timeline   int64     // of the primary
	led        time.Time // start of the last poll that it answered as primary
	planned    bool      // StepDown waits for the next primary
	stopping   bool
	etcdLeader *engine.Etcd             // of etcd, the last one that was seen
	synced     []string                 // the standbys that Patroni may promote, from etcd
	readers    map[*engine.Gateway]bool // for reading single members; true while in use
}

// pgMember is one PostgreSQL and what its polls have found. The fields below node are guarded by documentDB.mu.
type pgMember struct {
	plan MemberPlan
	node *engine.Postgres

	at       engine.Position // in its last answer
	answered time.Time       // start of the last poll that it answered; zero if none since its start
	down     bool            // reported as not answering
	joining  bool            // it was down or a primary, and has not been seen as a standby that receives since
	checking sync.Mutex      // held while its return is reported
}

// pgGateway is one gateway.
type pgGateway struct {
	plan MemberPlan
	node *engine.Gateway
}

var _ Cluster = (*documentDB)(nil)

func newDocumentDB(site Site) (Cluster, error) {
	c := &documentDB{site: site}
	var err error
	if c.settings, err = patroniSettings(site.Spec); err != nil {
		return nil, err
	}
	if c.secrets, err = loadSecrets(filepath.Join(site.Dir, "secrets"), site.Spec.Engine.Authentication); err != nil {
		return nil, err
	}
	if site.Spec.Engine.Authentication && site.Clients.User != "" {
		c.secrets.User, c.secrets.Client = site.Clients.User, cmp.Or(site.Clients.Password, c.secrets.Client)
	}
	if c.tlsDir, err = certificates(site); err != nil {
		return nil, err
	}
	if c.site.Event == nil {
		c.site.Event = func(string, string, map[string]string) {}
	}
	ctx := context.Background()                           // the files of the installation are read, nothing more
	for _, plan := range etcdFirst(site.Layout.Members) { // members need its addresses
		h, ok := site.Hosts[plan.Host]
		if !ok {
			return nil, noHost(plan)
		}
		log := filepath.Join(site.Dir, "logs", plan.Name+".log")
		switch plan.Kind {
		case KindEtcd:
			node, err := engine.NewEtcd(ctx, engine.EtcdOptions{Home: site.Home, Name: plan.Name, Host: h, Log: log,
				Dir: filepath.Join(site.Dir, "etcd", plan.Name), Token: site.Spec.Name})
			if err != nil {
				return nil, err
			}
			c.etcd = append(c.etcd, node)
		case "postgres":
			node, err := c.newMember(ctx, plan, log)
			if err != nil {
				return nil, err
			}
			c.members = append(c.members, node)
		case "gateway":
			node, err := c.newGateway(ctx, plan, log)
			if err != nil {
				return nil, err
			}
			c.gateways = append(c.gateways, node)
		default:
			return nil, fmt.Errorf("%s: the engine documentdb has no member of the kind %q", plan.Name, plan.Kind)
		}
	}
	for _, e := range c.etcd {
		e.SetPeers(c.etcd)
	}
	if len(c.members) == 0 || len(c.gateways) == 0 {
		return nil, errors.New("the layout has no members or no gateways")
	}
	return c, c.checkVersion()
}

// KindEtcd is the kind of a member of etcd. It stays on its host.
const KindEtcd = "etcd"

// etcdFirst returns the members with those of etcd first.
func etcdFirst(all []MemberPlan) []MemberPlan {
	other := func(m MemberPlan) bool { return m.Kind != KindEtcd }
	etcd := slices.DeleteFunc(slices.Clone(all), other)
	return append(etcd, slices.DeleteFunc(slices.Clone(all), func(m MemberPlan) bool { return !other(m) })...)
}

func (c *documentDB) newMember(ctx context.Context, plan MemberPlan, log string) (*pgMember, error) {
	members := documentDBMembers(c.site.Spec)
	o := engine.PostgresOptions{Home: c.site.Home, Name: plan.Name, Host: c.site.Hosts[plan.Host], Log: log,
		Journal: c.site.Journal, Password: c.secrets.Postgres, Allow: c.addresses(), Members: members,
		Sessions: c.connections() * len(gatewayLevels(members, acknowledgements(c.site.Spec))),
		Cache:    int64(c.site.Spec.Engine.Cache), Parameters: c.site.Spec.Engine.Parameters}
	if len(c.etcd) > 0 {
		o.Patroni = &engine.PatroniOptions{Scope: plan.Set, Settings: c.settings}
		for _, e := range c.etcd {
			o.Patroni.Etcd = append(o.Patroni.Etcd, e.Address())
		}
	}
	node, err := engine.NewPostgres(ctx, o)
	return &pgMember{plan: plan, node: node}, err
}

func (c *documentDB) newGateway(ctx context.Context, plan MemberPlan, log string) (*pgGateway, error) {
	commit := ""
	for _, l := range gatewayLevels(documentDBMembers(c.site.Spec), acknowledgements(c.site.Spec)) {
		if l.name == plan.Durability {
			commit = l.commit
		}
	}
	if commit == "" {
		return nil, fmt.Errorf("%s: %q is not a durability level of documentdb", plan.Name, plan.Durability)
	}
	port := 0
	if plan.Durability == cmp.Or(c.site.Clients.Durability, levelDurable) {
		port = c.site.Clients.Port
	}
	onHost := 0
	for _, m := range c.site.Layout.Members {
		if m.Kind == "gateway" && m.Host == plan.Host {
			onHost++
		}
	}
	node, err := engine.NewGateway(ctx, engine.GatewayOptions{Home: c.site.Home, Name: plan.Name,
		Host: c.site.Hosts[plan.Host], Port: port, Log: log, Dir: filepath.Join(c.site.Dir, "gateways", plan.Name),
		Password: c.secrets.Postgres, Commit: commit, Sessions: c.connections(), Beside: onHost,
		User: c.secrets.User, ClientPassword: c.secrets.Client, TLSDir: c.tlsDir})
	return &pgGateway{plan: plan, node: node}, err
}

func (c *documentDB) connections() int {
	if n := int(c.site.Spec.Engine.Connections); n > 0 {
		return n
	}
	return sessionsIn(int64(c.site.Spec.Hosts.Memory))
}

const (
	// usualSessions suffice for a few dozen workers without a queue. PostgreSQL has a process for each of them.
	usualSessions = 64
	// sessionMemory is the memory of a session of PostgreSQL while documents are inserted, as measured. baseMemory is that
	// of the gateway and of PostgreSQL's other processes. A quarter of the memory is shared_buffers.
	sessionMemory = 11 << 20
	baseMemory    = 128 << 20
	leastSessions = 4
)

// sessionsIn is the number of sessions for which the memory of a host suffices, 0 for no limit. The gateway lets
// further clients wait. With more, the kernel kills a session, and PostgreSQL ends all others and recovers.
func sessionsIn(memory int64) int {
	if memory == 0 {
		return usualSessions
	}
	return int(min(max((memory*3/4-baseMemory)/sessionMemory, leastSessions), usualSessions))
}

// addresses returns the addresses that may connect to members: all hosts of the lab, because members can move, and this
// machine.
func (c *documentDB) addresses() []string {
	var all []string
	add := func(ip string) {
		if !slices.Contains(all, ip) {
			all = append(all, ip)
		}
	}
	for _, plan := range c.site.Layout.Hosts {
		if h, ok := c.site.Hosts[plan.Name]; ok {
			add(h.Address())
			if ip, err := sourceFor(h.Address()); err == nil {
				add(ip)
			}
		}
	}
	return all
}

// sourceFor returns the address from which this machine reaches another one. It sends no packet.
func sourceFor(ip string) (string, error) {
	conn, err := net.Dial("udp", net.JoinHostPort(ip, "9"))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	host, _, err := net.SplitHostPort(conn.LocalAddr().String())
	return host, err
}

// checkVersion refuses another release than the installed one.
func (c *documentDB) checkVersion() error {
	want, have := c.site.Spec.Engine.Version, c.members[0].node.Version()
	if want == "" || want == have || containsVersion(have, want) {
		return nil
	}
	return fmt.Errorf("engine.version: the installed release is %q, not %s; leave the version out, "+
		"or install the other release with 'plimsoll engine install documentdb'", have, want)
}

// URIs returns the addresses by durability level. The default is the gateway that waits for a majority, as MongoDB does
// by default.
func (c *documentDB) URIs() map[string]string {
	uris := map[string]string{}
	for _, g := range c.gateways {
		for _, name := range levelNames(g.plan.Durability, len(c.members)) {
			uris[name] = g.node.URI()
		}
	}
	return uris
}

func (c *documentDB) Node(name string) (engine.Node, bool) { return nodeNamed(c.Nodes(), name) }

func (c *documentDB) Nodes() []engine.Node {
	var all []engine.Node
	for _, m := range c.members {
		all = append(all, m.node)
	}
	for _, e := range c.etcd {
		all = append(all, e)
	}
	for _, g := range c.gateways {
		all = append(all, g.node)
	}
	return all
}

func (c *documentDB) member(name string) *pgMember {
	for _, m := range c.members {
		if m.plan.Name == name {
			return m
		}
	}
	return nil
}

func (c *documentDB) Sharding(context.Context) (*record.LabSharding, error) { return nil, nil }

// leader returns the last primary that was seen, dead or alive; nil before the start.
func (c *documentDB) leader() *pgMember {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.primary
}

func (c *documentDB) singleMember() bool { return len(c.members) == 1 }
