package volume

import (
	"fmt"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// The minimum sizes of disks, found by trying: btrfs-progs need 125 MiB in an array, mkfs.xfs needs 300 MiB.
const (
	minBtrfsDisk = 128 * mib
	minXFSDisk   = 304 * mib
	minExt4Disk  = 16 * mib
)

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
			return l, fmt.Errorf("storage: cache: %s is not smaller than a disk of the volume (%s). "+
				"Use a smaller cache, or a faster device", c.Size, figure.Bytes(l.DiskSize))
		}
	}
	l.Notes = append(l.Notes, s.sizeNotes()...)
	if s.tolerates() == 0 && n > 1 {
		l.Notes = append(l.Notes, noteStripe)
	}
	if UsesFaultfs(s.policy) {
		l.Notes = append(l.Notes, "the disks are files of the fault filesystem, which adds about 20 µs to each request")
	}
	return l, nil
}

// profile is the backend's name of a layout.
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

// btrfsProfile is the profile of data in btrfs.
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

// btrfsMetadata is the profile of metadata. It is that of data, except that it is never parity, which btrfs advises
// against, and that one disk has two copies, the default of mkfs.btrfs. With one copy, the space for metadata ends
// before data fill the disk.
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

// mdLevel is the RAID level.
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

// diskSize is the size of each disk in bytes: the part of the filesystem, and the reserve for a repair.
func (s scheme) diskSize() int64 { return s.partSize() + s.reserve() }

// partSize is the part of each disk that the filesystem uses, in whole MiB: enough for the size of the policy, and
// hardly more.
func (s scheme) partSize() int64 {
	share := (int64(s.policy.Size) + int64(s.data) - 1) / int64(s.data)
	size := max(share, s.leastPart())
	for size < share+s.own(size) {
		size = share + s.own(size)
	}
	return (size + mib - 1) / mib * mib
}

// leastPart is the minimum part of a disk for which the tools make a filesystem.
func (s scheme) leastPart() int64 {
	switch s.filesystem {
	case "xfs":
		return minXFSDisk / int64(s.data)
	case "ext4":
		return minExt4Disk
	}
	return minBtrfsDisk
}

// reserve is the part of each disk that only a repair uses, in whole MiB.
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

// rebuildRoom is how much of each disk must not be allocated to a chunk when a rebuild starts. btrfs copies one chunk
// after the other. Writes to the chunk that is being copied go to a new chunk: of data, of metadata and of the system.
// Small writes reserve the same amount of metadata again in advance. The size of a chunk is a tenth of all disks, but
// at most 1 GiB for data, 256 MiB for metadata and 32 MiB for the system.
func (s scheme) rebuildRoom(disk int64) int64 {
	tenth := disk * int64(s.disks()) / 10
	return (min(tenth, 1024*mib)+2*min(tenth, 256*mib))/int64(s.data) + 2*32*mib
}

// nominalSize is the size of the file of a disk. Each repair leaves half-full chunks and may need new space, because
// emptying them during load takes minutes and can fail. The files are sparse, so unused parts of chunks take no space.
func (s scheme) nominalSize() int64 { return s.partSize() + 8*s.reserve() }
