package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Volume returns a volume of the lab whose directory, Mount, is visible to this process.
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
			return v, checkVisible(v)
		}
		names = append(names, v.Name)
	}
	return record.LabVolume{}, refuse("the lab %s has no volume %q%s", l.Name, name, suggestions(name, names))
}

// checkVisible returns an error if the filesystem of a volume has failed, or is not visible in the mount namespace of
// this process.
func checkVisible(v record.LabVolume) error {
	if v.Health == "failed" {
		return fmt.Errorf("the volume %s has failed: %s", v.Name, v.Detail)
	}
	if len(v.Disks) == 0 { // a directory
		if !exists(v.Mount) {
			return fmt.Errorf("the directory %[2]s of the volume %[1]s is not visible to this process", v.Name, v.Mount)
		}
		return nil
	}
	own, err := filesystemOf(v.Mount)
	above, err2 := filesystemOf(filepath.Dir(v.Mount))
	switch {
	case err != nil || err2 != nil:
		return fmt.Errorf("the directory of the volume %s is not visible to this process: %w", v.Name, errors.Join(err, err2))
	case own == above:
		return fmt.Errorf("the volume %s is mounted at %s, but not in the mount namespace of this process. "+
			"Run plimsoll in the namespace in which the lab was created", v.Name, v.Mount)
	}
	return nil
}
