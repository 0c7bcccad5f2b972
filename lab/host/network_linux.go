package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"net/netip"
	"strings"
	"sync"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/internal/filelock"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
)

// The network of a lab with isolated hosts is the switch: a bridge in a network namespace of its own, with a cable (a
// pair of virtual Ethernet devices) to each host and one to the machine. In the machine's namespace, the packets of the
// bridge would pass the machine's firewall, which forwards nothing where Docker is installed. The machine sees one
// interface of a lab.

const kindLink = "link"

// benchmarking is the range of addresses that RFC 2544 reserves for benchmarks; each lab has 256 addresses of it.
var benchmarking = netip.MustParsePrefix("198.18.0.0/15")

const (
	networkBits = 24
	networks    = 512
	machineHost = 1   // the machine's address in each network
	lastHost    = 254 // the last address of a host
	bridgeName  = "br0"
	hostLink    = "eth0" // a host's end of its cable
)

// network is shared by the isolated hosts of a lab.
type network struct {
	maker    *Maker
	prefix   netip.Prefix
	switches *namespace
	handle   *netlink.Handle   // in the switch's namespace
	link     *journal.Resource // the machine's end of its cable
	reserved *reservation
	groups   hierarchies

	mu    sync.Mutex // guards what follows
	next  int        // the last part of the next host's address
	hosts map[string]*isolatedHost
	cuts  map[string]map[string]ways // host → other host, or everyone → directions seen from the host
}

// newNetwork chooses free addresses and makes the switch and the cable to the machine.
func newNetwork(ctx context.Context, g *Maker) (_ *network, err error) {
	n := &network{maker: g, next: machineHost + 1, hosts: map[string]*isolatedHost{},
		cuts: map[string]map[string]ways{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.close(context.WithoutCancel(ctx)))
		}
	}()
	if n.groups, err = findHierarchies(); err != nil {
		return nil, err
	}
	if n.switches, err = makeNamespace(g.opts.Journal, g.named("switch")); err != nil {
		return nil, err
	}
	if n.handle, err = netlink.NewHandleAt(netns.NsHandle(n.switches.file.Fd())); err != nil {
		return nil, err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = bridgeName
	bridge := &netlink.Bridge{LinkAttrs: attrs}
	if err := errors.Join(n.handle.LinkAdd(bridge), n.up(bridgeName)); err != nil {
		return nil, fmt.Errorf("cannot create the bridge: %w", err)
	}
	return n, n.connectMachine()
}

// named is the machine-wide name of a resource of the lab.
func (g *Maker) named(what string) string {
	return groupPrefix + g.opts.Lab + "-" + what + "-" + g.token
}

// up sets an interface in the switch's namespace up.
func (n *network) up(name string) error {
	l, err := n.handle.LinkByName(name)
	if err != nil {
		return err
	}
	return n.handle.LinkSetUp(l)
}

// connectMachine finds a free network and connects the machine to the switch, with the first address.
func (n *network) connectMachine() error {
	used, err := usedNetworks()
	if err != nil {
		return fmt.Errorf("cannot read the machine's addresses and routes: %w", err)
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(n.maker.opts.Lab + n.maker.token)) // never fails
	for i := range networks {
		prefix := networkAt((int(h.Sum32()%networks) + i) % networks)
		if overlaps(used, prefix) {
			continue
		}
		err := n.reserve(prefix)
		if errors.Is(err, filelock.ErrBusy) {
			continue
		}
		return err
	}
	return fmt.Errorf("no network of %s is free: labs or routes (such as those of a VPN) use all of them", benchmarking)
}

func networkAt(i int) netip.Prefix {
	a := benchmarking.Addr().As4()
	a[1] += byte(i >> 8)
	a[2] = byte(i)
	return netip.PrefixFrom(netip.AddrFrom4(a), networkBits)
}

// usedNetworks are the networks of the machine's addresses and routes. Routes that are wider than the range, such as
// the default route, do not count, because the kernel prefers narrower ones.
func usedNetworks() ([]netip.Prefix, error) {
	for tries := 1; ; tries++ {
		used, err := readNetworks()
		if !errors.Is(err, netlink.ErrDumpInterrupted) || tries == 100 { // something changed while it was read
			return used, err
		}
	}
}

func readNetworks() ([]netip.Prefix, error) {
	var used []netip.Prefix
	addrs, err := netlink.AddrList(nil, netlink.FAMILY_V4)
	if err != nil {
		return nil, err
	}
	for _, a := range addrs {
		used = appendNetwork(used, a.IPNet)
		used = appendNetwork(used, a.Peer)
	}
	all := &netlink.Route{Table: unix.RT_TABLE_UNSPEC}
	routes, err := netlink.RouteListFiltered(netlink.FAMILY_V4, all, netlink.RT_FILTER_TABLE)
	if err != nil {
		return nil, err
	}
	for _, r := range routes {
		used = appendNetwork(used, r.Dst)
	}
	return used, nil
}

func appendNetwork(used []netip.Prefix, n *net.IPNet) []netip.Prefix {
	if n == nil {
		return used
	}
	addr, ok := netip.AddrFromSlice(n.IP)
	bits, _ := n.Mask.Size()
	if !ok || bits < benchmarking.Bits() {
		return used
	}
	return append(used, netip.PrefixFrom(addr.Unmap(), bits))
}

func overlaps(used []netip.Prefix, p netip.Prefix) bool {
	for _, u := range used {
		if u.Overlaps(p) {
			return true
		}
	}
	return false
}

// reserve reserves a network by a file and by an interface that has the network in its name. The machine can have only
// one interface of that name, so labs with different homes cannot use the same network.
func (n *network) reserve(prefix netip.Prefix) error {
	a := prefix.Addr().As4()
	p, err := n.maker.reserve(fmt.Sprintf("network-%d-%d", a[1], a[2]))
	if err != nil {
		return err
	}
	if err := n.makeCable(fmt.Sprintf("plm%d-%d", a[1], a[2])); err != nil {
		return errors.Join(err, p.release())
	}
	n.reserved, n.prefix = p, prefix
	machine, err := netlink.LinkByName(n.link.Name)
	if err != nil {
		return err
	}
	addr := &netlink.Addr{IPNet: ipNet(n.address(machineHost))}
	if err := errors.Join(netlink.AddrAdd(machine, addr), netlink.LinkSetUp(machine)); err != nil {
		return fmt.Errorf("cannot set the machine's address in the lab: %w", err)
	}
	return errors.Join(n.plug("machine"), n.up("machine"))
}

func (n *network) makeCable(name string) error {
	mac := newMAC()
	r := journal.Resource{Kind: kindLink, Name: name, Details: map[string]string{"mac": mac.String()}}
	var err error
	if r.ID, err = n.maker.opts.Journal.Add(r.Kind, r.Name, r.Details); err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.HardwareAddr = name, mac
	veth := netlink.NewVeth(attrs)
	veth.PeerName, veth.PeerNamespace = "machine", netlink.NsFd(n.switches.file.Fd())
	if err := netlink.LinkAdd(veth); err != nil {
		if errors.Is(err, unix.EEXIST) {
			err = filelock.ErrBusy
		}
		return errors.Join(fmt.Errorf("cannot create the interface %s: %w", name, err), n.maker.opts.Journal.Gone(r.ID))
	}
	n.link = &r
	_ = disableIPv6(name) // hosts use IPv4 only
	return nil
}

// plug connects an interface of the switch's namespace to the bridge.
func (n *network) plug(name string) error {
	l, err := n.handle.LinkByName(name)
	if err != nil {
		return err
	}
	bridge, err := n.handle.LinkByName(bridgeName)
	if err != nil {
		return err
	}
	return n.handle.LinkSetMaster(l, bridge)
}

// address is the address in the lab's network whose last byte is last.
func (n *network) address(last int) netip.Prefix {
	a := n.prefix.Addr().As4()
	a[3] = byte(last)
	return netip.PrefixFrom(netip.AddrFrom4(a), networkBits)
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), 32)}
}

// nextAddress returns the address of a new host, and its last byte.
func (n *network) nextAddress() (netip.Prefix, int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next > lastHost {
		return netip.Prefix{}, 0, fmt.Errorf("a lab has at most %d isolated hosts", lastHost-machineHost)
	}
	n.next++
	return n.address(n.next - 1), n.next - 1, nil
}

// newMAC returns a random, locally administered address. It also tells the interface from a later one with the same
// name: the kernel sets the address when it makes the interface, so the interface never exists without it.
func newMAC() net.HardwareAddr {
	mac := make(net.HardwareAddr, 6)
	_, _ = rand.Read(mac) // never fails
	mac[0] = 0x02
	return mac
}

func (n *network) close(ctx context.Context) error {
	if n.link != nil {
		err := removeLink(ctx, *n.link)
		if err == nil {
			err = n.maker.opts.Journal.Gone(n.link.ID)
		}
		if err != nil {
			return fmt.Errorf("cannot remove the interface %s: %w", n.link.Name, err)
		}
		n.link = nil
	}
	if n.handle != nil {
		n.handle.Close()
		n.handle = nil
	}
	if n.switches != nil {
		if err := n.switches.remove(); err != nil {
			return err
		}
		n.switches = nil
	}
	if n.reserved == nil {
		return nil
	}
	if err := n.reserved.release(); err != nil {
		return err
	}
	n.reserved = nil
	return nil
}

// removeLink removes an interface of the machine if it is the one in the journal.
func removeLink(_ context.Context, r journal.Resource) error {
	l, err := netlink.LinkByName(r.Name)
	var missing netlink.LinkNotFoundError
	if errors.As(err, &missing) {
		return nil
	}
	if err != nil {
		return err
	}
	if !strings.EqualFold(l.Attrs().HardwareAddr.String(), r.Details["mac"]) {
		return nil // another one with the same name
	}
	if err := netlink.LinkDel(l); err != nil && !errors.Is(err, unix.ENODEV) {
		return err
	}
	return nil
}
