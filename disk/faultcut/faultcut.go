// Package faultcut cuts the power of the virtual disk (plimsoll faultfs) below a directory, for grade C of the
// durability verdict. The cut reverts all writes that were not flushed to the disk; then the filesystem is mounted and
// repaired. The package supports one filesystem on one loop device over one disk of a faultfs.
package faultcut

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk"
	"github.com/plimsoll-bench/plimsoll/disk/device"
	"github.com/plimsoll-bench/plimsoll/internal/childproc"
	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
)

// Cutter cuts the power of the disks of one faultfs.
type Cutter struct {
	client *faultfs.Client
	socket string
	system device.System
	// stored by Cut for Return
	mount mountinfo.Mount
	loop  string // /dev/loop0
	file  string // of the disk in the mount of the faultfs
}

// Dial connects to the faultfs behind a control socket.
func Dial(ctx context.Context, socket string) (*Cutter, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	c, err := faultfs.Dial(ctx, socket)
	if err != nil {
		return nil, err
	}
	return &Cutter{client: c, socket: socket, system: device.Here()}, nil
}

func (c *Cutter) Covers() string {
	return "the filesystem, its mount options and its repair after a power cut, down to the virtual disk"
}

func (c *Cutter) Blind() string { return "the real device: the power of a virtual disk was cut" }

func (c *Cutter) Cut(ctx context.Context, dir string) (discarded int64, err error) {
	if err := c.find(dir); err != nil {
		return 0, err
	}
	name := filepath.Base(c.file)
	if err := c.client.Cut(ctx, name, faultfs.PowerCut{}); err != nil {
		return 0, err
	}
	s, err := c.client.Stats(ctx, name)
	return s.Undone, err
}

// find finds the disk of a directory.
func (c *Cutter) find(dir string) error {
	m, ok := c.system.MountOf(dir)
	if !ok {
		return fmt.Errorf("cannot find the filesystem of %s in the list of mounts", dir)
	}
	storage, err := c.system.Storage(dir)
	if err != nil {
		return err
	}
	if len(storage.Devices) == 0 || storage.Devices[0].Kind != "loop" ||
		storage.Devices[0].BackingFilesystem != faultfs.FSType {
		return fmt.Errorf("the power of %s cannot be cut, because it is not on a loop device of plimsoll faultfs (it is %s on %s)",
			dir, m.Type, m.Source)
	}
	c.mount, c.loop, c.file = m, "/dev/"+storage.Devices[0].Name, storage.Devices[0].Backing
	return nil
}

// Check returns an error if the disk of a directory has no power, for example because a probe was killed during a power
// cut. The error says how to restore it; Plimsoll does not, because the disk is the user's.
func (c *Cutter) Check(ctx context.Context, dir string) error {
	if err := c.find(dir); err != nil {
		return err
	}
	name := filepath.Base(c.file)
	s, err := c.client.Stats(ctx, name)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(s.Faults, func(f faultfs.Fault) bool { return f.Kind == faultfs.Dead }) {
		return nil
	}
	return fmt.Errorf("the disk %s below %s has no power, because a probe was killed while it was cut, or plimsoll faultfs ctl cut it; to bring it back: "+
		"umount %[3]s; losetup -d %[4]s; plimsoll faultfs ctl --socket %[5]s restore %[1]s; mount -o loop %[6]s %[3]s", name, dir, c.mount.Point, c.loop, c.socket, c.file)
}

func (c *Cutter) Return(ctx context.Context, _ string) error {
	if c.loop == "" {
		return errors.New("no power was cut")
	}
	// Without power the filesystem cannot write its dirty pages, as on a machine without power.
	if err := command(ctx, "umount", c.mount.Point); err != nil {
		return err
	}
	if err := c.detach(ctx); err != nil {
		return err
	}
	if err := c.client.Restore(ctx, filepath.Base(c.file)); err != nil {
		return err
	}
	loop, err := output(ctx, "losetup", "--find", "--show", c.file)
	if err != nil {
		return err
	}
	options := c.mount.Options
	for o := range strings.SplitSeq(c.mount.Super, ",") {
		switch o {
		case "nobarrier", "barrier=0", "noquota", "discard": // options that change durability
			options += "," + o
		}
	}
	err = command(ctx, "mount", "-t", c.mount.Type, "-o", options, loop, c.mount.Point)
	if err != nil {
		err = errors.Join(err, command(ctx, "losetup", "--detach", loop))
	}
	if err != nil && slices.ContainsFunc(damaged, func(text string) bool { return strings.Contains(err.Error(), text) }) {
		return &disk.DamagedError{Err: err}
	}
	return err
}

// detach detaches the loop device and waits until the kernel has done so. It does that when nothing uses the device any
// more. Before, the old filesystem could write to the disk that has power again.
func (c *Cutter) detach(ctx context.Context) error {
	before := c.backing()
	if err := command(ctx, "losetup", "--detach", c.loop); err != nil {
		return err
	}
	for c.backing() != "" && c.backing() == before {
		if err := wait.Sleep(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("%s is still in use, perhaps in the mount namespace of another process: %w", c.loop, err)
		}
	}
	return nil
}

// backing is the file of the loop device; "" if it has none.
func (c *Cutter) backing() string {
	text, _ := os.ReadFile(filepath.Join("/sys/block", filepath.Base(c.loop), "loop/backing_file"))
	return string(text)
}

// damaged is what mount(8) says of a filesystem that the kernel refuses because of its content (EUCLEAN, EINVAL, EIO
// and EBADMSG). The same filesystem was mounted with the same options before the power cut.
var damaged = []string{"probably corrupted filesystem", "bad superblock", "can't read superblock", "Structure needs cleaning",
	"Bad message"}

func command(ctx context.Context, name string, args ...string) error {
	_, err := output(ctx, name, args...)
	return err
}

// output runs a program and returns its output. The program has its own process group, so that Ctrl-C, which reaches
// all processes of a terminal's foreground group, does not interrupt the return of the power.
func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := childproc.CommandContext(ctx, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(cmd.Environ(), "LC_ALL=C") // the messages of mount are read
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(failed.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
