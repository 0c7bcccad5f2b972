package host

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// ticks per second in which the kernel tells processor time, on all architectures.
const ticks = 100

// tableAge is how old the table of processes may be: all hosts of a lab are asked at the same moment, and one reading
// of /proc serves them all.
const tableAge = 300 * time.Millisecond

// table is what /proc says about all processes of the machine.
type table struct {
	mu       sync.Mutex
	at       time.Time
	children map[int][]int
	cpu      map[int]uint64 // in ticks, with the children that it waited for
}

// trees returns the processes of each of the trees that begin at the given ones, and their processor time in ticks.
func (t *table) trees(roots []int, fresh bool) map[int][]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if fresh || time.Since(t.at) > tableAge {
		t.read()
	}
	found := map[int][]int{}
	for _, r := range roots {
		if _, ok := t.cpu[r]; !ok {
			continue
		}
		tree := []int{r}
		for i := 0; i < len(tree); i++ {
			tree = append(tree, t.children[tree[i]]...)
		}
		found[r] = tree
	}
	return found
}

// read reads the table. The caller holds mu.
func (t *table) read() {
	t.children, t.cpu, t.at = map[int][]int{}, map[int]uint64{}, time.Now()
	for _, pid := range pids() {
		if parent, cpu, ok := readStat(pid); ok {
			t.children[parent] = append(t.children[parent], pid)
			t.cpu[pid] = cpu
		}
	}
}

// readStat returns the parent of a process and its processor time in ticks, with that of the children it waited for.
func readStat(pid int) (parent int, cpu uint64, ok bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0, false
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // from the state on
	if len(fields) < 15 {
		return 0, 0, false
	}
	parent, err = strconv.Atoi(fields[1])
	for _, f := range fields[11:15] { // utime, stime, cutime, cstime
		n, _ := strconv.ParseUint(f, 10, 64)
		cpu += n
	}
	return parent, cpu, err == nil
}

// treeUsage counts what the processes of a plain host use, since it was powered on. What a process used that began
// and ended between two looks is counted if its parent waited for it.
type treeUsage struct {
	mu    sync.Mutex
	last  map[int]record.LabUsage // by the journal's id of the first process of a tree
	ended record.LabUsage         // of trees that are gone
	shown record.LabUsage         // figures never go back, whatever was lost
}

// begin starts to count anew.
func (u *treeUsage) begin() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last, u.ended, u.shown = nil, record.LabUsage{}, record.LabUsage{}
}

// end says that nothing runs any more.
func (u *treeUsage) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.shown.Memory = 0
}

// look reads what the processes of the host used.
func (u *treeUsage) look(b *body) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.update(b, true)
}

// now returns what the host used.
func (u *treeUsage) now(b *body) (record.LabUsage, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.update(b, false)
	now := u.shown
	now.Host = b.name
	return now, nil
}

// update looks at all trees. The caller holds mu.
func (u *treeUsage) update(b *body, fresh bool) {
	roots := b.all()
	var pids []int
	for _, r := range roots {
		if r.Running() {
			pids = append(pids, r.PID)
		}
	}
	trees := b.ground.table.trees(pids, fresh)
	now := map[int]record.LabUsage{}
	for _, r := range roots {
		if tree, ok := trees[r.PID]; ok {
			now[r.id] = treeNow(b.ground.table, tree)
		}
	}
	for id, before := range u.last {
		if _, ok := now[id]; !ok {
			add(&u.ended, before)
		}
	}
	u.last = now
	sum := u.ended
	sum.Memory = 0
	for _, v := range now {
		add(&sum, v)
	}
	u.shown.Memory = sum.Memory
	u.shown.CPUSeconds = max(u.shown.CPUSeconds, sum.CPUSeconds)
	u.shown.ReadBytes = max(u.shown.ReadBytes, sum.ReadBytes)
	u.shown.WriteBytes = max(u.shown.WriteBytes, sum.WriteBytes)
}

func add(sum *record.LabUsage, v record.LabUsage) {
	sum.CPUSeconds += v.CPUSeconds
	sum.Memory += v.Memory
	sum.ReadBytes += v.ReadBytes
	sum.WriteBytes += v.WriteBytes
}

// treeNow reads what the processes of a tree used. Memory that several of them share (PostgreSQL's buffers) counts once.
func treeNow(t *table, tree []int) record.LabUsage {
	var u record.LabUsage
	var shared int64
	page := int64(os.Getpagesize())
	for _, pid := range tree {
		t.mu.Lock()
		u.CPUSeconds += float64(t.cpu[pid]) / ticks
		t.mu.Unlock()
		dir := "/proc/" + strconv.Itoa(pid)
		var size, resident, also int64
		if text, err := os.ReadFile(dir + "/statm"); err == nil {
			if n, _ := fmt.Sscan(string(text), &size, &resident, &also); n == 3 {
				u.Memory += (resident - also) * page
				shared = max(shared, also*page)
			}
		}
		read, written := processIO(dir + "/io")
		u.ReadBytes += read
		u.WriteBytes += written
	}
	u.Memory += shared
	return u
}

// processIO reads how many bytes a process caused to be read from and written to disks.
func processIO(file string) (read, written int64) {
	text, err := os.ReadFile(file)
	if err != nil { // it has ended
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch name {
		case "read_bytes":
			read = n
		case "write_bytes":
			written = n
		}
	}
	return read, written
}
