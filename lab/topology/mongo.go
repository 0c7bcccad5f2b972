package topology

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/spec"
)

const (
	// mongoUser is the user of a lab with authentication; the password is made for each lab.
	mongoUser = "plimsoll"
	// findLimit bounds looking for the programs, and startLimit a start whose caller has no deadline.
	findLimit  = time.Minute
	startLimit = 5 * time.Minute
	// mongoAsk bounds a question to one server: one that does not answer in that time has no role that matters now.
	commandTimeout = 5 * time.Second
	// pollEvery is how long is waited between two questions while something is to happen.
	pollEvery = 50 * time.Millisecond
)

// mongoCluster is a standalone mongod, a replica set or a sharded cluster.
type mongoCluster struct {
	site     Site
	programs engine.MongoPrograms
	nodes    []*engine.MongoNode
	plans    map[string]MemberPlan
	password string        // empty without authentication
	patience time.Duration // how long a member that comes back may make no progress
	tlsDir   string        // with the certificates; empty without TLS

	mu                sync.Mutex
	roles             map[string]string // as they were seen last, by member
	reported          map[string]string // as events told of them
	reportedRollbacks map[string]bool   // rollback files that were told already
}

// newMongo finds the programs, makes the lab's secrets and all nodes. Nothing runs yet.
func newMongo(ctx context.Context, site Site) (Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, findLimit)
	defer cancel()
	asked := site.Spec
	programs, err := engine.FindMongo(ctx, site.Home, asked.Engine.Binary, asked.Engine.Version, asked.Topology.Kind == spec.LabSharded)
	if err != nil {
		return nil, err
	}
	if err := checkMongoArgs(asked, programs.Version); err != nil {
		return nil, err
	}
	c := &mongoCluster{site: site, programs: programs, patience: changeLimit, plans: map[string]MemberPlan{}, roles: map[string]string{}, reported: map[string]string{},
		reportedRollbacks: map[string]bool{}}
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

// secrets makes the file with the members' key and the password of the lab's user, or reads those of a lab that was
// started before. Only the owner may read them; mongod refuses a key file that others may (manual: "Keyfile Security").
func (c *mongoCluster) secrets() (keyFile string, err error) {
	if !c.site.Spec.Engine.Authentication {
		return "", nil
	}
	dir := filepath.Join(c.site.Dir, "secrets")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("cannot keep the secrets of the lab: %w", err)
	}
	keyFile = filepath.Join(dir, "mongo-key")
	if _, err := secret(keyFile, 96, base64.StdEncoding); err != nil {
		return "", err
	}
	// Letters of base64url stand in an address as they are.
	c.password, err = secret(filepath.Join(dir, "mongo-password"), 24, base64.RawURLEncoding)
	return keyFile, err
}

// certificates makes those of all hosts where the lab speaks TLS, and returns their directory. They end with the lab.
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

// secret reads a file, or makes it with n random bytes.
func secret(file string, n int, letters *base64.Encoding) (string, error) {
	if text, err := os.ReadFile(file); err == nil && len(text) > 0 {
		return string(text), nil
	}
	b := make([]byte, n)
	rand.Read(b) // never fails: crypto/rand ends the program instead
	text := letters.EncodeToString(b)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("cannot keep the secrets of the lab: %w", err)
	}
	return text, nil
}

func (c *mongoCluster) newNode(m MemberPlan, keyFile string) (*engine.MongoNode, error) {
	at, ok := c.site.Hosts[m.Host]
	if !ok {
		return nil, fmt.Errorf("%s should stand on %s, and there is no such host", m.Name, m.Host)
	}
	asked := c.site.Spec
	e := asked.Engine
	own := e.Roles()[roleKey(m.Role)]
	s := engine.MongoSpec{Name: m.Name, Role: mongoRole(m, asked), Set: m.Set, Sharded: asked.Topology.Kind == spec.LabSharded,
		Host: at, LogDir: filepath.Join(c.site.Dir, "members", m.Name), Programs: c.programs, KeyFile: keyFile, TLSDir: c.tlsDir,
		Cache: int64(e.Cache), Sharing: sharing(c.site.Layout, m.Host), Volume: int64(asked.Storage.Size),
		Parameters: own.Parameters, Args: own.Args}
	if keyFile != "" {
		s.User, s.Password = mongoUser, c.password
	}
	return engine.NewMongoNode(s)
}

// roleKey is where a role has its parameters below "engine"; members with data have them there itself.
func roleKey(role string) string {
	if role == "member" {
		return ""
	}
	return role
}

// mongoRole is what a member is started as.
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

// URIs is one address: that of all members with data, or of all routers.
func (c *mongoCluster) URIs() map[string]string {
	u := url.URL{Scheme: "mongodb", Path: "/"}
	query := url.Values{}
	if c.password != "" {
		u.User = url.UserPassword(mongoUser, c.password)
		query.Set("authSource", "admin")
	}
	var at []string
	for _, n := range c.nodes {
		switch n.Role() {
		case engine.MongoRouter, engine.MongoStandalone:
			at = append(at, n.Address())
		case engine.MongoMember:
			at = append(at, n.Address())
			query.Set("replicaSet", n.Set())
		}
	}
	if c.tlsDir != "" {
		query.Set("tls", "true")
		query.Set("tlsCAFile", engine.CAFile(c.tlsDir))
	}
	u.Host, u.RawQuery = strings.Join(at, ","), strings.NewReplacer("%2F", "/", "+", "%20").Replace(query.Encode())
	return map[string]string{"": u.String()}
}

// Node returns a server by its name.
func (c *mongoCluster) Node(name string) (engine.Node, bool) {
	if n := c.node(name); n != nil {
		return n, true
	}
	return nil, false
}

func (c *mongoCluster) node(name string) *engine.MongoNode {
	for _, n := range c.nodes {
		if n.Name() == name {
			return n
		}
	}
	return nil
}

// Nodes are all, in the order of the layout.
func (c *mongoCluster) Nodes() []engine.Node {
	all := make([]engine.Node, len(c.nodes))
	for i, n := range c.nodes {
		all[i] = n
	}
	return all
}

// with returns the nodes of which a condition is true.
func (c *mongoCluster) filter(is func(*engine.MongoNode) bool) []*engine.MongoNode {
	return slices.DeleteFunc(slices.Clone(c.nodes), func(n *engine.MongoNode) bool { return !is(n) })
}

// inSet returns the members of a replica set, the arbiter last.
func (c *mongoCluster) inSet(set string) []*engine.MongoNode {
	return c.filter(func(n *engine.MongoNode) bool { return n.Set() == set && n.Set() != "" })
}

func (c *mongoCluster) routers() []*engine.MongoNode {
	return c.filter(func(n *engine.MongoNode) bool { return n.Role() == engine.MongoRouter })
}

// sets are the names of all replica sets, that of the config servers first, then in the order of the layout.
func (c *mongoCluster) sets() []string {
	var names []string
	for _, n := range c.nodes {
		if n.Set() != "" && !slices.Contains(names, n.Set()) {
			names = append(names, n.Set())
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		switch {
		case a == mongoConfig && b != mongoConfig:
			return -1
		case b == mongoConfig && a != mongoConfig:
			return 1
		}
		return 0
	})
	return names
}

// event tells what happens.
func (c *mongoCluster) event(kind string, data map[string]string, format string, a ...any) {
	if c.site.Event != nil {
		c.site.Event(kind, fmt.Sprintf(format, a...), data)
	}
}

// bounded makes sure that nothing goes on for ever.
func bounded(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}

// inParallel does something with each node at once, and joins what went wrong.
func inParallel(nodes []*engine.MongoNode, do func(*engine.MongoNode) error) error {
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { errs[i] = do(n) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// until tries again and again until it works or ctx ends. A try that says final is the last one. The error has the
// last refusal.
func until(ctx context.Context, what string, try func(context.Context) (final bool, err error)) error {
	for before := error(nil); ; {
		one, cancel := context.WithTimeout(ctx, 2*commandTimeout)
		final, last := try(one)
		cancel()
		if last == nil {
			return nil
		}
		if before != nil && !final && cutShort(ctx, last) {
			last = before // what was asked too late says nothing about the server
		}
		before = last
		if final {
			return fmt.Errorf("%s: %w", what, last)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s did not happen in time (%w); the last status: %w", what, context.Cause(ctx), last)
		case <-time.After(pollEvery):
		}
	}
}

// cutShort says whether a try failed for want of time: ctx ended while it asked, or left no time to ask (the driver
// does not ask then).
func cutShort(ctx context.Context, err error) bool {
	end, limited := ctx.Deadline()
	return ctx.Err() != nil ||
		limited && time.Until(end) < time.Second && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled))
}
