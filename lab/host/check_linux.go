package host

import (
	"errors"
	"fmt"
	"net/netip"
	"os"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// systemRemovers are the removers of resources that only Linux has.
func systemRemovers() map[string]journal.Remover {
	return map[string]journal.Remover{
		kindGroup: removeGroup, kindLink: removeLink, kindNamespace: removeNamespace,
	}
}

// checkIsolated tries everything that isolated hosts need, in a namespace that ends with the check.
func checkIsolated() error {
	if os.Geteuid() != 0 {
		return errors.New("root is required")
	}
	if _, err := findHierarchies(); err != nil {
		return err
	}
	var err error
	process.OnThread(func() {
		if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
			err = fmt.Errorf("cannot create a network namespace: %w", err)
			return
		}
		err = tryNetwork()
	})
	return err
}

// tryNetwork makes one interface, limit and rule of each kind in the namespace of the calling thread.
func tryNetwork() error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = bridgeName
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}); err != nil {
		return fmt.Errorf("cannot create a bridge (kernel module bridge): %w", err)
	}
	attrs.Name = hostLink
	veth := netlink.NewVeth(attrs)
	veth.PeerName = "peer"
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("cannot create a pair of virtual Ethernet devices (kernel module veth): %w", err)
	}
	handle, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer handle.Close()
	if err := shape(handle, hostLink, 1<<20); err != nil {
		return fmt.Errorf("cannot limit a link (kernel module sch_tbf): %w", err)
	}
	c, err := nftables.New()
	if err != nil {
		return err
	}
	table := c.AddTable(&nftables.Table{Family: nftables.TableFamilyIPv4, Name: cutTable})
	in := c.AddChain(&nftables.Chain{Name: "in", Table: table, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookInput, Priority: nftables.ChainPriorityFilter})
	c.AddRule(&nftables.Rule{Table: table, Chain: in, Exprs: drop(expr.MetaKeyIIFNAME, sourceOffset, netip.Addr{})})
	if err := c.Flush(); err != nil {
		return fmt.Errorf("cannot create a firewall rule (kernel module nf_tables): %w", err)
	}
	return nil
}
