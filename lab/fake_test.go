package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/lab/volume"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// A lab without anything below it: hosts, members and volumes that only note what is done to them.

type fakeHost struct {
	host.Host // whatever is not used panics
	name      string
	role      string
	mu        sync.Mutex
	state     string
	cuts      []string
	rate      int64
	killed    int64 // processes, for want of memory
	cluster   *fakeCluster
}

func (h *fakeHost) Name() string        { return h.name }
func (h *fakeHost) Role() string        { return h.role }
func (h *fakeHost) Mode() string        { return host.Isolated }
func (h *fakeHost) Address() string     { return "198.18.0.1" }
func (h *fakeHost) Limits() host.Limits { return host.Limits{Memory: 512 << 20} }
func (h *fakeHost) OutOfMemory() int64  { h.mu.Lock(); defer h.mu.Unlock(); return h.killed }
func (h *fakeHost) State() string       { h.mu.Lock(); defer h.mu.Unlock(); return h.state }
func (h *fakeHost) Cuts() []string      { h.mu.Lock(); defer h.mu.Unlock(); return slices.Clone(h.cuts) }
func (h *fakeHost) set(state string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state = state
	return nil
}
func (h *fakeHost) PowerOff(context.Context) error {
	for _, n := range h.cluster.list() {
		if n.Host() == h {
			_ = n.Kill()
		}
	}
	return h.set(host.Off)
}
func (h *fakeHost) Start(ctx context.Context, s process.Spec) (*process.Process, error) {
	return process.Start(ctx, s)
}
func (h *fakeHost) PowerOn(context.Context) error { return h.set(host.On) }
func (h *fakeHost) Pause(context.Context) error   { return h.set(host.Paused) }
func (h *fakeHost) Resume(context.Context) error  { return h.set(host.On) }
func (h *fakeHost) Slow(_ context.Context, rate int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rate = rate
	return nil
}
func (h *fakeHost) Throttle(context.Context, float64) error { return nil }
func (h *fakeHost) Cut(_ context.Context, other host.Host, _ host.Direction) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	name := "*"
	if other != nil {
		name = other.Name()
	}
	h.cuts = append(h.cuts, name)
	return nil
}
func (h *fakeHost) Mend(context.Context, host.Host) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cuts = nil
	return nil
}
func (h *fakeHost) Usage() (record.LabUsage, error) {
	return record.LabUsage{Host: h.name, Memory: 1 << 20}, nil
}

type fakeNode struct {
	engine.Node
	name, kind string
	address    string
	mu         sync.Mutex
	host       host.Host
	running    bool
	paused     bool
	ended      chan struct{}
	killFails  error // after the node has ended
}

func (n *fakeNode) Name() string    { return n.name }
func (n *fakeNode) Kind() string    { return n.kind }
func (n *fakeNode) Address() string { return n.address }
func (n *fakeNode) Host() host.Host { n.mu.Lock(); defer n.mu.Unlock(); return n.host }
func (n *fakeNode) start() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.running, n.ended = true, make(chan struct{})
}
func (n *fakeNode) Kill() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.running {
		n.running, n.paused = false, false
		close(n.ended)
	}
	return n.killFails
}
func (n *fakeNode) Stop(context.Context) error { return n.Kill() }
func (n *fakeNode) Pause() error               { n.mu.Lock(); defer n.mu.Unlock(); n.paused = true; return nil }
func (n *fakeNode) Resume() error              { n.mu.Lock(); defer n.mu.Unlock(); n.paused = false; return nil }
func (n *fakeNode) Ended() <-chan struct{}     { n.mu.Lock(); defer n.mu.Unlock(); return n.ended }
func (n *fakeNode) Move(to host.Host) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.host = to
	return nil
}
func (n *fakeNode) Status() engine.Status {
	n.mu.Lock()
	defer n.mu.Unlock()
	return engine.Status{Running: n.running, Processes: []process.Status{{Role: n.kind, Running: n.running, Exit: "signal: killed"}}}
}

type fakeCluster struct {
	site    topology.Site
	nodes   []*fakeNode
	mu      sync.Mutex
	primary string // "" while there is none
	missed  int    // how often it was asked for then
	refuse  error  // of Start
	failing int    // how many returns fail
	steps   int

	readings atomic.Int64 // of members, open now
}

func (c *fakeCluster) Start(ctx context.Context) error {
	for _, m := range c.site.Layout.Members {
		if m.Volume {
			if _, err := c.site.Volume(ctx, m.Name); err != nil {
				return err
			}
		}
		n := &fakeNode{name: m.Name, kind: m.Kind, address: "198.18.0.1:5432", host: c.site.Hosts[m.Host]}
		n.start()
		c.mu.Lock()
		c.nodes = append(c.nodes, n)
		c.primary = c.nodes[0].name
		c.mu.Unlock()
	}
	return c.refuse
}
func (c *fakeCluster) list() []*fakeNode {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.nodes)
}
func (c *fakeCluster) Watch(ctx context.Context) { <-ctx.Done() }
func (c *fakeCluster) URIs() map[string]string {
	return map[string]string{"": "mongodb://user:secret@198.18.0.1:27017/?a=b", "durable": "mongodb://user:secret@198.18.0.1:27018/"}
}
func (c *fakeCluster) Node(name string) (engine.Node, bool) {
	for _, n := range c.list() {
		if n.name == name {
			return n, true
		}
	}
	return nil, false
}
func (c *fakeCluster) Nodes() []engine.Node {
	var all []engine.Node
	for _, n := range c.list() {
		all = append(all, n)
	}
	return all
}
func (c *fakeCluster) Describe(context.Context, topology.Depth) []record.LabMember {
	all := []record.LabMember{}
	c.mu.Lock()
	primary := c.primary
	c.mu.Unlock()
	for i, n := range c.list() {
		m := record.LabMember{Name: n.name, Kind: n.kind, Set: c.site.Layout.Members[i].Set, Host: n.Host().Name(),
			State: "running", Role: "secondary"}
		if !n.Status().Running {
			m.State = "dead"
		}
		if c.site.Layout.Members[i].Role == "gateway" {
			m.Role = "gateway"
		}
		if primary == n.name {
			m.Role = "primary"
		}
		all = append(all, m)
	}
	return all
}
func (c *fakeCluster) Primary(_ context.Context, set string) (string, error) {
	if set != "" && set != "rs0" {
		return "", fmt.Errorf("no set %q", set)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.primary == "" {
		c.missed++
		return "", fmt.Errorf("%w: rs0-1 does not answer", topology.ErrNoPrimary)
	}
	return c.primary, nil
}
func (c *fakeCluster) StepDown(context.Context, string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.steps++
	return nil
}
func (c *fakeCluster) Return(_ context.Context, member string) error {
	n, _ := c.Node(member)
	if n.Host().State() == host.Off {
		return host.ErrOff
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failing > 0 {
		c.failing--
		return errors.New("no space left")
	}
	n.(*fakeNode).start()
	return nil
}

// Read reads a member of the fake: it is written down for how long.
func (c *fakeCluster) Read(_ context.Context, member string) (topology.Reading, error) {
	c.readings.Add(1)
	return topology.Reading{URI: "mongodb://reader/" + member, Behind: 42, Close: func() { c.readings.Add(-1) }}, nil
}

func (c *fakeCluster) Sharding(context.Context) (*record.LabSharding, error) { return nil, nil }
func (c *fakeCluster) Stop(context.Context) error {
	for _, n := range c.list() {
		_ = n.Kill()
	}
	return nil
}

type fakeVolume struct {
	volume.Volume
	name   string
	mu     sync.Mutex
	failed string // the disk that does not answer
	health string
	refuse error // of Repair
}

func (v *fakeVolume) Name() string      { return v.name }
func (v *fakeVolume) Dir() string       { return "/nowhere/" + v.name }
func (v *fakeVolume) Devices() []string { return nil }
func (v *fakeVolume) Describe(context.Context, bool) record.LabVolume {
	v.mu.Lock()
	defer v.mu.Unlock()
	d := record.LabVolume{Name: v.name, Member: v.name, Health: v.health,
		Disks: []record.LabDisk{{Name: "d1", Host: "host1", State: "ok"}, {Name: "d2", Host: "host2", State: "ok"}}}
	for i := range d.Disks {
		if d.Disks[i].Name == v.failed {
			d.Disks[i].State, d.Health = "failed", "degraded"
		}
	}
	return d
}
func (v *fakeVolume) set(failed string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.failed = failed
}
func (v *fakeVolume) FailDisk(_ context.Context, disk string) error { v.set(disk); return nil }
func (v *fakeVolume) HealDisk(context.Context, string) error        { v.set(""); return nil }
func (v *fakeVolume) Repair(context.Context) (string, error) {
	if v.refuse != nil {
		return "", v.refuse
	}
	v.set("")
	return "1 disk was replaced", nil
}

// fakeRooms builds a set of three with a gateway.
type fakeRooms struct {
	layout  topology.Layout
	c       *fakeCluster
	hosts   map[string]*fakeHost
	volumes map[string]*fakeVolume
	mu      sync.Mutex
	off     []string // hosts whose disks have no power
	closed  bool
	refuse  error
}

func newFakeRooms() *fakeRooms {
	r := &fakeRooms{c: &fakeCluster{}, hosts: map[string]*fakeHost{}, volumes: map[string]*fakeVolume{}}
	for i := 1; i <= 3; i++ {
		name := fmt.Sprintf("host%d", i)
		r.layout.Hosts = append(r.layout.Hosts, topology.HostPlan{Name: name, Role: "member"})
		r.layout.Members = append(r.layout.Members, topology.MemberPlan{Name: fmt.Sprintf("rs0-%d", i), Kind: "postgres",
			Set: "rs0", Host: name, Role: "member", Volume: true})
	}
	r.layout.Hosts = append(r.layout.Hosts, topology.HostPlan{Name: "gateway1", Role: "gateway"})
	r.layout.Members = append(r.layout.Members, topology.MemberPlan{Name: "gateway-durable", Kind: "gateway", Host: "gateway1", Role: "gateway"})
	return r
}

func (r *fakeRooms) plan(context.Context) (Planned, error) {
	s := spec.Lab{Name: "fake", Topology: spec.Topology{Kind: spec.LabReplicaSet}}
	s.Defaults()
	return Planned{Spec: s, Layout: r.layout}, r.refuse
}
func (r *fakeRooms) ready(context.Context, Planned) error { return nil }
func (r *fakeRooms) host(_ context.Context, h topology.HostPlan) (host.Host, error) {
	r.hosts[h.Name] = &fakeHost{name: h.Name, role: h.Role, state: host.On, cluster: r.c}
	return r.hosts[h.Name], nil
}
func (r *fakeRooms) volume(_ context.Context, member string, groups []string) (volume.Volume, error) {
	if len(groups) != 3 {
		return nil, errors.New("a member's disks are spread over its own host and the others of its role")
	}
	r.volumes[member] = &fakeVolume{name: member, health: "healthy"}
	return r.volumes[member], nil
}
func (r *fakeRooms) cluster(_ context.Context, s topology.Site) (topology.Cluster, error) {
	r.c.site = s
	return r.c, nil
}
func (r *fakeRooms) diskPower(_ context.Context, host string, on bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.off = slices.DeleteFunc(r.off, func(h string) bool { return h == host })
	if !on {
		r.off = append(r.off, host)
	}
	return nil
}
func (r *fakeRooms) losePower(ctx context.Context, host string, _ []string, _ faultfs.PowerCut,
	kill func() error) error {
	return errors.Join(kill(), r.diskPower(ctx, host, false))
}
func (r *fakeRooms) faultDisk(volume, disk string) (*faultfs.Client, string, error) {
	return nil, "", fmt.Errorf("disk %s of volume %s is plain", disk, volume)
}
func (r *fakeRooms) close(context.Context) error { r.closed = true; return nil }

// fakeLab is a supervisor of fakes that serves in its directory until the test ends.
type fakeLab struct {
	*fakeRooms
	s *supervisor
	h *Handle
}

// startFake starts one; change edits the order.
func startFake(t *testing.T, r *fakeRooms, change func(*order)) *fakeLab {
	t.Helper()
	dir := Dir(t.TempDir(), "fake")
	makeDir(t, dir)
	o := order{Began: time.Now(), Owner: procid.Self()}
	o.Spec.Name = "fake"
	o.Spec.Deadline = spec.Duration(10 * time.Minute)
	if change != nil {
		change(&o)
	}
	if err := writeJSON(dir, orderFile, o); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSupervisor(context.Background(), dir, o, r, j)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.serve() }()
	h := newHandle(dir)
	for limit := time.Now().Add(10 * time.Minute); !h.answers() && !exists(dir+"/"+labFile) && time.Now().Before(limit); {
		time.Sleep(time.Millisecond)
	}
	t.Cleanup(func() {
		s.stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = h.Close()
		_ = j.Close()
		s.events.close()
	})
	return &fakeLab{fakeRooms: r, s: s, h: h}
}

// upFake starts one and waits until it is up.
func upFake(t *testing.T, change func(*order)) *fakeLab {
	t.Helper()
	l := startFake(t, newFakeRooms(), change)
	l.until(t, "the lab is up", func(d record.Lab) bool { return d.State == stateUp })
	return l
}

// until asks again and again until something holds.
func (l *fakeLab) until(t *testing.T, what string, holds func(record.Lab) bool) {
	t.Helper()
	for limit := time.Now().Add(10 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		d, err := l.h.Describe(t.Context(), true)
		if err == nil && holds(d) {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("waited in vain until %s; the lab is %+v (%v)", what, d, err)
		}
	}
}

// event waits for an event of a kind whose text has a part.
func (l *fakeLab) event(t *testing.T, kind, part string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for seen := int64(0); ; {
		events, err := l.h.Events(ctx, seen, time.Minute)
		if err != nil {
			t.Fatalf("waited in vain for a %s event with %q: %v", kind, part, err)
		}
		for _, e := range events {
			seen = e.Seq
			if e.Kind == kind && contains(e.Text, part) {
				return
			}
		}
	}
}
