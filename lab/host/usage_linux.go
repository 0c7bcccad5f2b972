package host

import (
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// treeUsage counts the usage of the processes of a plain host since it was powered on. A process that started and ended
// between two updates is counted if its parent waited for it.
type treeUsage struct {
	mu    sync.Mutex
	trees map[int]*family         // by the journal's id of the first process of a tree
	last  map[int]record.LabUsage // likewise
	ended record.LabUsage         // of trees that have ended
	shown record.LabUsage         // never decreases, even if a process was missed
}

// begin resets the counts.
func (u *treeUsage) begin() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last, u.ended, u.shown = nil, record.LabUsage{}, record.LabUsage{}
}

// end is called when no process runs any more.
func (u *treeUsage) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.shown.Memory = 0
}

func (u *treeUsage) now(b *body) (record.LabUsage, error) {
	u.update(b)
	u.mu.Lock()
	defer u.mu.Unlock()
	now := u.shown
	now.Host = b.name
	return now, nil
}

// update reads the usage of all trees.
func (u *treeUsage) update(b *body) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.trees == nil {
		u.trees = map[int]*family{}
	}
	now := map[int]record.LabUsage{}
	for _, r := range b.all() {
		f := u.trees[r.id]
		if f == nil && r.Running() {
			f = &family{root: r.PID, members: map[int]*relative{}}
			u.trees[r.id] = f
		}
		if f == nil {
			continue
		}
		if v, ok := f.usage(time.Now()); ok && r.Running() {
			now[r.id] = v
		}
	}
	for id, f := range u.trees {
		if _, ok := now[id]; !ok {
			f.close()
			delete(u.trees, id)
			add(&u.ended, u.last[id])
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
}

func add(sum *record.LabUsage, v record.LabUsage) {
	sum.CPUSeconds += v.CPUSeconds
	sum.Memory += v.Memory
	sum.ReadBytes += v.ReadBytes
}
