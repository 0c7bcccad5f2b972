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

// ticks per second is the unit of processor time in /proc, on all architectures.
const ticks = 100

// childlessEvery is how often a process without children is checked for children. A process with children is checked
// every time. The usage of a child before it was found is counted when it is found.
const childlessEvery = 5 * time.Second

// family is a process with its descendants. Its usage is read every second, so the files of /proc stay open, because
// opening one costs more than reading it, and a process without children is rarely checked for children.
type family struct {
	root    int
	members map[int]*relative
}

// relative is one process of a family.
type relative struct {
	pid             int
	stat, statm, io *os.File // io is nil if it is not readable
	since, due      time.Time
	children        []int
}

// usage is what the processes of the family have used, and the memory that they use now. ok is false if the first
// process has ended.
func (f *family) usage(now time.Time) (u record.LabUsage, ok bool) {
	f.update(now)
	var shared int64 // memory that processes share, such as PostgreSQL's buffers, counts once
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

// update updates the list of members.
func (f *family) update(now time.Time) {
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
			r.listChildren(now)
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

func (f *family) close() {
	for _, r := range f.members {
		r.close()
	}
	f.members = nil
}

// listChildren lists the children of a process, and the next time sooner if the process is young.
func (r *relative) listChildren(now time.Time) {
	children, ok := process.Children(r.pid)
	if !ok { // a kernel without lists of children
		children = process.Descendants(r.pid)
	}
	r.children = children
	r.due = now.Add(min(now.Sub(r.since), childlessEvery))
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
	r.io, _ = os.Open(dir + "/io") // not readable for a process of another user
	return r
}

func (r *relative) close() {
	r.stat.Close()
	r.statm.Close()
	if r.io != nil {
		r.io.Close()
	}
}

// read returns the usage of the process, the memory that it may share with others, and whether it lives.
func (r *relative) read() (u record.LabUsage, shared int64, alive bool) {
	var buffer [1024]byte
	cpu, ok := parseStat(readAgain(r.stat, buffer[:]))
	if !ok {
		return u, 0, false
	}
	u.CPUSeconds = float64(cpu) / ticks
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

// readAgain reads a file of /proc from its beginning; it is empty if the process has ended.
func readAgain(f *os.File, buffer []byte) []byte {
	n, _ := f.ReadAt(buffer, 0) // it is shorter than the buffer
	return buffer[:n]
}

// parseStat returns the processor time of a process in ticks, with children that it has waited for.
func parseStat(text []byte) (cpu uint64, ok bool) {
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // from the state on
	if len(fields) < 15 {
		return 0, false
	}
	for _, f := range fields[11:15] { // utime, stime, cutime, cstime
		n, _ := strconv.ParseUint(string(f), 10, 64)
		cpu += n
	}
	return cpu, true
}

// parseRead returns how many bytes a process caused to be read from disks.
//
// The bytes written in the same file are not usable: write_bytes grows by a whole folio when one page of it becomes
// dirty, and XFS and ext4 have folios of up to megabytes (Linux 5.18 and 6.16). For PostgreSQL, which writes its log in
// pages, write_bytes is more than six times what reaches the disk.
func parseRead(text []byte) (read int64) {
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "read_bytes: "); ok {
			read, _ = strconv.ParseInt(value, 10, 64)
		}
	}
	return read
}
