package topology

import (
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

// documentDB is a set of PostgreSQL members with streaming replication, and gateways in front of the primary.
//
// Watch does the failover, as the members of a replica set do: it detects a dead primary, promotes the standby with the
// most data, and points the other standbys to it. Two primaries at the same time are impossible. Before the promotion
// Watch stops the gateways, so that no client reaches the old primary. Then it kills the old primary and marks it as a
// standby for its next start, whether it was dead, paused or cut off. A MongoDB primary steps down by itself when it
// sees no majority, and Patroni uses a watchdog for the same purpose. A new gateway has the address of the new primary
// only.
//
// op is held while the roles of members change, mu only while fields are read or written.
type documentDB struct {
	site      Site
	secrets   secrets
	tlsDir    string // with the certificates of the gateways; empty without TLS
	members   []*pgMember
	gateways  []*pgGateway
	timeout   time.Duration // failover starts if the primary does not answer for this long
	heartbeat time.Duration // between two probes of a member

	op sync.Mutex

	mu          sync.Mutex
	primary     *pgMember // the last one, dead or alive; nil before the start
	elected     *pgMember // a promotion of it was started, and its result is unknown; usually nil
	history     history   // of the primary
	lastProblem string    // the last problem reported, so that it is reported once
	stopping    bool
	watching    bool                     // Watch runs
	lastTick    time.Time                // of watchForPauses
	readers     map[*engine.Gateway]bool // for reading single members; true while in use
}

// pgMember is one PostgreSQL and its state. The fields below node are guarded by documentDB.mu.
type pgMember struct {
	plan MemberPlan
	node *engine.Postgres

	at            engine.Position // in its last answer
	answered      time.Time       // start of the last probe that it answered; zero if none since its start
	noStreamSince time.Time       // it runs and has received nothing from the primary since then; zero if it does
	down          bool            // reported as not answering
	fenced        bool            // stopped because another member was promoted; joins again automatically
	waiting       bool            // to join when there is a primary
	diverged      bool            // may have WAL that the primary does not have; ignored until it has joined again
	recopy        bool            // its disk lost acknowledged WAL; all its data are copied when it joins again
	lastTry       time.Time       // of joining it again
	problem       string
}

// pgGateway is one gateway.
type pgGateway struct {
	plan  MemberPlan
	node  *engine.Gateway
	ended bool // for a promotion, to be started after it; guarded by documentDB.mu
}

var _ Cluster = (*documentDB)(nil)

func newDocumentDB(site Site) (Cluster, error) {
	c := &documentDB{site: site}
	var err error
	if c.timeout, c.heartbeat, err = electionTimes(site.Spec); err != nil {
		return nil, err
	}
	if c.secrets, err = loadSecrets(filepath.Join(site.Dir, "secrets"), site.Spec.Engine.Authentication); err != nil {
		return nil, err
	}
	if c.tlsDir, err = certificates(site); err != nil {
		return nil, err
	}
	if c.site.Event == nil {
		c.site.Event = func(string, string, map[string]string) {}
	}
	ctx := context.Background() // the files of the installation are read, nothing more
	names, sessions := c.names()
	for _, plan := range site.Layout.Members {
		h, ok := site.Hosts[plan.Host]
		if !ok {
			return nil, noHost(plan)
		}
		log := filepath.Join(site.Dir, "logs", plan.Name+".log")
		switch plan.Kind {
		case "postgres":
			node, err := engine.NewPostgres(ctx, engine.PostgresOptions{Home: site.Home, Name: plan.Name, Host: h, Log: log,
				Journal: site.Journal, Password: c.secrets.Postgres, Allow: c.addresses(), Members: names,
				Quorum: c.syncStandbys(len(names)), Sessions: sessions, Cache: int64(site.Spec.Engine.Cache),
				Receive: max(2*c.timeout, 5*time.Second), Parameters: site.Spec.Engine.Parameters})
			if err != nil {
				return nil, err
			}
			c.members = append(c.members, &pgMember{plan: plan, node: node})
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
	if len(c.members) == 0 || len(c.gateways) == 0 {
		return nil, errors.New("the layout has no members or no gateways")
	}
	return c, c.checkVersion()
}

func (c *documentDB) newGateway(ctx context.Context, plan MemberPlan, log string) (*pgGateway, error) {
	commit := ""
	names, _ := c.names()
	for _, l := range gatewayLevels(len(names), acknowledgements(c.site.Spec)) {
		if l.name == plan.Durability {
			commit = l.commit
		}
	}
	if commit == "" {
		return nil, fmt.Errorf("%s: %q is not a durability level of documentdb", plan.Name, plan.Durability)
	}
	onHost := 0
	for _, m := range c.site.Layout.Members {
		if m.Kind == "gateway" && m.Host == plan.Host {
			onHost++
		}
	}
	node, err := engine.NewGateway(ctx, engine.GatewayOptions{Home: c.site.Home, Name: plan.Name,
		Host: c.site.Hosts[plan.Host], Log: log, Dir: filepath.Join(c.site.Dir, "gateways", plan.Name),
		Password: c.secrets.Postgres, Commit: commit, Sessions: c.connections(), Beside: onHost,
		User: c.secrets.User, ClientPassword: c.secrets.Client, TLSDir: c.tlsDir})
	return &pgGateway{plan: plan, node: node}, err
}

func (c *documentDB) connections() int {
	if n := int(c.site.Spec.Engine.Connections); n > 0 {
		return n
	}
	return 64 // as a single server has
}

// names returns the names of all members, and the limit of sessions of all gateways together.
func (c *documentDB) names() (names []string, sessions int) {
	for _, plan := range c.site.Layout.Members {
		if plan.Kind == "postgres" {
			names = append(names, plan.Name)
		} else {
			sessions += c.connections()
		}
	}
	return names, sessions
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

func (c *documentDB) Node(name string) (engine.Node, bool) {
	for _, n := range c.Nodes() {
		if n.Name() == name {
			return n, true
		}
	}
	return nil, false
}

func (c *documentDB) Nodes() []engine.Node {
	var all []engine.Node
	for _, m := range c.members {
		all = append(all, m.node)
	}
	for _, g := range c.gateways {
		all = append(all, g.node)
	}
	return all
}

func (c *documentDB) Sharding(context.Context) (*record.LabSharding, error) { return nil, nil }

// majority is the number of members in a majority, the primary included.
func (c *documentDB) majority() int { return quorum(len(c.members)) + 1 }

// leader returns the last primary, dead or alive; nil before the start.
func (c *documentDB) leader() *pgMember {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.primary
}

func (c *documentDB) singleMember() bool { return len(c.members) == 1 }
