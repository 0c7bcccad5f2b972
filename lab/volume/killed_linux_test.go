package volume

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// killedPolicies are those of the makers that are killed.
var killedPolicies = map[string]spec.Storage{
	"mirror": {Size: small, Tolerate: 1},
	"faults": {Size: small, Tolerate: 1, Faults: true},
	"disk":   {Size: small, Filesystem: "ext4"},
}

// playMaker makes, breaks, repairs and removes volumes until it is killed.
func playMaker(dir, policy string) error {
	ctx := context.Background()
	j, err := journal.Open(dir)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	p := killedPolicies[policy]
	l, err := Plan(p, Detect())
	if err != nil {
		return err
	}
	for {
		m, err := NewMaker(MakerOptions{Lab: "killed", Dir: dir, Journal: j, Policy: p, Layout: l, Faultfs: []string{self, "faultfs"}})
		if err != nil {
			return err
		}
		for _, name := range []string{"v1", "v2"} {
			v, err := m.Make(ctx, name, "m", []string{"h1", "h2", "h3"})
			if err == nil {
				err = os.WriteFile(filepath.Join(v.Dir(), "f"), noise(1<<20, 1), 0o600)
			}
			if err != nil {
				return err
			}
		}
		if err := m.Power(ctx, "h1", false); err != nil {
			return err
		}
		if p.Tolerate > 0 {
			for _, v := range m.all() {
				if _, err := v.Repair(ctx); err != nil {
					return err
				}
			}
		}
		if err := m.Close(ctx); err != nil {
			return err
		}
	}
}

// A maker is killed at random points; what it had made is removed by another process from the journal alone.
func TestKilledMakerLeavesNothing(t *testing.T) {
	if !canMount(t) {
		return
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range 12 {
		policy := []string{"mirror", "faults", "disk"}[i%3]
		dir := t.TempDir()
		entries, late := 1+r.IntN(60), time.Duration(r.IntN(20))*time.Millisecond
		killMaker(t, dir, policy, entries, late)
		j := openJournal(t, dir)
		left := len(j.Live())
		if err := j.Clean(context.Background(), Removers()); err != nil {
			t.Errorf("%s, killed %v after entry %d: %v", policy, late, entries, err)
		}
		t.Logf("%s, killed %v after entry %d: %d things were left", policy, late, entries, left)
		if live := j.Live(); len(live) > 0 {
			t.Errorf("still in the journal: %v", live)
		}
		nothingLeft(t, dir)
		if t.Failed() {
			return
		}
	}
}

// killMaker starts a maker and kills it a moment after it wrote so many lines into its journal.
func killMaker(t *testing.T, dir, policy string, entries int, late time.Duration) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	var out strings.Builder
	cmd := exec.Command(self, dir, policy)
	cmd.Env = append(os.Environ(), playVariable+"=maker")
	cmd.Stderr = &out
	// Its children, such as mkfs, are killed with it by the kernel.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(t, cmd.Start())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	deadline := time.Now().Add(10 * time.Minute)
	for strings.Count(content(filepath.Join(dir, journal.FileName)), "\n") < entries && time.Now().Before(deadline) {
		select {
		case <-ended:
			t.Fatalf("the maker ended by itself: %s", out.String())
		case <-time.After(time.Millisecond):
		}
	}
	time.Sleep(late)
	must(t, cmd.Process.Kill())
	<-ended
}

// Two labs work side by side, and each removes its own.
func TestTwoMakersAtOnce(t *testing.T) {
	if !canMount(t) {
		return
	}
	ctx := context.Background()
	a, b := newBench(t, spec.Storage{Size: small, Tolerate: 1}), newBench(t, spec.Storage{Size: small, Tolerate: 1})
	var group sync.WaitGroup
	for _, x := range []*bench{a, b} {
		for i := range 2 {
			group.Go(func() {
				v, err := x.Make(ctx, fmt.Sprintf("v%d", i), "m", []string{"h1", "h2"})
				if err != nil {
					t.Error(err)
					return
				}
				if err := os.WriteFile(filepath.Join(v.Dir(), "f"), []byte(x.o.Lab+v.Name()), 0o600); err != nil {
					t.Error(err)
				}
			})
		}
	}
	group.Wait()
	must(t, a.Close(ctx))
	if len(b.all()) != 2 {
		t.Fatalf("the other lab has %d volumes", len(b.all()))
	}
	for _, v := range b.all() {
		must(t, v.Remount(ctx))
		if got := content(filepath.Join(v.Dir(), "f")); got != b.o.Lab+v.Name() {
			t.Errorf("volume %s of the other lab holds %q", v.Name(), got)
		}
	}
}

// What looks like ours and is not survives: a loop device of a file with a similar name, a file in the place of ours,
// a mount in the place of ours.
func TestForeignThingsAreLeftAlone(t *testing.T) {
	if !canMount(t) {
		return
	}
	ctx := context.Background()
	b := newBench(t, spec.Storage{Size: small, Filesystem: "ext4"})
	v := b.volume(t)
	ours := v.Describe(ctx, false).Disks[0].File
	foreign := backing{path: ours + ".old", mark: "somebody else"}
	must(t, os.WriteFile(foreign.path, make([]byte, 1<<20), 0o600))
	fi, err := os.Stat(foreign.path)
	must(t, err)
	foreign.id = fileID(fi)
	device, err := attachLoop(ctx, foreign)
	must(t, err)
	t.Cleanup(func() {
		if err := detachLoop(ctx, foreign); err != nil {
			t.Error(err)
		}
	})
	// The same file by the same name, but attached by somebody else: the mark is not ours.
	second := backing{path: ours, id: b.made["v1"].(*blocks).disks[0].backing.id, mark: "somebody else"}
	other, err := attachLoop(ctx, second)
	must(t, err)
	must(t, v.Close(ctx))
	if backingFile(device) != foreign.path {
		t.Errorf("%s, which is not ours, was detached", device)
	}
	if backingFile(other) != ours {
		t.Errorf("%s, which somebody else attached, was detached", other)
	}
	must(t, detachLoop(ctx, second))
	if err := b.Close(ctx); err == nil {
		t.Error("the directory was removed with the file of somebody else")
	}
	if content(foreign.path) == "" {
		t.Error("the file of somebody else is gone")
	}
	must(t, detachLoop(ctx, foreign))
	removeInPlace(t, foreign.path)
	must(t, os.Remove(foreign.path))
	must(t, b.Close(ctx))
}

// removeInPlace asks for the removal of a file that is not the one that was written down.
func removeInPlace(t *testing.T, path string) {
	t.Helper()
	r := journal.Resource{Kind: kindFile, Name: path, Details: map[string]string{"file": "1:1"}}
	if err := removeFile(context.Background(), r); err == nil || !exists(path) {
		t.Errorf("another file with the name of ours was removed: %v", err)
	}
	mount := journal.Resource{Kind: kindMount, Name: "/proc", Details: map[string]string{"below": "/nowhere", "top": "/dev/loop0"}}
	if err := removeMount(context.Background(), mount); err == nil {
		t.Error("a mount of somebody else was taken for ours")
	}
}
