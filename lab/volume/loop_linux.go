package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// shutLimit is how many bytes of a disk that does not answer can still be reached: one sector, because 0 means all.
// Every request beyond it is refused by the kernel before it reaches the file, which keeps its content.
const shutLimit = 512

// settled is how long is waited for the kernel to let go of a device or a mount. A busy machine takes its time.
const settled = 60 * time.Second

// backing is the file below a loop device as the kernel knows it, and the mark of the lab that attached it.
type backing struct {
	path string
	id   string // "device:inode"
	mark string
}

// fileID names a file for as long as it exists.
func fileID(fi fs.FileInfo) string {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}

// attachLoop makes a loop device of a file. Where the filesystem below can, it is used without its page cache, so that
// nothing is cached twice.
func attachLoop(ctx context.Context, b backing) (device string, err error) {
	file, err := os.OpenFile(b.path, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return "", fmt.Errorf("cannot open the file of the disk: %w", err)
	}
	defer file.Close()
	if fi, err := file.Stat(); err != nil || fileID(fi) != b.id {
		return "", errors.Join(fmt.Errorf("%s is not the file that was made for the disk", b.path), err)
	}
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return "", fmt.Errorf("cannot make a loop device: %w", err)
	}
	defer control.Close()
	for {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return "", fmt.Errorf("there is no free loop device: %w", err)
		}
		device = "/dev/loop" + strconv.Itoa(n)
		err = configureLoop(device, file, b.mark)
		// Another program may have taken it in between, or its node may be a moment late.
		if !errors.Is(err, unix.EBUSY) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENXIO) {
			if err != nil {
				err = fmt.Errorf("cannot attach %s to %s: %w", b.path, device, err)
			}
			return device, err
		}
		if ctx.Err() != nil {
			return "", fmt.Errorf("no loop device could be taken, the last try was %s: %w", device, errors.Join(err, context.Cause(ctx)))
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

// openLoop opens a loop device if it still belongs to a file, and returns its status. Both are nil if it does not.
func openLoop(device string, b backing) (*os.File, *unix.LoopInfo64, error) {
	if !holds(device, b.path) { // do not even open what is not ours
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
	case serverEnded(err): // nobody else has the path of the file
		return dev, &unix.LoopInfo64{}, nil
	case errors.Is(err, unix.ENXIO):
		err = nil
	}
	dev.Close()
	return nil, nil, err
}

// serverEnded says whether the kernel cannot tell about a file because the program that served it has ended, or ends.
func serverEnded(err error) bool {
	return errors.Is(err, unix.ENOTCONN) || errors.Is(err, unix.ECONNABORTED) || errors.Is(err, unix.EIO) || errors.Is(err, unix.ESTALE)
}

func (b backing) matches(info *unix.LoopInfo64) bool {
	return fmt.Sprintf("%d:%d", info.Device, info.Inode) == b.id && unix.ByteSliceToString(info.File_name[:]) == b.marked()
}

// marked is the mark as the kernel keeps it, which is cut at 63 bytes.
func (b backing) marked() string {
	return b.mark[:min(len(b.mark), unix.LO_NAME_SIZE-1)]
}

// holds says whether a loop device is attached to a path, as the kernel tells without opening it.
func holds(device, path string) bool {
	text := content(filepath.Join("/sys/block", filepath.Base(device), "loop/backing_file"))
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), " (deleted)")
	return text == path
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
			return nil, fmt.Errorf("cannot tell what %s is: %w", device, err)
		}
		if f != nil {
			f.Close()
			found = append(found, device)
		}
	}
	return found, nil
}

// detachLoop detaches all loop devices of a file and waits until the kernel has let go of them. A device that is in
// use is detached by the kernel when its last user is gone.
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
		if err := w.longer(ctx, devices[0]); err != nil {
			return fmt.Errorf("%w, and keeps %s", err, b.path)
		}
	}
}

// wait waits for a device to be let go of.
type wait struct{ deadline, look time.Time }

// lookAfter is when copies of mounts are looked for first, and how often then: most devices are free before.
const lookAfter = 250 * time.Millisecond

func newWait() *wait {
	now := time.Now()
	return &wait{now.Add(settled), now.Add(lookAfter)}
}

// longer waits a moment. When it was long it unmounts copies of what is on the device, and in the end it says who uses it.
func (w *wait) longer(ctx context.Context, device string) error {
	over := ctx.Err() != nil || time.Now().After(w.deadline)
	if over || time.Now().After(w.look) {
		held := forgetCopies(device)
		if over {
			return fmt.Errorf("%s is still in use (%s): end what uses it and try again", device, holders(held))
		}
		w.look = time.Now().Add(4 * lookAfter)
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
	if errors.Is(err, unix.ENXIO) || errors.Is(err, unix.EBUSY) { // gone, or being closed: looked at again
		return nil
	}
	return err
}

// limitLoop makes only the first bytes of a loop device reachable, or all of it if limit is 0.
func limitLoop(device string, b backing, limit uint64) error {
	for try := 0; ; try++ {
		dev, info, err := openLoop(device, b)
		if err != nil {
			return err
		}
		if dev == nil {
			return fmt.Errorf("%s does not belong to %s any more: somebody else detached it", device, b.path)
		}
		info.Sizelimit = limit
		err = unix.IoctlLoopSetStatus64(int(dev.Fd()), info)
		dev.Close()
		if !errors.Is(err, unix.EAGAIN) || try == 200 { // EAGAIN: pages of the device are being read right now
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// released waits until no filesystem holds a device. A mount that was copied into the mounts of another process keeps
// the filesystem alive after it was unmounted, with all its errors, and mounting it again would bring back the same.
func released(ctx context.Context, device string) error {
	w := newWait()
	for {
		f, err := os.OpenFile(device, os.O_RDONLY|unix.O_EXCL, 0)
		if err == nil {
			return f.Close()
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENXIO) {
			return nil // it is gone
		}
		if !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("cannot tell whether %s is in use: %w", device, err)
		}
		if err := w.longer(ctx, device); err != nil {
			return err
		}
	}
}
