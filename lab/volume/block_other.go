//go:build !linux

package volume

import (
	"context"
	"errors"
	"io/fs"

	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
)

func (m *Maker) makeDisks(context.Context, string, string, []string) (kept, error) {
	return nil, errors.New("virtual disks need Linux")
}

func (m *Maker) closeGroups(context.Context) error { return nil }

func blockRemovers() map[string]journal.Remover { return map[string]journal.Remover{} }

func fileID(fs.FileInfo) string { return "" }

type server struct{}

var errLinux = errors.New("disks of the fault filesystem need Linux")

// FaultDisk needs Linux.
func (m *Maker) FaultDisk(string, string) (*faultfs.Client, string, error) { return nil, "", errLinux }

// LosePower needs Linux.
func (m *Maker) LosePower(context.Context, string, []string, faultfs.PowerCut, func() error) error {
	return errLinux
}
