package faultfs

import (
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// tree is the filesystem: one directory with a file for each disk. The kernel caches neither names nor sizes nor
// contents, so that every request reaches the disk, and no data survive a power cut in a cache. All requests run in
// parallel.
type tree struct {
	fuse.RawFileSystem // refuses all other requests

	data  string
	owner fuse.Owner

	mu     sync.RWMutex
	byName map[string]*disk
	byNode map[uint64]*disk
	last   uint64 // the newest node; nodes are not reused
}

func newTree(data string) *tree {
	return &tree{
		RawFileSystem: fuse.NewDefaultRawFileSystem(), data: data,
		owner:  fuse.Owner{Uid: uint32(os.Getuid()), Gid: uint32(os.Getgid())},
		byName: map[string]*disk{}, byNode: map[uint64]*disk{}, last: fuse.FUSE_ROOT_ID,
	}
}

func (t *tree) String() string { return fsName }

// add makes a disk visible. The caller holds mu.
func (t *tree) add(d *disk) {
	t.last++
	d.node = t.last
	t.byName[d.name], t.byNode[d.node] = d, d
}

func (t *tree) node(id uint64) (*disk, fuse.Status) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if d := t.byNode[id]; d != nil {
		return d, fuse.OK
	}
	return nil, fuse.ENOENT
}

func (t *tree) attr(d *disk, out *fuse.Attr) {
	out.Ino, out.Mode, out.Nlink, out.Owner, out.Blksize = d.node, syscall.S_IFREG|0o600, 1, t.owner, blockSize
	out.Size = uint64(d.size.Load())
	var st unix.Stat_t
	if unix.Fstat(int(d.file.Fd()), &st) == nil {
		out.Blocks = uint64(st.Blocks)
	}
}

func (t *tree) rootAttr(out *fuse.Attr) {
	out.Ino, out.Mode, out.Nlink = fuse.FUSE_ROOT_ID, syscall.S_IFDIR|0o700, 2
	out.Owner, out.Blksize = t.owner, blockSize
}

func (t *tree) Lookup(_ <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	if h.NodeId != fuse.FUSE_ROOT_ID {
		return fuse.ENOTDIR
	}
	t.mu.RLock()
	d := t.byName[name]
	t.mu.RUnlock()
	if d == nil {
		return fuse.ENOENT
	}
	out.NodeId, out.Generation = d.node, 1
	t.attr(d, &out.Attr)
	return fuse.OK
}

func (t *tree) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	if in.NodeId == fuse.FUSE_ROOT_ID {
		t.rootAttr(&out.Attr)
		return fuse.OK
	}
	d, status := t.node(in.NodeId)
	if status.Ok() {
		t.attr(d, &out.Attr)
	}
	return status
}

// SetAttr changes the size. It ignores owners, modes and times.
func (t *tree) SetAttr(cancel <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	if in.NodeId == fuse.FUSE_ROOT_ID {
		return fuse.EPERM
	}
	d, status := t.node(in.NodeId)
	if !status.Ok() {
		return status
	}
	if size, ok := in.GetSize(); ok {
		if errno := d.truncate(int64(size), cancel); errno != 0 {
			return fuse.Status(errno)
		}
	}
	t.attr(d, &out.Attr)
	return fuse.OK
}

func (t *tree) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	t.mu.RLock() // remove locks it exclusively, so either remove sees the open, or this finds no disk
	defer t.mu.RUnlock()
	d := t.byNode[in.NodeId]
	if d == nil {
		return fuse.ENOENT
	}
	d.opens.Add(1)
	out.OpenFlags = fuse.FOPEN_DIRECT_IO | fuse.FOPEN_PARALLEL_DIRECT_WRITES
	return fuse.OK
}

func (t *tree) Release(_ <-chan struct{}, in *fuse.ReleaseIn) {
	if d, status := t.node(in.NodeId); status.Ok() {
		d.opens.Add(-1)
	}
}

func (t *tree) Read(cancel <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	d, status := t.node(in.NodeId)
	if !status.Ok() {
		return nil, status
	}
	n, errno := d.read(buf[:min(len(buf), int(in.Size))], int64(in.Offset), cancel)
	if errno != 0 {
		return nil, fuse.Status(errno)
	}
	return fuse.ReadResultData(buf[:n]), fuse.OK
}

func (t *tree) Write(cancel <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	d, status := t.node(in.NodeId)
	if !status.Ok() {
		return 0, status
	}
	n := uint32(len(data))
	if errno := d.write(data, int64(in.Offset), cancel); errno != 0 {
		return 0, fuse.Status(errno)
	}
	return n, fuse.OK
}

// Fsync is a flush of the disk. It must never return ENOSYS, because the kernel would not call it again.
func (t *tree) Fsync(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	d, status := t.node(in.NodeId)
	if !status.Ok() {
		return status
	}
	return fuse.Status(d.flush(cancel))
}

// Flush is called when a descriptor is closed, and does not flush the disk.
func (t *tree) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.OK }

func (t *tree) Fallocate(cancel <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	d, status := t.node(in.NodeId)
	if !status.Ok() {
		return status
	}
	return fuse.Status(d.allocate(in.Mode, int64(in.Offset), int64(in.Length), cancel))
}

func (t *tree) Lseek(_ <-chan struct{}, in *fuse.LseekIn, out *fuse.LseekOut) fuse.Status {
	d, status := t.node(in.NodeId)
	if !status.Ok() {
		return status
	}
	d.epoch.RLock()
	defer d.epoch.RUnlock()
	at, err := unix.Seek(int(d.file.Fd()), int64(in.Offset), int(in.Whence))
	out.Offset = uint64(at)
	return fuse.Status(errnoOf(err))
}

// Only the control socket makes and removes disks. Without these methods, programs would get ENOSYS instead of EPERM.

func (t *tree) Mknod(<-chan struct{}, *fuse.MknodIn, string, *fuse.EntryOut) fuse.Status {
	return fuse.EPERM
}
func (t *tree) Mkdir(<-chan struct{}, *fuse.MkdirIn, string, *fuse.EntryOut) fuse.Status {
	return fuse.EPERM
}
func (t *tree) Create(<-chan struct{}, *fuse.CreateIn, string, *fuse.CreateOut) fuse.Status {
	return fuse.EPERM
}
func (t *tree) Symlink(<-chan struct{}, *fuse.InHeader, string, string, *fuse.EntryOut) fuse.Status {
	return fuse.EPERM
}
func (t *tree) Link(<-chan struct{}, *fuse.LinkIn, string, *fuse.EntryOut) fuse.Status {
	return fuse.EPERM
}
func (t *tree) Rename(<-chan struct{}, *fuse.RenameIn, string, string) fuse.Status { return fuse.EPERM }
func (t *tree) Unlink(<-chan struct{}, *fuse.InHeader, string) fuse.Status         { return fuse.EPERM }

func (t *tree) Access(_ <-chan struct{}, _ *fuse.AccessIn) fuse.Status { return fuse.OK }

func (t *tree) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, _ *fuse.OpenOut) fuse.Status {
	if in.NodeId != fuse.FUSE_ROOT_ID {
		return fuse.ENOTDIR
	}
	return fuse.OK
}

// ReadDir lists the disks in the order of creation, so that a listing in several calls does not miss a disk.
func (t *tree) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for id := max(fuse.FUSE_ROOT_ID, in.Offset) + 1; id <= t.last; id++ {
		d := t.byNode[id]
		if d != nil && !out.AddDirEntry(fuse.DirEntry{Name: d.name, Mode: syscall.S_IFREG, Ino: id, Off: id}) {
			break
		}
	}
	return fuse.OK
}

func (t *tree) FsyncDir(<-chan struct{}, *fuse.FsyncIn) fuse.Status { return fuse.OK }

func (t *tree) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	var st unix.Statfs_t
	if err := unix.Statfs(t.data, &st); err != nil {
		return fuse.ToStatus(err)
	}
	out.Blocks, out.Bfree, out.Bavail = st.Blocks, st.Bfree, st.Bavail
	out.Bsize, out.Frsize, out.NameLen = blockSize, uint32(st.Bsize), 100
	return fuse.OK
}

func mountTree(t *tree, at string) (*fuse.Server, error) {
	return fuse.NewServer(t, at, &fuse.MountOptions{
		Name: fsName, FsName: fsName, DirectMountStrict: true,
		// With asynchronous direct I/O, the requests of one loop device run in parallel. 512 of them may wait before the
		// kernel delays more, so that a disk that hangs does not delay the others.
		MaxWrite: 1 << 20, MaxBackground: 512, CongestionThreshold: 512,
		ExtraCapabilities:    fuse.CAP_ASYNC_DIO,
		DisabledCapabilities: fuse.CAP_PASSTHROUGH | fuse.CAP_WRITEBACK_CACHE | fuse.CAP_READDIRPLUS,
		DisableXAttrs:        true,
	})
}

// unmountTimeout is how long a faultfs that ends waits for processes that use its disks.
const unmountTimeout = 10 * time.Second
