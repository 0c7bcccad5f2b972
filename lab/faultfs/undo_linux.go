package faultfs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// undo saves the content of a disk at its last flush, so that a power cut can restore it. The first write to a block
// after a flush saves the old content of the block; later writes only check a bitmap. Blocks that were never written
// are zeros and are not saved.
type undo struct {
	mu      sync.Mutex
	disk    *os.File
	saved   *os.File // old blocks, one after the other; a file without a name, which ends with the process
	written bitmap   // blocks that may not be zeros
	touched bitmap   // blocks in entries
	entries []entry
	slots   int64 // number of old blocks in saved
	writes  int64 // since the last flush
	size    int64 // of the disk at the last flush, if resized
	resized bool
	copying []byte
}

// entry is the slot of the old content of a block.
type entry struct{ block, slot int64 }

// zeros is the slot of a block that was zeros.
const zeros = -1

// keepSaved is the size in bytes above which the file of old blocks is truncated after a flush.
const keepSaved = 64 << 20

// newUndo starts with the present content of a disk as the flushed one.
func newUndo(disk *os.File, dir string) (*undo, error) {
	saved, err := nameless(dir)
	if err != nil {
		return nil, err
	}
	u := &undo{disk: disk, saved: saved, written: bitmap{}, touched: bitmap{}, copying: make([]byte, 64*blockSize)}
	if err := u.scan(); err != nil {
		return nil, errors.Join(err, saved.Close())
	}
	return u, nil
}

// nameless makes a file without a name. If the filesystem does not support that, it removes the name.
func nameless(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err == nil {
		return os.NewFile(uintptr(fd), "undo"), nil
	}
	f, err := os.CreateTemp(dir, "undo")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

// scan finds the blocks that an earlier process wrote.
func (u *undo) scan() error {
	fd := int(u.disk.Fd())
	for at := int64(0); ; {
		data, err := unix.Seek(fd, at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return nil
		}
		if err != nil {
			return err
		}
		hole, err := unix.Seek(fd, data, unix.SEEK_HOLE)
		if err != nil {
			return err
		}
		for b := data / blockSize; b <= (hole-1)/blockSize; b++ {
			u.written.set(b)
		}
		at = hole
	}
}

// before is called before bytes of the disk change. zeroing says that they become zeros. Without track, it updates only
// the set of written blocks.
func (u *undo) before(off, n int64, zeroing, track bool) error {
	if n <= 0 {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	first, end := off/blockSize, (off+n-1)/blockSize+1
	if track {
		u.writes++
		if err := u.save(first, end, zeroing); err != nil {
			return fmt.Errorf("cannot save the old content of the disk: %w", err)
		}
	}
	if zeroing { // only complete blocks are zeros for certain
		u.written.unsetAll((off+blockSize-1)/blockSize, (off+n)/blockSize)
		return nil
	}
	for b := first; b < end; b++ {
		u.written.set(b)
	}
	return nil
}

// save adds entries for the blocks that were not touched since the last flush, and copies those that are not zeros. The
// caller holds mu, so that no block is written before it is copied.
func (u *undo) save(first, end int64, zeroing bool) error {
	for b := first; b < end; {
		if zeroing { // skip blocks that are zeros already
			next, ok := u.written.next(b, end)
			if !ok {
				return nil
			}
			b = next
		}
		if u.touched.has(b) {
			b++
			continue
		}
		run := b
		for run < end && run-b < int64(len(u.copying)/blockSize) && !u.touched.has(run) &&
			u.written.has(run) == u.written.has(b) {
			run++
		}
		if err := u.saveRun(b, run); err != nil {
			return err
		}
		b = run
	}
	return nil
}

// saveRun saves blocks that are all written, or all not.
func (u *undo) saveRun(first, end int64) error {
	slot := int64(zeros)
	if u.written.has(first) {
		old := u.copying[:(end-first)*blockSize]
		n, err := u.disk.ReadAt(old, first*blockSize)
		if err != nil && err != io.EOF {
			return err
		}
		clear(old[n:])
		slot = u.slots
		if _, err := u.saved.WriteAt(old, slot*blockSize); err != nil {
			return err
		}
		u.slots += end - first
	}
	for b := first; b < end; b++ {
		u.touched.set(b)
		u.entries = append(u.entries, entry{b, slot})
		if slot != zeros {
			slot++
		}
	}
	return nil
}

// resizing is called before the size of the disk changes.
func (u *undo) resizing(from int64, track bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if track && !u.resized {
		u.resized, u.size = true, from
	}
}

// flushed drops the old content.
func (u *undo) flushed() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, e := range u.entries {
		u.touched.unset(e.block)
	}
	big := u.slots*blockSize > keepSaved
	u.entries, u.slots, u.writes, u.resized = u.entries[:0], 0, 0, false
	if big {
		u.entries, u.touched = nil, bitmap{}
		return u.saved.Truncate(0)
	}
	return nil
}

// unflushed is how many bytes a power cut would restore, in complete blocks.
func (u *undo) unflushed() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return int64(len(u.entries)) * blockSize
}

// undone has the number of discarded writes, and of restored and kept bytes.
type undone struct{ writes, back, kept int64 }

// cut restores the content of the last flush, except the pieces that survive. seed is the disk's own. No other
// goroutine may use the disk meanwhile.
func (u *undo) cut(p PowerCut, seed uint64) (undone, error) {
	u.mu.Lock()
	var all undone
	all.writes = u.writes
	err := u.restore(p, seed, &all)
	u.mu.Unlock()
	if err != nil {
		return all, err
	}
	return all, u.flushed()
}

func (u *undo) restore(p PowerCut, seed uint64, all *undone) error {
	if u.resized {
		if err := u.disk.Truncate(u.size); err != nil {
			return err
		}
	}
	info, err := u.disk.Stat()
	if err != nil {
		return err
	}
	piece := cmp.Or(p.Block, blockSize)
	for _, e := range slices.Backward(u.entries) {
		if err := u.restoreBlock(e, info.Size(), piece, p.Keep, seed, all); err != nil {
			return err
		}
	}
	return nil
}

// restoreBlock restores one block, piece by piece.
func (u *undo) restoreBlock(e entry, size, piece int64, keep float64, seed uint64, all *undone) error {
	start, end := e.block*blockSize, min((e.block+1)*blockSize, size)
	if start >= end {
		return nil
	}
	old := u.copying[:end-start]
	clear(old)
	if e.slot != zeros {
		if _, err := u.saved.ReadAt(old, e.slot*blockSize); err != nil {
			return err
		}
	}
	survives := func(at int64) bool { return keep > 0 && chance(seed, uint64(at/piece), keep) }
	kept := int64(0)
	for at := start; at < end; {
		stop := min(end, (at/piece+1)*piece)
		if survives(at) {
			kept += stop - at
			all.kept += stop - at
			at = stop
			continue
		}
		if _, err := u.disk.WriteAt(old[at-start:stop-start], at); err != nil {
			return err
		}
		all.back += stop - at
		at = stop
	}
	if kept > 0 {
		return nil
	}
	if e.slot == zeros {
		u.written.unset(e.block)
		// It reads as zeros already; this only frees the space.
		_ = unix.Fallocate(int(u.disk.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, start, end-start)
		return nil
	}
	u.written.set(e.block)
	return nil
}

func (u *undo) close() error { return u.saved.Close() }
