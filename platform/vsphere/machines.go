package vsphere

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// tagPrefix begins the name of a virtual machine that is found by a tag.
const tagPrefix = "tag:"

// find finds the virtual machine of a member: by the name, path or tag in the file, else by the host of its address.
func (c *client) find(ctx context.Context, m spec.PlatformMember) (*object.VirtualMachine, error) {
	finder := find.NewFinder(c.vim)
	var dc *object.Datacenter
	var err error
	if c.spec.Datacenter == "" {
		dc, err = finder.DefaultDatacenter(ctx)
	} else {
		dc, err = finder.Datacenter(ctx, c.spec.Datacenter)
	}
	var many *find.MultipleFoundError
	if errors.As(err, &many) {
		return nil, fmt.Errorf("vCenter %s has more than one datacenter. Set vsphere.datacenter", c.host())
	}
	if err != nil {
		return nil, c.explain(ctx, "find the datacenter", err)
	}
	finder.SetDatacenter(dc)
	switch {
	case strings.HasPrefix(m.VM, tagPrefix):
		return c.byTag(ctx, m, strings.TrimPrefix(m.VM, tagPrefix))
	case m.VM != "":
		vm, err := finder.VirtualMachine(ctx, m.VM)
		var none *find.NotFoundError
		if errors.As(err, &none) || errors.As(err, &many) {
			return nil, fmt.Errorf("member %s: %w. Write the inventory path of its virtual machine as vm: (list them with: govc find / -type m)", m.Name, err)
		}
		return vm, c.explain(ctx, "find the virtual machine of "+m.Name, err)
	}
	host, _, err := net.SplitHostPort(m.Address)
	if err != nil {
		return nil, err
	}
	index := object.NewSearchIndex(c.vim)
	var found object.Reference
	if net.ParseIP(host) != nil {
		found, err = index.FindByIp(ctx, dc, host, true)
	} else {
		found, err = index.FindByDnsName(ctx, dc, host, true)
	}
	if err != nil {
		return nil, c.explain(ctx, "find the virtual machine of "+m.Name, err)
	}
	vm, ok := found.(*object.VirtualMachine)
	if !ok {
		return nil, fmt.Errorf("member %s: no virtual machine reports the address %s (VMware Tools report it). Name it in the key vm", m.Name, host)
	}
	return vm, nil
}

// byTag finds the one virtual machine that has a tag.
func (c *client) byTag(ctx context.Context, m spec.PlatformMember, name string) (*object.VirtualMachine, error) {
	r := rest.NewClient(c.vim)
	if err := r.Login(ctx, c.user); err != nil {
		return nil, c.explain(ctx, "log in for tags", err)
	}
	defer func() { _ = r.Logout(ctx) }()
	category, tag, ok := strings.Cut(name, "/")
	if !ok {
		category, tag = "", name
	}
	manager := tags.NewManager(r)
	found, err := manager.GetTagForCategory(ctx, tag, category)
	if err != nil {
		return nil, c.explain(ctx, fmt.Sprintf("find the tag %q of member %s", name, m.Name), err)
	}
	attached, err := manager.ListAttachedObjects(ctx, found.ID)
	if err != nil {
		return nil, c.explain(ctx, "list the objects with the tag "+name, err)
	}
	var vms []types.ManagedObjectReference
	for _, o := range attached {
		if o.Reference().Type == "VirtualMachine" {
			vms = append(vms, o.Reference())
		}
	}
	if len(vms) != 1 {
		return nil, fmt.Errorf("member %s: %d virtual machines have the tag %s, not one. Use a tag of this member alone", m.Name, len(vms), name)
	}
	return object.NewVirtualMachine(c.vim, vms[0]), nil
}

// machine is a virtual machine and its host as they are now.
type machine struct {
	vm   *object.VirtualMachine
	host *object.HostSystem
	// Name is that of the virtual machine, Path its inventory path; Host and HostPath are those of its host.
	Name, Path, Host, HostPath string
	power                      types.VirtualMachinePowerState
	adapters                   []int32                       // keys of its network adapters that are connected
	returns                    bool                          // HA starts it elsewhere if its host fails
	vsan                       *types.ManagedObjectReference // the cluster, if it has vSAN
}

// look reads the state of a virtual machine.
func (c *client) look(ctx context.Context, vm *object.VirtualMachine) (machine, error) {
	m := machine{vm: vm}
	var v mo.VirtualMachine
	pc := property.DefaultCollector(c.vim)
	err := pc.RetrieveOne(ctx, vm.Reference(), []string{"name", "runtime.host", "runtime.powerState", "config.hardware.device"}, &v)
	if err != nil {
		return m, c.explain(ctx, "read the virtual machine", err)
	}
	m.Name, m.power = v.Name, v.Runtime.PowerState
	m.adapters = connected(v)
	if v.Runtime.Host == nil {
		return m, fmt.Errorf("the virtual machine %s is on no host. Does the user have the privilege System.View on its host?", v.Name)
	}
	m.host = object.NewHostSystem(c.vim, *v.Runtime.Host)
	var h mo.HostSystem
	if err := pc.RetrieveOne(ctx, *v.Runtime.Host, []string{"name", "parent"}, &h); err != nil {
		return m, c.explain(ctx, "read the host of "+v.Name, err)
	}
	m.Host = h.Name
	if m.Path, err = find.InventoryPath(ctx, c.vim, vm.Reference()); err == nil {
		m.HostPath, err = find.InventoryPath(ctx, c.vim, m.host.Reference())
	}
	if err != nil {
		return m, c.explain(ctx, "read the inventory path of "+v.Name, err)
	}
	if h.Parent != nil && h.Parent.Type == "ClusterComputeResource" {
		configured, err := object.NewClusterComputeResource(c.vim, *h.Parent).Configuration(ctx)
		if err != nil {
			return m, c.explain(ctx, "read the settings of the cluster", err)
		}
		m.returns = isTrue(configured.DasConfig.Enabled)
		if v := configured.VsanConfigInfo; v != nil && isTrue(v.Enabled) {
			m.vsan = h.Parent
		}
	}
	return m, nil
}

func isTrue(b *bool) bool { return b != nil && *b }

// connected are the keys of the network adapters of a virtual machine that are connected.
func connected(v mo.VirtualMachine) (keys []int32) {
	if v.Config == nil {
		return nil
	}
	list := object.VirtualDeviceList(v.Config.Hardware.Device)
	for _, d := range list.SelectByType((*types.VirtualEthernetCard)(nil)) {
		if b := d.GetVirtualDevice(); b.Connectable == nil || b.Connectable.Connected {
			keys = append(keys, b.Key)
		}
	}
	return keys
}
