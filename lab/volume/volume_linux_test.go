package volume

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/spec"
)

const small = 256 << 20 // the smallest that there is

// Each policy becomes a real volume that holds what it promises to hold.
func TestPoliciesBecomeVolumes(t *testing.T) {
	if !canMount(t) {
		return
	}
	for _, c := range []struct {
		name string
		p    spec.Storage
	}{
		{"one disk, xfs", spec.Storage{Size: small}},
		{"one disk, ext4", spec.Storage{Size: small, Filesystem: "ext4"}},
		{"one disk, btrfs", spec.Storage{Size: small, Filesystem: "btrfs"}},
		{"one disk, checksums", spec.Storage{Size: small, Checksum: yes(true)}},
		{"striped", spec.Storage{Size: small, Stripe: 3}},
		{"mirrored", spec.Storage{Size: small, Tolerate: 1}},
		{"three copies", spec.Storage{Size: small, Tolerate: 2}},
		{"four copies", spec.Storage{Size: small, Tolerate: 3}},
		{"striped mirrors", spec.Storage{Size: small, Stripe: 2, Tolerate: 1}},
		{"mirrored without checksums", spec.Storage{Size: small, Tolerate: 1, Checksum: yes(false)}},
		{"parity", spec.Storage{Size: small, Stripe: 2, Tolerate: 1, Redundancy: "parity", Backend: "btrfs"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, c.p)
			v := b.volume(t)
			sum := fill(t, filepath.Join(v.Dir(), "f"), 8<<20, 1)
			d := health(t, v, "healthy")
			if got := len(v.Devices()); got != d.Layout.Disks || len(d.Disks) != got {
				t.Errorf("%d devices and %d disks, the layout has %d", got, len(d.Disks), d.Layout.Disks)
			}
			if want := min(4, d.Layout.Disks); len(hostsOf(d)) != want {
				t.Errorf("the disks are on %v, want %d hosts", hostsOf(d), want)
			}
			must(t, v.Remount(context.Background()))
			verify(t, filepath.Join(v.Dir(), "f"), sum)
			health(t, v, "healthy")
		})
	}
}

// The mount of a policy without checksums must have none, and that of others must have them.
func TestChecksumsAreOnOrOff(t *testing.T) {
	if !canMount(t) {
		return
	}
	for _, on := range []bool{true, false} {
		t.Run(fmt.Sprint(on), func(t *testing.T) {
			b := newBench(t, spec.Storage{Size: small, Tolerate: 1, Checksum: &on})
			v := b.volume(t)
			must(t, os.Mkdir(filepath.Join(v.Dir(), "data"), 0o700))
			fill(t, filepath.Join(v.Dir(), "data", "f"), 1<<20, 1)
			dropCaches(t, v)
			v.(*blocks).dropBallast() // its file has no checksums
			must(t, syncAll(v.Dir()))
			dir, err := os.Open(v.Dir())
			must(t, err)
			defer dir.Close()
			a := scrubArgs{device: 1, end: ^uint64(0)}
			must(t, scrubDevice(context.Background(), dir, &a))
			if a.progress.dataBytes < 1<<20 || (a.progress.noCsum == 0) != on {
				t.Errorf("checksums on the disk, want %v: %+v", on, a.progress)
			}
			must(t, dir.Close())
		})
	}
}

// One disk of a mirror fails under load: nobody notices, the array reports it, and it is repaired.
func TestMirrorCarriesAFailedDisk(t *testing.T) {
	if !canMount(t) {
		return
	}
	ctx := context.Background()
	for _, p := range []spec.Storage{
		{Size: small, Tolerate: 1}, {Size: small, Tolerate: 1, Faults: true}, {Size: small, Stripe: 2, Tolerate: 1},
		{Size: small, Tolerate: 1, Checksum: yes(false)},
	} {
		t.Run(p.Policy(), func(t *testing.T) {
			v := newBench(t, p).volume(t)
			w := startWriter(t, filepath.Join(v.Dir(), "w"))
			w.waitFor(t, 20)
			must(t, v.FailDisk(ctx, "d2"))
			w.waitFor(t, 50)
			sum := fill(t, filepath.Join(v.Dir(), "f"), 4<<20, 3)
			d := health(t, v, "degraded")
			if d.Disks[1].State != "failed" || d.Disks[1].Errors == 0 || sumErrors(d) != d.Disks[1].Errors {
				t.Errorf("the array says %+v, want errors on d2 alone", d.Disks)
			}
			must(t, v.HealDisk(ctx, "d2"))
			health(t, v, "degraded")
			w.waitFor(t, 20)
			text, err := v.Repair(ctx)
			must(t, err)
			t.Log(text)
			if strings.HasPrefix(text, "0 errors") {
				t.Errorf("the repair found nothing: %s", text)
			}
			w.waitFor(t, 20)
			w.finish(t)
			if d := health(t, v, "healthy"); sumErrors(d) != 0 {
				t.Errorf("errors are left: %+v", d.Disks)
			}
			// What was repaired must be whole on the repaired disk alone.
			must(t, v.FailDisk(ctx, "d1"))
			dropCaches(t, v)
			w.check(t)
			verify(t, filepath.Join(v.Dir(), "f"), sum)
		})
	}
}

func TestStripeDoesNotCarryAFailedDisk(t *testing.T) {
	if !canMount(t) {
		return
	}
	ctx := context.Background()
	for _, p := range []spec.Storage{{Size: small, Stripe: 2}, {Size: small}, {Size: small, Filesystem: "ext4"}} {
		t.Run(p.Policy(), func(t *testing.T) {
			v := newBench(t, p).volume(t)
			sum := fill(t, filepath.Join(v.Dir(), "f"), 1<<20, 3)
			must(t, v.FailDisk(ctx, "d1"))
			f, err := os.Create(filepath.Join(v.Dir(), "g"))
			for i := 0; err == nil && i < 100; i++ {
				_, err = f.Write(noise(1<<20, uint64(i)))
				if err == nil {
					err = f.Sync()
				}
			}
			if err == nil {
				t.Error("writes to a failed disk succeed")
			}
			f.Close()
			health(t, v, "failed")
			if _, err := v.Repair(ctx); err == nil {
				t.Error("a stripe was repaired without a copy")
			}
			must(t, v.HealDisk(ctx, "d1"))
			must(t, v.Remount(ctx))
			verify(t, filepath.Join(v.Dir(), "f"), sum)
			_, err = v.Repair(ctx)
			must(t, err)
			health(t, v, "healthy")
		})
	}
}

// Reads, writes and flushes of a disk that failed are answered with errors, and its content is there afterwards.
func TestFailedDiskAnswersNothing(t *testing.T) {
	if !canMount(t) {
		return
	}
	ctx := context.Background()
	for _, faults := range []bool{false, true} {
		t.Run(fmt.Sprint("faults ", faults), func(t *testing.T) {
			v := newBench(t, spec.Storage{Size: small, Tolerate: 1, Faults: faults}).volume(t)
			must(t, v.FailDisk(ctx, "d1"))
			dev, err := os.OpenFile(v.Devices()[0], os.O_RDWR|syscall.O_DIRECT, 0)
			must(t, err)
			defer dev.Close()
			block := aligned(4096)
			if n, err := dev.ReadAt(block, 64<<20); err == nil {
				t.Errorf("%d bytes were read", n)
			}
			if n, err := dev.WriteAt(block, 64<<20); err == nil {
				t.Errorf("%d bytes were written", n)
			}
			if err := dev.Sync(); err == nil && faults {
				t.Error("a flush was acknowledged")
			}
			must(t, v.HealDisk(ctx, "d1"))
			if _, err := dev.ReadAt(block, 64<<20); err != nil {
				t.Errorf("after healing: %v", err)
			}
		})
	}
}

// A disk that does not answer any more is replaced by a new one, also while the volume is mounted without it.
func TestDeadDiskIsReplaced(t *testing.T) {
	if !canMount(t) {
		return
	}
	ctx := context.Background()
	for _, remount := range []bool{false, true} {
		t.Run(fmt.Sprint("remount ", remount), func(t *testing.T) {
			b := newBench(t, spec.Storage{Size: small, Tolerate: 1})
			v := b.volume(t)
			sum := fill(t, filepath.Join(v.Dir(), "f"), 4<<20, 1)
			must(t, b.Power(ctx, "h1", false))
			if remount {
				must(t, v.Remount(ctx))
			}
			later := fill(t, filepath.Join(v.Dir(), "g"), 4<<20, 2)
			health(t, v, "degraded")
			watch(t, b)
			text, err := v.Repair(ctx)
			must(t, err)
			t.Log(text)
			d := health(t, v, "healthy")
			if d.Disks[0].Host == "h1" || states(d) != "d1 ok, d2 ok" {
				t.Errorf("disks after the repair: %+v", d.Disks)
			}
			must(t, b.Power(ctx, "h1", true))
			must(t, v.FailDisk(ctx, "d2"))
			must(t, v.Remount(ctx))
			verify(t, filepath.Join(v.Dir(), "f"), sum)
			verify(t, filepath.Join(v.Dir(), "g"), later)
			must(t, v.Close(ctx))
		})
	}
}

// watch looks at the volumes all the time, as a supervisor does, until the test ends.
func watch(t *testing.T, b *bench) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ctx.Err() == nil; n++ {
			for _, v := range b.all() {
				v.Describe(ctx, n%20 == 0)
				v.Devices()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	t.Cleanup(func() { stop(); <-done })
}
