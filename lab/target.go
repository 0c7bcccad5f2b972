package lab

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/volume"
	"github.com/plimsoll-bench/plimsoll/record"
)

// target is what a fault is done to: a host, a member, or disks of a volume.
type target struct {
	host   host.Host
	node   engine.Node
	volume volume.Volume
	disks  []string
	whole  bool // all disks of the volume
}

// name is how the target is called in lists.
func (t target) name() string {
	switch {
	case t.volume != nil && t.whole:
		return t.volume.Name()
	case t.volume != nil:
		return t.volume.Name() + "/" + t.disks[0]
	case t.node != nil:
		return t.node.Name()
	}
	return t.host.Name()
}

// roles are the words that stand for a member.
var roles = []string{"primary", "secondary", "standalone", "arbiter", "router", "gateway", "config", "random"}

// resolve finds what a target means. Members and roles mean the host they stand on where onHost says so.
func (s *supervisor) resolve(ctx context.Context, f Fault, onHost bool) (target, error) {
	if f.Target == "" {
		return target{}, refuse("what is to be broken? Name a host, a member, a role such as primary, or VOLUME/DISK")
	}
	if h := s.hostNamed(f.Target); h != nil {
		if onDisk(f.Action) {
			return target{}, hostHasNoDisk(f)
		}
		return target{host: h}, nil
	}
	if t, ok, err := s.resolveDisk(ctx, f.Target); ok || err != nil {
		return t, err
	}
	if onDisk(f.Action) {
		return s.resolveVolume(ctx, f)
	}
	node, err := s.resolveMember(ctx, f.Target, f.Seed)
	if err != nil {
		return target{}, err
	}
	if onHost {
		return target{host: node.Host()}, nil
	}
	return target{node: node, host: node.Host()}, nil
}

// resolveDisk finds VOLUME/DISK.
func (s *supervisor) resolveDisk(ctx context.Context, name string) (target, bool, error) {
	of, disk, ok := strings.Cut(name, "/")
	if !ok {
		return target{}, false, nil
	}
	s.mu.Lock()
	v := s.volumes[of]
	s.mu.Unlock()
	if v == nil {
		return target{}, false, nil
	}
	var names []string
	for _, d := range v.Describe(ctx, false).Disks {
		if d.Name == disk || strings.TrimPrefix(d.Name, of+"-") == disk {
			return target{volume: v, disks: []string{d.Name}, host: s.hostNamed(d.Host)}, true, nil
		}
		names = append(names, d.Name)
	}
	if len(names) == 0 {
		return target{}, false, refuse("the volume %s is a directory and has no disks; give the lab a storage policy with a size", of)
	}
	return target{}, false, refuse("the volume %s has no disk %q%s (disks: %s)", of, disk, nearest.DidYouMean(disk, names), strings.Join(names, ", "))
}

// resolveVolume finds all disks of the volume that has a name, or that belongs to a member or role.
func (s *supervisor) resolveVolume(ctx context.Context, f Fault) (target, error) {
	s.mu.Lock()
	v := s.volumes[f.Target]
	s.mu.Unlock()
	if v == nil {
		node, err := s.resolveMember(ctx, f.Target, f.Seed)
		if err != nil {
			return target{}, err
		}
		s.mu.Lock()
		v = s.volumes[node.Name()]
		s.mu.Unlock()
		if v == nil {
			return target{}, refuse("%s keeps no data, so it has no disks", node.Name())
		}
	}
	t := target{volume: v, whole: true}
	for _, d := range v.Describe(ctx, false).Disks {
		t.disks = append(t.disks, d.Name)
		if t.host == nil {
			t.host = s.hostNamed(d.Host)
		}
	}
	if len(t.disks) == 0 {
		return target{}, refuse("the volume %s is a directory and has no disks; give the lab a storage policy with a size", v.Name())
	}
	return t, nil
}

// resolveMember finds a member by its name or role.
func (s *supervisor) resolveMember(ctx context.Context, name string, seed uint64) (engine.Node, error) {
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
		member, err := cluster.Primary(ctx, set)
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
	for _, m := range s.running().Describe(ctx, role == "secondary") {
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
