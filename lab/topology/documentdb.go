package topology

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/record"
)

// documentDB is a set of PostgreSQL members by streaming replication, with gateways in front of the primary.
//
// The supervisor's Watch plays the part that the members of a replica set play among themselves: it finds the primary
// dead, promotes the standby that has most, and lets the others follow. Two primaries at a time cannot be: before a
// standby is promoted the gateways are ended, so that no client reaches the old primary, then the old primary is
// killed and marked as a standby for its next start, whether it was dead, paused or cut off. That is what a member of
// MongoDB does by itself when it sees no majority, and what Patroni does with a watchdog. A new gateway knows the new
// primary only.
//
// op is held while the roles of members change; mu only for looking and noting.
type documentDB struct {
	site      Site
	secrets   secrets
	tlsDir    string // with the certificates of the gateways; empty without TLS
	members   []*pgMember
	gateways  []*pgGateway
	timeout   time.Duration // without an answer, after which the primary is given up
	heartbeat time.Duration // between two questions to a member

	op sync.Mutex

	mu          sync.Mutex
	primary     *pgMember // the last one, dead or alive; nil before the start
	elected     *pgMember // was asked to lead in place of primary, and whether it does is not known yet; nil mostly
	history     history   // of the primary
	lastProblem string    // the last problem that was told, not to tell it again and again
	stopping    bool
	watching    bool                     // Watch runs
	lastTick    time.Time                // when Watch last saw that time goes by; see stoodStill
	readers     map[*engine.Gateway]bool // for reading single members; true while in use
}

// pgMember is one PostgreSQL with what is known of it. The fields below node are guarded by documentDB.mu.
type pgMember struct {
	plan MemberPlan
	node *engine.Postgres

	at            engine.Position // as it said last
	answered      time.Time       // when it was asked what it answered last; zero if it never answered since its start
	noStreamSince time.Time       // since when it runs without receiving from the primary; zero if it does
	down          bool            // told as not answering
	fenced        bool            // stopped because another one was promoted; joins again by itself when it can
	waiting       bool            // should join, but there is no primary to join
	diverged      bool            // has, or may have, what the primary does not have: it counts for nothing until it joins again
	recopy        bool            // its disk lost what it had acknowledged: its data are copied anew when it joins again
	lastTry       time.Time       // when it was last made to join again
	problem       string
}

// pgGateway is one gateway.
type pgGateway struct {
	plan  MemberPlan
	node  *engine.Gateway
	ended bool // for a promotion, to be started again after it; guarded by documentDB.mu
}

var _ Cluster = (*documentDB)(nil)

// newDocumentDB describes a cluster of PostgreSQL members with gateways; nothing is started before Start.
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
	ctx := context.Background() // an installation is looked at, nothing more
	names, sessions := c.names()
	for _, plan := range site.Layout.Members {
		h, ok := site.Hosts[plan.Host]
		if !ok {
			return nil, fmt.Errorf("%s stands on host %s, which was not made", plan.Name, plan.Host)
		}
		log := filepath.Join(site.Dir, "logs", plan.Name+".log")
		switch plan.Kind {
		case "postgres":
			node, err := engine.NewPostgres(ctx, engine.PostgresOptions{Home: site.Home, Name: plan.Name, Host: h, Log: log,
				Journal: site.Journal, Password: c.secrets.Postgres, Allow: c.addresses(), Members: names, Quorum: c.syncStandbys(len(names)),
				Sessions: sessions, Cache: int64(site.Spec.Engine.Cache), Receive: max(2*c.timeout, 5*time.Second),
				Parameters: site.Spec.Engine.Parameters})
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
			return nil, fmt.Errorf("%s: documentdb has no %s", plan.Name, plan.Kind)
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
	node, err := engine.NewGateway(ctx, engine.GatewayOptions{Home: c.site.Home, Name: plan.Name, Host: c.site.Hosts[plan.Host], Log: log,
		Dir: filepath.Join(c.site.Dir, "gateways", plan.Name), Password: c.secrets.Postgres, Commit: commit, Sessions: c.connections(),
		Beside: c.gatewaysOn(plan.Host), User: c.secrets.User, ClientPassword: c.secrets.Client, TLSDir: c.tlsDir})
	return &pgGateway{plan: plan, node: node}, err
}

// gatewaysOn is how many gateways share a host.
func (c *documentDB) gatewaysOn(host string) int {
	n := 0
	for _, plan := range c.site.Layout.Members {
		if plan.Kind == "gateway" && plan.Host == host {
			n++
		}
	}
	return n
}

func (c *documentDB) connections() int {
	if n := int(c.site.Spec.Engine.Connections); n > 0 {
		return n
	}
	return 64 // as a single server has
}

// names are those of all members, and sessions is how many all gateways together may open.
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

// addresses may connect to members: all hosts of the lab, because members can move, and this machine.
func (c *documentDB) addresses() []string {
	set := map[string]bool{}
	var all []string
	add := func(ip string) {
		if !set[ip] {
			set[ip] = true
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

// sourceFor is the address from which this machine reaches another one. No packet is sent.
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
	return fmt.Errorf("engine.version: %s is asked for and %q is installed; leave the version out, or install the other one with 'plimsoll engine install documentdb'", want, have)
}

// URIs are the addresses by durability level. The default is the gateway that waits for a majority: what MongoDB does
// when nothing is said.
func (c *documentDB) URIs() map[string]string {
	uris := map[string]string{}
	for _, g := range c.gateways {
		for _, name := range levelNames(g.plan.Durability, len(c.members)) {
			uris[name] = g.node.URI()
		}
	}
	return uris
}

// Node returns a server by its name.
func (c *documentDB) Node(name string) (engine.Node, bool) {
	for _, n := range c.Nodes() {
		if n.Name() == name {
			return n, true
		}
	}
	return nil, false
}

// Nodes are all servers, in the order of the layout.
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

// Sharding is nil: there is none.
func (c *documentDB) Sharding(context.Context) (*record.LabSharding, error) { return nil, nil }

// majority is how many members elect, the primary included.
func (c *documentDB) majority() int { return quorum(len(c.members)) + 1 }

// leader is the primary, dead or alive; nil before the start.
func (c *documentDB) leader() *pgMember {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.primary
}

// alone says whether the cluster has one member only, so that nothing can be promoted.
func (c *documentDB) singleMember() bool { return len(c.members) == 1 }
