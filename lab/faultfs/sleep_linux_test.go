package faultfs

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// Whoever waits is woken when it is due and not before, however many wait for whatever moments, and a change or an
// interruption ends the wait of those that it is for and of nobody else.
func TestSleepers(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	changed, interrupted := make(chan struct{}), make(chan struct{})
	begin := time.Now()
	var all sync.WaitGroup
	wait := func(due time.Time, changed, interrupted <-chan struct{}, early, intr bool) {
		all.Go(func() {
			gotEarly, gotIntr := sleepUntil(due, changed, interrupted)
			if gotEarly != early || gotIntr != intr {
				t.Errorf("a wait of %s: early %t, interrupted %t", due.Sub(begin), gotEarly, gotIntr)
			}
			if left := time.Until(due); !early && left > 0 {
				t.Errorf("woken %s too early", left)
			}
		})
	}
	for range 500 {
		due := begin.Add(time.Duration(r.Int64N(int64(200 * time.Millisecond))))
		switch r.IntN(3) {
		case 0:
			wait(due.Add(time.Hour), changed, nil, true, false)
		case 1:
			wait(due.Add(time.Hour), nil, interrupted, true, true)
		default:
			wait(due, nil, nil, false, false)
		}
	}
	time.Sleep(time.Duration(r.Int64N(int64(100 * time.Millisecond))))
	close(changed)
	time.Sleep(time.Duration(r.Int64N(int64(50 * time.Millisecond))))
	close(interrupted)
	all.Wait()
	s := processSleepers()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) != 0 {
		t.Errorf("%d still wait", len(s.waiting))
	}
}

// Alarms are used again, also those that rang just when their wait was given up: the next wait must not end with that
// ring.
func TestSleepersUsedAgain(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var all sync.WaitGroup
	for range 8 {
		each := rand.New(rand.NewPCG(r.Uint64(), 0))
		all.Go(func() {
			for range 300 {
				near := time.Duration(each.Int64N(int64(200 * time.Microsecond)))
				changed := make(chan struct{})
				time.AfterFunc(near, func() { close(changed) })
				due := time.Now().Add(near)
				if early, _ := sleepUntil(due, changed, nil); !early && time.Until(due) > 0 {
					t.Error("woken by an earlier alarm")
				}
			}
		})
	}
	all.Wait()
}
