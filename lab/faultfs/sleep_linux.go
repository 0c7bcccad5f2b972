package faultfs

import (
	"container/heap"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// sleepers wait for their due times by one timer of the kernel, which is exact to about 10 µs on an idle machine.
// Timers of Go are late by 1 ms and more. So is Go's poller: if every thread is busy or in a blocking call when a
// descriptor becomes ready, as is usual with go-fuse's readers, only the runtime's monitor polls it, up to 10 ms later.
// But the kernel itself wakes a thread in a blocking read of the timer.
type sleepers struct {
	timer int // descriptor; -1 if there is none

	mu      sync.Mutex
	waiting alarms
}

// alarm is one sleeper. It is reused, so its channel is never closed.
type alarm struct {
	due   time.Time
	place int // in the heap, -1 outside
	ring  chan struct{}
}

var alarmPool = sync.Pool{New: func() any { return &alarm{ring: make(chan struct{}, 1)} }}

// processSleepers are the sleepers of this process.
var processSleepers = sync.OnceValue(func() *sleepers {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)
	if err != nil {
		return &sleepers{timer: -1}
	}
	s := &sleepers{timer: fd}
	go s.wake()
	return s
})

// sleepUntil waits until due, or until the faults change or the request is interrupted. early says that due is not
// reached.
func sleepUntil(due time.Time, changed, interrupted <-chan struct{}) (early, intr bool) {
	if time.Until(due) <= 0 {
		return false, false
	}
	s := processSleepers()
	if s.timer < 0 { // no descriptor was free
		t := time.NewTimer(time.Until(due))
		defer t.Stop()
		return await(t.C, changed, interrupted)
	}
	a := alarmPool.Get().(*alarm)
	a.due = due
	s.add(a)
	early, intr = await(a.ring, changed, interrupted)
	if early && !s.remove(a) {
		<-a.ring // it has rung meanwhile
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

// remove returns false if the alarm has rung.
func (s *sleepers) remove(a *alarm) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.place < 0 {
		return false
	}
	heap.Remove(&s.waiting, a.place)
	return true
}

// arm sets the timer to the first due time. It cannot fail with this descriptor and this time.
func (s *sleepers) arm() {
	left := max(1, time.Until(s.waiting[0].due)) // 0 would disarm it
	_ = unix.TimerfdSettime(s.timer, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(left))}, nil)
}

// wake rings the alarms that are due.
func (s *sleepers) wake() {
	var expired [8]byte
	for {
		_, _ = unix.Read(s.timer, expired[:]) // a signal may interrupt it, which does no harm
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

// alarms is a heap, the first due alarm at the top.
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
