package volume

import (
	"fmt"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// The smallest disks that the tools take, found by trying: btrfs-progs want 125 MiB in an array, mkfs.xfs 300 MiB.
const (
	minBtrfsDisk = 128 * mib
	minXFSDisk   = 304 * mib
	minExt4Disk  = 16 * mib
)

// layout computes what a scheme takes and gives.
func (s scheme) layout() (record.LabLayout, error) {
	l := record.LabLayout{Backend: s.backend, Filesystem: s.filesystem, Checksum: s.checksum, Tolerates: s.tolerates(),
		WriteAmplification: 1, RawShare: 1, Notes: s.notes}
	if s.backend == Directory {
		return l, nil
	}
	n := s.disks()
	l.Profile, l.Disks, l.DiskSize = s.profile(), n, s.diskSize()
	l.WriteAmplification = float64(s.copies) * float64(s.data+s.parity) / float64(s.data)
	l.RawShare = float64(s.policy.Size) / (float64(n) * float64(l.DiskSize))
	l.Device = s.policy.Device
	if c := s.policy.Cache; c != nil {
		l.Cache = fmt.Sprintf("%s, %s", c.Device, figure.Bytes(int64(c.Size)))
		if int64(c.Size) >= l.DiskSize {
			return l, fmt.Errorf("storage: cache: %s is not smaller than a disk of the volume (%s): use a smaller one, or a faster device", c.Size, figure.Bytes(l.DiskSize))
		}
	}
	if s.backend == Btrfs && s.tolerates() > 0 {
		l.Notes = append(l.Notes, fmt.Sprintf("more than the size can be written: %s of each disk are there for rebuilding it beside the load, and what fills them prevents that", figure.Bytes(s.rebuildRoom(l.DiskSize))))
	}
	if s.tolerates() == 0 && n > 1 {
		l.Notes = append(l.Notes, noteStripe)
	}
	if usesFaultfs(s.policy) {
		l.Notes = append(l.Notes, "disks stand on plimsoll's own filesystem, which takes some 20 µs of each request")
	}
	return l, nil
}

// profile is the backend's own word for a layout.
func (s scheme) profile() string {
	switch s.backend {
	case Btrfs:
		return s.btrfsProfile()
	case MD:
		return s.mdProfile()
	case LVM:
		return s.lvmProfile()
	}
	return "single"
}

// btrfsProfile is the profile of data.
func (s scheme) btrfsProfile() string {
	switch {
	case s.parity > 0:
		return fmt.Sprintf("raid%d", 4+s.parity)
	case s.data > 1 && s.copies > 1:
		return "raid10"
	case s.data > 1:
		return "raid0"
	case s.copies > 2:
		return fmt.Sprintf("raid1c%d", s.copies)
	case s.copies == 2:
		return "raid1"
	}
	return "single"
}

// btrfsMetadata is the profile of metadata: the same, but never parity, which btrfs advises against.
func (s scheme) btrfsMetadata() string {
	switch s.parity {
	case 1:
		return "raid1"
	case 2:
		return "raid1c3"
	}
	return s.btrfsProfile()
}

// mdLevel is the RAID level of md.
func (s scheme) mdLevel() int {
	switch {
	case s.parity > 0:
		return 4 + s.parity
	case s.data > 1 && s.copies > 1:
		return 10
	case s.copies > 1:
		return 1
	}
	return 0
}

func (s scheme) mdProfile() string {
	text := fmt.Sprintf("RAID %d", s.mdLevel())
	if s.mdLevel() == 10 && s.copies > 2 {
		text += fmt.Sprintf(", %d copies", s.copies)
	}
	if s.chunk > 0 {
		text += fmt.Sprintf(", %s chunks", figure.Bytes(s.chunk))
	}
	return text
}

// lvmType is the segment type of LVM.
func (s scheme) lvmType() string {
	if s.mdLevel() == 0 {
		return "striped"
	}
	return fmt.Sprintf("raid%d", s.mdLevel())
}

func (s scheme) lvmProfile() string {
	text := s.lvmType()
	if s.copies > 2 {
		text += fmt.Sprintf(", %d copies", s.copies)
	}
	if s.chunk > 0 {
		text += fmt.Sprintf(", %s stripes", figure.Bytes(s.chunk))
	}
	return text
}

// diskSize is how large each disk must be for the volume to hold what it has to, in bytes, in whole MiB. A filesystem
// keeps something for itself, which a test measures by filling volumes.
func (s scheme) diskSize() int64 {
	share := (int64(s.policy.Size) + int64(s.data) - 1) / int64(s.data)
	var own, least int64
	switch s.filesystem {
	case "btrfs":
		own, least = 112*mib+share/16, minBtrfsDisk
		if s.tolerates() > 0 {
			return s.rebuildable(share)
		}
	case "xfs":
		own, least = 96*mib/int64(s.data)+share/32, minXFSDisk/int64(s.data)
	case "ext4":
		own, least = 24*mib+share/16, minExt4Disk
	}
	if s.backend == MD || s.backend == LVM {
		own += 8 * mib // superblock, bitmap, extents
	}
	size := max(share+own, least)
	return (size + mib - 1) / mib * mib
}

// rebuildable is the size of a disk of a btrfs that can rebuild one of them beside the load of a server. btrfs makes
// another chunk of data when those it has are full by four fifths.
func (s scheme) rebuildable(share int64) int64 {
	need := share + share/4 + share/16 + 160*mib
	size := max(need, minBtrfsDisk)
	for need+s.rebuildRoom(size) > size { // the room grows by less than the disk does
		size += mib
	}
	return (size + mib - 1) / mib * mib
}

// spareRoom is kept free beyond what a rebuild takes, in bytes: what balancing leaves is not exact.
const spareRoom = 32 * mib

// rebuildRoom is how much of each disk must be free while one is rebuilt: for one chunk of data and one of metadata.
// btrfs makes them a tenth of all disks large, but at most 1 GiB and 256 MiB.
func (s scheme) rebuildRoom(disk int64) int64 {
	tenth := disk * int64(s.disks()) / 10
	return (min(tenth, 1024*mib)+min(tenth, 256*mib))/int64(s.data) + spareRoom
}
