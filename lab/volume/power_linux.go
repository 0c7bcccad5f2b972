package volume

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
)

// LosePower takes the power of a host's disks away together with every write that was not flushed to them, except for
// the share that the cut keeps. The filesystems of the volumes that are named stood in the memory of that host: they are
// taken away, and nothing that they had not written reaches any disk, also not those on other hosts. kill ends what uses
// them; it is called when that is made sure. [Maker.HostOn] and [Volume.Remount] bring everything back.
func (m *Maker) LosePower(ctx context.Context, host string, volumes []string, cut faultfs.PowerCut, kill func() error) error {
	if !usesFaultfs(m.o.Policy) {
		return errors.New("only disks of the fault filesystem can lose what was not flushed: storage: faults: true makes these")
	}
	var own []*blocks
	for _, v := range m.all() {
		if b, ok := v.(*blocks); ok && slices.Contains(volumes, b.name) {
			own = append(own, b)
		}
	}
	err := m.cut(ctx, host, cut)
	var held []*disk
	for _, v := range own {
		more, e := v.hold(ctx, host)
		held, err = append(held, more...), errors.Join(err, e)
	}
	err = errors.Join(err, kill(), m.power(ctx, host, false))
	for _, v := range own {
		err = errors.Join(err, v.drop(ctx))
	}
	for _, d := range held {
		err = errors.Join(err, d.server.client.Clear(ctx, filepath.Base(d.file), faultfs.Dead))
	}
	return err
}

// cut takes the power from the disk group of a host, all disks at the same moment.
func (m *Maker) cut(ctx context.Context, host string, cut faultfs.PowerCut) error {
	m.mu.Lock()
	var s *server
	if g := m.groups[host]; g != nil {
		s = g.server
	}
	m.mu.Unlock()
	if s == nil {
		return nil // a host without disks
	}
	return s.client.Cut(ctx, "", cut)
}

// hold makes the disks on other hosts refuse everything for a while, without losing anything.
func (v *blocks) hold(ctx context.Context, host string) ([]*disk, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var held []*disk
	for _, d := range v.disks {
		if d.host == host || d.server == nil || d.shut {
			continue
		}
		if err := d.server.client.Set(ctx, filepath.Base(d.file), faultfs.Fault{Kind: faultfs.Dead}); err != nil {
			return held, err
		}
		held = append(held, d)
	}
	return held, nil
}

// drop unmounts the filesystem of a host that lost power.
func (v *blocks) drop(ctx context.Context) error {
	v.repair.Lock()
	defer v.repair.Unlock()
	if err := v.unmount(ctx); err != nil {
		return fmt.Errorf("volume %s: %w", v.name, err)
	}
	for _, device := range v.Devices() {
		if err := released(ctx, device); err != nil {
			return fmt.Errorf("volume %s: %w", v.name, err)
		}
	}
	return nil
}
