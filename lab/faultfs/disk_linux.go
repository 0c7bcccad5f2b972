package faultfs

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// disk is one virtual disk. Requests run in parallel. Only a flush and a power cut stop the writes, for the short time
// in which they mark the content as flushed.
type disk struct {
	name  string
	node  uint64
	born  time.Time
	conf  config
	file  *os.File
	size  atomic.Int64
	opens atomic.Int64

	faults *faults
	undo   *undo

	// epoch is locked shared while the content changes, and exclusively while the flushed state changes.
	epoch sync.RWMutex

	clock  sync.Mutex // guards timing
	timing timing

	reads, writes, flushes, readBytes, writeBytes, waiting atomic.Int64
	undone, undoneBytes, keptBytes                         atomic.Int64
}

// config is stored beside the content of a disk.
type config struct {
	Device Device `json:"device"`
	Cache  *Cache `json:"cache,omitempty"`
}

func openDisk(path, name string, c config) (*disk, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	u, err := newUndo(f, filepath.Dir(path))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("disk %s: %w", name, err), f.Close())
	}
	d := &disk{name: name, born: time.Now(), conf: c, file: f, faults: newFaults(), undo: u,
		timing: newTiming(c.Device, c.Cache)}
	d.size.Store(info.Size())
	return d, nil
}

func (d *disk) close() error {
	d.faults.clearKinds(nil)
	return errors.Join(d.undo.close(), d.file.Close())
}

// tracks says whether a power cut may have to restore old content.
func (d *disk) tracks() bool { return !d.conf.Device.Protected || d.faults.active(Lie) }

// admit delays a request for n bytes by the faults, and then by the time in which the device transfers moved bytes.
func (d *disk) admit(o op, off, n, moved int64, interrupted <-chan struct{}) (verdict, syscall.Errno) {
	if d.timing == nil && len(d.faults.now.Load().list) == 0 {
		return verdict{}, 0
	}
	d.waiting.Add(1)
	defer d.waiting.Add(-1)
	arrived := time.Now()
	v, errno := d.faults.admit(o, off, n, func(after time.Duration, changed <-chan struct{}) bool {
		if after > 0 {
			_, intr := sleepUntil(time.Now().Add(after), changed, interrupted)
			return intr
		}
		select {
		case <-changed:
			return false
		case <-interrupted:
			return true
		}
	})
	if errno != 0 || v.lie || d.timing == nil {
		return v, errno
	}
	if len(d.faults.now.Load().list) > 0 {
		arrived = time.Now() // it may have waited for a fault
	}
	return v, d.occupy(arrived, o, off, moved, interrupted)
}

// occupy waits until the model of the device has served a request.
func (d *disk) occupy(arrived time.Time, o op, off, n int64, interrupted <-chan struct{}) syscall.Errno {
	now := int64(arrived.Sub(d.born))
	var done instant
	d.clock.Lock()
	switch o {
	case opRead:
		done = d.timing.read(now, off, n)
	case opWrite:
		done = d.timing.write(now, off, n)
	default:
		done = d.timing.flush(now)
	}
	d.clock.Unlock()
	due := d.born.Add(time.Duration(done))
	for {
		set := d.faults.now.Load()
		if d.faults.active(Dead) {
			return syscall.EIO
		}
		early, intr := sleepUntil(due, set.changed, interrupted)
		if intr {
			return syscall.EINTR
		}
		if !early {
			return 0
		}
	}
}

// read fills data and returns the number of bytes.
func (d *disk) read(data []byte, off int64, interrupted <-chan struct{}) (int, syscall.Errno) {
	d.reads.Add(1)
	v, errno := d.admit(opRead, off, int64(len(data)), int64(len(data)), interrupted)
	if errno != 0 {
		return 0, errno
	}
	d.epoch.RLock()
	defer d.epoch.RUnlock()
	if d.faults.active(Dead) {
		return 0, syscall.EIO
	}
	n, err := d.file.ReadAt(data, off)
	if err != nil && err != io.EOF {
		return 0, errnoOf(err)
	}
	for _, a := range v.corrupt {
		if a.damage(data[:n], off) {
			d.faults.hit(Corrupt)
		}
	}
	d.readBytes.Add(int64(n))
	return n, 0
}

// write writes data, which it may change.
func (d *disk) write(data []byte, off int64, interrupted <-chan struct{}) syscall.Errno {
	d.writes.Add(1)
	size := int64(len(data))
	if off < 0 || off+size > maxDiskSize {
		return syscall.EFBIG
	}
	v, errno := d.admit(opWrite, off, size, size, interrupted)
	if errno != 0 {
		return errno
	}
	if v.torn != nil {
		data = data[:min(len(data), v.torn.part(off, len(data)))]
	}
	for _, a := range v.corrupt {
		if a.damage(data, off) {
			d.faults.hit(Corrupt)
		}
	}
	d.epoch.RLock()
	defer d.epoch.RUnlock()
	if d.faults.active(Dead) {
		return syscall.EIO
	}
	if len(data) > 0 {
		if errno := d.store(data, off); errno != 0 {
			return errno
		}
	}
	d.writeBytes.Add(size)
	return 0
}

func (d *disk) store(data []byte, off int64) syscall.Errno {
	track, end := d.tracks(), off+int64(len(data))
	old := d.size.Load()
	if end > old {
		d.undo.resizing(old, track)
	}
	if err := d.undo.before(off, int64(len(data)), false, track); err != nil {
		return errnoOf(err)
	}
	if _, err := d.file.WriteAt(data, off); err != nil {
		return errnoOf(err)
	}
	for ; end > old && !d.size.CompareAndSwap(old, end); old = d.size.Load() {
	}
	return 0
}

// flush makes earlier writes survive power cuts.
func (d *disk) flush(interrupted <-chan struct{}) syscall.Errno {
	d.flushes.Add(1)
	v, errno := d.admit(opFlush, 0, 0, 0, interrupted)
	if errno != 0 || v.lie {
		return errno
	}
	if errno := d.markFlushed(); errno != 0 {
		return errno
	}
	if !d.conf.Device.modelled() && d.conf.Cache == nil {
		return errnoOf(unix.Fdatasync(int(d.file.Fd())))
	}
	return 0
}

// markFlushed marks the present content as flushed.
func (d *disk) markFlushed() syscall.Errno {
	d.epoch.Lock()
	defer d.epoch.Unlock()
	if d.faults.active(Dead) {
		return syscall.EIO
	}
	return errnoOf(d.undo.flushed())
}

func (d *disk) truncate(to int64, interrupted <-chan struct{}) syscall.Errno {
	if to < 0 || to > maxDiskSize {
		return syscall.EFBIG
	}
	if _, errno := d.admit(opWrite, to, max(1, d.size.Load()-to), 0, interrupted); errno != 0 {
		return errno
	}
	d.epoch.Lock()
	defer d.epoch.Unlock()
	if d.faults.active(Dead) {
		return syscall.EIO
	}
	from, track := d.size.Load(), d.tracks()
	d.undo.resizing(from, track)
	if err := d.undo.before(to, from-to, true, track); err != nil {
		return errnoOf(err)
	}
	if err := d.file.Truncate(to); err != nil {
		return errnoOf(err)
	}
	d.size.Store(to)
	return 0
}

const punch, zero, keepSize = unix.FALLOC_FL_PUNCH_HOLE, unix.FALLOC_FL_ZERO_RANGE, unix.FALLOC_FL_KEEP_SIZE

// allocate allocates a part of the disk, or makes it zeros (discard and write zeroes).
func (d *disk) allocate(mode uint32, off, n int64, interrupted <-chan struct{}) syscall.Errno {
	if mode&^uint32(punch|zero|keepSize) != 0 {
		return syscall.EOPNOTSUPP
	}
	if off < 0 || n <= 0 || n > maxDiskSize || off > maxDiskSize-n {
		return syscall.EFBIG
	}
	d.writes.Add(1)
	if _, errno := d.admit(opWrite, off, n, 0, interrupted); errno != 0 {
		return errno
	}
	d.epoch.Lock()
	defer d.epoch.Unlock()
	if d.faults.active(Dead) {
		return syscall.EIO
	}
	size, track := d.size.Load(), d.tracks()
	grows := mode&keepSize == 0 && off+n > size
	if grows {
		d.undo.resizing(size, track)
	}
	if mode&(punch|zero) != 0 {
		if err := d.undo.before(off, min(n, max(0, size-off)), true, track); err != nil {
			return errnoOf(err)
		}
	}
	if err := unix.Fallocate(int(d.file.Fd()), mode, off, n); err != nil {
		return errnoOf(err)
	}
	if grows {
		d.size.Store(off + n)
	}
	return 0
}

// cut discards writes that were not flushed. The caller has locked epoch exclusively and made the disk dead.
func (d *disk) cut(p PowerCut) error {
	h := fnv.New64a()
	h.Write([]byte(d.name)) // so that two disks with the same seed do not lose the same pieces
	done, err := d.undo.cut(p, p.Seed^h.Sum64())
	if err != nil {
		return fmt.Errorf("disk %s: cannot discard the writes that were not flushed: %w", d.name, err)
	}
	info, err := d.file.Stat()
	if err != nil {
		return err
	}
	d.size.Store(info.Size())
	d.undone.Store(done.writes)
	d.undoneBytes.Store(done.back)
	d.keptBytes.Store(done.kept)
	return nil
}

func (d *disk) stats() Stats {
	s := Stats{
		Name: d.name, Size: d.size.Load(), Reads: d.reads.Load(), Writes: d.writes.Load(), Flushes: d.flushes.Load(),
		ReadBytes: d.readBytes.Load(), WriteBytes: d.writeBytes.Load(), Unflushed: d.undo.unflushed(),
		Undone: d.undone.Load(), UndoneBytes: d.undoneBytes.Load(), KeptBytes: d.keptBytes.Load(),
		Waiting: d.waiting.Load(), Device: d.conf.Device, Cache: d.conf.Cache,
	}
	d.faults.fill(&s)
	return s
}

// errnoOf is the error of a request whose access to the disk's file failed.
func errnoOf(err error) syscall.Errno {
	var e syscall.Errno
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e
	}
	return syscall.EIO
}
