package topology

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// KindVolume is the kind of a member that is a volume alone, without a server.
const KindVolume = "volume"

// planBare plans volumes without servers: one for each member that is asked for, on hosts in turn.
func planBare(asked spec.Lab) (Layout, error) {
	n := max(1, int(asked.Topology.Members))
	hosts := int(asked.Hosts.Count)
	if hosts == 0 {
		hosts = n
	}
	var l Layout
	for i := range hosts {
		l.Hosts = append(l.Hosts, HostPlan{Name: "host" + strconv.Itoa(i+1), Role: "member", Limits: hostLimits(asked.Hosts, nil)})
	}
	for i := range n {
		l.Members = append(l.Members, MemberPlan{Name: "vol-" + strconv.Itoa(i+1), Kind: KindVolume, Host: l.Hosts[i%hosts].Name, Role: "member", Volume: true})
	}
	l.Notes = []string{"there is no database: hosts and volumes only, and no address for clients"}
	return l, nil
}

// bare is a cluster without servers: its members are volumes. A volume stands on a host as a server would, so that it
// loses its filesystem with the power of that host and is mounted again with it.
type bare struct {
	site  Site
	nodes []*bareNode
}

var _ Cluster = (*bare)(nil)

// newBare describes a cluster of volumes; nothing is made before Start.
func newBare(site Site) (Cluster, error) {
	c := &bare{site: site}
	for _, plan := range site.Layout.Members {
		h, ok := site.Hosts[plan.Host]
		if !ok {
			return nil, fmt.Errorf("%s stands on host %s, which was not made", plan.Name, plan.Host)
		}
		c.nodes = append(c.nodes, &bareNode{plan: plan, host: h})
	}
	return c, nil
}

// Start makes the volumes.
func (c *bare) Start(ctx context.Context) error {
	return inParallel2(c.nodes, func(n *bareNode) error {
		dir, err := c.site.Volume(ctx, n.plan.Name)
		if err != nil {
			return fmt.Errorf("%s could not be made: %w", n.plan.Name, err)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		n.dir = dir
		return nil
	})
}

// Watch has nothing to do.
func (c *bare) Watch(context.Context) {}

// URIs are none: nobody listens.
func (c *bare) URIs() map[string]string { return map[string]string{} }

// Node returns a volume by its name.
func (c *bare) Node(name string) (engine.Node, bool) {
	for _, n := range c.nodes {
		if n.plan.Name == name {
			return n, true
		}
	}
	return nil, false
}

// Nodes are all volumes.
func (c *bare) Nodes() []engine.Node {
	var all []engine.Node
	for _, n := range c.nodes {
		all = append(all, n)
	}
	return all
}

// Describe says on which hosts the volumes stand.
func (c *bare) Describe(context.Context, Depth) []record.LabMember {
	var all []record.LabMember
	for _, n := range c.nodes {
		state := map[string]string{host.On: "running", host.Paused: "paused"}[n.Host().State()]
		if state == "" {
			state = "stopped"
		}
		all = append(all, record.LabMember{Name: n.plan.Name, Kind: KindVolume, Host: n.Host().Name(), State: state, Role: KindVolume, Volume: n.plan.Name})
	}
	return all
}

// errNoDatabase is what a lab without servers answers to everything that needs one.
var errNoDatabase = errors.New("this lab has no database (engine: none), so it has no primary")

// Primary is none.
func (c *bare) Primary(context.Context, string) (string, error) { return "", errNoDatabase }

// StepDown has nobody to hand over.
func (c *bare) StepDown(context.Context, string) error { return errNoDatabase }

// Return has nothing to start: a volume is there when it is mounted.
func (c *bare) Return(_ context.Context, member string) error {
	n, ok := c.Node(member)
	if !ok {
		return fmt.Errorf("there is no volume %q", member)
	}
	if n.Host().State() == host.Off {
		return fmt.Errorf("%s, the host of %s, has no power", n.Host().Name(), member)
	}
	return nil
}

// Sharding is nil: there is none.
func (c *bare) Sharding(context.Context) (*record.LabSharding, error) { return nil, nil }

// Stop has nothing to end.
func (c *bare) Stop(context.Context) error { return nil }

// bareNode is a volume in the place of a server. It runs while its host has power.
type bareNode struct {
	plan MemberPlan

	mu   sync.Mutex
	host host.Host
	dir  string
}

// never is the end of what has no process that could end.
var never = make(chan struct{})

func (n *bareNode) Name() string { return n.plan.Name }
func (n *bareNode) Kind() string { return KindVolume }

func (n *bareNode) Host() host.Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.host
}

func (n *bareNode) DataDir() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dir
}

func (n *bareNode) Address() string                                     { return "" }
func (n *bareNode) Logs() []string                                      { return nil }
func (n *bareNode) Version() string                                     { return "" }
func (n *bareNode) Start(context.Context) error                         { return nil }
func (n *bareNode) Wait(context.Context) error                          { return nil }
func (n *bareNode) Stop(context.Context) error                          { return nil }
func (n *bareNode) Kill() error                                         { return nil }
func (n *bareNode) Pause() error                                        { return nil }
func (n *bareNode) Resume() error                                       { return nil }
func (n *bareNode) Pids() []int                                         { return nil }
func (n *bareNode) Ended() <-chan struct{}                              { return never }
func (n *bareNode) Settings(context.Context) (map[string]string, error) { return nil, nil }

func (n *bareNode) Status() engine.Status {
	return engine.Status{Running: n.Host().State() != host.Off}
}

func (n *bareNode) Move(to host.Host) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.host = to
	return nil
}
