package vsphere

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/event"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/shellword"
)

// effect is what an action does in vCenter, and where its effect is seen. Texts are commands of govc that do the same.
type effect struct {
	text, healText, view func(u undo) string
	inject               func(ctx context.Context, c *client, u undo) (string, error)
	// heal may be called when the fault is reverted already; nil for an action that does not last.
	heal func(ctx context.Context, c *client, u undo) (string, error)
	// seen reads the state, and what happened since the request.
	seen func(ctx context.Context, c *client, u undo, since time.Time) (string, bool, error)
}

var effects = map[string]effect{
	fault.VMPowerOff: {
		text:     func(u undo) string { return "govc vm.power -off " + shellword.Quote(u.VMPath) },
		healText: func(u undo) string { return "govc vm.power -on " + shellword.Quote(u.VMPath) },
		view:     viewOfVM,
		inject: func(ctx context.Context, c *client, u undo) (string, error) {
			t, err := object.NewVirtualMachine(c.vim, u.VM).PowerOff(ctx)
			return "", c.await(ctx, "power off "+u.VMPath, t, err)
		},
		heal: powerOn,
		seen: func(ctx context.Context, c *client, u undo, since time.Time) (string, bool, error) {
			v, err := c.readVM(ctx, u)
			return c.withEvents(ctx, "runtime.powerState is "+string(v.Runtime.PowerState), u.VM, since),
				v.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff, err
		},
	},
	fault.VMReset: {
		text: func(u undo) string { return "govc vm.power -reset " + shellword.Quote(u.VMPath) },
		view: func(u undo) string { return "govc events -n 10 " + shellword.Quote(u.VMPath) },
		inject: func(ctx context.Context, c *client, u undo) (string, error) {
			t, err := object.NewVirtualMachine(c.vim, u.VM).Reset(ctx)
			return "", c.await(ctx, "reset "+u.VMPath, t, err)
		},
		seen: func(ctx context.Context, c *client, u undo, since time.Time) (string, bool, error) {
			kinds, err := c.events(ctx, u.VM, since)
			return "events: " + strings.Join(kinds, ", "), slices.ContainsFunc(kinds, func(k string) bool {
				return k == "VmResettingEvent" || k == "VmPoweredOffEvent"
			}), err
		},
	},
	fault.VMCut: {
		text:     func(u undo) string { return adapterText("disconnect", u) },
		healText: func(u undo) string { return adapterText("connect", u) },
		view:     viewOfVM,
		inject: func(ctx context.Context, c *client, u undo) (string, error) {
			return "", c.setAdapters(ctx, u, false)
		},
		heal: func(ctx context.Context, c *client, u undo) (string, error) {
			return "", c.setAdapters(ctx, u, true)
		},
		seen: func(ctx context.Context, c *client, u undo, since time.Time) (string, bool, error) {
			v, err := c.readVM(ctx, u)
			left := connected(v)
			return c.withEvents(ctx, fmt.Sprintf("%d network adapters are connected", len(left)), u.VM, since), len(left) == 0, err
		},
	},
	fault.HostDisconnect: {
		text:     func(u undo) string { return "govc host.disconnect " + shellword.Quote(u.HostPath) },
		healText: func(u undo) string { return "govc host.reconnect " + shellword.Quote(u.HostPath) },
		view:     viewOfHost,
		inject: func(ctx context.Context, c *client, u undo) (string, error) {
			t, err := object.NewHostSystem(c.vim, u.Host).Disconnect(ctx)
			return "", c.await(ctx, "disconnect "+u.HostPath, t, err)
		},
		heal: reconnect,
		seen: func(ctx context.Context, c *client, u undo, since time.Time) (string, bool, error) {
			h, err := c.readHost(ctx, u)
			return c.withEvents(ctx, "runtime.connectionState is "+string(h.Runtime.ConnectionState), u.Host, since),
				h.Runtime.ConnectionState == types.HostSystemConnectionStateDisconnected, err
		},
	},
	fault.HostMaintenance: {
		text:     func(u undo) string { return "govc host.maintenance.enter -evacuate " + shellword.Quote(u.HostPath) },
		healText: func(u undo) string { return "govc host.maintenance.exit " + shellword.Quote(u.HostPath) },
		view:     viewOfHost,
		inject: func(ctx context.Context, c *client, u undo) (string, error) {
			t, err := object.NewHostSystem(c.vim, u.Host).EnterMaintenanceMode(ctx, seconds(ctx), true, nil)
			return "", c.await(ctx, "enter maintenance mode on "+u.HostPath, t, err)
		},
		heal: func(ctx context.Context, c *client, u undo) (string, error) {
			if h, err := c.readHost(ctx, u); err != nil || !h.Runtime.InMaintenanceMode {
				return "it is not in maintenance mode", err
			}
			t, err := object.NewHostSystem(c.vim, u.Host).ExitMaintenanceMode(ctx, seconds(ctx))
			return "", c.await(ctx, "exit maintenance mode on "+u.HostPath, t, err)
		},
		seen: func(ctx context.Context, c *client, u undo, since time.Time) (string, bool, error) {
			h, err := c.readHost(ctx, u)
			return c.withEvents(ctx, fmt.Sprintf("runtime.inMaintenanceMode is %v", h.Runtime.InMaintenanceMode), u.Host, since),
				h.Runtime.InMaintenanceMode, err
		},
	},
	fault.HostPowerOff: {
		text: func(u undo) string { return "govc host.shutdown -f " + shellword.Quote(u.HostPath) },
		healText: func(u undo) string {
			return "power on the host " + shellword.Quote(u.HostPath) + " by its management board"
		},
		view: viewOfHost,
		inject: func(ctx context.Context, c *client, u undo) (string, error) {
			res, err := methods.ShutdownHost_Task(ctx, c.vim, &types.ShutdownHost_Task{This: u.Host, Force: true})
			if err != nil {
				return "", c.explain(ctx, "shut down "+u.HostPath, err)
			}
			return "", c.await(ctx, "shut down "+u.HostPath, object.NewTask(c.vim, res.Returnval), nil)
		},
		heal: hostOn,
		seen: func(ctx context.Context, c *client, u undo, since time.Time) (string, bool, error) {
			h, err := c.readHost(ctx, u)
			return c.withEvents(ctx, fmt.Sprintf("runtime.connectionState is %s, runtime.powerState is %s", h.Runtime.ConnectionState,
				h.Runtime.PowerState), u.Host, since), err == nil && !isUp(h), err
		},
	},
}

func init() {
	heal := func(ctx context.Context, c *client, u undo) (string, error) {
		return "the disks are rebuilt now; see their compliance in the vSphere client", c.setPolicies(ctx, u.Disks)
	}
	effects[storagePolicy] = effect{healText: restorePolicies, heal: heal}
}

func viewOfVM(u undo) string   { return "govc vm.info -json " + shellword.Quote(u.VMPath) }
func viewOfHost(u undo) string { return "govc host.info -json " + shellword.Quote(u.HostPath) }

func isUp(h mo.HostSystem) bool {
	return h.Runtime.ConnectionState == types.HostSystemConnectionStateConnected &&
		h.Runtime.PowerState == types.HostSystemPowerStatePoweredOn
}

func adapterText(verb string, u undo) string {
	var list []string
	for _, key := range u.Adapters {
		list = append(list, fmt.Sprintf("govc device.%s -vm %s ethernet-%d", verb, shellword.Quote(u.VMPath), key-firstAdapter))
	}
	return strings.Join(list, " && ")
}

// firstAdapter is the key of the first network adapter of a virtual machine.
const firstAdapter = 4000

// seconds is what is left of the time limit of a step: vCenter ends its task then.
func seconds(ctx context.Context) int32 {
	if at, ok := ctx.Deadline(); ok {
		return max(1, int32(time.Until(at).Seconds()))
	}
	return 0
}

func (c *client) readVM(ctx context.Context, u undo) (v mo.VirtualMachine, err error) {
	err = property.DefaultCollector(c.vim).RetrieveOne(ctx, u.VM, []string{"runtime", "config.hardware.device"}, &v)
	return v, c.explain(ctx, "read the state of "+u.VMPath, err)
}

func (c *client) readHost(ctx context.Context, u undo) (h mo.HostSystem, err error) {
	err = property.DefaultCollector(c.vim).RetrieveOne(ctx, u.Host, []string{"runtime"}, &h)
	return h, c.explain(ctx, "read the state of "+u.HostPath, err)
}

// powerOn powers a virtual machine on, unless it is on.
func powerOn(ctx context.Context, c *client, u undo) (string, error) {
	if v, err := c.readVM(ctx, u); err != nil || v.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
		return "it is powered on", err
	}
	t, err := object.NewVirtualMachine(c.vim, u.VM).PowerOn(ctx)
	return "", c.await(ctx, "power on "+u.VMPath, t, err)
}

// reconnect connects a host, unless it is connected.
func reconnect(ctx context.Context, c *client, u undo) (string, error) {
	if h, err := c.readHost(ctx, u); err != nil || h.Runtime.ConnectionState == types.HostSystemConnectionStateConnected {
		return "it is connected", err
	}
	t, err := object.NewHostSystem(c.vim, u.Host).Reconnect(ctx, nil, nil)
	return "", c.await(ctx, "reconnect "+u.HostPath, t, err)
}

// hostOn powers a host on by the power management that vCenter has for it, unless it is on. vCenter has none for most
// hosts, so a person may have to do it.
func hostOn(ctx context.Context, c *client, u undo) (string, error) {
	if h, err := c.readHost(ctx, u); err != nil || isUp(h) {
		return "it is powered on", err
	}
	res, err := methods.PowerUpHostFromStandBy_Task(ctx, c.vim,
		&types.PowerUpHostFromStandBy_Task{This: u.Host, TimeoutSec: seconds(ctx)})
	var t *object.Task
	if err == nil {
		t = object.NewTask(c.vim, res.Returnval)
	}
	if err := c.await(ctx, "power on "+u.HostPath, t, err); err != nil {
		return "", fmt.Errorf("%w. Power it on by its management board, then run: plimsoll platform heal", err)
	}
	return "", nil
}

// setAdapters connects or disconnects the network adapters of a fault.
func (c *client) setAdapters(ctx context.Context, u undo, on bool) error {
	verb := "disconnect"
	if on {
		verb = "connect"
	}
	what := verb + " the network adapters of " + u.VMPath
	v, err := c.readVM(ctx, u)
	if err != nil {
		return err
	}
	var changes []types.BaseVirtualDeviceConfigSpec
	for _, d := range v.Config.Hardware.Device {
		b := d.GetVirtualDevice()
		if !slices.Contains(u.Adapters, b.Key) {
			continue
		}
		if b.Connectable == nil {
			b.Connectable = &types.VirtualDeviceConnectInfo{AllowGuestControl: true, StartConnected: true}
		}
		b.Connectable.Connected = on
		changes = append(changes, &types.VirtualDeviceConfigSpec{Device: d,
			Operation: types.VirtualDeviceConfigSpecOperationEdit})
	}
	t, err := object.NewVirtualMachine(c.vim, u.VM).Reconfigure(ctx, types.VirtualMachineConfigSpec{DeviceChange: changes})
	return c.await(ctx, what, t, err)
}

// events are the kinds of the events of an object since a time. The clock of vCenter may differ.
func (c *client) events(ctx context.Context, of types.ManagedObjectReference, since time.Time) (kinds []string,
	err error) {
	// The answer takes time, so that the begin is too early rather than too late.
	now, err := methods.GetCurrentTime(ctx, c.vim)
	if err != nil {
		return nil, c.explain(ctx, "read its clock", err)
	}
	begin := now.Add(-time.Since(since))
	list, err := event.NewManager(c.vim).QueryEvents(ctx, types.EventFilterSpec{
		Entity: &types.EventFilterSpecByEntity{Entity: of, Recursion: types.EventFilterSpecRecursionOptionSelf},
		Time:   &types.EventFilterSpecByTime{BeginTime: &begin},
	})
	for _, e := range list {
		kinds = append(kinds, strings.TrimPrefix(fmt.Sprintf("%T", e), "*types."))
	}
	return kinds, c.explain(ctx, "read the events", err)
}

// withEvents adds the events of an object to what its state says. Events that cannot be read are left out.
func (c *client) withEvents(ctx context.Context, state string, of types.ManagedObjectReference,
	since time.Time) string {
	kinds, err := c.events(ctx, of, since)
	if err != nil || len(kinds) == 0 {
		return state
	}
	return state + "; events: " + strings.Join(kinds, ", ")
}
