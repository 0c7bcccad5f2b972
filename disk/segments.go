package disk

import (
	"os"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk/files"
)

// slotBytes is the maximal size of one write of the journal: WiredTiger's slot buffer.
const slotBytes = 256 << 10

// log is a journal in files of a fixed length, as in WiredTiger: each file is reserved in advance, filled with appended
// records, and removed when there are two newer files. One thread appends.
type log struct {
	p       *probe
	file    *files.File
	number  int
	at      int64
	buffer  []byte
	next    chan prepared // the reserved file, when it is ready
	records uint64
	total   atomic.Int64 // bytes appended
}

type prepared struct {
	file *files.File
	err  error
}

// openLog makes the first file and reserves the second one.
func (p *probe) openLog() (*log, error) {
	l := &log{p: p, buffer: files.Buffer(slotBytes)}
	f, err := l.reserve(1)
	if err != nil {
		return nil, err
	}
	l.file, l.number = f, 1
	l.ahead()
	return l, nil
}

func (l *log) reserve(number int) (*files.File, error) {
	f, err := l.p.set.Create(files.JournalName(number), false, false)
	if err != nil {
		return nil, err
	}
	how, err := f.Reserve(l.p.spec.Segment)
	if err != nil {
		f.Close()
		return nil, err
	}
	if number == 1 {
		l.p.out.Storage.Preallocated = how
	}
	if err := f.Sync(); err != nil {
		f.Close()
		return nil, err
	}
	return f, l.p.set.SyncDir()
}

// ahead reserves the next file concurrently with appends.
func (l *log) ahead() {
	next, number := make(chan prepared, 1), l.number+1
	l.next = next
	go func() {
		f, err := l.reserve(number)
		next <- prepared{f, err}
	}()
}

// rotate continues with the next file.
func (l *log) rotate() error {
	ready := <-l.next
	if ready.err != nil {
		l.next = nil
		return ready.err
	}
	if err := l.file.Close(); err != nil {
		return err
	}
	if l.number > 1 {
		_ = os.Remove(l.p.set.Path(files.JournalName(l.number - 1)))
	}
	l.file, l.number, l.at = ready.file, l.number+1, 0
	l.ahead()
	return nil
}

// append writes the records of a number of commits with as few writes as the slot buffer allows, and syncs them. It
// returns the time of the writes and the flush, and of the flush alone.
func (l *log) append(commits int) (both, flush time.Duration, err error) {
	size := l.p.spec.Record
	left := int64(commits) * size
	if l.at+left > l.p.spec.Segment {
		if err := l.rotate(); err != nil {
			return 0, 0, err
		}
		left = min(left, l.p.spec.Segment)
	}
	l.total.Add(left)
	var writing time.Duration
	for left > 0 {
		b := l.buffer[:min(left, slotBytes)]
		l.records++
		l.p.pool.Fill(b, l.at, l.records)
		begin := time.Now()
		if err := l.file.WriteAt(b, l.at); err != nil {
			return 0, 0, err
		}
		writing += time.Since(begin)
		l.at += int64(len(b))
		left -= int64(len(b))
	}
	begin := time.Now()
	err = l.file.Sync()
	flush = time.Since(begin)
	return writing + flush, flush, err
}

// close closes the files; they are removed with the set.
func (l *log) close() {
	if l.next != nil {
		if ready := <-l.next; ready.err == nil {
			ready.file.Close()
		}
	}
	l.file.Close()
	for n := max(1, l.number-1); n <= l.number+1; n++ {
		_ = os.Remove(l.p.set.Path(files.JournalName(n)))
	}
	files.Unmap(l.buffer)
}
