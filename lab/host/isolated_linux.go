package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/record"
)

// isolatedHost is a network namespace with a cable to the switch of the lab, and a control group.
type isolatedHost struct {
	*body
	net     *network
	address netip.Prefix
	space   *namespace
	port    string // the switch's end of the cable

	groups   []*group // the last one is in use; the others could not be removed yet
	powers   int      // how many groups there were
	io       []IOLimit
	reserved map[int]bool // ports

	// Usage can be read without mu, while the power changes or a process starts.
	meter atomic.Pointer[meter]           // while the host is on
	final atomic.Pointer[record.LabUsage] // when the host was powered off
}

// meter has the sources of a host's usage: its group, and the traffic of its cable before it was powered on.
type meter struct {
	group *group
	base  traffic
}

// traffic is the traffic of the cable in bytes, seen from the host.
type traffic struct{ received, sent int64 }

// firstIsolatedPort is MongoDB's default port. Each isolated host has its own address, and so all ports.
const firstIsolatedPort = 27017

func newIsolated(ctx context.Context, b *body) (Host, error) {
	h := &isolatedHost{body: b, net: b.maker.net, reserved: map[int]bool{}}
	h.state.set(Off)
	err := h.connect()
	if err == nil {
		err = h.on()
	}
	if err != nil {
		return nil, errors.Join(err, h.Close(context.WithoutCancel(ctx)))
	}
	return h, nil
}

// connect makes the namespace and the cable.
func (h *isolatedHost) connect() error {
	n := h.net
	address, last, err := n.nextAddress()
	if err != nil {
		return err
	}
	h.address, h.port = address, "host"+strconv.Itoa(last)
	if h.space, err = makeNamespace(h.maker.opts.Journal, h.maker.named(h.name)); err != nil {
		return err
	}
	n.mu.Lock()
	n.hosts[h.name] = h
	n.mu.Unlock()
	attrs := netlink.NewLinkAttrs()
	attrs.Name = h.port
	veth := netlink.NewVeth(attrs)
	veth.PeerName, veth.PeerNamespace = hostLink, netlink.NsFd(h.space.file.Fd())
	if err := n.handle.LinkAdd(veth); err != nil {
		return fmt.Errorf("cannot create its cable: %w", err)
	}
	if err := n.plug(h.port); err != nil { // powering on sets it up
		return fmt.Errorf("cannot connect its cable to the bridge: %w", err)
	}
	own, err := netlink.NewHandleAt(h.space.handle(), unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer own.Close()
	end, err := own.LinkByName(hostLink)
	if err != nil {
		return err
	}
	if err := errors.Join(own.AddrAdd(end, &netlink.Addr{IPNet: ipNet(address)}), own.LinkSetUp(end)); err != nil {
		return fmt.Errorf("cannot set its address: %w", err)
	}
	return h.slow(0)
}

func (n *namespace) handle() netns.NsHandle { return netns.NsHandle(n.file.Fd()) }

// on makes a new group, because the kernel kills processes that enter a killed group, and sets the link up. The caller
// holds mu, or is alone.
func (h *isolatedHost) on() error {
	h.powers++
	g, err := h.net.groups.makeGroup(h.maker.opts.Journal, h.maker.named(h.name)+"-"+strconv.Itoa(h.powers))
	if err != nil {
		return err
	}
	h.groups = append(h.groups, g)
	h.freezer = g.freezer()
	if h.limits.Cores > 0 {
		err = errors.Join(err, g.limitCores(h.limits.Cores))
	}
	if h.limits.Memory > 0 {
		err = errors.Join(err, g.limitMemory(h.limits.Memory))
	}
	for _, l := range h.io {
		err = errors.Join(err, g.limitIO(l))
	}
	if err == nil {
		err = h.net.up(h.port)
	}
	var base traffic
	if err == nil {
		base, err = h.net.traffic(h.port)
	}
	if err != nil {
		return fmt.Errorf("cannot power on host %s: %w", h.name, err)
	}
	h.meter.Store(&meter{g, base})
	h.state.set(On)
	return nil
}

// group is the present group. The caller holds mu.
func (h *isolatedHost) group() *group { return h.groups[len(h.groups)-1] }

func (n *network) traffic(port string) (traffic, error) {
	l, err := n.handle.LinkByName(port)
	if err != nil {
		return traffic{}, err
	}
	s := l.Attrs().Statistics
	if s == nil {
		return traffic{}, nil
	}
	// The statistics are those of the switch's end, which sends what the host receives.
	return traffic{received: int64(s.TxBytes), sent: int64(s.RxBytes)}, nil
}

func (h *isolatedHost) Address() string { return h.address.Addr().String() }

func (h *isolatedHost) Start(ctx context.Context, s process.Spec) (*process.Process, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.usable(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", s.Role, err)
	}
	g := h.group()
	s.Place = process.Place{Network: h.space.path, Groups: g.old(), Unified: g.unified()}
	s.Also = slices.Concat(h.limits.ForGo(1), s.Also) // s.Also overrides it
	return h.body.start(ctx, s)
}

func (h *isolatedHost) Run(ctx context.Context, s process.Spec) ([]byte, error) {
	return run(ctx, s, h.Start)
}

func (h *isolatedHost) Port() (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.space == nil {
		return 0, h.closed()
	}
	found := 0
	err := h.space.do(func() error {
		for port := firstIsolatedPort; port <= lastPort; port++ {
			if !h.reserved[port] && free("", port) {
				found = port
				return nil
			}
		}
		return errors.New("all are in use")
	})
	if err != nil {
		return 0, fmt.Errorf("host %s has no free port between %d and %d: %w", h.name, firstIsolatedPort, lastPort, err)
	}
	h.reserved[found] = true
	return found, nil
}

func (h *isolatedHost) PowerOff(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.off(ctx); err != nil {
		return fmt.Errorf("host %s: %w", h.name, err)
	}
	return nil
}

// off takes the link down before it kills, because the kernel closes the connections of killed processes, and a host
// that lost power does not. The caller holds mu.
func (h *isolatedHost) off(ctx context.Context) error {
	if h.State() != Off {
		h.state.set(Off)
		l, err := h.net.handle.LinkByName(h.port)
		if err == nil {
			err = h.net.handle.LinkSetDown(l)
		}
		if err != nil {
			return fmt.Errorf("cannot take its link down: %w", err)
		}
	}
	for len(h.groups) > 0 {
		g := h.groups[0]
		if err := g.kill(ctx); err != nil {
			return err
		}
		if m := h.meter.Load(); m != nil && m.group == g {
			u := h.readUsage(m)
			u.Memory = 0
			h.final.Store(&u)
			h.meter.Store(nil)
		}
		if err := g.remove(ctx); err != nil {
			return err
		}
		h.groups = h.groups[1:]
	}
	return waitEnded(ctx, h.all())
}

func (h *isolatedHost) PowerOn(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.space == nil {
		return h.closed()
	}
	if h.State() != Off {
		return nil
	}
	if err := h.off(ctx); err != nil { // an earlier power-off may not have completed
		return fmt.Errorf("host %s: %w", h.name, err)
	}
	return h.on()
}

func (h *isolatedHost) Pause(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.State() == Off {
		return h.usable()
	}
	h.state.set(Paused)
	if err := h.group().freeze(ctx, true); err != nil {
		return fmt.Errorf("cannot pause host %s: %w", h.name, err)
	}
	return nil
}

func (h *isolatedHost) Resume(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.State() == Off {
		return h.usable()
	}
	if err := h.group().freeze(ctx, false); err != nil {
		return fmt.Errorf("cannot resume host %s: %w", h.name, err)
	}
	h.state.set(On)
	return nil
}

func (h *isolatedHost) Throttle(_ context.Context, cores float64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.State() == Off {
		return h.usable()
	}
	if cores == 0 {
		cores = h.limits.Cores
	}
	if err := h.group().limitCores(cores); err != nil {
		return fmt.Errorf("cannot limit the cores of host %s: %w", h.name, err)
	}
	return nil
}

// Control groups of version 1 do not limit the write-back of the page cache.
func (h *isolatedHost) Limit(_ context.Context, limits []IOLimit) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.State() != Off {
		g := h.group()
		for _, old := range h.io {
			_ = g.limitIO(IOLimit{Device: old.Device}) // the device may be gone, and its limit with it
		}
		h.io = nil
		for _, l := range limits {
			if err := g.limitIO(l); err != nil {
				return fmt.Errorf("cannot limit the disks of host %s: %w", h.name, err)
			}
			h.io = append(h.io, l)
		}
		return nil
	}
	h.io = slices.Clone(limits) // from the next power-on
	return nil
}

func (h *isolatedHost) Usage() (record.LabUsage, error) {
	if m := h.meter.Load(); m != nil {
		if u := h.readUsage(m); h.meter.Load() == m { // the group existed during the reading
			return u, nil
		}
	}
	if u := h.final.Load(); u != nil {
		return *u, nil
	}
	return record.LabUsage{Host: h.name}, nil
}

var _ Memory = (*isolatedHost)(nil)

func (h *isolatedHost) OutOfMemory() int64 {
	if m := h.meter.Load(); m != nil {
		return m.group.killed()
	}
	return 0
}

func (h *isolatedHost) readUsage(m *meter) record.LabUsage {
	u := m.group.usage()
	u.Host = h.name
	if now, err := h.net.traffic(h.port); err == nil {
		u.Received, u.Sent = now.received-m.base.received, now.sent-m.base.sent
	}
	return u
}

func (h *isolatedHost) Close(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.space == nil {
		return nil
	}
	if err := h.off(ctx); err != nil {
		return fmt.Errorf("cannot close host %s: %w", h.name, err)
	}
	if err := h.awaitEnd(); err != nil {
		return err
	}
	if err := h.net.forget(h); err != nil {
		return fmt.Errorf("cannot remove the link of host %s: %w", h.name, err)
	}
	if err := h.space.remove(); err != nil {
		return err
	}
	h.space = nil
	return nil
}

// forget removes the cable of a host and its cuts.
func (n *network) forget(h *isolatedHost) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var err error
	for host, cuts := range n.cuts {
		if _, ok := cuts[h.name]; ok {
			delete(cuts, h.name)
			err = errors.Join(err, n.applyCuts(n.hosts[host]))
		}
	}
	delete(n.cuts, h.name)
	delete(n.hosts, h.name)
	l, missing := n.handle.LinkByName(h.port)
	if missing == nil { // else it was not made
		err = errors.Join(err, n.handle.LinkDel(l))
	}
	return err
}

// disableIPv6 keeps the kernel from giving an interface of the machine an IPv6 address.
func disableIPv6(name string) error {
	err := writeFile(filepath.Join("/proc/sys/net/ipv6/conf", name, "disable_ipv6"), "1")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
