package loop

import (
	"fmt"
	"iter"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Supported reports whether there are loops on this system.
const Supported = true

// batch is how many events are taken from the kernel at once. It is small, so that tasks whose moment has come do not
// wait for long.
const batch = 16

// turnLength is after what time the loop calls the scheduler of the runtime, nanoseconds. Switching between coroutines
// does not. The runtime takes a goroutine that has not called it for 10 ms for one that hogs its processor: it would
// look every 20 µs whether it can be interrupted, which took a tenth of the processor time.
const turnLength = int64(6 * time.Millisecond)

// Loop is a goroutine that runs tasks. All of its methods but [Loop.Run] and [Task.Wake] belong to its own thread once
// it runs.
type Loop struct {
	base   time.Time
	epoll  int
	bell   int // an eventfd: somebody has put something into inbox
	clock  int // a timerfd
	armed  int64
	shown  int64   // when the scheduler was called
	tasks  []*Task // to be started
	live   int     // tasks that have not ended
	timers timers
	conns  []*Conn // by file descriptor
	ready  []*Task // can go on without waiting for anything
	turn   []*Task // the ones of ready that are having their turn, kept for its memory
	events [batch]unix.EpollEvent

	mu    sync.Mutex
	inbox []letter // from other threads
	read  []letter // the inbox before this one, kept for its memory
}

// letter is what another thread has for a task.
type letter struct {
	task *Task
	back bool // what it had offloaded is done; otherwise it is woken
}

// state is what a task waits for.
type state uint8

const (
	running state = iota // or to be run without any condition
	reading
	writing
	parked
	away // what it offloaded is under way
)

// Task is a function that runs on a loop. Its methods belong to that function, but for [Task.Wake].
type Task struct {
	loop   *Loop
	run    func(*Task)
	resume func() (struct{}, bool)
	yield  func(struct{}) bool
	state  state
	woken  bool
	waited bool // since [Task.Waited] was called
	late   bool // the wait was ended by its moment
	conn   *Conn
	until  int64 // the end of the present wait
	timer
}

// New makes a loop whose moments count in nanoseconds from base. It fails if there are no file descriptors left.
func New(base time.Time) (*Loop, error) {
	l := &Loop{base: base, epoll: -1, bell: -1, clock: -1, armed: Never}
	var err error
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err == nil {
		l.bell, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	}
	if err == nil {
		l.clock, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	}
	for _, fd := range []int{l.bell, l.clock} {
		if err == nil { // their counters need not be read: every write and every expiry is an edge
			err = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN | edge, Fd: int32(fd)})
		}
	}
	if err != nil {
		l.close()
		return nil, fmt.Errorf("making an event loop: %w (raise the limit of open files with ulimit -n)", err)
	}
	return l, nil
}

func (l *Loop) close() {
	for _, fd := range []int{l.epoll, l.bell, l.clock} {
		if fd >= 0 {
			_ = unix.Close(fd) // nothing can be lost
		}
	}
}

// Go adds a task. All are added before the loop runs.
func (l *Loop) Go(f func(*Task)) *Task {
	t := &Task{loop: l, run: f, timer: timer{pos: -1}}
	l.tasks = append(l.tasks, t)
	l.live++
	return t
}

// now is the present moment.
func (l *Loop) now() int64 { return int64(time.Since(l.base)) }

// Run runs the tasks until all have ended.
func (l *Loop) Run() {
	for l.live > 0 {
		l.startSome()
		for _, e := range l.events[:l.poll()] {
			l.dispatch(e)
		}
		now := l.now()
		l.expire(now)
		if now-l.shown >= turnLength {
			l.shown = now
			runtime.Gosched()
		}
		l.turn, l.ready = l.ready, l.turn[:0]
		for _, t := range l.turn {
			l.step(t)
		}
	}
	l.mu.Lock() // whoever wakes a task that has ended must not write to a file that is somebody else's by then
	defer l.mu.Unlock()
	l.close()
	l.bell = -1
}

// startSome starts the next tasks, few at once: when there are a million, the first ones must not wait for a reply that
// has come until the last one is started.
func (l *Loop) startSome() {
	n := min(batch, len(l.tasks))
	for _, t := range l.tasks[:n] {
		t.resume, _ = iter.Pull(func(yield func(struct{}) bool) {
			t.yield = yield
			t.run(t)
		})
		l.step(t)
	}
	l.tasks = l.tasks[n:]
}

// step lets a task run until it waits again.
func (l *Loop) step(t *Task) {
	t.state = running
	if _, more := t.resume(); !more {
		l.live--
		t.until = Never
	}
}

// poll waits for events. The call is one of those that let the garbage collector stop the world.
func (l *Loop) poll() int {
	timeout := -1
	if len(l.ready) > 0 || len(l.tasks) > 0 || l.live == 0 {
		timeout = 0
	} else if len(l.timers) > 0 && l.timers[0].key < l.armed {
		l.arm(l.timers[0].key)
	}
	n, err := unix.EpollWait(l.epoll, l.events[:], timeout)
	if err != nil { // a signal; there is no other reason
		return 0
	}
	return n
}

// arm sets the timer to a moment.
func (l *Loop) arm(at int64) {
	l.armed = at
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(1, at-l.now()))}
	_ = unix.TimerfdSettime(l.clock, 0, &spec, nil) // fails only for times that cannot be
}

// dispatch lets the task run that waits for an event.
func (l *Loop) dispatch(e unix.EpollEvent) {
	switch int(e.Fd) {
	case l.bell:
		l.open()
		return
	case l.clock:
		l.armed = Never
		return
	}
	if int(e.Fd) >= len(l.conns) || l.conns[e.Fd] == nil {
		return // closed by a task that ran before in this batch
	}
	c := l.conns[e.Fd]
	c.note(e.Events)
	if t := c.task; t.conn == c && (t.state == reading && c.readable || t.state == writing && c.writable) {
		l.step(t)
	}
}

// open takes the letters of other threads.
func (l *Loop) open() {
	l.mu.Lock()
	l.read, l.inbox = l.inbox, l.read[:0]
	l.mu.Unlock()
	for _, m := range l.read {
		switch t := m.task; {
		case m.back:
			l.step(t)
		case t.state == parked:
			l.step(t)
		default:
			t.woken = true
		}
	}
}

// expire lets those tasks run whose moment has come.
func (l *Loop) expire(now int64) {
	for len(l.timers) > 0 && l.timers[0].key <= now {
		t := l.timers[0]
		switch waits := t.state == reading || t.state == writing || t.state == parked; {
		case !waits || t.until == Never:
			l.timers.pop()
		case t.until > now:
			l.timers.postpone(t.until)
		default:
			l.timers.pop()
			t.late = true
			l.step(t)
		}
	}
}

// wait gives the thread away until the task is stepped again. It returns false if that was because the moment until has
// come.
func (t *Task) wait(s state, until int64) bool {
	t.state, t.until, t.late, t.waited = s, until, false, true
	if until != Never {
		t.loop.timers.earlier(t, until)
	}
	t.yield(struct{}{})
	return !t.late
}

// Park waits until a moment, or until the task is woken, which it returns. If it was woken since it last parked, it
// does not wait.
func (t *Task) Park(until int64) (woken bool) {
	if !t.woken {
		return t.wait(parked, until)
	}
	t.woken = false
	return true
}

// Wake ends a park of the task, the present one or the next. Any goroutine may call it.
func (t *Task) Wake() { t.loop.send(letter{task: t}) }

// Waited reports whether the task has waited since the last call.
func (t *Task) Waited() bool {
	waited := t.waited
	t.waited = false
	return waited
}

// Yield lets all tasks run that can.
func (t *Task) Yield() {
	t.loop.ready = append(t.loop.ready, t)
	t.wait(running, Never)
}

// Offload runs f on a goroutine and waits for its end, while other tasks go on. It is for what may block.
func (t *Task) Offload(f func()) {
	go func() {
		f()
		t.loop.send(letter{task: t, back: true})
	}()
	t.wait(away, Never)
}

func (l *Loop) send(m letter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bell < 0 {
		return // all tasks have ended
	}
	if l.inbox = append(l.inbox, m); len(l.inbox) == 1 {
		// cannot fail but for a counter that overflows after 2^64 writes
		_, _ = unix.Write(l.bell, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
}
