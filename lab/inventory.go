package lab

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// inventory has the hosts and the cluster of a lab. It is filled while the lab is created, and does not change
// afterwards.
type inventory struct {
	mu      sync.Mutex
	planned Planned
	hosts   map[string]host.Host
	made    topology.Cluster // nil until it is made
	up      bool
}

func (v *inventory) change(do func(*inventory)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	do(v)
}

func (v *inventory) plan() Planned {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.planned
}

func (v *inventory) layout() topology.Layout { return v.plan().Layout }

// cluster is the cluster, even while the lab is not up; nil until it is made.
func (v *inventory) cluster() topology.Cluster {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.made
}

// running is the cluster of a lab that is up; nil if the lab is not up.
func (v *inventory) running() topology.Cluster {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.up {
		return nil
	}
	return v.made
}

// host returns nil if there is no host of that name.
func (v *inventory) host(name string) host.Host {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.hosts[name]
}

func (v *inventory) setOf(member string) string {
	for _, m := range v.layout().Members {
		if m.Name == member {
			return m.Set
		}
	}
	return ""
}

// hasData says whether a member has data of clients.
func (v *inventory) hasData(member string) bool {
	for _, p := range v.layout().Members {
		if p.Name == member {
			return p.Volume && p.Role == "member"
		}
	}
	return false
}

func (v *inventory) names() (names []string) {
	layout := v.layout()
	for _, h := range layout.Hosts {
		names = append(names, h.Name)
	}
	for _, m := range layout.Members {
		names = append(names, m.Name)
	}
	return names
}

// membersOn are the names of the members on a host.
func (v *inventory) membersOn(h host.Host) []string {
	cluster := v.running()
	if cluster == nil {
		return nil
	}
	var names []string
	for _, n := range cluster.Nodes() {
		if n.Host().Name() == h.Name() {
			names = append(names, n.Name())
		}
	}
	return names
}

// roles are the roles that may be named in the place of a member. Only labs have gateways.
var roles = append(slices.Clone(spec.MemberRoles), "gateway")

// member finds a member by its name or role. If several members have the role, the seed chooses one.
func (v *inventory) member(ctx context.Context, name string, seed uint64) (engine.Node, error) {
	cluster := v.running()
	if cluster == nil {
		return nil, refuse("the lab is not up")
	}
	if n, ok := cluster.Node(name); ok {
		return n, nil
	}
	set, role, ok := strings.Cut(name, "/")
	if !ok {
		set, role = "", name
	}
	if !slices.Contains(roles, role) {
		return nil, noTarget(name, v.names())
	}
	if role == "primary" {
		member, err := awaitPrimary(ctx, cluster, set)
		if err != nil {
			return nil, err
		}
		return nodeOf(cluster.Node(member))
	}
	found := v.membersOf(ctx, set, role)
	if len(found) == 0 {
		return nil, refuse("no %s is running", name)
	}
	chosen := found[0]
	if role == "random" || seed != 0 {
		chosen = found[rand.New(rand.NewPCG(seed, seed)).IntN(len(found))]
	}
	return nodeOf(cluster.Node(chosen))
}

// primaryWithin is how long a fault waits for a primary: longer than an election takes with the servers' defaults.
const primaryWithin = 20 * time.Second

// awaitPrimary returns the name of the primary, and waits for the end of an election.
func awaitPrimary(ctx context.Context, cluster topology.Cluster, set string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, primaryWithin)
	defer cancel()
	for {
		member, err := cluster.Primary(ctx, set)
		if !errors.Is(err, topology.ErrNoPrimary) {
			return member, err
		}
		if wait.Sleep(ctx, 50*time.Millisecond) != nil {
			return "", err
		}
	}
}

func nodeOf(n engine.Node, ok bool) (engine.Node, error) {
	if !ok {
		return nil, errors.New("the cluster reports a member that the lab does not have")
	}
	return n, nil
}

// membersOf are the names of the running members of a role, in the order of the layout. The role random stands for all
// members with data.
func (v *inventory) membersOf(ctx context.Context, set, role string) []string {
	var names []string
	depth := topology.Known
	if role == "secondary" {
		depth = topology.Roles
	}
	for _, m := range v.running().Describe(ctx, depth) {
		if set != "" && m.Set != set || m.State != "running" {
			continue
		}
		if role == "random" && v.hasData(m.Name) || role != "random" && m.Role == role {
			names = append(names, m.Name)
		}
	}
	return names
}
