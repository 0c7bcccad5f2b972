package volume

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/record"
)

var errNoDisks = errors.New("this volume is a directory and has no disks. Use a storage policy with a size, " +
	"and faults or tolerate")

// directory is a volume without disks.
type directory struct {
	m                  *Maker
	name, member, host string
	path               string
	id                 int
}

func (m *Maker) makeDirectory(name, member, host string) (kept, error) {
	d := &directory{m: m, name: name, member: member, host: host, path: filepath.Join(m.base, "volumes", name)}
	var err error
	if d.id, err = m.makeDir(kindDirectory, d.path, 0o755); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *directory) Name() string { return d.name }

func (d *directory) Dir() string { return d.path }

// A directory has none of its own.
func (d *directory) Devices() []string { return nil }

func (d *directory) Describe(context.Context, bool) record.LabVolume {
	v := record.LabVolume{Name: d.name, Member: d.member, Policy: d.m.o.Policy.Policy(), Layout: d.m.o.Layout,
		Mount: d.path, Health: "healthy"}
	s, err := spaceOf(d.path)
	if err != nil {
		v.Health, v.Detail = "failed", err.Error()
		return v
	}
	v.Capacity, v.Used = s.capacity, s.used
	if d.m.isOff(d.host) {
		v.Detail = fmt.Sprintf("the host %s has no power, but a directory stays readable", d.host)
	}
	return v
}

func (d *directory) FailDisk(context.Context, string) error { return errNoDisks }

func (d *directory) HealDisk(context.Context, string) error { return errNoDisks }

// There is nothing to do.
func (d *directory) Repair(context.Context) (string, error) {
	return "a directory has nothing to repair", nil
}

// A directory is not mounted.
func (d *directory) Remount(context.Context) error { return nil }

func (d *directory) Close(context.Context) error {
	if err := process.RemoveTree(d.path); err != nil {
		return fmt.Errorf("cannot remove volume %s: %w", d.name, err)
	}
	d.m.forget(d.name)
	return d.m.o.Journal.Gone(d.id)
}

// power does nothing: the directory is on a disk of the machine.
func (d *directory) power(context.Context, string, bool) error { return nil }

func (d *directory) growth() int64 { return 0 }
