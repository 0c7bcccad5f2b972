package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	_ "github.com/vmware/govmomi/pbm/simulator"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/record"
)

// newVCenter is a simulated vCenter whose virtual machines are the members of a deployment, with a platform file. power
// is the state of the machine of a member.
func newVCenter(t *testing.T, o *own) (power func(member int) types.VirtualMachinePowerState) {
	t.Helper()
	m := simulator.VPX()
	m.Host, m.ClusterHost, m.Machine = 0, 3, 3
	if err := m.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Remove)
	m.Service.TLS = new(tls.Config)
	m.Service.RegisterEndpoints = true
	server := m.Service.NewServer()
	t.Cleanup(server.Close)
	ca, err := server.CertificateFile()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.dir, "login"), []byte("plimsoll\ngeheim123\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("vsphere: {url: 'https://%s', ca: '%s', credentials: login}\nmembers:\n", server.URL.Host, ca)
	for i, name := range o.Names {
		text += fmt.Sprintf("  - {name: %s, address: '%s', vm: DC0_C0_RP0_VM%d}\n", name, o.Addresses[i], i)
	}
	if err := os.WriteFile(o.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(member int) (state types.VirtualMachinePowerState) {
		for _, e := range m.Map().All("VirtualMachine") {
			if vm, ok := e.(*simulator.VirtualMachine); ok && vm.Name == fmt.Sprintf("DC0_C0_RP0_VM%d", member) {
				m.Service.Context.WithLock(vm, func() { state = vm.Runtime.PowerState })
			}
		}
		return state
	}
}

// A virtual machine of a vCenter is powered off under load. The drill ends with a verdict, and its record has the
// machines. A drill that is killed leaves the fault in the journal, from which it is reverted.
func TestVSphereDrill(t *testing.T) {
	t.Parallel()
	o := newOwn(t, enginetest.StandinMongo(t, "8.0.12"))
	power := newVCenter(t, o)
	o.follow(t, power)
	plan := []string{"--fault", "vm-power-off:db3", "--for", "4s", "--duration", "14s"}
	code, out := o.run(t, o.drill("a", plan...)...)
	for _, want := range []string{"govc vm.power -off /DC0/vm/DC0_C0_RP0_VM2", "govc vm.power -on ", "role secondary", "--yes-break-it"} {
		if code != exitUsage || !strings.Contains(out, want) {
			t.Errorf("exit code %d, the plan lacks %q:\n%s", code, want, out)
		}
	}
	code, out = o.run(t, o.drill("a", append(plan, "--yes-break-it")...)...)
	d, err := record.OpenDrill(filepath.Join(o.dir, "a"))
	if err != nil {
		t.Fatalf("exit code %d, %v\n%s", code, err, out)
	}
	if f := d.Rounds[0].Faults[0]; code != exitSuccess || d.Verdict != record.Holds || !f.Hit || len(f.Commands) < 3 ||
		!f.Commands[0].Request {
		t.Errorf("exit code %d, %s: %q, %+v\n%s", code, d.Verdict, d.Reasons, f, out)
	}
	if v := d.Rounds[0].VSphere; v == nil || len(v.Machines) != 3 || len(v.Clusters) != 1 {
		t.Errorf("the record has %+v", v)
	}
	var text bytes.Buffer
	cmd := o.command(t, o.drill("b", "--fault", "vm-power-off:db3", "--duration", "1h", "--yes-break-it")...)
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	waitFor(t, "the machine is off", func() bool { return power(2) == types.VirtualMachinePowerStatePoweredOff })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if code, out := o.run(t, "platform", "status"); code != exitSuccess || !strings.Contains(out, "heal: govc vm.power -on") {
		t.Errorf("status: exit code %d\n%s", code, out)
	}
	if code, out := o.run(t, "platform", "heal"); code != exitSuccess || !strings.Contains(out, "vm-power-off:db3 on db3: reverted") {
		t.Errorf("heal: exit code %d\n%s", code, out)
	}
	if got := power(2); got != types.VirtualMachinePowerStatePoweredOn {
		t.Errorf("the machine is %s", got)
	}
	if grep := exec.Command("grep", "-rl", "geheim123", filepath.Join(o.dir, "a"), o.home); grep.Run() == nil {
		t.Error("the password is in a record or in the journal")
	}
}

// follow pauses and resumes the last member as its virtual machine is powered off and on.
func (o *own) follow(t *testing.T, power func(int) types.VirtualMachinePowerState) {
	stop, done := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() {
		close(stop)
		<-done
	})
	last := len(o.Names) - 1
	go func() {
		defer close(done)
		verb := "resume"
		for {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
			now := "resume"
			if power(last) == types.VirtualMachinePowerStatePoweredOff {
				now = "pause"
			}
			if now != verb {
				_ = exec.Command(o.Script, now, o.Names[last]).Run() // the member ends with the test
				verb = now
			}
		}
	}()
}
