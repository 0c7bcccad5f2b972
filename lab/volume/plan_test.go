package volume

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

const gib = 1 << 30

// thisKernel has neither md nor device-mapper.
func thisKernel() Facts {
	f := everything()
	f.MD, f.LVM = Support{Missing: "mdadm (package mdadm)"}, Support{Missing: "lvs (package lvm2)"}
	return f
}

func without(f Facts, change func(*Facts)) Facts {
	change(&f)
	return f
}

func TestPlan(t *testing.T) {
	noXFS := without(thisKernel(), func(f *Facts) { f.XFS.Tools, f.XFS.Missing = false, "mkfs.xfs (package xfsprogs)" })
	noBtrfs := without(everything(), func(f *Facts) { f.Btrfs = Support{} })
	onlyLVM := without(noBtrfs, func(f *Facts) { f.MD = Support{} })
	for _, c := range []struct {
		p     spec.Storage
		f     Facts
		want  string // backend, profile, filesystem, checksum, disks, tolerates
		write float64
	}{
		{spec.Storage{}, thisKernel(), "directory:::0 disks:0", 1},
		{spec.Storage{}, Facts{OS: "darwin"}, "directory:::0 disks:0", 1},
		{spec.Storage{Backend: "directory", Dir: "/data"}, Facts{}, "directory:::0 disks:0", 1},
		{spec.Storage{Size: gib}, thisKernel(), "disk:single:xfs:none:1 disks:0", 1},
		{spec.Storage{Size: gib, Backend: "disk"}, noXFS, "disk:single:ext4:none:1 disks:0", 1},
		{spec.Storage{Size: gib, Filesystem: "ext4"}, thisKernel(), "disk:single:ext4:none:1 disks:0", 1},
		{spec.Storage{Size: gib, Backend: "disk", Checksum: yes(true)}, thisKernel(), "disk:single:btrfs:crc32c:1 disks:0", 1},
		{spec.Storage{Size: gib, Checksum: yes(true)}, thisKernel(), "btrfs:single:btrfs:crc32c:1 disks:0", 1},
		{spec.Storage{Size: gib, Checksum: yes(false)}, thisKernel(), "disk:single:xfs:none:1 disks:0", 1},
		{spec.Storage{Size: gib, Filesystem: "btrfs", Checksum: yes(false)}, thisKernel(), "btrfs:single:btrfs:none:1 disks:0", 1},
		{spec.Storage{Size: gib, Stripe: 3}, thisKernel(), "btrfs:raid0:btrfs:crc32c:3 disks:0", 1},
		{spec.Storage{Size: gib, Tolerate: 1}, thisKernel(), "btrfs:raid1:btrfs:crc32c:2 disks:1", 2},
		{spec.Storage{Size: gib, Tolerate: 2, Redundancy: "mirror"}, thisKernel(), "btrfs:raid1c3:btrfs:crc32c:3 disks:2", 3},
		{spec.Storage{Size: gib, Tolerate: 3}, thisKernel(), "btrfs:raid1c4:btrfs:crc32c:4 disks:3", 4},
		{spec.Storage{Size: gib, Stripe: 2, Tolerate: 1}, thisKernel(), "btrfs:raid10:btrfs:crc32c:4 disks:1", 2},
		{spec.Storage{Size: gib, Stripe: 3, Tolerate: 1, Redundancy: "parity", Backend: "btrfs"}, thisKernel(), "btrfs:raid5:btrfs:crc32c:4 disks:1", 4.0 / 3},
		{spec.Storage{Size: gib, Stripe: 4, Tolerate: 2, Redundancy: "parity", Backend: "btrfs"}, thisKernel(), "btrfs:raid6:btrfs:crc32c:6 disks:2", 1.5},
		{spec.Storage{Size: gib, Tolerate: 1}, everything(), "btrfs:raid1:btrfs:crc32c:2 disks:1", 2},
		{spec.Storage{Size: gib, Tolerate: 1}, noBtrfs, "md:RAID 1:xfs:none:2 disks:1", 2},
		{spec.Storage{Size: gib, Tolerate: 1}, onlyLVM, "lvm:raid1:xfs:none:2 disks:1", 2},
		{spec.Storage{Size: gib, Tolerate: 1, Filesystem: "ext4"}, everything(), "md:RAID 1:ext4:none:2 disks:1", 2},
		{spec.Storage{Size: gib, Stripe: 3, Tolerate: 1, Redundancy: "parity"}, everything(), "md:RAID 5, 512 KiB chunks:xfs:none:4 disks:1", 4.0 / 3},
		{spec.Storage{Size: gib, Stripe: 3, Tolerate: 1, Redundancy: "parity"}, onlyLVM, "lvm:raid5, 64.0 KiB stripes:xfs:none:4 disks:1", 4.0 / 3},
		{spec.Storage{Size: gib, Stripe: 4, Tolerate: 2, Redundancy: "parity"}, everything(), "md:RAID 6, 512 KiB chunks:xfs:none:6 disks:2", 1.5},
		{spec.Storage{Size: gib, Stripe: 2, StripeSize: 64 << 10}, everything(), "md:RAID 0, 64.0 KiB chunks:xfs:none:2 disks:0", 1},
		{spec.Storage{Size: gib, Stripe: 2, Tolerate: 2}, everything(), "md:RAID 10, 3 copies, 512 KiB chunks:xfs:none:6 disks:2", 3},
		{spec.Storage{Size: gib, Stripe: 2, Tolerate: 1, Backend: "lvm"}, everything(), "lvm:raid10, 64.0 KiB stripes:xfs:none:4 disks:1", 2},
		{spec.Storage{Size: gib, Stripe: 2, Backend: "lvm", StripeSize: 1 << 20}, everything(), "lvm:striped, 1.00 MiB stripes:xfs:none:2 disks:0", 1},
		{spec.Storage{Size: gib, Faults: true}, thisKernel(), "disk:single:xfs:none:1 disks:0", 1},
		{spec.Storage{Size: gib, Device: "hdd-7200"}, thisKernel(), "disk:single:xfs:none:1 disks:0", 1},
	} {
		l, err := Plan(c.p, c.f)
		if err != nil {
			t.Errorf("%s: %v", c.p.Policy(), err)
			continue
		}
		got := fmt.Sprintf("%s:%s:%s:%s:%d disks:%d", l.Backend, l.Profile, l.Filesystem, l.Checksum, l.Disks, l.Tolerates)
		if l.Backend == Directory {
			got = fmt.Sprintf("%s:%s:%s:%d disks:%d", l.Backend, l.Profile, l.Filesystem, l.Disks, l.Tolerates)
		}
		if got != c.want || math.Abs(l.WriteAmplification-c.write) > 1e-9 {
			t.Errorf("%s: got %s, writes ×%v, want %s, ×%v", c.p.Policy(), got, l.WriteAmplification, c.want, c.write)
		}
		checkSizes(t, c.p, l)
	}
}

// checkSizes holds a layout against what its copies alone need.
func checkSizes(t *testing.T, p spec.Storage, l record.LabLayout) {
	t.Helper()
	if l.Backend == Directory {
		return
	}
	raw := float64(l.Disks) * float64(l.DiskSize)
	if raw*l.RawShare < float64(p.Size)*0.999 || l.RawShare > 1/l.WriteAmplification ||
		raw < float64(p.Size)*l.WriteAmplification {
		t.Errorf("%s: %d disks of %d bytes, raw share %v", p.Policy(), l.Disks, l.DiskSize, l.RawShare)
	}
}

// refusal is a policy that cannot be, and what is said about it: what is wrong, and what to do instead.
type refusal struct {
	p    spec.Storage
	f    Facts
	says []string
}

func TestPlanRefusesWhatTheMachineCannot(t *testing.T) {
	plain := without(thisKernel(), func(f *Facts) { f.Root = false })
	refused(t, []refusal{
		{spec.Storage{Size: gib, Tolerate: 1}, plain, []string{"as root", "directories"}},
		{spec.Storage{Size: gib}, Facts{OS: "darwin", Root: true}, []string{"Linux", "directories"}},
		{spec.Storage{Size: gib}, without(thisKernel(), func(f *Facts) { f.Loop = false }), []string{"loop"}},
		{spec.Storage{Size: gib, Faults: true}, without(thisKernel(), func(f *Facts) { f.FUSE = false }), []string{"/dev/fuse", "remove them"}},
	})
}

func TestPlanRefusesWhatMakesNoSense(t *testing.T) {
	refused(t, []refusal{
		{spec.Storage{Tolerate: 1}, thisKernel(), []string{"storage.size", "2GiB"}},
		{spec.Storage{Size: -1}, thisKernel(), []string{"storage.size: -1B is not between"}},
		{spec.Storage{Size: gib, Backend: "zfs"}, thisKernel(), []string{"backend", "btrfs"}},
		{spec.Storage{Size: gib, Redundancy: "erasure", Tolerate: 1}, thisKernel(), []string{"redundancy", "parity"}},
		{spec.Storage{Size: gib, Filesystem: "zfs"}, thisKernel(), []string{"filesystem", "xfs"}},
		{spec.Storage{Size: gib, Tolerate: 4}, thisKernel(), []string{"4 is not between 0 and 3"}},
		{spec.Storage{Size: gib, Stripe: 100}, thisKernel(), []string{"100 is not between 0 and 12"}},
		{spec.Storage{Size: gib, Stripe: 12, Tolerate: 2, Backend: "md"}, everything(), []string{"36 disks"}},
		{spec.Storage{Size: gib, Redundancy: "mirror"}, thisKernel(), []string{"Set tolerate"}},
		{spec.Storage{Size: gib, Redundancy: "parity", Tolerate: 1}, thisKernel(), []string{"stripe: 3", "mirror"}},
		{spec.Storage{Size: gib, Redundancy: "parity", Stripe: 3, Tolerate: 3}, thisKernel(), []string{"3 is not between 0 and 2"}},
		{spec.Storage{Size: gib, Redundancy: "parity", Stripe: 3, Tolerate: 1}, thisKernel(), []string{"no md", "mirror", "backend: btrfs"}},
		{spec.Storage{Size: gib, Redundancy: "parity", Stripe: 3, Tolerate: 1, Checksum: yes(true)}, everything(),
			[]string{"no checksums", "backend: btrfs"}},
	})
}

func TestPlanRefusesWhatBackendsCannot(t *testing.T) {
	refused(t, []refusal{
		{spec.Storage{Size: gib, Backend: "md", Tolerate: 1}, thisKernel(), []string{"no md", "btrfs"}},
		{spec.Storage{Size: gib, Backend: "lvm", Tolerate: 1}, thisKernel(), []string{"device-mapper", "btrfs"}},
		{spec.Storage{Size: gib, Backend: "md", Tolerate: 1},
			without(everything(), func(f *Facts) { f.MD = Support{Kernel: true, Missing: "mdadm (package mdadm)"} }), []string{"mdadm (package mdadm)", "btrfs"}},
		{spec.Storage{Size: gib, Backend: "md"}, everything(), []string{"backend: disk"}},
		{spec.Storage{Size: gib, Backend: "lvm"}, everything(), []string{"backend: disk"}},
		{spec.Storage{Size: gib, Backend: "lvm", Stripe: 2, Tolerate: 2}, everything(), []string{"raid10", "md"}},
		{spec.Storage{Size: gib, Backend: "lvm", Stripe: 2, Tolerate: 2, Redundancy: "parity"}, everything(), []string{"stripe: 3"}},
		{spec.Storage{Size: gib, Backend: "md", Stripe: 2, StripeSize: 5000}, everything(), []string{"powers of two"}},
		{spec.Storage{Size: gib, Backend: "md", Tolerate: 1, StripeSize: 64 << 10}, everything(), []string{"without stripes"}},
		{spec.Storage{Size: gib, Backend: "md", Tolerate: 1, Filesystem: "btrfs"}, everything(), []string{"backend: btrfs"}},
		{spec.Storage{Size: gib, Backend: "md", Tolerate: 1, Checksum: yes(true)}, everything(), []string{"backend: btrfs"}},
		{spec.Storage{Size: gib, Stripe: 2, StripeSize: 64 << 10}, thisKernel(), []string{"stripe_size", "Remove it"}},
		{spec.Storage{Size: gib, Backend: "btrfs", Stripe: 2, StripeSize: 64 << 10}, thisKernel(),
			[]string{"64KiB", "Remove it"}},
		{spec.Storage{Size: gib, Backend: "btrfs", Stripe: 2, Tolerate: 2}, thisKernel(), []string{"raid10", "stripe: 1"}},
		{spec.Storage{Size: gib, Stripe: 2, Tolerate: 2}, thisKernel(), []string{"3 copies", "stripe: 1"}},
		{spec.Storage{Size: gib, Backend: "btrfs", Filesystem: "xfs"}, thisKernel(), []string{"filesystem: btrfs"}},
		{spec.Storage{Size: gib, Tolerate: 1, Filesystem: "xfs"}, thisKernel(), []string{"more than one disk", "filesystem: btrfs"}},
		{spec.Storage{Size: gib, Filesystem: "xfs", Checksum: yes(true)}, thisKernel(), []string{"checksum", "btrfs"}},
		{spec.Storage{Size: gib, Filesystem: "ext4", Backend: "disk", Checksum: yes(true)}, thisKernel(), []string{"ext4 has no checksums", "filesystem: btrfs"}},
		{spec.Storage{Size: gib, Backend: "disk", Stripe: 2}, thisKernel(), []string{"one disk", "need btrfs"}},
		{spec.Storage{Size: gib, Backend: "disk", StripeSize: 4096}, thisKernel(), []string{"stripe: 2"}},
		{spec.Storage{Size: gib, Backend: "directory"}, thisKernel(), []string{"no size", "Remove backend"}},
		{spec.Storage{Size: gib, Backend: "directory", Device: "hdd-7200"}, thisKernel(), []string{"device class", "Remove backend"}},
		{spec.Storage{Backend: "directory", Faults: true, Size: gib}, thisKernel(), []string{"Remove backend"}},
		{spec.Storage{Size: gib, Device: "floppy"}, thisKernel(), []string{"floppy", "hdd-7200"}},
		{spec.Storage{Size: gib, Cache: &spec.CacheTier{Device: "hdd-7200"}}, thisKernel(), []string{"size, such as"}},
		{spec.Storage{Size: gib, Cache: &spec.CacheTier{Device: "floppy", Size: 1 << 20}}, thisKernel(), []string{"cache", "floppy"}},
		{spec.Storage{Size: gib, Cache: &spec.CacheTier{Device: "hdd-7200", Size: 9 * gib}}, thisKernel(), []string{"more than the volume"}},
		{spec.Storage{Size: gib, Filesystem: "xfs"}, without(thisKernel(),
			func(f *Facts) { f.XFS = Support{Kernel: true, Missing: "mkfs.xfs (package xfsprogs)"} }), []string{"xfsprogs", "ext4 or btrfs"}},
		{spec.Storage{Size: gib, Tolerate: 1}, without(thisKernel(), func(f *Facts) { f.Btrfs = Support{Tools: true} }),
			[]string{"no btrfs", "directories"}},
		{spec.Storage{Size: gib, Backend: "btrfs", Tolerate: 1},
			without(everything(), func(f *Facts) { f.Btrfs = Support{Tools: true} }), []string{"no btrfs", "backend: md"}},
	})
}

func refused(t *testing.T, all []refusal) {
	t.Helper()
	for _, c := range all {
		l, err := Plan(c.p, c.f)
		if err == nil {
			t.Errorf("%+v: planned as %+v, want a refusal with %q", c.p, l, c.says)
			continue
		}
		for _, w := range c.says {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%+v: %v\ndoes not say %q", c.p, err, w)
			}
		}
	}
}

func TestNotes(t *testing.T) {
	for _, c := range []struct {
		p    spec.Storage
		want string
	}{
		{spec.Storage{}, "no fixed size"},
		{spec.Storage{Size: gib, Stripe: 2}, "one failed disk"},
		{spec.Storage{Size: gib, Tolerate: 1, Checksum: yes(false)}, "cannot distinguish old data from new"},
		{spec.Storage{Size: gib, Stripe: 2, Tolerate: 1, Redundancy: "parity", Backend: "btrfs"}, "write hole"},
		{spec.Storage{Size: gib, Faults: true}, "fault filesystem"},
	} {
		l, err := Plan(c.p, thisKernel())
		if err != nil || !strings.Contains(strings.Join(l.Notes, "\n"), c.want) {
			t.Errorf("%s: %v, notes %q do not say %q", c.p.Policy(), err, l.Notes, c.want)
		}
	}
}

// The record knows the classes of devices by their names alone.
func TestDeviceClassesAreDescribed(t *testing.T) {
	var described []string
	for _, c := range faultfs.Classes() {
		described = append(described, c.Name)
	}
	if diff := cmp.Diff(described, spec.DeviceClasses()); diff != "" {
		t.Errorf("described and named: %s", diff)
	}
}

func FuzzPlan(f *testing.F) {
	f.Add(int64(gib), int64(2), int64(1), int64(0), uint8(3), uint8(1), uint8(0), uint8(0), true)
	f.Fuzz(func(t *testing.T, size, stripe, tolerate, piece int64,
		backend, redundancy, filesystem, checksum uint8, all bool) {
		p := spec.Storage{Size: spec.Size(size % (1 << 45)), Stripe: spec.Count(stripe), Tolerate: spec.Count(tolerate),
			StripeSize: spec.Size(piece),
			Backend:    []string{"", Auto, Directory, Disk, Btrfs, MD, LVM}[backend%7],
			Redundancy: []string{"", "mirror", "parity"}[redundancy%3], Filesystem: []string{"", "xfs", "ext4", "btrfs"}[filesystem%4],
			Checksum: []*bool{nil, yes(true), yes(false)}[checksum%3]}
		facts := thisKernel()
		if all {
			facts = everything()
		}
		l, err := Plan(p, facts)
		if err == nil {
			checkSizes(t, p, l)
		}
	})
}

func yes(x bool) *bool { return &x }
