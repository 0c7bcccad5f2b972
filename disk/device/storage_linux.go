package device

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Storage returns the storage of a directory. Unknown facts are empty.
func (s System) Storage(dir string) (record.ProbeStorage, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return record.ProbeStorage{}, fmt.Errorf("cannot read the storage of %s: %w", dir, err)
	}
	storage := record.ProbeStorage{
		Bytes: int64(st.Blocks) * st.Bsize, Free: int64(st.Bavail) * st.Bsize, Devices: []record.ProbeBlock{},
	}
	m, ok := s.MountOf(dir)
	if !ok {
		return storage, nil
	}
	storage.Filesystem, storage.Source, storage.Mount = m.Type, m.Source, m.Point
	storage.Options = importantOptions(m.Options, m.Super)
	storage.Memory = m.Type == "tmpfs" || m.Type == "ramfs" || m.Type == "hugetlbfs"
	w := &walker{system: s, at: map[string]int{}, backing: func(path string) (fs string, devices []string) {
		if m, ok := s.MountOf(filepath.Dir(path)); ok {
			return m.Type, s.devicesOf(m)
		}
		return "", nil
	}}
	for _, name := range s.devicesOf(m) {
		w.add(name, "", 0)
	}
	storage.Devices = append(storage.Devices, w.list...)
	return storage, nil
}
