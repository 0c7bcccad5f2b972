package volume

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// The kinds of resources in the journal.
const (
	kindDirectory = "volume-directory"
	kindParent    = "volume-parent"
	kindFile      = "disk-file"
	kindLoop      = "loop"
	kindMount     = "volume-mount"
	kindMD        = "md-array"
	kindLVM       = "lvm-group"
	kindServer    = "faultfs"
	kindFaultfs   = "faultfs-mount"
)

// Removers remove the resources of volumes, in any process, by their kinds in the journal.
func Removers() map[string]journal.Remover {
	all := blockRemovers()
	all[kindDirectory] = removeDirectory
	all[kindParent] = removeParent
	all[kindFile] = removeFile
	return all
}

func removeDirectory(_ context.Context, r journal.Resource) error {
	fi, err := os.Lstat(r.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !fi.IsDir() {
		return errors.New("it is no longer a directory, so it is not of this lab")
	}
	return process.RemoveTree(r.Name)
}

// removeParent removes a directory, which must be empty by now.
func removeParent(_ context.Context, r journal.Resource) error {
	err := os.Remove(r.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func removeFile(_ context.Context, r journal.Resource) error {
	fi, err := os.Lstat(r.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if id := r.Details["file"]; !fi.Mode().IsRegular() || id != "" && id != fileID(fi) {
		return errors.New("another file has its name now. Check it and remove it by hand")
	}
	return os.Remove(r.Name)
}
