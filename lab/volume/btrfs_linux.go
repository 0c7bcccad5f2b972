package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// scrubArgs is struct btrfs_ioctl_scrub_args of linux/btrfs.h.
type scrubArgs struct {
	device, start, end, flags uint64
	progress                  struct {
		dataExtents, treeExtents, dataBytes, treeBytes          uint64
		read, csum, verify, noCsum, csumDiscards, super, malloc uint64
		uncorrectable, corrected, lastPhysical, unverified      uint64
	}
	_ [1024 - 19*8]byte
}

// maxScrubs is how often copies are compared at most.
const maxScrubs = 5

// scrub compares and repairs all copies, until no error is found. It calls the kernel, because the program btrfs leaves
// a file about each scrub in /var/lib. A scrub does not see data that are not committed, so the filesystem is synced
// before.
func scrub(ctx context.Context, mount string, disks int) (verified, error) {
	var sum verified
	dir, err := os.Open(mount)
	if err != nil {
		return sum, err
	}
	defer dir.Close()
	for sum.Rounds < maxScrubs {
		if err := unix.Syncfs(int(dir.Fd())); err != nil {
			return sum, fmt.Errorf("cannot sync %s: %w", mount, err)
		}
		corrected, bad, err := scrubOnce(ctx, dir, disks)
		sum.Rounds++
		sum.Corrected += corrected
		sum.Uncorrectable = bad
		if err != nil || corrected == 0 {
			return sum, err
		}
	}
	return sum, nil
}

// scrubOnce scrubs all disks, one after the other, because they share the real disk.
func scrubOnce(ctx context.Context, dir *os.File, disks int) (corrected, uncorrectable int64, err error) {
	for i := range disks {
		a := scrubArgs{device: uint64(i + 1), end: ^uint64(0)}
		if err := scrubDevice(ctx, dir, &a); err != nil {
			return corrected, uncorrectable, fmt.Errorf("cannot compare the copies on disk %d: %w", i+1, err)
		}
		corrected += int64(a.progress.corrected)
		uncorrectable += int64(a.progress.uncorrectable)
	}
	return corrected, uncorrectable, ctx.Err()
}

func scrubDevice(ctx context.Context, dir *os.File, a *scrubArgs) error {
	done := make(chan error, 1)
	go func() {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, dir.Fd(), btrfsScrub, uintptr(unsafe.Pointer(a)))
		if errno == 0 {
			done <- nil
		} else {
			done <- errno
		}
	}()
	for {
		select {
		case err := <-done:
			if ctx.Err() != nil && errors.Is(err, unix.ECANCELED) {
				return context.Cause(ctx)
			}
			return err
		case <-time.After(50 * time.Millisecond):
		}
		if ctx.Err() != nil { // repeated, because the scrub may not have started
			_, _, _ = unix.Syscall(unix.SYS_IOCTL, dir.Fd(), btrfsScrubCancel, 0)
		}
	}
}
