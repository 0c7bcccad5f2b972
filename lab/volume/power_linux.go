package volume

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
)

// LosePower takes the power of a host's disks away and discards all writes that were not flushed to them, except the
// share that the cut keeps. The filesystems of the named volumes were in the memory of that host: they are unmounted,
// and none of their dirty pages reaches any disk, not even one on another host. kill is called when that is certain, to
// end the processes that use them. [Maker.Power] and [Volume.Remount] revert it.
func (m *Maker) LosePower(ctx context.Context, host string, volumes []string, cut faultfs.PowerCut,
	kill func() error) error {
	if !UsesFaultfs(m.o.Policy) {
		return errors.New("only disks of the fault filesystem lose writes that were not flushed. Use storage: faults: true")
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
	err = errors.Join(err, kill(), m.Power(ctx, host, false))
	for _, v := range own {
		err = errors.Join(err, v.unmountAfterLoss(ctx))
	}
	for _, d := range held {
		err = errors.Join(err, d.server.client.Clear(ctx, filepath.Base(d.file), faultfs.Dead))
	}
	return err
}

// cut cuts the power of all disks of a host at the same moment.
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

// hold makes the disks on other hosts reject all requests for a while, without discarding data.
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

// unmountAfterLoss unmounts the filesystem of a host that lost power.
func (v *blocks) unmountAfterLoss(ctx context.Context) error {
	v.repair.Lock()
	defer v.repair.Unlock()
	if err := v.unmount(ctx); err != nil {
		return fmt.Errorf("volume %s: %w", v.name, err)
	}
	for _, device := range v.Devices() {
		if err := awaitRelease(ctx, device); err != nil {
			return fmt.Errorf("volume %s: %w", v.name, err)
		}
	}
	return nil
}
