package device

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/record"
)

// deepest bounds the walk.
const deepest = 16

var (
	// inMemory are the filesystems without storage.
	inMemory = []string{"tmpfs", "ramfs", "rootfs", "devtmpfs", "hugetlbfs"}
	// remote are the filesystems of other machines, or of the host of a virtual machine.
	remote = []string{"nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "afs", "gfs2", "ocfs2", "lustre", "beegfs"}
)

// walker collects what lies below a directory: devices, the top first, and filesystems.
type walker struct {
	system      System
	list        []record.ProbeBlock
	at          map[string]int
	filesystems []record.ProbeFilesystem
	memory      []string // what keeps data in memory
	unseen      []string // what holds data and is not visible
	hidden      bool     // the user names the devices of the first filesystem, if they are not visible
	// loopFile returns the file of a loop device; nil if the kernel cannot be asked. Then the path of the file is used.
	loopFile func(name string) (loopFile, bool)
}

// filesystem walks down from a mount. above is what uses it, "" for the first one, and path what is used in it. It
// returns the devices directly below.
func (w *walker) filesystem(m mountinfo.Mount, above, path string, depth int) (devices []string) {
	if depth > deepest {
		w.miss(above, "the device of the data (more than 16 layers)")
		return nil
	}
	if above != "" {
		w.filesystems = append(w.filesystems, record.ProbeFilesystem{Type: m.Type, Above: above, Path: path,
			Options: importantOptions(m.Options, m.Super)})
	}
	switch {
	case slices.Contains(inMemory, m.Type):
		w.memory = append(w.memory, m.Type+under(above))
	case m.Type == "overlay":
		devices = w.directoryBelow(option(m.Super, "upperdir"), "overlay", above, depth)
	case m.Type == faultfs.FSType:
		w.miss(above, "the disk that plimsoll faultfs emulates")
	case m.Type == "ecryptfs", strings.HasPrefix(m.Type, "fuse."), m.Type == "fuse":
		devices = w.directoryBelow(m.Source, m.Type, above, depth)
	case slices.Contains(remote, m.Type):
		w.miss(above, "the storage of the server of "+m.Type)
	default:
		if devices = w.system.devicesOf(m); len(devices) == 0 {
			w.miss(above, "the devices of "+m.Type)
		}
	}
	if above == "" {
		for _, name := range devices {
			w.add(name, "", depth)
		}
	}
	return devices
}

// directoryBelow walks down from the directory that a stacked filesystem keeps its data in.
func (w *walker) directoryBelow(dir, kind, above string, depth int) []string {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() || !filepath.IsAbs(dir) {
		w.miss(above, "the storage below "+kind)
		return nil
	}
	m, ok := w.system.MountOf(dir)
	if !ok {
		w.miss(above, "the storage below "+kind)
		return nil
	}
	return w.filesystem(m, kind+under(above), dir, depth+1)
}

// miss notes something invisible that holds data. The user may have named the devices of the first filesystem.
func (w *walker) miss(above, what string) {
	if above != "" || !w.hidden {
		w.unseen = append(w.unseen, what+under(above))
	}
}

func under(above string) string {
	if above == "" {
		return ""
	}
	return " below " + above
}

// option returns the value of an option of a mount, "" without it.
func option(list, name string) string {
	for o := range strings.SplitSeq(list, ",") {
		if value, ok := strings.CutPrefix(o, name+"="); ok {
			return value
		}
	}
	return ""
}

// loopFile is the file of a loop device as the kernel knows it: the number of its filesystem and its inode, or the
// number of the device that takes its place.
type loopFile struct {
	filesystem, device string
	inode              uint64
}

// give adds a device that the user named.
func (w *walker) give(name string) {
	known := len(w.list)
	w.add(name, "", 0)
	if len(w.list) > known {
		w.list[known].Given = true
	}
}

// loop returns the devices below a loop device.
func (w *walker) loop(name, dir string, b *record.ProbeBlock, depth int) []string {
	b.Backing = readWord(dir, "loop/backing_file")
	b.Cached = readWord(dir, "loop/dio") == "0"
	path, deleted := strings.CutSuffix(b.Backing, " (deleted)")
	var file loopFile
	known := false
	if w.loopFile != nil {
		file, known = w.loopFile(name)
	}
	var m mountinfo.Mount
	device := file.device
	switch {
	case known && device == "":
		if m, known = w.system.mountOfNumber(file.filesystem); known {
			break
		}
		// Files of an overlay or of a subvolume of btrfs have a number that is not that of the mount.
		if file.at(path) {
			m, known = w.system.MountOf(filepath.Dir(path))
			break
		}
		device = file.filesystem // it is mounted elsewhere; a filesystem of one device has the number of that
	case !known && !deleted && path != "":
		if device = deviceAt(path); device == "" {
			m, known = w.system.MountOf(filepath.Dir(path))
		}
	}
	if device != "" {
		if link, err := os.Readlink(filepath.Join(w.system.Sys, "dev/block", device)); err == nil {
			return []string{filepath.Base(link)}
		}
		known = false
	}
	if !known {
		w.unseen = append(w.unseen, fmt.Sprintf("the filesystem of %s below %s (not mounted here)", b.Backing, name))
		return nil
	}
	b.BackingFilesystem = m.Type
	return w.filesystem(m, name, path, depth+1)
}
