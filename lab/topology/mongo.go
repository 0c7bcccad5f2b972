package topology

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/spec"
)

const (
	// mongoUser is the user of a lab with authentication.
	mongoUser = "plimsoll"
	// findLimit bounds the search for the programs, and startLimit a start whose caller has no deadline.
	findLimit  = time.Minute
	startLimit = 5 * time.Minute
	// commandTimeout bounds a command to one server.
	commandTimeout = 5 * time.Second
	pollEvery      = 50 * time.Millisecond
)

// mongoCluster is a standalone mongod, a replica set or a sharded cluster.
type mongoCluster struct {
	site     Site
	programs engine.MongoPrograms
	nodes    []*engine.MongoNode
	plans    map[string]MemberPlan
	user     string        // of clients and of the lab's own commands
	password string        // empty without authentication
	patience time.Duration // limit of a return without progress
	tlsDir   string        // with the certificates; empty without TLS

	mu                sync.Mutex
	roles             map[string]string // last known, by member
	reported          map[string]string // roles that events have reported
	reportedRollbacks map[string]bool   // files
}

// newMongo finds the programs, and makes the lab's secrets and all nodes. It starts nothing.
func newMongo(ctx context.Context, site Site) (Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, findLimit)
	defer cancel()
	asked := site.Spec
	programs, err := engine.FindMongo(ctx, site.Home, asked.Engine.Binary, asked.Engine.Version,
		asked.Topology.Kind == spec.LabSharded)
	if err != nil {
		return nil, err
	}
	c := &mongoCluster{site: site, programs: programs, user: cmp.Or(site.Clients.User, mongoUser),
		patience: changeLimit, plans: map[string]MemberPlan{},
		roles: map[string]string{}, reported: map[string]string{}, reportedRollbacks: map[string]bool{}}
	keyFile, err := c.secrets()
	if err != nil {
		return nil, err
	}
	if c.tlsDir, err = certificates(site); err != nil {
		return nil, err
	}
	for _, m := range site.Layout.Members {
		n, err := c.newNode(m, keyFile)
		if err != nil {
			return nil, err
		}
		c.nodes = append(c.nodes, n)
		c.plans[m.Name] = m
	}
	return c, nil
}

// secrets reads or makes the key file of the members and the password of the lab's user. Only the owner may read the
// files: mongod refuses a key file that others can read (manual: "Keyfile Security").
func (c *mongoCluster) secrets() (keyFile string, err error) {
	if !c.site.Spec.Engine.Authentication {
		return "", nil
	}
	dir := filepath.Join(c.site.Dir, "secrets")
	keyFile = filepath.Join(dir, "mongo-key")
	if _, err := loadSecret(keyFile); err != nil {
		return "", err
	}
	if c.password = c.site.Clients.Password; c.password == "" {
		c.password, err = loadSecret(filepath.Join(dir, "mongo-password"))
	}
	return keyFile, err
}

// certificates makes the certificates of all hosts of a lab with TLS, and returns their directory.
func certificates(site Site) (dir string, err error) {
	if !site.Spec.Engine.TLS {
		return "", nil
	}
	addresses := map[string]string{}
	for name, h := range site.Hosts {
		addresses[name] = h.Address()
	}
	dir = filepath.Join(site.Dir, "secrets", "tls")
	return dir, engine.WriteCertificates(dir, addresses)
}

func (c *mongoCluster) newNode(m MemberPlan, keyFile string) (*engine.MongoNode, error) {
	at, ok := c.site.Hosts[m.Host]
	if !ok {
		return nil, noHost(m)
	}
	asked := c.site.Spec
	e := asked.Engine
	own := e.Roles()[roleKey(m.Role)]
	s := engine.MongoSpec{Name: m.Name, Role: mongoRole(m, asked), Set: m.Set,
		Sharded: asked.Topology.Kind == spec.LabSharded,
		Host:    at, Port: c.site.Clients.Port,
		LogDir: filepath.Join(c.site.Dir, "members", m.Name), Programs: c.programs, KeyFile: keyFile, TLSDir: c.tlsDir,
		Cache: int64(e.Cache), Sharing: sharing(c.site.Layout, m.Host), Volume: int64(asked.Storage.Size),
		Parameters: own.Parameters, Args: own.Args}
	if keyFile != "" {
		s.User, s.Password = c.user, c.password
	}
	return engine.NewMongoNode(s)
}

// roleKey is the key of a role's parameters below "engine"; those of members with data are at "engine" itself.
func roleKey(role string) string {
	if role == "member" {
		return ""
	}
	return role
}

// mongoRole returns the engine's role of a member.
func mongoRole(m MemberPlan, asked spec.Lab) string {
	switch {
	case m.Role == "router":
		return engine.MongoRouter
	case m.Role == "config":
		return engine.MongoConfig
	case m.Role == "arbiter":
		return engine.MongoArbiter
	case asked.Topology.Kind == spec.LabStandalone:
		return engine.MongoStandalone
	case asked.Topology.Kind == spec.LabSharded:
		return engine.MongoShard
	}
	return engine.MongoMember
}

// URIs returns one address, of all members with data or of all routers.
func (c *mongoCluster) URIs() map[string]string {
	u := url.URL{Scheme: "mongodb", Path: "/"}
	query := url.Values{}
	if c.password != "" {
		u.User = url.UserPassword(c.user, c.password)
		query.Set("authSource", "admin")
	}
	var addresses []string
	for _, n := range c.nodes {
		switch n.Role() {
		case engine.MongoRouter, engine.MongoStandalone:
			addresses = append(addresses, n.Address())
		case engine.MongoMember:
			addresses = append(addresses, n.Address())
			query.Set("replicaSet", n.Set())
		}
	}
	if c.tlsDir != "" {
		query.Set("tls", "true")
		query.Set("tlsCAFile", engine.CAFile(c.tlsDir))
	}
	u.Host = strings.Join(addresses, ",")
	u.RawQuery = strings.NewReplacer("%2F", "/", "+", "%20").Replace(query.Encode())
	return map[string]string{"": u.String()}
}

func (c *mongoCluster) Node(name string) (engine.Node, bool) { return nodeNamed(c.Nodes(), name) }

// node is nil if there is no server of that name.
func (c *mongoCluster) node(name string) *engine.MongoNode {
	n, _ := c.Node(name)
	of, _ := n.(*engine.MongoNode)
	return of
}

func (c *mongoCluster) Nodes() []engine.Node {
	all := make([]engine.Node, len(c.nodes))
	for i, n := range c.nodes {
		all[i] = n
	}
	return all
}

func (c *mongoCluster) filter(is func(*engine.MongoNode) bool) []*engine.MongoNode {
	return slices.DeleteFunc(slices.Clone(c.nodes), func(n *engine.MongoNode) bool { return !is(n) })
}

// inSet returns the members of a replica set in the order of the layout: the arbiter is last.
func (c *mongoCluster) inSet(set string) []*engine.MongoNode {
	return c.filter(func(n *engine.MongoNode) bool { return n.Set() == set && n.Set() != "" })
}

func (c *mongoCluster) routers() []*engine.MongoNode {
	return c.filter(func(n *engine.MongoNode) bool { return n.Role() == engine.MongoRouter })
}

// sets returns the names of all replica sets: the config servers first, then in the order of the layout.
func (c *mongoCluster) sets() []string {
	var names []string
	for _, n := range c.nodes {
		switch set := n.Set(); {
		case set == "" || slices.Contains(names, set):
		case set == mongoConfig:
			names = slices.Insert(names, 0, set)
		default:
			names = append(names, set)
		}
	}
	return names
}

func (c *mongoCluster) event(kind string, data map[string]string, format string, a ...any) {
	if c.site.Event != nil {
		c.site.Event(kind, fmt.Sprintf(format, a...), data)
	}
}

// until calls try until it succeeds, reports that its error is final, or ctx ends. The error includes the last one of
// try.
func until(ctx context.Context, what string, try func(context.Context) (final bool, err error)) error {
	for before := error(nil); ; {
		one, cancel := context.WithTimeout(ctx, 2*commandTimeout)
		final, last := try(one)
		cancel()
		if last == nil {
			return nil
		}
		if before != nil && !final && cutShort(ctx, last) {
			last = before // an error for lack of time says nothing about the server
		}
		before = last
		if final {
			return fmt.Errorf("%s: %w", what, last)
		}
		if wait.Sleep(ctx, pollEvery) != nil {
			return timeoutError(ctx, what, last)
		}
	}
}

func timeoutError(ctx context.Context, what string, last error) error {
	return fmt.Errorf("%s was not complete in time (%w); last status: %w", what, context.Cause(ctx), last)
}

// cutShort reports whether a try failed because ctx ended, or left so little time that the driver sent nothing.
func cutShort(ctx context.Context, err error) bool {
	end, limited := ctx.Deadline()
	return ctx.Err() != nil ||
		limited && time.Until(end) < time.Second && (errors.Is(err, context.DeadlineExceeded) ||
			errors.Is(err, context.Canceled))
}
