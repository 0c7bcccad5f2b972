package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

// ballast is a file without a name that holds the room for rebuilding a disk, so that nothing else is written there. It
// takes no space on the real disk, and ends with its process or its mount, whatever ends those. Quotas of btrfs would
// hold the size as well, but refuse writes while a disk is replaced.
type ballast struct {
	file *os.File
	size int64
}

// load makes the ballast so large that the rest of what was asked for can be written and hardly more. What data stand in
// already is left to them. v.mu must be held.
func (v *blocks) load() error {
	if v.m.o.Layout.Reserve == 0 || v.degraded {
		return nil
	}
	piece := int64(1) << 62
	for range 20 { // what is free in all is not free at once beside a load: smaller pieces may be
		room, err := v.excess()
		if err != nil || room <= int64(v.m.o.Policy.Size)/32 {
			return err
		}
		if v.ballast.file == nil {
			if v.ballast.file, err = os.OpenFile(v.path, unix.O_TMPFILE|os.O_RDWR, 0o600); err != nil {
				return err
			}
		}
		piece = min(piece, room)
		err = unix.Fallocate(int(v.ballast.file.Fd()), 0, v.ballast.size, piece)
		switch {
		case err == nil:
			v.ballast.size += piece
		case errors.Is(err, unix.ENOSPC):
			piece = max(piece/2, 8*mib)
		default:
			return fmt.Errorf("cannot hold the room for rebuilding disks: %w", err)
		}
	}
	return nil
}

// excess is how much more can be written than was asked for, in bytes. v.mu must be held.
func (v *blocks) excess() (int64, error) {
	if err := syncAll(v.path); err != nil {
		return 0, err
	}
	s, err := spaceOf(v.path)
	if err != nil {
		return 0, err
	}
	return s.free - max(0, int64(v.m.o.Policy.Size)-v.used(s)), nil
}

// used is how much of the volume is used by whom it was made for, in bytes. v.mu must be held.
func (v *blocks) used(s space) int64 { return max(0, s.used-v.own-v.ballast.size) }

// unload gives the room that the ballast holds to whoever needs it. v.mu must be held.
func (v *blocks) unload() {
	if v.ballast.file != nil {
		v.ballast.file.Close() // what cannot be written any more is gone with the mount
		v.ballast = ballast{}
	}
}

// makeRoom sees to it that enough of every disk is in no chunk before one of them is rebuilt or all are compared: the chunk
// in work is not written to, and what is written meanwhile needs another one. Without room on any disk, the one that
// failed included, the rebuild fails, or worse, the filesystem gives up.
func (v *blocks) makeRoom(ctx context.Context) error {
	if v.m.o.Layout.Reserve == 0 {
		return nil
	}
	v.mu.Lock()
	v.unload()
	v.mu.Unlock()
	if err := syncAll(v.path); err != nil {
		return err
	}
	v.compact(ctx)
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, d := range v.disks {
		if d.absent {
			continue
		}
		if err := v.widen(ctx, i, d, v.m.o.Layout.Reserve); err != nil && d.answers() { // of the others the rebuild says it
			return fmt.Errorf("rebuilding a disk beside the load of a server takes %s on every disk, and disk %s cannot have that: %w: heal the disks that failed, or delete data, and repair it again",
				figure.Bytes(v.m.o.Layout.Reserve), d.name, err)
		}
	}
	return nil
}

// widenDead gives the filesystem room on a disk that is about to answer no more: nobody can give it any later, because the
// kernel then takes the disk for an empty one, and rebuilding it takes room on all disks. The others may fill up meanwhile,
// and take as much of it. v.mu must be held.
func (v *blocks) widenDead(ctx context.Context, d *disk) error {
	var free int64
	for i, other := range v.disks {
		if v.m.o.Layout.Reserve == 0 || other.absent {
			continue
		}
		info, err := v.ask(i)
		if err != nil {
			return err
		}
		free = max(free, int64(info.total-info.used))
	}
	return v.widen(ctx, slices.Index(v.disks, d), d, free+v.m.o.Layout.Reserve)
}

// widen gives the filesystem as much more of a disk as it lacks to have so much in no chunk. v.mu must be held.
func (v *blocks) widen(ctx context.Context, i int, d *disk, room int64) error {
	if v.m.o.Layout.Reserve == 0 || d.device == "" || d.absent {
		return nil
	}
	info, err := v.ask(i)
	if err != nil {
		return err
	}
	lacks := room - int64(info.total-info.used)
	if lacks <= v.m.o.Layout.Reserve/10 {
		return nil
	}
	to := int64(info.total) + lacks
	if most := v.m.scheme.nominalSize(); to > most {
		return fmt.Errorf("%s of it are taken", figure.Bytes(int64(info.used)))
	}
	_, err = tools{v.m.o.Tools}.run(ctx, "btrfs", "filesystem", "resize", fmt.Sprintf("%d:%d", i+1, to), v.path)
	return err
}

// ask asks btrfs about a disk.
func (v *blocks) ask(i int) (deviceInfo, error) {
	info := deviceInfo{device: uint64(i + 1)}
	dir, err := os.Open(v.path)
	if err != nil {
		return info, err
	}
	defer dir.Close()
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, dir.Fd(), btrfsDeviceInfo, uintptr(unsafe.Pointer(&info))); errno != 0 {
		return info, fmt.Errorf("cannot tell how full it is: %w", errno)
	}
	return info, nil
}

// btrfsDeviceInfo is the request for what a device of a filesystem holds: _IOWR(0x94, 30, 4096 bytes).
const btrfsDeviceInfo = 0xD000941E

// deviceInfo is its answer; linux/btrfs.h has it.
type deviceInfo struct {
	device      uint64
	_           [16]byte // UUID
	used, total uint64   // bytes
	_           [4096 - 40]byte
}

// syncAll writes what a filesystem holds in memory to its disks.
func syncAll(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return unix.Syncfs(int(dir.Fd()))
}

// keepRoom takes the room back when the repair is over. Without it more than the size can be written, which the volume
// then says of itself.
func (v *blocks) keepRoom() {
	v.mu.Lock()
	defer v.mu.Unlock()
	_ = v.load()
}

// compact gives back the chunks of a btrfs that are empty. Nothing is lost if it fails.
func (v *blocks) compact(ctx context.Context) {
	_, _ = tools{v.m.o.Tools}.run(ctx, "btrfs", "balance", "start", "-dusage=0", "-musage=0", v.path)
}
