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

// ballast is a file without a name that reserves the space for rebuilding a disk. It takes no space on the real disk,
// and ends with its process or its mount, however these end. Quotas of btrfs could reserve the space as well, but they
// reject writes while a disk is replaced.
type ballast struct {
	file *os.File
	size int64
}

// fillBallast extends the ballast until the free space is the rest of the policy's size, and hardly more. The caller
// holds v.mu.
func (v *blocks) fillBallast() error {
	if v.m.o.Layout.Reserve == 0 || v.degraded {
		return nil
	}
	piece := int64(1) << 62
	for range 20 { // during load the free space is fragmented, so smaller pieces are tried
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
			return fmt.Errorf("cannot reserve the space for rebuilding disks: %w", err)
		}
	}
	return nil
}

// excess is the free space beyond the policy's size, in bytes. The caller holds v.mu.
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

// used is the space that the member uses, in bytes. The caller holds v.mu.
func (v *blocks) used(s space) int64 { return max(0, s.used-v.own-v.ballast.size) }

// dropBallast frees the space of the ballast. The caller holds v.mu.
func (v *blocks) dropBallast() {
	if v.ballast.file != nil {
		v.ballast.file.Close() // an error is ignored, because the file has no data
		v.ballast = ballast{}
	}
}

// makeRoom makes sure that every disk has enough space outside of chunks before a disk is rebuilt or all are compared:
// writes go to a new chunk instead of the one that is being copied. If a disk, even the failed one, has no such space,
// the rebuild or the whole filesystem fails.
func (v *blocks) makeRoom(ctx context.Context) error {
	if v.m.o.Layout.Reserve == 0 {
		return nil
	}
	v.mu.Lock()
	v.dropBallast()
	v.mu.Unlock()
	if err := syncAll(v.path); err != nil {
		return err
	}
	// Frees empty chunks. A failure is ignored, because it loses nothing.
	_, _ = tools{v.m.o.Tools}.run(ctx, "btrfs", "balance", "start", "-dusage=0", "-musage=0", v.path)
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, d := range v.disks {
		if d.absent {
			continue
		}
		if err := v.widen(ctx, i, d, v.m.o.Layout.Reserve); err != nil && d.answers() { // else the rebuild reports it
			return fmt.Errorf("a rebuild during load needs %s on every disk, but disk %s does not have it: %w. "+
				"Revert the faults of the failed disks, or delete data, and repair the volume again",
				figure.Bytes(v.m.o.Layout.Reserve), d.name, err)
		}
	}
	return nil
}

// widenDead gives the filesystem space on a disk that is about to fail. That is not possible later, because the kernel
// then sees the disk as an empty one, but a rebuild needs space on all disks. The other disks may fill up meanwhile,
// and use the same amount of the failed one. The caller holds v.mu.
func (v *blocks) widenDead(ctx context.Context, d *disk) error {
	var free int64
	for i, other := range v.disks {
		if v.m.o.Layout.Reserve == 0 || other.absent {
			continue
		}
		info, err := v.deviceInfo(i)
		if err != nil {
			return err
		}
		free = max(free, int64(info.total-info.used))
	}
	return v.widen(ctx, slices.Index(v.disks, d), d, free+v.m.o.Layout.Reserve)
}

// widen extends the filesystem on a disk until it has room bytes outside of chunks. The caller holds v.mu.
func (v *blocks) widen(ctx context.Context, i int, d *disk, room int64) error {
	if v.m.o.Layout.Reserve == 0 || d.device == "" || d.absent {
		return nil
	}
	info, err := v.deviceInfo(i)
	if err != nil {
		return err
	}
	lacks := room - int64(info.total-info.used)
	if lacks <= v.m.o.Layout.Reserve/10 {
		return nil
	}
	to := int64(info.total) + lacks
	if most := v.m.scheme.nominalSize(); to > most {
		return fmt.Errorf("%s of it are used", figure.Bytes(int64(info.used)))
	}
	_, err = tools{v.m.o.Tools}.run(ctx, "btrfs", "filesystem", "resize", fmt.Sprintf("%d:%d", i+1, to), v.path)
	return err
}

func (v *blocks) deviceInfo(i int) (deviceInfo, error) {
	info := deviceInfo{device: uint64(i + 1)}
	dir, err := os.Open(v.path)
	if err != nil {
		return info, err
	}
	defer dir.Close()
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, dir.Fd(), btrfsDeviceInfo, uintptr(unsafe.Pointer(&info)))
	if errno != 0 {
		return info, fmt.Errorf("cannot read how full it is: %w", errno)
	}
	return info, nil
}

const btrfsDeviceInfo = 0xD000941E // _IOWR(0x94, 30, 4096 bytes)

// deviceInfo is struct btrfs_ioctl_dev_info_args of linux/btrfs.h.
type deviceInfo struct {
	device      uint64
	_           [16]byte // UUID
	used, total uint64   // bytes
	_           [4096 - 40]byte
}

// syncAll writes the dirty pages of a filesystem to its disks.
func syncAll(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return unix.Syncfs(int(dir.Fd()))
}

// restoreBallast fills the ballast after a repair. If that fails, the volume reports a larger capacity.
func (v *blocks) restoreBallast() {
	v.mu.Lock()
	defer v.mu.Unlock()
	_ = v.fillBallast()
}
