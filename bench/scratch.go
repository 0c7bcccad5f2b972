package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// scratchPrefix begins the names of directories that this program makes. What follows is PART-PID-START-RANDOM, with
// the process that made it and when that was started, in clock ticks since boot, so that the next one knows what it left.
const scratchPrefix = "plimsoll-bench-"

// sweepLimit is how long it may take to remove what a dead process left: a lab, mounts, files.
const sweepLimit = time.Minute

// scratch makes a directory for one part of the output below parent ("" is the system's for temporary files). First it
// removes what processes left there that were killed.
func scratch(parent, part string) (string, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	sweep(parent)
	born, err := process.StartTime(os.Getpid())
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(parent, fmt.Sprintf("%s%s-%d-%d-", scratchPrefix, part, os.Getpid(), born))
}

// sweep removes the directories of dead processes. What cannot be removed is said and stays.
func sweep(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return // who makes a directory there says why
	}
	for _, e := range entries {
		if !e.IsDir() || !abandoned(e.Name()) {
			continue
		}
		dir := filepath.Join(parent, e.Name())
		if err := removeScratch(dir); err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s, which a process left that was killed, could not be removed: %v\n", dir, err)
		}
	}
}

// abandoned says whether a directory was made by a process of this program that is gone.
func abandoned(name string) bool {
	rest, ours := strings.CutPrefix(name, scratchPrefix)
	fields := strings.Split(rest, "-")
	if !ours || len(fields) < 4 || runtime.GOOS != "linux" { // elsewhere nobody can tell whether a process is the same
		return false
	}
	pid, err := strconv.Atoi(fields[len(fields)-3])
	born, errBorn := strconv.ParseUint(fields[len(fields)-2], 10, 64)
	return err == nil && errBorn == nil && !process.Alive(pid, born)
}

// removeScratch removes a directory with what may stand in it: labs, and a filesystem on a loop device.
func removeScratch(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), sweepLimit)
	defer cancel()
	home := filepath.Join(dir, "home")
	var failed error
	if names, err := lab.Names(home); err == nil {
		for _, name := range names {
			failed = errors.Join(failed, lab.Down(ctx, home, name, nil))
		}
	}
	if failed = errors.Join(failed, unmountBelow(ctx, dir)); failed != nil {
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
	mounts, loops := mountsBelow(dir)
	for _, at := range slices.Backward(mounts) {
		if source, ok := loops[at]; ok {
			if _, err := tool(ctx, "umount", at); err != nil {
				failed = errors.Join(failed, err)
				continue
			}
			if _, err := tool(ctx, "losetup", "--detach", source); err != nil {
				failed = errors.Join(failed, err)
			}
			continue
		}
		if _, err := tool(ctx, "umount", at); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// mountsBelow lists the mount points below a directory in the order of mounting, and which stand on which loop device.
func mountsBelow(dir string) (mounts []string, loops map[string]string) {
	loops = map[string]string{}
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, loops
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		sep := slices.Index(fields, "-")
		if len(fields) < 5 || sep < 0 || len(fields) < sep+3 || !strings.HasPrefix(fields[4], dir+"/") {
			continue
		}
		mounts = append(mounts, fields[4])
		if strings.HasPrefix(fields[sep+2], "/dev/loop") {
			loops[fields[4]] = fields[sep+2]
		}
	}
	return mounts, loops
}
