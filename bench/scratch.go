package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/lab"
)

// scratchPrefix begins the names of the directories that this program makes.
const scratchPrefix = "plimsoll-bench-"

// makerFile names the process that made a directory, so that the next process knows what a killed one left.
const makerFile = "made-by.json"

// sweepLimit bounds the removal of one directory: labs, mounts, files.
const sweepLimit = time.Minute

// scratch makes a directory for one part of the output below parent ("" is the system's for temporary files). First it
// removes what killed processes left there.
func scratch(parent, part string) (string, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	sweep(parent)
	dir, err := os.MkdirTemp(parent, scratchPrefix+part+"-")
	if err != nil {
		return "", err
	}
	maker, err := json.Marshal(procid.Self())
	if err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, makerFile), maker, 0o600)
}

// sweep removes the directories of processes that have ended. If one cannot be removed, sweep reports it and continues.
func sweep(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return // MkdirTemp fails too
	}
	for _, e := range entries {
		dir := filepath.Join(parent, e.Name())
		if !e.IsDir() || !strings.HasPrefix(e.Name(), scratchPrefix) || !abandoned(dir) {
			continue
		}
		if err := removeScratch(dir); err != nil {
			fmt.Fprintf(os.Stderr, "bench: cannot remove %s of a process that was killed: %v\n", dir, err)
		}
	}
}

// abandoned reports whether the process that made a directory has ended. A process of another machine or container, or
// from before a restart, cannot be checked from here: its directory stays.
func abandoned(dir string) bool {
	var maker procid.ID
	b, err := safeopen.ReadFile(dir, makerFile, 1<<10)
	if err != nil || json.Unmarshal(b, &maker) != nil {
		return false
	}
	self := procid.Self()
	return maker.Boot == self.Boot && maker.Namespace == self.Namespace && !maker.Alive()
}

// removeScratch removes a directory with the labs in it and the filesystems mounted below it.
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
