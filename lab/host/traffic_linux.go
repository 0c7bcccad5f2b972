package host

import (
	"errors"
	"fmt"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

var _ Link = (*isolatedHost)(nil)

func (h *isolatedHost) Traffic() (Traffic, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.space == nil {
		return Traffic{}, h.closed()
	}
	dropped, err := h.dropped()
	if err != nil {
		return Traffic{}, fmt.Errorf("cannot read the dropped packets of host %s: %w", h.name, err)
	}
	own, err := netlink.NewHandleAt(h.space.handle(), unix.NETLINK_ROUTE)
	if err != nil {
		return Traffic{}, fmt.Errorf("cannot read the link of host %s: %w", h.name, err)
	}
	defer own.Close()
	leaves, err := delayed(own, hostLink)
	comes, err2 := delayed(h.net.handle, h.port)
	if err = errors.Join(err, err2); err != nil {
		return Traffic{}, fmt.Errorf("cannot read the link of host %s: %w", h.name, err)
	}
	return Traffic{Dropped: dropped, Delayed: leaves + comes}, nil
}

func (h *isolatedHost) dropped() (int64, error) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	if len(h.net.cuts[h.name]) == 0 {
		return 0, nil
	}
	c, err := nftables.New(nftables.WithNetNSFd(int(h.space.file.Fd())))
	if err != nil {
		return 0, err
	}
	table := &nftables.Table{Family: nftables.TableFamilyIPv4, Name: cutTable}
	var sum int64
	for _, chain := range []string{"in", "out"} {
		rules, err := c.GetRules(table, &nftables.Chain{Name: chain, Table: table})
		if err != nil {
			return 0, err
		}
		for _, r := range rules {
			for _, e := range r.Exprs {
				if counter, ok := e.(*expr.Counter); ok {
					sum += int64(counter.Packets)
				}
			}
		}
	}
	return sum, nil
}

// delayed is how often the token bucket of an interface delayed or dropped a packet.
func delayed(handle *netlink.Handle, name string) (int64, error) {
	l, err := handle.LinkByName(name)
	if err != nil {
		return 0, err
	}
	all, err := handle.QdiscList(l)
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, q := range all {
		if s := q.Attrs().Statistics; q.Type() == "tbf" && s != nil && s.Queue != nil {
			sum += int64(s.Queue.Overlimits) + int64(s.Queue.Drops)
		}
	}
	return sum, nil
}
