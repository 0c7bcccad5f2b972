package vsphere

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/platform/command"
	"github.com/plimsoll-bench/plimsoll/platform/vsphere/vspheretest"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store/null"
)

// patience bounds what a test waits for. The machine may be busy.
const patience = time.Minute

// A session whose end is not answered ends anyway, so a busy machine does not matter.
func TestMain(m *testing.M) {
	closeWithin = 200 * time.Millisecond
	os.Exit(m.Run())
}

// env is the environment.
func env(name string) string {
	return map[string]string{envUser: "plimsoll", envPassword: "geheim123"}[name]
}

// center is a simulated vCenter with a platform file.
type center struct {
	*vspheretest.Center
	file    spec.Platform
	backend *Backend
}

func newCenter(t *testing.T, addresses ...string) *center {
	t.Helper()
	c := &center{Center: vspheretest.New(t)}
	c.file.VSphere = &spec.VSphere{URL: c.URL, CA: c.CA, Timeout: spec.Duration(patience),
		Rebuild: spec.Duration(patience)}
	for i, address := range addresses {
		c.file.Members = append(c.file.Members, spec.PlatformMember{Name: fmt.Sprintf("db%d", i+1), Address: address,
			VM: fmt.Sprintf("DC0_C0_RP0_VM%d", i)})
	}
	return c
}

func (c *center) open(t *testing.T) *Backend {
	t.Helper()
	b, err := Open(t.Context(), c.file, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// newMember is a server that answers hello.
func newMember(t *testing.T) *null.Responder {
	t.Helper()
	s, err := null.Listen(null.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// cutter forwards each connection to a member as long as the state of its machine is what it was.
func cutter(t *testing.T, to string, state func() string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go forward(in, to, state)
		}
	}()
	return l.Addr().String()
}

// forward copies both ways until the state is another one, or says that the machine is down.
func forward(in net.Conn, to string, state func() string) {
	defer in.Close()
	before := state()
	out, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer out.Close()
	go func() {
		_, _ = io.Copy(in, out) // it ends with the connection
		_ = in.Close()
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := in.Read(buffer)
		if now := state(); err != nil || now == "" || now != before {
			return
		}
		if _, err := out.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// deployment is a deployment of one member on the first virtual machine, which answers while the machine is on, its
// adapters are connected and its host runs.
func (c *center) deployment(t *testing.T) (*platform.Deployment, string) {
	t.Helper()
	server := newMember(t)
	vm := c.VM(t, "DC0_C0_RP0_VM0")
	ctx := c.Model.Service.Context
	state := func() (state string) {
		host := c.Model.Map().Get(*vm.Runtime.Host)
		ctx.WithLock(host, func() {
			if h, ok := host.(*powerHost); ok && h.Runtime.PowerState != types.HostSystemPowerStatePoweredOn {
				state = "its host is down"
			}
		})
		ctx.WithLock(vm, func() {
			on := vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn
			if !on || len(connected(vm.VirtualMachine)) == 0 || state != "" {
				state = ""
				return
			}
			state = fmt.Sprint(vm.Runtime.BootTime)
		})
		return state
	}
	u, err := url.Parse(server.URI())
	if err != nil {
		t.Fatal(err)
	}
	address := cutter(t, u.Host, state)
	c.file.Members = []spec.PlatformMember{{Name: "db1", Address: address, VM: vm.Name}}
	journals := filepath.Join(t.TempDir(), "journals")
	c.backend = c.open(t)
	d, err := command.New(command.Options{URI: "mongodb://" + address, File: c.file, API: c.backend, Journals: journals})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d, journals
}

// Each action has its effect, which vCenter's own view shows, and the member's connection where it breaks. It is
// reverted by what the journal has.
func TestActions(t *testing.T) {
	c := newCenter(t)
	host := c.Model.Map().Get(*c.VM(t, "DC0_C0_RP0_VM0").Runtime.Host).(*simulator.HostSystem)
	d, journals := c.deployment(t)
	for _, a := range d.Actions() {
		if a.Name == fault.VMReset {
			c.reset(t)
			continue
		}
		if a.Name == fault.HostPowerOff { // the last: the simulator wants its own hosts for virtual machines
			c.Model.Map().Put(&powerHost{host})
		}
		f := spec.Fault{Action: spec.Action{Name: a.Name, Target: "db1"}}
		plans, err := d.Plan(t.Context(), f)
		if err != nil || len(plans) != 1 || plans[0].Inject == "" || plans[0].Witness == "" ||
			(plans[0].Heal != "") != a.Lasts {
			t.Errorf("%s: the plan is %+v, %v", a.Name, plans, err)
		}
		i, err := d.Fault(f, 0)
		if err != nil {
			t.Fatal(err)
		}
		known, err := i.Inject(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", a.Name, err)
		}
		left, err := platform.Left(journals)
		if err != nil || (len(left) == 1) != a.Lasts {
			t.Errorf("%s: the journal has %+v, %v", a.Name, left, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		known, err = i.Verify(ctx)
		cancel()
		if err != nil || !known.Hit {
			t.Errorf("%s: %+v, %v", a.Name, known, err)
		}
		t.Log(known.Evidence)
		if known, err = i.Heal(t.Context()); err != nil || known.Healed.IsZero() {
			t.Fatalf("%s is not healed: %+v, %v", a.Name, known, err)
		}
		if left, err := platform.Left(journals); err != nil || len(left) > 0 {
			t.Errorf("%s: the journal has %+v, %v", a.Name, left, err)
		}
	}
}

// reset resets the virtual machine. The simulator does so faster than a connection notices.
func (c *center) reset(t *testing.T) {
	t.Helper()
	f := spec.Fault{Action: spec.Action{Name: fault.VMReset, Target: "db1"}}
	s, err := c.backend.Steps(t.Context(), f, &c.file.Members[0])
	if err != nil || s.Undo != nil {
		t.Fatalf("%+v, %v", s, err)
	}
	if did, err := s.Inject.Run(t.Context()); err != nil {
		t.Fatalf("%+v, %v", did, err)
	}
	if saw, err := s.Witness.Run(t.Context()); err != nil || saw.Exit != 0 || !strings.Contains(saw.Output, "VmPoweredOffEvent") {
		t.Errorf("the witness says %+v, %v", saw, err)
	}
}

// powerHost is a host that shuts down and wakes up, which the simulator lacks.
type powerHost struct{ *simulator.HostSystem }

func (h *powerHost) set(ctx *simulator.Context, name string, state types.HostSystemConnectionState,
	power types.HostSystemPowerState) types.ManagedObjectReference {
	return simulator.CreateTask(h.HostSystem, name, func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		h.Runtime.ConnectionState, h.Runtime.PowerState = state, power
		return nil, nil
	}).Run(ctx)
}

func (h *powerHost) ShutdownHostTask(ctx *simulator.Context, _ *types.ShutdownHost_Task) soap.HasFault {
	return &methods.ShutdownHost_TaskBody{Res: &types.ShutdownHost_TaskResponse{Returnval: h.set(ctx, "shutdownHost",
		types.HostSystemConnectionStateNotResponding, types.HostSystemPowerStateUnknown)}}
}

func (h *powerHost) PowerUpHostFromStandByTask(ctx *simulator.Context,
	_ *types.PowerUpHostFromStandBy_Task) soap.HasFault {
	task := h.set(ctx, "powerUpHost", types.HostSystemConnectionStateConnected, types.HostSystemPowerStatePoweredOn)
	return &methods.PowerUpHostFromStandBy_TaskBody{Res: &types.PowerUpHostFromStandBy_TaskResponse{Returnval: task}}
}

// The record has the machines with their disks, hosts, datastores and clusters. What cannot be read is named.
func TestFacts(t *testing.T) {
	c := newCenter(t, "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3")
	b := c.open(t)
	f := b.Facts(t.Context())
	if len(f.Machines) != 3 || f.Machines[1].Member != "db2" || f.Machines[1].Host == "" || len(f.Machines[1].Disks) != 1 ||
		f.Machines[1].Disks[0].Bytes == 0 || f.Machines[1].Disks[0].Datastore == "" {
		t.Errorf("the machines are %+v", f.Machines)
	}
	if len(f.Hosts) == 0 || f.Hosts[0].Cores == 0 || f.Hosts[0].Memory == 0 || len(f.Datastores) != 1 ||
		f.Datastores[0].Capacity == 0 {
		t.Errorf("the hosts are %+v, the datastores %+v", f.Hosts, f.Datastores)
	}
	if len(f.Clusters) != 1 || f.Clusters[0].Name != "DC0_C0" || !f.Clusters[0].DRS || !strings.Contains(f.Version, "vCenter") {
		t.Errorf("the clusters of %q are %+v", f.Version, f.Clusters)
	}
	if len(f.Problems) != 1 || !strings.Contains(f.Problems[0], "the compliance of disks") {
		t.Errorf("the problems are %q", f.Problems) // the simulator has no compliance
	}
}

// A process that ended has left its fault in the journal. Another one heals it with a session of its own.
func TestHealAfterTheEnd(t *testing.T) {
	c := newCenter(t)
	d, journals := c.deployment(t)
	i, err := d.Fault(spec.Fault{Action: spec.Action{Name: fault.VMPowerOff, Target: "db1"}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.Inject(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err == nil || !strings.Contains(err.Error(), "plimsoll platform heal") {
		t.Errorf("the end says %v", err)
	}
	var said []string
	healers := platform.Healers{Kind: Healer{env}}
	err = platform.HealAll(t.Context(), journals, healers, func(text string) { said = append(said, text) })
	if err != nil || len(said) != 2 || !strings.Contains(said[0], "govc vm.power -on /DC0/vm/DC0_C0_RP0_VM0") {
		t.Errorf("%q, %v", said, err)
	}
	if got := c.VM(t, "DC0_C0_RP0_VM0").Runtime.PowerState; got != types.VirtualMachinePowerStatePoweredOn {
		t.Errorf("it is %s", got)
	}
}

// Whatever vCenter does wrong is an error of one sentence with the next step, and nothing stays broken.
func TestFailures(t *testing.T) {
	t.Parallel()
	is := func(call string) func(string) bool {
		return func(body string) bool { return strings.Contains(body, "<"+call+" ") }
	}
	for _, k := range []struct {
		name string
		call string
		gate func(w http.ResponseWriter, r *http.Request)
		want []string
	}{
		{"a closed connection", "PowerOffVM_Task", func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = conn.Close()
			}
		}, []string{"cannot power off /DC0/vm/DC0_C0_RP0_VM0", "Is it reachable?"}},
		{"no answer", "PowerOffVM_Task", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			[]string{"it did not answer in time", "raise vsphere.timeout"}},
		{"not SOAP", "PowerOffVM_Task", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>sign in</html>") },
			[]string{"cannot power off", "Is it reachable?"}},
		{"an error of the server", "PowerOffVM_Task", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
			[]string{"502"}},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			c := newCenter(t)
			if k.name == "no answer" {
				c.file.VSphere.Timeout = spec.Duration(10 * time.Second) // the others have answers, on a busy machine too
			}
			d, journals := c.deployment(t)
			match := is(k.call)
			gate := func(w http.ResponseWriter, r *http.Request, body string) bool {
				if match(body) {
					k.gate(w, r)
					return true
				}
				return false
			}
			c.Gate.Store(&gate)
			refused(t, d, journals, k.want)
		})
	}
	for name, k := range map[string]struct {
		fault types.BaseMethodFault
		want  string
	}{
		"no privilege":   {&types.NoPermission{PrivilegeId: "VirtualMachine.Interact.PowerOff"}, "lacks the privilege VirtualMachine.Interact.PowerOff"},
		"a wrong state":  {&types.InvalidState{}, "See the recent tasks"},
		"an old session": {&types.NotAuthenticated{}, "the session has ended"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCenter(t)
			d, journals := c.deployment(t)
			c.Model.Service.AddFaultRule(&simulator.FaultInjectionRule{MethodName: "PowerOffVM_Task", ObjectType: "*", ObjectName: "*",
				Probability: 1, FaultType: simulator.FaultTypeCustom, Fault: k.fault, Message: "injected", Enabled: true})
			refused(t, d, journals, []string{k.want})
		})
	}
}

// refused injects a power off that fails, after which nothing is left.
func refused(t *testing.T, d *platform.Deployment, journals string, want []string) {
	t.Helper()
	i, err := d.Fault(spec.Fault{Action: spec.Action{Name: fault.VMPowerOff, Target: "db1"}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	known, err := i.Inject(t.Context())
	if err == nil || known.Injected() {
		t.Fatalf("it was injected: %+v", known)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error %q lacks %q", err, w)
		}
	}
	if strings.ContainsAny(err.Error(), "\n\r") || strings.Contains(err.Error(), "geheim123") {
		t.Errorf("the error is %q", err)
	}
	if left, err := platform.Left(journals); err != nil || len(left) > 0 {
		t.Errorf("the journal has %+v, %v", left, err)
	}
}

// A late answer is waited for.
func TestLate(t *testing.T) {
	c := newCenter(t)
	d, _ := c.deployment(t)
	var waited atomic.Bool
	gate := func(_ http.ResponseWriter, _ *http.Request, body string) bool {
		if strings.Contains(body, "<PowerOffVM_Task ") {
			time.Sleep(300 * time.Millisecond)
			waited.Store(true)
		}
		return false
	}
	c.Gate.Store(&gate)
	i, err := d.Fault(spec.Fault{Action: spec.Action{Name: fault.VMPowerOff, Target: "db1"}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if known, err := i.Inject(t.Context()); err != nil || !waited.Load() || known.Mode != fault.BlackHole {
		t.Errorf("%+v, %v", known, err)
	}
	if _, err := i.Heal(t.Context()); err != nil {
		t.Error(err)
	}
}

// What is wrong when a platform is opened is said with the next step.
func TestOpenErrors(t *testing.T) {
	c := newCenter(t, "127.0.0.1:1")
	for name, k := range map[string]struct {
		change func(f *spec.Platform)
		want   string
	}{
		"an unknown authority":   {func(f *spec.Platform) { f.VSphere.CA = "" }, "set vsphere.ca"},
		"no file of the CA":      {func(f *spec.Platform) { f.VSphere.CA = "/no/such" }, "vsphere.ca: "},
		"nothing there":          {func(f *spec.Platform) { f.VSphere.URL = "https://127.0.0.1:1/sdk" }, "Check vsphere.url"},
		"no virtual machine":     {func(f *spec.Platform) { f.Members[0].VM = "nope" }, "govc find / -type m"},
		"no such address":        {func(f *spec.Platform) { f.Members[0].VM = "" }, "no virtual machine reports the address 127.0.0.1"},
		"no such tag":            {func(f *spec.Platform) { f.Members[0].VM = "tag:nope" }, `find the tag "nope"`},
		"no such datacenter":     {func(f *spec.Platform) { f.VSphere.Datacenter = "nope" }, "find the datacenter"},
		"no file of credentials": {func(f *spec.Platform) { f.VSphere.Credentials = "/no/such" }, "cannot read the credentials"},
		"one machine twice": {func(f *spec.Platform) {
			f.Members = append(f.Members, spec.PlatformMember{Name: "db2", Address: "127.0.0.1:2", VM: f.Members[0].VM})
		}, "are the same virtual machine"},
	} {
		t.Run(name, func(t *testing.T) {
			f := c.file
			s := *f.VSphere
			f.VSphere, f.Members = &s, append([]spec.PlatformMember(nil), f.Members...)
			k.change(&f)
			_, err := Open(t.Context(), f, env)
			if err == nil || !strings.Contains(err.Error(), k.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q", err, k.want)
			}
		})
	}
	none := func(string) string { return "" }
	if _, err := Open(t.Context(), c.file, none); err == nil || !strings.Contains(err.Error(), "Set VSPHERE_USER and VSPHERE_PASSWORD") {
		t.Errorf("without credentials: %v", err)
	}
}

// A member is found by the address that its guest reports, and by its tag.
func TestFind(t *testing.T) {
	c := newCenter(t, "10.0.0.7:27017", "127.0.0.1:2")
	vm := c.VM(t, "DC0_C0_RP0_VM1")
	c.Model.Service.Context.WithLock(vm, func() { vm.Guest.IpAddress = "10.0.0.7" })
	c.file.Members[0].VM = ""
	c.file.Members[1].VM = "DC0_C0_RP0_VM0"
	b := c.open(t)
	if got := b.vms["db1"].Reference(); got != vm.Reference() {
		t.Errorf("the address found %v", got)
	}
	var known redact.Known
	b.Learn(&known)
	if got := known.Hide("x geheim123 y"); strings.Contains(got, "geheim123") {
		t.Errorf("the password is in %q", got)
	}
}
