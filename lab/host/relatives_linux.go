package host

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/record"
)

// ticks per second in which the kernel tells processor time, on all architectures.
const ticks = 100

// lookAgain is how often a process that had no children is looked at for some. Servers make them through few
// processes, which are asked every time; what a child used before it was found is counted when it is.
const lookAgain = 5 * time.Second

// family is a process with its descendants, for those who look every second: to open a file of /proc costs more than
// to read it, so the files stay open, and a process that is no parent is rarely asked for children.
type family struct {
	root    int
	members map[int]*relative
}

// relative is one process of a family.
type relative struct {
	pid             int
	stat, statm, io *os.File // io is nil where it may not be read
	since, due      time.Time
	children        []int
}

// usage is what the processes of the family used until now and, of memory, use. It is false when the first process has
// ended.
func (f *family) usage(now time.Time) (u record.LabUsage, ok bool) {
	f.find(now)
	var shared int64 // what several of them share (PostgreSQL's buffers) counts once
	for pid, r := range f.members {
		one, also, alive := r.read()
		if !alive {
			r.close()
			delete(f.members, pid)
			continue
		}
		add(&u, one)
		shared = max(shared, also)
	}
	u.Memory += shared
	return u, f.members[f.root] != nil
}

// find brings the list of members up to date.
func (f *family) find(now time.Time) {
	tree := []int{f.root}
	seen := map[int]bool{f.root: true}
	for i := 0; i < len(tree); i++ {
		r := f.members[tree[i]]
		if r == nil {
			if r = openRelative(tree[i], now); r == nil {
				continue // it has ended
			}
			f.members[r.pid] = r
		}
		if len(r.children) > 0 || !now.Before(r.due) {
			r.list(now)
		}
		for _, child := range r.children {
			if !seen[child] {
				seen[child] = true
				tree = append(tree, child)
			}
		}
	}
	for pid, r := range f.members {
		if !seen[pid] {
			r.close()
			delete(f.members, pid)
		}
	}
}

// close closes all files.
func (f *family) close() {
	for _, r := range f.members {
		r.close()
	}
	f.members = nil
}

// list asks for the children of a process, the next time soon if it is young.
func (r *relative) list(now time.Time) {
	children, ok := process.Children(r.pid)
	if !ok { // a kernel without lists of children
		children = process.Descendants(r.pid)
	}
	r.children = children
	r.due = now.Add(min(now.Sub(r.since), lookAgain))
}

func openRelative(pid int, now time.Time) *relative {
	dir := "/proc/" + strconv.Itoa(pid)
	stat, err := os.Open(dir + "/stat")
	if err != nil {
		return nil
	}
	statm, err := os.Open(dir + "/statm")
	if err != nil {
		stat.Close()
		return nil
	}
	r := &relative{pid: pid, stat: stat, statm: statm, since: now, due: now}
	r.io, _ = os.Open(dir + "/io") // another user's cannot be read
	return r
}

func (r *relative) close() {
	r.stat.Close()
	r.statm.Close()
	if r.io != nil {
		r.io.Close()
	}
}

// read says what the process used, what of its memory it may share with others, and whether it lives.
func (r *relative) read() (u record.LabUsage, shared int64, alive bool) {
	var buffer [1024]byte
	s, ok := parseStat(readAgain(r.stat, buffer[:]))
	if !ok {
		return u, 0, false
	}
	u.CPUSeconds = float64(s.cpu) / ticks
	if f := bytes.Fields(readAgain(r.statm, buffer[:])); len(f) > 2 {
		page := int64(os.Getpagesize())
		resident, _ := strconv.ParseInt(string(f[1]), 10, 64)
		also, _ := strconv.ParseInt(string(f[2]), 10, 64)
		u.Memory, shared = (resident-also)*page, also*page
	}
	if r.io != nil {
		u.ReadBytes = parseRead(readAgain(r.io, buffer[:]))
	}
	return u, shared, true
}

// readAgain reads a file of /proc from its beginning; nothing if its process has ended.
func readAgain(f *os.File, buffer []byte) []byte {
	n, _ := f.ReadAt(buffer, 0) // it ends before the buffer does
	return buffer[:n]
}

// procStat is what is used of /proc/PID/stat.
type procStat struct {
	parent int
	cpu    uint64 // in ticks, with the children that it waited for
}

func parseStat(text []byte) (s procStat, ok bool) {
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // from the state on
	if len(fields) < 15 {
		return s, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	s.parent = parent
	for _, f := range fields[11:15] { // utime, stime, cutime, cstime
		n, _ := strconv.ParseUint(string(f), 10, 64)
		s.cpu += n
	}
	return s, err == nil
}

// parseRead finds how many bytes a process caused to be read from disks.
//
// What it caused to be written is in the same file and worth nothing: write_bytes grows by a whole folio when one page of it
// becomes dirty, and XFS and ext4 have folios of up to megabytes (Linux 5.18 and 6.16). PostgreSQL, which writes its log in
// pages, is so said to have written six times and more of what reached the disk.
func parseRead(text []byte) (read int64) {
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "read_bytes: "); ok {
			read, _ = strconv.ParseInt(value, 10, 64)
		}
	}
	return read
}
