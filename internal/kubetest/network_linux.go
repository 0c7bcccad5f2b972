package kubetest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// The addresses are of the range for benchmarks (RFC 2544). Labs take networks of it that are free. The control plane
// is in a namespace with a bridge, to which the nodes and the machine have a cable each. The kernel removes all of it
// with the last process in the namespaces and the last descriptor of them, so nothing is left when the test is killed.
const (
	wholeNetwork   = "198.19.252.0/22"
	controlAddress = "198.19.252.1"
	machineAddress = "198.19.252.254"
	serviceNetwork = "198.19.254.0/24"
	serviceAddress = "198.19.254.1" // the Service "kubernetes", served without kube-proxy
	machineLink    = "plmkube"
)

// pods are the networks of the nodes' pods.
var pods = []string{"198.19.253.0/25", "198.19.253.128/25"}

func nodeAddress(i int) string { return fmt.Sprintf("198.19.252.%d", 11+i) }

// free refuses to use addresses that this machine reaches already.
func free() error {
	to, err := netlink.ParseIPNet(wholeNetwork)
	if err != nil {
		return err
	}
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return err
	}
	for _, r := range routes {
		if ones, _ := r.Dst.Mask.Size(); ones > 0 && (to.Contains(r.Dst.IP) || r.Dst.Contains(to.IP)) {
			return fmt.Errorf("this machine has a route to %v, and the cluster needs %s. Remove the lab or the route", r.Dst,
				wholeNetwork)
		}
	}
	return nil
}

// unplug removes the machine's end of the cable. The kernel does that too, but up to a minute after the last process of
// the namespace.
func unplug() error {
	l, err := netlink.LinkByName(machineLink)
	if err != nil {
		return nil // it is gone
	}
	if err := netlink.LinkDel(l); err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("cannot remove the interface %s: %w", machineLink, err)
	}
	return nil
}

// namespace is a network namespace that lives as long as a process is in it or its file is open.
type namespace struct {
	file   *os.File
	handle *netlink.Handle
}

func newNamespace() (*namespace, error) {
	var n namespace
	var err error
	process.OnThread(func() {
		if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return
		}
		err = os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0)
		if err == nil {
			n.file, err = os.Open("/proc/thread-self/ns/net")
		}
	})
	if err == nil {
		n.handle, err = netlink.NewHandleAt(netns.NsHandle(n.file.Fd()))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot create a network namespace: %w", err)
	}
	return &n, n.up("lo")
}

func (n *namespace) path() string { return fmt.Sprintf("/proc/self/fd/%d", n.file.Fd()) }

func (n *namespace) close() {
	n.handle.Close()
	_ = n.file.Close() // read only
}

func (n *namespace) up(name string) error {
	l, err := n.handle.LinkByName(name)
	if err != nil {
		return err
	}
	return n.handle.LinkSetUp(l)
}

func (n *namespace) down(name string) error {
	l, err := n.handle.LinkByName(name)
	if err != nil {
		return err
	}
	return n.handle.LinkSetDown(l)
}

// address gives an interface an address and sets it up.
func address(h *netlink.Handle, name, cidr string) error {
	l, err := h.LinkByName(name)
	if err != nil {
		return err
	}
	a, err := netlink.ParseAddr(cidr)
	if err != nil {
		return err
	}
	return errors.Join(h.AddrAdd(l, a), h.LinkSetUp(l))
}

// route sends what goes to a network, or everything if that is empty, through an interface.
func route(h *netlink.Handle, to, via, name string) error {
	l, err := h.LinkByName(name)
	if err != nil {
		return err
	}
	r := &netlink.Route{Gw: net.ParseIP(via), LinkIndex: l.Attrs().Index}
	if to != "" {
		if r.Dst, err = netlink.ParseIPNet(to); err != nil {
			return err
		}
	}
	return h.RouteAdd(r)
}

// newSwitch makes the namespace of the control plane, with the cable to the machine.
func newSwitch() (*namespace, error) {
	err := free()
	for end := time.Now().Add(Limit); err != nil && time.Now().Before(end); err = free() {
		time.Sleep(time.Second) // a lab of another test may have a network of this range for some time
	}
	if err != nil {
		return nil, err
	}
	n, err := newNamespace()
	if err != nil {
		return nil, err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "br0"
	// Without an address of its own a bridge takes that of a cable, and nodes lose it whenever it changes.
	attrs.HardwareAddr = net.HardwareAddr{2, 0, 198, 19, 252, 1}
	err = errors.Join(
		n.handle.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}),
		address(n.handle, "br0", controlAddress+"/24"),
		address(n.handle, "br0", serviceAddress+"/32"),
	)
	machine, machineErr := netlink.NewHandle()
	if err = errors.Join(err, machineErr); err != nil {
		n.close()
		return nil, err
	}
	defer machine.Close()
	if err := n.cable(machine, nil, machineLink, "machine"); err != nil {
		n.close()
		return nil, err
	}
	err = address(machine, machineLink, machineAddress+"/24")
	for i, to := range pods {
		err = errors.Join(err, route(machine, to, nodeAddress(i), machineLink),
			route(n.handle, to, nodeAddress(i), "br0"))
	}
	if err != nil {
		n.close()
		return nil, fmt.Errorf("cannot connect the machine to the cluster: %w", err)
	}
	return n, nil
}

// cable connects a namespace, or the machine if that is nil, to the bridge.
func (n *namespace) cable(machine *netlink.Handle, other *namespace, far, near string) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = near
	veth := netlink.NewVeth(attrs)
	veth.PeerName = far
	if other != nil {
		veth.PeerNamespace = netlink.NsFd(other.file.Fd())
	} else {
		veth.PeerNamespace = netlink.NsPid(os.Getpid())
	}
	if err := n.handle.LinkAdd(veth); err != nil {
		return fmt.Errorf("cannot create the link %s: %w", near, err)
	}
	link, err := n.handle.LinkByName(near)
	if err != nil {
		return err
	}
	bridge, err := n.handle.LinkByName("br0")
	if err != nil {
		return err
	}
	return errors.Join(n.handle.LinkSetMaster(link, bridge), n.handle.LinkSetUp(link))
}
