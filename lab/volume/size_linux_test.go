package volume

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// A volume holds its size and hardly more: the server that writes on gets the error that a full disk gives.
func TestVolumeHoldsItsSize(t *testing.T) {
	if !canMount(t) {
		return
	}
	const size = 256 << 20
	for _, p := range []spec.Storage{
		{Size: size}, {Size: size, Filesystem: "ext4"}, {Size: size, Filesystem: "btrfs"}, {Size: size, Stripe: 2},
		{Size: size, Tolerate: 1}, {Size: size, Tolerate: 2}, {Size: 2 * size, Stripe: 2, Tolerate: 1},
		{Size: 2 * size, Stripe: 2, Tolerate: 1, Redundancy: "parity", Backend: Btrfs},
	} {
		t.Run(p.Policy(), func(t *testing.T) {
			v := newBench(t, p).volume(t)
			d := health(t, v, "healthy")
			if d.Used > 4<<20 || d.Capacity < int64(p.Size) || d.Capacity > int64(p.Size)*108/100 {
				t.Errorf("the empty volume says that %d of %d bytes are used, its size is %d", d.Used, d.Capacity, p.Size)
			}
			wrote := fillUp(t, filepath.Join(v.Dir(), "f"), 2*int64(p.Size))
			if wrote < int64(p.Size) || wrote > int64(p.Size)*108/100 {
				t.Errorf("%d bytes could be written to %d", wrote, p.Size)
			}
			d = health(t, v, "healthy")
			if d.Used < wrote*97/100 || d.Used > d.Capacity {
				t.Errorf("the full volume says that %d of %d bytes are used, and %d were written", d.Used, d.Capacity, wrote)
			}
		})
	}
}

// fillUp writes a file until there is no space, and returns how much of it is on the disks.
func fillUp(t *testing.T, path string, most int64) (wrote int64) {
	t.Helper()
	f, err := os.Create(path)
	must(t, err)
	defer f.Close()
	piece := noise(1<<20, 7)
	for wrote < most {
		n, err := f.Write(piece)
		if err == nil {
			err = f.Sync()
		}
		if errors.Is(err, unix.ENOSPC) {
			return wrote
		}
		must(t, err)
		wrote += int64(n)
	}
	t.Errorf("%d bytes were written, and there is still space", wrote)
	return wrote
}

// What filesystems keep for themselves is known for all sizes: an empty volume has room for its size, and at most for a
// tenth more.
func TestSizesOfEmptyVolumes(t *testing.T) {
	if !canMount(t) {
		return
	}
	const gib = spec.Size(1 << 30)
	for _, p := range []spec.Storage{
		{Size: gib}, {Size: 10 * gib}, {Filesystem: "ext4", Size: gib}, {Filesystem: "ext4", Size: 3 * gib / 2},
		{Filesystem: "ext4", Size: 10 * gib},
		{Filesystem: "btrfs", Size: gib}, {Filesystem: "btrfs", Size: 8 * gib}, {Stripe: 3, Size: gib}, {Stripe: 2, Size: 8 * gib},
		{Tolerate: 1, Size: gib}, {Tolerate: 1, Size: 3 * gib}, {Tolerate: 3, Size: gib},
		{Stripe: 2, Tolerate: 1, Size: 4 * gib},
		{Stripe: 4, Tolerate: 2, Redundancy: "parity", Backend: Btrfs, Size: 4 * gib},
	} {
		t.Run(p.Policy(), func(t *testing.T) {
			v := newBench(t, p).volume(t)
			d := v.Describe(context.Background(), false)
			t.Logf("%.1f %% of the size", 100*float64(d.Capacity)/float64(p.Size))
			if d.Capacity < int64(p.Size) || d.Capacity > int64(p.Size)*110/100 {
				t.Errorf("%d bytes can be written, the size is %d; disks of %d, %d reserved", d.Capacity, p.Size, d.Layout.DiskSize, d.Layout.Reserve)
			}
		})
	}
}
