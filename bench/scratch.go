package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
	"github.com/plimsoll-bench/plimsoll/internal/scratch"
)

// scratchPrefix begins the names of the directories that this program makes.
const scratchPrefix = "plimsoll-bench-"

// sweepLimit bounds the removal of one directory: mounts, files.
const sweepLimit = time.Minute

// scratchIn makes a directory below parent ("" is the system's for temporary files), and removes what killed processes
// left there. If one cannot be removed, it reports that and continues.
func scratchIn(parent string) (string, error) {
	return scratch.Make(parent, scratchPrefix, func(dir string) {
		if err := removeScratch(dir); err != nil {
			fmt.Fprintf(os.Stderr, "bench: cannot remove %s of a process that was killed: %v\n", dir, err)
		}
	})
}

// removeScratch removes a directory and the filesystems mounted below it.
func removeScratch(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), sweepLimit)
	defer cancel()
	failed := unmountBelow(ctx, dir)
	if failed != nil {
		return failed // nothing is removed through a mount
	}
	return os.RemoveAll(dir)
}

// unmountBelow unmounts all filesystems below a directory, the last one first, and detaches their loop devices.
func unmountBelow(ctx context.Context, dir string) (failed error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	mounts, _ := mountinfo.Self()
	for _, m := range slices.Backward(mounts) {
		if !strings.HasPrefix(m.Point, dir+"/") {
			continue
		}
		_, err := tool(ctx, "umount", m.Point)
		if err == nil && strings.HasPrefix(m.Source, "/dev/loop") {
			_, err = tool(ctx, "losetup", "--detach", m.Source)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}
