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

// systemRemovers are those of what only Linux has.
func systemRemovers() map[string]journal.Remover {
	return map[string]journal.Remover{
		kindGroup: removeGroup, kindLink: removeLink, kindNamespace: removeNamespace,
	}
}

// checkIsolated tries what isolated hosts need, in a namespace that ends with the trial.
func checkIsolated() error {
	if os.Geteuid() != 0 {
		return errors.New("they need root")
	}
	if _, err := findHierarchies(); err != nil {
		return err
	}
	var err error
	process.OnThread(func() {
		if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
			err = fmt.Errorf("the kernel makes no network namespace: %w", err)
			return
		}
		err = tryNetwork()
	})
	return err
}

// tryNetwork makes one of each thing in the calling thread's namespace.
func tryNetwork() error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = bridgeName
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}); err != nil {
		return fmt.Errorf("the kernel has no bridges (module bridge): %w", err)
	}
	attrs.Name = hostLink
	veth := netlink.NewVeth(attrs)
	veth.PeerName = "peer"
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("the kernel has no pairs of virtual Ethernet devices (module veth): %w", err)
	}
	handle, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer handle.Close()
	if err := shape(handle, hostLink, 1<<20); err != nil {
		return fmt.Errorf("the kernel has no token bucket (module sch_tbf): %w", err)
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
		return fmt.Errorf("the kernel has no nftables (module nf_tables): %w", err)
	}
	return nil
}
