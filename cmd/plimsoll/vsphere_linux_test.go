package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/platform/vsphere/vspheretest"
	"github.com/plimsoll-bench/plimsoll/record"
)

// vCenter is a simulated vCenter whose virtual machines are the members of a deployment.
type vCenter struct{ *vspheretest.Center }

// newVCenter starts a vCenter, and writes its platform file.
func newVCenter(t *testing.T, o *deployed) vCenter {
	t.Helper()
	c := vspheretest.New(t)
	if err := os.WriteFile(filepath.Join(o.dir, "login"), []byte("plimsoll\ngeheim123\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("vsphere: {url: '%s', ca: '%s', credentials: login}\nmembers:\n", c.URL, c.CA)
	for i, name := range o.Names {
		text += fmt.Sprintf("  - {name: %s, address: '%s', vm: DC0_C0_RP0_VM%d}\n", name, o.Addresses[i], i)
	}
	if err := os.WriteFile(o.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return vCenter{c}
}

// power is the state of the machine of a member.
func (c vCenter) power(t *testing.T, member int) (state types.VirtualMachinePowerState) {
	vm := c.VM(t, fmt.Sprintf("DC0_C0_RP0_VM%d", member))
	c.Model.Service.Context.WithLock(vm, func() { state = vm.Runtime.PowerState })
	return state
}

// A drill says what it does to a virtual machine. One that is killed leaves its fault in the journal, from which it is
// reverted.
func TestVSphereKilled(t *testing.T) {
	t.Parallel()
	o := newOwn(t, enginetest.StandinMongo(t, "8.0.12"))
	c := newVCenter(t, o)
	args := o.drill("a", "--fault", "vm-power-off:db3", "--for", "30m", "--duration", "1h")
	code, out := o.run(t, args...)
	for _, want := range []string{"govc vm.power -off /DC0/vm/DC0_C0_RP0_VM2", "govc vm.power -on ", "role secondary", "--yes-break-it"} {
		if code != exitUsage || !strings.Contains(out, want) {
			t.Errorf("exit code %d, the plan lacks %q:\n%s", code, want, out)
		}
	}
	var text bytes.Buffer
	cmd := o.command(t, append(args, "--yes-break-it")...)
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	waitFor(t, "the machine is off", func() bool { return c.power(t, 2) == types.VirtualMachinePowerStatePoweredOff })
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
	if got := c.power(t, 2); got != types.VirtualMachinePowerStatePoweredOn {
		t.Errorf("the machine is %s", got)
	}
	o.keepsPassword(t)
}

// keepsPassword checks that neither the record a nor the home of Plimsoll has the password of the vCenter.
func (o *deployed) keepsPassword(t *testing.T) {
	t.Helper()
	if grep := exec.Command("grep", "-rl", "geheim123", filepath.Join(o.dir, "a"), o.home); grep.Run() == nil {
		t.Error("the password is in a record or in the journal")
	}
}

// A virtual machine is reset under load, with the member that is the primary. Another member takes over, the reset
// needs no heal, and the record has the machines.
func TestVSphereReset(t *testing.T) {
	t.Parallel()
	o := newOwn(t, enginetest.StandinMongo(t, "8.0.12"))
	c := newVCenter(t, o)
	var booted sync.WaitGroup
	reset := func(_ http.ResponseWriter, _ *http.Request, body string) bool {
		if !strings.Contains(body, "ResetVM_Task") {
			return false
		}
		for i, name := range o.Names {
			if !strings.Contains(body, ">"+c.VM(t, fmt.Sprintf("DC0_C0_RP0_VM%d", i)).Self.Value+"<") {
				continue
			}
			_ = exec.Command(o.Script, "kill", name).Run() // the drill shows whether it ended
			booted.Go(func() {                             // its guest is slower than an election
				o.awaitPrimary(t, o.Addresses[i])
				_ = exec.Command(o.Script, "start", name).Run() // as before
			})
		}
		return false
	}
	c.Gate.Store(&reset)
	t.Cleanup(booted.Wait)
	d := o.survived(t, "a", o.drill("a", "--fault", "vm-reset:primary", "--duration", "14s", "--yes-break-it")...)
	f := d.Rounds[0].Faults[0]
	if !f.Hit || f.Mode != fault.BlackHole ||
		!strings.Contains(f.Evidence, "VmPoweredOffEvent") || !strings.Contains(f.Evidence, "own connection") {
		t.Errorf("%+v", f)
	}
	if v := d.Rounds[0].VSphere; v == nil || len(v.Machines) != 3 || len(v.Clusters) != 1 || !f.Commands[0].Request {
		t.Errorf("the record has %+v, %+v", v, f.Commands)
	}
	o.keepsPassword(t)
	steps := ""
	for _, c := range f.Commands {
		steps += " " + c.Step
	}
	if !strings.HasPrefix(steps, " inject witness") || strings.Contains(steps, "heal") {
		t.Errorf("the requests were%s", steps)
	}
	if code, out := o.run(t, "platform", "status"); code != exitSuccess || !strings.Contains(out, "no fault is in the journal") {
		t.Errorf("status: exit code %d\n%s", code, out)
	}
}

// awaitPrimary waits until a member other than the one with an address is the primary.
func (o *deployed) awaitPrimary(t *testing.T, not string) {
	client, err := mongo.Connect(options.Client().ApplyURI(o.URI))
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = client.Disconnect(context.Background()) }() // the server ends with the test
	for limit := time.Now().Add(5 * time.Minute); time.Now().Before(limit); time.Sleep(20 * time.Millisecond) {
		var hello struct{ Me string }
		err := client.Database("admin").RunCommand(context.Background(), bson.D{{Key: "hello", Value: 1}}).Decode(&hello)
		if err == nil && hello.Me != not {
			return
		}
	}
	t.Error("no other member became the primary")
}

// A study varies the storage policy of the disks. It needs a yes. Each trial begins when the disks comply, and at the
// end they have what they had.
func TestVSphereStudy(t *testing.T) {
	t.Parallel()
	o := newOwn(t, enginetest.StandinMongo(t, "8.0.12"))
	c := newVCenter(t, o)
	array := c.AddArray()
	before := array.Policies()
	file := filepath.Join(o.dir, "study.yaml")
	text := fmt.Sprintf(`name: policies
platform: platform.yaml
run:
  target: '%s'
  storage_policy: %s
  workload: {name: a, records: 100}
  load: {workers: 2, rate: 200, warmup: 0s, duration: 2s}
factors: [{name: policy, path: storage_policy, levels: [%[2]s, %s]}]
trials: 2
canary: -1
order: batched
batch: [policy]
`, o.URI, vspheretest.Standard, vspheretest.Other)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out := o.run(t, "study", "plan", file)
	if code != exitSuccess || !strings.Contains(out, "is set 2 times") {
		t.Errorf("plan: exit code %d\n%s", code, out)
	}
	dir := filepath.Join(o.dir, "study")
	code, out = o.run(t, "study", "run", file, "--quiet", "--out", dir)
	if code != exitUsage || !strings.Contains(out, "nothing was done") || !strings.Contains(out, "--yes-break-it") || array.Changed() > 0 {
		t.Errorf("without a yes: exit code %d, %d changes\n%s", code, array.Changed(), out)
	}
	code, out = o.run(t, "study", "run", file, "--quiet", "--out", dir, "--yes-break-it")
	s, err := record.OpenStudy(dir)
	if err != nil {
		t.Fatalf("exit code %d, %v\n%s", code, err, out)
	}
	changes := 0
	for _, trial := range s.Trials {
		if trial.Status != record.TrialDone || trial.Storage == nil || trial.Storage.Disks != 3 ||
			trial.Storage.Compliance != "compliant" {
			t.Errorf("exit code %d: %+v\n%s", code, trial, out)
		} else if trial.Storage.Changed > 0 && trial.Storage.Resync != nil && trial.Storage.Resync.Bytes > 0 {
			changes++
		}
	}
	if len(s.Trials) != 4 || changes == 0 || s.VSphere == nil || len(s.VSphere.Machines) != 3 {
		t.Errorf("%d trials, %d rebuilds, facts %+v\n%s", len(s.Trials), changes, s.VSphere, out)
	}
	if got := array.Policies(); !maps.Equal(got, before) {
		t.Errorf("the disks have %v, want %v", got, before)
	}
	if _, page := o.run(t, "show", dir, "--verbose"); !strings.Contains(page, vspheretest.Other) || !strings.Contains(page, "until compliance") {
		t.Errorf("the result lacks the policies:\n%s", page)
	}
	if code, out := o.run(t, "platform", "status"); code != exitSuccess || !strings.Contains(out, "no fault is in the journal") {
		t.Errorf("status: exit code %d\n%s", code, out)
	}
}
