package volume

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"github.com/plimsoll-bench/plimsoll/spec"
)

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
)

// Stripe sizes. The minimum of md and LVM is a page.
const (
	minChunk         = 4 * kib
	maxChunk         = 512 * mib
	defaultMDChunk   = 512 * kib // of mdadm
	defaultLVMStripe = 64 * kib  // of LVM
)

// The notes of layouts.
const (
	noteParityBtrfs = "btrfs RAID 5 and 6 are not safe: after a power failure, data and parity may disagree (the write " +
		"hole), and this kernel's btrfs has lost acknowledged writes while a disk was missing"
	noteNoChecksum = "without checksums, btrfs cannot distinguish old data from new: it does not read a disk that returns " +
		"until a repair has replaced it"
	noteDirectory = "a directory has no fixed size: it shares the free space, speed and failures of the machine's disk"
	noteStripe    = "one failed disk loses the volume"
)

func (s *scheme) asDisk(f Facts) error {
	if s.chunk > 0 {
		return errors.New("storage: one disk has no stripe_size. Remove it, or use stripe: 2")
	}
	s.filesystem = s.policy.Filesystem
	if s.filesystem == "" && s.wantsChecksum() {
		s.filesystem = "btrfs"
	}
	return s.chooseFilesystem(f)
}

// chooseFilesystem chooses the filesystem on a block device, if the policy names none.
func (s *scheme) chooseFilesystem(f Facts) error {
	if s.filesystem == "" {
		s.filesystem = "xfs" // MongoDB's recommendation
		if !f.XFS.OK() && f.Ext4.OK() {
			s.filesystem = "ext4"
		}
	}
	if s.filesystem == "btrfs" {
		s.btrfsChecksum()
	} else if s.wantsChecksum() {
		return fmt.Errorf("storage: %s has no checksums of data. Use filesystem: btrfs, or checksum: false", s.filesystem)
	}
	return nil
}

func (s *scheme) wantsChecksum() bool { return s.policy.Checksum != nil && *s.policy.Checksum }

func (s *scheme) btrfsChecksum() {
	s.filesystem, s.checksum = "btrfs", "crc32c"
	if s.policy.Checksum != nil && !*s.policy.Checksum {
		s.checksum = "none"
	}
}

func (s *scheme) asBtrfs() error {
	if s.parity == 0 && s.data > 1 && s.copies > 2 {
		return fmt.Errorf("storage: btrfs does not stripe %d copies. Use stripe: 1, or tolerate: 1 (raid10), "+
			"or backend: md if the kernel has it", s.copies)
	}
	if s.parity > 0 {
		s.notes = append(s.notes, noteParityBtrfs)
	}
	s.btrfsChecksum()
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
		return errors.New("storage: stripe_size without stripes. Use stripe: 2 or more, or remove it")
	}
	if s.chunk < minChunk || s.chunk > maxChunk || bits.OnesCount64(uint64(s.chunk)) != 1 {
		return fmt.Errorf("storage: stripe_size: %s is not valid for %s. Use one of the powers of two from 4KiB to 512MiB",
			spec.Size(s.chunk), name)
	}
	return nil
}

func (s *scheme) asMD(f Facts) error {
	if s.disks() == 1 {
		return errors.New("storage: md combines disks, but the policy needs only one. " +
			"Use backend: disk, or stripe: 2, or tolerate: 1")
	}
	if err := s.checkChunk("md"); err != nil {
		return err
	}
	if s.chunk == 0 && s.data > 1 {
		s.chunk = defaultMDChunk
	}
	s.filesystem = s.policy.Filesystem
	return s.filesystemOn("md", f)
}

func (s *scheme) asLVM(f Facts) error {
	switch {
	case s.disks() == 1:
		return errors.New("storage: LVM combines disks, but the policy needs only one. " +
			"Use backend: disk, or stripe: 2, or tolerate: 1")
	case s.parity == 2 && s.data < 3:
		return errors.New("storage: raid6 of LVM needs three disks of data. Use stripe: 3, or backend: md")
	case s.data > 1 && s.copies > 2:
		return errors.New("storage: raid10 of LVM has two copies. Use stripe: 1, or tolerate: 1, or backend: md")
	}
	if err := s.checkChunk("LVM"); err != nil {
		return err
	}
	if s.chunk == 0 && s.data > 1 {
		s.chunk = defaultLVMStripe
	}
	s.filesystem = s.policy.Filesystem
	return s.filesystemOn("LVM", f)
}

// filesystemOn chooses the filesystem on an array. It refuses btrfs, because the array cannot tell which copy is
// correct.
func (s *scheme) filesystemOn(array string, f Facts) error {
	if s.filesystem == "btrfs" || s.wantsChecksum() {
		return fmt.Errorf("storage: a filesystem on %s can find wrong checksums, but cannot repair them from another copy. "+
			"Use backend: btrfs, which does both, or filesystem: xfs without checksum", array)
	}
	return s.chooseFilesystem(f)
}

// possible returns an error with an alternative if this machine does not support the scheme.
func (s scheme) possible(f Facts) error {
	if s.backend == Directory {
		return nil
	}
	const instead = ", or remove the storage policy to use directories"
	switch {
	case f.OS != "linux":
		return fmt.Errorf("storage: virtual disks need Linux. Run plimsoll on Linux%s", instead)
	case !f.Root:
		return fmt.Errorf("storage: virtual disks and mounts need root. Run plimsoll as root%s", instead)
	case !f.Loop:
		return fmt.Errorf("storage: this kernel has no loop devices (/dev/loop-control). Load the module loop%s", instead)
	case UsesFaultfs(s.policy) && !f.FUSE:
		return errors.New("storage: device, cache and faults need the fault filesystem, which needs /dev/fuse. " +
			"Load the module fuse, or remove them")
	}
	if s.backend == MD || s.backend == LVM {
		if lack := f.lacks(s.backend); lack != "" {
			return fmt.Errorf("storage: backend: %s: %s. Use backend: btrfs or auto", s.backend, lack)
		}
	}
	if lack := f.lacks(s.filesystem); lack != "" {
		return fmt.Errorf("storage: %s: %s. %s", s.filesystem, lack, s.otherFilesystem(f))
	}
	return nil
}

// otherFilesystem names an alternative to a filesystem that is not supported.
func (s scheme) otherFilesystem(f Facts) string {
	var have []string
	for _, k := range []string{"xfs", "ext4", "btrfs"} {
		if k != s.filesystem && f.support(k).OK() && (s.backend == Disk || k != "btrfs") && s.backend != Btrfs {
			have = append(have, k)
		}
	}
	switch {
	case len(have) > 0:
		return "Use filesystem: " + strings.Join(have, " or ")
	case s.backend == Btrfs && f.MD.OK():
		return "Install it, or use backend: md"
	case s.backend == Btrfs && f.LVM.OK():
		return "Install it, or use backend: lvm"
	}
	return "Install it, or remove the storage policy to use directories"
}
