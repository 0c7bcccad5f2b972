package platform

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// bench is a lab with a little load on it, so that faults have something to hit.
type bench struct {
	h    *lab.Handle
	home string
	done map[string]bool // actions that were seen to hit and to heal
}

// insert writes one document, and says whether that was acknowledged.
func insert(ctx context.Context, uri string, id int) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	c, err := mongo.Connect(options.Client().ApplyURI(uri).SetServerSelectionTimeout(5 * time.Second).SetTimeout(
		10 * time.Second))
	if err != nil {
		return err
	}
	defer func() {
		cancel() // so that nobody waits for a server that was killed
		_ = c.Disconnect(ctx)
	}()
	_, err = c.Database("faults").Collection("a").InsertOne(ctx, bson.M{"_id": id})
	return err
}

// load writes until the test ends; that some of it fails is what faults are for.
func (b *bench) load(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	t.Cleanup(func() { stop(); all.Wait() })
	all.Go(func() {
		for id := 0; ctx.Err() == nil; id++ {
			uri, err := b.h.Addresses(ctx)
			if err == nil {
				_ = insert(ctx, uri["durable"], id)
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
}

// silent returns where the processes of members wait that do not answer, and the ends of their logs.
func silent(l record.Lab) string {
	var b strings.Builder
	for _, m := range l.Members {
		if m.Problem == "" {
			continue
		}
		for _, pid := range m.PIDs {
			for _, file := range []string{"stat", "stack"} {
				text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
				fmt.Fprintf(&b, "%s of process %d: %v\n%s\n", file, pid, err, text)
			}
		}
		for _, log := range m.Logs {
			b.WriteString(process.LogTail(log))
		}
	}
	return b.String()
}

// until looks again and again until something holds.
func (b *bench) until(t *testing.T, what string, holds func(record.Lab) bool) record.Lab {
	t.Helper()
	for limit := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		l, err := b.h.Describe(t.Context(), true)
		if err == nil && holds(l) {
			return l
		}
		if time.Now().After(limit) {
			t.Fatalf("waited in vain until %s: %v\n%+v\n%+v\n%+v\n%s", what, err, l.Faults, l.Members, l.Volumes, silent(l))
		}
	}
}

// whole says that nothing is broken, and everything runs.
func whole(l record.Lab) bool {
	primary := false
	for _, m := range l.Members {
		primary = primary || m.Role == "primary" || m.Role == "standalone"
		if m.State != "running" || m.Problem != "" {
			return false
		}
	}
	for _, v := range l.Volumes {
		if v.Health == "failed" {
			return false
		}
	}
	return primary && len(l.Faults) == 0
}

// injector prepares a fault.
func (b *bench) injector(t *testing.T, s spec.Fault) Injector {
	t.Helper()
	i, err := OfLab(b.h).Fault(s, 5*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// breaks injects a fault, sees that it hit, and heals it. meanwhile makes what it hits happen, and may be nil.
func (b *bench) breaks(t *testing.T, s spec.Fault, mode, evidence string, meanwhile func(Injection)) Injection {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	i := b.injector(t, s)
	if _, err := i.Verify(ctx); !errors.Is(err, errNotDone) {
		t.Errorf("before it was done: %v", err)
	}
	done, err := i.Inject(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if done.Effective.Before(done.Requested) || done.Target == "" || done.Mode != mode {
		t.Errorf("the injection is %+v, want mode %q", done, mode)
	}
	if (done.ID != 0) != fault.Find(s.Action.Name).Lasts {
		t.Errorf("a fault that lasts has a number, and no other: %+v", done)
	}
	if meanwhile != nil {
		meanwhile(done)
	}
	proof, err := i.Verify(ctx)
	if err != nil || !proof.Hit || !strings.Contains(proof.Evidence, evidence) {
		t.Errorf("hit %v: %q, %v; want %q", proof.Hit, proof.Evidence, err, evidence)
	}
	t.Logf("%s on %s: %s", s.Action, done.Target, proof.Evidence)
	for range 2 { // healing what is healed succeeds
		if _, err := i.Heal(ctx); err != nil {
			t.Fatalf("heal: %v", err)
		}
	}
	b.until(t, "everything is whole after "+s.Action.String(), whole)
	b.done[s.Action.Name] = true
	return done
}

// run runs a program on the host of a disk.
func (b *bench) run(t *testing.T, host string, command ...string) {
	t.Helper()
	var out strings.Builder
	if _, err := b.h.Exec(t.Context(), lab.ExecRequest{Host: host, Command: command}, &out); err != nil {
		t.Errorf("%v: %v\n%s", command, err, out.String())
	}
}

// Every fault of a lab is shown to fire by something other than the injector, and to heal.
func TestFaultsHitAndHeal(t *testing.T) {
	asked := spec.Lab{Name: fmt.Sprintf("faults-%d", os.Getpid())}
	asked.Hosts.Mode = "isolated"
	asked.Storage = spec.Storage{Size: 512 << 20, Filesystem: "ext4", Faults: true}
	asked.Topology = spec.Topology{Kind: spec.LabReplicaSet, Members: 2, Election: "elect-fast"}
	b := &bench{done: map[string]bool{}}
	if b.h, b.home = upLab(t, asked); b.h == nil {
		return
	}
	b.load(t)
	b.until(t, "the lab is whole", whole)
	faultOf := func(text string) spec.Fault { return spec.Fault{Action: spec.ParseAction(text)} }
	t.Run("kill", func(t *testing.T) { b.breaks(t, faultOf("kill:secondary"), fault.Crash, "ended", nil) })
	t.Run("kill-patroni", func(t *testing.T) {
		b.breaks(t, faultOf("kill-patroni:secondary"), fault.Crash, "runs without Patroni", nil)
	})
	t.Run("stop", func(t *testing.T) { b.breaks(t, faultOf("stop:gateway"), fault.Planned, "ended", nil) })
	t.Run("pause a member", func(t *testing.T) { b.breaks(t, faultOf("pause:secondary"), fault.BlackHole, "", nil) })
	t.Run("pause a host", func(t *testing.T) { b.breaks(t, faultOf("pause:gateway1"), fault.BlackHole, "", nil) })
	t.Run("step-down", func(t *testing.T) {
		b.breaks(t, faultOf("step-down:primary"), fault.Planned, "is the primary after", nil)
	})
	t.Run("cut", func(t *testing.T) { b.breaks(t, faultOf("cut:secondary"), fault.BlackHole, "hangs", nil) })
	t.Run("cut a pair in one direction", func(t *testing.T) {
		b.breaks(t, spec.Fault{Action: spec.ParseAction("cut:primary"), From: "secondary", Direction: "out"}, fault.BlackHole, "dropped", nil)
	})
	t.Run("slow", func(t *testing.T) {
		b.breaks(t, spec.Fault{Action: spec.ParseAction("slow:primary"), Rate: 20_000}, fault.Late, "delayed packets", nil)
	})
	t.Run("throttle", func(t *testing.T) {
		b.breaks(t, spec.Fault{Action: spec.ParseAction("throttle:primary"), Cores: 0.2}, fault.Late, "the quota of", func(done Injection) {
			b.run(t, done.Target, "sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")
		})
	})
	t.Run("power-off", func(t *testing.T) { b.breaks(t, faultOf("power-off:secondary"), fault.BlackHole, "hangs", nil) })
	t.Run("power-loss", func(t *testing.T) {
		b.breaks(t, spec.Fault{Action: spec.ParseAction("power-loss:primary"), Keep: 0.5, Seed: 3}, fault.BlackHole, "discarded", nil)
	})
	testDiskFaults(t, b)
	for _, name := range fault.Names() {
		if fault.Find(name).Planned() {
			continue // e2e has planned events
		}
		if part := flag.Lookup("test.run").Value.String(); !b.done[name] && !t.Failed() && !strings.Contains(part, "/") {
			t.Errorf("nothing shows that %s fires and heals", name)
		}
	}
	testInjectorThatIsKilled(t, b)
}

func testDiskFaults(t *testing.T, b *bench) {
	for _, c := range []struct {
		spec spec.Fault
		mode string
	}{
		{spec.Fault{Action: spec.ParseAction("disk-slow:primary"), Delay: spec.Duration(50 * time.Millisecond),
			Ops: []string{"flush"}}, fault.Late},
		{spec.Fault{Action: spec.ParseAction("disk-lie:primary")}, fault.Storage},
		{spec.Fault{Action: spec.ParseAction("disk-hang:primary")}, fault.Storage},
		{spec.Fault{Action: spec.ParseAction("disk-full:secondary")}, fault.Storage},
		{spec.Fault{Action: spec.ParseAction("disk-error:primary"), Errno: "EIO", Ops: []string{"flush"}}, fault.Storage},
		{spec.Fault{Action: spec.ParseAction("disk-fail:secondary")}, fault.Storage},
	} {
		t.Run(c.spec.Action.String(), func(t *testing.T) { b.breaks(t, c.spec, c.mode, "the fault affected", nil) })
	}
	t.Run("disk-corrupt", func(t *testing.T) {
		l := b.until(t, "the lab is whole", whole)
		disk := l.Volumes[0].Disks[0]
		// Hardly any block is damaged, because what the server itself reads then stays in the page cache and is never whole.
		b.breaks(t, spec.Fault{Action: spec.ParseAction("disk-corrupt:" + l.Volumes[0].Name + "/" + disk.Name), Seed: 1,
			Probability: 0.01}, fault.Storage, "the fault affected", func(Injection) {
			b.run(t, disk.Host, "dd", "if="+disk.File, "of=/dev/null", "bs=4096", "count=2048", "iflag=direct")
		})
	})
	t.Run("disk-torn", func(t *testing.T) {
		b.breaks(t, spec.Fault{Action: spec.ParseAction("disk-torn:secondary"), Probability: 0.01, Seed: 2}, fault.Storage, "the fault affected", nil)
	})
}

// A fault heals at its limit although the process that injected it was killed.
func testInjectorThatIsKilled(t *testing.T, b *bench) {
	for _, what := range [][]string{{"kill:secondary", "disk-slow:primary"}, {"pause:primary"}, {"cut:primary", "disk-lie:secondary"}, {"power-loss:secondary"},
		{"disk-hang:primary"}, {"stop:gateway", "disk-full:secondary"}, {"power-off:secondary"}} {
		t.Run("killed during "+strings.Join(what, " and "), func(t *testing.T) {
			b.until(t, "the lab is whole", whole)
			injectAndDie(t, b, what...)
			l, err := b.h.Describe(t.Context(), false)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range l.Faults {
				if f.Until == nil {
					t.Errorf("nobody heals %+v", f)
				}
			}
			b.until(t, "the fault has healed by itself", whole)
		})
	}
}

func injectAndDie(t *testing.T, b *bench, what ...string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{"inject-and-wait", b.home, b.h.Name()}, what...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_ = cmd.Process.Kill() // SIGKILL
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
	if err != nil || line != "injected\n" {
		t.Fatalf("the injector said %q: %v", line, err)
	}
}
