package volume

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func TestDirectoryVolume(t *testing.T) {
	ctx := context.Background()
	for _, elsewhere := range []bool{false, true} {
		t.Run(fmt.Sprint("elsewhere ", elsewhere), func(t *testing.T) {
			var p spec.Storage
			if elsewhere {
				p.Dir = t.TempDir()
			}
			b := newBench(t, p)
			v := b.volume(t)
			if elsewhere != strings.HasPrefix(v.Dir(), p.Dir+"/plimsoll-") && elsewhere {
				t.Errorf("the directory is %s", v.Dir())
			}
			fill(t, filepath.Join(v.Dir(), "f"), 1000, 1)
			d := health(t, v, "healthy")
			if d.Capacity == 0 || len(d.Disks) != 0 || d.Policy != "directory" {
				t.Errorf("described as %+v", d)
			}
			if err := v.FailDisk(ctx, "d1"); !errors.Is(err, errNoDisks) {
				t.Errorf("got %v", err)
			}
			if _, err := b.Make(ctx, "v1", "m2", []string{"h1"}); err == nil {
				t.Error("there are two volumes of one name")
			}
			must(t, b.Power(ctx, "h1", false))
			if _, err := b.Make(ctx, "v2", "m2", []string{"h1"}); err == nil {
				t.Error("a volume was made on a host without power")
			}
			must(t, b.Close(ctx))
			if elsewhere {
				nothingLeft(t, p.Dir)
			}
		})
	}
}

func TestDisksElsewhere(t *testing.T) {
	if !canMount(t) {
		return
	}
	p := spec.Storage{Size: small, Tolerate: 1, Dir: t.TempDir()}
	b := newBench(t, p)
	v := b.volume(t)
	d := health(t, v, "healthy")
	if !within(d.Disks[0].File, p.Dir) || !within(v.Dir(), b.dir) {
		t.Errorf("disk %s, mount %s", d.Disks[0].File, v.Dir())
	}
	must(t, b.Close(context.Background()))
	nothingLeft(t, p.Dir)
}

// What cannot fit is refused before anything is made, with the numbers.
func TestFreeSpaceIsCheckedBefore(t *testing.T) {
	if !canMount(t) {
		return
	}
	b := newBench(t, spec.Storage{Size: 1 << 49, Tolerate: 1})
	_, err := b.Make(context.Background(), "v1", "m", []string{"h1"})
	if err == nil || !strings.Contains(err.Error(), "PiB") || !strings.Contains(err.Error(), "free") {
		t.Errorf("got %v, want a refusal with the numbers", err)
	}
}

// Disks of a class are as slow as the class, and a volume on them works.
func TestDeviceClassAndCache(t *testing.T) {
	if !canMount(t) {
		return
	}
	class := faultfs.Classes()[0].Name
	b := newBench(t, spec.Storage{Size: small, Filesystem: "ext4", Device: class,
		Cache: &spec.CacheTier{Device: class, Size: 8 << 20}})
	v := b.volume(t)
	sum := fill(t, filepath.Join(v.Dir(), "f"), 1<<20, 1)
	client, name, err := b.FaultDisk("v1", "d1")
	must(t, err)
	s, err := client.Stats(context.Background(), name)
	must(t, err)
	if s.WriteBytes < 1<<20 {
		t.Errorf("the disk says that %d bytes were written", s.WriteBytes)
	}
	if _, _, err := b.FaultDisk("v1", "d9"); err == nil || !strings.Contains(err.Error(), "d1") {
		t.Errorf("got %v, want the names of the disks", err)
	}
	dropCaches(t, v)
	verify(t, filepath.Join(v.Dir(), "f"), sum)
}

// A disk loses power with what was not flushed; after that the volume holds what was.
func TestPowerCutAndRemount(t *testing.T) {
	if !canMount(t) {
		return
	}
	ctx := context.Background()
	for _, fs := range []string{"xfs", "ext4", "btrfs"} {
		t.Run(fs, func(t *testing.T) {
			b := newBench(t, spec.Storage{Size: small, Filesystem: fs, Faults: true})
			v := b.volume(t)
			sum := fill(t, filepath.Join(v.Dir(), "f"), 4<<20, 1)
			must(t, os.WriteFile(filepath.Join(v.Dir(), "g"), noise(1<<20, 2), 0o600))
			client, name, err := b.FaultDisk("v1", "d1")
			must(t, err)
			must(t, client.Cut(ctx, name, faultfs.PowerCut{}))
			if f, err := os.Create(filepath.Join(v.Dir(), "h")); err == nil {
				_, err = f.Write(noise(1<<20, 3))
				if err = errors.Join(err, f.Sync()); err == nil {
					t.Error("writes to a disk without power succeed")
				}
				f.Close()
			}
			must(t, v.Remount(ctx))
			verify(t, filepath.Join(v.Dir(), "f"), sum)
			health(t, v, "healthy")
		})
	}
}

// Without checksums a disk that comes back is not read before it was replaced: nobody could tell what is old on it.
func TestOldDiskWithoutChecksumsIsNotRead(t *testing.T) {
	if !canMount(t) {
		return
	}
	ctx := context.Background()
	b := newBench(t, spec.Storage{Size: small, Tolerate: 1, Checksum: yes(false)})
	v := b.volume(t)
	path := filepath.Join(v.Dir(), "f")
	fill(t, path, 8<<20, 1)
	must(t, b.Power(ctx, "h2", false))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	_, err = f.Write(noise(8<<20, 2)) // in place
	must(t, err)
	must(t, f.Sync())
	must(t, f.Close())
	must(t, b.Power(ctx, "h2", true))
	if d := health(t, v, "degraded"); d.Disks[1].State != "missing" {
		t.Errorf("the disks are %s", states(d))
	}
	want := noise(8<<20, 2)
	for range 8 {
		uncache(t, path)
		if got, err := os.ReadFile(path); err != nil || string(got) != string(want) {
			t.Fatalf("old data were read: %v", err)
		}
	}
	_, err = v.Repair(ctx)
	must(t, err)
	must(t, v.FailDisk(ctx, "d1"))
	must(t, v.Remount(ctx))
	if got, err := os.ReadFile(path); err != nil || string(got) != string(want) {
		t.Errorf("the new disk has other data: %v", err)
	}
}

// uncache makes the kernel read a file from its disks again.
func uncache(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	must(t, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
}

func TestDisksAreSpreadOverHosts(t *testing.T) {
	if !canMount(t) {
		return
	}
	b := newBench(t, spec.Storage{Size: small, Stripe: 2, Tolerate: 1})
	v := b.volume(t, "h1", "h2", "h3")
	on := map[string]int{}
	for _, d := range v.Describe(context.Background(), false).Disks {
		on[d.Host]++
	}
	if want := map[string]int{"h1": 2, "h2": 1, "h3": 1}; !maps.Equal(on, want) {
		t.Errorf("the disks are on %v, want %v", on, want)
	}
	if len(v.Devices()) != 4 {
		t.Errorf("the volume has %v", v.Devices())
	}
	if err := v.FailDisk(context.Background(), "d7"); err == nil || !strings.Contains(err.Error(), "d1, d2, d3, d4") {
		t.Errorf("got %v, want the names of the disks", err)
	}
}

func TestLVMGroupIsRemoved(t *testing.T) {
	s := newStandIns(t)
	r := journal.Resource{Kind: kindLVM, Name: "plimsoll-x-v1", Details: map[string]string{"devices": "/dev/loop0 /dev/loop7", "tools": s.dir}}
	must(t, removeLVMGroup(context.Background(), r))
	expect(t, s.said(t), "vgs --noheadings --options vg_name", "vgremove --yes --quiet --force plimsoll-x-v1")
	if c := content(filepath.Join(s.dir, "config")); !strings.Contains(c, "loop7") || !strings.Contains(c, `"r|.*|"`) {
		t.Errorf("LVM was allowed to see %s", c)
	}
	r.Name = "plimsoll-gone"
	must(t, removeLVMGroup(context.Background(), r))
	expect(t, s.said(t), "vgs --noheadings --options vg_name")
	must(t, removeMD(context.Background(), journal.Resource{Name: "plimsoll-gone"}))
}

// A host loses power: what was flushed is there afterwards, what was not is gone, and what the kernel still had in
// memory never reaches the disks.
func TestHostLosesPower(t *testing.T) {
	if !canMount(t) {
		return
	}
	ctx := context.Background()
	for _, fs := range []string{"xfs", "ext4", "btrfs"} {
		t.Run(fs, func(t *testing.T) {
			b := newBench(t, spec.Storage{Size: small, Filesystem: fs, Faults: true})
			v := b.volume(t)
			sum := fill(t, filepath.Join(v.Dir(), "flushed"), 4<<20, 1)
			must(t, os.WriteFile(filepath.Join(v.Dir(), "dirty"), noise(1<<20, 2), 0o600))
			killed := false
			kill := func() error {
				killed = true
				client, name, err := b.FaultDisk("v1", "d1")
				if err != nil {
					return err
				}
				stats, err := client.Stats(ctx, name)
				if err == nil && (len(stats.Faults) == 0 || stats.Unflushed > 0) {
					err = fmt.Errorf("the disk has power while its users are killed: %+v", stats)
				}
				return err
			}
			must(t, b.LosePower(ctx, "h1", []string{"v1"}, faultfs.PowerCut{}, kill))
			if !killed || strings.Contains(content("/proc/self/mountinfo"), v.Dir()) {
				t.Errorf("users killed: %v; the filesystem must be gone", killed)
			}
			must(t, b.Power(ctx, "h1", true))
			must(t, v.Remount(ctx))
			verify(t, filepath.Join(v.Dir(), "flushed"), sum)
			if data, err := os.ReadFile(filepath.Join(v.Dir(), "dirty")); err == nil && bytes.Equal(data, noise(1<<20, 2)) {
				t.Error("what was not flushed survived a loss of power")
			}
			health(t, v, "healthy")
		})
	}
}

// A mirror over two hosts: the filesystem stood in the memory of the host that lost power, so the disk on the other one
// gets nothing of what was dirty, and has all that was flushed.
func TestHostOfAMirrorLosesPower(t *testing.T) {
	if !canMount(t) {
		return
	}
	ctx := context.Background()
	b := newBench(t, spec.Storage{Size: small, Backend: Btrfs, Tolerate: 1, Faults: true})
	v := b.volume(t, "h1", "h2")
	sum := fill(t, filepath.Join(v.Dir(), "flushed"), 4<<20, 1)
	must(t, os.WriteFile(filepath.Join(v.Dir(), "dirty"), noise(1<<20, 2), 0o600))
	must(t, b.LosePower(ctx, "h1", []string{"v1"}, faultfs.PowerCut{}, func() error { return nil }))
	must(t, v.Remount(ctx)) // on another host, with the disk that answers
	verify(t, filepath.Join(v.Dir(), "flushed"), sum)
	if data, err := os.ReadFile(filepath.Join(v.Dir(), "dirty")); err == nil && bytes.Equal(data, noise(1<<20, 2)) {
		t.Error("what was not flushed survived a loss of power")
	}
	must(t, b.Power(ctx, "h1", true))
	_, err := v.Repair(ctx)
	must(t, err)
	health(t, v, "healthy")
}
