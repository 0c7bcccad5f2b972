package faultfs

import (
	"container/heap"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// sleepers wait for moments, all of them by one timer of the kernel, which is exact to some 10 µs on an idle machine. The timers of
// Go are late by 1 ms and more. So is its poller: where every thread is busy or in a blocking call when a descriptor becomes ready,
// which go-fuse's readers bring about all the time, nobody looks at it until the runtime's monitor does, up to 10 ms later. A thread in
// a blocking read of the timer is woken by the kernel itself.
type sleepers struct {
	timer int // the descriptor of a timer, -1 if there is none

	mu      sync.Mutex
	waiting alarms
}

// alarm is one who waits. It is used again, so its channel is never closed.
type alarm struct {
	due   time.Time
	place int // in the heap, -1 outside
	ring  chan struct{}
}

var alarmPool = sync.Pool{New: func() any { return &alarm{ring: make(chan struct{}, 1)} }}

// theSleepers are those of this process; they end with it.
var theSleepers = sync.OnceValue(func() *sleepers {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)
	if err != nil {
		return &sleepers{timer: -1}
	}
	s := &sleepers{timer: fd}
	go s.wake()
	return s
})

// sleepUntil waits until a moment, at most until the faults change or the request is interrupted. early is that the
// moment is not there yet.
func sleepUntil(due time.Time, changed, interrupted <-chan struct{}) (early, intr bool) {
	if time.Until(due) <= 0 {
		return false, false
	}
	s := theSleepers()
	if s.timer < 0 { // no descriptors left
		t := time.NewTimer(time.Until(due))
		defer t.Stop()
		return await(t.C, changed, interrupted)
	}
	a := alarmPool.Get().(*alarm)
	a.due = due
	s.add(a)
	early, intr = await(a.ring, changed, interrupted)
	if early && !s.remove(a) {
		<-a.ring // it rang meanwhile
	}
	alarmPool.Put(a)
	return early, intr
}

func await[T any](ring <-chan T, changed, interrupted <-chan struct{}) (early, intr bool) {
	select {
	case <-ring:
		return false, false
	case <-changed:
		return true, false
	case <-interrupted:
		return true, true
	}
}

func (s *sleepers) add(a *alarm) {
	s.mu.Lock()
	defer s.mu.Unlock()
	heap.Push(&s.waiting, a)
	if a.place == 0 {
		s.arm()
	}
}

// remove reports whether the alarm was still waiting: if not, it has rung.
func (s *sleepers) remove(a *alarm) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.place < 0 {
		return false
	}
	heap.Remove(&s.waiting, a.place)
	return true
}

// arm has the timer end when the first one is due. It cannot fail with this descriptor and this time.
func (s *sleepers) arm() {
	left := max(1, time.Until(s.waiting[0].due)) // 0 would disarm it
	_ = unix.TimerfdSettime(s.timer, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(left))}, nil)
}

// wake rings for whoever is due, as long as the process lives.
func (s *sleepers) wake() {
	var expired [8]byte
	for {
		_, _ = unix.Read(s.timer, expired[:]) // an interruption by a signal is as good as any reason to look
		s.mu.Lock()
		for len(s.waiting) > 0 && time.Until(s.waiting[0].due) <= 0 {
			heap.Pop(&s.waiting).(*alarm).ring <- struct{}{}
		}
		if len(s.waiting) > 0 {
			s.arm()
		}
		s.mu.Unlock()
	}
}

// alarms are a heap, the next one first.
type alarms []*alarm

func (h alarms) Len() int           { return len(h) }
func (h alarms) Less(i, j int) bool { return h[i].due.Before(h[j].due) }

func (h alarms) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *alarms) Push(x any) {
	a := x.(*alarm)
	a.place = len(*h)
	*h = append(*h, a)
}

func (h *alarms) Pop() any {
	last := len(*h) - 1
	a := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	a.place = -1
	return a
}
