package loop

// ended is the invitation of a task that has ended, so that no loop invites it.
var ended = &Loop{}

// Invite asks a task of another loop to move to this one, and returns whether the task will be told: not if it has
// ended or has another invitation. Call it before [Loop.Run] only. The loop waits for the tasks that it invited until
// they come or end.
func (l *Loop) Invite(t *Task) bool {
	if !t.to.CompareAndSwap(nil, l) {
		return false
	}
	l.live++
	return true
}

// Invited reports whether another loop has invited the task, see [Task.Move], or it has ended. Any goroutine may call
// it.
func (t *Task) Invited() bool { return t.to.Load() != nil }

// Move continues the task on the loop that invited it, with its connections. It returns false if the task stays where
// it is, because that loop cannot watch a connection.
func (t *Task) Move() bool {
	from, to := t.loop.Load(), t.to.Load()
	t.conns = t.conns[:0]
	for _, c := range from.conns {
		if c == nil || c.task != t {
			continue
		}
		if to.watch(c.fd) != nil {
			for _, c := range t.conns {
				to.unwatch(c.fd)
			}
			t.to.Store(nil)
			to.send(message{t, stays})
			return false
		}
		t.conns = append(t.conns, c)
	}
	t.wait(leaving, Never)
	return true
}

// release gives a task to the loop that invited it.
func (l *Loop) release(t *Task) {
	for _, c := range t.conns {
		l.unwatch(c.fd)
		l.conns[c.fd] = nil
	}
	if t.pos >= 0 {
		l.timers.remove(t)
	}
	l.live--
	to := t.to.Load()
	t.loop.Store(to)
	t.to.Store(nil)
	to.send(message{t, arrived})
}

// take continues a task that has come from another loop. What epoll said of its connections before that was lost, so
// they may be ready.
func (l *Loop) take(t *Task) {
	for _, c := range t.conns {
		l.keep(c)
		c.readable, c.writable = true, true
	}
	l.step(t)
}
