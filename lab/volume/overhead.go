package volume

import (
	"fmt"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

// own is how much of a disk the filesystem and the array need for themselves, in bytes. The figures are those of
// mkfs.xfs 6.1, mke2fs 1.47 and mkfs.btrfs 6.2. A test compares them with the real tools.
func (s scheme) own(disk int64) int64 {
	var array int64
	if s.backend == MD || s.backend == LVM {
		array = 8 * mib // superblock, bitmap, extents
	}
	switch s.filesystem {
	case "xfs": // the log, reserved blocks, and the trees of the allocation groups
		return array + (98*mib+2*mib)/int64(s.data) + disk/128
	case "ext4":
		whole := (disk - array) * int64(s.data)
		return array + ext4Own(whole)/int64(s.data)
	}
	return s.btrfsOwn(disk)
}

// ext4Own is how much of a device ext4 needs: the journal, the tables of inodes, reserved clusters and group
// descriptors.
func ext4Own(size int64) int64 {
	if size < 512*mib { // type "small" of mke2fs: blocks of 1 KiB, and four times as many inodes
		return 8*mib + size/16 + size/50 + 4*mib
	}
	journal := 1024 * mib
	steps := []struct{ below, journal int64 }{{1, 16}, {2, 32}, {16, 64}, {32, 128}, {64, 256}, {128, 512}}
	for _, step := range steps {
		if size < step.below<<30 {
			journal = step.journal * mib
			break
		}
	}
	return journal + size/64 + size/200 + 18*mib
}

// btrfsOwn is how much of each disk btrfs needs: the first chunks of metadata and of the system. Further metadata uses
// the free space.
func (s scheme) btrfsOwn(disk int64) int64 {
	const first = 2 * mib // before the first chunk, and rounding
	if s.disks() == 1 {   // two copies of metadata on the same disk
		return first + 16*mib + 2*s.metadataChunk(disk, 2, 1)
	}
	stripes, data := s.disks(), 1
	switch {
	case s.parity > 0:
		stripes = 1 + s.parity // as many copies
	case s.data > 1:
		data = s.data
	}
	return first + 8*mib + s.metadataChunk(disk, stripes, data)
}

// metadataChunk is how much of each disk mkfs.btrfs allocates to metadata that is spread over stripes disks, data of
// which have different content.
func (s scheme) metadataChunk(disk int64, stripes, data int) int64 {
	total := disk * int64(s.disks())
	chunk := 256 * mib
	if total > 50<<30 {
		chunk = 1024 * mib
	}
	if most := min(chunk, total/10); chunk*int64(data) > most {
		chunk = most / int64(stripes)
	}
	return max(chunk, 32*mib)
}

// sizeNotes say why a volume has more space than the policy's size, and why its disks are larger.
func (s scheme) sizeNotes() []string {
	var notes []string
	part := s.partSize()
	if holds := (part - s.own(part)) * int64(s.data); holds > int64(s.policy.Size)*9/8 {
		notes = append(notes, fmt.Sprintf("the volume holds about %s, more than the size, because %s needs "+
			"a larger filesystem on %s", figure.Bytes(holds), s.filesystem, figure.Plural(s.disks(), "disk")))
	}
	if room := s.reserve(); room > 0 {
		notes = append(notes, fmt.Sprintf("%s of each disk are reserved for a rebuild during load. "+
			"They are writable while a repair runs", figure.Bytes(room)))
	}
	return notes
}
