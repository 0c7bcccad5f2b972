package volume

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/plimsoll-bench/plimsoll/spec"
)

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
)

// The smallest stripe sizes: md's is a page, LVM's as well.
const (
	minChunk     = 4 * kib
	maxChunk     = 512 * mib
	ownMDChunk   = 512 * kib // what mdadm takes by itself
	ownLVMStripe = 64 * kib  // what LVM takes by itself
	btrfsStripe  = 64 * kib
)

// The notes of layouts.
const (
	noteParityBtrfs = "btrfs RAID 5 and 6 are not safe: a power failure can leave data and parity apart (the write hole), and this kernel's lost acknowledged writes with a disk missing"
	noteNoChecksum  = "without checksums btrfs cannot tell old data from new: a disk that comes back is not read until a repair has replaced it"
	noteDirectory   = "a directory has no size of its own: it shares the free space, speed and failures of the disk below"
	noteStripe      = "one failed disk loses the volume"
)

// asDirectory has nothing to refuse: a policy that asks for more than a directory has does not come here.
func (s *scheme) asDirectory() {
	s.checksum, s.notes = "", []string{noteDirectory}
}

func (s *scheme) asDisk(f Facts) error {
	if s.chunk > 0 {
		return fmt.Errorf("storage: stripe_size means nothing on one disk: leave it out, or use stripe: 2")
	}
	s.filesystem = s.policy.Filesystem
	if s.filesystem == "" && s.wantsChecksum() {
		s.filesystem = "btrfs"
	}
	return s.upon(f)
}

// upon decides about the filesystem of a layout that is a block device.
func (s *scheme) upon(f Facts) error {
	if s.filesystem == "" {
		s.filesystem = "xfs" // what MongoDB recommends
		if !f.XFS.OK() && f.Ext4.OK() {
			s.filesystem = "ext4"
		}
	}
	if s.filesystem == "btrfs" {
		return s.btrfsChecksum()
	}
	if s.wantsChecksum() {
		return fmt.Errorf("storage: %s has no checksums of data: use filesystem: btrfs, or checksum: false", s.filesystem)
	}
	return nil
}

func (s *scheme) wantsChecksum() bool { return s.policy.Checksum != nil && *s.policy.Checksum }

func (s *scheme) btrfsChecksum() error {
	s.filesystem, s.checksum = "btrfs", "crc32c"
	if s.policy.Checksum != nil && !*s.policy.Checksum {
		s.checksum = "none"
	}
	return nil
}

func (s *scheme) asBtrfs() error {
	if s.parity == 0 && s.data > 1 && s.copies > 2 {
		return fmt.Errorf("storage: btrfs does not stripe %d copies: use stripe: 1, or tolerate: 1 (raid10), or backend: md where the kernel has it", s.copies)
	}
	if s.parity > 0 {
		s.notes = append(s.notes, noteParityBtrfs)
	}
	if err := s.btrfsChecksum(); err != nil {
		return err
	}
	if s.checksum == "none" && s.tolerates() > 0 {
		s.notes = append(s.notes, noteNoChecksum)
	}
	return nil
}

func (s *scheme) checkChunk(name string) error {
	if s.chunk == 0 {
		return nil
	}
	if s.data == 1 {
		return fmt.Errorf("storage: stripe_size without stripes: use stripe: 2 or more, or leave it out")
	}
	if s.chunk < minChunk || s.chunk > maxChunk || bits.OnesCount64(uint64(s.chunk)) != 1 {
		return fmt.Errorf("storage: stripe_size: %s takes powers of two from 4KiB to 512MiB, not %s", name, spec.Size(s.chunk))
	}
	return nil
}

func (s *scheme) asMD(f Facts) error {
	if s.disks() == 1 {
		return fmt.Errorf("storage: md combines disks, and the policy needs one: use backend: disk, or stripe: 2, or tolerate: 1")
	}
	if err := s.checkChunk("md"); err != nil {
		return err
	}
	if s.chunk == 0 && s.data > 1 {
		s.chunk = ownMDChunk
	}
	s.filesystem = s.policy.Filesystem
	return s.noBtrfsUpon(f, "md")
}

func (s *scheme) asLVM(f Facts) error {
	switch {
	case s.disks() == 1:
		return fmt.Errorf("storage: LVM over one disk adds nothing: use backend: disk, or stripe: 2, or tolerate: 1")
	case s.parity == 2 && s.data < 3:
		return fmt.Errorf("storage: LVM's raid6 needs three disks of data: use stripe: 3, or backend: md")
	case s.data > 1 && s.copies > 2:
		return fmt.Errorf("storage: LVM's raid10 has two copies: use stripe: 1, or tolerate: 1, or backend: md")
	}
	if err := s.checkChunk("LVM"); err != nil {
		return err
	}
	if s.chunk == 0 && s.data > 1 {
		s.chunk = ownLVMStripe
	}
	s.filesystem = s.policy.Filesystem
	return s.noBtrfsUpon(f, "LVM")
}

// noBtrfsUpon keeps btrfs off an array that cannot tell it which copy is good.
func (s *scheme) noBtrfsUpon(f Facts, array string) error {
	if s.filesystem == "btrfs" || s.wantsChecksum() {
		return fmt.Errorf("storage: checksums above %s are found wrong and cannot be repaired from another copy: use backend: btrfs, which does both, or filesystem: xfs without checksum", array)
	}
	return s.upon(f)
}

// possible refuses what this machine cannot do, with what it can.
func (s scheme) possible(f Facts) error {
	if s.backend == Directory {
		return nil
	}
	const instead = ", or leave the storage policy out, which makes directories"
	switch {
	case f.OS != "linux":
		return fmt.Errorf("storage: virtual disks are made on Linux only: run it there%s", instead)
	case !f.Root:
		return fmt.Errorf("storage: virtual disks and mounts need root: call plimsoll as root%s", instead)
	case !f.Loop:
		return fmt.Errorf("storage: this kernel has no loop devices (/dev/loop-control): load the module loop%s", instead)
	case usesFaultfs(s.policy) && !f.FUSE:
		return fmt.Errorf("storage: device, cache and faults put disks on plimsoll's own filesystem, which needs /dev/fuse: load the module fuse, or leave them out")
	}
	if s.backend == MD || s.backend == LVM {
		if lack := f.lacks(s.backend, f.support(s.backend)); lack != "" {
			return fmt.Errorf("storage: backend: %s: %s: use backend: btrfs or auto", s.backend, lack)
		}
	}
	if lack := f.lacks(s.filesystem, f.support(s.filesystem)); lack != "" {
		return fmt.Errorf("storage: %s: %s%s", s.filesystem, lack, s.otherFilesystem(f))
	}
	return nil
}

// otherFilesystem names what could be used instead of a filesystem that is not there.
func (s scheme) otherFilesystem(f Facts) string {
	var have []string
	for _, k := range []string{"xfs", "ext4", "btrfs"} {
		if k != s.filesystem && f.support(k).OK() && (s.backend == Disk || k != "btrfs") && s.backend != Btrfs {
			have = append(have, k)
		}
	}
	switch {
	case len(have) > 0:
		return ": use filesystem: " + strings.Join(have, " or ")
	case s.backend == Btrfs && f.MD.OK():
		return ": install it, or use backend: md"
	case s.backend == Btrfs && f.LVM.OK():
		return ": install it, or use backend: lvm"
	}
	return ": install it, or leave the storage policy out, which makes directories"
}
