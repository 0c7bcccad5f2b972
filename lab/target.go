package lab

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/lab/action"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// roles are the words that stand for a member.
var roles = []string{"primary", "secondary", "standalone", "arbiter", "router", "gateway", "config", "random"}

// resolve finds what a target of a kind means. Where it is a host, members and roles mean the one that they stand on.
func (s *supervisor) resolve(ctx context.Context, what spec.Strike, on action.Kind, seed uint64) (action.Target, error) {
	if h := s.hostNamed(what.Target); h != nil {
		if on == action.Disk {
			return action.Target{}, hostHasNoDisk(what)
		}
		return action.Target{Host: h}, nil
	}
	member, disk := splitTarget(what.Target)
	if disk != "" || on == action.Disk {
		return s.resolveDisks(ctx, member, disk, seed)
	}
	node, err := s.resolveMember(ctx, member, seed)
	if err != nil {
		return action.Target{}, err
	}
	if on == action.Host {
		return action.Target{Host: node.Host()}, nil
	}
	return action.Target{Node: node, Host: node.Host()}, nil
}

// splitTarget parts MEMBER/DISK, where MEMBER is a name or a role: rs0-1/d1, primary/d1, shard2/primary/d1. disk is "" where
// none is named: shard2/primary is a member.
func splitTarget(name string) (member, disk string) {
	name = presentName(name)
	at := strings.LastIndexByte(name, '/')
	if at < 0 || slices.Contains(roles, name[at+1:]) {
		return name, ""
	}
	return name[:at], name[at+1:]
}

// formerName matches what members were called before all engines had the same names; accepted for one release.
var formerName = regexp.MustCompile(`^(?:pg|mongod)-([0-9]+)(/|$)`)

// presentName is the name that a member has now.
func presentName(name string) string {
	if rest, ok := strings.CutPrefix(name, "pg/"); ok {
		return "rs0/" + rest
	}
	return formerName.ReplaceAllString(name, "rs0-$1$2")
}

// resolveDisks finds a disk of the volume of a member, which is named or has a role; all of them where disk is "".
func (s *supervisor) resolveDisks(ctx context.Context, member, disk string, seed uint64) (action.Target, error) {
	s.mu.Lock()
	v := s.volumes[member]
	s.mu.Unlock()
	if v == nil {
		node, err := s.resolveMember(ctx, member, seed)
		if err != nil {
			return action.Target{}, err
		}
		s.mu.Lock()
		v = s.volumes[node.Name()]
		s.mu.Unlock()
		if v == nil {
			return action.Target{}, refuse("%s keeps no data, so it has no disks", node.Name())
		}
	}
	t := action.Target{Volume: v, Whole: disk == ""}
	var names []string
	for _, d := range v.Describe(ctx, false).Disks {
		names = append(names, d.Name)
		if disk != "" && d.Name != disk && strings.TrimPrefix(d.Name, v.Name()+"-") != disk {
			continue
		}
		t.Disks = append(t.Disks, d.Name)
		if t.Host == nil {
			t.Host = s.hostNamed(d.Host)
		}
	}
	switch {
	case len(names) == 0:
		return action.Target{}, refuse("the volume %s is a directory and has no disks; give the lab a storage policy with a size", v.Name())
	case len(t.Disks) == 0:
		return action.Target{}, refuse("the volume %s has no disk %q%s (disks: %s)", v.Name(), disk, nearest.DidYouMean(disk, names), strings.Join(names, ", "))
	}
	return t, nil
}

// resolveMember finds a member by its name or role.
func (s *supervisor) resolveMember(ctx context.Context, name string, seed uint64) (engine.Node, error) {
	name = presentName(name)
	cluster := s.running()
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
		return nil, noTarget(name, s.known())
	}
	if role == "primary" {
		member, err := awaitPrimary(ctx, cluster, set)
		if err != nil {
			return nil, err
		}
		return nodeOf(cluster.Node(member))
	}
	found := s.membersOf(ctx, set, role)
	if len(found) == 0 {
		return nil, refuse("there is no %s that runs", name)
	}
	chosen := found[0]
	if role == "random" || seed != 0 {
		chosen = found[rand.New(rand.NewPCG(seed, seed)).IntN(len(found))]
	}
	return nodeOf(cluster.Node(chosen))
}

// primaryWithin is how long a fault waits for a primary to strike: longer than an election by the servers' defaults.
const primaryWithin = 20 * time.Second

// awaitPrimary is the name of the primary. An election that happens to go on is waited for: on a busy machine members
// take each other for dead.
func awaitPrimary(ctx context.Context, cluster topology.Cluster, set string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, primaryWithin)
	defer cancel()
	for {
		member, err := cluster.Primary(ctx, set)
		if !errors.Is(err, topology.ErrNoPrimary) {
			return member, err
		}
		select {
		case <-ctx.Done():
			return "", err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func nodeOf(n engine.Node, ok bool) (engine.Node, error) {
	if !ok {
		return nil, fmt.Errorf("the cluster names a member that it does not have")
	}
	return n, nil
}

// membersOf are the names of the running members of a role, in the order of the layout. Those of the role random are
// all that have data.
func (s *supervisor) membersOf(ctx context.Context, set, role string) []string {
	var names []string
	depth := topology.Known
	if role == "secondary" {
		depth = topology.Standing
	}
	for _, m := range s.running().Describe(ctx, depth) {
		if set != "" && m.Set != set || m.State != "running" {
			continue
		}
		if role == "random" && s.hasData(m) || role != "random" && m.Role == role {
			names = append(names, m.Name)
		}
	}
	return names
}

// hasData says whether a member holds data of the clients.
func (s *supervisor) hasData(m record.LabMember) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.planned.Layout.Members {
		if p.Name == m.Name {
			return p.Volume && p.Role == "member"
		}
	}
	return false
}

// known are the names of all hosts and members.
func (s *supervisor) known() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, h := range s.planned.Layout.Hosts {
		names = append(names, h.Name)
	}
	for _, m := range s.planned.Layout.Members {
		names = append(names, m.Name)
	}
	return names
}
