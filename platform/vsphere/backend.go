package vsphere

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Kind is the kind of this platform in journals.
const Kind = "vsphere"

// Backend is a [platform.Backend] of the virtual machines of a vCenter.
type Backend struct {
	Healer
	client   *client
	replaced map[string]spec.Commands          // actions that the user has commands for
	vms      map[string]*object.VirtualMachine // by the names of the members

	mu    sync.Mutex
	hosts map[string]string // of the members, when they were last looked at
}

// Open connects to the vCenter of a platform file, and finds the virtual machine of each member. Nothing is changed.
// getenv reads the environment, for the credentials.
func Open(ctx context.Context, file spec.Platform, getenv func(string) string) (*Backend, error) {
	if err := permit.Check(ctx, permit.Dial, "vCenter"); err != nil {
		return nil, err
	}
	s, err := absolute(*file.VSphere)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout.Std())
	defer cancel()
	c, err := connect(ctx, s, getenv)
	if err != nil {
		return nil, err
	}
	b := &Backend{Healer: Healer{getenv}, client: c, replaced: file.Actions, hosts: map[string]string{},
		vms: map[string]*object.VirtualMachine{}}
	owner := map[types.ManagedObjectReference]string{}
	for _, m := range file.Members {
		vm, err := c.find(ctx, m)
		if err == nil {
			_, err = b.look(ctx, m.Name, vm)
		}
		if err == nil && owner[vm.Reference()] != "" {
			err = fmt.Errorf("members %s and %s are the same virtual machine. Name that of each in its key vm", owner[vm.Reference()], m.Name)
		}
		if err != nil {
			c.close(ctx)
			return nil, err
		}
		b.vms[m.Name], owner[vm.Reference()] = vm, m.Name
	}
	return b, nil
}

var _ platform.Describer = (*Backend)(nil)

// look reads the state of the virtual machine of a member, and keeps its host.
func (b *Backend) look(ctx context.Context, member string, vm *object.VirtualMachine) (machine, error) {
	m, err := b.client.look(ctx, vm)
	if err != nil {
		return m, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hosts[member] = m.Host
	return m, nil
}

func (b *Backend) Kind() string { return Kind }

// What the user has no commands for.
func (b *Backend) Actions() []*fault.Action {
	return slices.DeleteFunc(platform.ActionsOf(fault.VSphere), func(a *fault.Action) bool {
		_, own := b.replaced[a.Name]
		return own
	})
}

// The host of the virtual machine.
func (b *Backend) Machine(m spec.PlatformMember) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.hosts[m.Name]
}

func (b *Backend) Learn(k *redact.Known) {
	password, _ := b.client.user.Password()
	k.Add(password)
}

func (b *Backend) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	b.client.close(ctx)
	return nil
}

// closeWithin bounds the end of a session. Tests shorten it.
var closeWithin = 5 * time.Second

// undo is what the journal has of a fault. It has no credentials.
type undo struct {
	VSphere  spec.VSphere                 `json:"vsphere"`
	Action   string                       `json:"action"`
	VM       types.ManagedObjectReference `json:"vm"`
	Host     types.ManagedObjectReference `json:"host"`
	VMPath   string                       `json:"vm_path"`
	HostPath string                       `json:"host_path"`
	// Adapters are the keys of the network adapters that the fault disconnects.
	Adapters []int32 `json:"adapters,omitempty"`
	// Disks are the disks whose storage policy a study changes, with the policies that they had.
	Disks []diskPolicy `json:"disks,omitempty"`
}

func (b *Backend) Steps(ctx context.Context, f spec.Fault, member *spec.PlatformMember) (platform.Steps, error) {
	limit := b.client.spec.Timeout.Std()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := b.client.ready(ctx); err != nil {
		return platform.Steps{}, err
	}
	m, err := b.look(ctx, member.Name, b.vms[member.Name])
	if err != nil {
		return platform.Steps{}, err
	}
	a := fault.Find(f.Action.Name)
	if m.power != types.VirtualMachinePowerStatePoweredOn && a.On == fault.Member {
		return platform.Steps{}, fmt.Errorf("the virtual machine %s is %s. Power it on first", m.Name, m.power)
	}
	if a.Name == fault.VMCut && len(m.adapters) == 0 {
		return platform.Steps{}, fmt.Errorf("the virtual machine %s has no connected network adapter", m.Name)
	}
	u := undo{VSphere: b.client.spec, Action: a.Name, VM: m.vm.Reference(), Host: m.host.Reference(), VMPath: m.Path,
		HostPath: m.HostPath, Adapters: m.adapters}
	e := effects[a.Name]
	since := time.Now()
	s := platform.Steps{Mode: a.Mode, Timeout: limit, Returns: a.On == fault.Host && m.returns || !a.Lasts,
		Inject: platform.Request("the request to vCenter", e.text(u), func(ctx context.Context) (string, error) {
			since = time.Now()
			return e.inject(ctx, b.client, u)
		}),
		Witness: platform.Request("vCenter's own view", e.view(u), func(ctx context.Context) (string, error) {
			text, seen, err := e.seen(ctx, b.client, u, since)
			if err == nil && !seen {
				err = platform.NotYet(text)
			}
			return text, err
		})}
	if a.On == fault.Host {
		s.Target = m.Host
	}
	if a.Lasts {
		s.Undo = u
	}
	return s, nil
}

// Healer heals faults of journals.
type Healer struct {
	// Getenv reads the environment, for the credentials.
	Getenv func(string) string
}

// Heal opens a session of its own, because the process that injected the fault may have ended.
func (h Healer) Heal(text json.RawMessage, hide func(string) string) (platform.Step, error) {
	var u undo
	if err := json.Unmarshal(text, &u); err != nil {
		return platform.Step{}, fmt.Errorf("the fault cannot be read: %w", err)
	}
	e, ok := effects[u.Action]
	if !ok || e.heal == nil {
		return platform.Step{}, fmt.Errorf("this plimsoll cannot heal %s. Use the plimsoll that injected it", u.Action)
	}
	return platform.Request("the request to vCenter", hide(e.healText(u)), func(ctx context.Context) (string, error) {
		c, err := connect(ctx, u.VSphere, h.Getenv)
		if err != nil {
			return "", err
		}
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
			defer cancel()
			c.close(ctx)
		}()
		return e.heal(ctx, c, u)
	}), nil
}

// absolute makes the names of the files absolute: the process that heals may run in another directory.
func absolute(s spec.VSphere) (spec.VSphere, error) {
	for _, f := range []*string{&s.CA, &s.Credentials} {
		if *f == "" {
			continue
		}
		var err error
		if *f, err = filepath.Abs(*f); err != nil {
			return s, err
		}
	}
	return s, nil
}
