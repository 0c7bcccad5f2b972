// Package faultcut takes away the power of the virtual disk (plimsoll faultfs) below a directory, for grade C of the
// durability verdict: everything that was not flushed to it is undone, then the filesystem is mounted again and repairs
// itself. It handles one filesystem on one loop device over one disk of a faultfs.
package faultcut

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk/device"
	"github.com/plimsoll-bench/plimsoll/fault/faultfs"
)

// Cutter cuts the power of the disks of one faultfs.
type Cutter struct {
	client *faultfs.Client
	system device.System
	// what is mounted, remembered by Cut for Return
	mount device.Mount
	loop  string // /dev/loop0
	file  string // of the disk in the mount of the faultfs
}

// Dial reaches the faultfs behind a control socket.
func Dial(ctx context.Context, socket string) (*Cutter, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	c, err := faultfs.Dial(ctx, socket)
	if err != nil {
		return nil, err
	}
	return &Cutter{client: c, system: device.Here()}, nil
}

// Covers implements disk.PowerCutter.
func (c *Cutter) Covers() string {
	return "the filesystem, its mount options and its repair after a power cut, down to the virtual disk"
}

// Blind implements disk.PowerCutter.
func (c *Cutter) Blind() string { return "the real device: the power of a virtual disk was cut" }

// Cut implements disk.PowerCutter.
func (c *Cutter) Cut(ctx context.Context, dir string) error {
	m, ok := c.system.MountOf(dir)
	if !ok {
		return fmt.Errorf("%s is on no filesystem that shows in the list of mounts", dir)
	}
	storage, err := c.system.Storage(dir)
	if err != nil {
		return err
	}
	if len(storage.Devices) == 0 || storage.Devices[0].Kind != "loop" || storage.Devices[0].BackingFilesystem != faultfs.FSType {
		return fmt.Errorf("%s does not stand on a loop device over a disk of plimsoll faultfs (it is %s on %s), so its power cannot be cut", dir, m.Type, m.Source)
	}
	c.mount, c.loop, c.file = m, "/dev/"+storage.Devices[0].Name, storage.Devices[0].Backing
	return c.client.Cut(ctx, filepath.Base(c.file), faultfs.PowerCut{})
}

// Return implements disk.PowerCutter.
func (c *Cutter) Return(ctx context.Context, _ string) error {
	if c.loop == "" {
		return errors.New("no power was cut")
	}
	// The filesystem without power cannot write what it still holds; that is what a machine without power does as well.
	if err := command(ctx, "umount", c.mount.Point); err != nil {
		return err
	}
	if err := command(ctx, "losetup", "--detach", c.loop); err != nil {
		return err
	}
	if err := c.client.Restore(ctx, filepath.Base(c.file)); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "losetup", "--find", "--show", c.file).Output()
	if err != nil {
		return fmt.Errorf("losetup %s: %w", c.file, err)
	}
	options := c.mount.Options
	for o := range strings.SplitSeq(c.mount.Super, ",") {
		switch o {
		case "nobarrier", "barrier=0", "noquota", "discard": // what changes durability must be as it was
			options += "," + o
		}
	}
	return command(ctx, "mount", "-t", c.mount.Type, "-o", options, strings.TrimSpace(string(out)), c.mount.Point)
}

// command runs a program of the system.
func command(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
