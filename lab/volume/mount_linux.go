package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
	"golang.org/x/sys/unix"
)

// mountsAt returns the mounts at a path, the topmost last.
func mountsAt(path string) ([]mountinfo.Mount, error) {
	all, err := mountinfo.Self()
	return slices.DeleteFunc(all, func(m mountinfo.Mount) bool { return m.Point != path }), err
}

// readOnly says whether a filesystem is read-only, as after an error.
func readOnly(m mountinfo.Mount) bool {
	return slices.ContainsFunc(strings.Split(m.Super, ","), func(o string) bool {
		return o == "ro" || o == "emergency_ro" || o == "shutdown"
	})
}

// unmount unmounts a path as often as it is mounted, and returns when no filesystem uses the device. It waits for the
// users of the mount, because a mount that is only detached keeps its devices in use.
func unmount(ctx context.Context, path string, ours func(mountinfo.Mount) error) error {
	deadline, device := time.Now().Add(releaseLimit), ""
	for {
		at, err := mountsAt(path)
		if err != nil {
			return err
		}
		if len(at) == 0 {
			break
		}
		if err := ours(at[len(at)-1]); err != nil {
			return err
		}
		if source := at[len(at)-1].Source; strings.HasPrefix(source, "/dev/") {
			device = source
		}
		err = unix.Unmount(path, unix.UMOUNT_NOFOLLOW)
		if err == nil || errors.Is(err, unix.EINVAL) { // EINVAL: it is not mounted any more
			continue
		}
		if !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("cannot unmount %s: %w", path, err)
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return fmt.Errorf("cannot unmount %s: %s. End the processes that use it and run the command again", path, busyText(path))
		}
		time.Sleep(10 * time.Millisecond)
	}
	if device == "" {
		return nil
	}
	return awaitRelease(ctx, device)
}

// busyText names a process that has a file open in a directory.
func busyText(path string) string {
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	cwds, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, l := range append(links, cwds...) {
		to, err := os.Readlink(l)
		if err == nil && (to == path || strings.HasPrefix(to, path+"/")) {
			return fmt.Sprintf("process %s uses %s", strings.Split(l, "/")[2], to)
		}
	}
	return "it is in use"
}

// The requests of btrfs in linux/btrfs.h.
const (
	btrfsForgetDevice = 0x50009405 // _IOW(0x94, 5, 4096 bytes)
	btrfsScrub        = 0xC400941B // _IOWR(0x94, 27, 1024 bytes)
	btrfsScrubCancel  = 0x941C     // _IO(0x94, 28)
)

// forgetBtrfs makes the kernel forget that a device was part of a btrfs that is not mounted. Otherwise the kernel may
// take a new disk with the same name for the old one.
func forgetBtrfs(device string) {
	control, err := os.OpenFile("/dev/btrfs-control", os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer control.Close()
	args := struct {
		_    int64
		name [4088]byte
	}{}
	copy(args.name[:4087], device)
	// It fails if the device is mounted or not known, which is fine.
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, control.Fd(), btrfsForgetDevice, uintptr(unsafe.Pointer(&args)))
}

// noCopyOnWrite is the flag of files that btrfs writes in place, without checksums.
const noCopyOnWrite = 0x00800000 // FS_NOCOW_FL

// writeInPlace sets noCopyOnWrite on a directory, whose new files inherit it, and checks that it is set.
func writeInPlace(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags|noCopyOnWrite)
	}
	if err == nil {
		flags, err = unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	}
	if err == nil && flags&noCopyOnWrite == 0 {
		err = errors.New("the filesystem does not keep the flag")
	}
	if err != nil {
		return fmt.Errorf("cannot disable checksums in %s: %w", dir, err)
	}
	return nil
}
