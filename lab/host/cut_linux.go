package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// everyone stands for all other hosts and the machine in the list of cuts.
const everyone = "*"

// cutTable is the table of the firewall in a host's namespace. It ends with the namespace.
const cutTable = "plimsoll"

// ways are the directions in which packets are dropped, seen from one host.
type ways struct{ in, out bool }

func (w ways) none() bool     { return !w.in && !w.out }
func (w ways) flipped() ways  { return ways{in: w.out, out: w.in} }
func (w ways) or(v ways) ways { return ways{in: w.in || v.in, out: w.out || v.out} }

// label adds the direction to a name, if there is only one.
func (w ways) label(name string) string {
	switch w {
	case ways{in: true}:
		return name + " (in)"
	case ways{out: true}:
		return name + " (out)"
	}
	return name
}

// The firewall of the host's namespace drops the packets. TCP retransmits them as after loss; a program that sends
// datagrams gets an error.
func (h *isolatedHost) Cut(_ context.Context, other Host, d Direction) error {
	var w ways
	switch d {
	case Both, "":
		w = ways{true, true}
	case In:
		w.in = true
	case Out:
		w.out = true
	default:
		return fmt.Errorf("direction %q is not valid: use both, in or out", d)
	}
	name, err := h.peer(other)
	if err != nil {
		return err
	}
	n := h.net
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hosts[h.name] != h {
		return h.closed()
	}
	old := n.cuts[h.name][name]
	n.setCut(h.name, name, old.or(w))
	if err := n.applyCuts(h); err != nil {
		n.setCut(h.name, name, old)
		return fmt.Errorf("cannot cut off host %s: %w", h.name, err)
	}
	return nil
}

// peer is the name of another host in the list of cuts.
func (h *isolatedHost) peer(other Host) (string, error) {
	if other == nil {
		return everyone, nil
	}
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	if p, ok := other.(*isolatedHost); !ok || h.net.hosts[other.Name()] != p || p == h {
		return "", fmt.Errorf("host %s has no link to %s. Name another isolated host of the same lab", h.name, other.Name())
	}
	return other.Name(), nil
}

// setCut adds a cut to the list. The caller holds mu.
func (n *network) setCut(host, other string, w ways) {
	if n.cuts[host] == nil {
		n.cuts[host] = map[string]ways{}
	}
	n.cuts[host][other] = w
	if w.none() {
		delete(n.cuts[host], other)
	}
}

// The cut of a pair may have been made on either host. Other cuts of the host stay.
func (h *isolatedHost) Mend(_ context.Context, other Host) error {
	name, err := h.peer(other)
	if err != nil {
		return err
	}
	n := h.net
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hosts[h.name] != h {
		return h.closed()
	}
	delete(n.cuts[h.name], name)
	err = n.applyCuts(h)
	if peer := n.hosts[name]; peer != nil {
		if _, ok := n.cuts[name][h.name]; ok {
			delete(n.cuts[name], h.name)
			err = errors.Join(err, n.applyCuts(peer))
		}
	}
	if err != nil {
		return fmt.Errorf("cannot restore the links of host %s: %w", h.name, err)
	}
	return nil
}

func (h *isolatedHost) Cuts() []string {
	n := h.net
	n.mu.Lock()
	defer n.mu.Unlock()
	all := maps.Clone(n.cuts[h.name])
	if all == nil {
		all = map[string]ways{}
	}
	for host, cuts := range n.cuts {
		if w, ok := cuts[h.name]; ok {
			all[host] = all[host].or(w.flipped())
		}
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		names = append(names, all[name].label(name))
	}
	return names
}

// applyCuts replaces the firewall rules in a host's namespace by those of its cuts, atomically. The caller holds mu.
func (n *network) applyCuts(h *isolatedHost) error {
	c, err := nftables.New(nftables.WithNetNSFd(int(h.space.file.Fd())))
	if err != nil {
		return err
	}
	table := &nftables.Table{Family: nftables.TableFamilyIPv4, Name: cutTable}
	c.AddTable(table) // so that DelTable succeeds
	c.DelTable(table)
	if len(n.cuts[h.name]) > 0 {
		c.AddTable(table)
		in := c.AddChain(&nftables.Chain{Name: "in", Table: table, Type: nftables.ChainTypeFilter,
			Hooknum: nftables.ChainHookInput, Priority: nftables.ChainPriorityFilter})
		out := c.AddChain(&nftables.Chain{Name: "out", Table: table, Type: nftables.ChainTypeFilter,
			Hooknum: nftables.ChainHookOutput, Priority: nftables.ChainPriorityFilter})
		for other, w := range n.cuts[h.name] {
			var addr netip.Addr
			if other != everyone {
				addr = n.hosts[other].address.Addr()
			}
			if w.in {
				c.AddRule(&nftables.Rule{Table: table, Chain: in,
					Exprs: drop(expr.MetaKeyIIFNAME, sourceOffset, addr)})
			}
			if w.out {
				c.AddRule(&nftables.Rule{Table: table, Chain: out,
					Exprs: drop(expr.MetaKeyOIFNAME, destinationOffset, addr)})
			}
		}
	}
	return c.Flush()
}

// The offsets of the addresses in the header of an IPv4 packet.
const sourceOffset, destinationOffset = 12, 16

// drop is a rule that counts and drops the packets on the host's link whose header has the address at the offset; all
// packets if there is no address. Loopback is another link.
func drop(link expr.MetaKey, offset uint32, addr netip.Addr) []expr.Any {
	name := make([]byte, unix.IFNAMSIZ)
	copy(name, hostLink)
	exprs := []expr.Any{
		&expr.Meta{Key: link, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: name},
	}
	if addr.IsValid() {
		exprs = append(exprs,
			&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: 4},
			&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: addr.AsSlice()})
	}
	return append(exprs, &expr.Counter{}, &expr.Verdict{Kind: expr.VerdictDrop})
}

func (h *isolatedHost) Slow(_ context.Context, rate int64) error {
	if rate != 0 && rate < leastRate {
		return fmt.Errorf("%d bytes per second are too few for a link: the minimum is %d", rate, leastRate)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.space == nil {
		return h.closed()
	}
	return h.slow(rate)
}

func (h *isolatedHost) closed() error { return fmt.Errorf("host %s is closed", h.name) }

// slow limits both ends of the host's cable. The caller holds mu of the host.
func (h *isolatedHost) slow(rate int64) error {
	if rate == 0 {
		rate = h.limits.Network
	}
	own, err := netlink.NewHandleAt(h.space.handle(), unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("cannot limit the link of host %s: %w", h.name, err)
	}
	defer own.Close()
	if err := errors.Join(shape(own, hostLink, rate), shape(h.net.handle, h.port, rate)); err != nil {
		return fmt.Errorf("cannot limit the link of host %s: %w", h.name, err)
	}
	return nil
}

// shape limits the rate at which an interface sends, by a token bucket; 0 is no limit.
func shape(handle *netlink.Handle, name string, rate int64) error {
	l, err := handle.LinkByName(name)
	if err != nil {
		return err
	}
	attrs := netlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Handle: netlink.MakeHandle(1, 0),
		Parent: netlink.HANDLE_ROOT}
	if rate == 0 {
		err := handle.QdiscDel(&netlink.GenericQdisc{QdiscAttrs: attrs, QdiscType: "tbf"})
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINVAL) { // there is none
			return nil
		}
		return err
	}
	// The burst is 50 ms of the rate, at least one packet. The queue is 100 ms of the rate.
	burst := min(max(rate/20, 2<<10), 4<<20)
	queue := min(max(rate/10, 16<<10), 16<<20)
	return handle.QdiscReplace(&netlink.Tbf{QdiscAttrs: attrs, Rate: uint64(rate), Limit: uint32(burst + queue),
		Buffer: netlink.Xmittime(uint64(rate), uint32(burst))})
}
