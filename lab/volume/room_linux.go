package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

// btrfsDeviceInfo is the request for what a device of a filesystem holds: _IOWR(0x94, 30, 4096 bytes).
const btrfsDeviceInfo = 0xD000941E

// deviceInfo is its answer; linux/btrfs.h has it.
type deviceInfo struct {
	device      uint64
	_           [16]byte // UUID
	used, total uint64   // bytes
	_           [4096 - 40]byte
}

// minResize is the smallest size that btrfs gives a device that it was made for already.
const minResize = 256 * mib

// makeRoom lets the disks of a btrfs grow before one of them is rebuilt. btrfs rebuilds chunk after chunk, and what is
// written meanwhile to the one in work goes to a new one, with a copy on the disk that failed as well as btrfs knows.
// Without room on any of them the rebuild fails, or worse, the writes do. Disks are made with that room, but data that
// were written and deleted may have taken it.
func (v *blocks) makeRoom(ctx context.Context) error {
	s := v.m.scheme
	if s.backend != Btrfs {
		return nil
	}
	lacks, err := v.lacksRoom()
	if err == nil && len(lacks) > 0 {
		v.compact(ctx, 75)
		lacks, err = v.lacksRoom()
	}
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, d := range v.disks {
		if lack, ok := lacks[i]; ok {
			if err := v.enlarge(ctx, i, d, lack); err != nil {
				return err
			}
		}
	}
	return nil
}

// lack is how much of a disk is in no chunk, and how much there is of it in all.
type lack struct{ free, total int64 }

// lacksRoom finds the disks on which too little is free for rebuilding one.
func (v *blocks) lacksRoom() (map[int]lack, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	dir, err := os.Open(v.path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	room := v.m.scheme.rebuildRoom(v.m.o.Layout.DiskSize)
	lacks := map[int]lack{}
	for i, d := range v.disks {
		if d.absent {
			continue
		}
		info := deviceInfo{device: uint64(i + 1)}
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, dir.Fd(), btrfsDeviceInfo, uintptr(unsafe.Pointer(&info))); errno != 0 {
			return nil, fmt.Errorf("cannot tell how full disk %s is: %w", d.name, errno)
		}
		if free := int64(info.total - info.used); free < room-spareRoom {
			lacks[i] = lack{free, int64(info.total)}
		}
	}
	return lacks, nil
}

// enlarge lets a disk grow by what it lacks. v.mu must be held.
func (v *blocks) enlarge(ctx context.Context, i int, d *disk, l lack) error {
	room := v.m.scheme.rebuildRoom(v.m.o.Layout.DiskSize)
	if !d.answers() || d.server != nil { // cannot grow
		return fmt.Errorf("disk %s has %s of free chunks, and rebuilding a disk beside the load of a server takes %s: heal the disks that failed and repair the volume, which gives chunks back, or delete data and repair it again",
			d.name, figure.Bytes(l.free), figure.Bytes(room))
	}
	by := (max(room-l.free, minResize-l.total) + mib - 1) / mib * mib
	if err := enough(filepath.Dir(d.file), by, 0); err != nil {
		return err
	}
	if err := d.grow(by); err != nil {
		return fmt.Errorf("cannot make room on disk %s: %w", d.name, err)
	}
	_, err := tools{v.m.o.Tools}.run(ctx, "btrfs", "filesystem", "resize", strconv.Itoa(i+1)+":max", v.path)
	return err
}

// grow makes a plain disk larger.
func (d *disk) grow(by int64) error {
	fi, err := os.Stat(d.file)
	if err != nil {
		return err
	}
	if fileID(fi) != d.backing.id {
		return fmt.Errorf("%s is not the file that was made for the disk", d.file)
	}
	if err := os.Truncate(d.file, fi.Size()+by); err != nil {
		return err
	}
	dev, _, err := openLoop(d.device, d.backing)
	if dev == nil {
		return errors.Join(fmt.Errorf("%s does not belong to %s any more", d.device, d.file), err)
	}
	defer dev.Close()
	return unix.IoctlSetInt(int(dev.Fd()), unix.LOOP_SET_CAPACITY, 0)
}
