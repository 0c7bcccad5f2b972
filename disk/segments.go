package disk

import (
	"os"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk/files"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// slotBytes is the maximal size of one write of the journal: WiredTiger's slot buffer.
const slotBytes = 256 << 10

// logPage is the page of a log that is overwritten: PostgreSQL writes each page of its log as a whole.
const logPage = 8 << 10

// log is a journal in files of a fixed length, as in WiredTiger: each file is reserved in advance, filled with appended
// records, and removed when there are two newer files. One thread appends.
//
// A growing log reserves blocks but not the length, as Pebble does. An overwritten one has two files with data, and
// writes them again and again, as PostgreSQL does with its recycled files.
type log struct {
	p      *probe
	file   *files.File
	number int
	at     int64
	buffer []byte
	next   chan prepared // the reserved file, when it is ready
	total  atomic.Int64  // bytes appended
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
	if p.spec.Log != spec.LogOverwritten {
		l.ahead()
		return l, nil
	}
	second, err := l.reserve(2) // now, because it is written with the buffer of the records
	l.next = make(chan prepared, 1)
	l.next <- prepared{second, err}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *log) reserve(number int) (*files.File, error) {
	f, err := l.p.set.Create(files.JournalName(number), false, false)
	if err != nil {
		return nil, err
	}
	how, err := l.fill(f)
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

func (l *log) fill(f *files.File) (how string, err error) {
	if l.p.spec.Log != spec.LogOverwritten {
		return f.Reserve(l.p.spec.Segment, l.p.spec.Log == spec.LogGrowing)
	}
	for at := int64(0); at < l.p.spec.Segment && err == nil; at += slotBytes {
		b := l.buffer[:min(l.p.spec.Segment-at, slotBytes)]
		l.p.pool.Fill(b, at, l.p.next())
		err = f.WriteAt(b, at)
	}
	return "written", err
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
	if l.p.spec.Log == spec.LogOverwritten {
		next := make(chan prepared, 1)
		next <- prepared{file: l.file}
		l.file, l.next, l.at = ready.file, next, 0
		return nil
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
	at, end := l.at, l.at+left
	l.at = end
	if l.p.spec.Log == spec.LogOverwritten {
		at -= at % logPage
		end = min((end+logPage-1)/logPage*logPage, l.p.spec.Segment)
	}
	var writing time.Duration
	for at < end {
		b := l.buffer[:min(end-at, slotBytes)]
		l.p.pool.Fill(b, at, l.p.next())
		begin := time.Now()
		if err := l.file.WriteAt(b, at); err != nil {
			return 0, 0, err
		}
		writing += time.Since(begin)
		at += int64(len(b))
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
