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
	return nil, errors.New("virtual disks are made on Linux only")
}

func (m *Maker) closeGroups(context.Context) error { return nil }

// blockRemovers are none: nothing was made.
func blockRemovers() map[string]journal.Remover { return map[string]journal.Remover{} }

func fileID(fs.FileInfo) string { return "" }

// server serves disks that can fail in more ways; there is none here.
type server struct{}

var errLinux = errors.New("disks that can have faults are made on Linux only")

// FaultDisk has no disks to control here.
func (m *Maker) FaultDisk(string, string) (*faultfs.Client, string, error) { return nil, "", errLinux }

// LosePower has no disks that could lose anything.
func (m *Maker) LosePower(context.Context, string, []string, faultfs.PowerCut, func() error) error {
	return errLinux
}
