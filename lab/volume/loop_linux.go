package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// shutLimit is the size of the device of a failed disk, in bytes: one sector, because 0 means no limit. The kernel
// rejects all requests beyond it before they reach the file, which keeps its content.
const shutLimit = 512

// releaseLimit is how long a device or a mount may stay in use on a busy machine.
const releaseLimit = 60 * time.Second

// backing is the file of a loop device, and the mark of the lab that attached it.
type backing struct {
	path string
	id   string // "device:inode"
	mark string
}

// fileID identifies a file as long as it exists.
func fileID(fi fs.FileInfo) string {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}

// attachLoop attaches a file to a loop device. It uses direct I/O if the filesystem of the file supports that, so that
// nothing is cached twice.
func attachLoop(ctx context.Context, b backing) (device string, err error) {
	file, err := os.OpenFile(b.path, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return "", fmt.Errorf("cannot open the file of the disk: %w", err)
	}
	defer file.Close()
	if fi, err := file.Stat(); err != nil || fileID(fi) != b.id {
		return "", errors.Join(fmt.Errorf("%s is not the file that the lab made for the disk", b.path), err)
	}
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return "", fmt.Errorf("cannot open the control of loop devices: %w", err)
	}
	defer control.Close()
	for {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return "", fmt.Errorf("there is no free loop device: %w", err)
		}
		device = "/dev/loop" + strconv.Itoa(n)
		err = configureLoop(device, file, b.mark)
		// Another program may have taken the device meanwhile, or its node in /dev may not exist yet.
		if !errors.Is(err, unix.EBUSY) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENXIO) {
			if err != nil {
				err = fmt.Errorf("cannot attach %s to %s: %w", b.path, device, err)
			}
			return device, err
		}
		if ctx.Err() != nil {
			return "", fmt.Errorf("cannot attach a loop device, the last attempt was %s: %w", device,
				errors.Join(err, context.Cause(ctx)))
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func configureLoop(device string, file *os.File, mark string) error {
	dev, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer dev.Close()
	for _, flags := range []uint32{unix.LO_FLAGS_DIRECT_IO, 0} {
		c := unix.LoopConfig{Fd: uint32(file.Fd()), Info: unix.LoopInfo64{Flags: flags}}
		copy(c.Info.File_name[:unix.LO_NAME_SIZE-1], mark)
		if err = unix.IoctlLoopConfigure(int(dev.Fd()), &c); !errors.Is(err, unix.EINVAL) {
			return err
		}
	}
	return err
}

// openLoop opens a loop device if it is attached to the file, and returns its status. Both are nil if it is not.
func openLoop(device string, b backing) (*os.File, *unix.LoopInfo64, error) {
	if backingFile(device) != b.path { // read from /sys, without opening the device
		return nil, nil, nil
	}
	dev, err := os.OpenFile(device, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENXIO) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := unix.IoctlLoopGetStatus64(int(dev.Fd()))
	switch {
	case err == nil && b.matches(info):
		return dev, info, nil
	case serverEnded(err): // no other file has this path
		return dev, &unix.LoopInfo64{}, nil
	case errors.Is(err, unix.ENXIO):
		err = nil
	}
	dev.Close()
	return nil, nil, err
}

// serverEnded says whether the status of a file cannot be read because the program that serves it has ended, or is
// ending.
func serverEnded(err error) bool {
	return errors.Is(err, unix.ENOTCONN) || errors.Is(err, unix.ECONNABORTED) || errors.Is(err, unix.EIO) ||
		errors.Is(err, unix.ESTALE)
}

func (b backing) matches(info *unix.LoopInfo64) bool {
	mark := b.mark[:min(len(b.mark), unix.LO_NAME_SIZE-1)] // the kernel truncates it
	return fmt.Sprintf("%d:%d", info.Device, info.Inode) == b.id && unix.ByteSliceToString(info.File_name[:]) == mark
}

// loopsOf finds the loop devices of a file.
func loopsOf(b backing) ([]string, error) {
	dirs, err := filepath.Glob("/sys/block/loop*/loop")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, dir := range dirs {
		device := "/dev/" + filepath.Base(filepath.Dir(dir))
		f, _, err := openLoop(device, b)
		if err != nil {
			return nil, fmt.Errorf("cannot read the status of %s: %w", device, err)
		}
		if f != nil {
			f.Close()
			found = append(found, device)
		}
	}
	return found, nil
}

// detachLoop detaches all loop devices of a file and waits until that is done. The kernel detaches a device in use when
// its last user closes it.
func detachLoop(ctx context.Context, b backing) error {
	w := newWait()
	for {
		devices, err := loopsOf(b)
		if err != nil || len(devices) == 0 {
			return err
		}
		for _, device := range devices {
			if err := clearLoop(device, b); err != nil {
				return fmt.Errorf("cannot detach %s from %s: %w", device, b.path, err)
			}
		}
		if err := w.pause(ctx, devices[0]); err != nil {
			return fmt.Errorf("cannot detach %s: %w", b.path, err)
		}
	}
}

// wait waits until a device is not in use any more.
type wait struct{ deadline, unmount time.Time }

// unmountAfter is when copies of mounts are unmounted. Most devices are free before.
const unmountAfter = 250 * time.Millisecond

func newWait() *wait {
	now := time.Now()
	return &wait{now.Add(releaseLimit), now.Add(unmountAfter)}
}

// pause waits a moment. After some time it also unmounts copies of the filesystem on the device. At the deadline it
// returns an error with the users of the device.
func (w *wait) pause(ctx context.Context, device string) error {
	over := ctx.Err() != nil || time.Now().After(w.deadline)
	if over || time.Now().After(w.unmount) {
		held := unmountCopies(device)
		if over {
			return fmt.Errorf("%s is still in use: %s. End the processes that use it and run the command again",
				device, usersText(held))
		}
		w.unmount = time.Now().Add(4 * unmountAfter)
	}
	time.Sleep(5 * time.Millisecond)
	return nil
}

func clearLoop(device string, b backing) error {
	forgetBtrfs(device)
	dev, _, err := openLoop(device, b)
	if dev == nil {
		return err
	}
	defer dev.Close()
	err = unix.IoctlSetInt(int(dev.Fd()), unix.LOOP_CLR_FD, 0)
	if errors.Is(err, unix.ENXIO) || errors.Is(err, unix.EBUSY) { // detached, or being closed: the caller checks again
		return nil
	}
	return err
}

// limitLoop limits the size of a loop device in bytes; 0 is no limit.
func limitLoop(device string, b backing, limit uint64) error {
	for try := 0; ; try++ {
		dev, info, err := openLoop(device, b)
		if err != nil {
			return err
		}
		if dev == nil {
			return fmt.Errorf("%s is no longer attached to %s, because another program detached it", device, b.path)
		}
		info.Sizelimit = limit
		err = unix.IoctlLoopSetStatus64(int(dev.Fd()), info)
		dev.Close()
		if !errors.Is(err, unix.EAGAIN) || try == 200 { // EAGAIN: pages of the device are being read
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// awaitRelease waits until no filesystem uses a device. A copy of the mount in another mount namespace keeps a
// filesystem alive after it was unmounted, with all its errors, and mounting the device again would give the same
// filesystem.
func awaitRelease(ctx context.Context, device string) error {
	w := newWait()
	for {
		f, err := os.OpenFile(device, os.O_RDONLY|unix.O_EXCL, 0)
		if err == nil {
			return f.Close()
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENXIO) {
			return nil // it does not exist any more
		}
		if !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("cannot check whether %s is in use: %w", device, err)
		}
		if err := w.pause(ctx, device); err != nil {
			return err
		}
	}
}
