package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Volume is a volume of the lab whose directory can be used from this process: Mount is where it is.
func (h *Handle) Volume(ctx context.Context, name string) (record.LabVolume, error) {
	l, err := h.Describe(ctx, false)
	if err != nil {
		return record.LabVolume{}, err
	}
	if l.State != stateUp {
		return record.LabVolume{}, refuse("the lab %s is %s, so its volumes cannot be used", l.Name, l.State)
	}
	var names []string
	for _, v := range l.Volumes {
		if v.Name == name {
			return v, usable(v)
		}
		names = append(names, v.Name)
	}
	return record.LabVolume{}, refuse("the lab %s has no volume %q%s", l.Name, name, amongst(name, names))
}

// usable says why the directory of a volume cannot be used from here: its filesystem has gone or has given up, or it is mounted
// where this process does not see it.
func usable(v record.LabVolume) error {
	if v.Health == "failed" {
		return fmt.Errorf("the volume %s has failed: %s", v.Name, v.Detail)
	}
	if len(v.Disks) == 0 { // a directory
		if !exists(v.Mount) {
			return fmt.Errorf("the directory of the volume %s, %s, cannot be seen from here", v.Name, v.Mount)
		}
		return nil
	}
	own, err := filesystemOf(v.Mount)
	above, err2 := filesystemOf(filepath.Dir(v.Mount))
	switch {
	case err != nil || err2 != nil:
		return fmt.Errorf("the directory of the volume %s cannot be seen from here: %w", v.Name, errors.Join(err, err2))
	case own == above:
		return fmt.Errorf("the volume %s is mounted at %s, but not in the mount namespace of this process; run plimsoll where the lab was brought up", v.Name, v.Mount)
	}
	return nil
}
