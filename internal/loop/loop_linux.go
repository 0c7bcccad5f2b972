package loop

import (
	"fmt"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Supported reports whether there are loops on this system.
const Supported = true

// batch is the number of events per call of epoll. It is small, so that tasks whose timer has expired do not wait for
// long.
const batch = 16

// turnLength is the time in nanoseconds after which the loop calls the scheduler of the runtime, which a switch between
// coroutines does not. If a goroutine does not call the scheduler for 10 ms, the runtime tries to interrupt it every
// 20 µs, which needed a tenth of the processor time.
const turnLength = int64(6 * time.Millisecond)

// Loop is a goroutine that runs tasks. While it runs, only its own thread may call its methods, except for [Task.Wake].
type Loop struct {
	base      time.Time
	epoll     int
	bell      int // an eventfd: inbox has messages
	clock     int // a timerfd
	armed     int64
	wall      int64 // the wall clock at base, by the clocks at the start of this turn
	scheduled int64 // last call of the scheduler
	meter     meter
	tasks     []*Task // not started yet
	live      int     // number of its tasks that have not ended, those that it invited included
	timers    timers
	conns     []*Conn // by file descriptor
	ready     []*Task // can continue without a condition
	turn      []*Task // the tasks of ready that continue now; reused memory
	events    [batch]unix.EpollEvent

	mu    sync.Mutex
	inbox []message // from other threads
	read  []message // the last inbox; reused memory
}

// message of another thread about a task.
type message struct {
	task *Task
	news news
}

type news uint8

const (
	woken   news = iota
	back         // the offloaded call has returned
	arrived      // from another loop
	stays        // the task does not come, although it was invited
)

// state is the condition that a task waits for.
type state uint8

const (
	running state = iota // no condition
	reading
	writing
	parked
	away    // an offloaded call is running
	leaving // for another loop
)

// Task is a function that runs on a loop. Only that function may call its methods, except for [Task.Wake].
type Task struct {
	loop   atomic.Pointer[Loop] // only changes when the task moves
	to     atomic.Pointer[Loop] // the loop that invited the task, see [Loop.Invite]
	conns  []*Conn              // those that move with it
	run    func(*Task)
	resume func() (struct{}, bool)
	yield  func(struct{}) bool
	state  state
	woken  bool
	waited bool // since the last call of [Task.Waited]
	late   bool // the timer ended the wait
	conn   *Conn
	until  int64 // the end of the current wait
	timer
}

// New makes a loop whose times are nanoseconds since base. It fails if there are no free file descriptors.
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
		if err == nil { // no need to read their counters, because every write and every expiry is an edge
			err = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN | edge, Fd: int32(fd)})
		}
	}
	if err != nil {
		l.close()
		return nil, fmt.Errorf("make an event loop: %w (raise the limit of open files with ulimit -n)", err)
	}
	return l, nil
}

func (l *Loop) close() {
	for _, fd := range []int{l.epoll, l.bell, l.clock} {
		if fd >= 0 {
			_ = unix.Close(fd) // there are no data to lose
		}
	}
}

// Go adds a task. Call it before Run only.
func (l *Loop) Go(f func(*Task)) *Task {
	t := &Task{run: f, timer: timer{pos: -1}}
	t.loop.Store(l)
	l.tasks = append(l.tasks, t)
	l.live++
	return t
}

func (l *Loop) now() int64 { return int64(time.Since(l.base)) }

// since is the time of a stamp of the wall clock, [Never] for the stamp 0.
func (l *Loop) since(stamp int64) int64 {
	if stamp == 0 {
		return Never
	}
	return stamp - l.wall
}

// Run runs the tasks until all have ended.
func (l *Loop) Run() {
	l.meter.began = l.now()
	for l.live > 0 {
		l.startSome()
		n := l.poll()
		for _, e := range l.events[:n] {
			l.dispatch(e)
		}
		now := l.now()
		l.expire(now)
		if now-l.scheduled >= turnLength {
			l.scheduled = now
			runtime.Gosched()
		}
		l.turn, l.ready = l.ready, l.turn[:0]
		for _, t := range l.turn {
			l.step(t)
		}
	}
	l.mu.Lock() // after close, Wake must not write to the file descriptor, which another file may have then
	l.close()
	l.bell = -1
	l.mu.Unlock()
	l.receive() // for tasks that have moved
}

// Use returns what the loop did until now. Any goroutine may call it.
func (l *Loop) Use() Use { return l.meter.use() }

// startSome starts a few of the next tasks: with a million tasks, the first ones must not wait for an available reply
// until the last one is started.
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
		if to := t.to.Swap(ended); to != nil {
			to.send(message{t, stays})
		}
	} else if t.state == leaving {
		l.release(t)
	}
}

// poll waits for events. During this system call the garbage collector can stop the world.
func (l *Loop) poll() int {
	timeout := -1
	if len(l.ready) > 0 || len(l.tasks) > 0 || l.live == 0 {
		timeout = 0
	} else if len(l.timers) > 0 && l.timers[0].key < l.armed {
		l.arm(l.timers[0].key)
	}
	asked := l.now()
	n, err := unix.EpollWait(l.epoll, l.events[:], timeout)
	clocks := time.Now()
	now := int64(clocks.Sub(l.base))
	l.wall = clocks.UnixNano() - now
	if timeout == 0 {
		l.meter.turn(asked, asked) // it does not wait
	} else {
		l.meter.turn(asked, now)
	}
	if err != nil { // only a signal
		return 0
	}
	return n
}

func (l *Loop) arm(at int64) {
	l.armed = at
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(1, at-l.now()))}
	_ = unix.TimerfdSettime(l.clock, 0, &spec, nil) // fails only for invalid times
}

// dispatch continues the task that waits for an event.
func (l *Loop) dispatch(e unix.EpollEvent) {
	switch int(e.Fd) {
	case l.bell:
		l.receive()
		return
	case l.clock:
		l.armed = Never
		return
	}
	if int(e.Fd) >= len(l.conns) || l.conns[e.Fd] == nil {
		return // a task has closed it in this batch
	}
	c := l.conns[e.Fd]
	c.note(e.Events)
	if t := c.task; t.conn == c && (t.state == reading && c.readable || t.state == writing && c.writable) {
		l.step(t)
	}
}

// receive handles the messages of other threads.
func (l *Loop) receive() {
	l.mu.Lock()
	l.read, l.inbox = l.inbox, l.read[:0]
	l.mu.Unlock()
	for _, m := range l.read {
		switch t := m.task; {
		case m.news == stays:
			l.live--
		case m.news == arrived:
			l.take(t)
		case t.loop.Load() != l:
			t.tell(m.news)
		case m.news == back, t.state == parked:
			l.step(t)
		default:
			t.woken = true
		}
	}
}

// expire continues the tasks whose wait has reached its end.
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

// wait switches to the loop until it continues the task. It returns false if the wait ended at the time until.
func (t *Task) wait(s state, until int64) bool {
	t.state, t.until, t.late, t.waited = s, until, false, true
	if until != Never {
		t.loop.Load().timers.earlier(t, until)
	}
	t.yield(struct{}{})
	return !t.late
}

// Park waits until a time, or until the task is woken, and returns whether it was woken. It does not wait if the task
// was woken since the last Park.
func (t *Task) Park(until int64) (woken bool) {
	if !t.woken {
		return t.wait(parked, until)
	}
	t.woken = false
	return true
}

// Wake ends the current or the next Park of the task. Any goroutine may call it.
func (t *Task) Wake() { t.tell(woken) }

// tell sends a message to the loop of the task, which may move meanwhile.
func (t *Task) tell(n news) {
	for {
		l := t.loop.Load()
		if l.send(message{t, n}) || t.loop.Load() == l {
			return
		}
	}
}

// Waited reports whether the task has waited since the last call.
func (t *Task) Waited() bool {
	waited := t.waited
	t.waited = false
	return waited
}

// Yield lets all tasks continue that can.
func (t *Task) Yield() {
	l := t.loop.Load()
	l.ready = append(l.ready, t)
	t.wait(running, Never)
}

// Offload runs f, which may block, on a goroutine and waits for its end. Other tasks continue.
func (t *Task) Offload(f func()) {
	go func() {
		f()
		t.tell(back)
	}()
	t.wait(away, Never)
}

// send returns false if all tasks of the loop have ended or moved.
func (l *Loop) send(m message) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bell < 0 {
		return false
	}
	if l.inbox = append(l.inbox, m); len(l.inbox) == 1 {
		// It fails only if the counter overflows, after 2^64 writes.
		_, _ = unix.Write(l.bell, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
	return true
}
