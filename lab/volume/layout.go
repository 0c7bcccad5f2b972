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
	l.Profile, l.Disks, l.DiskSize, l.Reserve = s.profile(), n, s.diskSize(), s.reserve()
	l.WriteAmplification = float64(s.copies) * float64(s.data+s.parity) / float64(s.data)
	l.RawShare = float64(s.policy.Size) / (float64(n) * float64(l.DiskSize))
	l.Device = s.policy.Device
	if c := s.policy.Cache; c != nil {
		l.Cache = fmt.Sprintf("%s, %s", c.Device, figure.Bytes(int64(c.Size)))
		if int64(c.Size) >= l.DiskSize {
			return l, fmt.Errorf("storage: cache: %s is not smaller than a disk of the volume (%s): use a smaller one, or a faster device", c.Size, figure.Bytes(l.DiskSize))
		}
	}
	l.Notes = append(l.Notes, s.sizeNotes()...)
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

// btrfsMetadata is the profile of metadata: the same, but never parity, which btrfs advises against, and on one disk two
// copies, as mkfs.btrfs does by itself; with a single one it runs out of room for metadata before data fill the disk.
func (s scheme) btrfsMetadata() string {
	switch {
	case s.disks() == 1:
		return "dup"
	case s.parity == 1:
		return "raid1"
	case s.parity == 2:
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

// diskSize is how much each disk can take, in bytes: what the filesystem has of it, and what only a repair uses.
func (s scheme) diskSize() int64 { return s.partSize() + s.reserve() }

// partSize is how much of each disk the filesystem has, in whole MiB, so that what was asked for can be written and
// hardly more.
func (s scheme) partSize() int64 {
	share := (int64(s.policy.Size) + int64(s.data) - 1) / int64(s.data)
	size := max(share, s.leastPart())
	for size < share+s.own(size) {
		size = share + s.own(size)
	}
	return (size + mib - 1) / mib * mib
}

// leastPart is the smallest part of a disk that the tools make a filesystem of.
func (s scheme) leastPart() int64 {
	switch s.filesystem {
	case "xfs":
		return minXFSDisk / int64(s.data)
	case "ext4":
		return minExt4Disk
	}
	return minBtrfsDisk
}

// reserve is how much of each disk only a repair uses, in whole MiB.
func (s scheme) reserve() int64 {
	if s.backend != Btrfs || s.tolerates() == 0 {
		return 0
	}
	part, room := s.partSize(), int64(0)
	for room < s.rebuildRoom(part+room) {
		room = (s.rebuildRoom(part+room) + mib - 1) / mib * mib
	}
	return room
}

// rebuildRoom is how much of each disk must be in no chunk when one begins to be rebuilt. btrfs copies chunk after chunk,
// and what is written meanwhile to the one in work goes to a new one: of data, of metadata and of the system. Writes of
// small pieces hold as much metadata again in advance. Chunks are a tenth of all disks large, but at most 1 GiB of data,
// 256 MiB of metadata and 32 MiB of the system.
func (s scheme) rebuildRoom(disk int64) int64 {
	tenth := disk * int64(s.disks()) / 10
	return (min(tenth, 1024*mib)+2*min(tenth, 256*mib))/int64(s.data) + 2*32*mib
}

// nominalSize is how large a disk says that it is. A repair leaves chunks behind that are half full, and emptying them
// beside the load of a server takes minutes and can fail, so each one may take room anew. The files are sparse: what a
// chunk does not hold takes no space.
func (s scheme) nominalSize() int64 { return s.partSize() + 8*s.reserve() }
