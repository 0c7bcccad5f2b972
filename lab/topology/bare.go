package topology

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// KindVolume is the kind of a member that is a volume without a server.
const KindVolume = "volume"

// planBare plans one volume for each member, and distributes them over the hosts round robin.
func planBare(asked spec.Lab) (Layout, error) {
	hosts := int(asked.Hosts.Count)
	var l Layout
	for i := range hosts {
		l.Hosts = append(l.Hosts, HostPlan{Name: "host" + strconv.Itoa(i+1), Role: "member", Limits: hostLimits(asked.Hosts, nil)})
	}
	for i := range int(asked.Topology.Members) {
		l.Members = append(l.Members, MemberPlan{Name: "vol-" + strconv.Itoa(i+1), Kind: KindVolume,
			Host: l.Hosts[i%hosts].Name, Role: "member", Volume: true})
	}
	l.Notes = []string{"there is no database: hosts and volumes only, and no address for clients"}
	return l, nil
}

// bare is a cluster without servers: its members are volumes. A volume belongs to a host as a server does: if the host
// loses power, the volume's filesystem is unmounted, and mounted again when power returns.
type bare struct {
	site  Site
	nodes []*bareNode
}

var _ Cluster = (*bare)(nil)

func newBare(site Site) (Cluster, error) {
	c := &bare{site: site}
	for _, plan := range site.Layout.Members {
		h, ok := site.Hosts[plan.Host]
		if !ok {
			return nil, noHost(plan)
		}
		c.nodes = append(c.nodes, &bareNode{plan: plan, host: h})
	}
	return c, nil
}

func noHost(plan MemberPlan) error {
	return fmt.Errorf("%s belongs on host %s, and there is no such host", plan.Name, plan.Host)
}

func (c *bare) Start(ctx context.Context) error {
	return wait.Each(c.nodes, func(n *bareNode) error {
		dir, err := c.site.Volume(ctx, n.plan.Name)
		if err != nil {
			return fmt.Errorf("cannot make the volume %s: %w", n.plan.Name, err)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		n.dir = dir
		return nil
	})
}

func (c *bare) Watch(context.Context) {}

func (c *bare) URIs() map[string]string { return map[string]string{} }

func (c *bare) Node(name string) (engine.Node, bool) { return nodeNamed(c.Nodes(), name) }

func (c *bare) Nodes() []engine.Node {
	var all []engine.Node
	for _, n := range c.nodes {
		all = append(all, n)
	}
	return all
}

func (c *bare) Describe(context.Context, Depth) []record.LabMember {
	var all []record.LabMember
	for _, n := range c.nodes {
		state := map[string]string{host.On: "running", host.Paused: "paused"}[n.Host().State()]
		if state == "" {
			state = "stopped"
		}
		all = append(all, record.LabMember{Name: n.plan.Name, Kind: KindVolume, Host: n.Host().Name(), State: state,
			Role: KindVolume, Volume: n.plan.Name})
	}
	return all
}

var errNoDatabase = errors.New("this lab has no database (engine: none), so it has no primary")

func (c *bare) Primary(context.Context, string) (string, error) { return "", errNoDatabase }

func (c *bare) StepDown(context.Context, string) error { return errNoDatabase }

// Return starts nothing: package lab mounts the volume.
func (c *bare) Return(_ context.Context, member string) error {
	n, ok := c.Node(member)
	if !ok {
		return fmt.Errorf("there is no volume %q", member)
	}
	if n.Host().State() == host.Off {
		return fmt.Errorf("%s, the host of %s, has no power; restore it with 'plimsoll lab revert'", n.Host().Name(), member)
	}
	return nil
}

func (c *bare) Sharding(context.Context) (*record.LabSharding, error) { return nil, nil }

func (c *bare) Stop(context.Context) error { return nil }

// bareNode presents a volume as a server. It runs while its host has power.
type bareNode struct {
	plan MemberPlan

	mu   sync.Mutex
	host host.Host
	dir  string
}

// never is the Ended channel of a node without a process.
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
