package loop

// timers is a binary heap of tasks by the time at which the loop checks them.
//
// A task moves to an earlier time at once, but to a later one only when it is first in the heap: nearly all waits for a
// reply end long before their deadline, and the deadline of the next wait is always later.
type timers []*Task

// timer is a task's place in the heap.
type timer struct {
	key int64 // time of the check
	pos int   // index in the heap, -1 if the task is not in it
}

func (h *timers) push(t *Task, key int64) {
	t.timer = timer{key: key, pos: len(*h)}
	*h = append(*h, t)
	h.up(t.pos)
}

// pop removes the first task.
func (h *timers) pop() *Task {
	first := (*h)[0]
	h.remove(first)
	return first
}

// remove removes a task that is in the heap.
func (h *timers) remove(t *Task) {
	old := *h
	at, last := t.pos, len(old)-1
	if at != last {
		old.swap(at, last)
	}
	old[last] = nil
	*h = old[:last]
	if at != last {
		h.down(at)
		h.up(at)
	}
	t.pos = -1
}

// earlier moves a task to an earlier time, or adds it.
func (h *timers) earlier(t *Task, key int64) {
	switch {
	case t.pos < 0:
		h.push(t, key)
	case key < t.key:
		t.key = key
		h.up(t.pos)
	}
}

// postpone moves the first task to a later time.
func (h *timers) postpone(key int64) {
	(*h)[0].key = key
	h.down(0)
}

func (h timers) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if h[parent].key <= h[i].key {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h timers) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h[child+1].key < h[child].key {
			child++
		}
		if h[i].key <= h[child].key {
			return
		}
		h.swap(i, child)
		i = child
	}
}

func (h timers) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].pos, h[j].pos = i, j
}
